"""Citation marks as they are written: found, with their places, and taken out (chapter 07).

Read as marks: ``[1]``, ``[1][2]``, ``[1,2]``, ``[1, 3-5]``, ``[1 and 2]``, ``[^1]``, ``［１］``, ``【1】``,
``[Source 2]``, ``[Sources 1 and 2]``, ``[来源1]``. Not marks:

- what stands in code: between backticks, in a fenced block, or glued to a word as in ``arr[2]``. A word in prose
  may have its mark glued on too (``a night[1].``): that is read as a mark where a sentence ends after it;
- Markdown links: ``[1](address)``, ``[text][1]`` when the text defines ``[1]: address``, and that definition;
- anything with a zero or with other characters in it: ``[0]``, ``[0, 1]``, ``[1.5]``, ``[01]``, ``[x1]``;
- a year by itself, ``[2024]``: four digits from 1900 to 2099. Any other number is a mark, also one that no source
  has: it must be reported, not passed over.
"""

import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragkit.documents.structure import scan_blocks

WIDEST_RANGE = 50  # "[1-1000000]" is two wrong ends, not a million marks
_LONGEST_INSIDE = 200
_YEARS = range(1900, 2100)

_BRACKET = re.compile(rf"\[([^\[\]\n]{{1,{_LONGEST_INSIDE}}})\]|［([^［］\n]{{1,{_LONGEST_INSIDE}}})］|"
                      rf"【([^【】\n]{{1,{_LONGEST_INSIDE}}})】")
_WIDE_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_WORD = (r"(?:sources?|refs?|references?|docs?|documents?|passages?|citations?|"
         r"来源|资料|文献|出处|文档|参考资料|参考文献|参考|引用|片段)\.?[\s:：#]*")
_ITEM = re.compile(rf"(?:\^|{_WORD})?([1-9]\d{{0,8}})(?:\s*(?:[-‐‑–—−－~～〜]|to\b|至|到)\s*([1-9]\d{{0,8}}))?(?!\d)",
                   re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:[,，、;；&]\s*(?:and\b\s*)?|and\b\s*|和\s*|与\s*|及\s*)", re.IGNORECASE)
_DEFINITION = re.compile(r"^ {0,3}\[(\^?\d{1,6})\]:", re.MULTILINE)
_LINK_TARGET = re.compile(r"\s*[^\s]*(?:\s+[\"'].*)?\s*")

_BACKTICKS = re.compile(r"`+")
_PARAGRAPH_END = re.compile(r"\n(?=[ \t]*(?:\n|[-*+>|#][ \t]|\d{1,3}[.)][ \t]))")
_GLUED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SENTENCE_ENDS = re.compile(r"[.!?][\"'”’)*_]*(?:\s|\Z)")


class CitationMark(NamedTuple):
    """One number of a citation, and where it is written.

    Attributes:
        number: of the source, from 1.
        start, end: span of what is written for it: the whole bracket when it holds one number, else its part
            of the bracket. The numbers of a range share the span of the range.
        bracket: span of the whole bracket.
    """

    number: int
    start: int
    end: int
    bracket: tuple[int, int]


def parse_citations(text: str) -> list[CitationMark]:
    """The citation marks of ``text``, in order (chapter 07). No text makes it raise; time grows with the length only.

    A range of more than 50 numbers gives its two ends.

    Raises:
        TypeError: when ``text`` is no string.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected the answer as a string, got {type(text).__name__} ({str(text)[:40]!r})")
    definitions = {match.start(1) - 1: match[1] for match in _DEFINITION.finditer(text)}
    labels = set(definitions.values())
    code = _Spans(code_spans(text))
    marks: list[CitationMark] = []
    for match in _BRACKET.finditer(text):
        bracket = match.span()
        parts = _numbers(next(filter(None, match.groups())))
        if not parts or match.start() in definitions or code.hold(match.start()) or _is_link(text, match, labels):
            continue
        if text[match.start()] == "[" and _is_subscript(text, bracket, marks):
            continue
        offset = match.start() + 1
        for numbers, start, end in parts:
            span = bracket if len(parts) == 1 else (offset + start, offset + end)
            marks += [CitationMark(number, *span, bracket) for number in numbers]
    return marks


def remove_marks(text: str, marks: Sequence[CitationMark]) -> tuple[str, list[int]]:
    """The text without the marks' brackets and the blanks before them; and where each kept character stood."""
    kept: list[str] = []
    places: list[int] = []
    position = 0
    for start, end in [*sorted({mark.bracket for mark in marks}), (len(text), len(text))]:
        part = text[position:start]
        if start < end:
            part = part.rstrip(" \t")
        kept.append(part)
        places += range(position, position + len(part))
        position = end
    return "".join(kept), places


