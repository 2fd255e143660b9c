"""The lab of chapter 04: short chunks find, long chunks make sense."""

import html
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from ragkit import plots
from ragkit.chunking import Chunk, leaves
from ragkit.evaluation import Gold, Question, found_groups, gold_spans, load_questions
from ragkit.hits import Hit, in_order
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.tree_picture import WIDEST, TreePicture
from ragkit.labs.view import LabView, choice, float_slider, slider
from ragkit.parents import ChunkTree
from ragkit.retrieval import Candidates, RetrievalResult, decide, expand, recall, select
from ragkit.settings import Settings
from ragkit.wording import shortened

MOST = 16  # candidates that are recalled beforehand
EXPANSIONS = {"children alone": "none", "parents, level 2": "parents 2", "parents, level 1": "parents 1",
              "auto_merge": "auto_merge"}
CHOSEN = ("en-b-071", "en-a-011", "en-a-003", "en-b-049", "en-a-051", "en-a-073", "en-a-023", "en-b-043", "en-b-035",
          "en-c-053", "en-a-067", "en-a-057", "en-b-061", "en-b-065", "en-a-083", "en-a-085", "en-c-049", "en-c-073",
          "en-c-019", "en-b-079")
_STYLE = ("<style>.merge-lab td, .merge-lab th {padding: 2px 8px; text-align: left; vertical-align: top; "
          "line-height: 1.35; border-bottom: 1px solid #88888855} .merge-lab {border-collapse: collapse; "
          "font-size: 13px; margin-top: 8px} .merge-lab .n {text-align: right}</style>")


@dataclass(frozen=True)
class _Asked:
    """A question with its candidates, its gold, and the stretch of a document that the picture shows."""

    question: Question
    candidates: Candidates
    gold: Gold
    stretch: tuple[Chunk, ...]  # chunks of all levels
    children: tuple[Chunk, ...]  # those of them that are searched, in reading order
    total: int  # children of the whole document


