"""True sentences of the handbook with their sources, and the same sentences with one fact changed by script.

The sentences are those that hold the gold quotes of all answerable English questions, as they stand; and restatements
of a hundred of them in other words, written by hand (``tests/citations/paraphrases.tsv``: one half was looked at while
the checks were made, the other was not). The source is the chunk of 600 characters that holds the quote, prefix
included.
"""

import csv
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import ragkit as rk
from ragkit.chunking import HierarchicalChunker
from ragkit.citations.passage import read_passage
from ragkit.evaluation import gold_spans, load_questions
from ragkit.facts import Fact, find_facts

PARAPHRASES = Path(__file__).resolve().parent.parent / "tests" / "citations" / "paraphrases.tsv"
SEED = 7

_OTHER_UNIT = dict(pair.split(":") for pair in (
    "day:week days:weeks week:day weeks:days month:week months:weeks year:month years:months hour:day hours:days minute:hour "
    "minutes:hours seconds:minutes euros:pounds pounds:euros EUR:GBP GBP:EUR CNY:EUR yuan:euros percent:euros %:euros GB:MB MB:GB "
    "kilometres:miles metres:centimetres m:km °C:°F V:mV mm:cm h:min s:min").split())
_WORDS = "two three four five six seven eight nine ten eleven twelve".split()
_CYCLES = ("January February March April May June July August September October November December".split(),
           "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())
_ADD_NOT = re.compile(r"\b(?:is|are|was|were|may|must|can|will|should|has|have)\b(?! not\b|n.t\b| no\b| never\b| nothing\b)")
_REMOVE_NOT = [(re.compile(pattern), plain) for pattern, plain in (
    (r"\b(is|are|was|were|may|must|can|will|should|does|do|has|have|need) not\b", r"\1"), (r"\bcannot\b", "can"),
    (r"\bnever\b", "always"), (r"\bNobody\b", "Everybody"), (r"\bwithout\b", "with"),
    (r"\bno\b(?! later| more| less| longer)", "a"), (r"\bNo\b(?! \d)", "A"))]


@dataclass(frozen=True)
class TrueSentence:
    """A sentence and the sources of which at least one bears it out. ``half``: "tune" or "report"."""

    question: str
    text: str
    sources: tuple[str, ...]
    half: str


@lru_cache(maxsize=1)
def _gold() -> tuple[tuple[str, str, str, str], ...]:
    """(question id, split, sentence that holds the quote, source) of all answerable English questions."""
    documents = {document.key: document for document in rk.load_folder(rk.data_path("handbook"))}
    chunks, found = {}, {}
    for question in load_questions(rk.data_path("questions.jsonl")):
        if not question.answerable or question.language != "en":
            continue
        for span in (span for group in gold_spans(question, documents) for span in group):
            key = (span.document_id, span.version)
            if key not in chunks:
                chunks[key] = [chunk for chunk in HierarchicalChunker().chunk(documents[key]) if chunk.level == 2]
            chunk = next((chunk for chunk in chunks[key] if span.inside(chunk)), None)
            if chunk is None:  # a quote that two chunks share
                continue
            source, offset = chunk.embedded_text, len(chunk.embedded_text) - len(chunk.text) - chunk.start
            units = [unit for unit in read_passage(source).units
                     if unit.start < span.end + offset and unit.end > span.start + offset]
            found.setdefault((key, units[0].start - offset, units[-1].end - offset), (
                question.id, question.split, source[units[0].start:units[-1].end], source))
    return tuple(found.values())


def verbatim() -> list[TrueSentence]:
    """The sentences as they stand in the documents, each once."""
    return [TrueSentence(id_, sentence, (source,), "tune" if split == "dev" else "report")
            for id_, split, sentence, source in _gold()]


def paraphrased() -> list[TrueSentence]:
    """The restatements."""
    sources: dict[str, list[str]] = {}
    for id_, _, _, source in _gold():
        sources.setdefault(id_, []).append(source)
    with PARAPHRASES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [TrueSentence(row["question"], row["sentence"], tuple(sources[row["question"]]), row["half"]) for row in rows]


def changed(sentence: TrueSentence) -> Iterator[tuple[str, str]]:
    """(what was changed, the sentence with that one change), every fact in turn; the same at every call."""
    text, dice = sentence.text, random.Random(f"{SEED} {sentence.text}")
    for fact in find_facts(text):
        for kind, new in _changes(fact, dice):
            yield kind, text[:fact.start] + new + text[fact.end:]
    verb = _ADD_NOT.search(text)
    if verb:
        yield "negation added", f"{text[:verb.end()]} not{text[verb.end():]}"
    for pattern, plain in _REMOVE_NOT:
        match = pattern.search(text)
        if match:
            yield "negation removed", text[:match.start()] + match.expand(plain) + text[match.end():]
            break


def _changes(fact: Fact, dice: random.Random) -> Iterator[tuple[str, str]]:
    if fact.kind == "number" and fact.value[1] != "ordinal":
        yield from _number(fact.text, dice)
    elif fact.kind == "date":
        for cycle in _CYCLES:
            for position, name in enumerate(cycle):
                if name in fact.text:
                    yield "date", fact.text.replace(name, cycle[(position + dice.choice((1, 2, -1))) % len(cycle)])
        day, year = re.match(r"\d\d?(?= )", fact.text), re.search(r"20\d\d", fact.text)
        if day:
            other = dice.choice([number for number in range(1, 28) if number != int(day[0])])
            yield "date", str(other) + fact.text[day.end():]
        if year:
            yield "date", fact.text.replace(year[0], str(int(year[0]) + dice.choice((1, -1, 2))))
    elif fact.kind == "time" and (hour := re.match(r"\d\d?", fact.text)):
        yield "time", str((int(hour[0]) + dice.choice((1, 2, 3))) % 24).zfill(len(hour[0])) + fact.text[hour.end():]
    elif fact.kind == "identifier" and (digits := re.search(r"\d+(?=\D*$)", fact.text)):
        other = str(int(digits[0]) + dice.choice((1, 2, 3))).zfill(len(digits[0]))
        yield "identifier", fact.text[:digits.start()] + other + fact.text[digits.end():]


def _number(text: str, dice: random.Random) -> Iterator[tuple[str, str]]:
    digits, word = re.search(r"\d[\d,]*(?:\.\d+)?", text), text.split()[0].casefold()
    if digits:
        value = float(digits[0].replace(",", ""))
        other = dice.choice([value + 1, value * 2, value + 5, value - 1 if value > 1 else value + 2, value * 10,
                             value / 2 if value > 0 and value % 2 == 0 else value + 3])
        shown = f"{other:g}" if "." in digits[0] or other % 1 else f"{int(other):,}" if "," in digits[0] else str(int(other))
        yield "number", text[:digits.start()] + shown + text[digits.end():]
    elif word in _WORDS:
        yield "number", dice.choice([other for other in _WORDS if other != word]) + text[len(word):]
    for unit, other in _OTHER_UNIT.items():
        if re.search(rf"(?<![A-Za-zµ]){re.escape(unit)}$", text) and len(text) > len(unit):
            yield "unit", text[:-len(unit)] + other
            break
