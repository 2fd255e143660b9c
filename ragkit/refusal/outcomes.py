"""Counts behind a threshold: who was answered, who was refused, and rightly or not (chapter 05)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

METRICS = ("coverage", "risk", "precision", "recall", "specificity", "f1")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The confusion matrix at one threshold, or at many: every field is a number or an array of one shape.

    "Positive" is an answerable question, and it is answered when its score is at least the threshold. Shares are
    in [0, 1], and NaN where they are undefined (the precision of no answers at all).

    Attributes:
        threshold: inclusive.
        rightly_answered: answerable questions that are answered (true positives). Whether the answer itself is
            right is another question.
        wrongly_answered: unanswerable questions that are answered (false positives).
        wrongly_refused: answerable questions that are refused (false negatives).
        rightly_refused: unanswerable questions that are refused (true negatives).
    """

    threshold: float | np.ndarray
    rightly_answered: int | np.ndarray
    wrongly_answered: int | np.ndarray
    wrongly_refused: int | np.ndarray
    rightly_refused: int | np.ndarray

    def __getitem__(self, position: int) -> "Outcomes":
        """One threshold of many, as plain numbers."""
        return Outcomes(float(self.threshold[position]), *(int(counts[position]) for counts in self._counts()))

    @property
    def coverage(self) -> float | np.ndarray:
        """Share of all questions that are answered."""
        return _share(self.rightly_answered + self.wrongly_answered, sum(self._counts()))

    @property
    def risk(self) -> float | np.ndarray:
        """Of the questions answered, the share that has no answer (El-Yaniv & Wiener 2010)."""
        return _share(self.wrongly_answered, self.rightly_answered + self.wrongly_answered)

    @property
    def precision(self) -> float | np.ndarray:
        """Of the questions answered, the share that is answerable: 1 - risk."""
        return _share(self.rightly_answered, self.rightly_answered + self.wrongly_answered)

    @property
    def recall(self) -> float | np.ndarray:
        """Of the answerable questions, the share that is answered."""
        return _share(self.rightly_answered, self.rightly_answered + self.wrongly_refused)

    @property
    def specificity(self) -> float | np.ndarray:
        """Of the unanswerable questions, the share that is refused."""
        return _share(self.rightly_refused, self.rightly_refused + self.wrongly_answered)

    @property
    def f1(self) -> float | np.ndarray:
        """Harmonic mean of precision and recall (van Rijsbergen 1979); 0 when nothing is answered."""
        return _share(2 * self.rightly_answered,
                      2 * self.rightly_answered + self.wrongly_answered + self.wrongly_refused)

    def cost(self, wrong_answer: float, wrong_refusal: float) -> float | np.ndarray:
        """Mean cost of a question, when each kind of mistake has a price and a right decision has none."""
        paid = wrong_answer * self.wrongly_answered + wrong_refusal * self.wrongly_refused
        return _share(paid, sum(self._counts()))

    def _counts(self) -> tuple:
        return self.rightly_answered, self.wrongly_answered, self.wrongly_refused, self.rightly_refused