class MergeModel:
    """What is read for one question, and for all, as expansion, ``top_k`` and ratio stand.

    The threshold is off, so that only expansion is seen. ``evidence_top_k`` is the knowledge base's.

    Attributes:
        question: id of the question that is looked at; one of ``ids``.
        expansion: "none", "parents 2", "parents 1" (the level climbed to) or "auto_merge".
        top_k: how many children search brings, at most ``MOST``.
        ratio: share of the siblings that must be hit before "auto_merge" climbs, in (0, 1].
        hand: children hit by hand instead of by search: their numbers in the picture, such as "1 2 5".
    """

    def __init__(self, base: KnowledgeBase, questions: Sequence[Question]):
        self._base, self._settings = base, base.settings.replace(min_score=None)
        self._tree = ChunkTree.of(base.corpus.chunks)
        vectors = base.corpus.embedder.encode_queries([question.question for question in questions])
        self._asked = {question.id: self._ask(question, vector) for question, vector
                       in zip(questions, vectors, strict=True)}
        self.ids = tuple(self._asked)
        self.question, self.expansion, self.hand = self.ids[0], "none", ""
        self.top_k, self.ratio = min(base.settings.top_k, MOST), base.settings.merge_ratio
        # A ratio acts only where it passes a share that a family can have: between two of these, nothing changes.
        sizes = {size for size in self._tree.family_sizes.values() if size > 1}
        self._shares = sorted({hit / size for size in sizes for hit in range(2, size + 1)} | {1.0})
        self._totals = self._measure_all()
        self._last: tuple[tuple, RetrievalResult] | None = None
        beginning = {name: self._totals[kind, self.top_k] for name, kind in EXPANSIONS.items() if kind != "auto_merge"}
        self._tree_picture = TreePicture(
            levels=max(chunk.level for chunk in self._tree.values()), contexts=self._settings.evidence_top_k,
            marks=beginning, marks_title=f"at top_k {self.top_k}, and now:", title=f"All {len(self.ids)} questions",
            most=max(read for _, read in self._totals.values()))

    # --- one question -------------------------------------------------------------------------------------

    def result(self) -> RetrievalResult:
        """The question through the chain, as the knobs stand. A ValueError names a knob that is out of range."""
        settings = self.settings()
        state = (self.question, settings, self.hand.strip())
        if self._last is None or self._last[0] != state:
            asked = self._asked[self.question]
            hits = self._hits_by_hand(asked) or asked.candidates.hits[:self.top_k]
            self._last = state, decide(replace(asked.candidates, hits=hits), settings)
        return self._last[1]

    def settings(self) -> Settings:
        """The knobs as the chain's settings."""
        if self.question not in self._asked:
            raise ValueError(f"there is no question {self.question!r} in this lab")
        if self.expansion not in EXPANSIONS.values():
            raise ValueError(f"expansion ({self.expansion!r}) must be one of {', '.join(EXPANSIONS.values())}")
        if isinstance(self.top_k, int) and self.top_k > MOST:
            raise ValueError(f"top_k ({self.top_k}) must be at most {MOST} in this lab")
        return self._settings_of(self.expansion, self.top_k, self.ratio)

    def gold_found(self) -> float | None:
        """Share of the question's gold that stands whole in one of the contexts; None when it has none."""
        found = found_groups(self.result().evidence, self._asked[self.question].gold)
        return sum(found) / len(found) if found else None

    def characters(self) -> int:
        """Characters that are read for the question."""
        return _length(self.result().evidence)

    def _hits_by_hand(self, asked: _Asked) -> tuple[Hit, ...]:
        numbers = self.hand.replace(",", " ").split()
        for number in numbers:
            if not number.isdecimal() or not 1 <= int(number) <= len(asked.children):
                raise ValueError(f"child {number!r}: give numbers from 1 to {len(asked.children)}, as in the picture")
        chunks = [asked.children[number - 1] for number in sorted({int(number) for number in numbers})]
        if not chunks:
            return ()
        vectors = self._base.corpus.index.reconstruct([chunk.id for chunk in chunks])
        scores = (vectors.astype(np.float64) @ asked.candidates.query_vector).round(6).tolist()
        return in_order(Hit(chunk, score) for chunk, score in zip(chunks, scores, strict=True))

    # --- all questions ------------------------------------------------------------------------------------

    def totals(self) -> tuple[float, float]:
        """Over all questions: share of the gold found, and characters read per answer, as the knobs stand."""
        self.settings()
        return self._totals[self._kind(), self.top_k]

    def _kind(self) -> str | float:
        """The expansion; for "auto_merge" the least share that passes the ratio."""
        if self.expansion != "auto_merge":
            return self.expansion
        return self._shares[bisect_left(self._shares, self.ratio)]

    def _measure_all(self) -> dict[tuple[str | float, int], tuple[float, float]]:
        totals = {}
        for kind in ("none", "parents 2", "parents 1", *self._shares):
            expansion, ratio = (kind, 1.0) if isinstance(kind, str) else ("auto_merge", kind)
            for top_k in range(1, MOST + 1):
                settings = self._settings_of(expansion, top_k, ratio)
                found, read = [], []
                for asked in self._asked.values():
                    longer = expand(asked.candidates.hits[:top_k], settings, self._tree)
                    evidence = select(longer.hits, settings, self._tree).hits
                    if asked.gold:
                        found.append(np.mean(found_groups(evidence, asked.gold)))
                    read.append(_length(evidence))
                totals[kind, top_k] = float(np.mean(found)) if found else 0.0, float(np.mean(read))
        return totals

    def _settings_of(self, expansion: str, top_k: int, ratio: float) -> Settings:
        name, _, level = expansion.partition(" ")
        return self._settings.replace(expansion=name, parent_level=int(level or 1), top_k=top_k, merge_ratio=ratio)

    def _ask(self, question: Question, vector: np.ndarray) -> _Asked:
        corpus = self._base.corpus
        candidates = recall(question.question, self._settings.replace(top_k=MOST), corpus=corpus,
                            filters=question.filters, reader=question.reader, query_vector=vector)
        if not candidates.hits:
            raise ValueError(f"question {question.id} finds nothing at all; leave it out of the lab")
        best = candidates.hits[0].chunk
        family = [chunk for chunk in self._tree.values()
                  if (chunk.document_id, chunk.version) == (best.document_id, best.version)]
        stretch = _around(best, family, self._tree)
        return _Asked(question, candidates, gold_spans(question, corpus.documents), tuple(stretch),
                      tuple(leaves(stretch)), len(leaves(family)))

    # --- what is seen -------------------------------------------------------------------------------------

    def html(self) -> str:
        """The evidence with the children that were hit, then the figures for this question and for all."""
        result, asked = self.result(), self._asked[self.question]
        question = asked.question
        numbers = {chunk.id: f"child {number}" for number, chunk in enumerate(asked.children, 1)}
        rows = "".join(self._row(rank, hit, asked.gold, numbers) for rank, hit in enumerate(result.evidence, 1))
        notes = "".join(f"<br>{html.escape(note)}" for note in result.trace["expand"].notes)
        beyond = result.trace["expand"].count_out - len(result.evidence)
        found, read = self.totals()
        gold = self.gold_found()
        cells = (("this question", "&ndash;" if gold is None else f"{gold:.2f}", f"{self.characters():,}"),
                 (f"all {len(self.ids)} questions, from search", f"{found:.3f}", f"{read:,.0f}"))
        totals = "".join(f"<tr><td>{name}</td><td class='n'>{share}</td><td class='n'>{length}</td></tr>"
                         for name, share, length in cells)
        return (f"{_STYLE}<div style='line-height: 1.5'><b>{html.escape(question.question)}</b><br>"
                f"right answer: {html.escape(question.answer)}<br>{len(result.candidates)} children hit"
                f"{' by hand' if self.hand.strip() else ''}, {result.trace['expand'].count_out} contexts after "
                f"expansion, {beyond} beyond evidence_top_k{notes}</div>"
                "<table class='merge-lab'><thead><tr><th class='n'>rank</th><th class='n'>score</th><th>context</th>"
                "<th>level</th><th>matched children</th><th class='n'>characters</th><th>gold inside</th><th>begins"
                f"</th></tr></thead><tbody>{rows}</tbody></table>"
                "<table class='merge-lab'><thead><tr><th></th><th class='n'>share of gold found</th>"
                f"<th class='n'>characters read per answer</th></tr></thead><tbody>{totals}</tbody></table>")

    @staticmethod
    def _row(rank: int, hit: Hit, gold: Gold, numbers: Mapping[str, str]) -> str:
        chunk = hit.chunk
        matched = ", ".join(numbers.get(id_, id_.rpartition(":")[2]) for id_ in hit.matched)
        inside = "<b>&#9670; yes</b>" if any(found_groups([hit], gold)) else "no"
        cells = (("n", str(rank)), ("n", f"{hit.score:.3f}"),
                 ("", html.escape(f"{chunk.document_id} v{chunk.version}, {chunk.start}-{chunk.end}")),
                 ("", str(chunk.level)), ("", html.escape(matched)), ("n", f"{len(chunk.text):,}"), ("", inside),
                 ("", html.escape(shortened(chunk.text, 60))))
        return "<tr>" + "".join(f"<td class='{style}'>{text}</td>" for style, text in cells) + "</tr>"

    @property
    def picture(self) -> plots.LivePicture:
        """The tree with hits and contexts, and the figures for all questions, as the knobs stand."""
        result, asked = self.result(), self._asked[self.question]
        first, part = asked.children[0], f" ({len(asked.children)} of its {asked.total} children)"
        inside = {chunk.id for chunk in asked.stretch}
        elsewhere = sum(hit.chunk.id not in inside for hit in result.evidence)
        self._tree_picture.show(
            f"{first.document_id}, version {first.version}{part if len(asked.children) < asked.total else ''}; "
            f"{elsewhere} context{'' if elsewhere == 1 else 's'} elsewhere",
            asked.stretch, asked.children, result.candidates, result.evidence, self.totals())
        return self._tree_picture.live

    def png(self) -> bytes:
        """The picture as the knobs stand."""
        return self.picture.png()


