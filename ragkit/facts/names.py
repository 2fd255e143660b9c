"""Identifiers ("E-412", "NV-AR2-0417", "2.4.9") and names (capitalised, not merely at the start of a sentence)."""

import re
from collections.abc import Iterator

from ragkit.facts.fact import Fact, Taken
from ragkit.facts.units import unit_after
from ragkit.wording import Word, words

_VERSION = re.compile(r"(?<![\w.])v?\d+(?:\.\d+){2,}(?![\w.]*\w)", re.IGNORECASE)
_STARTS_SENTENCE = re.compile(r"(?:^|[.!?:;|#>*•\n\"“(\[{-]|\n[^\S\n]*\d{1,3}[.)])[^\S\n\"“(*_]*$")
_LOOK_BACK = 12  # characters that decide whether a word begins a sentence
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)*")


def find_identifiers(text: str, taken: Taken) -> Iterator[Fact]:
    """Words of letters and digits, and versions of three numbers or more. The value is case-folded."""
    for match in _VERSION.finditer(text):
        if taken.take(*match.span()):
            yield Fact("identifier", match[0], match[0].casefold().lstrip("v"), *match.span())
    for word in words(text):
        kinds = {"digit" if character.isdigit() else "letter" for character in word.text if character.isalnum()}
        if len(kinds) == 2 and word.text.isascii() and not _is_amount(word.text) and taken.take(word.start, word.end):
            yield Fact("identifier", word.text, word.text.casefold(), word.start, word.end)


def find_names(text: str, taken: Taken) -> Iterator[Fact]:
    """Runs of capitalised words; the value is their case-folded words.

    The first word of a sentence is capitalised anyway: alone it counts only with a capital inside ("InfoSec") or
    wholly in capitals ("VPN").
    """
    run: list[Word] = []
    for word in [*words(text), None]:
        if run and (word is None or not _is_capitalised(word) or text[run[-1].end:word.start] not in (" ", "-", " & ")):
            name = _name(run, text)
            if name and taken.take(name.start, name.end):
                yield name
            run = []
        if word is not None and _is_capitalised(word):
            run.append(word)


def _is_amount(word: str) -> bool:
    """"150mA", "4th", "10x": a number with what belongs to it, no identifier."""
    amount = _AMOUNT.match(word)
    if not amount:
        return False
    unit = unit_after(word, amount.end())
    ending = word[amount.end():].casefold()
    return (unit is not None and unit[1] == len(word)) or ending in ("st", "nd", "rd", "th", "x", "k", "bn")


def _is_capitalised(word: Word) -> bool:
    return word.text[0].isupper() and word.is_content and word.text.replace("'", "").replace("’", "").isalpha()


def _name(run: list[Word], text: str) -> Fact | None:
    start, end = run[0].start, run[-1].end
    if len(run) == 1 and not any(character.isupper() for character in run[0].text[1:]):
        if _STARTS_SENTENCE.search(text[max(0, start - _LOOK_BACK):start]) or start == 0:
            return None
    if end - start < 2:
        return None
    return Fact("name", text[start:end], tuple(_bare(word.text) for word in run), start, end)


def _bare(word: str) -> str:
    return re.sub(r"['’]s?$", "", word.casefold())
