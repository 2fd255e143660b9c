"""Recall, then a pure decision: candidates on one side, evidence on the other (chapter 03).

``recall`` does the searching. ``decide`` does the rest without any I/O, so labs, calibration and
comparisons re-decide the same candidates under other settings without searching again.
"""

import html
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from ragkit.chunking import Chunk
from ragkit.documents import Document, DocumentKey
from ragkit.embedding import Embedder, too_long
from ragkit.filters import (
    NOT_PERMITTED,
    DocumentSelection,
    RetrievalFilters,
    how_to_reach,
    select_documents,
    unknown_names,
)
from ragkit.hits import Hit, LinkResult, below, clamp, in_order
from ragkit.index import Match, VectorIndex
from ragkit.parents import auto_merge, expand_parents
from ragkit.refusal import RefusalReason
from ragkit.settings import Settings
from ragkit.trace import LinkTrace, Trace, timed
from ragkit.wording import shortened

NOT_IN_TOP_K = "not_in_top_k"
BELOW_THRESHOLD = "below_threshold"
BEYOND_EVIDENCE_TOP_K = "beyond_evidence_top_k"
SELECTIONS_KEPT = 64
NO_FILTERS = RetrievalFilters()


class Corpus:
    """Documents, chunks and index as one searchable, unchanging whole, in memory.

    Args:
        documents: by key.
        chunks: all levels, by id; those named by the index are searched, the others are parents.
        index: its ids are chunk ids.
        embedder: made the index's vectors; encodes the questions.
    """

    def __init__(self, documents: Mapping[DocumentKey, Document], chunks: Mapping[str, Chunk],
                 index: VectorIndex, embedder: Embedder):
        self.documents, self.chunks, self.index, self.embedder = documents, chunks, index, embedder
        self._keys = list(documents)
        number = {key: position for position, key in enumerate(self._keys)}
        self._owner = np.fromiter((number[chunks[id_].document_id, chunks[id_].version] for id_ in index.ids),
                                  dtype=np.int32, count=len(index.ids))
        # A corpus does not change, so what a filter and a reader leave is worked out once.
        self.select = lru_cache(SELECTIONS_KEPT)(self._select)

    def _select(self, filters: RetrievalFilters, reader: frozenset[str]) -> "Selection":
        documents = select_documents(self.documents.values(), filters, reader)
        per_document = np.bincount(self._owner, minlength=len(self._keys))
        excluded: dict[str, int] = {}
        hidden = 0
        for key, count in zip(self._keys, per_document.tolist(), strict=True):
            if key in documents.hidden:
                hidden += count
            elif key in documents.excluded:
                excluded[documents.excluded[key]] = excluded.get(documents.excluded[key], 0) + count
        mask = self.mask_of(documents.allowed)
        mask.flags.writeable = False  # so that the index may keep what it makes of it
        count = int(np.count_nonzero(mask))
        return Selection(documents, None if count == len(mask) else mask, count, tuple(sorted(excluded.items())),
                         hidden)

    def mask_of(self, keys: Collection[DocumentKey]) -> np.ndarray:
        """Boolean mask over the index's ids: the chunks of these documents."""
        wanted = np.fromiter((key in keys for key in self._keys), dtype=bool, count=len(self._keys))
        return wanted[self._owner]


@dataclass(frozen=True)
class Selection:
    """What a filter and a reader leave of a corpus, in searched chunks. ``mask`` None: all of them."""

    documents: DocumentSelection
    mask: np.ndarray | None
    count: int
    excluded: tuple[tuple[str, int], ...]
    hidden: int


@dataclass(frozen=True)
class Candidates:
    """What recall found: many, raw. It holds everything that ``decide`` needs.

    Attributes:
        hits: best first, at most ``top_k``.
        chunks: all chunks by id, for expansion.
        query_vector: the encoded question, shape (dimension,).
        links: the trace so far.
        visible: how many chunks this reader could be shown at all.
    """

    question: str
    hits: tuple[Hit, ...]
    chunks: Mapping[str, Chunk] = field(compare=False, repr=False)
    query_vector: np.ndarray = field(compare=False, repr=False)
    links: tuple[LinkTrace, ...] = ()
    visible: int = 0


