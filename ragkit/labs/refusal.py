"""The lab of chapter 05: a threshold, two prices, and what both do to a set of questions."""

import html
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ragkit import plots
from ragkit.evaluation import Question, load_questions
from ragkit.hits import clamp
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.view import LabView, choice, float_slider, slider
from ragkit.refusal.objectives import MinCost
from ragkit.refusal.outcomes import Outcomes, count_scores
from ragkit.retrieval import recall

COSINE = "cosine"
VIEWS = ("distributions", "risk-coverage", "cost")
GROUPS = (("answerable", ""), ("near miss", "unanswerable_near"), ("far off", "unanswerable_far"))
MOST_COST = 10
BINS = np.arange(0, 1.0001, 0.025)
SHOWN = 6  # flipped questions in the text
_LOOKS = ((plots.BLUE, ""), (plots.ORANGE, "///"), (plots.GREEN, "..."))
_STYLE = ("<style>.refusal-lab td, .refusal-lab th {padding: 2px 10px; text-align: left; line-height: 1.4; "
          "border-bottom: 1px solid #88888855} .refusal-lab {border-collapse: collapse; font-size: 13px; "
          "margin-top: 8px} .refusal-lab .n {text-align: right}</style>")


class RefusalModel:
    """What a threshold does to labelled questions whose scores are known.

    Args:
        questions: answerable and unanswerable ones.
        scores: by name, one score in [0, 1] for each question; a question whose score is at least the
            threshold is answered.

    Attributes:
        score: name of the score that the threshold reads.
        threshold: in [0, 1], inclusive.
        wrong_answer, wrong_refusal: price of each mistake, whole numbers from 1 to 10.
        view: which picture is shown, one of ``VIEWS``.
    """

    def __init__(self, questions: Sequence[Question], scores: Mapping[str, Sequence[float]], threshold: float = 0.25):
        if not scores:
            raise ValueError("there are no scores; give one for each question, by name")
        self._questions = tuple(questions)
        self._scores = {name: np.asarray(values, dtype=float) for name, values in scores.items()}
        self._answerable = np.array([question.answerable for question in self._questions])
        self._counts = {name: count_scores(values, self._answerable) for name, values in self._scores.items()}
        self._curves = {name: counts.curve() for name, counts in self._counts.items()}
        kinds = np.array([question.kind for question in self._questions])
        self._members = {name: kinds == kind if kind else self._answerable for name, kind in GROUPS}
        self._score = next(iter(self._scores))
        self._threshold = self._before = _checked(threshold)
        self.wrong_answer = self.wrong_refusal = 1
        self.view = VIEWS[0]
        self._pictures: dict[tuple[str, str], _Picture] = {}  # each drawn when it is first looked at

    # --- the knobs ----------------------------------------------------------------------------------------

    @property
    def threshold(self) -> float:
        return self._threshold

    @threshold.setter
    def threshold(self, value: float) -> None:
        self._before, self._threshold = self._threshold, _checked(value)

    @property
    def score(self) -> str:
        return self._score

    @score.setter
    def score(self, name: str) -> None:
        if name not in self._scores:
            raise ValueError(f"there is no score {name!r}; there are {', '.join(self._scores)}")
        # The same number means something else for another score: nothing has flipped.
        self._score, self._before = name, self._threshold

    @property
    def score_names(self) -> tuple[str, ...]:
        """What ``score`` may be."""
        return tuple(self._scores)

    # --- the numbers --------------------------------------------------------------------------------------

    def outcomes(self) -> Outcomes:
        """The confusion matrix at the threshold."""
        return self._counts[self._score].at(self._threshold)

    def tally(self) -> dict[str, tuple[int, int]]:
        """For each group how many are answered and how many refused."""
        answered = self._scores[self._score] >= self._threshold
        return {name: (int((answered & members).sum()), int((~answered & members).sum()))
                for name, members in self._members.items()}

    def cheapest(self) -> tuple[float, float]:
        """The threshold of lowest cost at these prices (of equals the highest), and its mean cost."""
        curve, costs = self._curves[self._score], self._costs()
        position = MinCost(self.wrong_answer, self.wrong_refusal).choose(curve)
        return float(curve.threshold[position]), float(costs[position])

    def flipped(self) -> list[tuple[Question, float]]:
        """Questions that the last move of the threshold turned, with their scores, by score."""
        scores = self._scores[self._score]
        turned = np.flatnonzero((scores >= self._before) != (scores >= self._threshold))
        return [(self._questions[n], float(scores[n])) for n in turned[np.argsort(scores[turned], kind="stable")]]

    def _costs(self) -> np.ndarray:
        if min(self.wrong_answer, self.wrong_refusal) <= 0:
            raise ValueError(f"prices ({self.wrong_answer}, {self.wrong_refusal}) must be above 0")
        return self._curves[self._score].cost(self.wrong_answer, self.wrong_refusal)

    # --- what is seen -------------------------------------------------------------------------------------

    @property
    def picture(self) -> plots.LivePicture:
        """The chosen picture, as ``png`` last drew it."""
        return self._chosen().live

    def png(self) -> bytes:
        """The chosen picture as the knobs stand."""
        self._chosen().move(self)
        return self.picture.png()

    def _chosen(self) -> "_Picture":
        if self.view not in VIEWS:
            raise ValueError(f"there is no view {self.view!r}; there are {', '.join(VIEWS)}")
        key = self._score, self.view
        if key not in self._pictures:
            draw = dict(zip(VIEWS, (_Distributions, _RiskCoverage, _Cost), strict=True))[self.view]
            self._pictures[key] = draw(self, self._score)
        return self._pictures[key]

    def html(self) -> str:
        """Confusion matrix, numbers and the questions that just flipped."""
        rows = "".join(f"<tr><td>{name} ({answered + refused})</td><td class='n'>{_judged(answered, name, 'answered')}"
                       f"</td><td class='n'>{_judged(refused, name, 'refused')}</td></tr>"
                       for name, (answered, refused) in self.tally().items())
        return (f"{_STYLE}<table class='refusal-lab'><thead><tr><th>all {len(self._questions)} questions</th>"
                f"<th class='n'>answered</th><th class='n'>refused</th></tr></thead><tbody>{rows}</tbody></table>"
                f"<div style='line-height: 1.5; margin-top: 8px'>{self._numbers()}<br>{self._flips()}</div>")

    def _numbers(self) -> str:
        now, (best, lowest) = self.outcomes(), self.cheapest()
        dearer = max(self.wrong_answer, self.wrong_refusal)  # one unit for the text and the picture
        cost = now.cost(self.wrong_answer, self.wrong_refusal) / dearer
        where = f"at threshold {best:.3f}" if best <= self._scores[self._score].max() else "when everything is refused"
        return (f"coverage <b>{now.coverage:.1%}</b> (answered, of all); risk <b>{_percent(now.risk)}</b> "
                f"(unanswerable, of those answered); answerable answered <b>{now.recall:.1%}</b>; "
                f"unanswerable refused <b>{now.specificity:.1%}</b><br>mean cost of a question <b>{cost:.3f}</b> "
                f"(1 = the dearer mistake); lowest at these prices {lowest / dearer:.3f}, {where}")

    def _flips(self) -> str:
        turned = self.flipped()
        if not turned:
            return f"No question flipped between {self._before:.2f} and {self._threshold:.2f}."
        fate = "answered" if self._threshold < self._before else "refused"
        lines = [f"<b>{len(turned)} flipped between {self._before:.2f} and {self._threshold:.2f}, now {fate}:</b>"]
        for question, score in turned[:SHOWN]:
            mark = "&#10003; rightly" if question.answerable == (fate == "answered") else "&#10007; wrongly"
            lines.append(f"{score:.3f} {mark}: {html.escape(question.question)} <i>({question.kind})</i>")
        if len(turned) > SHOWN:
            lines.append(f"and {len(turned) - SHOWN} more")
        return "<br>".join(lines)


