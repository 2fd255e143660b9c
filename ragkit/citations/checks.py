"""Hard checks: a number, date, time, identifier or negation in a claim that its source does not bear out (chapter 07).

Words in common say how close two sentences are; "180 days" and "150 days" are very close and cannot both be right.
These checks look at the facts alone and name the values.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragkit.chunking import split_sentences
from ragkit.citations.passage import Passage, Unit, claim_stems
from ragkit.citations.permission import differs, without_permission
from ragkit.facts import Fact, agree, find_facts
from ragkit.facts.negation import DENYING, clause_around
from ragkit.facts.units import units_in

VALUES = ("number", "date", "time", "identifier")
ROLE = 0.6   # a value stands in another role when its best unit fits the claim less than this share of the best one
ROLE_WORDS = 2  # words around a value that the source has, from which they tell its place ("the code is QY-12": one)
LONG = 40    # in a source of more units a value stands in many places, and which one is meant is not told by words
NEAR = 60    # characters after a number in which the word for what it counts is looked for
SAME = 0.5   # a unit is about the same thing when it has more than this share of the claim's other content words
CLOSE = 0.7  # units that fit the claim at least this share of the best one are read for negations
_CODE = re.compile(r"0\d")


@dataclass(frozen=True)
class Clash:
    """What is wrong with one fact of a claim.

    Attributes:
        kind: of the fact.
        contrary: a unit that is about the same thing says something else in its place.
        missing: the value is nowhere in the source.
        unit: position of the unit that the claim was compared with, where one was.
    """

    kind: str
    reason: str
    contrary: bool
    missing: bool = False
    unit: int | None = None


@dataclass(frozen=True)
class Part:
    """A sentence of a claim: its content stems and its facts."""

    text: str
    stems: tuple[str, ...]
    facts: tuple[Fact, ...]

    def facts_of(self, *kinds: str) -> list[Fact]:
        return [fact for fact in self.facts if fact.kind in kinds]


def read_claim(text: str) -> tuple[Part, ...]:
    """The sentences of a claim."""
    texts = [text[start:end] for start, end in split_sentences(text)]
    return tuple(Part(part, claim_stems(part), tuple(find_facts(part))) for part in texts)


def find_clashes(claim: Sequence[Part], passage: Passage) -> list[Clash]:
    """Everything in the claim that the source does not bear out, in the order of the claim."""
    clashes = []
    for part in claim:
        stems = set(part.stems)
        values = [_check_value(fact, part, stems, passage) for fact in part.facts_of(*VALUES)]
        clashes += [clash for clash in values if clash]
        clashes += _check_repeats(part, passage) + (_check_negations(part, passage) or _check_permission(part, passage))
    return clashes


def missing_names(claim: Sequence[Part], source: str) -> list[str]:
    """The names in the claim of which the source does not have every word. A hint only: a source may say "the
    plant" where the claim says "Suzhou"."""
    folded = source.casefold()
    return [fact.text for part in claim for fact in part.facts_of("name")
            if not all(word in folded for word in fact.value)]


def fits(stems: set[str], passage: Passage) -> list[float]:
    """How well each unit fits the words, in [0, 1]: the share it has of those that the source has at all.

    A word that stands in few units counts more; one in the header row or a heading above counts half.
    """
    spread = Counter(stem for unit in passage.units for stem in set(unit.stems) & stems)
    whole = sum(1 / count for count in spread.values())
    if not whole:
        return [0.0] * len(passage.units)
    scores = []
    for unit in passage.units:
        own = stems & set(unit.stems)
        near = (stems & (unit.header | passage.about)) - own
        score = sum(1 / spread[stem] for stem in own) + sum(0.5 / spread[stem] for stem in near if stem in spread)
        scores.append(score / whole)
    return scores