def code_spans(text: str) -> list[tuple[int, int]]:
    """Spans of fenced blocks and of code between backticks (CommonMark 0.31, 4.5 and 6.1), in order."""
    blocks = scan_blocks(text)
    fences = [(block.start, block.end) for block in blocks if block.kind == "fence"]
    borders = [match.start() for match in _PARAGRAPH_END.finditer(text)]
    for block in blocks:  # a heading, and each row of a table, is a paragraph of its own
        borders += [block.start, block.end]
        if block.kind == "table":
            borders += [block.start + row.start() for row in re.finditer("\n", text[block.start:block.end])]
    return sorted([*fences, *_inline_code(text, _Spans(fences), sorted(borders))])


def _inline_code(text: str, fences: "_Spans", borders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """A run of backticks opens code when a run of the same length follows in its paragraph."""
    runs = [match for match in _BACKTICKS.finditer(text) if not fences.hold(match.start())]
    same: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    keys = [(bisect_right(borders, run.start()), len(run[0])) for run in runs]
    for number, key in enumerate(keys):
        same[key].append(number)
    number = 0
    while number < len(runs):
        waiting = same[keys[number]]
        while waiting and waiting[0] <= number:
            waiting.popleft()
        escaped = text[max(0, runs[number].start() - 1):runs[number].start()] == "\\"
        if waiting and not escaped:
            yield runs[number].start(), runs[waiting[0]].end()
            number = waiting[0]
        number += 1


class _Spans:
    """Sorted spans that do not overlap, asked whether they hold a position."""

    def __init__(self, spans: Sequence[tuple[int, int]]):
        self.starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def hold(self, position: int) -> bool:
        index = bisect_right(self.starts, position) - 1
        return index >= 0 and position < self._ends[index]


def _numbers(inside: str) -> list[tuple[list[int], int, int]]:
    """The numbers between the brackets, each part with its span; [] when anything else is there."""
    inside = inside.translate(_WIDE_DIGITS)
    parts: list[tuple[list[int], int, int]] = []
    end = len(inside.rstrip())
    position = len(inside) - len(inside.lstrip())
    while item := _ITEM.match(inside, position, end):
        first, last = sorted((int(item[1]), int(item[2] or item[1])))
        numbers = list(range(first, last + 1)) if last - first < WIDEST_RANGE else [first, last]
        parts.append((numbers, *item.span()))
        if item.end() == end:
            is_year = len(parts) == 1 and inside[:end].strip().isdecimal() and first in _YEARS
            return [] if is_year else parts
        between = _BETWEEN.match(inside, item.end(), end)
        if not between:
            break
        position = between.end()
    return []


def _is_link(text: str, match: re.Match[str], labels: set[str]) -> bool:
    start, end = match.span()
    if text.startswith("(", end):
        closing = text.find(")", end, end + 300)
        return closing > 0 and bool(_LINK_TARGET.fullmatch(text[end + 1:closing]))
    return text[start - 1:start] == "]" and match[1] in labels  # [text][1], with "[1]: address" in the text


def _is_subscript(text: str, bracket: tuple[int, int], marks: Sequence[CitationMark]) -> bool:
    """Whether the bracket is glued to an identifier, as in ``arr[2]``, or goes on from such a one, ``arr[2][1]``."""
    start, end = bracket
    before = text[max(0, start - 1):start]
    if before == "]":  # [1][2] goes on as it began; arr[1][2] does too
        return not (marks and marks[-1].bracket[1] == start) and _numbers_before(text, start)
    found = _GLUED.search(text, max(0, start - 40), start)
    if not found or text[max(0, found.start() - 1):found.start()].isdigit():
        return False
    word = found[0]
    is_prose = word.isalpha() and (word.islower() or word.istitle() or word.isupper())
    return not (is_prose and text[found.start() - 1:found.start()] not in {".", "$", "("} and _ends_sentence(text, end))


def _numbers_before(text: str, start: int) -> bool:
    """Whether the bracket that ends at ``start`` holds numbers, and so was taken for a subscript."""
    opening = text.rfind("[", max(0, start - _LONGEST_INSIDE), start)
    return opening >= 0 and bool(_numbers(text[opening + 1:start - 1]))


def _ends_sentence(text: str, end: int) -> bool:
    """Whether only further brackets and the end of a sentence follow."""
    for _ in range(5):
        following = _BRACKET.match(text, end)
        if not following:
            break
        end = following.end()
    return bool(_SENTENCE_ENDS.match(text, end))