class _Picture(Protocol):
    """One way to look at a score."""

    live: plots.LivePicture

    def move(self, model: RefusalModel) -> None:
        """Bring the moving parts to where the model's knobs are."""


class _Distributions:
    """A histogram of the score for each group, one above the other, and the threshold through all."""

    def __init__(self, model: RefusalModel, score: str):
        figure, _ = plots.new_figure(8.6, 4.2, columns=0)
        axes = figure.subplots(len(GROUPS), 1, sharex=True, sharey=True)
        self._lines, self._labels = [], []
        for axis, (name, members), (colour, hatch) in zip(axes, model._members.items(), _LOOKS, strict=True):
            count = int(members.sum())
            axis.hist(model._scores[score][members], BINS, weights=np.full(count, 100 / max(1, count)), color=colour,
                      hatch=hatch, edgecolor="black", linewidth=0.5)
            axis.spines[["top", "right"]].set_visible(False)
            axis.set(xlim=(0, 1), ylabel=f"{name}\n(% of {count})")
            self._lines.append(axis.axvline(0, color=plots.RED, linestyle="--", linewidth=2))
            self._labels.append(axis.text(0.99, 0.78, "", transform=axis.transAxes, ha="right", fontsize=9))
        axes[-1].set_xlabel(f"{score} (dashed: threshold)")
        self.live = plots.LivePicture(figure, [*self._lines, *self._labels])

    def move(self, model: RefusalModel) -> None:
        for line, label, (answered, refused) in zip(self._lines, self._labels, model.tally().values(), strict=True):
            line.set_xdata([model.threshold, model.threshold])
            label.set_text(f"refused {refused} | answered {answered}")


