"""A source as the support checks read it: sentences, rows and headings with their words and facts (chapter 07)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ragkit.chunking import split_sentences
from ragkit.chunking.sentences import trim
from ragkit.documents.structure import scan_blocks
from ragkit.facts import CITATION_MARK, Fact, find_facts
from ragkit.wording import base_form, content_stems

SHORT_LINE = 60  # characters; running text is broken later than that
_LINE = re.compile(r"[^\n]+")
_BREADCRUMBS = re.compile(r"\s*[^\n|>]{1,200} > [^\n|]{1,300}(?=\n)")  # the first line of a chunk's prefix
# "## 4.2 Hotels", "Travel > 4. Hotels": such a number says where, not what.
_SECTION = re.compile(r"(?:^|[#>])[^\S\n]*(?:\d{1,3}\.)+\d{0,3}(?=\s)")


@dataclass(frozen=True)
class Unit:
    """A sentence, a table row or a heading: ``source[start:end] == text``.

    Attributes:
        stems: of its content words, in order.
        header, header_text: the stems and the text of the table's header row, for a row; else empty.
    """

    text: str
    start: int
    end: int
    is_heading: bool
    stems: tuple[str, ...]
    facts: tuple[Fact, ...]
    header: frozenset[str] = frozenset()
    header_text: str = ""


@dataclass(frozen=True)
class Passage:
    """The units of a source in order, and the stems of its headings, which hold for all of them."""

    units: tuple[Unit, ...]
    about: frozenset[str]


@lru_cache(maxsize=512)  # one source is asked about every sentence of an answer
def read_passage(source: str) -> Passage:
    """The source cut into units; in time linear in its length."""
    units: list[Unit] = []
    header, header_text = frozenset(), ""
    for start, end, kind in _spans(source):
        text = source[start:end]
        stems = claim_stems(text)
        if kind == "header":
            header, header_text = frozenset(stems), text
        is_heading = kind == "heading"
        sections = [match.span() for match in _SECTION.finditer(text)] if is_heading else []
        facts = tuple(fact for fact in find_facts(text)
                      if not any(first <= fact.start < last for first, last in sections))
        above = (header, header_text) if kind == "row" else (frozenset(), "")
        units.append(Unit(text, start, end, is_heading, stems, facts, *above))
    return Passage(tuple(units), frozenset(stem for unit in units if unit.is_heading for stem in unit.stems))


def claim_stems(text: str) -> tuple[str, ...]:
    """The stems of the content words, irregular forms as their verb; those of citation marks ("[1]") left out."""
    return tuple(map(base_form, content_stems(CITATION_MARK.sub(" ", text))))


def _spans(source: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, "heading", "header", "row" or "sentence") of the units, without blank ones."""
    position = 0
    crumbs = _BREADCRUMBS.match(source)
    if crumbs:
        yield *trim(source, 0, crumbs.end()), "heading"
        position = crumbs.end()
    offset = position
    for block in scan_blocks(source[offset:]):
        yield from _sentences(source, position, offset + block.start)
        position = offset + block.end
        if block.kind == "heading":
            yield *trim(source, offset + block.start, position), "heading"
            continue
        body = offset + block.header_end
        opening = next(_LINE.finditer(source, offset + block.start, body))
        yield *trim(source, *opening.span()), "header" if block.kind == "table" else "sentence"
        for line in _LINE.finditer(source, body, position):
            if line[0].strip():
                yield *trim(source, *line.span()), "row" if block.kind == "table" else "sentence"
    yield from _sentences(source, position, len(source))


def _sentences(source: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Sentences, cut further where lines that are no running text follow each other: tables out of a PDF."""
    for first, last in split_sentences(source[start:end]):
        cut = start + first
        for line in _LINE.finditer(source, start + first, start + last):
            following = source[line.end():line.end() + 2].lstrip()
            if len(line[0]) < SHORT_LINE and line.end() < start + last and not following[:1].islower():
                yield *trim(source, cut, line.end()), "sentence"
                cut = line.end()
        yield *trim(source, cut, start + last), "sentence"
