#!/usr/bin/env python3
"""Build the PDF, DOCX and HTML documents of the handbook from their text sources.

For every ``data/sources/NAME.{pdf,docx,html}.md`` this script writes
``data/handbook/TOPIC/NAME.{pdf,docx,html}`` and, beside it, ``NAME.EXT.meta.yaml`` with the
front-matter keys. A source is Markdown with YAML front matter; supported are headings,
paragraphs, flat lists, pipe tables, fenced code, and a line ``<<<page>>>`` that starts a new
page (ignored in HTML). All dates come from the front matter: two runs give the same bytes.

    python data/build_documents.py           # write all documents
    python data/build_documents.py --check   # compare with the files on disk, write nothing
"""

from __future__ import annotations

import html
import io
import re
import sys
import zipfile
from dataclasses import dataclass, field
from datetime import datetime, time, timezone
from pathlib import Path
from string import Template

import matplotlib
import yaml
from docx import Document
from docx.enum.text import WD_BREAK
from docx.oxml.ns import qn
from docx.shared import Pt
from fpdf import FPDF
from fpdf.fonts import FontFace
from markdown_it import MarkdownIt

DATA = Path(__file__).resolve().parent
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"  # DejaVu comes with matplotlib
PAGE_MARK = "<<<page>>>"
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass
class Block:
    kind: str  # heading, paragraph, list, table, code or page
    text: str = ""
    level: int = 0  # headings: 1 to 6
    ordered: bool = False  # lists
    rows: list = field(default_factory=list)  # list items, or table rows of cells


def parse(body: str) -> list[Block]:
    """Split a Markdown body into blocks of plain text, for PDF and DOCX."""
    blocks: list[Block] = []
    container, level = None, 0  # the open list or table, the level of the open heading
    for token in MARKDOWN.parse(body):
        if token.type in ("bullet_list_open", "ordered_list_open", "table_open"):
            kind = "table" if token.type == "table_open" else "list"
            container = Block(kind, ordered=token.type.startswith("ordered"))
            blocks.append(container)
        elif token.type in ("bullet_list_close", "ordered_list_close", "table_close"):
            container = None
        elif token.type == "tr_open":
            container.rows.append([])
        elif token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "heading_close":
            level = 0
        elif token.type == "fence":
            blocks.append(Block("code", token.content.rstrip("\n")))
        elif token.type == "inline":
            text = "".join(" " if child.type.endswith("break") else child.content
                           for child in token.children)
            if container is not None:
                target = container.rows[-1] if container.kind == "table" else container.rows
                target.append(text)
            elif level:
                blocks.append(Block("heading", text, level))
            else:
                blocks.append(Block("page" if text == PAGE_MARK else "paragraph", text))
    return blocks


def timestamp(meta: dict) -> datetime:
    """The effective date at noon UTC, used as creation date of the built file."""
    return datetime.combine(meta["effective_date"], time(12), tzinfo=timezone.utc)


class HandbookPDF(FPDF):
    """A4 document with the title and the page number at the top of each page."""

    def __init__(self, meta: dict):
        super().__init__(format="A4")
        self.running_title = f"{meta['title']} · version {meta['version']}"
        self.set_creation_date(timestamp(meta))
        self.set_title(meta["title"])
        self.set_margins(20, 18, 20)
        self.set_auto_page_break(True, margin=20)
        self.add_font("sans", "", FONTS / "DejaVuSans.ttf")
        self.add_font("sans", "B", FONTS / "DejaVuSans-Bold.ttf")
        self.add_font("mono", "", FONTS / "DejaVuSansMono.ttf")

    def header(self):
        self.set_font("sans", "", 8)
        self.cell(120, 6, self.running_title)
        self.cell(0, 6, f"Page {self.page_no()} of {{nb}}", align="R")
        self.line(self.l_margin, self.get_y() + 6, self.w - self.r_margin, self.get_y() + 6)
        self.ln(11)

    def write_lines(self, text: str, height: float, indent: float = 0, after: float = 2.2, **more):
        """Print wrapped, left-aligned text, then a gap of ``after`` millimetres."""
        self.set_x(self.l_margin + indent)
        self.multi_cell(0, height, text, align="L", new_x="LMARGIN", new_y="NEXT", **more)
        self.ln(after)


def build_pdf(meta: dict, blocks: list[Block]) -> bytes:
    pdf = HandbookPDF(meta)
    pdf.set_fill_color(240)  # behind code
    pdf.set_draw_color(150)
    pdf.add_page()
    for block in blocks:
        pdf.set_font("sans", "", 10)
        if block.kind == "page":
            pdf.add_page()
        elif block.kind == "heading":
            if pdf.will_page_break(30):  # keep a heading together with what follows
                pdf.add_page()
            size = {1: 18, 2: 14}.get(block.level, 11.5)
            pdf.set_font("sans", "B", size)
            pdf.ln(2)
            pdf.write_lines(block.text, size * 0.5)
        elif block.kind == "paragraph":
            pdf.write_lines(block.text, 5.2)
        elif block.kind == "list":
            for number, item in enumerate(block.rows, 1):
                mark = f"{number}." if block.ordered else "•"
                pdf.write_lines(f"{mark} {item}", 5.2, indent=4, after=0.5)
            pdf.ln(1.7)
        elif block.kind == "code":
            pdf.set_font("mono", "", 8.5)
            pdf.write_lines(block.text, 4.6, after=3, fill=True)
        elif block.kind == "table":
            pdf.set_font("sans", "", 9)
            widths = [min(max(map(len, column)), 45) + 3 for column in zip(*block.rows)]
            head = FontFace(emphasis="BOLD", fill_color=(225, 232, 238))
            with pdf.table(block.rows, headings_style=head, col_widths=widths, text_align="LEFT",
                           line_height=5.2, padding=1):
                pass  # the rows are given above; leaving the block draws them
            pdf.ln(3)
    return bytes(pdf.output())