def _check_value(fact: Fact, part: Part, stems: set[str], passage: Passage) -> Clash | None:
    around = stems - set(claim_stems(fact.text))
    scores = fits(around, passage)
    top = max((fit for fit, unit in zip(scores, passage.units, strict=True) if not unit.is_heading), default=0.0)
    same, others = [], []
    for index, (unit, fit) in enumerate(zip(passage.units, scores, strict=True)):
        for candidate in unit.facts:
            if _matches(fact, candidate, unit):
                same.append(fit)
            elif _comparable(fact, candidate):
                others.append((fit, _alike(fact, part.text, candidate, unit), index, candidate))
        if fact.kind == "identifier" and fact.value in unit.text.casefold():
            same.append(fit)
    best = max(others, key=lambda other: other[0], default=None)
    # What is named is of the same kind, and from a sentence about the same thing or the best one.
    like = max((other for other in others if other[1]), key=lambda other: other[0], default=None)
    about = like is not None and _is_about(around, passage.units[like[2]], passage)
    named = like[3].text if like and (about or like[0] >= top > 0) else ""
    unit, other = (like or best)[2:] if best else (None, None)
    contrary = about or other is not None and fact.written is not None and fact.written == other.written and _is_about(
        around, passage.units[unit], passage)
    if not same:
        reason = f"{fact.text} is not in the source" + (f"; it has {named}" if named else "")
        return Clash(fact.kind, reason, contrary, missing=True, unit=unit)
    known = around & {stem for unit in passage.units for stem in unit.stems}
    if best and len(known) >= ROLE_WORDS and len(passage.units) <= LONG and max(same) < ROLE * best[0]:
        reason = f"{fact.text} is in the source, but elsewhere" + (f"; here it has {named}" if named else "")
        return Clash(fact.kind, reason, contrary, unit=unit)
    return None


def _is_about(stems: set[str], unit: Unit, passage: Passage) -> bool:
    """Whether the unit, with the headings and the header row above it, has most of these content words."""
    return not unit.is_heading and len(stems & (set(unit.stems) | unit.header | passage.about)) > SAME * len(stems)


def _alike(fact: Fact, text: str, candidate: Fact, unit: Unit) -> bool:
    """Whether a reader would compare the two: numbers of the same unit (which may stand in the header row) or of the
    same things; identifiers of the same form. "0000" is a code and no amount."""
    if fact.kind == "identifier":
        return _form(fact.text) == _form(candidate.text)
    if fact.kind != "number":
        return True
    if _CODE.match(candidate.text) or _CODE.match(fact.text):
        return False
    if fact.value[1] != candidate.value[1]:
        return candidate.value[1] is None and any(base == fact.value[1] for base, _ in units_in(unit.header_text))
    if fact.value[1] is not None:  # hours with hours; of other units only the same number, "14 weeks" and "14 days"
        return fact.written == candidate.written or _scale(fact) == _scale(candidate)
    counted, there = _counted(text, fact), _counted(unit.text, candidate)
    return not counted or bool(counted & (there | unit.header))


def _counted(text: str, fact: Fact) -> set[str]:
    """What a number without a unit counts: the stems of the next two content words."""
    return set(claim_stems(text[fact.end:fact.end + NEAR])[:2])


def _scale(fact: Fact) -> float | None:
    """How many base units the written unit has: 1440 for days, in minutes."""
    return round(fact.value[0] / fact.written, 6) if fact.written else None


def _form(identifier: str) -> str:
    """"E-412" and "PC-518" have one form: letters, a hyphen, digits."""
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", identifier))


def _matches(fact: Fact, candidate: Fact, unit: Unit) -> bool:
    """Whether the source's fact bears out the claim's. In a table the unit may stand in the header row."""
    if not agree(fact, candidate):
        return False
    if fact.kind == candidate.kind == "number" and fact.value[1] and not candidate.value[1]:
        said = units_in(unit.header_text)
        return not said or any(base == fact.value[1] and abs(candidate.written * factor - fact.value[0]) < 1e-6
                               for base, factor in said)
    return True


def _comparable(fact: Fact, candidate: Fact) -> bool:
    """Whether the source's fact could stand in the claim's place: same kind, and for numbers the same unit."""
    if fact.kind != candidate.kind:
        return False
    if fact.kind == "number":
        return None in (fact.value[1], candidate.value[1]) or fact.value[1] == candidate.value[1]
    if fact.kind == "date":
        return (fact.value[0] == "weekday") == (candidate.value[0] == "weekday")
    return True


def _check_repeats(part: Part, passage: Passage) -> list[Clash]:
    """A value said more often than the source has it, while another of its kind in the best unit is left over:
    "paid every Thursday if approved by Thursday" where the source has a Thursday and a Tuesday."""
    scores = fits(set(part.stems), passage)
    position = max(range(len(scores)), key=scores.__getitem__, default=None)
    best = passage.units[position] if scores else None
    facts = part.facts_of(*VALUES)
    times = Counter((fact.kind, fact.value) for fact in facts)
    for fact in facts:
        said = times[fact.kind, fact.value]
        if said < 2:  # once in the claim is no more often than once in the source
            continue
        there = sum(agree(fact, candidate) for unit in passage.units for candidate in unit.facts)
        left = [candidate for candidate in best.facts if _comparable(fact, candidate)
                and not any(agree(candidate, other) for other in facts)] if said > there > 0 else []
        if left:
            alike = next((candidate for candidate in left if _alike(fact, part.text, candidate, best)), None)
            reason = f"{fact.text} stands in the claim {said} times, in the source {there}"
            contrary = alike is not None and _is_about(set(part.stems) - set(claim_stems(fact.text)), best, passage)
            return [Clash(fact.kind, reason + (f"; it has {alike.text}" if alike else ""), contrary, unit=position)]
    return []


