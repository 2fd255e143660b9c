"""What a text denies: a negation and the words it reaches.

A negation is compared by its scope, not by being there: "breakfast not" denies breakfast and says nothing of the
room. The scope is taken as the two content words after it in its clause, or the two before it when none follows, the
nearest first
(the cue-and-scope view of Morante & Blanco 2012, "*SEM shared task: Resolving the scope and focus of negation").
"""

import re
from collections.abc import Iterator

from ragkit.facts.fact import Fact
from ragkit.wording import Word, base_form, words

REACH = 2  # content words a negation reaches
LOOK = 12  # words looked at for them on each side, so that the time stays linear
_CUE = re.compile(r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|nowhere)\b|n['’]t\b",
                  re.IGNORECASE)
# A limit, a pair, an abbreviation: these hold the word and deny nothing.
_NO_NEGATION = re.compile(
    r"\bnot (?:only|just|least|merely|simply)\b"
    r"|\b(?:no|not) (?:later|more|less|fewer|longer|earlier|sooner|higher|lower) than\b"
    r"|\bno matter\b|\bwhether or not\b|\bor not\b|\bNo\.? ?\d"
    r"|\bno one else than\b|\bif not\b|\bnot to mention\b|\bno doubt\b",
    re.IGNORECASE)
_HAN_CUE = re.compile("[不没无未非勿]")
_HAN_NO_NEGATION = re.compile(
    "不超过|不少于|不低于|不高于|不晚于|不早于|不多于|不小于|不大于|不得超过|不得少于|不得低于|不得高于|不得晚于|不仅|不但|不只|不同|不断|不管|不论|不过|不久|不锈|不良"
    "|不合格|不足|不满|不然|不便|差不多|对不起|是不是|能不能|有没有|会不会|要不要|无论|无尘|无线|无锡|无人机|无铅|未来|未满|非常|除非"
    "|非工作|无效")
_CLAUSE_END = re.compile(r"[.!?;:,。！？；：，|\n]|\b(?:but|and|or|because|if|unless|when|so)\b|但|而且", re.IGNORECASE)
_HAN_MODAL = frozenset("得能可会应要予许被经")  # 不得转让 denies 转让; the pair 得转 is none that others would write
# A verb after the denied words begins what is said of them: "who were not hired | is erased".
_NEW_VERB = frozenset("is are was were has have had may must can will shall should would could".split())
# Words that deny by themselves: whether a sentence with one is negated, these rules do not decide.
DENYING = frozenset("forbid forbidden prohibit ban refus reject deni lack fail exclud declin avoid absent absenc prevent "
                    "disallow imposs unabl except unless".split())


def find_negations(text: str) -> Iterator[Fact]:
    """Each negation with the stems in its scope as value; the span is the negating word's."""
    cues = _cues(text, _CUE, _NO_NEGATION) + _cues(text, _HAN_CUE, _HAN_NO_NEGATION)
    if not cues:
        return
    found = words(text)
    ends = [match.start() for match in _CLAUSE_END.finditer(text)]
    at_word = at_end = 0
    for start, end in sorted(cues):
        while at_word < len(found) and found[at_word].start < end:
            at_word += 1
        while at_end < len(ends) and ends[at_end] < end:
            at_end += 1
        clause = (ends[at_end - 1] if at_end else 0, ends[at_end] if at_end < len(ends) else len(text))
        yield Fact("negation", text[start:end], _scope(found, at_word, clause, start), start, end)


def clause_around(text: str, start: int, end: int) -> str:
    """The clause of ``text`` that ``start:end`` stands in."""
    edges = [(0, 0), *(match.span() for match in _CLAUSE_END.finditer(text)), (len(text), len(text))]
    first = max(right for _, right in edges if right <= start)
    return text[first:min(left for left, _ in edges if left >= end)]


def _cues(text: str, cue: re.Pattern[str], exception: re.Pattern[str]) -> list[tuple[int, int]]:
    excepted = {position for match in exception.finditer(text) for position in range(*match.span())}
    return [match.span() for match in cue.finditer(text) if match.start() not in excepted]


def _scope(found: list[Word], first: int, clause: tuple[int, int], cue: int) -> tuple[str, ...]:
    after = []
    position = first
    while position < min(len(found), first + LOOK) and found[position].end <= clause[1] and len(after) < REACH:
        if found[position].is_content and found[position].text[0] not in _HAN_MODAL:
            after.append(base_form(found[position].stem))
        elif after and found[position].text.casefold() in _NEW_VERB:
            break
        position += 1
    if after:
        last = found[first - 2] if first > 1 and found[first - 1].text == "not" else None
        is_subject = last and last.is_content and last.start >= clause[0] and cue - last.end <= 1
        return (*after, base_form(last.stem)) if is_subject else tuple(after)  # "breakfast not included"
    before = []
    position = first - 1
    while position >= max(0, first - LOOK) and found[position].start >= clause[0] and len(before) < REACH:
        if found[position].is_content and found[position].end <= cue:
            before.append(base_form(found[position].stem))
        position -= 1
    return tuple(before)
