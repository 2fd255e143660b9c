"""An answer's sentences, each with the marks that belong to it (chapter 07).

The marks are taken out before the text is cut, so that "150 euros. [1] Breakfast" ends where "150 euros. Breakfast"
ends; then each mark goes to the sentence that it stands in or follows. Rows of a table and items of a list are
sentences of their own; a line that ends with a mark ends its sentence.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ragkit.chunking import split_sentences
from ragkit.chunking.sentences import CLOSERS, trim
from ragkit.citations.claims import SOURCE_LIST, no_claim_reason
from ragkit.citations.marks import CitationMark, code_spans, parse_citations, remove_marks
from ragkit.documents.structure import scan_blocks

_LIST_MARK = re.compile(r"(?:[-*+•]|\d{1,3}[.)、]|[A-Za-z][.)]|>)\s+")
_LONGEST_TITLE = 3
_BOLD_LINE = re.compile(r"(\*\*|__)[^*_\n]+\1\s*$")
_HEADING = re.compile(r"#{1,6}\s")
_DEFINED = re.compile(r"\[\^?\d{1,6}\]:")
_LINE = re.compile(r"[^\n]+")
_ENDED = frozenset(".!?…。｡！？；" + CLOSERS)
_FULL_STOP = re.compile(rf"[.!?][{re.escape(CLOSERS)}]*(?=\s)")
_TO_NEXT_LINE = re.compile(r"[ \t]*\n[ \t]*(?=(\S))")
_LOWER_CASE_FOLLOWS = re.compile(r"[ \t]*(?:[a-z]|\n|$)")
# "According to [1], it is so." claims that it is so.
_SAYS_WHO = re.compile(
    r"(?:according to|based on|as (?:stated|mentioned|described|written|noted|explained) (?:in|by)|as per|per)\s*"
    r"(?:(?:the|this)\s+)?(?:provided\s+|given\s+)?(?:sources?|documents?|context|passages?|texts?)?\s*[,，]\s*(?=\S)|"
    r"(?:the\s+)?(?:sources?|documents?|passages?|texts?)?\s*(?:states?|says?|mentions?|explains?|writes?)\s+that\s+|"
    r"(?:根据|依据|按照)(?:资料|来源|文档)?\s*[,，]\s*", re.IGNORECASE)
_STRAY = re.compile(r"[\s,，、;；]+(?=[.!?。！？]*$)")


@dataclass(frozen=True)
class AnswerSentence:
    """``answer[start:end] == text``, its marks included.

    Attributes:
        claim: what is checked: the sentence without marks, without a list sign or table bars, and without
            "according to [1]," before it.
        no_claim: why there is nothing to check ("refusal", "question", "heading" ...); "" for a claim.
        insert_at: where in the answer a further mark is written.
    """

    text: str
    start: int
    end: int
    claim: str
    marks: tuple[CitationMark, ...]
    no_claim: str
    insert_at: int


def answer_sentences(answer: str) -> list[AnswerSentence]:
    """The sentences of ``answer`` in order; together they hold every character that is not blank, and every mark
    (save when the answer has nothing but marks)."""
    marks = parse_citations(answer)
    plain, places = remove_marks(answer, marks)
    units = _units(plain, _line_cuts(answer, marks, plain, places))
    spans = [(places[start], places[end - 1] + 1) for start, end, _ in units]
    owned = _owners(answer, spans, marks)
    sentences: list[AnswerSentence] = []
    listing = False
    for (start, end, kind), span, mine in zip(units, spans, owned, strict=True):
        text = plain[start:end]
        first = min([span[0], *(mark.bracket[0] for mark in mine)])
        last = max([span[1], *(mark.bracket[1] for mark in mine)])
        listing = _is_source_list(text, listing, answer, first)
        reason = "source list" if listing else kind or _kind(text)
        claim = "" if reason else _claim(text)
        at = last if not text.startswith("|") else _inside_last_cell(answer, last)
        sentences.append(AnswerSentence(answer[first:last], first, last, claim, tuple(mine), reason, at))
    return sentences


def _units(plain: str, extra: Sequence[int]) -> list[tuple[int, int, str]]:
    """Spans of the text without marks, each with why it is no claim, as far as its form tells."""
    units: list[tuple[int, int, str]] = []
    position = 0
    for block in [*scan_blocks(plain), None]:
        units += [(*span, "") for span in _prose(plain, position, block.start if block else len(plain), extra)]
        if block is None:
            break
        position = block.end
        if block.kind == "table":
            units.append((*trim(plain, block.start, block.header_end), "table header"))
            rows = _LINE.finditer(plain, block.header_end, block.end)
            units += [(*trim(plain, *row.span()), "") for row in rows]
        else:
            units.append((*trim(plain, block.start, block.end), "code" if block.kind == "fence" else "heading"))
    return [unit for unit in units if unit[0] < unit[1]]


def _prose(plain: str, start: int, end: int, extra: Sequence[int]) -> list[tuple[int, int]]:
    part = plain[start:end]
    code = [(a, b) for a, b in code_spans(part)]
    spans: list[tuple[int, int]] = []
    joining = False
    for first, last in split_sentences(part):
        if joining:
            first = spans.pop()[0]
        inside = bisect_right(code, (last, -1)) - 1  # code between backticks is not cut
        joining = inside >= 0 and code[inside][0] < last < code[inside][1]
        spans.append((first, last))
    cut: list[tuple[int, int]] = []
    for first, last in spans:
        edges = [first, *(place - start for place in extra if first < place - start < last), last]
        cut += [trim(part, a, b) for a, b in zip(edges, edges[1:])]
    return [(a + start, b + start) for a, b in cut if a < b]


def _line_cuts(answer: str, marks: Sequence[CitationMark], plain: str, places: Sequence[int]) -> list[int]:
    """Further places in the text without marks where something ends: a full stop after a mark, a line that ends
    with a mark, leads in to a list or is a title, a line before one that opens with a mark."""
    cuts = set()
    for start, end in {mark.bracket for mark in marks}:
        full_stop = _FULL_STOP.match(answer, end)
        if full_stop and _last_before(answer, start) not in _ENDED:
            cuts.add(bisect_right(places, full_stop.end() - 1))
        line_end = _TO_NEXT_LINE.match(answer, end)
        if line_end and not line_end[1].islower():
            cuts.add(bisect_right(places, end - 1))
        if not answer[answer.rfind("\n", 0, start) + 1:start].strip() and not _LOWER_CASE_FOLLOWS.match(answer, end):
            cuts.add(bisect_right(places, start))
    for line in _LINE.finditer(plain):
        if line[0].rstrip().endswith((":", "：")) or _BOLD_LINE.match(line[0]) or _DEFINED.match(line[0]):
            cuts.add(line.end())
    return sorted(cuts)


def _last_before(answer: str, place: int) -> str:
    """The character before ``place`` that is not blank."""
    while place > 0 and answer[place - 1] in " \t":
        place -= 1
    return answer[max(0, place - 1):place]


def _owners(answer: str, spans: Sequence[tuple[int, int]], marks: Sequence[CitationMark]) -> list[list[CitationMark]]:
    """For each sentence its marks: those inside, and those that follow it; a mark that opens a line goes to what
    follows on that line."""
    owned: list[list[CitationMark]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for mark in marks if spans else ():
        place, bracket_end = mark.bracket
        index = bisect_right(starts, place) - 1
        following = starts[index + 1] if index + 1 < len(spans) else None
        opens_line = following is not None and "\n" not in answer[bracket_end:following] and (
            index < 0 or place >= spans[index][1] and "\n" in answer[spans[index][1]:place])
        owned[index + 1 if opens_line else max(index, 0)].append(mark)
    return owned


def _is_source_list(text: str, listing: bool, answer: str, start: int) -> bool:
    """Whether the line is the title of a list of sources, or goes on with one."""
    if SOURCE_LIST.match(text):
        return True
    line = answer[answer.rfind("\n", 0, start) + 1:start + 40].lstrip("-*+•> \t")
    return listing and bool(re.match(r"\[\^?\d|［|【|\d{1,3}[.)]", line))


def _kind(text: str) -> str:
    if _HEADING.match(text) or _is_bold_title(text):
        return "heading"
    if _DEFINED.match(text):
        return "source list"
    return no_claim_reason(_claim(text))


def _is_bold_title(text: str) -> bool:
    """Whether the whole line is bold and no sentence: without an end, or a word or two that only look like one."""
    if not _BOLD_LINE.match(text):
        return False
    inside = text.strip("*_ ")
    return inside[-1:] not in ".。!！;；" or len(inside.split()) <= _LONGEST_TITLE and inside.isascii()


def _claim(text: str) -> str:
    if text.startswith("|"):
        return ", ".join(cell.strip() for cell in text.strip("| ").split("|") if cell.strip())
    text = _LIST_MARK.sub("", text, count=1).strip() if _LIST_MARK.match(text) else text.strip()
    return _STRAY.sub("", _SAYS_WHO.sub("", text, count=1))


def _inside_last_cell(answer: str, end: int) -> int:
    """Before the bar that closes the row: a mark after it would be outside the table."""
    row = answer[:end].rstrip()
    return len(row[:-1].rstrip()) if row.endswith("|") else len(row)
