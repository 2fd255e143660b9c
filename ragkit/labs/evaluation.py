"""The lab of chapter 08: two chains on the same questions, what differs, and whether so many questions can tell."""

import html

import numpy as np

from ragkit import plots
from ragkit.evaluation import Comparison, Difference, Question, paired_difference
from ragkit.evaluation.compare import ANSWERED, REFUSED, values_of
from ragkit.evaluation.outcome import CHARACTERS_READ, LOWER_IS_BETTER
from ragkit.evaluation.statistics import p_text
from ragkit.labs.view import LabView, choice, slider

DRAWN = ("recall", "ndcg", "evidence_recall", ANSWERED, REFUSED)
METRICS = (*DRAWN, CHARACTERS_READ)
FEWEST = 20
RESAMPLES = 1000  # a tenth of what ``compare`` draws: the lab must be quick
SHOWN = 5  # questions won, and as many lost, in the text
_LOOKS = {"better": ("o", plots.BLUE), "worse": ("s", plots.RED), "cannot tell": ("D", plots.GREY)}
_MARKS = {"better": "&#10003; better", "worse": "&#10007; worse", "cannot tell": "? cannot tell"}
_STYLE = ("<style>.evaluation-lab td, .evaluation-lab th {padding: 2px 9px; text-align: right; line-height: 1.4; "
          "border-bottom: 1px solid #88888855} .evaluation-lab {border-collapse: collapse; font-size: 13px; "
          "margin-top: 8px} .evaluation-lab .t {text-align: left}</style>")


class EvaluationModel:
    """Any two of the chains that were compared, on all the questions or on some of them.

    Args:
        comparison: at least two chains on the same questions.
        seed: of the order in which questions are taken, and of the intervals.

    Attributes:
        a, b: names of the two chains; differences are b - a.
        questions: how many are asked, from ``FEWEST`` to all. More questions keep those that were there.
        flips: the metric by which questions are said to be won and lost, one of ``METRICS``.
    """

    def __init__(self, comparison: Comparison, seed: int = 0):
        if len(comparison) < 2:
            raise ValueError("the lab needs at least two settings to compare")
        asked = [outcome.question for outcome in comparison[comparison.names[0]]]
        order = np.random.default_rng(seed).permutation(len(asked))
        self.names = comparison.names
        self._seed = seed
        self._asked: list[Question] = [asked[place] for place in order]
        self._values: dict[tuple[str, str], list[float | None]] = {}
        for name in self.names:
            for metric in METRICS:
                values = values_of(comparison[name], metric)
                self._values[name, metric] = [values[place] for place in order]
        self._a, self._b = self.names[:2]
        self._questions, self._flips = len(asked), "evidence_recall"
        self._made: dict[tuple, list[Difference | None]] = {}
        self._picture = _Differences()

    # --- the knobs ----------------------------------------------------------------------------------------

    @property
    def a(self) -> str:
        return self._a

    @a.setter
    def a(self, name: str) -> None:
        self._a = self._known(name)

    @property
    def b(self) -> str:
        return self._b

    @b.setter
    def b(self, name: str) -> None:
        self._b = self._known(name)

    @property
    def questions(self) -> int:
        return self._questions

    @questions.setter
    def questions(self, value: int) -> None:
        if not isinstance(value, int) or not self.fewest <= value <= self.most:
            raise ValueError(f"questions ({value!r}) must lie between {self.fewest} and {self.most}, a whole number")
        self._questions = value

    @property
    def flips(self) -> str:
        return self._flips

    @flips.setter
    def flips(self, metric: str) -> None:
        if metric not in METRICS:
            raise ValueError(f"there is no metric {metric!r}; there are {', '.join(METRICS)}")
        self._flips = metric

    @property
    def most(self) -> int:
        """How many questions there are."""
        return len(self._asked)

    @property
    def fewest(self) -> int:
        """The least that may be asked."""
        return min(FEWEST, self.most)

    def _known(self, name: str) -> str:
        if name not in self.names:
            raise ValueError(f"there are no settings {name!r}; there are {', '.join(self.names)}")
        return name

    # --- the numbers --------------------------------------------------------------------------------------

    def differences(self) -> dict[str, Difference | None]:
        """By metric; None where none of the questions has a value under both."""
        key = self._a, self._b, self._questions
        if key not in self._made:
            self._made[key] = [paired_difference(
                self._values[self._a, metric][:self._questions], self._values[self._b, metric][:self._questions],
                metric, lower_is_better=metric in LOWER_IS_BETTER, resamples=RESAMPLES, seed=self._seed)
                for metric in METRICS]
        return dict(zip(METRICS, self._made[key], strict=True))

    def flipped(self) -> tuple[list[Question], list[Question]]:
        """The questions that b does better, and worse, than a by the metric ``flips``."""
        won, lost = [], []
        for question, a, b in zip(self._asked[:self._questions], self._values[self._a, self._flips],
                                  self._values[self._b, self._flips], strict=False):
            if a is None or b is None or a == b:
                continue
            better = (b > a) != (self._flips in LOWER_IS_BETTER)
            (won if better else lost).append(question)
        return won, lost

    # --- what is seen -------------------------------------------------------------------------------------

    @property
    def picture(self) -> plots.LivePicture:
        """The differences and their intervals, as ``png`` last drew them."""
        return self._picture.live

    def png(self) -> bytes:
        """The picture as the knobs stand."""
        self._picture.move(self.differences(), self._a, self._b)
        return self.picture.png()

    def html(self) -> str:
        """Both scorecards, differences with intervals, and the questions that flipped."""
        rows = "".join(_row(metric, found) for metric, found in self.differences().items())
        head = "".join(f"<th>{text}</th>" for text in ("A", "B", "B - A", "95% interval", "p", "n", "won", "lost"))
        return (f"{_STYLE}<table class='evaluation-lab'><thead><tr><th class='t'>{self._questions} of {self.most} "
                f"questions</th>{head}<th class='t'>verdict on B</th></tr></thead><tbody>{rows}</tbody></table>"
                f"<div style='line-height: 1.5; margin-top: 8px'>{self._flips_text()}</div>")

    def _flips_text(self) -> str:
        lines = []
        for word, questions in zip(("won", "lost"), self.flipped(), strict=True):
            lines.append(f"<b>{len(questions)} {word} by B</b> ({self._flips})")
            lines += [f"&nbsp;&nbsp;{html.escape(f'{question.id}: {question.question}')} <i>({question.kind})</i>"
                      for question in questions[:SHOWN]]
            if len(questions) > SHOWN:
                lines.append(f"&nbsp;&nbsp;and {len(questions) - SHOWN} more")
        return "<br>".join(lines)


