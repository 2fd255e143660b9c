"""Score a chain's search on a collection in the layout of BEIR (chapter 08).

Judged there are documents, and found are chunks: a document counts as much as its best chunk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragkit.evaluation.beir import BeirSet
from ragkit.evaluation.metrics import METRICS, Mean, mean, over_queries, rank
from ragkit.evaluation.questions import check_k
from ragkit.evaluation.run import progress
from ragkit.evaluation.scorecard import cell, html_table, text_table
from ragkit.knowledge_base import KnowledgeBase
from ragkit.retrieval import recall

DEPTHS = (10, 100)


@dataclass(frozen=True)
class BeirScores:
    """Means over the judged queries, and their denominators. Prints and shows as a table.

    Attributes:
        means: by (metric, k); queries to which nothing is relevant are left out, of all metrics alike.
        rankings: document ids of each query, best first, as deep as the deepest k.
    """

    name: str
    split: str
    means: Mapping[tuple[str, int], Mean]
    rankings: Mapping[str, Sequence[str]] = field(repr=False)

    def __getitem__(self, key: tuple[str, int]) -> Mean:
        """By (metric, k); an unknown key is an error that lists the known ones."""
        if key not in self.means:
            raise KeyError(f"no mean {key!r}; the metrics are {', '.join(METRICS)}, each at k = "
                           f"{', '.join(str(k) for k in self._depths)}")
        return self.means[key]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows, as text."""
        return ([f"{self.name}, {self.split}: mean (n)", *(f"k = {k}" for k in self._depths)],
                [[name, *(cell(self.means[name, k]) for k in self._depths)] for name in METRICS])

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"name": self.name, "split": self.split,
                "metrics": {f"{name}@{k}": value._asdict() for (name, k), value in self.means.items()}}

    def __str__(self) -> str:
        return text_table(*self.table())

    def _repr_html_(self) -> str:
        return html_table(*self.table())

    @property
    def _depths(self) -> list[int]:
        return list(dict.fromkeys(k for _, k in self.means))


def evaluate_beir(kb: KnowledgeBase, beir: BeirSet, depths: Sequence[int] = DEPTHS) -> BeirScores:
    """Search for every judged query and average all metrics at each of ``depths``.

    Args:
        kb: made from ``beir.documents()``.

    Raises:
        ValueError: no depth, or one below 1; a judged document that is not in the knowledge base.
    """
    if not depths:
        raise ValueError("depths is empty; give at least one k")
    for k in depths:
        check_k(k)
    there = {document.id for document in kb.documents}
    for grades in beir.qrels.values():
        for id_ in grades:
            if id_ not in there:
                raise ValueError(f"the document {id_!r} of {beir.name} is judged and not in the knowledge base; make "
                                 "the knowledge base from beir.documents()")
    vectors = kb.embedder.encode_queries(list(beir.queries.values()))
    pairs = zip(beir.queries.items(), vectors, strict=True)
    rankings = {id_: rank_documents(kb, text, vector, max(depths))
                for (id_, text), vector in progress(pairs, len(beir.queries), "queries")}
    means = {(name, k): mean(over_queries(metric, rankings, beir.qrels, k).values(), none="leave_out")
             for name, metric in METRICS.items() for k in depths}
    return BeirScores(beir.name, beir.split, means, rankings)


def rank_documents(kb: KnowledgeBase, query: str, vector: np.ndarray, count: int) -> list[str]:
    """The best ``count`` document ids, each by its best chunk; it is looked further until there are so many."""
    top_k, everything = count, len(kb.corpus.index.ids)
    while True:
        hits = recall(query, kb.settings.replace(top_k=top_k), corpus=kb.corpus, query_vector=vector).hits
        scores: dict[str, float] = {}
        for hit in hits:  # best first
            scores.setdefault(hit.chunk.document_id, hit.score)
        ranked = rank(scores)
        # What was cut off may tie with the last hit, so it is looked further until that scores less than what is kept.
        if top_k >= everything or (len(ranked) > count and hits[-1].score < scores[ranked[count - 1]]):
            return ranked[:count]
        top_k *= 2
