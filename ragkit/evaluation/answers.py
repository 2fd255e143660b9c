"""How right an answer is, and who was refused (chapter 08).

Correctness is measured against the question's short gold answer. An answer that quotes a whole sentence around
"150 euros a night" is right and yet no exact match, so no one of these numbers is enough: exact match and F1 ask
for the answer and nothing else, token recall and number match only for what must be in it.

Sources: Rajpurkar et al. (2016), "SQuAD", section 6.1 (exact match, F1); Gao et al. (2023), "ALCE", section 3
(citation precision and recall, in ``ragkit.citations``).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ragkit.evaluation.metrics import Mean
from ragkit.evaluation.questions import Question
from ragkit.wording import HAN

if TYPE_CHECKING:
    from ragkit.answer import Answer
    from ragkit.facts import Fact

CORRECTNESS = ("exact_match", "token_f1", "token_recall", "number_match")
CITATIONS = ("citation_precision", "citation_recall", "supported_share")
ANSWER_METRICS = (*CORRECTNESS, *CITATIONS)
_HARD = ("number", "date", "time", "identifier")
_ARTICLES = frozenset({"a", "an", "the"})
_TOKEN = re.compile(rf"[{HAN}]|[^\s{HAN}]+")


def answer_tokens(text: str, bare: float | None = None) -> list[str]:
    """The tokens that correctness compares: as in SQuAD, without case, punctuation and English articles.

    Numbers, dates and times come in one form with their unit, so that "EUR 1,200" and "1200 euros" are equal.
    Chinese, which has no spaces, comes character by character.

    Args:
        bare: the amount, when the other text is nothing but an amount without a unit. The same one is left as it is
            written here: "28" is half of "28 days", which would be lost if the days became minutes.
    """
    from ragkit.facts import find_facts

    tokens: list[str] = []
    position = 0
    for fact in find_facts(text):
        if fact.kind in ("number", "date", "time") and fact.start >= position:
            tokens += _plain_tokens(text[position:fact.start])
            tokens += _fact_tokens(fact, bare)
            position = fact.end
    return tokens + _plain_tokens(text[position:])


def exact_match(text: str, gold: str) -> float:
    """1.0 when both have the same tokens in the same order, else 0.0."""
    return float(answer_tokens(text) == answer_tokens(gold))


def token_f1(text: str, gold: str) -> float:
    """Harmonic mean of the share of ``text``'s tokens that ``gold`` has and of ``gold``'s that ``text`` has.

    A token that comes twice must be there twice. When one of them has no tokens: 1.0 if both have none, else 0.0.
    """
    given, wanted = _tokens_of_both(text, gold)
    if not given or not wanted:
        return float(given == wanted)
    return 2 * _common(given, wanted) / (len(given) + len(wanted))


def token_recall(text: str, gold: str) -> float:
    """Share of ``gold``'s tokens that ``text`` has: whatever else is said with it costs nothing."""
    given, wanted = _tokens_of_both(text, gold)
    return _common(given, wanted) / len(wanted) if wanted else float(not given)


def number_match(text: str, gold: str) -> float | None:
    """1.0 when every number, date, time and identifier of ``gold`` is in ``text``; None when it has none."""
    from ragkit.facts import agree

    wanted, given = _hard_facts(gold), _hard_facts(text)
    return float(all(any(agree(fact, other) for other in given) for fact in wanted)) if wanted else None


def answer_metrics(answer: "Answer", question: Question) -> dict[str, float | None]:
    """All answer metrics, by name, of an answer that was given.

    Correctness is None without a gold answer: nobody can be right about a question that has none.
    """
    from ragkit.citations.marks import parse_citations, remove_marks

    text = remove_marks(answer.text, parse_citations(answer.text))[0]
    gold = question.answer if question.answerable else ""
    values: dict[str, float | None] = dict.fromkeys(ANSWER_METRICS)
    if gold.strip():
        functions = (exact_match, token_f1, token_recall, number_match)
        values |= {name: function(text, gold) for name, function in zip(CORRECTNESS, functions, strict=True)}
    if answer.verification is not None:
        values |= answer.verification.measures()
    return values


@dataclass(frozen=True)
class RefusalMatrix:
    """The confusion matrix of refusing, "positive" being a refusal. Errors are apart: they are never right.

    Attributes:
        rightly_answered: answerable and answered; whether the answer is right is another question.
        wrongly_answered: unanswerable and answered.
        wrongly_refused: answerable and refused.
        rightly_refused: unanswerable and refused.
        answerable_errors, unanswerable_errors: failed.
    """

    rightly_answered: int = 0
    wrongly_answered: int = 0
    wrongly_refused: int = 0
    rightly_refused: int = 0
    answerable_errors: int = 0
    unanswerable_errors: int = 0

    @classmethod
    def count(cls, pairs: Iterable[tuple[bool, bool | None]]) -> "RefusalMatrix":
        """From ``(answerable, refused)`` of each question; refused None is an error."""
        counts = Counter(pairs)
        for pair in counts:
            if pair[0] not in (True, False) or pair[1] not in (True, False, None):
                raise ValueError(f"{pair!r} is no (answerable, refused)")
        return cls(counts[True, False], counts[False, False], counts[True, True], counts[False, True],
                   counts[True, None], counts[False, None])

    @property
    def precision(self) -> Mean:
        """Of the refusals, the share that was right; and how many refusals there were."""
        return _share(self.rightly_refused, self.rightly_refused + self.wrongly_refused)

    @property
    def recall(self) -> Mean:
        """Of the unanswerable questions, errors included, the share that was refused; and how many there are."""
        return _share(self.rightly_refused,
                      self.rightly_refused + self.wrongly_answered + self.unanswerable_errors)

    @property
    def answered(self) -> Mean:
        """Of the answerable questions, errors included, the share that was answered; and how many there are."""
        return _share(self.rightly_answered,
                      self.rightly_answered + self.wrongly_refused + self.answerable_errors)

    def to_dict(self) -> dict:
        """The counts and the three shares as plain data."""
        return asdict(self) | {name: getattr(self, name)._asdict() for name in ("precision", "recall", "answered")}


def _plain_tokens(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(character for character in folded if unicodedata.category(character)[0] not in "PS")
    return [token for token in _TOKEN.findall(kept) if token not in _ARTICLES]


def _tokens_of_both(text: str, gold: str) -> tuple[list[str], list[str]]:
    return answer_tokens(text, _bare_amount(gold)), answer_tokens(gold, _bare_amount(text))


def _bare_amount(text: str) -> float | None:
    """The amount, when the text is nothing else and has no unit."""
    amounts = [fact.value[0] for fact in _hard_facts(text) if fact.kind == "number" and fact.value[1] is None]
    return amounts[0] if amounts and len(answer_tokens(text)) == 1 else None


def _fact_tokens(fact: "Fact", bare: float | None) -> list[str]:
    if fact.kind == "number":
        amount, unit = fact.value
        if bare is not None and fact.written == bare:
            amount = bare
        return [f"{amount:.12g}", *([unit.casefold()] if unit else [])]
    return [fact.kind + " " + "-".join("?" if part is None else str(part) for part in fact.value)]


@lru_cache(maxsize=4096)  # the gold of a question is read again in every run
def _hard_facts(text: str) -> "tuple[Fact, ...]":
    from ragkit.facts import find_facts

    return tuple(fact for fact in find_facts(text) if fact.kind in _HARD)


def _common(given: Iterable[str], wanted: Iterable[str]) -> int:
    return (Counter(given) & Counter(wanted)).total()


def _share(part: int, whole: int) -> Mean:
    return Mean(part / whole if whole else None, whole)
