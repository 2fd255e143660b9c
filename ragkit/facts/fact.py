"""What a fact is, when two agree, and which places of a text are taken already."""

import re
from collections.abc import Hashable
from typing import NamedTuple

# Citation marks and list numbers are no facts: they say where, not what.
_MARK = r"[\[【［](?:source|来源)?[^\S\n]?\d{1,3}(?:[^\S\n]?[,，、–-][^\S\n]?\d{1,3}){0,20}[\]】］]"
CITATION_MARK = re.compile(_MARK, re.IGNORECASE)
_NO_FACT = re.compile(rf"{_MARK}|^[^\S\n]*(?:#{{1,6}}[^\S\n]+)?\d{{1,3}}[.)、][^\S\n]", re.MULTILINE | re.IGNORECASE)


class Fact(NamedTuple):
    """One fact: ``text[start:end] == fact.text``.

    Attributes:
        kind: "number", "date", "time", "identifier", "name" or "negation".
        value: the normal form. number: (amount in the base unit, base unit or None), so 2 weeks are 14 days; date:
            (year, month, day), each None when not said, or ("weekday", 1 to 7); time: (hour, minute), 24 hours;
            identifier: case-folded; name: its case-folded words; negation: the stems it denies.
        written: of a number, the amount as written, before units were converted.
    """

    kind: str
    text: str
    value: Hashable
    start: int
    end: int
    written: float | None = None


def agree(one: Fact, other: Fact) -> bool:
    """Whether two facts may be the same: nothing that both say differs.

    A number without a unit agrees with the same number in any unit (in a table the unit stands in the header), a
    day and month with the same day in any year, a year with the plain number.
    """
    if one.kind == other.kind == "number":
        if None in (one.value[1], other.value[1]):
            return one.written == other.written
        return one.value[1] == other.value[1] and abs(one.value[0] - other.value[0]) <= 1e-9 * abs(one.value[0])
    if one.kind == other.kind == "date":
        if "weekday" in (one.value[0], other.value[0]):
            return one.value == other.value
        pairs = [(a, b) for a, b in zip(one.value, other.value, strict=True) if a is not None and b is not None]
        return bool(pairs) and all(a == b for a, b in pairs)
    if {one.kind, other.kind} == {"number", "date"}:
        number, date = (one, other) if one.kind == "number" else (other, one)
        return number.value[1] is None and date.value[1:] == (None, None) and date.value[0] == number.written
    return one.kind == other.kind and one.value == other.value


class Taken:
    """Which characters of a text belong to a fact already."""

    def __init__(self, text: str):
        self._taken = bytearray(len(text))
        for match in _NO_FACT.finditer(text):
            self.take(*match.span())

    def take(self, start: int, end: int) -> bool:
        """Take a span; False, and nothing done, when a part of it is taken."""
        if self._taken.find(1, start, end) >= 0:
            return False
        self._taken[start:end] = b"\x01" * (end - start)
        return True
