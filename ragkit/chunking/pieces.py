"""The pieces of a text that are better not cut, and how a piece that is too long is taken apart (chapter 01).

A document is first a list of large pieces: headings, tables, code fences and, between them, sentences. A
piece that is longer than a chunk may be is replaced by its parts: a table by its rows, a fence by its lines,
a sentence by its clauses, a clause by its words, and a word, when nothing softer is left, by runs of
characters. Each piece knows how good a place the position before it is for a cut, so that packing can choose.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ragkit.chunking.chunk import Measure
from ragkit.chunking.sentences import split_sentences, trim
from ragkit.documents import Document
from ragkit.documents.structure import Block, Heading, scan_blocks

Kind = Literal["heading", "table", "fence", "sentence", "line", "clause", "word", "characters"]

# How good a place for a cut is, from worst to best. GLUED stands after what announces the next piece (a
# heading, a header row, a sentence that ends in a colon), LINE between the rows of a table or the lines of a
# fence, ITEM where a sentence and a line end together, BLOCK at a blank line, a table or a fence, HEADING
# before a heading.
GLUED, HARD, SPACE, CLAUSE, LINE, SENTENCE, ITEM, BLOCK, HEADING = range(-1, 8)

# After a comma and the like, a closing bracket, a table cell, or between a word and a dash.
_CLAUSE = re.compile(r"[,;:)\]](?=\s)|\S ?\|(?=\s)|[，、：；）】》]+|\s[–—-]+(?=\s)|——")
_SPACE = re.compile(r"\s+")
_ROW = re.compile(r"\n")
_FENCE_END = re.compile(r"\s*(?:`{3,}|~{3,})\s*")
_MARKS_IN_A_ROW = 16  # a letter with more combining marks than this is noise; looking further back costs time


@dataclass(frozen=True, slots=True)
class Piece:
    """The span `start:end`, without blanks at its end; `before` tells how good a cut at its start is."""

    start: int
    end: int
    kind: Kind
    before: int


def document_pieces(document: Document) -> list[Piece]:
    """Headings, tables, fences and sentences in order; together they hold all that is not blank."""
    text = document.text
    tables_and_fences = [block for block in scan_blocks(text) if block.kind != "heading"]
    end_of_text = Block("fence", len(text), len(text))
    pieces: list[Piece] = []
    position = 0
    for block in sorted([*document.headings, *tables_and_fences, end_of_text], key=lambda block: block.start):
        if block.start < position:
            continue  # a heading that was given with the document, inside a fence for example
        for start, end in split_sentences(text[position : block.start]):
            start, end = start + position, end + position
            before = GLUED if _announces(text, pieces) else _strength(text, pieces, start)
            pieces.append(Piece(start, end, "sentence", before))
        start, end = trim(text, block.start, block.end)
        if start < end:
            if isinstance(block, Heading):
                # The higher the heading, the better the place.
                pieces.append(Piece(start, end, "heading", HEADING + 6 - block.level))
            else:
                pieces.append(Piece(start, end, block.kind, GLUED if _announces(text, pieces) else BLOCK))
        position = block.end
    return pieces


def _announces(text: str, pieces: list[Piece]) -> bool:
    """Whether the last of `pieces` makes sense only with what follows."""
    if not pieces:
        return False
    last = pieces[-1]
    return last.kind == "heading" or (last.kind == "sentence" and text[last.end - 1] in ":：")


def _strength(text: str, pieces: list[Piece], start: int) -> int:
    """How good a cut is before the sentence at `start`, which follows the last of `pieces`."""
    if not pieces or pieces[-1].kind != "sentence":
        return BLOCK
    return (SENTENCE, ITEM, BLOCK)[min(text.count("\n", pieces[-1].end, start), 2)]


def fit(text: str, pieces: Iterable[Piece], size: int, measure: Measure) -> list[Piece]:
    """The pieces, with each that measures more than `size` replaced by parts that do not."""
    fitting: list[Piece] = []
    for piece in pieces:
        if measure(text[piece.start : piece.end]) <= size:
            fitting.append(piece)
        else:
            fitting.extend(_parts(text, piece, size, measure))
    return fitting


def _parts(text: str, piece: Piece, size: int, measure: Measure) -> Iterable[Piece]:
    match piece.kind:
        case "table" | "fence":
            parts = _rows(text, piece)
        case "heading" | "sentence" | "line":
            parts = _split(text, piece, _CLAUSE, "clause", CLAUSE)
        case "clause":
            parts = _split(text, piece, _SPACE, "word", SPACE)
        case _:
            return _characters(text, piece, size, measure)
    return fit(text, parts, size, measure)


def _split(text: str, piece: Piece, pattern: re.Pattern[str], kind: Kind, strength: int) -> list[Piece]:
    """The parts of `piece` between the matches of `pattern`; a match belongs to the part it ends."""
    ends = [match.end() for match in pattern.finditer(text, piece.start, piece.end)]
    cuts = [piece.start, *ends, piece.end]
    spans = [trim(text, start, end) for start, end in zip(cuts, cuts[1:])]
    spans = [(start, end) for start, end in spans if start < end]
    strengths = [piece.before] + [strength] * len(spans)
    return [Piece(start, end, kind, before) for (start, end), before in zip(spans, strengths)]


def _rows(text: str, piece: Piece) -> list[Piece]:
    """The rows of a table, header and separator as one, or the lines of a fence, with their indentation."""
    cuts = [match.end() for match in _ROW.finditer(text, piece.start, piece.end)]
    header_rows = 2 if piece.kind == "table" else 1
    cuts = [piece.start, *cuts[header_rows - 1 :], piece.end]
    rows: list[Piece] = []
    for start, end in zip(cuts, cuts[1:]):
        row = text[start:end].rstrip()
        if row:
            # Neither the header nor a fence's closing line says anything by itself.
            glued = len(rows) == 1 or (end == piece.end and _FENCE_END.fullmatch(row))
            before = GLUED if glued else LINE
            rows.append(Piece(start, start + len(row), "line", before if rows else piece.before))
    return rows


def _characters(text: str, piece: Piece, size: int, measure: Measure) -> Iterator[Piece]:
    start = piece.start
    while start < piece.end:
        end = longest_fit(text, start, piece.end, size, measure)
        yield Piece(start, end, "characters", HARD if start > piece.start else piece.before)
        start = end


def longest_fit(text: str, start: int, stop: int, size: int, measure: Measure) -> int:
    """The furthest end, at most `stop`, for which the span from `start` measures at most `size`.

    At least one character is taken, whatever it measures. A letter is kept with its combining marks where
    that does not break the size.
    """

    def fits(length: int) -> bool:
        return measure(text[start : start + length]) <= size

    end = start + furthest(stop - start, fits, size)
    for softer in range(end, max(start, end - _MARKS_IN_A_ROW), -1):
        if softer == stop or not joins_previous(text, softer):
            return softer if softer == end or fits(softer - start) else end
    return end


def furthest(limit: int, fits: Callable[[int], bool], guess: int = 1) -> int:
    """The largest number from 1 to `limit` that fits, if numbers stop fitting at some point; at least 1.

    Doubling from `guess`, then halving the gap: the answer is tested itself, so a measure that is not quite
    additive (tokens) may cost a little length but never breaks the limit.
    """
    good, probe = 1, min(guess, limit)
    while fits(probe):
        good = probe
        if probe == limit:
            return limit
        probe = min(2 * probe, limit)
    bad = probe
    while bad - good > 1:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good


def joins_previous(text: str, position: int) -> bool:
    """Whether the character at `position` is drawn as part of the one before it (a mark, a joined emoji)."""
    character = text[position]
    if character.isascii() or position == 0:
        return False
    return (
        unicodedata.category(character)[0] == "M"
        or "\u200d" in (character, text[position - 1])
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\udc00" <= character <= "\udfff"  # the second half of a surrogate pair
    )
