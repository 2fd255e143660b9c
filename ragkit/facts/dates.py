"""Dates and times of day, in the forms that English and Chinese prose gives them."""

import calendar
import re
from collections.abc import Iterator

from ragkit.facts.fact import Fact, Taken

_MONTHS = {name.casefold(): number for number, name in enumerate(
    "January February March April May June July August September October November December".split(), start=1)}
_MONTH_NUMBERS = _MONTHS | {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_MONTH = r"(?P<month>(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)(?=[.\s])\.?|" + "|".join(
    name.title() for name in _MONTHS) + r")"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_EDGE, _END = r"(?<![\w.,/-])", r"(?![\w/]|-\d|[.,]\d)"
_DATES = [re.compile(pattern) for pattern in (
    rf"(?<![\d.,/-]){_YEAR}[-/](?P<month>[01]?\d)[-/](?P<day>[0-3]?\d)(?![\d/-])",
    rf"{_EDGE}(?P<day>[0-3]?\d)[/.](?P<month>[01]?\d)[/.]{_YEAR}{_END}",
    r"(?:(?P<year>(?:19|20)\d\d)[^\S\n]?年[^\S\n]?)?(?<!\d)(?P<month>[01]?\d)[^\S\n]?月[^\S\n]?(?P<day>[0-3]?\d)[^\S\n]?[日号]",
    r"(?P<year>(?<!\d)(?:19|20)\d\d)[^\S\n]?年(?:[^\S\n]?(?P<month>[01]?\d)[^\S\n]?月(?:份|底|初)?)?",
    rf"{_EDGE}{_DAY}(?:[^\S\n]of)?[^\S\n]{_MONTH}(?:,?[^\S\n]{_YEAR})?{_END}",
    rf"{_EDGE}{_MONTH}[^\S\n]{_DAY}(?:,?[^\S\n]{_YEAR})?{_END}",
    rf"{_EDGE}{_MONTH},?[^\S\n]{_YEAR}{_END}",
    rf"(?<=[a-z,;(|][^\S\n]){_MONTH}{_END}",
    rf"{_EDGE}{_YEAR}{_END}(?![^\S\n]?(?:[%€$£°]|euro|dollar|pound|yuan|percent|per cent|hour|day|week|month|km|mile))",
)]
_MAY_OR_MARCH = re.compile(r"\b(?:in|of|by|since|until|till|from|to|and|or|before|after|every|each|between|during)$")
_WEEKDAY = re.compile(r"\b(?P<name>Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|(?:星期|周|礼拜)(?P<han>[一二三四五六日天])")
_WEEKDAYS = {name: number for number, name in enumerate("Mon Tues Wednes Thurs Fri Satur Sun".split(), start=1)}
_HAN_WEEKDAYS = {character: number for number, character in enumerate("一二三四五六日", start=1)} | {"天": 7}

_HALF = r"(?P<half>a\.m\.|p\.m\.|am\b|pm\b|AM\b|PM\b|A\.M\.|P\.M\.)"
_TIMES = [re.compile(pattern) for pattern in (
    rf"(?<![\w:.])(?P<hour>[01]?\d|2[0-4])[:.](?P<minute>[0-5]\d)[^\S\n]?{_HALF}",
    rf"(?<![\w:.])(?P<hour>1[0-2]|0?[1-9])(?P<minute>)(?=[^\S\n]?(?:-|–|to|and|or)[^\S\n]?\d{{1,2}}[^\S\n]?{_HALF})",
    rf"(?<![\w:.])(?P<hour>1[0-2]|0?\d)(?P<minute>)[^\S\n]?{_HALF}",
    r"(?P<half>上午|下午|晚上|中午|早上|凌晨)?(?<![\d:.])(?P<hour>[01]?\d|2[0-4])[:：](?P<minute>[0-5]\d)(?![\d:])",
    r"(?P<half>上午|下午|晚上|中午|早上|凌晨)?(?<![\d:.])(?P<hour>[01]?\d|2[0-4])[^\S\n]?[点时](?!间)(?:(?P<minute>[0-5]?\d)分?|(?P<han>半))?",
)]
_NOON = re.compile(r"(?:\b12[^\S\n])?\b(noon|midday|midnight)\b", re.IGNORECASE)
_AFTERNOON = frozenset({"pm", "下午", "晚上"})


def find_dates(text: str, taken: Taken) -> Iterator[Fact]:
    """Dates, months with a year, years, days of the week. "12/03/2025" is read as the 12th of March."""
    for pattern in _DATES:
        for match in pattern.finditer(text):
            value = _date(match, text)
            if value and taken.take(*match.span()):
                yield Fact("date", match[0], value, *match.span())
    for match in _WEEKDAY.finditer(text):
        number = _WEEKDAYS[match["name"]] if match["name"] else _HAN_WEEKDAYS[match["han"]]
        if taken.take(*match.span()):
            yield Fact("date", match[0], ("weekday", number, None), *match.span())


def find_times(text: str, taken: Taken) -> Iterator[Fact]:
    """Times of day: "9 am" is (9, 0), as is "09:00"; noon is (12, 0), midnight (0, 0)."""
    for pattern in _TIMES:
        for match in pattern.finditer(text):
            if taken.take(*match.span()):
                yield Fact("time", match[0], _time(match), *match.span())
    for match in _NOON.finditer(text):
        if taken.take(*match.span()):
            yield Fact("time", match[0], (0 if match[1].casefold() == "midnight" else 12, 0), *match.span())


def _date(match: re.Match[str], text: str) -> tuple[int | None, int | None, int | None] | None:
    """(year, month, day), or None when the calendar has no such day or the word is no month ("may", "march")."""
    parts = match.groupdict()
    year = int(parts["year"]) if parts.get("year") else None
    month, day = parts.get("month"), int(parts["day"]) if parts.get("day") else None
    if month and not month.isdigit():
        if year is None and day is None and month in ("May", "March") and not _MAY_OR_MARCH.search(
                text[max(0, match.start() - 12):match.start()].rstrip()):
            return None
        month = str(_MONTH_NUMBERS[month.rstrip(".").casefold()])
    month = int(month) if month else None
    if month is not None and not 1 <= month <= 12:
        return None
    if day is not None and not 1 <= day <= calendar.monthrange(year or 2024, month)[1]:
        return None
    return year, month, day


def _time(match: re.Match[str]) -> tuple[int, int]:
    hour = int(match["hour"])
    minute = 30 if match.groupdict().get("han") else int(match["minute"] or 0)
    half = (match["half"] or "").replace(".", "").casefold()
    if half in _AFTERNOON and hour < 12:
        hour += 12
    elif half in ("am", "凌晨") and hour == 12:
        hour = 0
    return hour % 24, minute
