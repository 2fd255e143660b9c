"""Where a piece of evidence may be cut: after a sentence, a table row or a line of code (chapter 06)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragkit.chunking import split_sentences
from ragkit.documents.structure import Block, scan_blocks

_RUN_IN = re.compile(r"(\*\*|__)[^*_\n]{1,80}\1")  # a heading that is printed in bold at the start of its paragraph
_FENCE_OPENING = re.compile(r"[ \t]*(?:`{3,}|~{3,})")


class Unit(NamedTuple):
    """``text[start:end]`` is not cut.

    ``header`` is what a text that begins here would lack: the header row of its table, the opening line of its
    code fence. ``opens``: it says nothing without what follows (a heading, a header row, a colon at the end).
    """

    start: int
    end: int
    header: str = ""
    opens: bool = False


def cut_units(text: str, prefix: str = "") -> list[Unit]:
    """The units of ``text``, in order; together they hold all that is not blank.

    ``prefix`` is the header row or the opening line of the fence that the text begins inside, if any.
    """
    lead = _lead(prefix)
    whole = lead + text
    units = []
    for unit in _units(whole):
        if unit.end > len(lead):
            units.append(Unit(max(unit.start - len(lead), 0), unit.end - len(lead), unit.header, unit.opens))
    if units and lead and not units[0].header:
        units[0] = units[0]._replace(header=prefix)
    return units


def _lead(prefix: str) -> str:
    """The beginning of the table or fence that a text goes on with, so that it is recognised as one."""
    if not prefix:
        return ""
    if _FENCE_OPENING.match(prefix):
        return f"{prefix}\n"
    cells = prefix.replace("\\|", "").strip().removeprefix("|").removesuffix("|").count("|") + 1
    return f"{prefix}\n|{'---|' * cells}\n"


def _units(text: str) -> Iterator[Unit]:
    position = 0
    for block in [*scan_blocks(text), Block("heading", len(text), len(text))]:
        for start, end in split_sentences(text[position:block.start]):
            opens = text[position + end - 1] in ":：" or bool(_RUN_IN.fullmatch(text, position + start, position + end))
            yield Unit(position + start, position + end, opens=opens)
        if block.kind == "heading" and block.start < block.end:
            yield Unit(block.start, block.start + len(text[block.start:block.end].rstrip()), opens=True)
        elif block.header_end is not None:
            yield from _lines(text, block)
        position = block.end


def _lines(text: str, block: Block) -> Iterator[Unit]:
    """The header of a table or fence, then its rows or lines, one by one."""
    header_end = block.header_end
    header = text[block.start:header_end].strip("\n")
    yield Unit(block.start, block.start + len(text[block.start:header_end].rstrip()), opens=True)
    if block.kind == "table":
        header = header.rpartition("\n")[0].strip()  # without the row of dashes, as in a chunk's prefix
    position = header_end
    for line in text[header_end:block.end].split("\n"):
        if line.strip():
            yield Unit(position, position + len(line.rstrip()), header)
        position += len(line) + 1
