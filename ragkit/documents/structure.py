"""Headings, pipe tables and code fences of a Markdown-like text, as exact spans (chapter 01).

A line scanner, not a Markdown parser: it finds the three things that chunking must know about and leaves the
text as it is. Rules follow CommonMark 0.31 (ATX and setext headings, fenced code, list item indentation, HTML
blocks of kinds 1 and 2) and GitHub Flavored Markdown (tables), with four deliberate differences:

- a heading without any words ("##" alone) is no heading, since it would add an empty step to a heading path;
- headings inside quotations, on the line of a list marker, or indented by more than three columns are no
  headings: they do not open a section;
- a table row must hold a "|", so prose right below a table stays prose;
- a fence inside a list item runs to its closing line even over lines that are indented less, because authors
  paste code that way; CommonMark's reading would turn the rest of the document into code.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# Longer "titles" over a row of dashes are prose above a rule: as a heading they would fill every prefix.
_LONGEST_SETEXT_TITLE = 200

_ATX = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_LIST_MARKER = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]|$)")
_SEPARATOR_CELL = re.compile(r":?-+:?")
_RULE = re.compile(r"(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_RAW_HTML = re.compile(r"<(?:pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_RAW_HTML_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_ANCHOR = re.compile(r"[ \t]*\{#[^{}]*\}$")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True)
class Heading:
    """A heading and the span of its line (two or more lines for a setext heading), final newline included.

    `level` runs from 1 (top) to 6; `title` is the text without the marks and without a "{#anchor}".
    """

    level: int
    title: str
    start: int
    end: int


@dataclass(frozen=True)
class Block:
    """A heading, table or fenced code block: `text[start:end]`, final newline included if there is one.

    `header_end` is the end of the separator row of a table, the end of the opening line of a fence, and None
    for a heading. The remaining rows or lines are `text[header_end:end]`.
    """

    kind: Literal["heading", "table", "fence"]
    start: int
    end: int
    header_end: int | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    indent: int  # columns; a tab goes to the next multiple of four
    body: str  # without white space at either side


def scan_blocks(text: str) -> list[Block]:
    """Headings, tables and fences of `text`, in order, without overlap. Never raises; linear in length."""
    return [
        Block("heading", item.start, item.end) if isinstance(item, Heading) else item for item in _scan(text)
    ]


def find_headings(text: str) -> list[Heading]:
    """The headings of `text` in order. Lines inside code fences and HTML comments are none."""
    return [item for item in _scan(text) if isinstance(item, Heading)]


def _split_lines(text: str) -> list[_Line]:
    # Only "\n" ends a line: str.splitlines would also cut at form feeds and U+2028, which Markdown does not.
    lines = []
    start = 0
    for raw in text.split("\n"):
        end = min(start + len(raw) + 1, len(text))
        content = raw.rstrip(" \t\r")
        body = content.lstrip(" \t")
        indent = len(content[: len(content) - len(body)].expandtabs(4))
        lines.append(_Line(start, end, indent, body))
        start = end
    if lines[-1].start == len(text):
        lines.pop()
    return lines


def _scan(text: str) -> Iterator[Heading | Block]:
    lines = _split_lines(text)
    items: list[int] = []  # columns where the contents of the open list items begin
    paragraph: int | None = None  # first line of a paragraph that "---" may still turn into a heading
    lazy = False  # inside a paragraph that cannot become one: of a list item, a quotation, HTML
    unclosed: dict[tuple[str, int], int] = {}
    i = 0
    while i < len(lines):
        line = lines[i]
        if not line.body:
            paragraph, lazy, i = None, False, i + 1
            continue
        inside = items[: bisect_right(items, line.indent)]
        if not lazy:
            items = inside
        base = inside[-1] if inside else 0
        if line.indent - base > 3:  # indented code, or the continuation of a paragraph
            i += 1
            continue
        if paragraph is not None and line.indent <= 3 and set(line.body) in ({"="}, {"-"}):
            title = _clean_title(" ".join(part.body for part in lines[paragraph:i]))
            if title and len(title) <= _LONGEST_SETEXT_TITLE:
                level = 1 if line.body[0] == "=" else 2
                yield Heading(level, title, lines[paragraph].start, line.end)
            paragraph, i = None, i + 1
            continue
        heading = _atx_heading(line)
        if heading:
            yield heading
        if heading or _ATX.match(line.body) or _RULE.match(line.body):
            paragraph, lazy, items, i = None, False, inside, i + 1
            continue
        body, base, marked = _strip_list_markers(line, base, inside)
        if marked:
            items, paragraph, lazy = inside, None, True
        fence = _FENCE.match(body)
        if fence:
            mark = fence[1] or fence[2]
            last = _last_line_of_fence(lines, i, mark, base, unclosed)
            yield Block("fence", line.start, lines[last].end, line.end)
            paragraph, lazy, items, i = None, False, inside, last + 1
        elif not marked and _is_table_head(lines, i):
            last = _last_row(lines, i + 1, base)
            yield Block("table", line.start, lines[last].end, lines[i + 1].end)
            paragraph, lazy, i = None, False, last + 1
        elif (closing := _html_end(body)) is not None:
            while i < len(lines) - 1 and not closing.search(lines[i].body):
                i += 1
            paragraph, lazy, i = None, False, i + 1
        else:
            if body.startswith((">", "<")) or base:
                paragraph, lazy = None, True
            elif paragraph is None and not lazy:
                paragraph = i
            i += 1


def _atx_heading(line: _Line) -> Heading | None:
    found = _ATX.match(line.body)
    if not found or line.indent > 3:
        return None
    title = line.body[found.end() :]
    without_marks = title.rstrip("#")
    if not without_marks or without_marks[-1] in " \t":  # "# C#" keeps its sign, "# C #" does not
        title = without_marks.rstrip(" \t")
    title = _clean_title(title)
    return Heading(len(found[1]), title, line.start, line.end) if title else None


def _clean_title(title: str) -> str:
    return _ESCAPE.sub(r"\1", _ANCHOR.sub("", title)).strip()


def _strip_list_markers(line: _Line, base: int, inside: list[int]) -> tuple[str, int, bool]:
    """The rest of a line after its list markers, the column where it starts, and whether there were any.

    The columns of the items that the line opens are added to `inside`.
    """
    body, column, marked = line.body, line.indent, False
    while marker := _LIST_MARKER.match(body):
        rest = body[marker.end() :].lstrip(" \t")
        gap = len(body) - marker.end() - len(rest)
        base = column + marker.end() + (gap if rest and gap <= 4 else 1)
        inside.append(base)
        body, column, marked = rest, base, True
    return body, base, marked


def _last_line_of_fence(
    lines: list[_Line], first: int, mark: str, base: int, unclosed: dict[tuple[str, int], int]
) -> int:
    """The index of the closing line of the fence opened at `first` by `mark`.

    Without a closing line the fence ends with its list item, or at the end of the text. `unclosed` remembers
    for which marks no closing line follows any more, so that a text full of such fences is still read in
    linear time.
    """
    kind = (mark[0], base)
    hopeless = len(mark) >= unclosed.get(kind, len(mark) + 1)
    outside = None
    for i in range(first + 1, len(lines)):
        line = lines[i]
        if line.indent <= base + 3 and len(line.body) >= len(mark) and set(line.body) == {mark[0]}:
            return i
        if outside is None and line.body and line.indent < base:
            outside = i
            if hopeless:
                break
    unclosed[kind] = min(len(mark), unclosed.get(kind, len(mark)))
    return (len(lines) if outside is None else outside) - 1


def _is_table_head(lines: list[_Line], i: int) -> bool:
    """Whether lines `i` and `i` + 1 are header and separator row of a table (GFM: equally many cells)."""
    if i + 1 >= len(lines) or "|" not in lines[i].body or "|" not in lines[i + 1].body:
        return False
    separator = _cells(lines[i + 1].body)
    return len(separator) == len(_cells(lines[i].body)) and all(
        _SEPARATOR_CELL.fullmatch(cell.strip()) for cell in separator
    )


def _cells(row: str) -> list[str]:
    row = row.replace("\\|", "  ")  # an escaped bar is a character of its cell
    return row.removeprefix("|").removesuffix("|").split("|")


def _last_row(lines: list[_Line], separator: int, base: int) -> int:
    last = separator
    for i in range(separator + 1, len(lines)):
        line = lines[i]
        starts_other = line.body.startswith(">") or _FENCE.match(line.body) or _atx_heading(line)
        if "|" not in line.body or line.indent < base or starts_other:
            break
        last = i
    return last


def _html_end(body: str) -> re.Pattern[str] | None:
    """What ends the HTML comment or raw element (pre, script, style, textarea) that `body` begins, if any."""
    if body.startswith("<!--"):
        return re.compile("-->")
    return _RAW_HTML_END if _RAW_HTML.match(body) else None
