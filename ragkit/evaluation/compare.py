"""Two or more chains on the same questions: what differs, by how much, and whether that is luck (chapter 08)."""

import html
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragkit.evaluation.chains import SharedChains
from ragkit.evaluation.lines import short
from ragkit.evaluation.outcome import LOWER_IS_BETTER, METRIC_NAMES, Outcome
from ragkit.evaluation.questions import Question
from ragkit.evaluation.run import Evaluation, check_questions, evaluate
from ragkit.evaluation.scorecard import cell, html_table, text_table
from ragkit.evaluation.statistics import CONFIDENCE, RESAMPLES, Difference, check_sampling, p_text, paired_difference
from ragkit.knowledge_base import KnowledgeBase
from ragkit.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ragkit.citations import SupportJudge
    from ragkit.generation import Generator
    from ragkit.refusal import EvidenceGrader

# The two rows of the refusal matrix, question by question: 1 when the decision to answer or refuse was right.
ANSWERED, REFUSED = "answerable_answered", "unanswerable_refused"
COMPARED = (*METRIC_NAMES, ANSWERED, REFUSED)


class Flips(NamedTuple):
    """The questions that the second chain does better, and worse, than the first by one metric."""

    won: tuple[Question, ...]
    lost: tuple[Question, ...]


@dataclass(frozen=True)
class Comparison:
    """Evaluations of the same questions under several settings; each is compared with the first.

    Shows side by side in Jupyter, prints as text, goes to JSON.

    Attributes:
        evaluations: by the name that was given to the settings.
        confidence, resamples, seed: of the intervals and tests; the same seed gives the same numbers.
    """

    evaluations: Mapping[str, Evaluation]
    confidence: float = CONFIDENCE
    resamples: int = RESAMPLES
    seed: int = 0
    _made: dict[tuple[str, str, str], Difference | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the settings; the first is what the others are compared with."""
        return tuple(self.evaluations)

    def __getitem__(self, name: str) -> Evaluation:
        """The evaluation of that name; an unknown name is an error that lists the known ones."""
        if name not in self.evaluations:
            raise KeyError(f"no settings {name!r} were compared; these were: {', '.join(self.names)}")
        return self.evaluations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    def difference(self, metric: str = "recall", b: str | None = None, a: str | None = None) -> Difference | None:
        """b - a by one metric; None where no question has a value under both.

        Args:
            metric: one of ``COMPARED``.
            b: a name; None is the second.
            a: a name; None is the first.
        """
        a, b = self._pair(a, b)
        if (metric, b, a) not in self._made:
            self._made[metric, b, a] = paired_difference(
                values_of(self[a], metric), values_of(self[b], metric), metric,
                lower_is_better=metric in LOWER_IS_BETTER, confidence=self.confidence, resamples=self.resamples,
                seed=self.seed)
        return self._made[metric, b, a]

    def differences(self, b: str | None = None, a: str | None = None) -> list[Difference]:
        """b - a by every metric that both have, in the order of ``COMPARED``."""
        return [found for metric in COMPARED if (found := self.difference(metric, b, a)) is not None]

    def flipped(self, metric: str = "recall", b: str | None = None, a: str | None = None) -> Flips:
        """The questions won and lost by b against a."""
        a, b = self._pair(a, b)
        won, lost = [], []
        for one, other, outcome in zip(values_of(self[a], metric), values_of(self[b], metric), self[a], strict=True):
            if one is None or other is None or abs(one - other) <= 1e-12:
                continue
            (won if (other > one) != (metric in LOWER_IS_BETTER) else lost).append(outcome.question)
        return Flips(tuple(won), tuple(lost))

    @cached_property
    def scorecard_table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the scorecards side by side, as text."""
        cards = [evaluation.scorecard for evaluation in self.evaluations.values()]
        rows = [[metric, *(cell(card[metric]) for card in cards)] for metric in METRIC_NAMES
                if any(card[metric].n for card in cards)]
        rows += [[f"refusal {name}", *(cell(getattr(card.overall.refusals, name)) for card in cards)]
                 for name in ("precision", "recall")]
        rows.append(["errors", *(str(card.overall.errors) for card in cards)])
        return [f"metric at k = {cards[0].k}, mean (n)", *self.names], rows

    def difference_table(self, b: str | None = None) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the differences from the first, as text."""
        a, b = self._pair(None, b)
        head = [f"{b} - {a}", "difference", f"{self.confidence:.0%} interval", "p", "n", "won", "lost", "verdict"]
        return head, [_row(found) for found in self.differences(b)]

    def figure(self, b: str | None = None) -> "Figure":
        """The differences from the first with their intervals, one line a metric; those in [0, 1] only."""
        from ragkit.evaluation.pictures import difference_figure

        a, b = self._pair(None, b)
        return difference_figure([one for one in self.differences(b) if one.metric not in LOWER_IS_BETTER], a, b)

    def plot(self, b: str | None = None):
        """The figure as the end of a cell shows it, with alternative text."""
        from ragkit.plots import show

        a, b = self._pair(None, b)
        told = [f"{one.metric} {one.verdict}" for one in self.differences(b) if one.verdict != "cannot tell"]
        return show(self.figure(b), f"Differences {b} minus {a} with {self.confidence:.0%} intervals. "
                                    f"Clear of zero: {', '.join(told) or 'none'}.")

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"evaluations": {name: evaluation.to_dict() for name, evaluation in self.evaluations.items()},
                "differences": {name: [one.to_dict() for one in self.differences(name)] for name in self.names[1:]},
                "confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.names)}; {len(next(iter(self.evaluations.values())))} questions)"

    def __str__(self) -> str:
        tables = [self.scorecard_table, *(self.difference_table(name) for name in self.names[1:])]
        return "\n\n".join(text_table(*table) for table in tables)

    def _repr_html_(self) -> str:
        parts = [html_table(*self.scorecard_table)]
        for name in self.names[1:]:
            parts.append(f"<p><b>{html.escape(name)}</b> against <b>{html.escape(self.names[0])}</b></p>"
                         + html_table(*self.difference_table(name)))
        return "".join(parts)

    def _pair(self, a: str | None, b: str | None) -> tuple[str, str]:
        if len(self) < 2 and (a is None or b is None):
            raise ValueError(f"only {self.names[0]!r} was evaluated; there is nothing to compare it with")
        return self.names[0] if a is None else a, self.names[1] if b is None else b


def compare(settings: Mapping[str, Settings], questions: Iterable[Question], *, kb: KnowledgeBase | None = None,
            folder: str | Path | None = None, answers: bool = True, k: int | None = None,
            generator: "Generator | str | None" = None, grader: "EvidenceGrader | None" = None,
            judge: "SupportJudge | None" = None, missing_gold: str = "error", confidence: float = CONFIDENCE,
            resamples: int = RESAMPLES, seed: int = 0) -> Comparison:
    """Run several chains on the same questions (chapter 08).

    Args:
        settings: by name; the first is what the others are compared with.
        kb, folder: the documents: a knowledge base that is built, or a folder. What differs in cutting or embedding
            is built once, from vectors that are kept.
        answers: False compares the retrieval only: each question is searched once for each index, and decided for
            each chain. The results then lack the probe that explains a refusal.
        k: candidates that the retrieval metrics read, the same for all; None is the largest ``top_k``.
        generator, grader, judge: for all chains; None is what the settings say.
        missing_gold: as in ``evaluate``.
        confidence, resamples, seed: of the intervals and tests.
    """
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) and isinstance(chain, Settings)
                                                    for name, chain in settings.items()):
        raise TypeError(f'{short(settings)} are no settings by name; give {{"a": Settings(), "b": Settings(top_k=4)}}')
    if not settings:
        raise ValueError("there are no settings to compare; give at least one, by name")
    check_sampling(confidence, resamples, seed)  # a wrong one would be found when all is done
    questions = check_questions(questions)
    shared = SharedChains(questions, kb=kb, folder=folder, missing_gold=missing_gold)
    names, chains = list(settings), list(settings.values())
    k = max(chain.top_k for chain in chains) if k is None else k
    found: dict[str, Evaluation] = {}
    if answers:
        for name, chain in settings.items():
            found[name] = evaluate(shared.base(chain), questions, k=k, generator=generator, grader=grader,
                                   judge=judge, missing_gold=missing_gold, query_vectors=shared.vectors(chain))
    else:
        for position, outcomes in shared.retrieve_all(chains, k):
            found[names[position]] = Evaluation(chains[position], outcomes, k, answers=False)
    return Comparison({name: found[name] for name in names}, confidence, resamples, seed)


def values_of(evaluation: Evaluation, metric: str) -> list[float | None]:
    """One of ``COMPARED`` for each question; the decisions are None for the questions of the other row."""
    if metric not in (ANSWERED, REFUSED):
        return evaluation.values(metric)
    return [_decision(outcome, metric) for outcome in evaluation]


def _decision(outcome: Outcome, metric: str) -> float | None:
    if outcome.question.answerable != (metric == ANSWERED):
        return None
    return float(outcome.refused is (metric == REFUSED))  # an error, None, is neither


def _row(found: Difference) -> list[str]:
    digits = 0 if max(abs(found.a), abs(found.b)) >= 10 else 3
    return [found.metric, f"{found.difference:+,.{digits}f}", f"[{found.low:+,.{digits}f}, {found.high:+,.{digits}f}]",
            p_text(found.p_value).removeprefix("= "), str(found.n), str(found.won), str(found.lost), found.verdict]