@dataclass(frozen=True)
class RetrievalResult:
    """Candidates apart from evidence, a refusal with its reason, and the trace.

    Attributes:
        query: the question.
        candidates: what recall found, best first, at most ``top_k``.
        evidence: what goes to the answer, best first, at most ``evidence_top_k`` distinct contexts.
        refused: whether there is no evidence.
        refusal_reason: why, when refused; else None.
        explanation: which link emptied the result and what would have changed that; "" when not refused.
        trace: per link, what came in, what went out, what was dropped and why.
    """

    query: str
    candidates: tuple[Hit, ...]
    evidence: tuple[Hit, ...]
    refused: bool
    refusal_reason: RefusalReason | None
    trace: Trace
    explanation: str = ""

    @property
    def refused_by(self) -> str | None:
        """The link that emptied the result; None when there is evidence."""
        return next(entry.link for entry in self.trace.links if not entry.count_out) if self.refused else None

    def __repr__(self) -> str:
        # The whole texts would fill pages; they are in the attributes.
        end = f"refused={self.refusal_reason}" if self.refused else f"{len(self.evidence)} evidence"
        return f"RetrievalResult({self.query!r}, {len(self.candidates)} candidates, {end})"

    def _repr_html_(self) -> str:
        head = f"<b>{html.escape(self.query)}</b>"
        if self.refused:
            return f"{head}<p>Refused: <b>{self.refusal_reason}</b>. {html.escape(self.explanation)}</p>"
        rows = "".join(
            f"<tr><td>{hit.score:.3f}</td><td>{html.escape(hit.chunk.document_id)} v{html.escape(hit.chunk.version)}"
            f"</td><td style='text-align:left'>{html.escape(' > '.join(hit.chunk.heading_path))}</td>"
            f"<td style='text-align:left'>{html.escape(shortened(hit.chunk.text, 160))}</td></tr>"
            for hit in self.evidence)
        return (f"{head}<table><thead><tr><th>score</th><th>document</th><th style='text-align:left'>section</th>"
                f"<th style='text-align:left'>evidence</th></tr></thead><tbody>{rows}</tbody></table>")


def retrieve(question: str, settings: Settings, *, corpus: Corpus, filters: RetrievalFilters | None = None,
             reader: Collection[str] = frozenset(), query_vector: np.ndarray | None = None,
             operator: bool = False) -> RetrievalResult:
    """The chain so far: recall, decide and, only when refused, one probe that says what was nearest."""
    candidates = recall(question, settings, corpus=corpus, filters=filters, reader=reader,
                        query_vector=query_vector, operator=operator)
    result = decide(candidates, settings)
    return _explain(result, candidates, corpus, filters or NO_FILTERS, _groups(reader), operator) \
        if result.refused else result


def recall(question: str, settings: Settings, *, corpus: Corpus, filters: RetrievalFilters | None = None,
           reader: Collection[str] = frozenset(), query_vector: np.ndarray | None = None,
           operator: bool = False) -> Candidates:
    """Search: the ``top_k`` nearest chunks among those that the filters and the reader allow (chapter 03).

    Args:
        query_vector: shape (dimension,), when the question is encoded already.
        operator: adds a link "permissions", which counts what the reader may not see.

    Raises:
        ValueError: a blank question.
    """
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"the question is empty ({question!r}); ask something")
    links = []
    if query_vector is None:
        (query_vector, notes), milliseconds = timed(encode_question, question, corpus.embedder)
        links.append(LinkTrace("encode", 1, 1, notes=notes, milliseconds=milliseconds))
    selection, milliseconds = timed(corpus.select, filters or NO_FILTERS, _groups(reader))
    visible = len(corpus.index.ids) - selection.hidden
    if operator:
        hidden = ((NOT_PERMITTED, selection.hidden),) if selection.hidden else ()
        links.append(LinkTrace("permissions", len(corpus.index.ids), visible, excluded=hidden))
    links.append(LinkTrace("filter", visible, selection.count, excluded=selection.excluded,
                           milliseconds=milliseconds))
    found, milliseconds = timed(corpus.index.search, query_vector, settings.top_k, selection.mask)
    hits = tuple(Hit(corpus.chunks[id_], score, (id_,)) for id_, score in found)
    rest = selection.count - len(hits)
    links.append(LinkTrace("recall", selection.count, len(hits), excluded=((NOT_IN_TOP_K, rest),) if rest else (),
                           milliseconds=milliseconds))
    return Candidates(question, hits, corpus.chunks, query_vector, tuple(links), visible)


def decide(candidates: Candidates, settings: Settings) -> RetrievalResult:
    """Expand, select and refuse, without I/O (chapters 03 and 04).

    ``evidence_top_k`` counts distinct contexts, after expansion; then comes the threshold, which is
    inclusive and reads the best child's cosine, clamped to [0, 1]. Evidence is never padded.
    """
    links = list(candidates.links)
    hits = candidates.hits
    for name, link in (("expand", expand), ("select", select)):
        result, milliseconds = timed(link, hits, settings, candidates.chunks)
        links.append(LinkTrace(name, len(hits), len(result.hits), result.drops, notes=result.notes,
                               milliseconds=milliseconds))
        hits = result.hits
    reason, explanation = _refusal(candidates, hits, settings)
    return RetrievalResult(candidates.question, candidates.hits, hits, not hits, reason, Trace(tuple(links)),
                           explanation)


def expand(hits: Sequence[Hit], settings: Settings, chunks: Mapping[str, Chunk]) -> LinkResult:
    """The link "expand": parents as ``settings.expansion`` says (chapter 04)."""
    if settings.expansion == "parents":
        return expand_parents(hits, chunks, settings.parent_level)
    if settings.expansion == "auto_merge":
        return auto_merge(hits, chunks, settings.merge_ratio)
    return LinkResult(in_order(hits))


