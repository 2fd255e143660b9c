"""The lab of chapter 07: edit an answer and see what the checks say to each of its sentences."""

import html
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.collections import PolyCollection

from ragkit import plots
from ragkit.citations import (
    SentenceVerdict,
    SignalJudge,
    Support,
    SupportJudge,
    Verification,
    attribute,
    verify_citations,
)
from ragkit.citations.verify import CONTRADICTED, SIGNS, SUPPORTED, UNSUPPORTED
from ragkit.context import Context
from ragkit.labs.view import LabView, choice, switch, text_area
from ragkit.recorded import RecordedAnswer, load_recorded

MOST = 12  # sentences in the picture; the table shows all
LOOKS = {SUPPORTED: (plots.GREEN, "//"), UNSUPPORTED: (plots.ORANGE, ".."), CONTRADICTED: (plots.RED, "xx")}
BLANK = "blank"
_STYLE = ("<style>.citations-lab td, .citations-lab th {padding: 2px 8px; text-align: left; vertical-align: top; "
          "line-height: 1.35; border-bottom: 1px solid #88888855} .citations-lab {border-collapse: collapse; "
          "font-size: 13px; margin-top: 8px} .citations-lab .n {text-align: right} .citations-lab .w "
          "{white-space: nowrap} .citations-lab .t {white-space: pre-wrap}</style>")


class RememberingJudge:
    """Asks ``judge`` about a claim and a source only once: an edit changes one sentence, the others are known."""

    def __init__(self, judge: SupportJudge):
        self.name = judge.name
        self.threshold: float | None = getattr(judge, "threshold", None)  # a judge without scores has none
        self.asked = 0
        self._judge = judge
        self._known: dict[tuple[str, str], Support] = {}

    def judge(self, claims: Sequence[str], source: str) -> list[Support]:
        new = [claim for claim in dict.fromkeys(claims) if (claim, source) not in self._known]
        self.asked += len(new)
        for claim, support in zip(new, self._judge.judge(new, source) if new else (), strict=True):
            self._known[claim, source] = support
        return [self._known[claim, source] for claim in claims]


