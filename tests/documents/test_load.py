"""Folders, identities, the report, and positions in a document."""

import dataclasses
import datetime
import os
import sys

import pytest

from ragkit.documents import Document, DocumentError, Heading, Location, Page, load_document, load_folder


def reasons(entries):
    return [(entry.source, entry.reason) for entry in entries]


def test_a_folder_is_a_sequence_sorted_by_id_and_version(write):
    report = load_folder(write({"z.md": "# Z", "b/a.txt": "a", "n.md": "---\nid: b/a\nversion: 0\n---\nold"}))
    assert [document.key for document in report] == [("b/a", "0"), ("b/a", "1"), ("z", "1")]
    assert (len(report), report[2].title, report[-1], len(report[:2])) == (3, "Z", report.documents[2], 2)
    assert [document.source for document in report] == ["n.md", "b/a.txt", "z.md"]
    assert report == load_folder(write({}))  # the same folder once more


def test_ids_of_files_that_differ_in_their_extension_only(write):
    folder = write(
        {"a.md": "x", "a.txt": "y", "b.tar.md": "z", "sub/a.md": "w", "c.md": "c", "c.png": "no document"}
    )
    assert [document.id for document in load_folder(folder)] == ["a.md", "a.txt", "b.tar", "c", "sub/a"]
    assert load_document(folder / "a.txt", folder).id == "a.txt"
    assert load_document(folder / "sub" / "a.md", folder).id == "sub/a"
    assert load_document(folder / "sub" / "a.md").id == "a"


def test_paths_may_be_relative(write, monkeypatch):
    folder = write({"sub/a.md": "x"})
    monkeypatch.chdir(folder)
    assert load_document("sub/a.md", folder).source == "sub/a.md"
    assert load_document("sub/a.md", ".").source == "sub/a.md"
    assert (load_folder(".")[0].source, load_folder("sub")[0].source) == ("sub/a.md", "a.md")


# Not a skip: elsewhere such a name cannot exist, and a strict run counts skips as failures.
if sys.platform == "linux":

    def test_a_name_that_is_no_unicode_can_be_printed(write):
        write({}).joinpath(os.fsdecode(b"caf\xe9.md")).write_text("x")
        document = load_folder(write({}))[0]
        assert (document.id, document.source) == ("caf\ufffd", "caf\ufffd.md")


def test_an_id_has_composed_characters_on_every_system(write):
    assert load_folder(write({"cafe\u0301.md": "x"}))[0].id == "caf\u00e9"


def test_the_second_of_two_with_one_identity_is_a_problem(write):
    report = load_folder(write({"a.md": "---\nid: x\n---\none", "b.md": "---\nid: x\n---\ntwo"}))
    assert [document.source for document in report] == ["a.md"]
    assert reasons(report.problems) == [("b.md", "a.md already has the id 'x' in version '1'")]


def test_an_empty_file_is_a_warning_and_no_document(write):
    files = {
        "a.md": "",
        "b.txt": " \n\t",
        "c.md": "---\nid: x\n---\n",
        "d.pdf": "",
        "e.docx": "",
        "f.html": "\n",
    }
    report = load_folder(write(files))
    assert len(report) == 0 and report.problems == ()
    assert reasons(report.warnings) == [(name, "it is empty and gives no document") for name in files]
    with pytest.raises(DocumentError, match="a.md: it is empty"):
        load_document(write({}) / "a.md")


def test_hidden_and_lock_files_are_skipped_and_other_kinds_counted(write):
    report = load_folder(
        write(
            {
                ".hidden.md": "x",
                ".git/a.md": "x",
                "~$a.docx": "x",
                "~$b.md": "x",
                "a.png": "x",
                "b.PNG": "x",
                "Makefile": "x",
                "A.MD": "# Loud",
            }
        )
    )
    assert [document.id for document in report] == ["A"]
    assert reasons(report.warnings) == [
        ("*.png", "2 files of a kind that is not read"),
        ("no extension", "1 file of a kind that is not read"),
    ]


