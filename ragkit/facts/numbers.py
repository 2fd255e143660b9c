"""Numbers with their units: digits, number words, Chinese numerals; money, percentages, durations, measures."""

import re
from collections.abc import Iterator

from ragkit.facts.fact import Fact, Taken
from ragkit.facts.units import PREFIX, base_unit, unit_after
from ragkit.wording import NUMBER_WORDS

_THOUSANDS = ",\u00a0\u2009\u202f"  # blanks that do not break among them: "1 200" is no two numbers
_DIGITS = rf"(?:\d{{1,3}}(?:[{_THOUSANDS}]\d{{3}})+|\d+)(?:\.\d+)?"
_SMALL = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_BASE = (r"(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[-\s](?:one|two|three|four|five|six|seven|eight|nine)\b"
         rf"|(?:{_SMALL})\b)")
_POWERS = r"(?:[-\s](?:hundred|thousand|million|billion|dozen)\b){1,3}"
_SPELLED = rf"\b(?:{_BASE}|an?){_POWERS}(?:\s(?:and\s)?{_BASE}(?:{_POWERS})?){{0,3}}|\b{_BASE}"
_MULTIPLES = {"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "dozen": 12,
              "百": 100, "千": 1e3, "万": 1e4, "亿": 1e8}
_SHORT = {"k": 1e3, "m": 1e6, "bn": 1e9, "b": 1e9}
_ORDINALS = {word: number for number, word in enumerate(
    "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=3)}
_NUMBER = re.compile(
    rf"(?P<prefix>{PREFIX})?[^\S\n]?(?P<sign>(?<![\w)\]/.-])[-−])?"
    rf"(?:(?P<digits>(?<![\w.]){_DIGITS}|(?<=[\u3400-\u9fff]){_DIGITS}|(?<=EUR|USD|GBP|CNY|RMB){_DIGITS})"
    rf"(?P<ordinal>(?:st|nd|rd|th)\b)?(?P<short>(?:[kKmM]|bn|[bB])(?![^\W_]))?"
    rf"|(?P<words>{_SPELLED})"
    rf"|\b(?P<rank>{'|'.join(_ORDINALS)})\b"
    rf"|百分之(?P<percent>[零〇一二两三四五六七八九十百点]{{1,12}}|{_DIGITS})"
    rf"|(?P<han>[零〇一二两三四五六七八九十百千万亿]{{1,12}}))"
    rf"(?P<multiple>(?:[-\s]?(?:hundred|thousand|million|billion|dozen)\b|[百千万亿]){{0,3}})", re.IGNORECASE)
_BETWEEN = re.compile(r"[^\S\n]?(?:-|–|—|to|and|or|至|到|~|～|/)[^\S\n]?")
_HAN_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_TENS = {"十": 10, "百": 100, "千": 1000}


def find_numbers(text: str, taken: Taken) -> Iterator[Fact]:
    """Numbers, not inside a word or an identifier. "one" and "一" count only before a unit: "one day"."""
    found = []
    for match in _NUMBER.finditer(text):
        fact = _read(match, text)
        if fact and taken.take(fact.start, fact.end):
            found.append(fact)
    yield from _share_units(found, text)


def _read(match: re.Match[str], text: str) -> Fact | None:
    amount = _amount(match)
    if amount is None:
        return None
    start = match.start("prefix") if match["prefix"] else match.start() + len(match[0]) - len(match[0].lstrip())
    after = unit_after(text, match.end()) if not (match["percent"] or match["ordinal"] or match["rank"]) else None
    unit, end = None, match.end()
    if match["prefix"]:
        unit = match["prefix"]
    elif after:
        unit, end = after
    if match["short"] and not match["prefix"]:  # "5m": five metres, no five million
        if match["short"] not in ("m", "M"):
            return None
        unit = "m"
    elif match["short"]:
        amount *= _SHORT[match["short"].casefold()]
    if unit is None and _needs_unit(match):
        return None
    if match["percent"]:
        unit = "%"
    if match["ordinal"] or match["rank"] or text[start - 1:start] == "第":
        base, factor = "ordinal", 1.0
    else:
        base, factor = base_unit(unit) if unit else (None, 1.0)
    return Fact("number", text[start:end], (round(amount * factor, 9), base), start, end, amount)


def _amount(match: re.Match[str]) -> float | None:
    if match["digits"]:
        amount = float(re.sub(f"[{_THOUSANDS}]", "", match["digits"]))
    elif match["words"]:
        amount = _spelled_number(match["words"].casefold())
    elif match["rank"]:
        amount = float(_ORDINALS[match["rank"].casefold()])
    else:
        amount = _han_number(match["percent"] or match["han"])
    if amount is None:
        return None
    for word in re.findall(r"[a-z]+|[百千万亿]", match["multiple"].casefold()):
        amount *= _MULTIPLES[word]
    return -amount if match["sign"] else amount


def _needs_unit(match: re.Match[str]) -> bool:
    """Words that are numbers only before a unit: "one", and single or merely decorative Chinese numerals."""
    if match["han"]:
        return len(match["han"]) == 1 or not set(match["han"]) & set("十百千")
    return bool(match["words"]) and match["words"].casefold() == "one" and not match["multiple"]


def _spelled_number(text: str) -> float:
    """"two hundred and fifty" as 250.0."""
    total = section = 0.0
    for word in re.split(r"[-\s]", text):
        if word in NUMBER_WORDS:
            section += NUMBER_WORDS[word]
        elif word in ("hundred", "dozen"):
            section = (section or 1) * _MULTIPLES[word]
        elif word in _MULTIPLES:
            total += (section or 1) * _MULTIPLES[word]
            section = 0.0
    return total + section


def _han_number(text: str) -> float | None:
    """"一百五十" as 150.0; None for what is no number ("十百")."""
    if text[0].isdigit():
        return float(text.replace(",", ""))
    whole, _, decimals = text.partition("点")
    total = section = digit = 0
    for character in whole:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_TENS:
            section += (digit or 1) * _HAN_TENS[character]
            digit = 0
        else:
            total = (total + section + digit) * int(_MULTIPLES[character])
            section = digit = 0
    value = float(total + section + digit)
    for place, character in enumerate(decimals, start=1):
        if character not in _HAN_DIGITS:
            return None
        value += _HAN_DIGITS[character] / 10 ** place
    return value


def _share_units(numbers: list[Fact], text: str) -> list[Fact]:
    """In "3-5 days" and "€10 to 15" the unit is said once and meant twice."""
    for first in range(len(numbers) - 2, -1, -1):
        one, other = numbers[first], numbers[first + 1]
        if not _BETWEEN.fullmatch(text, one.end, other.start) or "ordinal" in (one.value[1], other.value[1]):
            continue
        if one.value[1] is None and other.value[1] is not None:
            numbers[first] = _in_unit_of(one, other)
        elif other.value[1] is None and one.value[1] is not None and not one.text[0].isdigit():
            numbers[first + 1] = _in_unit_of(other, one)
    return numbers


def _in_unit_of(number: Fact, model: Fact) -> Fact:
    factor = model.value[0] / model.written if model.written else 1.0
    return number._replace(value=(round(number.written * factor, 9), model.value[1]))
