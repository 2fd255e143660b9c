"""How far a judge agrees with people, to be read before it is trusted (chapter 08).

Sources: Cohen (1960), "A Coefficient of Agreement for Nominal Scales"; Zheng et al. (2023), "Judging LLM-as-a-Judge
with MT-Bench and Chatbot Arena".
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ragkit.evaluation.scorecard import html_table, text_table

if TYPE_CHECKING:
    from ragkit.citations import SupportJudge
    from ragkit.recorded import RecordedAnswer

VERDICTS = ("supported", "unsupported", "contradicted")
RESAMPLES = 2_000


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Agreement of two raters beyond that of chance, at most 1; 0 is what chance gives.

    Two who say "supported" nine times in ten agree in 82 % of the cases without looking, which is why the plain
    share tells little. None when chance alone gives full agreement: both always say the same one label.
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} labels and {len(b)} are not of the same items; give one of each an item")
    if not len(a):
        raise ValueError("there are no labels to compare")
    names = list(dict.fromkeys([*a, *b]))
    counts = Counter(zip(a, b, strict=True))
    table = np.array([[counts[one, other] for other in names] for one in names])
    kappa = float(_kappas(table[None])[0])
    return None if np.isnan(kappa) else kappa


@dataclass(frozen=True)
class Agreement:
    """A judge's verdicts beside the hand labels of the same sentences. Prints and shows as a confusion matrix.

    Attributes:
        counts: sentences by (hand label, judge's label).
        failed: sentences that the judge gave no verdict on.
        other: sentences left out, since the two sides do not see the same claim in them.
        kappa: None when undefined (``cohen_kappa``).
        low, high: its 95 % bootstrap interval; None when undefined.
    """

    judge: str
    counts: dict[tuple[str, str], int]
    failed: int
    other: int
    kappa: float | None
    low: float | None
    high: float | None

    @property
    def n(self) -> int:
        """Sentences compared."""
        return sum(self.counts.values())

    @property
    def observed(self) -> float | None:
        """Share of the sentences with the same label on both sides."""
        return sum(self.counts.get((label, label), 0) for label in VERDICTS) / self.n if self.n else None

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"judge": self.judge, "n": self.n, "failed": self.failed, "other": self.other, "kappa": self.kappa,
                "low": self.low, "high": self.high, "observed": self.observed,
                "counts": [{"hand": hand, "judge": judge, "count": count}
                           for (hand, judge), count in self.counts.items()]}

    def __str__(self) -> str:
        return f"{text_table(*self._table())}\n{self._summary()}"

    def _repr_html_(self) -> str:
        return f"{html_table(*self._table())}<p>{self._summary()}</p>"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[hand, *(str(self.counts.get((hand, judge), 0)) for judge in VERDICTS)] for hand in VERDICTS]
        return ["by hand \\ by the judge", *VERDICTS], rows

    def _summary(self) -> str:
        if not self.n:
            return f"no sentence to compare; {self.failed} without a verdict"
        kappa = "undefined" if self.kappa is None else f"{self.kappa:.2f} [{self.low:.2f}, {self.high:.2f}]"
        return (f"{self.n} sentences, the same label for {self.observed:.0%}, Cohen's kappa {kappa}; "
                f"{self.failed} without a verdict, {self.other} left out")


def judge_agreement(judge: "SupportJudge", answers: "Iterable[RecordedAnswer] | None" = None, *,
                    seed: int = 0) -> Agreement:
    """Let a judge verify answers that were labelled by hand, and compare.

    Args:
        judge: the deterministic one, or a language model (``ragkit.citations.LlmJudge``). A verdict that it cannot
            give is counted as failed, for all claims of that answer.
        answers: None is ``data/recorded_answers.jsonl``.
    """
    from ragkit.citations import verify_citations
    from ragkit.citations.llm_judge import JudgeError
    from ragkit.recorded import load_recorded

    counts: Counter[tuple[str, str]] = Counter()
    failed = other = 0
    for answer in load_recorded() if answers is None else answers:
        claims = {(one.start, one.end): one.label for one in answer.sentences if one.label in VERDICTS}
        try:
            verification = verify_citations(answer.answer, answer.context, judge=judge)
        except JudgeError:
            failed += len(claims)
            continue
        given = {(one.start, one.end): one.in_context for one in verification.claims}
        counts.update((claims[span], given[span]) for span in claims.keys() & given.keys())
        other += len(claims.keys() ^ given.keys())
    ordered = {(hand, by): counts[hand, by] for hand in VERDICTS for by in VERDICTS if counts[hand, by]}
    return Agreement(judge.name, ordered, failed, other, *_kappa_with_interval(ordered, seed))


def _kappa_with_interval(counts: dict[tuple[str, str], int], seed: int) -> tuple[float | None, ...]:
    table = np.array([[counts.get((hand, judge), 0) for judge in VERDICTS] for hand in VERDICTS])
    total = int(table.sum())
    kappa = _kappas(table[None])[0] if total else np.nan
    if np.isnan(kappa):
        return None, None, None
    drawn = np.random.default_rng(seed).multinomial(total, table.ravel() / total, RESAMPLES)
    low, high = np.nanquantile(_kappas(drawn.reshape(-1, *table.shape)), [0.025, 0.975])
    return float(kappa), float(low), float(high)


def _kappas(tables: np.ndarray) -> np.ndarray:
    """Kappa of each confusion matrix, shape (tables, labels, labels); NaN where it is undefined."""
    total = tables.sum(axis=(1, 2))
    observed = np.trace(tables, axis1=1, axis2=2) / total
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / total**2
    return np.divide(observed - chance, 1 - chance, out=np.full(len(tables), np.nan), where=chance < 1 - 1e-12)
