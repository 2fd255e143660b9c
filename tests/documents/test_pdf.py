"""PDF to text."""

import io
import logging

import pytest
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter

from ragkit.documents import load_document, load_folder


def pdf(*pages):
    """A PDF with one line of text on each page; None gives a page with a drawing only."""
    document = FPDF()
    for text in pages:
        document.add_page()
        document.set_font("Helvetica", size=12)
        if text is None:
            document.rect(10, 10, 50, 50)
        else:
            document.multi_cell(0, 8, text)
    return bytes(document.output())


def encrypted(data, user_password):
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(user_password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_pages_and_their_places(write):
    document = load_document(
        write({"guide.pdf": pdf("Hotel cap: 120 EUR", "Second page\nlast line")}) / "guide.pdf"
    )
    assert document.text == "Hotel cap: 120 EUR\n\nSecond page\nlast line"
    assert (document.title, document.media_type) == ("guide", "application/pdf")
    assert [document.text[page.start : page.end] for page in document.pages] == [
        "Hotel cap: 120 EUR",
        "Second page\nlast line",
    ]
    start = document.text.index("last")
    assert document.locate(start, start + 4).page == 2
    assert document.locate(start, start + 4).line == 2  # of its page


def test_a_number_sign_in_a_pdf_is_no_heading(write):
    assert load_document(write({"a.pdf": pdf("# not a heading")}) / "a.pdf").headings == ()


def test_a_sidecar_gives_the_metadata(write):
    folder = write({"a.pdf": pdf("text"), "a.pdf.meta.yaml": "id: travel\ntitle: Travel\nversion: 2\n"})
    assert (load_folder(folder)[0].key, load_folder(folder)[0].title) == (("travel", "2"), "Travel")


@pytest.mark.parametrize(
    ("data", "reason", "advice"),
    [
        (encrypted(pdf("secret"), "user"), "protected by a password", "save a copy without one"),
        (pdf(None), "its only page has no text, only images or drawings", "text recognition"),
        (pdf(None, None), "its 2 pages have no text", "text recognition"),
        (b"%PDF-1.7\nnothing", "damaged or no PDF", "print it to a new PDF"),
        (b"no pdf at all", "damaged or no PDF", "print it to a new PDF"),
        (pdf("text")[:300], "damaged or no PDF", "print it to a new PDF"),
    ],
)
def test_what_cannot_be_read_is_named_with_advice(write, data, reason, advice, caplog):
    report = load_folder(write({"a.pdf": data, "b.md": "fine"}))
    assert [document.id for document in report] == ["b"]
    assert reason in report.problems[0].reason and advice in report.problems[0].advice
    assert caplog.records == []


def test_a_pdf_protected_from_changes_only_is_read(write):
    assert load_document(write({"a.pdf": encrypted(pdf("open"), "")}) / "a.pdf").text == "open"


def test_pages_without_text_are_a_warning(write):
    report = load_folder(write({"a.pdf": pdf("one", None, "three", None)}))
    assert report[0].text == "one\n\n\n\nthree\n\n"
    assert [page.end - page.start for page in report[0].pages] == [3, 0, 5, 0]
    assert [warning.reason for warning in report.warnings] == ["no text on page 2, 4 of 4"]


@pytest.mark.parametrize("error", [RecursionError("deep"), KeyError("/Font"), ValueError("bad")])
def test_a_page_that_fails_does_not_take_the_others_along(write, monkeypatch, error):
    from pypdf import PageObject

    original = PageObject.extract_text

    def extract(page, *args, **kwargs):
        if page.page_number == 0:
            raise error
        return original(page, *args, **kwargs)

    monkeypatch.setattr(PageObject, "extract_text", extract)
    report = load_folder(write({"a.pdf": pdf("one", "two")}))
    assert report[0].text == "\n\ntwo"
    assert report.warnings[0].reason.startswith("page 1 cannot be read: ")
    assert (
        load_folder(write({"a.pdf": pdf("one")}))
        .problems[0]
        .reason.startswith("none of its pages can be read")
    )


def test_the_log_of_pypdf_is_left_as_it_was(write):
    before = logging.getLogger("pypdf").level
    load_folder(write({"a.pdf": pdf("x")}))
    assert logging.getLogger("pypdf").level == before
