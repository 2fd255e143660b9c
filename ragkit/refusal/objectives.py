"""What a threshold is chosen for (chapter 05)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

import numpy as np

from ragkit.hits import below
from ragkit.refusal.outcomes import Outcomes


class ObjectiveNotReached(ValueError):
    """No threshold does what the objective asks; the message says what the best is."""


class Objective(Protocol):
    """Chooses one threshold of a curve."""

    def choose(self, curve: Outcomes) -> int:
        """Position of the threshold in the curve, or ``ObjectiveNotReached``."""
        ...


@dataclass(frozen=True)
class MaxF1:
    """The highest F1 of answering. Of equals the highest threshold: it answers fewest that have no answer."""

    def choose(self, curve: Outcomes) -> int:
        return _last_best(curve.f1)


@dataclass(frozen=True)
class MinPrecision:
    """As many answers as possible, while at least this share of what is answered is answerable; in (0, 1]."""

    floor: float

    def __post_init__(self) -> None:
        _check_floor("precision", self.floor)

    def choose(self, curve: Outcomes) -> int:
        precision = np.nan_to_num(curve.precision, nan=-1.0)
        reached = np.flatnonzero(precision >= self.floor)
        if not len(reached):
            best = curve[int(np.argmax(precision))]  # of equals the one that answers most
            raise ObjectiveNotReached(
                f"no threshold reaches precision {self.floor:g}; the best is {below(best.precision, self.floor)} "
                f"at threshold {best.threshold:.3f}, where {best.coverage:.1%} of the questions are answered")
        return int(reached[0])


@dataclass(frozen=True)
class MinCoverage:
    """The lowest risk, while at least this share of all questions is answered; in (0, 1].

    Of equal risks the larger coverage (El-Yaniv & Wiener 2010).
    """

    floor: float

    def __post_init__(self) -> None:
        _check_floor("coverage", self.floor)

    def choose(self, curve: Outcomes) -> int:
        risk = np.where(curve.coverage >= self.floor, curve.risk, np.inf)
        return int(np.argmin(risk))


@dataclass(frozen=True)
class MinRecall:
    """As few wrong answers as possible, while at least this share of the answerable is answered; in (0, 1].

    Of equals the one that answers most.
    """

    floor: float

    def __post_init__(self) -> None:
        _check_floor("recall", self.floor)

    def choose(self, curve: Outcomes) -> int:
        wrong = np.where(curve.recall >= self.floor, curve.wrongly_answered, np.inf)
        return int(np.argmin(wrong))


@dataclass(frozen=True)
class MinCost:
    """The lowest mean cost, when a wrong answer and a wrong refusal have each their price (Chow 1970).

    Only the ratio of the two prices matters for the choice. Of equals the highest threshold.
    """

    wrong_answer: float = 1.0
    wrong_refusal: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("wrong_answer", self.wrong_answer), ("wrong_refusal", self.wrong_refusal)):
            if not _is_number(value, lambda price: 0 < price < math.inf):
                raise ValueError(f"{name} ({value!r}) must be a number above 0")

    def choose(self, curve: Outcomes) -> int:
        # In units of the dearer mistake, so that only the ratio counts; rounded, so that equal costs are equal
        # whatever order their parts were added in.
        dearer = max(self.wrong_answer, self.wrong_refusal)
        return _last_best(-np.round(curve.cost(self.wrong_answer / dearer, self.wrong_refusal / dearer), 12))


def _last_best(values: np.ndarray) -> int:
    return int(len(values) - 1 - np.argmax(values[::-1]))


def _check_floor(name: str, floor: float) -> None:
    if not _is_number(floor, lambda share: 0 < share <= 1):
        raise ValueError(f"the floor of {name} ({floor!r}) must lie in (0, 1]")


def _is_number(value: object, lies_within: Callable[[float], bool]) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and lies_within(value)
