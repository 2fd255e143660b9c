"""Several chains over the same questions: what they share is made once (chapter 08)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ragkit.evaluation.outcome import Outcome, outcome_of
from ragkit.evaluation.questions import Gold, Question
from ragkit.evaluation.run import encode_questions, index_settings, locate_gold, progress, with_settings
from ragkit.evaluation.vectors import RunEmbedder
from ragkit.knowledge_base import KnowledgeBase
from ragkit.retrieval import NOT_IN_TOP_K, Candidates, decide, recall
from ragkit.settings import Settings


class SharedChains:
    """The same documents and questions under any settings.

    Documents are cut and embedded once for each way of cutting and each embedder, questions encoded once for each
    embedder.

    Args:
        kb: whose documents are asked, and whose embedder is used for settings that name the same one.
        folder: the same from a folder, with its cache. One of the two must be given.
        missing_gold: as in ``evaluate``.
    """

    def __init__(self, questions: Sequence[Question], *, kb: KnowledgeBase | None = None,
                 folder: str | Path | None = None, missing_gold: str = "error"):
        if (kb is None) == (folder is None):
            raise ValueError("give a knowledge base (kb) or a folder of documents (folder), and not both")
        self.questions, self._missing_gold = questions, missing_gold
        self._kb, self._folder = kb, folder
        self._bases: dict[tuple, KnowledgeBase] = {} if kb is None else {index_settings(kb.settings): kb}
        self._embedders: dict[str, RunEmbedder] = {}
        self._vectors: dict[str, np.ndarray] = {}
        self._golds: list[Gold] | None = None

    def base(self, settings: Settings) -> KnowledgeBase:
        """A knowledge base that runs with these settings."""
        shape = index_settings(settings)
        if shape not in self._bases:
            self._bases[shape] = self._build(settings)
        base = with_settings(self._bases[shape], settings)
        if settings.embedder not in self._embedders:
            self._embedders[settings.embedder] = RunEmbedder(base.embedder)
        base.embedder = self._embedders[settings.embedder]
        return base

    def vectors(self, settings: Settings) -> np.ndarray:
        """The questions, encoded by the embedder that the settings name."""
        if settings.embedder not in self._vectors:
            self._vectors[settings.embedder] = encode_questions(self.questions, self.base(settings))
        return self._vectors[settings.embedder]

    def golds(self, settings: Settings) -> list[Gold]:
        """The gold as spans: of the documents, whatever the chain."""
        if self._golds is None:
            self._golds = locate_gold(self.questions, self.base(settings), self._missing_gold)
        return self._golds

    def retrieve_all(self, chains: Sequence[Settings], k: int) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
        """``(position in chains, outcomes)``, without answers; not in the order of the chains.

        Of chains that search the same index each question is recalled once, with the largest ``top_k``, and decided
        for each.
        """
        groups: dict[tuple, list[int]] = {}
        for position, settings in enumerate(chains):
            groups.setdefault(index_settings(settings), []).append(position)
        for members in groups.values():
            recalled = self._recall_all(max((chains[position] for position in members), key=lambda one: one.top_k))
            golds = self.golds(chains[members[0]])
            for position in progress(members, len(members), "settings", each=len(self.questions)):
                yield position, tuple(
                    _decided(question, gold, found, chains[position], k)
                    for question, gold, found in zip(self.questions, golds, recalled, strict=True))

    def _recall_all(self, settings: Settings) -> list[Candidates | str]:
        """The candidates of each question; in their place the error, as text, when the search failed."""
        corpus = self.base(settings).corpus
        recalled: list[Candidates | str] = []
        for question, vector in zip(self.questions, self.vectors(settings), strict=True):
            try:
                recalled.append(recall(question.question, settings, corpus=corpus, filters=question.filters,
                                       reader=question.reader, query_vector=vector))
            except Exception as error:  # it is this question's, and is counted
                recalled.append(f"{type(error).__name__}: {error}")
        return recalled

    def _build(self, settings: Settings) -> KnowledgeBase:
        if self._folder is not None:
            return KnowledgeBase.from_folder(self._folder, settings)
        same = settings.embedder == self._kb.settings.embedder
        return KnowledgeBase(self._kb.documents, settings, self._kb.embedder if same else None)


def cut_to(candidates: Candidates, top_k: int) -> Candidates:
    """What recall would have brought with a smaller ``top_k``, its entry in the trace included."""
    hits = candidates.hits[:top_k]
    if len(hits) == len(candidates.hits):
        return candidates
    links = tuple(replace(entry, count_out=len(hits), excluded=((NOT_IN_TOP_K, entry.count_in - len(hits)),))
                  if entry.link == "recall" else entry for entry in candidates.links)
    return replace(candidates, hits=hits, links=links)


def _decided(question: Question, gold: Gold, found: Candidates | str, settings: Settings, k: int) -> Outcome:
    if isinstance(found, str):
        return outcome_of(question, gold, None, error=found, k=k)
    return outcome_of(question, gold, decide(cut_to(found, settings.top_k), settings), k=k)
