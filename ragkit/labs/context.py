"""The lab of chapter 06: a budget, an order, and what becomes of each piece of evidence."""

import html
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, product
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from ragkit import plots
from ragkit.context import Context, assemble_context, count_tokens
from ragkit.context.fence import enclose
from ragkit.context.model import CUT
from ragkit.context.order import ORDERS
from ragkit.evaluation import Question, load_questions
from ragkit.hits import Hit
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.view import LabView, choice, slider

PIECES = 8
BUDGETS = (25, 1500, 25)  # lowest, highest, step
CHOSEN = ("en-c-079", "en-b-071", "en-b-075", "en-a-021", "en-b-049", "en-a-043")
LOOKS = {"in whole": (plots.SKY, ""), "cut": (plots.ORANGE, "//"), "joined to another": (plots.GREEN, "\\\\"),
         "left out": ("#FFFFFF", "..")}
_STYLE = ("<style>.context-lab td, .context-lab th {padding: 2px 8px; text-align: left; vertical-align: top; "
          "line-height: 1.35; border-bottom: 1px solid #88888855} .context-lab {border-collapse: collapse; "
          "font-size: 13px; margin-top: 8px} .context-lab .n {text-align: right} .context-lab .w {white-space: nowrap} "
          ".context-lab .t {white-space: pre-wrap}</style>")


class Fate(NamedTuple):
    """What became of one piece of evidence: one of ``LOOKS``, the reason in the trace's words, its source."""

    look: str
    reason: str
    number: int | None


class ContextModel:
    """The context of one question, as budget and order stand.

    The contexts of all budgets on the slider are made beforehand, so that a move only has to show one.

    Attributes:
        question: id of the question; one of ``ids``.
        budget: in tokens.
        order: a name in ``ragkit.context.order.ORDERS``.
        picture: tokens of each piece in whole and, below, of each source that is in, with the budget's line.
    """

    def __init__(self, base: KnowledgeBase, questions: Sequence[Question]):
        self._documents = base.corpus.documents
        self._count = lru_cache(maxsize=None)(count_tokens)
        self._asked = {question.id: question for question in questions}
        self._evidence = {question.id: base.retrieve(question.question, question.filters, reader=question.reader,
                                                     top_k=2 * PIECES, evidence_top_k=PIECES, min_score=None).evidence
                          for question in questions}
        self._contexts: dict[tuple[str, int, str], Context] = {}
        self.ids = tuple(self._asked)
        self._costs = {id_: [self._cost(hit) for hit in hits] for id_, hits in self._evidence.items()}
        low, high, step = BUDGETS
        for self.question, self.order, self.budget in product(self.ids, ORDERS, range(low, high + 1, step)):
            self.parts()
        self.question, self.order, self.budget = self.ids[0], "best_first", 500
        self._draw()

    def evidence(self) -> tuple[Hit, ...]:
        """The pieces that are offered, best first."""
        if self.question not in self._asked:
            raise ValueError(f"there is no question {self.question!r} in this lab")
        return self._evidence[self.question]

    def context(self) -> Context:
        """What goes into the prompt. A ValueError names a budget or an order that is none."""
        state = (self.question, self.budget, self.order)
        if state not in self._contexts:
            self._contexts[state] = assemble_context(self.evidence(), self.budget, documents=self._documents,
                                                     order=self.order, count_tokens=self._count)
        return self._contexts[state]

    def costs(self) -> list[int]:
        """Tokens of each piece in whole, by itself, best first."""
        self.evidence()
        return self._costs[self.question]

    def parts(self) -> list[int]:
        """Tokens of each source that is in, in the order of the prompt; their sum is the context's."""
        sources = self.context().sources
        ends = [self._count(enclose(sources[:number])[0]) for number in range(1, len(sources))]
        return [after - before for before, after in pairwise([0, *ends, self.context().tokens])] if sources else []

    def fates(self) -> list[Fate]:
        """What became of each piece, best first."""
        context = self.context()
        number_of = {id_: source.number for source in context for id_ in source.chunk_ids}
        drops = {drop.chunk_id: drop for drop in context.drops}
        fates = []
        for hit in self.evidence():
            drop, number = drops.get(hit.chunk.id), number_of.get(hit.chunk.id)
            if drop is None:
                fates.append(Fate("in whole", "", number))
            else:
                look = "cut" if drop.reason == CUT else "joined to another" if number else "left out"
                fates.append(Fate(look, f"{drop.reason}: {drop.detail}", number))
        return fates

    def _cost(self, hit: Hit) -> int:
        return assemble_context([hit], 10**6, documents=self._documents, count_tokens=self._count).tokens

    # --- what is seen -------------------------------------------------------------------------------------

    def html(self) -> str:
        """The pieces with what became of them and why, then the sources as they stand in the prompt."""
        context, question = self.context(), self._asked[self.question]
        rows = "".join(
            f"<tr><td class='n'>{rank}</td><td class='n'>{hit.score:.3f}</td><td>{html.escape(_place(hit))}</td>"
            f"<td class='n'>{cost}</td><td class='w'><b>{_verdict(fate)}</b></td>"
            f"<td>{html.escape(fate.reason)}</td></tr>"
            for rank, (hit, cost, fate) in enumerate(zip(self.evidence(), self.costs(), self.fates(), strict=True), 1))
        sources = "".join(
            f"<tr><td class='n'>{tokens}</td><td><b>{html.escape(source.header)}</b>"
            f"{'<br>&#9888; holds text that addresses the machine' if source.warnings else ''}</td>"
            f"<td class='t'>{html.escape(_ends(source.text))}</td></tr>"
            for source, tokens in zip(context, self.parts(), strict=True))
        notes = "".join(f"<br>note: {html.escape(_short(note, 160))}" for note in context.notes)
        return (f"{_STYLE}<div style='line-height: 1.5'><b>{html.escape(question.question)}</b><br>"
                f"<b>{context.tokens} of {context.budget} tokens; sources: {len(context)}.</b>{notes}</div>"
                "<table class='context-lab'><thead><tr><th class='n'>rank</th><th class='n'>score</th><th>piece</th>"
                "<th class='n'>tokens</th><th>what became of it</th><th>reason</th></tr></thead>"
                f"<tbody>{rows}</tbody></table><table class='context-lab'><thead><tr><th class='n'>tokens</th>"
                "<th>in the prompt</th><th>text: how it begins and ends</th></tr></thead>"
                f"<tbody>{sources}</tbody></table>")

    def png(self) -> bytes:
        """The picture as the controls stand."""
        fates = self.fates()
        boxes = {look: [] for look in LOOKS}
        labels = iter(self._labels)
        for row, widths, looks, names in (
                (0, self.costs(), [fate.look for fate in fates], [str(rank) for rank in range(1, len(fates) + 1)]),
                (1, self.parts(), ["cut" if source.cut else "in whole" for source in self.context()],
                 [f"[{source.number}]" for source in self.context()])):
            lefts = [0, *accumulate(widths)]
            for left, width, look, name in zip(lefts, widths, looks, names, strict=False):
                boxes[look].append(_box(left, row - 0.3, width, 0.55))
                _place_label(next(labels), left + width / 2, row - 0.33, name)
        for label in labels:
            label.set_visible(False)
        for look, found in boxes.items():
            self._boxes[look].set_verts(found)
        self._line.set_xdata([self.budget, self.budget])
        return self.picture.png()

    def _draw(self) -> None:
        figure, [axes] = plots.new_figure(9.6, 3.0)
        most = max((sum(costs) for costs in self._costs.values()), default=0)
        axes.set(xlim=(0, max(most, BUDGETS[1]) * 1.03), xlabel="tokens, headers and delimiters included",
                 ylim=(1.6, -0.6), yticks=[0, 1], yticklabels=["evidence,\nbest first", "in the\nprompt"])
        axes.grid(visible=False, axis="y")
        self._boxes = {look: _boxes(axes, *style, label=look) for look, style in LOOKS.items()}
        [self._line] = axes.plot([0, 0], [-0.5, 1.5], color=plots.RED, linestyle="--", linewidth=2, label="budget")
        # Above the boxes: a number on a hatch cannot be read.
        self._labels = [axes.text(0, 0, "", ha="center", va="bottom", fontsize=9) for _ in range(2 * PIECES)]
        axes.legend(ncols=5, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.25), handlelength=2)
        self.picture = plots.LivePicture(figure, [*self._boxes.values(), self._line, *self._labels])


