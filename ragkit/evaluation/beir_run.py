"""Score a chain's search on a collection in the layout of BEIR (chapter 08).

Judged there are documents, and found are chunks: a document counts as much as its best chunk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragkit.evaluation.beir import BeirSet
from ragkit.evaluation.metrics import METRICS, Mean, mean, over_queries, rank
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
        return self.means[key]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows, as text."""
        depths = list(dict.fromkeys(k for _, k in self.means))
        return ([f"{self.name}, {self.split}: mean (n)", *(f"k = {k}" for k in depths)],
                [[name, *(cell(self.means[name, k]) for k in depths)] for name in METRICS])

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"name": self.name, "split": self.split,
                "metrics": {f"{name}@{k}": value._asdict() for (name, k), value in self.means.items()}}

    def __str__(self) -> str:
        return text_table(*self.table())

    def _repr_html_(self) -> str:
        return html_table(*self.table())


def evaluate_beir(kb: KnowledgeBase, beir: BeirSet, depths: Sequence[int] = DEPTHS) -> BeirScores:
    """Search for every judged query and average all metrics at each of ``depths``.

    Args:
        kb: made from ``beir.documents()``.
    """
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
        # The last hit may tie with one that was cut off, so one document more than is needed is found.
        if len(scores) > count or top_k >= everything:
            return rank(scores)[:count]
        top_k *= 2