def test_one_bad_file_never_stops_a_folder(write):
    report = load_folder(
        write(
            {
                "a.md": "# A",
                "b.docx": "no zip",
                "c.pdf": "no pdf",
                "d.txt": bytes(range(256)),
                "e.pdf.meta.yaml": "id: x",
                "f.html": "<script>only</script>",
            }
        )
    )
    assert [document.id for document in report] == ["a"]
    assert [problem.source for problem in report.problems] == [
        "b.docx",
        "c.pdf",
        "d.txt",
        "e.pdf.meta.yaml",
        "f.html",
    ]
    assert all(problem.reason and problem.advice for problem in report.problems)
    with pytest.raises(DocumentError, match=r"b.docx: .*\(Problems in all: 5.\)"):
        load_folder(write({}), strict=True)


def test_a_reader_that_fails_in_an_unexpected_way_is_named(write, monkeypatch):
    def fail(*_):
        raise KeyError("/Root")

    monkeypatch.setattr("ragkit.documents.load.decode", fail)
    report = load_folder(write({"a.md": "x"}))
    assert reasons(report.problems) == [
        ("a.md", "it is damaged or not what its name says (KeyError: '/Root')")
    ]


def test_dropped_characters_are_counted_in_the_report(write):
    report = load_folder(write({"a.txt": b"a\0b\0 \xed\xa0\x80 text"}))
    assert report[0].text == "ab  text"
    assert reasons(report.warnings) == [
        ("a.txt", "2 NUL characters dropped"),
        ("a.txt", "1 lone surrogate dropped"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_encodings_of_files(write, encoding):
    text = "# 报销政策\r\n出差住宿上限为每晚五百元。\r\n"
    document = load_folder(write({"a.md": text.encode(encoding)}))[0]
    assert document.text == text.replace("\r\n", "\n")
    assert document.title == "报销政策"


def test_latin_1(write):
    assert (
        load_folder(write({"a.txt": "Café, naïve, Größe".encode("latin-1")}))[0].text == "Café, naïve, Größe"
    )


def symlink(link, target):
    try:
        link.symlink_to(target, target_is_directory=True)
    except OSError as error:
        pytest.skip(f"this system lets nobody make symbolic links here: {error}")


def test_loops_of_links_end(write):
    folder = write({"a/x.md": "x", "b/y.md": "y"})
    symlink(folder / "a" / "up", folder)
    symlink(folder / "a" / "to_b", folder / "b")
    symlink(folder / "b" / "to_a", folder / "a")
    symlink(folder / "0_first", folder / "b")
    assert [document.id for document in load_folder(folder)] == ["a/x", "b/y"]


def test_a_link_out_of_the_folder_is_followed_and_a_broken_one_named(write):
    folder = write({"out/x.md": "x", "in/y.md": "y"})
    symlink(folder / "in" / "link", folder / "out")
    symlink(folder / "in" / "gone.md", folder / "nowhere.md")
    report = load_folder(folder / "in")
    assert [document.id for document in report] == ["link/x", "y"]
    assert report.problems[0].source == "gone.md" and "cannot be opened" in report.problems[0].reason


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_does_not_block(write):
    os.mkfifo(write({"a.md": "x"}) / "pipe.md")
    assert reasons(load_folder(write({})).problems) == [("pipe.md", "it is not a regular file")]


def test_wrong_paths(write):
    folder = write({"a.md": "x", "b.png": "x"})
    with pytest.raises(FileNotFoundError, match="there is no folder .*nowhere"):
        load_folder(folder / "nowhere")
    with pytest.raises(NotADirectoryError, match="is a file, not a folder; use load_document"):
        load_folder(folder / "a.md")
    with pytest.raises(FileNotFoundError, match="there is no file .*nowhere"):
        load_document(folder / "nowhere.md")
    with pytest.raises(DocumentError, match="it is a folder, not a file. Use load_folder"):
        load_document(folder)
    with pytest.raises(DocumentError, match=r"b.png: files of this kind \(.png\) are not read"):
        load_document(folder / "b.png")
    with pytest.raises(ValueError, match="is not below the root"):
        load_document(folder / "a.md", folder / "other")
    (folder / "empty").mkdir()
    assert len(load_folder(folder / "empty")) == 0


def test_load_document_logs_its_warnings(write, caplog):
    load_document(write({"a.txt": b"a\0b"}) / "a.txt")
    assert caplog.messages == ["a.txt: 1 NUL character dropped"]


def test_the_report_as_text_and_as_a_table(write):
    report = load_folder(write({"a.md": "x", "<b>.txt": ""}))
    assert str(report) == (
        "1 document, 0 problems, 1 warning\n  warning: <b>.txt: it is empty and gives no document. "
        "Write something into it, or remove it."
    )
    assert '<td style="text-align: left">&lt;b&gt;.txt</td>' in report._repr_html_()
    assert load_folder(write({"<b>.txt": "y"}))._repr_html_() == "<p>2 documents, 0 problems, 0 warnings</p>"


def test_positions():
    text = "# A\nfirst\n\nsecond"
    document = Document("d", "D", text, pages=(Page(1, 0, 9), Page(2, 11, 17)))
    assert document.locate(4, 9) == Location(1, 2, ("A",))
    assert document.locate(10, 12) == Location(1, 3, ("A",))  # the break belongs to the page before it
    assert document.locate(11, 17) == Location(2, 1, ("A",))  # a page counts its own lines
    assert document.locate(17, 17) == Location(2, 1, ("A",))
    assert Document("d", "D", "x").locate(0, 1) == Location(None, 1, ())
    assert Document("d", "D", "x\ny", first_line=8).locate(2, 3) == Location(None, 9, ())
    for start, end in [(-1, 3), (5, 4), (0, 18)]:
        with pytest.raises(ValueError, match=rf"the span \({start}, {end}\) is not inside .* 17 characters"):
            document.locate(start, end)


@pytest.mark.parametrize("name, head", [
    ("a.md", ""), ("a.md", "---\nid: x\n---\n"), ("a.md", "---\nid: x\nversion: 2\n---\n\n\n"),
    ("a.md", "\n\n"), ("a.txt", ""), ("a.txt", "---\nid: x\n---\n"),
])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_line_is_the_one_in_the_file(write, name, head, newline, encoding):
    source = f"{head}# A\nfirst\n\nsecond word\n"
    write({name: source.replace("\n", newline).encode(encoding)})
    document = load_document(write({}) / name)
    start = document.text.index("word")
    line = document.locate(start, start + 4).line
    assert source.split("\n")[line - 1] == "second word"


def test_a_document_checks_itself():
    assert Document("d", "D", "# A").headings == (Heading(1, "A", 0, 3),)
    assert Document("d", "D", "x", audience="hr").audience == frozenset({"hr"})
    assert Document("d", "D", "x", audience=["hr", "it"]).audience == frozenset({"hr", "it"})
    with pytest.raises(ValueError, match="the id of a document .* not ''"):
        Document("", "D", "x")
    with pytest.raises(ValueError, match="audience of 'd' is empty"):
        Document("d", "D", "x", audience=())
    with pytest.raises(TypeError, match="not '2025-09-01'"):
        Document("d", "D", "x", effective_date="2025-09-01")
    with pytest.raises(ValueError, match="first line of 'd' must be at least 1, not 0"):
        Document("d", "D", "x", first_line=0)
    with pytest.raises(ValueError, match="outside the text"):
        Document("d", "D", "x", headings=(Heading(1, "A", 0, 3),))


def test_the_hash_is_of_text_and_metadata():
    first = Document("d", "D", "text\ud800", effective_date=datetime.date(2025, 1, 1), audience={"a", "b"})
    again = dataclasses.replace(first, content_hash="", audience={"b", "a"})
    assert len(first.content_hash) == 64 and again == first
    moved = dataclasses.replace(first, content_hash="", source="b.md", first_line=9)
    assert moved.content_hash == first.content_hash and moved != first
    for change in (
        {"text": "y"},
        {"audience": {"a"}},
        {"version": "2"},
        {"effective_date": None},
        {"topic": "t"},
    ):
        assert dataclasses.replace(first, content_hash="", **change).content_hash != first.content_hash


def test_a_version_that_would_make_chunk_ids_ambiguous_is_a_problem(write):
    report = load_folder(write({"a.md": '---\nid: a\nversion: "1@2"\n---\nText.\n', "b.md": "Text.\n"}))
    assert [document.id for document in report.documents] == ["b"]
    assert "must not hold an @, as '1@2' does" in report.problems[0].reason