@dataclass(frozen=True, eq=False)
class ScoreCounts:
    """How many answerable and unanswerable questions have each distinct score.

    Attributes:
        scores: distinct, ascending, shape (k,), in [0, 1].
        answerable, unanswerable: counts, shape (k,); or (resamples, k) for many samples of the same questions.
    """

    scores: np.ndarray
    answerable: np.ndarray
    unanswerable: np.ndarray

    @property
    def size(self) -> int:
        """How many questions were counted."""
        return int(self.answerable.sum() + self.unanswerable.sum())

    def curve(self) -> Outcomes:
        """Outcomes at every distinct threshold, ascending, shape (k + 1,).

        Each score is a threshold; the last, just above the highest score, refuses everything.
        """
        thresholds = np.append(self.scores, np.nextafter(self.scores[-1], np.inf))
        return self._outcomes(thresholds, _at_least(self.answerable), _at_least(self.unanswerable))

    def at(self, threshold: float) -> Outcomes:
        """Outcomes at one threshold, for each sample."""
        answered = self.scores >= threshold
        return self._outcomes(threshold, self.answerable @ answered, self.unanswerable @ answered)

    def auroc(self) -> float | np.ndarray:
        """Probability that an answerable question scores higher than an unanswerable one; a tie counts half.

        The area under the ROC curve in the form of Mann & Whitney (1947). NaN when one side has no questions.
        """
        below = np.cumsum(self.unanswerable, axis=-1) - self.unanswerable
        wins = (self.answerable * (below + self.unanswerable / 2)).sum(axis=-1)
        return _share(wins, self.answerable.sum(axis=-1) * self.unanswerable.sum(axis=-1))

    def resample(self, resamples: int, generator: np.random.Generator) -> "ScoreCounts":
        """Draw samples of as many questions with replacement, each side from its own (a stratified bootstrap)."""
        return ScoreCounts(self.scores, *(_draw(counts, resamples, generator)
                                          for counts in (self.answerable, self.unanswerable)))

    def sample(self, number: int) -> "ScoreCounts":
        """One sample of many, without the scores that do not occur in it."""
        answerable, unanswerable = self.answerable[number], self.unanswerable[number]
        drawn = answerable + unanswerable > 0
        return ScoreCounts(self.scores[drawn], answerable[drawn], unanswerable[drawn])

    def same_as(self, other: "ScoreCounts") -> bool:
        """Whether both count the very same scores and labels, in whatever order."""
        return all(np.array_equal(mine, theirs) for mine, theirs in
                   ((self.scores, other.scores), (self.answerable, other.answerable),
                    (self.unanswerable, other.unanswerable)))

    def _outcomes(self, threshold, rightly_answered, wrongly_answered) -> Outcomes:
        answerable, unanswerable = self.answerable.sum(axis=-1), self.unanswerable.sum(axis=-1)
        return Outcomes(threshold, rightly_answered, wrongly_answered, answerable - rightly_answered,
                        unanswerable - wrongly_answered)


def count_scores(scores: Sequence[float], answerable: Sequence[bool]) -> ScoreCounts:
    """Count the distinct scores of both sides.

    Raises:
        TypeError: scores or labels that are no lists.
        ValueError: nothing given, lengths that differ, a score that is no number, NaN or outside [0, 1], a label
            that is not true or false (0 or 1).
    """
    given, labels = as_list("scores", scores), as_list("answerable", answerable)
    if len(given) != len(labels):
        raise ValueError(f"there are {len(given)} scores and {len(labels)} labels; "
                         "give one score and one label for each question")
    if not given:
        raise ValueError("there are no scores; give one for each question")
    for position, score in enumerate(given):
        if not isinstance(score, Real):
            raise ValueError(f"scores[{position}] ({score!r}) is not a number; give one score for each question")
        if not 0 <= score <= 1:
            advice = ("look at what made it" if score != score else
                      "a cosine is clamped where it meets a threshold (ragkit.hits.clamp)")
            raise ValueError(f"scores[{position}] ({score:g}) is not in [0, 1]; {advice}")
    for position, label in enumerate(labels):
        if not isinstance(label, (Real, np.bool_)) or label not in (True, False):
            raise ValueError(f"answerable[{position}] ({label!r}) must be true or false")
    distinct, where = np.unique(np.array(given, dtype=float), return_inverse=True)
    is_answerable = np.array(labels, dtype=bool)
    return ScoreCounts(distinct, *(np.bincount(where[side], minlength=len(distinct))
                                   for side in (is_answerable, ~is_answerable)))


def as_list(name: str, values: Iterable) -> list:
    """The values of a list, an array, a generator ... as plain Python objects."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} ({values!r:.40}) must be a list with one entry for each question")
    return list(values.tolist() if isinstance(values, np.ndarray) and values.ndim else values)


def _at_least(counts: np.ndarray) -> np.ndarray:
    """For each score how many lie there or higher, and 0 at the end."""
    return np.append(np.cumsum(counts[::-1])[::-1], 0)


def _draw(counts: np.ndarray, resamples: int, generator: np.random.Generator) -> np.ndarray:
    total = counts.sum()
    if not total:
        return np.zeros((resamples, len(counts)), dtype=int)
    return generator.multinomial(total, counts / total, size=resamples)


def _share(part, whole) -> float | np.ndarray:
    """``part / whole``, NaN where there is no whole."""
    quotient = np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) > 0)
    return quotient if np.ndim(quotient) else float(quotient)