class CitationsModel:
    """An answer that can be edited, and its verification.

    Attributes:
        recorded: id of a recorded answer, or ``BLANK`` for an empty one with the sources of the first; setting it
            loads the answer's text.
        answer: the text that is checked.
        attributed: whether missing citations are added before the check.
        picture: the support score of each sentence.
    """

    def __init__(self, answers: Sequence[RecordedAnswer], judge: SupportJudge | None = None):
        if not answers:
            raise ValueError("the lab needs at least one recorded answer")
        self._answers = {one.id: one for one in answers}
        self._contexts: dict[str, Context] = {}
        self._first = answers[0].id
        self.judge = RememberingJudge(judge or SignalJudge())
        self.attributed = False
        self.recorded = self._first
        self._last: tuple[tuple, Verification] | None = None
        self._draw()

    @property
    def ids(self) -> tuple[str, ...]:
        return (*self._answers, BLANK)

    @property
    def recorded(self) -> str:
        return self._recorded

    @recorded.setter
    def recorded(self, id_: str) -> None:
        if id_ != BLANK and id_ not in self._answers:
            raise ValueError(f"there is no answer {id_!r} in this lab; it has {', '.join(self.ids)}")
        self._recorded = id_
        self.answer = self.text_of(id_)

    def text_of(self, id_: str) -> str:
        """The text of a recorded answer, as the model gave it; "" for ``BLANK``."""
        return "" if id_ == BLANK else self._answers[id_].answer

    @property
    def question(self) -> str:
        return self._answers[self._source_id].question

    @property
    def context(self) -> Context:
        """The numbered sources that the answer was made from."""
        id_ = self._source_id
        if id_ not in self._contexts:
            self._contexts[id_] = self._answers[id_].context
        return self._contexts[id_]

    @property
    def _source_id(self) -> str:
        return self._first if self._recorded == BLANK else self._recorded

    def verification(self) -> Verification:
        """The answer as it stands, checked."""
        state = (self._source_id, self.answer, self.attributed)
        if self._last is None or self._last[0] != state:
            text = self.answer
            if self.attributed:
                text = attribute(text, self.context, judge=self.judge).text
            self._last = state, verify_citations(text, self.context, judge=self.judge)
        return self._last[1]

    def best(self, sentence: SentenceVerdict) -> tuple[int, float] | None:
        """The source of the context that supports the sentence best, with its score; None for no claim."""
        if not sentence.is_claim or not len(self.context):
            return None
        scores = {source.number: self.judge.judge([sentence.claim], source.shown_text)[0].score
                  for source in self.context}
        number = max(scores, key=lambda each: (scores[each], -each))
        return number, scores[number]

    # --- what is seen -------------------------------------------------------------------------------------

    def html(self) -> str:
        """The measures, the sentences with their verdicts, and the sources."""
        checked = self.verification()
        shares = ", ".join(f"{name.replace('_', ' ')} <b>{'undefined' if value is None else f'{value:.2f}'}</b>"
                           for name, value in checked.measures().items())
        rows = "".join(self._row(number, sentence) for number, sentence in enumerate(checked.sentences, 1))
        heads = "".join(f"<th>{head}</th>" for head in ("", "sentence", "verdict", "score", "best source", "why"))
        sentences = f"<table class='citations-lab'><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        sources = "".join(f"<tr><td class='w'><b>[{source.number}]</b> {_text(source.document_id)} "
                          f"v{_text(source.version)}</td><td class='t'>{_text(source.shown_text)}</td></tr>"
                          for source in self.context)
        return (f"{_STYLE}<div style='line-height: 1.5'><b>{_text(self.question)}</b><br>{shares}</div>{sentences}"
                f"<table class='citations-lab'><thead><tr><th colspan='2'>The sources</th></tr></thead>"
                f"<tbody>{sources}</tbody></table>")

    def _row(self, number: int, sentence: SentenceVerdict) -> str:
        best = self.best(sentence)
        cells = (("n", str(number)), ("t", _text(sentence.text)),
                 ("w", f"<b>{SIGNS[sentence.label]} {sentence.label.replace('_', ' ')}</b>"),
                 ("n", "" if sentence.score is None else f"{sentence.score:.2f}"),
                 ("w", "" if best is None else f"[{best[0]}] {best[1]:.2f}"),
                 ("", _text("; ".join(sentence.reasons))))
        return "<tr>" + "".join(f"<td class='{style}'>{text}</td>" for style, text in cells) + "</tr>"

    def png(self) -> bytes:
        """The picture of the answer as it stands."""
        boxes: dict[str, list[np.ndarray]] = {label: [] for label in LOOKS}
        marks = []
        shown = self.verification().sentences[:MOST]
        for number, sentence in enumerate(shown, 1):
            best = self.best(sentence)
            if best is not None:
                boxes[sentence.label].append(_bar(number, sentence.score or 0.0))  # none: it cites what does not exist
                marks.append((number, best[1]))
        for label, bars in boxes.items():
            self._bars[label].set_verts(bars)
        self._marks.set_data(*(zip(*marks, strict=True) if marks else ((), ())))
        for position, (sign, count) in enumerate(zip(self._signs, self._counts, strict=True)):
            sign.set_text(SIGNS[shown[position].label] if position < len(shown) else "")
            count.set_text(str(position + 1) if position < len(shown) else "")
        return self.picture.png()

    def _draw(self) -> None:
        figure, [axes] = plots.new_figure(7.6, 3.0)
        axes.set(xlim=(0.4, MOST + 0.6), ylim=(0, 1.12), xticks=[], yticks=np.linspace(0, 1, 6),
                 xlabel=f"sentence of the answer (the first {MOST})", ylabel="support score, 0 to 1",
                 title="How far the sources support each sentence")
        self._bars = {label: axes.add_collection(PolyCollection(
            [], facecolor=colour, hatch=hatch, edgecolor=plots.BLACK, linewidth=0.8,
            label=f"{SIGNS[label]} {label}"), autolim=False) for label, (colour, hatch) in LOOKS.items()}
        [self._marks] = axes.plot([], [], linestyle="", marker="D", color=plots.BLACK, markersize=6,
                                  label="best source, cited or not")
        self._signs = [axes.text(number, 1.02, "", ha="center", fontsize=11) for number in range(1, MOST + 1)]
        self._counts = [axes.text(number, -0.03, "", ha="center", va="top", fontsize=10) for number in range(1, MOST + 1)]
        if self.judge.threshold is not None:
            axes.axhline(self.judge.threshold, color=plots.BLACK, linestyle="--", linewidth=1, label="threshold")
        axes.xaxis.labelpad = 16
        axes.legend(ncols=5, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.22), columnspacing=1)
        self.picture = plots.LivePicture(figure, [*self._bars.values(), self._marks, *self._signs, *self._counts])


def citations_lab(answers: Sequence[RecordedAnswer] | None = None, judge: SupportJudge | None = None,
                  chosen: Mapping[str, str] | None = None) -> LabView:
    """The lab: choose a recorded answer or none, edit the text, watch the verdicts (chapter 07).

    Args:
        answers: None takes those of ``data/recorded_answers.jsonl``.
        judge: None is ``SignalJudge``.
        chosen: what the list offers, name to id; None offers all.
    """
    answers = load_recorded() if answers is None else list(answers)
    model = CitationsModel(answers, judge)
    offered = dict(chosen) if chosen else {f"{one.question} ({one.id})": one.id for one in answers}
    for id_ in reversed(list(offered.values())):  # judged now, so that choosing one shows it at once
        model.recorded = id_
        model.html()
    controls = {"recorded": choice("recorded answer", {**offered, "none: write one yourself": BLANK}),
                "answer": text_area("answer"), "attributed": switch("add missing citations")}
    controls["recorded"].layout.width = "60em"

    def load(change: dict) -> None:  # before the view reads the controls: another answer is another text
        controls["answer"].value = model.text_of(change["new"])

    controls["recorded"].observe(load, names="value")
    return LabView(model, controls)


def _bar(number: int, score: float) -> np.ndarray:
    """The four corners, shape (4, 2)."""
    return np.array([(number - 0.32, 0), (number - 0.32, score), (number + 0.32, score), (number + 0.32, 0)])


def _text(text: str) -> str:
    return html.escape(text)
