"""What can be measured of evidence before an answer is written: does it speak of what is asked? (chapter 05)

Nine signals, each in [0, 1], 1 when nothing speaks against the evidence. They are plain: the words, names, numbers
and identifiers of the question that the evidence holds (Rajpurkar et al. 2018, "Know What You Don't Know", show how
questions are made unanswerable: by negation, antonyms, swapped entities and numbers), the kind of answer asked for,
and two cosines.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ragkit.chunking import split_sentences
from ragkit.embedding import Embedder
from ragkit.facts import Fact, agree, find_facts
from ragkit.hits import Hit
from ragkit.refusal.answer_types import MONEY, AnswerType, expected_answer, focus, keywords
from ragkit.wording import HAN, content_stems, words

_NUMERIC = frozenset({"number", "date", "time"})
_NO_DENIAL = frozenset({"without"})  # it denies a detail, not what is asked
_PRICED = re.compile(r"price|cost|fee|rate|amount|allowance|cap|eur|gbp|usd|cny|€|£|\$|¥|元|价|费|额", re.IGNORECASE)
_HAN = re.compile(f"[{HAN}]")
_TABLE_RULE = re.compile(r"[|\s:-]+")


class Measure(NamedTuple):
    """A signal: its name, its value in [0, 1], and in words what is amiss ("" when nothing is)."""

    name: str
    value: float
    lack: str = ""


class Passage(NamedTuple):
    """A sentence or a table row of the evidence, with what is read beside it: headings, the table's first row.

    ``owner`` is the number of the piece of evidence, from 0.
    """

    text: str
    beside: str
    owner: int


def passages(evidence: Iterable[Hit | str]) -> list[Passage]:
    """The sentences and table rows of the evidence, in order. A heading is read beside what follows it."""
    found = []
    for owner, piece in enumerate(evidence):
        text, beside = (piece, "") if isinstance(piece, str) else (piece.chunk.text, piece.chunk.prefix)
        for start, end in split_sentences(text):
            sentence = text[start:end]
            if sentence.startswith("#"):
                beside += "\n" + sentence
            elif sentence.startswith("|") and "\n" in sentence:
                first, *rows = [row for row in sentence.split("\n") if not _TABLE_RULE.fullmatch(row)]
                found += [Passage(row, f"{beside}\n{first}", owner) for row in rows or [first]]
            else:
                found.append(Passage(sentence, beside, owner))
    return found


def measure(question: str, evidence: Sequence[Hit | str], embedder: Embedder) -> tuple[list[Measure], str]:
    """All signals, and the passage nearest to the question; no signals and "" when the evidence holds no words."""
    around = [passage for passage in passages(evidence) if words(passage.text)]
    if not around:
        return [], ""
    vectors = embedder.encode_passages([passage.text for passage in around])
    asked = embedder.encode_queries([question])[0]
    best = int(np.argmax(vectors @ asked))
    owner = around[best].owner
    window = [passage for passage in around[max(0, best - 1):best + 2] if passage.owner == owner]
    near = [passage for passage in around[best:best + 2] if passage.owner == owner]
    near_stems, all_stems = _stems(near), _stems(around)
    facts = find_facts(question)
    measures = [
        _similarity(float(vectors[best] @ asked)),
        _page(vectors[[passage.owner == owner for passage in around]], asked),
        _coverage(question, all_stems),
        _focus(question, all_stems),
        _numbers(facts, near),
        _identifiers(facts, all_stems),
        _names(facts, near_stems, all_stems),
        _negation(question, around[best]),
        _answer_type(question, window),
    ]
    return measures, around[best].text


def _similarity(cosine: float) -> Measure:
    value = min(1.0, max(0.0, cosine))
    return Measure("similarity", value, f"the nearest sentence has a cosine of {value:.2f} with the question")


def _page(vectors: np.ndarray, asked: np.ndarray) -> Measure:
    """The cosine with the mean of the passages around the best sentence: is that piece as a whole about this?

    Of the other pieces nothing is asked: more evidence must not make good evidence worse.
    """
    middle = vectors.mean(axis=0)
    length = float(np.linalg.norm(middle))
    value = min(1.0, max(0.0, float(middle @ asked) / length)) if length else 0.0
    return Measure("page", value, f"the page of the nearest sentence has a cosine of {value:.2f} with the question")


def _coverage(question: str, stems: set[str]) -> Measure:
    # Not for Chinese pairs of characters: of the handbook's answerable questions the evidence holds one in eight.
    wanted = [(word.text, {word.stem}) for word in keywords(question) if not _HAN.search(word.text)]
    return _share("coverage", wanted, stems, "the evidence does not speak of")


def _focus(question: str, stems: set[str]) -> Measure:
    return _share("focus", [(word.text, {word.stem}) for word in focus(question)], stems,
                  "what is asked for is not in the evidence:")


def _numbers(facts: list[Fact], near: list[Passage]) -> Measure:
    wanted = [fact for fact in facts if fact.kind in _NUMERIC]
    there = [fact for passage in near if wanted for fact in find_facts(_whole(passage)) if fact.kind in _NUMERIC]
    missing = [fact.text for fact in wanted if not any(agree(fact, other) for other in there)]
    return _measure("numbers", missing, len(wanted), "not near the best sentence:")


def _identifiers(facts: list[Fact], stems: set[str]) -> Measure:
    wanted = [(fact.text, {word.stem for word in words(fact.text)}) for fact in facts if fact.kind == "identifier"]
    return _share("identifiers", wanted, stems, "not in the evidence:")


def _names(facts: list[Fact], near: set[str], everywhere: set[str]) -> Measure:
    """A name counts half when the evidence has it, but not near the best sentence."""
    wanted = [(fact.text, set(content_stems(fact.text))) for fact in facts if fact.kind == "name"]
    absent = [text for text, parts in wanted if not parts <= everywhere]
    apart = [text for text, parts in wanted if parts <= everywhere and not parts <= near]
    value = 1 - (len(absent) + len(apart) / 2) / len(wanted) if wanted else 1.0
    lacks = [f"{lack} {', '.join(names)}" for lack, names in (("not in the evidence:", absent),
                                                             ("not near the best sentence:", apart)) if names]
    return Measure("names", value, "; ".join(lacks))


def _negation(question: str, best: Passage) -> Measure:
    """A question for what is *not* so, and a sentence that says what is: the most frequent trap of all."""
    asks = [question[start:end] for start, end in split_sentences(question)]
    asks = [sentence.rpartition("，")[2] for sentence in asks if sentence.endswith(("?", "？"))] or asks
    amiss = any(map(_denies, asks)) and not _denies(best.text)
    return Measure("negation", 0.0 if amiss else 1.0,
                   "the question is negated, the best sentence is not" if amiss else "")


def _answer_type(question: str, window: list[Passage]) -> Measure:
    kind = expected_answer(question)
    there = kind is None or any(_holds(kind, passage, question) for passage in window)
    return Measure("answer type", float(there), "" if there else f"there is not {kind.name} near the best sentence")


def _share(name: str, wanted: list[tuple[str, set[str]]], stems: set[str], lack: str) -> Measure:
    missing = [text for text, parts in wanted if not parts <= stems]
    return _measure(name, missing, len(wanted), lack)


def _measure(name: str, missing: list[str], count: int, lack: str) -> Measure:
    value = 1 - len(missing) / count if count else 1.0
    return Measure(name, value, f"{lack} {', '.join(missing)}" if missing else "")


def _stems(around: list[Passage]) -> set[str]:
    # Line by line and each once: what stands beside a passage stands beside the next ones too.
    lines = {line for passage in around for line in _whole(passage).split("\n")}
    return {word.stem for line in lines for word in words(line)}


def _whole(passage: Passage) -> str:
    return f"{passage.beside}\n{passage.text}"


def _denies(text: str) -> bool:
    return any(fact.kind == "negation" and fact.text.casefold() not in _NO_DENIAL for fact in find_facts(text))


def _holds(kind: AnswerType, passage: Passage, question: str) -> bool:
    if not passage.text.startswith("|"):
        return kind.is_in(passage.text, question)
    heads = passage.beside.rpartition("\n")[2]  # the unit often stands in the table's first row
    priced = kind.name == MONEY and _PRICED.search(heads) and re.search(r"\d", passage.text)
    return bool(priced) or kind.is_in(f"{heads} {passage.text}", question)