def _check_negations(part: Part, passage: Passage) -> list[Clash]:
    """Something is denied on one side only."""
    stems = set(part.stems)
    scores = fits(stems, passage)
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    close = [index for index in order if scores[index] > 0 and scores[index] >= CLOSE * scores[order[0]]]
    own = part.facts_of("negation")
    for negation in own:
        index = next((index for index in close if set(negation.value) & set(passage.units[index].stems)), None)
        found = index is not None
        if not found and close and not _negations(passage.units[close[0]]):  # other words, but nothing denied there
            index = close[0]
        unit = passage.units[index] if index is not None else None
        if close and _said_otherwise(negation, own, passage.units[close[0]]):
            continue
        if unit and _said_otherwise(negation, own, unit):
            continue
        if unit and not _other_words_deny(stems, unit) and _odd(negation, own) != _odd(negation, _negations(unit)):
            return [Clash("negation", f"the claim says “{negation.text}”, the source does not",
                          found and _is_about(stems, unit, passage), unit=index)]
    for index in close[:1]:
        unit = passage.units[index]
        if any(_said_otherwise(negation, own, unit) for negation in own):
            continue
        for negation in _negations(unit):
            denied = negation.value and negation.value[0] in stems and not _other_words_deny(stems, unit)
            if (denied and not _says_both(negation, stems, unit)
                    and _odd(negation, own) != _odd(negation, _negations(unit))):
                return [Clash("negation", f"the source says “{negation.text}”, the claim does not",
                              _is_about(stems, unit, passage), unit=index)]
    return []


def _check_permission(part: Part, passage: Passage) -> list[Clash]:
    """One side allows what the other forbids, in words that deny by themselves: "forbidden" and "allowed"."""
    stems = without_permission(part.stems)
    scores = fits(stems, passage)
    best = max(range(len(scores)), key=scores.__getitem__, default=None)
    if best is None or not _is_about(stems, passage.units[best], passage):
        return []
    words = differs(part.text, passage.units[best].text)
    return [Clash("negation", f"the claim says “{words[0]}”, the source says “{words[1]}”", True, unit=best)
            ] if words else []


def _says_both(negation: Fact, stems: set[str], unit: Unit) -> bool:
    """Whether the source says a word once with "not" and once without, "open in summer, not open in winter", and the
    clause with the "not" is about something that the claim does not name."""
    denials = sum(negation.value[0] in other.value for other in _negations(unit))
    if unit.stems.count(negation.value[0]) <= denials:
        return False
    clause = clause_around(unit.text, negation.start, negation.end)
    cue = negation.text if not negation.text.isascii() else " "  # a pair of characters with the 不 in it is no word
    return not {stem for stem in claim_stems(clause) if cue not in stem} <= stems


def _negations(unit: Unit) -> list[Fact]:
    return [fact for fact in unit.facts if fact.kind == "negation"]


def _said_otherwise(negation: Fact, own: Sequence[Fact], unit: Unit) -> bool:
    """Whether the source has a negation of its own for this one, on another word: "nobody is allowed in" and "they
    may not enter"."""
    head = next((stem for stem in negation.value if not stem[0].isdigit()), None)
    claimed = {stem for fact in own for stem in fact.value}
    return head not in unit.stems and any(not claimed & set(other.value) for other in _negations(unit))


def _odd(negation: Fact, among: Sequence[Fact]) -> bool:
    """Whether an odd number of negations reaches what this one denies: two of them undo each other."""
    nearest = [other for other in among if set(negation.value[:1]) & set(other.value)]
    return len(nearest or [other for other in among if set(negation.value) & set(other.value)]) % 2 == 1


def _other_words_deny(stems: set[str], unit: Unit) -> bool:
    """Whether a denying word ("forbidden") stands on one side only: it may say there what a negation says here."""
    return DENYING & stems != DENYING & set(unit.stems)
