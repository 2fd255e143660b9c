"""Fit the weights of the evidence grader and print them, ready for ``ragkit/refusal/weights.py``.

    RAGKIT_DATA=FOLDER python3 benchmarks/fit_grading.py [EMBEDDER ...]      minilm, multilingual, lexical

Read are the handbook's English ``dev`` questions and half of the SQuAD 2.0 articles, nothing else. Answerable
questions whose gold recall did not bring are left out of the fit: their evidence is not enough, and a passage that
answers by accident may be in it. Weights are kept at 0 or above, for each signal is made to speak for the evidence:
what a negative weight would win is a habit of one data set. The bias is then moved so that at a grade of 0.5 90% of
the dev questions that have their gold in the evidence are answered, or fewer where 95% of the far ones would not be
refused otherwise.
"""

import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.grading import Case, handbook, squad  # noqa: E402
from ragkit.refusal.weights import Weights  # noqa: E402

ANSWERED = 0.90  # of the dev questions whose gold is in the evidence
REFUSED = 0.95  # of the dev questions that have nothing to do with the company
SHARE_OF_HANDBOOK = 4.0  # what the handbook's questions together weigh, where SQuAD's weigh 1
RIDGE = 1.0
PER_POPULATION = 250.0
MIN_SCORE = 0.25  # the default of Settings, at which evidence reaches the grader
COSINES = ("similarity", "page")


def fit(own: list[Case], public: list[Case], leave_out: tuple[str, ...] = ()) -> Weights:
    """Non-negative logistic regression with an L2 penalty on standardised signals, and one bias for each population."""
    own_all = [case for case in own if case.split == "dev"]
    own = [case for case in own_all if case.measures[MIN_SCORE] and case.found is not False]
    public = [case for case in public if case.split == "dev" and case.measures[None]]
    names = [name for name, _, _ in own[0].measures[MIN_SCORE] if name not in leave_out]
    table = np.array([_row(case, MIN_SCORE, names) for case in own] + [_row(case, None, names) for case in public])
    answerable = np.array([case.answerable for case in own + public])
    is_own = np.arange(len(table)) < len(own)
    usual = table[answerable & is_own].mean(axis=0)
    spread = table.std(axis=0)
    spread[spread == 0] = 1.0
    each = np.where(is_own, SHARE_OF_HANDBOOK * PER_POPULATION / len(own), PER_POPULATION / len(public))
    weights = _minimise((table - usual) / spread, answerable, each, is_own) / spread
    model = Weights(0.0, {name: (round(float(weight), 2), round(float(mean), 2))
                          for name, weight, mean in zip(names, weights, usual, strict=True)})
    return Weights(_bias(own_all, model), model.signals)


def _bias(cases: list[Case], model: Weights) -> float:
    """In hundredths: the least at which enough is answered, or lower, where too few far questions were refused."""
    found = [case.log_odds(model, MIN_SCORE) for case in cases if case.found]
    far = [case.log_odds(model, MIN_SCORE) for case in cases if case.group == "unanswerable_far"]
    answers_enough = -float(np.quantile(found, 1 - ANSWERED, method="lower"))
    if "page" not in model.signals:  # without cosines, far questions are the work of min_score
        return float(np.ceil(answers_enough * 100) / 100)
    refuses_enough = -float(np.quantile(far, REFUSED, method="higher"))
    return min(float(np.ceil(answers_enough * 100) / 100), float(np.ceil(refuses_enough * 100) / 100) - 0.01)


def _row(case: Case, min_score: float | None, names: list[str]) -> list[float]:
    values = {name: value for name, value, _ in case.measures[min_score]}
    return [values[name] for name in names]


def _minimise(table: np.ndarray, answerable: np.ndarray, each: np.ndarray, is_own: np.ndarray) -> np.ndarray:
    from scipy.optimize import minimize

    columns = np.column_stack([table, is_own, ~is_own])
    sign = np.where(answerable, 1.0, -1.0)
    count = table.shape[1]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (columns @ weights)
        gradient = -columns.T @ (each * sign / (1 + np.exp(margin)))
        gradient[:count] += RIDGE * weights[:count]
        return each @ np.logaddexp(0, -margin) + RIDGE / 2 * weights[:count] @ weights[:count], gradient

    found = minimize(loss, np.zeros(columns.shape[1]), jac=True, method="L-BFGS-B",
                     bounds=[(0, None)] * count + [(None, None)] * 2)
    return found.x[:count]


def main(names: list[str]) -> None:
    """Fit and print, for the embedders named; "lexical" is the model without cosines."""
    folder = os.environ.get("RAGKIT_DATA")
    if not folder:
        raise SystemExit("set RAGKIT_DATA to the folder that holds squad2_dev_half")
    names = names or ["minilm", "multilingual", "lexical"]
    for embedder in dict.fromkeys("minilm" if name == "lexical" else name for name in names):
        own, public = handbook(embedder, "en"), squad(embedder, Path(folder))
        if embedder in names:
            show(embedder, fit(own, public))
        if embedder == "minilm" and "lexical" in names:
            show("lexical", fit(own, public, COSINES))


def show(name: str, model: Weights) -> None:
    """The model as Python."""
    print(f"{name}: Weights({model.bias:.2f}, {{")
    for signal, (weight, usual) in model.signals.items():
        print(f'    "{signal}": ({weight}, {usual}),')
    print("})")


if __name__ == "__main__":
    main(sys.argv[1:])