def context_lab(base: KnowledgeBase, questions: Sequence[Question] | None = None,
                chosen: Sequence[str] = CHOSEN) -> LabView:
    """The lab: choose a question, turn the budget and choose an order (chapter 06).

    Args:
        base: is asked for eight pieces of evidence to each question.
        questions: those to choose from; None takes ``chosen`` of the handbook's ``dev`` questions.
        chosen: ids of those that the list offers, when no questions are given.
    """
    if questions is None:
        by_id: Mapping[str, Question] = {question.id: question for question in load_questions(split="dev")}
        questions = [by_id[id_] for id_ in chosen]
    list_ = choice("question", {question.question: question.id for question in questions})
    list_.layout.width = "60em"  # questions are long
    return LabView(ContextModel(base, questions), {
        "question": list_,
        "budget": slider("budget", *BUDGETS),
        "order": choice("order", list(ORDERS)),
    })


def _boxes(axes: Axes, colour: str, hatch: str, label: str) -> PolyCollection:
    return axes.add_collection(PolyCollection([], facecolor=colour, hatch=hatch, edgecolor=plots.BLACK, linewidth=0.8,
                                              label=label), autolim=False)


def _box(left: float, bottom: float, width: float, height: float) -> np.ndarray:
    """The four corners, shape (4, 2)."""
    right, top = left + width, bottom + height
    return np.array([(left, bottom), (left, top), (right, top), (right, bottom)])


def _place_label(label, x: float, y: float, text: str) -> None:
    label.set_position((x, y))
    label.set_text(text)
    label.set_visible(True)


def _verdict(fate: Fate) -> str:
    mark = {"in whole": "&#10003;", "cut": "&#9986;", "joined to another": "&#43;", "left out": "&#10007;"}[fate.look]
    where = "" if fate.number is None else f": [{fate.number}]"
    return f"{mark} {fate.look}{where}"


def _place(hit: Hit) -> str:
    chunk = hit.chunk
    path = [part for part in chunk.heading_path[-1:] if part.strip()]
    return f"{chunk.document_id} v{chunk.version}, {chunk.start}-{chunk.end}" + "".join(f": {part}" for part in path)


def _ends(text: str, limit: int = 70) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 2 * limit + 5 else f"{text[:limit]} … {text[-limit:]}"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit - 1] + "…"