class _RiskCoverage:
    """Risk against coverage over all thresholds, and the point of this one."""

    def __init__(self, model: RefusalModel, score: str):
        figure, [axis] = plots.new_figure(8.6, 4.2)
        curve = model._curves[score]
        axis.plot(100 * curve.coverage, 100 * curve.risk, color=plots.BLUE, label="this score, every threshold")
        alone = 100 * (~model._answerable).mean()
        axis.axhline(alone, color=plots.GREY, linestyle=":", linewidth=2, label="a score that knows nothing")
        [self._point] = axis.plot([], [], linestyle="", marker="D", markersize=10, color=plots.RED,
                                  label="this threshold")
        self._label = axis.text(0.02, 0.93, "", transform=axis.transAxes, fontsize=9)
        axis.set(xlim=(0, 101), ylim=(0, max(40, 1.15 * alone)), xlabel="coverage: answered, in % of all questions",
                 ylabel="risk: unanswerable, in % of those answered")
        axis.legend(loc="lower right", fontsize=9)
        self.live = plots.LivePicture(figure, [self._point, self._label])

    def move(self, model: RefusalModel) -> None:
        now = model.outcomes()
        nothing = np.isnan(now.risk)
        self._point.set_data(*([], []) if nothing else ([100 * now.coverage], [100 * now.risk]))
        self._label.set_text("nothing is answered: no risk to measure" if nothing else
                             f"coverage {now.coverage:.0%}, risk {now.risk:.0%}")


class _Cost:
    """Mean cost against the threshold; in units of the dearer mistake, so that the scale stays."""

    def __init__(self, model: RefusalModel, score: str):
        figure, [axis] = plots.new_figure(8.6, 4.2)
        share = max(model._answerable.mean(), 1 - model._answerable.mean())
        axis.set(xlim=(0, 1), ylim=(0, 1.2 * share), xlabel=f"threshold on: {score}",
                 ylabel="mean cost of a question\n(1 = the dearer mistake)")
        [self._curve] = axis.plot([], [], color=plots.BLUE, drawstyle="steps-pre", label="every threshold")
        [self._line] = axis.plot([], [], color=plots.RED, linestyle="--", linewidth=2, label="this threshold")
        [self._best] = axis.plot([], [], linestyle="", marker="v", markersize=10, color=plots.BLACK,
                                 label="lowest cost")
        self._label = axis.text(0.98, 0.93, "", transform=axis.transAxes, ha="right", fontsize=9)
        axis.legend(loc="upper left", fontsize=9)
        self.live = plots.LivePicture(figure, [self._curve, self._line, self._best, self._label])

    def move(self, model: RefusalModel) -> None:
        dearer = max(model.wrong_answer, model.wrong_refusal)
        curve, costs = model._curves[model.score], model._costs() / dearer
        # A threshold between two scores decides as the higher one does.
        self._curve.set_data([0.0, *curve.threshold, 1.0], [costs[0], *costs, costs[-1]])
        self._line.set_data([model.threshold, model.threshold], [0, 2])
        best, lowest = model.cheapest()
        self._best.set_data([min(best, 1.0)], [lowest / dearer])
        self._label.set_text(f"prices: wrong answer {model.wrong_answer}, wrong refusal {model.wrong_refusal}")


def best_cosines(base: KnowledgeBase, questions: Sequence[Question]) -> list[float]:
    """The score of each question's nearest candidate, clamped to [0, 1]; 0 for one that has no candidate.

    Each question is asked with its own filters and reader.
    """
    vectors = base.corpus.embedder.encode_queries([question.question for question in questions])
    settings = base.settings.replace(top_k=1)
    found = [recall(question.question, settings, corpus=base.corpus, filters=question.filters, reader=question.reader,
                    query_vector=vector).hits for question, vector in zip(questions, vectors, strict=True)]
    return [clamp(hits[0].score) if hits else 0.0 for hits in found]


def refusal_lab(base: KnowledgeBase, questions: Sequence[Question] | None = None,
                scores: Mapping[str, Sequence[float]] | None = None) -> LabView:
    """The lab: a threshold, two prices, three pictures to choose from.

    Args:
        questions: by default the English ones of the ``dev`` half.
        scores: other scores for the same questions, by name, beside the best cosine.
    """
    questions = load_questions(split="dev", language="en") if questions is None else questions
    model = RefusalModel(questions, {COSINE: best_cosines(base, questions), **(scores or {})})
    controls = {"threshold": float_slider("threshold", 0.0, 1.0, 0.01),
                "wrong_answer": slider("wrong answer", 1, MOST_COST),
                "wrong_refusal": slider("wrong refusal", 1, MOST_COST),
                "score": choice("score", list(model.score_names)), "view": choice("picture", list(VIEWS))}
    return LabView(model, controls)


def _checked(threshold: float) -> float:
    if not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
        raise ValueError(f"threshold ({threshold!r}) must lie in [0, 1]")
    return threshold


def _judged(count: int, group: str, fate: str) -> str:
    right = (group == "answerable") == (fate == "answered")
    return f"{count} {'&#10003; rightly' if right else '&#10007; wrongly'}" if count else "0"


def _percent(share: float) -> str:
    return "undefined" if np.isnan(share) else f"{share:.1%}"
