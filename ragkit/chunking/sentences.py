"""Where sentences end, in English and Chinese (chapter 01).

Rules, not a model: every place that may end a sentence is looked at once, left to right, so the time is
linear in the length of the text. The rules follow what Unicode's sentence boundaries (UAX #29) leave to the
language: abbreviations, numbers, initials, and quotations that go on after their question mark.
"""

import re

CLOSERS = "\"'”’»›」』）》】〕〗)]}*_"

# A run of sentence ends with the quotes and brackets that close after it. The run is taken whole and judged
# in code: a pattern that looked ahead would try every suffix of a long run again.
_END = re.compile(rf"[.!?…。｡！？；]+[{re.escape(CLOSERS)}]*")
_CHINESE_END = set("。｡！？；")

# Lines that begin something new whether or not the text before them was ended by a mark.
_BREAK = re.compile(
    r"""\n[^\S\n]*(?=\n)                                        # a blank line
      | ^[^\S\n]*(?=(?:[-*+•]|\d{1,3}[.)]|[A-Za-z][.)])[^\S\n])  # - item, 1. item, a) item
      | ^[^\S\n]*(?=\d{1,3}、|[一二三四五六七八九十]{1,3}、|（[一二三四五六七八九十\d]{1,3}）)
      | ^[^\S\n]{0,3}\#{1,6}[^\S\n][^\n]*(?:\n|\Z)                # a heading: a line by itself
      """,
    re.MULTILINE | re.VERBOSE,
)
_HEADING = re.compile(r"[^\S\n]{0,3}#{1,6}[^\S\n]")
_LIST_NUMBER = re.compile(r"(?:^|\n)[^\S\n]*(?:#{1,6}[^\S\n]+)?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])$")
_LAST_WORD = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*$")

_NEVER_END = frozenset(
    "e.g i.e eg ie dr mr mrs ms prof st vs approx cf ca viz mt gen col capt rev hon messrs".split()
)
_BEFORE_NUMBER = frozenset(
    "no nos nr fig figs sec ch chap vol art eq tab p pp para ref ed "
    "jan feb mar apr jun jul aug sep sept oct nov dec ext tel max min".split()
)
_MAY_END = frozenset("etc inc ltd co corp jr sr al dept est govt gmbh bros ave blvd rd".split())
# After an abbreviation, a capital may begin a name ("U.S. Government"); these words begin a sentence.
_STARTERS = frozenset(
    "The This That These Those It Its In On At We You He She They If When While But And For From To Please "
    "There However Each All Any See As After Before Since Then Our Your My No Not What Who Why "
    "How Where".split()
)


def split_sentences(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences of `text`, in order, without white space at their ends.

    Together they hold every non-blank character. A sentence keeps its closing quotes and brackets. Blank
    lines, headings and list items are boundaries too. "：", "、" and "，" end nothing; "；" ends a Chinese
    sentence.
    """
    cuts = {0, len(text)}
    for match in _BREAK.finditer(text):
        cuts.add(match.end())
        if _HEADING.match(match[0]):
            cuts.add(match.start())
    ends = (_sentence_end(text, match) for match in _END.finditer(text))
    cuts.update(end for end in ends if end is not None)
    edges = sorted(cuts)
    spans = (trim(text, start, end) for start, end in zip(edges, edges[1:]))
    return [(start, end) for start, end in spans if start < end]


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at its ends; an empty one if all of it is blank."""
    part = text[start:end]
    body = part.lstrip()
    start = end - len(body)
    return start, start + len(body.rstrip())


def _sentence_end(text: str, match: re.Match[str]) -> int | None:
    """Where the sentence ends that the marks and closers of `match` may end; None if they end none."""
    marks = match[0].rstrip(CLOSERS)
    end = match.end()
    following = text[end : end + 1]
    if following and not following.isspace():
        # Marks inside a word, a number or a path end nothing, but Chinese has no space after its marks.
        before = text[max(0, match.start() - 1) : match.start()]
        if _CHINESE_END.isdisjoint(marks):
            if marks == ".":
                ends = _is_chinese(before) and _is_chinese(following)
            else:
                ends = (_is_chinese(before) or _is_chinese(following)) and following != "["  # ![picture](...)
            if not ends:
                return None
        return end - len(_opening(text, match))
    if not _CHINESE_END.isdisjoint(marks):
        return end
    opened = text[end : end + 80].lstrip().lstrip("\"'“‘「『(（")
    if opened[:1].islower():
        return None  # "Really?" she asked. Wait... what? approx. five
    if marks == "." and _is_abbreviation(text[max(0, match.start() - 40) : match.start()], opened):
        return None
    return end


def _opening(text: str, match: re.Match[str]) -> str:
    """The end of `match` that opens what follows: quotes and emphasis look the same on both sides.

    They close if an odd number of them stands before, on the same line and not too far back.
    """
    ambiguous = match[0][len(match[0].rstrip("\"'*_")) :]
    line = text[max(0, match.start() - 200) : match.start()].rpartition("\n")[2]
    return "" if not ambiguous or line.count(ambiguous) % 2 else ambiguous


def _is_abbreviation(before: str, after: str) -> bool:
    """Whether the full stop between `before` and `after` belongs to an abbreviation or a list number."""
    if _LIST_NUMBER.search(before):
        return True
    found = _LAST_WORD.search(before)
    if not found:
        return False
    word = found[0].lower()
    if word in _NEVER_END:
        return True
    if word in _BEFORE_NUMBER:
        return after[:1].isdigit()
    if word in _MAY_END:
        return not after[:1].isupper() and not _is_chinese(after[:1])
    next_word = re.match(r"\w*", after)[0]
    letters = word.split(".")
    is_initials = max(map(len, letters)) <= 2 if len(letters) > 1 else len(word) == 1 and found[0].isupper()
    return is_initials and bool(next_word) and next_word not in _STARTERS


def _is_chinese(character: str) -> bool:
    return "\u3000" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef" or character >= "\U00020000"
