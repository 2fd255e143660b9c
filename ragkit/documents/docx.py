"""Word (DOCX) to text with python-docx: headings, lists, tables and code as Markdown, in document order.

Read are the body with its content controls, inserted (tracked) text and text boxes; not read are deleted
text, comments, headers, footers and footnotes.
"""

import io
import re
from collections import defaultdict
from collections.abc import Iterator

import docx
from docx.oxml.ns import qn
from docx.table import Table
from docx.text.paragraph import Paragraph

from ragkit.documents.markup import fence, heading, join_blocks, list_item, plain, table
from ragkit.documents.model import DocumentError

_OLE_MARK = bytes.fromhex("d0cf11e0")  # old .doc files, and new ones with a password, are in this container
# Built-in styles keep their English name in the file whatever the language of Word; other programs translate.
_HEADING_STYLE = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|rubrik|kop|nagłówek|заголовок|标题|標題|見出し|제목)\s*([1-9])\b",
    re.IGNORECASE,
)
_TITLE_STYLE = re.compile(r"(?:title|titel|标题|標題|表題|제목)$", re.IGNORECASE)
_CODE_STYLE = re.compile(r"code|preformatted|macro text|代码", re.IGNORECASE)
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_W_P, _W_T, _W_TBL, _W_VAL, _W_NUM_PR = qn("w:p"), qn("w:t"), qn("w:tbl"), qn("w:val"), qn("w:numPr")
_BREAKS = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
_SKIPPED = frozenset([_FALLBACK, qn("w:del"), qn("w:pPr"), qn("w:rPr"), qn("w:moveFrom")])
_WRAPPERS = frozenset([qn("w:sdt"), qn("w:sdtContent"), qn("w:customXml"), qn("w:ins"), qn("w:moveTo")])


def docx_to_text(data: bytes, source: str) -> str:
    """The text of a Word document.

    Raises:
        DocumentError: for a file that is protected or no DOCX. What python-docx stumbles over passes through.
    """
    if data.startswith(_OLE_MARK):
        raise DocumentError(
            source,
            "it is protected by a password or in the old .doc format",
            "Open it in Word or LibreOffice and save it as .docx without a password.",
        )
    return _Writer(docx.Document(io.BytesIO(data))).text()


class _Writer:
    def __init__(self, document):
        self.document = document
        self.numbers: dict[tuple[str, int], int] = defaultdict(int)
        self.formats = _number_formats(document)

    def text(self) -> str:
        blocks: list[str] = []
        run: list[str] = []  # consecutive list items, or lines of code
        running = ""
        for part in self.parts(self.document.element.body):
            kind, text = self.table(part) if isinstance(part, Table) else self.paragraph(part)
            if kind != running and run:
                blocks.append(_end_run(running, run))
                run = []
            running = kind
            if kind in ("list", "code"):
                run.append(text)
            else:
                blocks.append(text)
        blocks.append(_end_run(running, run) if run else "")
        return join_blocks(blocks)

    def parts(self, element) -> Iterator[Paragraph | Table]:
        for child in element:
            if child.tag == _W_P:
                yield Paragraph(child, self.document)
            elif child.tag == _W_TBL:
                yield Table(child, self.document)
            elif child.tag in _WRAPPERS:
                yield from self.parts(child)

    def paragraph(self, paragraph: Paragraph) -> tuple[str, str]:
        styles = _styles(paragraph)
        names = [style.name or "" for style in styles]
        text = _text(paragraph._p)
        if any(_CODE_STYLE.search(name) for name in names):
            return "code", text
        text = text.strip()
        level = _heading_level(paragraph, styles, names)
        if level:
            return "heading", heading(level, text) if text else ""
        item = self.list_marker(paragraph, styles, names)
        if item and text:
            depth, marker = item
            indented = list_item(marker, plain(text)).split("\n")
            return "list", "\n".join("   " * depth + line for line in indented)
        return "paragraph", plain(text)

    def list_marker(self, paragraph: Paragraph, styles: list, names: list[str]) -> tuple[int, str] | None:
        """Depth from 0 and marker of a list item; None for a paragraph that is none."""
        number_id, depth = None, 0
        for properties in (element.pPr for element in (paragraph._p, *(style.element for style in styles))):
            numbering = properties.find(_W_NUM_PR) if properties is not None else None
            if numbering is not None:
                number_id = _value(numbering, "w:numId")
                depth = int(_value(numbering, "w:ilvl") or 0)
                break
        if number_id == "0":  # Word's way to take an inherited number off
            return None
        if number_id is None:
            return (0, "-") if any(name.lower().startswith("list bullet") for name in names) else None
        if self.formats.get((number_id, depth), "bullet") in ("bullet", "none"):
            return depth, "-"
        self.numbers[number_id, depth] += 1
        for key in [key for key in self.numbers if key[0] == number_id and key[1] > depth]:
            del self.numbers[key]
        return depth, f"{self.numbers[number_id, depth]}."

    def table(self, part: Table) -> tuple[str, str]:
        rows = []
        for row in part.rows:
            seen: list = []
            texts = [""] * row.grid_cols_before
            for cell in row.cells:  # a merged cell comes once for each column; its text belongs in the first
                texts.append("" if any(cell._tc is one for one in seen) else self.cell(cell._tc))
                seen.append(cell._tc)
            rows.append(texts)
        return "table", table(rows)

    def cell(self, element) -> str:
        texts = []
        for part in self.parts(element):
            if isinstance(part, Table):
                texts.extend(self.cell(cell._tc) for row in part.rows for cell in row.cells)
            else:
                texts.append(_text(part._p))
        return " ".join(texts)


