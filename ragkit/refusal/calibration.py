"""From labelled questions to a threshold, with its whole curve and its uncertainty (chapter 05).

A threshold is set on one set of questions (``calibrate``) and reported on another (``Calibration.report``).
The two are never given together, and a report on the questions that set the threshold is an error.

Sources: Chow 1970 (reject option and its costs); El-Yaniv & Wiener 2010 (risk and coverage); Efron &
Tibshirani 1993 (bootstrap percentile interval); Wilson 1927 (interval of a share).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ragkit.refusal.objectives import MaxF1, Objective, ObjectiveNotReached
from ragkit.refusal.outcomes import METRICS, Outcomes, ScoreCounts, as_list, count_scores

CONFIDENCE = 0.95
RESAMPLES = 1000


class Interval(NamedTuple):
    """Both ends of a 95% interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Report:
    """A fixed threshold on a set of questions.

    Attributes:
        threshold: inclusive.
        outcomes: the confusion matrix.
        metrics: "coverage", "risk", "precision", "recall", "specificity", "f1" (see ``Outcomes``) and "auroc",
            each in [0, 1], or None where undefined.
        intervals: for the same names the 95% bootstrap interval, or None. The threshold is held fixed, so this is
            what other questions of the same kind would change.
    """

    threshold: float
    outcomes: Outcomes = field(compare=False)
    metrics: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]

    def __str__(self) -> str:
        return "\n".join([f"threshold   {self.threshold:.3f}", *_lines(self.metrics, self.intervals)])


@dataclass(frozen=True)
class Calibration:
    """A threshold, what it was chosen for, and how it does on the questions that it was chosen on.

    The metrics flatter: the threshold was chosen to make them high. ``report`` gives those that count.

    Attributes:
        threshold: inclusive, as ``Settings.min_score`` is; always one of ``curve.threshold``. Just above 1 when even
            a score of 1 has to be refused.
        objective: what it was chosen for.
        curve: outcomes at every distinct threshold, ascending.
        outcomes, metrics, intervals: at the chosen threshold, as in ``Report``; ``intervals["threshold"]``
            is that of the threshold, chosen anew in every resample.
        reached: share of the resamples in which the objective could be reached; the others take no part in
            the threshold's interval.
    """

    threshold: float
    objective: Objective
    curve: Outcomes = field(compare=False, repr=False)
    outcomes: Outcomes = field(compare=False, repr=False)
    metrics: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]
    reached: float
    _counts: ScoreCounts = field(compare=False, repr=False)
    _ids: frozenset[str] | None = field(compare=False, repr=False)
    _seed: int = field(compare=False, repr=False)

    @property
    def auroc(self) -> float:
        """How well the score tells answerable from unanswerable, over all thresholds: 0.5 is a coin, 1 perfect."""
        return self.metrics["auroc"]

    def report(self, scores: Sequence[float], answerable: Sequence[bool],
               ids: Collection[str] | None = None) -> Report:
        """The threshold, as it stands, on other questions. They may be all of one side.

        Args:
            ids: of the questions; needed when ``calibrate`` was given them.

        Raises:
            ValueError: questions that the threshold was set on, or what ``calibrate`` refuses in scores and labels.
        """
        counts = count_scores(scores, answerable)
        given = _unique_ids(ids, counts.size)
        if (given is None) != (self._ids is None):
            raise ValueError("give ids to calibrate and to report, or to neither: they are compared")
        shared = sorted(given & self._ids, key=repr) if given is not None else []
        if shared:
            raise ValueError(f"{len(shared)} of the questions set this threshold, {shared[0]!r} among them; "
                             "report on questions that did not")
        if given is None and counts.same_as(self._counts):
            raise ValueError("these are the very scores and labels that set this threshold; report on others")
        return Report(self.threshold, *_measure(counts, self.threshold, _resample(counts, self._seed)))

    def __str__(self) -> str:
        return "\n".join([f"for         {self.objective}",
                          *_lines({"threshold": self.threshold, **self.metrics}, self.intervals)])


