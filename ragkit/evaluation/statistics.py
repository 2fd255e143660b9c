"""Is a difference between two chains more than luck? Interval, test, and how many questions it takes (chapter 08).

Both chains answer the same questions, so each question is its own control: what is resampled is the difference of
each question, not the two scores apart.

Sources: Efron & Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13 (percentile intervals); Smucker,
Allan & Carterette (2007), "A Comparison of Statistical Significance Tests for Information Retrieval Evaluation"
(the randomisation test).
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist

import numpy as np

RESAMPLES = 10_000
CONFIDENCE = 0.95
EXACT_UP_TO = 13  # questions that differ: 2**13 ways to flip their signs are fewer than the resamples
_BLOCK = 2_000_000  # numbers drawn at a time: memory stays small however many questions there are
_TINY = 1e-12  # sums of the same numbers in another order are equal


@dataclass(frozen=True)
class Difference:
    """A metric under two chains, over the questions for which both have a value. The difference is b - a.

    Attributes:
        a, b: means over the same ``n`` questions.
        low, high: the bootstrap interval of the difference.
        p_value: of the randomisation test, two-sided, in (0, 1].
        won, lost: questions in which b is better, and worse, than a; the others are tied.
        confidence: of the interval.
        lower_is_better: of the metric.
    """

    metric: str
    a: float
    b: float
    n: int
    low: float
    high: float
    p_value: float
    won: int
    lost: int
    confidence: float = CONFIDENCE
    lower_is_better: bool = False

    @property
    def difference(self) -> float:
        """b - a."""
        return self.b - self.a

    @property
    def tied(self) -> int:
        """Questions in which neither is better."""
        return self.n - self.won - self.lost

    @property
    def verdict(self) -> str:
        """Of b: "better" or "worse" when interval and test agree that it is not luck, else "cannot tell".

        The interval must lie on one side of 0, and the p-value be at most 1 - confidence: of two or three questions
        the interval alone would be sure.
        """
        if self.low <= 0 <= self.high or self.p_value > 1 - self.confidence + _TINY:
            return "cannot tell"
        return "better" if (self.low > 0) != self.lower_is_better else "worse"

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return asdict(self) | {"difference": self.difference, "tied": self.tied, "verdict": self.verdict}

    def __str__(self) -> str:
        return (f"{self.metric}: {self.a:.3f} -> {self.b:.3f}, {self.difference:+.3f} "
                f"[{self.low:+.3f}, {self.high:+.3f}], p {p_text(self.p_value)}, n = {self.n}: {self.verdict}")


def p_text(p_value: float) -> str:
    """"= 0.034", or "< 0.001" when it is smaller than three digits can show."""
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"


def paired_difference(a: Sequence[float | None], b: Sequence[float | None], metric: str = "metric", *,
                      lower_is_better: bool = False, confidence: float = CONFIDENCE, resamples: int = RESAMPLES,
                      seed: int = 0) -> Difference | None:
    """Compare two chains by the values that a metric has for the same questions, in the same order.

    A question counts when both have a value for it. None when there is no such question.

    The interval speaks of one difference that was named beforehand. Of twenty that are looked at, one is "better"
    by luck alone: see which way the others point before you believe it.
    """
    check_sampling(confidence, resamples, seed)
    first, second = _paired(a, b)
    if not len(first):
        return None
    differences = second - first
    low, high = bootstrap_interval(differences, confidence=confidence, resamples=resamples, seed=seed)
    gains = -differences if lower_is_better else differences
    return Difference(metric, float(first.mean()), float(second.mean()), len(first), low, high,
                      randomisation_test(differences, resamples=resamples, seed=seed),
                      int((gains > _TINY).sum()), int((gains < -_TINY).sum()), confidence, lower_is_better)


def bootstrap_interval(values: Sequence[float], *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES,
                       seed: int = 0) -> tuple[float, float]:
    """Percentile interval of the mean: as many values are drawn with replacement, again and again.

    With few questions, or few that differ, it is too narrow; with one value it is a point.

    Args:
        values: one a question; of two chains the differences.
        seed: the same one gives the same interval.
    """
    values = _numbers(values)
    check_sampling(confidence, resamples, seed)
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK // len(values))
    means = np.concatenate([
        values[generator.integers(0, len(values), (min(block, resamples - start), len(values)))].mean(axis=1)
        for start in range(0, resamples, block)])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def randomisation_test(differences: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0) -> float:
    """How often a mean difference as far from 0 comes about when it is luck which chain got which score.

    Were the chains equal, the sign of each question's difference could as well be the other. Up to
    ``EXACT_UP_TO`` questions that differ, all ways to flip the signs are counted; above, ``resamples`` are drawn, and
    what was seen counts as one of them, so the p-value is never 0.

    Returns:
        the two-sided p-value in (0, 1]; 1.0 when no question differs.
    """
    differing = _numbers(differences)
    differing = differing[np.abs(differing) > _TINY]
    check_sampling(CONFIDENCE, resamples, seed)
    if not len(differing):
        return 1.0
    seen = abs(differing.sum()) - _TINY * len(differing)
    if len(differing) <= EXACT_UP_TO:
        bits = np.arange(2**len(differing))[:, None] >> np.arange(len(differing)) & 1
        return float((np.abs(_signed_sums(bits, differing)) >= seen).mean())
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK // len(differing))
    as_far = sum(int((np.abs(_signed_sums(generator.integers(
        0, 2, (min(block, resamples - start), len(differing)), dtype=np.int8), differing)) >= seen).sum())
        for start in range(0, resamples, block))
    return (as_far + 1) / (resamples + 1)


def questions_needed(differences: Sequence[float], effect: float, *, power: float = 0.8,
                     confidence: float = CONFIDENCE) -> int:
    """How many questions it takes to see a difference of ``effect``, from how much the difference scatters.

    By the normal approximation: ((z of the confidence + z of the power) x standard deviation / effect) squared.

    Args:
        differences: of each question of a first, smaller comparison; at least two.
        effect: the smallest difference of the means that matters, for example 0.05.
        power: how often it is to be found when it is there, in (0, 1).
    """
    values = _numbers(differences)
    if len(values) < 2:
        raise ValueError("one difference does not scatter; give those of at least two questions")
    for name, value in (("power", power), ("confidence", confidence)):
        if not 0 < value < 1:
            raise ValueError(f"{name} ({value!r}) must lie in (0, 1)")
    if not isinstance(effect, (int, float)) or not 0 < effect < math.inf:
        raise ValueError(f"effect ({effect!r}) must be a number above 0")
    z = NormalDist().inv_cdf((1 + confidence) / 2) + NormalDist().inv_cdf(power)
    return max(2, math.ceil((z * float(values.std(ddof=1)) / effect)**2))


def _paired(a: Sequence[float | None], b: Sequence[float | None]) -> tuple[np.ndarray, np.ndarray]:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values and {len(b)} are not of the same questions; give one of each a question")
    for name, values in (("a", a), ("b", b)):
        for position, value in enumerate(values):
            if value is not None and not math.isfinite(value):
                raise ValueError(f"value {position} of {name} ({value}) is no finite number")
    pairs = [(one, other) for one, other in zip(a, b, strict=True) if one is not None and other is not None]
    return tuple(np.array([pair[side] for pair in pairs], dtype=float) for side in (0, 1))


def _numbers(values: Sequence[float]) -> np.ndarray:
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"values of shape {numbers.shape} are no list of at least one number")
    for position in np.flatnonzero(~np.isfinite(numbers)):
        raise ValueError(f"value {position} ({numbers[position]}) is no finite number")
    return numbers


def _signed_sums(bits: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sum of the values, with minus before those whose bit is 0, for each row of bits."""
    return 2 * (bits @ values) - values.sum()


def check_sampling(confidence: float, resamples: int, seed: int) -> None:
    """What intervals and tests are drawn with is sound, or an error; to be asked before hours of work."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise ValueError(f"confidence ({confidence!r}) must lie in (0, 1)")
    for name, value, least in (("resamples", resamples, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} ({value!r}) must be a whole number of at least {least}")