def restart_numbering(document, paragraphs) -> None:
    """Give a numbered list its own counter, so that it begins with 1 again."""
    numbering = document.part.numbering_part.element
    style_num = document.styles["List Number"].element.pPr.numPr.numId.val
    num = numbering.add_num(numbering.num_having_numId(style_num).abstractNumId.val)
    num.add_lvlOverride(ilvl=0).add_startOverride(1)
    for paragraph in paragraphs:
        properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
        properties.get_or_add_ilvl().val = 0
        properties.get_or_add_numId().val = num.numId


def build_docx(meta: dict, blocks: list[Block]) -> bytes:
    document = Document()
    core = document.core_properties
    core.title, core.author, core.comments = meta["title"], "Norvane Instruments", ""
    core.created = core.modified = timestamp(meta).replace(tzinfo=None)
    document.sections[0].header.paragraphs[0].text = f"{meta['title']}, version {meta['version']}"
    for block in blocks:
        if block.kind == "page":
            document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
        elif block.kind == "heading":
            document.add_heading(block.text, level=block.level)
        elif block.kind == "paragraph":
            document.add_paragraph(block.text)
        elif block.kind == "list":
            style = "List Number" if block.ordered else "List Bullet"
            items = [document.add_paragraph(item, style=style) for item in block.rows]
            if block.ordered:
                restart_numbering(document, items)
        elif block.kind == "code":
            font = document.add_paragraph().add_run(block.text).font
            font.name, font.size = "Courier New", Pt(9)
        elif block.kind == "table":
            table = document.add_table(rows=0, cols=len(block.rows[0]), style="Table Grid")
            for number, row in enumerate(block.rows):
                for cell, text in zip(table.add_row().cells, row):
                    cell.paragraphs[0].add_run(text).bold = number == 0
            header = table.rows[0]._tr.get_or_add_trPr()
            header.append(header.makeelement(qn("w:tblHeader"), {qn("w:val"): "true"}))
            document.add_paragraph()
    raw, fixed = io.BytesIO(), io.BytesIO()
    document.save(raw)
    # python-docx stamps the zip members with the current time: write them again with a fixed one
    with zipfile.ZipFile(raw) as source, zipfile.ZipFile(fixed, "w") as target:
        for name in source.namelist():
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(info, source.read(name))
    return fixed.getvalue()


def build_html(meta: dict, body: str) -> bytes:
    """Put the text into the <main> of the page template, amid navigation and footer."""
    sections: list[str] = []

    def add_anchor(match: re.Match) -> str:
        sections.append(match[1])
        return f'<h2 id="section-{len(sections)}">{match[1]}</h2>'

    rendered = MARKDOWN.render(body.replace(f"\n{PAGE_MARK}\n", "\n"))
    rendered = re.sub(r"<h2>(.*?)</h2>", add_anchor, rendered).strip()
    navigation = "\n".join(f'<li><a href="#section-{number}">{title}</a></li>'
                           for number, title in enumerate(sections, 1))
    language = "zh-CN" if re.search("[\u4e00-\u9fff]", body) else "en"
    template = Template((DATA / "sources" / "page_template.html").read_text(encoding="utf-8"))
    return template.substitute(meta, title=html.escape(meta["title"]), language=language,
                               navigation=navigation, body=rendered).encode("utf-8")


def build(source: Path) -> dict[Path, bytes]:
    """The files made from one source: the document and its sidecar."""
    _, front_matter, body = source.read_text(encoding="utf-8").split("---\n", maxsplit=2)
    meta = yaml.safe_load(front_matter)
    name = source.name.removesuffix(".md")
    builder = {".pdf": build_pdf, ".docx": build_docx, ".html": build_html}[Path(name).suffix]
    content = builder(meta, body if builder is build_html else parse(body))
    target = DATA / "handbook" / meta["topic"] / name
    return {target: content, target.with_name(f"{name}.meta.yaml"): front_matter.encode("utf-8")}


def main() -> int:
    check, different = "--check" in sys.argv[1:], 0
    for source in sorted((DATA / "sources").glob("*.*.md")):
        for path, content in build(source).items():
            same = path.exists() and path.read_bytes() == content
            different += not same
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            state = "unchanged" if same else "different" if check else "written"
            print(f"{state:10} {path.relative_to(DATA)} ({len(content):,} bytes)")
    return 1 if check and different else 0


if __name__ == "__main__":
    sys.exit(main())