def select(hits: Sequence[Hit], settings: Settings, chunks: Mapping[str, Chunk]) -> LinkResult:
    """The link "select": the best ``evidence_top_k``, then the threshold (chapter 03)."""
    ordered = in_order(hits)
    kept = ordered[:settings.evidence_top_k]
    drops = [hit.drop(BEYOND_EVIDENCE_TOP_K, f"rank {rank}, evidence_top_k {settings.evidence_top_k}")
             for rank, hit in enumerate(ordered[settings.evidence_top_k:], settings.evidence_top_k + 1)]
    if settings.min_score is not None:
        drops = [hit.drop(BELOW_THRESHOLD, f"min_score {settings.min_score:g}") for hit in kept
                 if clamp(hit.score) < settings.min_score] + drops
        kept = tuple(hit for hit in kept if clamp(hit.score) >= settings.min_score)
    return LinkResult(kept, tuple(drops))


def encode_question(question: str, embedder: Embedder) -> tuple[np.ndarray, tuple[str, ...]]:
    """The question's vector, shape (dimension,), and a note when the model does not read it to its end."""
    notes: tuple[str, ...] = ()
    for _, tokens in too_long(embedder, [question]):
        notes = (f"the question has {tokens} tokens; {embedder.name} reads the first {embedder.max_tokens}",)
    return embedder.encode_queries([question])[0], notes


def _refusal(candidates: Candidates, evidence: Sequence[Hit], settings: Settings) -> tuple[RefusalReason | None, str]:
    if evidence:
        return None, ""
    if not candidates.visible:
        return RefusalReason.NO_CANDIDATES, "There is nothing to search."
    if not candidates.hits:
        return RefusalReason.FILTERED_OUT, "The filters leave no document."
    nearest = clamp(candidates.hits[0].score)
    keeping = f"; {math.floor(nearest * 1000) / 1000:g} would keep it" if nearest >= 0.001 else ""
    return (RefusalReason.BELOW_THRESHOLD,
            f"The nearest candidate scores {below(nearest, settings.min_score)}, "
            f"below min_score {settings.min_score:g}{keeping}.")


def _explain(result: RetrievalResult, candidates: Candidates, corpus: Corpus, filters: RetrievalFilters,
             reader: frozenset[str], operator: bool) -> RetrievalResult:
    explanation, trace = result.explanation, result.trace
    if result.refusal_reason is RefusalReason.FILTERED_OUT:
        documents = corpus.select(filters, reader).documents
        if documents.allowed:
            explanation = "No document that is searched has any text."
        explanation += unknown_names(filters, [document for key, document in corpus.documents.items()
                                               if key not in documents.hidden])
    best = candidates.hits[0].score if candidates.hits else -1.0
    left_out, note = probe(candidates.query_vector, best, corpus=corpus, filters=filters, reader=reader)
    if operator and note:
        trace = trace.with_note("permissions", note)
    return replace(result, explanation=explanation + left_out, trace=trace)


def probe(query_vector: np.ndarray, best: float, *, corpus: Corpus, filters: RetrievalFilters | None = None,
          reader: Collection[str] = frozenset()) -> tuple[str, str]:
    """What a refusal adds: one search without filters, over what the reader may see, and one over the rest.

    Args:
        best: the score of the best hit; -1 when there was none.

    Returns:
        A sentence (with a blank before it) on the nearest passage of all when a filter or a newer version kept
        it out, else ""; and a note for the operator only on the nearest chunk that the reader may not see, or "".
    """
    documents = corpus.select(filters or NO_FILTERS, _groups(reader)).documents

    def nearest(keys: Collection[DocumentKey]) -> Match | None:
        found = corpus.index.search(query_vector, 1, corpus.mask_of(keys)) if keys else []
        return found[0] if found else None

    sentence, excluded, hidden = "", nearest(documents.excluded.keys()), nearest(documents.hidden)
    if excluded is not None and excluded.score > best:
        chunk = corpus.chunks[excluded.id]
        document = corpus.documents[chunk.document_id, chunk.version]
        reason = documents.excluded[document.key]
        way = how_to_reach(document, reason, filters or NO_FILTERS, corpus.documents.values(), _groups(reader))
        sentence = (f" Nearest of all is {document.id} version {document.version} at {clamp(excluded.score):.3f}, "
                    f"which was left out: {reason}. {way}")
    return sentence, "" if hidden is None else f"the nearest hidden chunk is {hidden.id} at {clamp(hidden.score):.3f}"


def _groups(reader: Collection[str]) -> frozenset[str]:
    if isinstance(reader, str):
        raise TypeError(f"reader ({reader!r}) must be a set of groups, for example {{{reader!r}}}")
    if not isinstance(reader, Collection) or not all(isinstance(group, str) for group in reader):
        raise TypeError(f"reader ({reader!r}) must be a set of groups, each a text, for example {{'hr'}}")
    return frozenset(reader)
