"""What can be quoted of a source: sentences, list items, table rows and lines, as exact spans (chapter 07)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from ragkit.chunking.sentences import trim

if TYPE_CHECKING:
    from ragkit.context import Source

_LIST_MARKER = re.compile(r"(?:[-*+•]|\d{1,3}[.)]|[A-Za-z][.)])[^\S\n]+(?=\S)")
_BOLD_LABEL = re.compile(r"(\*\*|__)(?!\s)[^*_\n]{1,80}\1[.:]?")
_LINE_LABEL = re.compile(r"[^\d\n]{0,80}[^\d\n.!?;:。！？；：…\"'”’)]")
_SECTION_NUMBER = re.compile(r"^\d{1,2}(?:\.\d{1,2})*\.?\s+(?=\S)")
_PAGE_LINE = re.compile(r"(?:\bpage\s+\d+(?:\s+of\s+\d+)?|第\s*\d+\s*页.*)\s*$", re.IGNORECASE)
_SENTENCE_ENDS = tuple(".!?。！？")
_QUESTION = re.compile(r"[?？][\"”’'»」』)）*_]*$")
_LINK_DEFINITION = re.compile(r"^\s*\[\^?\d+\]:", re.MULTILINE)
_NEXT_WORD = re.compile(r"\s*(\S*)")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_LIST_OF_LINES = 3  # so many lines of a "sentence" that end early make it a list
_MOST_HEADINGS = 2
_ENDS_EARLY = 0.8  # of the longest line: a next word would have fitted, with some room for proportional letters


@dataclass(frozen=True)
class Quote:
    """A sentence, list item, table row or line of code: ``source.text[start:end] == text``.

    ``header`` heads it: the header row of a row's table, the words in bold or the bare line before a paragraph. It is
    read with the text but not quoted with it: the two need not stand side by side in the document, so together they
    would not be an exact quote.
    """

    number: int
    start: int
    end: int
    text: str
    header: str = ""

    @property
    def read_text(self) -> str:
        return f"{self.header}\n{self.text}" if self.header else self.text


def find_quotes(source: "Source") -> list[Quote]:
    """What can be quoted of a source, in order: no heading, label, header row, fence line or "as follows:", and no
    question: in a list of questions and answers it is nearest to what is asked, and answers nothing.

    A list item is quoted without its marker: "3." would be read as part of the answer. A table that a PDF gives as
    bare lines has neither bars nor full stops and looks like one long sentence; it is quoted by line.
    """
    from ragkit.context.units import cut_units

    text = source.text
    width = max(len(line) for line in text.split("\n"))
    quotes: list[Quote] = []
    label, after = "", 0  # words in bold head the rest of their paragraph
    for unit in cut_units(text, source.prefix):
        if "\n\n" in text[after:unit.start]:
            label = ""
        after = unit.end
        start, end = trim(text, unit.start, unit.end)
        if marker := None if unit.header else _LIST_MARKER.match(text, start, end):
            start, label = marker.end(), ""
        if _BOLD_LABEL.fullmatch(text, start, end):
            label = text[start:end]
        elif unit.opens or _FENCE.match(text, start):
            continue
        elif unit.header:
            quotes.append(Quote(source.number, start, end, text[start:end], unit.header))
        else:
            lines = list(_lines(text, start, end, width, paged=source.page is not None))
            quotes += [Quote(source.number, first, last, text[first:last], header or label)
                       for first, last, header in _headed(text, lines) if not _QUESTION.search(text[first:last])]
    return quotes


def can_be_cited(quote: Quote) -> bool:
    """Whether the mark after the quote is read as one, and nothing inside it is or makes a link of others."""
    from ragkit.citations.marks import parse_citations

    if _LINK_DEFINITION.search(quote.text):
        return False
    marks = parse_citations(f"{quote.text} [{quote.number}]")
    return [mark.number for mark in marks] == [quote.number] and marks[0].start > len(quote.text)


def _lines(text: str, start: int, end: int, width: int, paged: bool) -> Iterator[tuple[int, int]]:
    """The lines of ``text[start:end]`` when it is a list of lines rather than a wrapped sentence, else all of it.

    A sentence is wrapped where its next word does not fit; a line that ends earlier was meant to end there. On the
    pages of a PDF, headings and page lines before a sentence are such lines too.
    """
    cuts = [start]
    line_start = text.rfind("\n", 0, start) + 1  # the sentence may begin in the middle of a line
    while (line_end := text.find("\n", max(line_start, start), end)) >= 0:
        next_word = _NEXT_WORD.match(text, line_end + 1, end)[1]
        if line_end - line_start + 1 + len(next_word) < _ENDS_EARLY * width:
            cuts.append(line_end + 1)
        line_start = line_end + 1
    if len(cuts) <= _LIST_OF_LINES:
        cuts = _after_headings(text, cuts) if paged else [start]
    for first, last in zip(cuts, [*cuts[1:], end], strict=True):
        first, last = trim(text, first, last)
        if first < last:
            yield first, last


def _after_headings(text: str, cuts: list[int]) -> list[int]:
    """The cuts at the beginning of a sentence that stand after a heading or a page line, and its start."""
    kept = 1
    while kept < len(cuts) and _is_heading(text[cuts[kept - 1]:cuts[kept]].strip()) and not text[cuts[kept]].islower():
        kept += 1
    return cuts[:kept]


def _is_heading(line: str) -> bool:
    return bool(_PAGE_LINE.search(line) or _LINE_LABEL.fullmatch(_SECTION_NUMBER.sub("", line)))


def _headed(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """The lines that say something, each with those above it that only head it; page lines are left out."""
    if len(lines) == 1:
        start, end = lines[0]
        if not _PAGE_LINE.search(text, start, end):
            yield start, end, ""
        return
    texts = [text[start:end] for start, end in lines]
    header: list[str] = []
    for is_heading, run in groupby(range(len(lines)), key=lambda i: _is_heading(texts[i])):
        run = [i for i in run if not _PAGE_LINE.search(texts[i])]
        if is_heading:
            # The name of a table, then those of its columns; more of them are lines of a table without numbers.
            first = run if len(run) <= _MOST_HEADINGS else run[:1]
            header, run = [texts[i] for i in first], run[len(first):]
        for i in run:
            # What ends like a sentence, after other lines of a table, is no line of it.
            ends_table = i > 0 and texts[i].endswith(_SENTENCE_ENDS) and not _is_heading(texts[i - 1])
            yield *lines[i], "" if ends_table else "\n".join(header)
