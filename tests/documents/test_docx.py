"""Word documents to text."""

import io

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn

from ragkit.documents import load_document, load_folder


@pytest.fixture
def load(write):
    def load_word(build):
        document = docx.Document()
        build(document)
        out = io.BytesIO()
        document.save(out)
        return load_document(write({"a.docx": out.getvalue()}) / "a.docx")

    return load_word


def test_headings_paragraphs_and_tables_in_their_order(load):
    def build(document):
        document.add_heading("Travel", 0)
        document.add_heading("Hotels", 1)
        document.add_paragraph("Before.")
        table = document.add_table(rows=2, cols=2)
        for cell, text in zip(
            (cell for row in table.rows for cell in row.cells), ("City", "Cap", "Berlin", "1|2\n3")
        ):
            cell.text = text
        document.add_paragraph("After.")
        document.add_heading("Deep", 9)

    document = load(build)
    assert document.text == (
        "# Travel\n\n# Hotels\n\nBefore.\n\n| City | Cap |\n| --- | --- |\n| Berlin | 1\\|2 3 |\n\n"
        "After.\n\n###### Deep"
    )
    assert document.title == "Travel"
    assert document.heading_path_at(document.text.index("After")) == ("Hotels",)


@pytest.mark.parametrize("name", ["Überschrift 2", "标题 2", "Titre 2", "見出し 2"])
def test_translated_heading_styles(load, name):
    def build(document):
        document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        document.add_paragraph("Reise", style=name)

    assert load(build).text == "## Reise"


def test_outline_levels_of_a_style_its_base_and_a_paragraph(load):
    def outline(properties, value):
        element = OxmlElement("w:outlineLvl")
        element.set(qn("w:val"), value)
        properties.append(element)

    def build(document):
        base = document.styles.add_style("Company base", WD_STYLE_TYPE.PARAGRAPH)
        outline(base.element.get_or_add_pPr(), "1")
        document.styles.add_style("Company", WD_STYLE_TYPE.PARAGRAPH).base_style = base
        document.add_paragraph("By style", style="Company")
        outline(document.add_paragraph("By paragraph")._p.get_or_add_pPr(), "2")
        outline(document.add_paragraph("Not", style="Heading 1")._p.get_or_add_pPr(), "9")

    assert load(build).text == "## By style\n\n### By paragraph\n\nNot"


def test_lists(load):
    def build(document):
        document.add_paragraph("a", style="List Bullet")
        document.add_paragraph("b", style="List Bullet 2")
        document.add_paragraph("one", style="List Number")
        document.add_paragraph("two", style="List Number")
        document.add_paragraph("end")

    assert load(build).text.split("\n") == ["- a", "- b", "1. one", "2. two", "", "end"]


def test_code_style_becomes_a_fence(load):
    def build(document):
        document.styles.add_style("Source Code", WD_STYLE_TYPE.PARAGRAPH)
        for line in ("# not a heading", "", "  ls"):
            document.add_paragraph(line, style="Source Code")
        document.add_paragraph("# text")

    document = load(build)
    assert document.text == "```\n# not a heading\n\n  ls\n```\n\n\\# text"
    assert document.headings == ()


def test_merged_cells(load):
    def build(document):
        table = document.add_table(rows=3, cols=2)
        table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
        table.cell(1, 0).merge(table.cell(2, 0)).text = "tall"
        table.cell(1, 1).text, table.cell(2, 1).text = "1", "2"

    assert load(build).text == "| wide |  |\n| --- | --- |\n| tall | 1 |\n| tall | 2 |"


def test_tracked_changes_content_controls_and_breaks(load):
    def build(document):
        paragraph = document.add_paragraph("a")._p
        for tag, text in (("ins", "<w:t>b</w:t>"), ("del", "<w:delText>c</w:delText>")):
            paragraph.append(parse_xml(f"<w:{tag} {nsdecls('w')}><w:r>{text}</w:r></w:{tag}>"))
        document.element.body.insert(
            0,
            parse_xml(
                f"<w:sdt {nsdecls('w')}><w:sdtContent><w:p><w:r><w:t>first</w:t><w:br/><w:t>second</w:t>"
                "</w:r></w:p></w:sdtContent></w:sdt>"
            ),
        )

    assert load(build).text == "first\nsecond\n\nab"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600),
            "it is protected by a password or in the old .doc format",
        ),
        (b"PK\x03\x04 broken", "it is damaged or not what its name says"),
        (b"text", "it is damaged or not what its name says"),
    ],
)
def test_what_is_no_docx_is_named(write, data, reason):
    report = load_folder(write({"a.docx": data, "b.md": "fine"}))
    assert len(report) == 1
    assert report.problems[0].reason.startswith(reason) and report.problems[0].advice


def test_a_document_without_text_is_a_problem(write):
    out = io.BytesIO()
    docx.Document().save(out)
    assert load_folder(write({"a.docx": out.getvalue()})).problems[0].reason == "there is no text in it"


def test_a_chinese_document_with_a_sidecar(write):
    document = docx.Document()
    document.add_heading("报销政策", 1)
    document.add_paragraph("出差住宿上限为每晚五百元。")
    out = io.BytesIO()
    document.save(out)
    loaded = load_folder(
        write({"a.docx": out.getvalue(), "a.docx.meta.yaml": "id: zh/报销\naudience: [hr]"})
    )[0]
    assert (loaded.id, loaded.title, loaded.audience) == ("zh/报销", "报销政策", {"hr"})
    assert loaded.text == "# 报销政策\n\n出差住宿上限为每晚五百元。"
