"""Front matter and sidecars."""

import datetime

import pytest

from ragkit.documents import DocumentError, load_document, load_folder
from ragkit.documents.metadata import parse_metadata, split_front_matter


def load(write, text, name="a.md"):
    return load_document(write({name: text}) / name)


def test_all_keys(write):
    document = load(
        write,
        "---\nid: travel\ntitle: Travel policy\ntopic: travel\neffective_date: 2025-09-01\n"
        "version: 1.10\naudience: [hr, managers]\n---\n\n# Heading\ntext\n",
    )
    assert document.key == ("travel", "1.10")
    assert (document.title, document.topic) == ("Travel policy", "travel")
    assert document.effective_date == datetime.date(2025, 9, 1)
    assert document.audience == {"hr", "managers"}
    assert document.text == "# Heading\ntext\n"
    assert document.media_type == "text/markdown"


def test_without_any(write):
    document = load(write, "text")
    assert document.key == ("a", "1")
    assert (document.title, document.topic, document.effective_date) == ("a", None, None)
    assert document.audience == {"public"}


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("version: 2", "version", "2"),
        ("id: 007", "id", "007"),
        ("title: No", "title", "No"),
        ("audience: hr", "audience", {"hr"}),
        ("audience:\n- hr\n- it", "audience", {"hr", "it"}),
        ("Effective-Date: '2024-02-29'", "effective_date", datetime.date(2024, 2, 29)),
        ("topic: ~", "topic", None),
        ("title: 报销: 政策", None, None),
    ],
)
def test_values_stay_as_they_are_written(line, key, value):
    if key is None:  # ": " inside a value is a mistake that names its line
        with pytest.raises(DocumentError, match="line 2"):
            parse_metadata(line, "a.md", first_line=2)
    else:
        assert parse_metadata(line, "a.md")[0].get(key) == value


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("effective_date: 2025-9-1", "effective_date on line 2 is '2025-9-1'. Write a date as YYYY-MM-DD"),
        ('effective_date: "2025-9-1"', "'2025-9-1'"),
        ("effective_date: 2025-02-30", "'2025-02-30'"),
        ("effective_date: 20250901", "'20250901'"),
        ("effective_date: soon", "'soon'"),
        ("title: [a, b]", r"title on line 2 is \['a', 'b'\]. Write a single line of text"),
        ("version: {a: b}", r"version on line 2 is \{'a': 'b'\}"),
        ("audience: []", r"audience on line 2 is \[\]. Name a group"),
        ("audience:", "audience on line 2 is None"),
        ("audience: [hr, [it]]", r"\['hr', \['it'\]\]"),
        ("id: a\nid: b", r"id is given twice \(line 3\)"),
        ("audiance: hr", "unknown key 'audiance' on line 2. Did you mean \"audience\"?"),
        ("title: [a", "the metadata cannot be read on line"),
        ("id: a\n\tb: c", "the metadata cannot be read on line 3"),
        ("id: a\n- b", "the metadata cannot be read on line 3"),
        ("id: !!python/object:os.system x", "the metadata cannot be read on line 2"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write, line, message):
    report = load_folder(write({"a.md": f"---\n{line}\n---\ntext", "b.md": "fine"}))
    assert [document.id for document in report] == ["b"]
    (problem,) = report.problems
    assert problem.source == "a.md"
    with pytest.raises(DocumentError, match=message):
        raise DocumentError(problem.source, problem.reason, problem.advice)


def test_unknown_keys_are_a_warning(write):
    report = load_folder(write({"a.md": "---\nid: x\nauthor: Kim\ntopics: hr\n---\ntext"}))
    assert report[0].id == "x" and report.problems == ()
    (warning,) = report.warnings
    assert (
        warning.reason
        == "unknown keys left out: 'author' on line 3, 'topics' on line 4 (did you mean \"topic\"?)"
    )


def test_front_matter_that_never_ends(write):
    with pytest.raises(DocumentError, match="a.md: the front matter begun on line 1 never ends"):
        load(write, "---\nid: x\n\n# A\n")


@pytest.mark.parametrize(
    "text", ["---\n\ntext\n\n---\n", "---\ntext\n---\nmore", "---\ntext", "text\n---\nid: x\n---\n"]
)
def test_a_rule_is_not_front_matter(text):
    assert split_front_matter(text, "a.md") == (None, text)


def test_empty_front_matter_and_other_ends():
    assert split_front_matter("---\n---\ntext", "a.md") == ("", "text")
    assert split_front_matter("---\nid: x\n...\ntext", "a.md") == ("id: x\n", "text")


def test_front_matter_is_no_heading(write):
    assert [heading.title for heading in load(write, "---\nid: x\n# note\n---\n# A\n").headings] == ["A"]


def test_byte_order_mark_and_crlf_leave_no_trace(write):
    document = load(write, b"\xef\xbb\xbf---\r\nid: x\r\n---\r\n# A\r\n## B\r\ntext\r\n")
    assert document.id == "x" and document.text == "# A\n## B\ntext\n"
    assert document.heading_path_at(len(document.text)) == ("A", "B")
    assert load(write, b"\xef\xbb\xbf# A\r\ntext", "b.md").title == "A"


def test_a_sidecar_describes_a_file_without_front_matter(write):
    folder = write(
        {
            "r.txt": "---\nid: y\n---\ntext",
            "r.txt.meta.yaml": "id: x\naudience: hr\neffective_date: 2025-01-31\n",
        }
    )
    document = load_folder(folder)[0]
    assert (document.id, document.audience) == ("x", {"hr"})
    assert document.effective_date == datetime.date(2025, 1, 31)
    assert document.text.startswith("---")  # only Markdown has front matter


def test_a_sidecar_that_is_broken_keeps_the_document_out(write):
    report = load_folder(write({"r.txt": "text", "r.txt.meta.yaml": "id: x\naudience: []\n"}))
    assert len(report) == 0
    assert report.problems[0].source == "r.txt"
    assert report.problems[0].reason == "in r.txt.meta.yaml: audience on line 2 is []"


def test_a_sidecar_without_its_file_is_a_problem(write):
    names = ["r.meta.yaml", "r.pdf.meta.yaml", "r.txt.meta.yml"]
    report = load_folder(write({"r.txt": "text", **dict.fromkeys(names, "id: x")}))
    assert [document.id for document in report] == ["r"] and report.warnings == ()
    assert [problem.source for problem in report.problems] == names
    assert {problem.reason for problem in report.problems} == {"it describes no file by this name"}
    assert "report.pdf.meta.yaml beside report.pdf" in report.problems[0].advice


def test_markdown_takes_one_of_the_two(write):
    folder = write(
        {"a.md": "# A", "a.md.meta.yaml": "id: x", "b.md": "---\nid: y\n---\n# B", "b.md.meta.yaml": "id: z"}
    )
    report = load_folder(folder)
    assert [document.id for document in report] == ["x"]
    assert report.problems[0].reason == "it has both front matter and a file b.md.meta.yaml"


@pytest.mark.parametrize(
    "yaml_text",
    [
        "[" * 2000,
        "a: &a [*a]",
        "title: &a [x]\n" + "topic: [*a, *a]",
        "{a: b}: c",
        "\x01",
        "version: !!int x",
    ],
)
def test_hostile_yaml_is_a_problem_of_one_file(write, yaml_text):
    report = load_folder(write({"r.txt": "text", "r.txt.meta.yaml": yaml_text}))
    assert len(report) + len(report.problems) == 1
    assert len(str(report)) < 1000
