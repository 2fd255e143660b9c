"""The weights of the evidence grader, and where they come from (chapter 05)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Weights:
    """A logistic model: log-odds = bias + the sum over all signals of weight times (value - usual value).

    Attributes:
        bias: chosen so that 0.5 is the operating point found on the handbook's ``dev`` half.
        signals: name to (weight of at least 0, usual value: the mean over answerable questions).
    """

    bias: float
    signals: Mapping[str, tuple[float, float]]

    def of(self, name: str) -> tuple[float, float]:
        """The signal's weight and usual value; weight 0 when this model leaves it out."""
        return self.signals.get(name, (0.0, 0.0))

    def without(self, name: str) -> "Weights":
        """The model with one signal left out, for ablations."""
        return replace(self, signals={key: value for key, value in self.signals.items() if key != name})


# From benchmarks/fit_grading.py: the handbook's English dev questions (four parts of the weight) and half of the
# articles of SQuAD 2.0's development set (one part). Written down, not fitted at run time, so that a grade is the same
# everywhere. "numbers" was measured and found to help nowhere: "who approves 3,000 euros" is answered by "above 2,500".
_BY_EMBEDDER = {
    "all-MiniLM-L6-v2": Weights(1.33, {
        "similarity": (2.36, 0.56),
        "page": (5.88, 0.49),
        "coverage": (0.12, 0.71),
        "focus": (1.11, 0.95),
        "numbers": (0.0, 0.85),
        "identifiers": (7.53, 1.0),
        "names": (0.73, 0.92),
        "negation": (4.42, 1.0),
        "answer type": (1.99, 0.96),
    }),
    "use-multilingual-v3": Weights(1.13, {
        "similarity": (0.0, 0.4),
        "page": (4.57, 0.34),
        "coverage": (1.43, 0.76),
        "focus": (1.16, 0.95),
        "numbers": (0.0, 0.84),
        "identifiers": (8.3, 1.0),
        "names": (1.46, 0.92),
        "negation": (4.22, 1.0),
        "answer type": (1.78, 0.9),
    }),
}
# Without the cosines: their scale differs from model to model, the words do not.
_LEXICAL = Weights(0.88, {
    "coverage": (1.46, 0.71),
    "focus": (1.2, 0.95),
    "numbers": (0.0, 0.85),
    "identifiers": (7.61, 1.0),
    "names": (0.81, 0.92),
    "negation": (4.18, 1.0),
    "answer type": (1.82, 0.96),
})


def weights_for(embedder: str) -> Weights:
    """The weights that go with an embedder's name; those without cosines for any that is not known."""
    return _BY_EMBEDDER.get(embedder, _LEXICAL)
