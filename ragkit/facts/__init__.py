"""The hard facts of a text: numbers with their units, dates, times, identifiers, names, negations (chapters 05, 07).

Rules, no model, so that a check can say "180 is not in the source" and be right. Each fact carries its exact span
and a value in one normal form: "EUR 1,200", "1200 euros" and "€1,200" have the same, as have "12 March 2025" and
"2025-03-12". English and Chinese.
"""

from functools import lru_cache

from ragkit.facts.dates import find_dates, find_times
from ragkit.facts.fact import CITATION_MARK, Fact, Taken, agree
from ragkit.facts.names import find_identifiers, find_names
from ragkit.facts.negation import find_negations
from ragkit.facts.numbers import find_numbers
from ragkit.wording import SENTENCE, plain_characters

__all__ = ["CITATION_MARK", "Fact", "agree", "find_facts"]


def find_facts(text: str) -> list[Fact]:
    """The facts of ``text`` by their start; spans are exact and only a negation may overlap others.

    Numbers in citation marks ("[1]") and list numbers ("1. ") are none. Time is linear in the length of the text.
    """
    return list(_sentence_facts(text) if len(text) <= SENTENCE else _facts(text))


def _facts(original: str) -> tuple[Fact, ...]:
    text = plain_characters(original)
    taken = Taken(text)
    found = []
    # In this order: a date is made of numbers, an identifier of letters and numbers, and both would be misread.
    for find in (find_dates, find_times, find_identifiers, find_numbers, find_names):
        found += find(text, taken)
    found += find_negations(text)
    if text != original:
        found = [fact._replace(text=original[fact.start:fact.end]) for fact in found]
    return tuple(sorted(found, key=lambda fact: (fact.start, fact.end)))


# The checks read the same sentences, again and again.
_sentence_facts = lru_cache(maxsize=4096)(_facts)