class _Differences:
    """One line a metric: the difference and its interval, told apart by colour, mark and word."""

    def __init__(self):
        figure, [axes] = plots.new_figure(8.6, 3.4)
        places = range(len(DRAWN))
        axes.axvline(0, color=plots.BLACK, linewidth=1)
        axes.set(xlim=(-1, 1.8), ylim=(len(DRAWN) - 0.4, -0.6), xticks=[-1, -0.5, 0, 0.5, 1],
                 xlabel="difference B - A, with its 95% interval")
        axes.set_yticks(places, [metric.replace("_", " ") for metric in DRAWN])
        axes.grid(axis="x", color="#DDDDDD", linewidth=0.8)
        axes.grid(visible=False, axis="y")
        self._lines = [axes.plot([], [], linewidth=2.5)[0] for _ in places]
        self._points = [axes.plot([], [], linestyle="", markersize=8)[0] for _ in places]
        self._labels = [axes.text(1.08, place, "", va="center", fontsize=9) for place in places]
        axes.set_title(" ", fontsize=10, loc="left")  # keeps the place of the names
        self._names = axes.text(0, 1.03, "", transform=axes.transAxes, fontsize=10, parse_math=False)
        self.live = plots.LivePicture(figure, [*self._lines, *self._points, *self._labels, self._names])

    def move(self, differences: dict[str, Difference | None], a: str, b: str) -> None:
        self._names.set_text(f"A: {a}    B: {b}")
        for place, metric in enumerate(DRAWN):
            found = differences[metric]
            line, point, label = self._lines[place], self._points[place], self._labels[place]
            if found is None:
                line.set_data([], []), point.set_data([], [])
                label.set_text("no such question")
                continue
            mark, colour = _LOOKS[found.verdict]
            line.set_data([found.low, found.high], [place, place])
            line.set_color(colour)
            point.set_data([found.difference], [place])
            point.set_marker(mark)
            point.set_color(colour)
            label.set_text(f"{found.verdict} (n = {found.n})")


def evaluation_lab(comparison: Comparison) -> LabView:
    """The lab: two chains, a number of questions, and the metric by which questions flip."""
    model = EvaluationModel(comparison)
    controls = {"a": choice("A", list(model.names)), "b": choice("B", list(model.names)),
                "questions": slider("questions", model.fewest, model.most),
                "flips": choice("flipped by", list(METRICS))}
    return LabView(model, controls)


def _row(metric: str, found: Difference | None) -> str:
    name = f"<td class='t'>{metric.replace('_', ' ')}</td>"
    if found is None:
        return f"<tr>{name}" + "<td>&ndash;</td>" * 5 + "<td>0</td>" * 3 + "<td class='t'>&ndash;</td></tr>"
    digits = 0 if metric == CHARACTERS_READ else 3
    p_value = html.escape(p_text(found.p_value).removeprefix("= "))
    cells = (f"{found.a:,.{digits}f}", f"{found.b:,.{digits}f}", f"{found.difference:+,.{digits}f}",
             f"[{found.low:+,.{digits}f}, {found.high:+,.{digits}f}]", p_value, found.n, found.won, found.lost)
    return (f"<tr>{name}" + "".join(f"<td>{cell}</td>" for cell in cells)
            + f"<td class='t'>{_MARKS[found.verdict]}</td></tr>")