def _end_run(kind: str, lines: list[str]) -> str:
    return fence("\n".join(lines).strip("\n")) if kind == "code" else "\n".join(lines)


def _text(element) -> str:
    """The visible text below an XML element, by hand: Paragraph.text leaves out tracked insertions, content
    controls, formulas and text boxes."""
    pieces = []
    for child in element:
        if child.tag in _SKIPPED:
            continue
        if child.tag in (_W_T, _MATH_TEXT):
            pieces.append(child.text or "")
        elif child.tag in _BREAKS:
            pieces.append(_BREAKS[child.tag])
        elif child.tag == _W_P:
            pieces.append("\n" + _text(child) + "\n")
        else:
            pieces.append(_text(child))
    return "".join(pieces)


def _styles(paragraph: Paragraph) -> list:
    """The style of a paragraph and those it is based on, nearest first."""
    styles, style = [], paragraph.style
    while style is not None and len(styles) < 20:  # damaged files have styles based on each other
        styles.append(style)
        style = style.base_style
    return styles


def _heading_level(paragraph: Paragraph, styles: list, names: list[str]) -> int | None:
    """1 to 9, from the outline level or the name of a style; None for running text."""
    for properties in (element.pPr for element in (paragraph._p, *(style.element for style in styles))):
        value = _value(properties, "w:outlineLvl") if properties is not None else None
        if value is not None and value.isdecimal():
            return int(value) + 1 if int(value) < 9 else None  # 9 is Word's number for body text
    for name in names:
        found = _HEADING_STYLE.match(name)
        if found:
            return int(found[1])
    return 1 if names and _TITLE_STYLE.match(names[0]) else None


def _value(element, name: str) -> str | None:
    child = element.find(qn(name))
    return None if child is None else child.get(_W_VAL)


def _number_formats(document) -> dict[tuple[str, int], str]:
    """(numId, depth) -> format, "bullet" or a kind of number, from the numbering part if there is one."""
    parts = (rel.target_part for rel in document.part.rels.values() if rel.reltype.endswith("/numbering"))
    numbering = next(parts, None)
    if numbering is None:
        return {}
    formats: dict[tuple[str, int], str] = {}
    abstract = {}
    for element in numbering.element.findall(qn("w:abstractNum")):
        abstract[element.get(qn("w:abstractNumId"))] = {
            int(level.get(qn("w:ilvl"))): _value(level, "w:numFmt") or "decimal"
            for level in element.findall(qn("w:lvl"))
        }
    for element in numbering.element.findall(qn("w:num")):
        for depth, kind in abstract.get(_value(element, "w:abstractNumId"), {}).items():
            formats[element.get(qn("w:numId")), depth] = kind
    return formats