def merge_lab(base: KnowledgeBase, questions: Sequence[Question] | None = None,
              chosen: Sequence[str] = CHOSEN) -> LabView:
    """The lab: choose how hits are expanded, and see what is read for one question and for all (chapter 04).

    Args:
        base: is asked; its settings are where the knobs begin.
        questions: all that are counted; None takes the handbook's English ``dev`` questions that have an answer.
        chosen: ids of those that the list offers; those that are not among ``questions`` are left out.
    """
    import ipywidgets as widgets

    if questions is None:
        questions = load_questions(split="dev", language="en", answerable=True)
    model = MergeModel(base, questions)
    by_id = {question.id: question for question in questions}
    offered = [by_id[id_] for id_ in chosen if id_ in by_id] or list(questions)
    model.question, model.expansion = offered[0].id, "auto_merge"
    return LabView(model, {
        "question": choice("question", {f"{question.kind}: {question.question}": question.id for question in offered}),
        "expansion": choice("expansion", EXPANSIONS),
        "top_k": slider("top_k", 1, MOST),
        "ratio": float_slider("ratio (auto_merge)", 0.05, 1.0, 0.05),
        "hand": widgets.Text(description="hits by hand", placeholder="empty: by search; or numbers: 1 2 5",
                             continuous_update=False, style={"description_width": "10em"}, layout={"width": "34em"}),
    })


def _around(best: Chunk, family: Sequence[Chunk], tree: Mapping[str, Chunk]) -> list[Chunk]:
    """The best child's longest chunk and its neighbours, with all that is in them: at most ``WIDEST`` children."""
    def top_of(chunk: Chunk) -> str:
        while chunk.parent_id in tree:
            chunk = tree[chunk.parent_id]
        return chunk.id

    searched = {chunk.id for chunk in leaves(family)}
    inside: dict[str, list[Chunk]] = {}
    for chunk in family:
        inside.setdefault(top_of(chunk), []).append(chunk)
    tops = sorted(inside, key=lambda id_: tree[id_].start)
    size = {top: sum(chunk.id in searched for chunk in inside[top]) for top in tops}
    low = high = tops.index(top_of(best))
    room = WIDEST - size[tops[low]]
    while True:
        if high + 1 < len(tops) and size[tops[high + 1]] <= room:
            high += 1
            room -= size[tops[high]]
        elif low > 0 and size[tops[low - 1]] <= room:
            low -= 1
            room -= size[tops[low]]
        else:
            return [chunk for top in tops[low:high + 1] for chunk in inside[top]]


def _length(evidence: Sequence[Hit]) -> int:
    return sum(len(hit.chunk.text) for hit in evidence)