def calibrate(scores: Sequence[float], answerable: Sequence[bool], objective: Objective = MaxF1(), *,
              ids: Collection[str] | None = None, seed: int = 0) -> Calibration:
    """Choose a threshold from labelled questions: answer those whose score is at least the threshold.

    Give it the ``dev`` half only. Intervals come from 1,000 bootstrap resamples. These are stratified (as many
    answerable and as many unanswerable questions in each) because the mix of the two was decided by whoever
    wrote the questions and is no accident that could have come out otherwise. Note that coverage, risk,
    precision, F1 and costs depend on that mix; recall, specificity and AUROC do not.

    Args:
        scores: one for each question, in [0, 1]; the best cosine, or a grade. Higher means answer.
        answerable: one label for each question.
        objective: ``MaxF1()``, ``MinPrecision(floor)``, ``MinCoverage(floor)``, ``MinRecall(floor)`` or
            ``MinCost(wrong_answer, wrong_refusal)``.
        ids: of the questions, so that ``report`` can refuse those that set the threshold.
        seed: of the resamples.

    Raises:
        TypeError: an objective that is none, scores or labels that are no lists.
        ValueError: labels of one side only, lengths that differ, NaN or scores outside [0, 1], a wrong seed.
        ObjectiveNotReached: (a ValueError) no threshold does what the objective asks; says what the best is.
    """
    if not hasattr(objective, "choose") or isinstance(objective, type):
        raise TypeError(f"objective ({objective!r}) must be an object such as MaxF1(), MinPrecision(0.9), "
                        "MinCoverage(0.8), MinRecall(0.9) or MinCost(wrong_answer=5, wrong_refusal=1)")
    counts = count_scores(scores, answerable)
    known = _unique_ids(ids, counts.size)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed ({seed!r}) must be a whole number of at least 0")
    for name, side in (("answerable", counts.answerable), ("unanswerable", counts.unanswerable)):
        if not side.sum():
            raise ValueError(f"none of the {counts.size} questions is {name}; a threshold between the two needs both")
    curve = counts.curve()
    threshold = curve[objective.choose(curve)].threshold
    resampled = _resample(counts, seed)
    chosen = _chosen_thresholds(resampled, objective)
    outcomes, metrics, intervals = _measure(counts, threshold, resampled)
    return Calibration(threshold, objective, curve, outcomes, metrics,
                       {"threshold": _interval(chosen), **intervals}, len(chosen) / RESAMPLES, counts, known, seed)


def share_interval(hits: int, total: int) -> Interval:
    """The 95% interval of a share ``hits / total`` by Wilson's score (1927).

    For one share of a few questions it is better than a bootstrap, which after 20 of 20 gives [1, 1]: questions
    that were never seen cannot be drawn again.
    """
    if not all(isinstance(count, Integral) for count in (hits, total)) or not 0 <= hits <= total or total < 1:
        raise ValueError(f"hits ({hits!r}) must lie between 0 and total ({total!r}), and total be at least 1; "
                         "both are whole numbers")
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = hits / total
    middle = share + z * z / (2 * total)
    spread = z * (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5
    scale = 1 + z * z / total
    return Interval(max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale))


def _measure(counts: ScoreCounts, threshold: float, resampled: ScoreCounts) -> tuple[Outcomes, dict, dict]:
    at, drawn = counts.at(threshold), resampled.at(threshold)
    values = {name: getattr(at, name) for name in METRICS} | {"auroc": counts.auroc()}
    samples = {name: getattr(drawn, name) for name in METRICS} | {"auroc": resampled.auroc()}
    outcomes = Outcomes(threshold, int(at.rightly_answered), int(at.wrongly_answered), int(at.wrongly_refused),
                        int(at.rightly_refused))
    return (outcomes, {name: None if np.isnan(value) else float(value) for name, value in values.items()},
            {name: _interval(sample) if not np.isnan(values[name]) else None for name, sample in samples.items()})


def _resample(counts: ScoreCounts, seed: int) -> ScoreCounts:
    return counts.resample(RESAMPLES, np.random.default_rng(seed))


def _chosen_thresholds(resampled: ScoreCounts, objective: Objective) -> np.ndarray:
    chosen = []
    for number in range(RESAMPLES):
        curve = resampled.sample(number).curve()
        try:
            chosen.append(curve.threshold[objective.choose(curve)])
        except ObjectiveNotReached:  # in this sample; the share of such samples is told
            continue
    return np.array(chosen)


def _interval(sample: np.ndarray) -> Interval | None:
    known = sample[~np.isnan(sample)]
    if not len(known):
        return None
    outside = (1 - CONFIDENCE) / 2
    return Interval(*np.quantile(known, [outside, 1 - outside]).tolist())


def _unique_ids(ids: Collection[str] | None, count: int) -> frozenset[str] | None:
    if ids is None:
        return None
    given = [ids] if isinstance(ids, str) else as_list("ids", ids)
    try:
        known = frozenset(given)
    except TypeError as error:
        raise TypeError(f"ids must be strings or other things that can be compared ({error})") from error
    if len(given) != count or len(known) != count:
        raise ValueError(f"ids must be one for each of the {count} questions, all different; "
                         f"there are {len(given)}, {len(known)} of them different")
    return known


def _lines(metrics: Mapping[str, float | None], intervals: Mapping[str, Interval | None]) -> list[str]:
    lines = []
    for name, value in metrics.items():
        interval = intervals[name]
        known = "undefined" if value is None else f"{value:.3f}"
        lines.append(f"{name:<11} {known}" + (f"  [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""))
    return lines
