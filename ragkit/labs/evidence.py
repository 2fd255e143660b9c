"""The lab of chapter 03: three knobs between what was found and what is used."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from ragkit import plots
from ragkit.evaluation import Gold, Question, gold_spans, load_questions
from ragkit.hits import Hit, clamp
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.view import LabView, choice, float_slider, slider
from ragkit.retrieval import BELOW_THRESHOLD, BEYOND_EVIDENCE_TOP_K, RetrievalResult, recall, retrieve
from ragkit.wording import shortened

MOST = 20  # candidates that are recalled beforehand, and bars in the picture
GROUPS = (("answerable", ""), ("near miss", "unanswerable_near"), ("far off", "unanswerable_far"))
OUTCOMES = ("right evidence", "wrong evidence", "refused")
CHOSEN = ("en-a-001", "en-a-011", "en-a-033", "en-a-031", "en-a-021", "en-b-023", "en-a-043", "en-b-049", "en-a-055",
          "en-b-039", "en-c-035", "en-a-065", "en-a-071", "en-a-081", "en-a-079", "en-b-077", "en-a-107", "en-a-105",
          "en-b-097", "en-c-119", "en-c-121")
_STYLE = ("<style>.evidence-lab td, .evidence-lab th {padding: 2px 8px; text-align: left; vertical-align: top; "
          "line-height: 1.35; border-bottom: 1px solid #88888855} .evidence-lab {border-collapse: collapse; "
          "font-size: 13px; margin-top: 8px} .evidence-lab .n {text-align: right} .evidence-lab .w {white-space: nowrap} "
          ".evidence-lab .cut {border-left: 2px solid #888888; white-space: nowrap}</style>")


@dataclass(frozen=True)
class _Asked:
    """A question as it is asked, with its vector and gold."""

    question: Question
    vector: np.ndarray
    gold: Gold


class EvidenceModel:
    """Candidates and evidence of one question, and the outcome for all, as the three knobs stand.

    One question runs through the chain itself. For all of them the scores of the nearest ``MOST`` candidates
    are kept as arrays, so that a knob costs a comparison and not a search.

    Attributes:
        question: id of the question that is looked at; one of ``ids``.
        top_k, evidence_top_k, min_score: the knobs; ``top_k`` is at most ``MOST``, ``min_score`` may be None.
        picture: scores of the candidates, and the outcome for all questions.
    """

    def __init__(self, base: KnowledgeBase, questions: Sequence[Question]):
        self._corpus, self._base_settings = base.corpus, base.settings.replace(expansion="none")
        vectors = base.corpus.embedder.encode_queries([question.question for question in questions])
        self._asked = {question.id: _Asked(question, vector, gold_spans(question, base.corpus.documents))
                       for question, vector in zip(questions, vectors, strict=True)}
        self.ids = tuple(self._asked)
        self.question = self.ids[0]
        self.top_k, self.evidence_top_k = min(base.settings.top_k, MOST), base.settings.evidence_top_k
        self.min_score = base.settings.min_score
        self._last: tuple[tuple, RetrievalResult] | None = None
        self._recall_all()
        self._draw()

    # --- one question -------------------------------------------------------------------------------------

    def result(self) -> RetrievalResult:
        """The question through the chain, as the knobs stand. A ValueError names a knob that is out of range."""
        state = (self.question, *self._knobs())
        if self._last is None or self._last[0] != state:
            asked = self._asked[self.question]
            settings = self._base_settings.replace(top_k=self.top_k, evidence_top_k=self.evidence_top_k,
                                                   min_score=self.min_score)
            self._last = state, retrieve(asked.question.question, settings, corpus=self._corpus,
                                         filters=asked.question.filters, reader=asked.question.reader,
                                         query_vector=asked.vector)
        return self._last[1]

    def fates(self) -> list[str]:
        """For each candidate what became of it: "evidence 1", or "dropped: reason (detail)"."""
        result = self.result()
        place = {hit.chunk.id: f"evidence {number}" for number, hit in enumerate(result.evidence, 1)}
        place |= {drop.chunk_id: f"dropped: {drop.reason} ({drop.detail})" for drop in result.trace["select"].drops}
        return [place[hit.chunk.id] for hit in result.candidates]

    # --- all questions ------------------------------------------------------------------------------------

    def tally(self) -> dict[str, dict[str, int]]:
        """How many questions of each group end in right evidence, in wrong evidence or in a refusal.

        Right evidence holds all that is needed for the answer. An unanswerable question has none.
        """
        self._knobs()
        threshold = -1.0 if self.min_score is None else self.min_score
        reach = min(self.top_k, self.evidence_top_k)
        kept = np.clip(self._scores[:, :reach], 0, 1) >= threshold
        kept &= self._found[:, :reach]
        given = kept.any(axis=1)
        covered = (self._holds[:, :, :reach] & kept[:, None, :]).any(axis=2)
        right = given & self._answerable & (covered | ~self._needed).all(axis=1)
        table = {}
        for name, members in self._members.items():
            table[name] = dict(zip(OUTCOMES, (int((right & members).sum()), int((given & ~right & members).sum()),
                                              int((~given & members).sum())), strict=True))
        return table

    def _recall_all(self) -> None:
        count, most_groups = len(self._asked), max(1, *(len(asked.gold) for asked in self._asked.values()))
        self._scores = np.zeros((count, MOST))
        self._found = np.zeros((count, MOST), dtype=bool)  # an answer may have fewer than MOST candidates
        self._holds = np.zeros((count, most_groups, MOST), dtype=bool)
        self._needed = np.zeros((count, most_groups), dtype=bool)
        for row, asked in enumerate(self._asked.values()):
            hits = recall(asked.question.question, self._base_settings.replace(top_k=MOST), corpus=self._corpus,
                          filters=asked.question.filters, reader=asked.question.reader,
                          query_vector=asked.vector).hits
            self._scores[row, :len(hits)] = [hit.score for hit in hits]
            self._found[row, :len(hits)] = True
            self._needed[row, :len(asked.gold)] = True
            for number, group in enumerate(asked.gold):
                self._holds[row, number, :len(hits)] = [any(span.inside(hit.chunk) for span in group) for hit in hits]
        kinds = np.array([asked.question.kind for asked in self._asked.values()])
        self._answerable = np.array([asked.question.answerable for asked in self._asked.values()])
        self._members = {name: kinds == kind if kind else self._answerable for name, kind in GROUPS}

    # --- what is seen -------------------------------------------------------------------------------------

    def html(self) -> str:
        """Candidates and evidence side by side, then the outcome for all questions."""
        result, asked = self.result(), self._asked[self.question]
        question = asked.question
        told = [f"kind: {question.kind}", f"asked as: {', '.join(sorted(question.reader)) or 'everybody'}",
                "filters: " + (", ".join(f"{name} {_value(value)}" for name, value in question.filters.active().items())
                               or "none"),
                f"right answer: {question.answer or 'none; a refusal would be right'}"]
        verdict = (f"<b>Refused: {result.refusal_reason}.</b> {html.escape(result.explanation)}" if result.refused
                   else f"<b>{len(result.evidence)} of {len(result.candidates)} candidates become evidence.</b>")
        rows = "".join(self._row(number, hit, fate) for number, (hit, fate)
                       in enumerate(zip(result.candidates, self.fates(), strict=True), 1))
        candidates = ("<table class='evidence-lab'><thead><tr><th colspan='5'>Candidates: what was found</th>"
                      "<th class='cut'>Evidence: what is used</th></tr><tr><th class='n'>rank</th>"
                      "<th class='n'>score</th><th>document</th><th>passage</th><th>gold</th>"
                      f"<th class='cut'>what became of it</th></tr></thead><tbody>{rows}</tbody></table>")
        return (f"{_STYLE}<div style='line-height: 1.5'><b>{html.escape(question.question)}</b><br>"
                f"{html.escape('; '.join(told))}<br>{self._left_out(result)}<br>{verdict}</div>"
                f"{candidates}{self._tally_table()}")

    def _row(self, number: int, hit: Hit, fate: str) -> str:
        gold = self._asked[self.question].gold
        held = [str(n) for n, group in enumerate(gold, 1) if any(span.inside(hit.chunk) for span in group)]
        mark = "" if not held else "&#9670; yes" if len(gold) == 1 else f"&#9670; {' and '.join(held)} of {len(gold)}"
        used = fate.startswith("evidence")
        fate = fate.split(" (")[0]  # rank, score and knobs stand beside it
        cells = (("n", str(number)), ("n", f"{hit.score:.3f}"),
                 ("w", html.escape(f"{hit.chunk.document_id} v{hit.chunk.version}")),
                 ("", html.escape(shortened(hit.chunk.text, 72))), ("w", mark),
                 ("cut", f"<b>&#10003; {html.escape(fate)}</b>" if used else html.escape(fate)))
        return "<tr>" + "".join(f"<td class='{style}'>{text}</td>" for style, text in cells) + "</tr>"

    @staticmethod
    def _left_out(result: RetrievalResult) -> str:
        entry = result.trace["filter"]
        reasons = ", ".join(f"{reason} {count}" for reason, count in entry.excluded) or "nothing"
        return html.escape(f"searched {entry.count_out} of {entry.count_in} chunks; left out: {reasons}")

    def _tally_table(self) -> str:
        rows = "".join(
            f"<tr><td>{name}</td>" + "".join(f"<td class='n'>{_cell(name, outcome, count)}</td>"
                                             for outcome, count in counts.items()) + "</tr>"
            for name, counts in self.tally().items())
        heads = "".join(f"<th class='n'>{outcome}</th>" for outcome in OUTCOMES)
        return (f"<table class='evidence-lab'><thead><tr><th>all {len(self.ids)} questions</th>{heads}</tr></thead>"
                f"<tbody>{rows}</tbody></table>")

    def png(self) -> bytes:
        """The picture as the knobs stand."""
        result = self.result()
        gold = [span for group in self._asked[self.question].gold for span in group]
        marks, bars = [], {look: [] for look in self._bars}
        for rank, (hit, fate) in enumerate(zip(result.candidates, self.fates(), strict=True), 1):
            score = clamp(hit.score)
            look = next(look for look in self._bars if look in fate)
            bars[look].append(_box(rank - 0.4, 0, 0.8, score))
            if any(span.inside(hit.chunk) for span in gold):
                marks.append((rank, min(score + 0.05, 0.97)))
        for look, boxes in bars.items():
            self._bars[look].set_verts(boxes)
        self._gold.set_data(*(zip(*marks, strict=True) if marks else ((), ())))
        level = 0.0 if self.min_score is None else self.min_score
        self._line.set_ydata([level, level])
        segments = {outcome: [] for outcome in OUTCOMES}
        for row, counts in enumerate(self.tally().values()):
            total, left = max(1, sum(counts.values())), 0.0
            for outcome, count in counts.items():
                width = 100 * count / total
                segments[outcome].append(_box(left, row - 0.2, width, 0.5))
                left += width
            self._labels[row].set_text(" / ".join(map(str, counts.values())))  # short: glyphs are slow to draw
        for outcome, boxes in segments.items():
            self._segments[outcome].set_verts(boxes)
        return self.picture.png()

    def _draw(self) -> None:
        figure, (scores, outcome) = plots.new_figure(9.6, 3.9, columns=2)
        scores.get_subplotspec().get_gridspec().set_width_ratios([3, 2])
        scores.set(xlim=(0.3, MOST + 0.7), ylim=(0, 1), xticks=[1, *range(5, MOST + 1, 5)], xlabel="rank of the candidate",
                   ylabel="cosine with the question", title="The chosen question")
        # One collection for each look draws many times faster than one artist for each bar.
        self._bars = {"evidence ": _boxes(scores, plots.SKY, "///", label="evidence"),
                      BELOW_THRESHOLD: _boxes(scores, "white", "..", label="below min_score"),
                      BEYOND_EVIDENCE_TOP_K: _boxes(scores, "#E4E4E4", "", label="beyond evidence_top_k")}
        [self._line] = scores.plot([0.3, MOST + 0.7], [0, 0], color=plots.RED, linestyle="--", linewidth=2,
                                   label="min_score")
        [self._gold] = scores.plot([], [], linestyle="", marker="D", color=plots.BLACK, markersize=6,
                                   label="holds gold")
        scores.legend(ncols=2, fontsize=8, loc="upper right")
        names = list(self._members)
        outcome.set(xlim=(0, 100), xlabel="questions of the group, in %", title=f"All {len(self.ids)}: right / wrong / refused",
                    ylim=(len(names) - 0.5, -0.6), yticks=[row + 0.05 for row in range(len(names))],
                    yticklabels=[f"{name}\n({int(members.sum())})" for name, members in self._members.items()])
        outcome.grid(visible=False, axis="y")
        looks = ((plots.GREEN, "//"), (plots.ORANGE, ""), ("#E4E4E4", ".."))
        self._segments = {name: _boxes(outcome, *look, label=name) for name, look in zip(OUTCOMES, looks, strict=True)}
        self._labels = [outcome.text(0.5, row - 0.25, "", va="bottom", fontsize=9) for row in range(len(names))]
        outcome.legend(ncols=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.42, -0.2), handlelength=1.5,
                       columnspacing=1)
        self.picture = plots.LivePicture(figure, [*self._bars.values(), self._line, self._gold,
                                                  *self._segments.values(), *self._labels])

    def _knobs(self) -> tuple:
        """The three knobs, checked."""
        if self.question not in self._asked:
            raise ValueError(f"there is no question {self.question!r} in this lab")
        self._base_settings.replace(top_k=self.top_k, evidence_top_k=self.evidence_top_k, min_score=self.min_score)
        if self.top_k > MOST:
            raise ValueError(f"top_k ({self.top_k}) must be at most {MOST} in this lab")
        return self.top_k, self.evidence_top_k, self.min_score


def evidence_lab(base: KnowledgeBase, questions: Sequence[Question] | None = None,
                 chosen: Sequence[str] = CHOSEN) -> LabView:
    """The lab: choose a question, turn ``top_k``, ``evidence_top_k`` and ``min_score`` (chapter 03).

    Args:
        base: is asked; its settings are where the knobs begin.
        questions: all that are counted; None takes the English ``dev`` questions of the handbook.
        chosen: ids of those that the list offers; those that are not among ``questions`` are left out.
    """
    questions = load_questions(split="dev", language="en") if questions is None else questions
    model = EvidenceModel(base, questions)
    by_id: Mapping[str, Question] = {question.id: question for question in questions}
    offered = [by_id[id_] for id_ in chosen if id_ in by_id] or list(questions)
    model.question = offered[0].id
    list_ = choice("question", {f"{question.kind}: {question.question}": question.id for question in offered})
    list_.layout.width = "60em"  # questions are long
    return LabView(model, {
        "question": list_,
        "top_k": slider("top_k", 1, MOST),
        "evidence_top_k": slider("evidence_top_k", 1, 12),
        "min_score": float_slider("min_score", 0.0, 1.0, 0.01),
    })


def _boxes(axes: Axes, colour: str, hatch: str, **look) -> PolyCollection:
    return axes.add_collection(PolyCollection([], facecolor=colour, hatch=hatch, edgecolor=plots.BLACK, linewidth=0.8,
                                              **look), autolim=False)


def _box(left: float, bottom: float, width: float, height: float) -> np.ndarray:
    """The four corners, shape (4, 2)."""
    right, top = left + width, bottom + height
    return np.array([(left, bottom), (left, top), (right, top), (right, bottom)])


def _cell(group: str, outcome: str, count: int) -> str:
    if outcome == "refused":
        return f"{count} {'wrongly' if group == 'answerable' else 'rightly'}"
    return "&ndash;" if outcome == "right evidence" and group != "answerable" else str(count)


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
