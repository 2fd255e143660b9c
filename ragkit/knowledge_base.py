"""The knowledge base: documents in, evidence and answers out (chapters 00, 07 and 12)."""

import html
import logging
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragkit.chunking import Chunk, FixedChunker, HeadingChunker, HierarchicalChunker, SentenceChunker, leaves
from ragkit.documents import Document, DocumentKey, LoadReport, load_folder
from ragkit.embedding import CachedEmbedder, Embedder, make_embedder, too_long
from ragkit.filters import RetrievalFilters
from ragkit.folder_cache import FolderCache, TooLong
from ragkit.index import FaissIndex
from ragkit.parents import ChunkTree
from ragkit.paths import cache_folder
from ragkit.retrieval import Corpus, RetrievalResult, probe, retrieve
from ragkit.settings import Settings

if TYPE_CHECKING:
    from ragkit.answer import Answer
    from ragkit.citations import SupportJudge
    from ragkit.generation import Generator
    from ragkit.refusal import EvidenceGrader

logger = logging.getLogger("ragkit.knowledge_base")

_KEEP = object()  # "not given", where None has a meaning of its own


class KnowledgeBase:
    """Documents cut, embedded and indexed, ready to be asked. Searching happens in memory.

    Make one with ``from_folder``, or from documents that you have: ``KnowledgeBase(documents)``.

    Attributes:
        settings: what the chain does at each link; ``retrieve`` can override single values.
        corpus: the documents, all chunks and the index, as one unchanging whole; replaced on ``add``
            and ``remove``.
        load_report: what ``from_folder`` could not read, and why; None otherwise.
        too_long: chunks that the model does not read to their end.
    """

    def __init__(self, documents: Iterable[Document] = (), settings: Settings | None = None,
                 embedder: Embedder | None = None):
        self.settings = settings or Settings()
        self.embedder = embedder or CachedEmbedder(make_embedder(self.settings.embedder), cache_folder())
        self.load_report: LoadReport | None = None
        self.too_long: tuple[TooLong, ...] = ()
        self._generators: dict[str, Generator] = {}
        self.corpus = Corpus({}, ChunkTree(), FaissIndex(self.embedder.dimension), self.embedder)
        self.add(documents)

    @property
    def documents(self) -> list[Document]:
        """All documents, all versions, by id and version."""
        return [self.corpus.documents[key] for key in sorted(self.corpus.documents)]

    @property
    def chunks(self) -> list[Chunk]:
        """The searched chunks, in the order of the index. All levels: ``corpus.chunks``."""
        return [self.corpus.chunks[id_] for id_ in self.corpus.index.ids]

    @classmethod
    def from_folder(cls, path: str | Path, settings: Settings | None = None, embedder: Embedder | None = None,
                    cache: bool = True) -> "KnowledgeBase":
        """Load, cut, embed and index every document in a folder; from the cache when nothing has changed.

        The cache goes by the files' content and by the settings that shape the index, so it is never
        stale. A damaged one is recognised, a warning logged, and the work done anew.

        Raises:
            FileNotFoundError, NotADirectoryError: no such folder.
            ValueError: a folder in which nothing could be read; says what was found.
        """
        path = Path(path)
        # An unknown folder is said before seconds go into loading a model.
        report = None if cache and path.is_dir() else load_folder(path)
        base = cls((), settings, embedder)
        kept = FolderCache(path, base.settings, base.embedder) if report is None else None
        restored = kept.restore() if kept is not None else None
        if restored is not None:
            base.corpus, base.load_report, base.too_long = restored
            return base
        report = report or load_folder(path)
        if not report.documents:
            found = "; ".join(f"{entry.source}: {entry.reason}" for entry in (*report.problems, *report.warnings))
            raise ValueError(f"no document could be read from {path} ({found or 'it holds no files'})")
        base.add(report.documents)
        base.load_report = report
        if kept is not None:
            kept.keep(base.corpus, report, base.too_long)
        return base

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents; one of the same id and version takes the old one's place, with all its chunks.

        Documents are embedded before anything is changed, so a failure leaves the knowledge base as it was.
        """
        held = self.corpus.documents
        given = {document.key: document for document in documents}
        new = {key: document for key, document in given.items() if held.get(key) != document}
        if not new:
            return
        chunker = make_chunker(self.settings, self.embedder)
        chunks = [chunk for document in new.values() for chunk in chunker.chunk(document)]
        searched = leaves(chunks)
        texts = [chunk.embedded_text for chunk in searched]
        long = tuple(TooLong(searched[position].id, tokens, self.embedder.max_tokens)
                     for position, tokens in too_long(self.embedder, texts))
        if long:
            logger.warning("%d chunks are longer than the %d tokens that %s reads, the first %s with %d; what comes "
                           "after the limit is not searched: make chunks smaller", len(long), long[0].limit,
                           self.embedder.name, long[0].chunk_id, long[0].tokens)
        vectors = self.embedder.encode_passages(texts)
        kept = {key: document for key, document in held.items() if key not in new}
        self._rebuild(kept, new, chunks, [chunk.id for chunk in searched], vectors)
        self.too_long += long

    def remove(self, document_id: str, version: str | None = None) -> None:
        """Remove a document, or one version of it, with all its chunks. An unknown one is a KeyError."""
        gone = {key for key in self.corpus.documents if key.id == document_id and version in (None, key.version)}
        if not gone:
            which = document_id if version is None else f"{document_id} version {version}"
            raise KeyError(f"there is no document {which}")
        kept = {key: document for key, document in self.corpus.documents.items() if key not in gone}
        self._rebuild(kept, {}, [], [], np.zeros((0, self.embedder.dimension), np.float32))

    def retrieve(self, question: str, filters: RetrievalFilters | dict | None = None, *, top_k: int | None = None,
                 evidence_top_k: int | None = None, min_score: float | None = _KEEP,
                 reader: Collection[str] | None = None, operator: bool = False,
                 query_vector: np.ndarray | None = None) -> RetrievalResult:
        """Candidates and evidence for a question, or a refusal with its reason (chapter 03).

        Args:
            question: not blank.
            filters: a ``RetrievalFilters``, or its fields as a dict.
            top_k, evidence_top_k, min_score: override the settings; ``min_score=None`` is no threshold.
            reader: groups the asker belongs to; None sees public documents only.
            operator: adds what the reader may not see to the trace. Never show that trace to the reader.
            query_vector: shape (dimension,), when the question is encoded already.
        """
        return self._retrieve(self._settings(top_k, evidence_top_k, min_score), question, filters, reader, operator,
                              query_vector)

    def ask(self, question: str, filters: RetrievalFilters | dict | None = None, *, top_k: int | None = None,
            evidence_top_k: int | None = None, min_score: float | None = _KEEP, min_grade: float | None = _KEEP,
            context_tokens: int | None = None, reader: Collection[str] | None = None, operator: bool = False,
            query_vector: np.ndarray | None = None, generator: "Generator | str | None" = None,
            grader: "EvidenceGrader | None" = None, judge: "SupportJudge | None" = None) -> "Answer":
        """An answer whose every sentence was checked against its sources, or a refusal with its reason (chapter 07).

        Args:
            question, filters, top_k, evidence_top_k, min_score, reader, operator, query_vector: as in ``retrieve``.
            min_grade: overrides the setting; ``min_grade=None`` does not grade the evidence.
            context_tokens: overrides the setting.
            generator: who writes the answer: an object, or a name as in the settings.
            grader: what grades the evidence in the place of the deterministic grader; has its own threshold.
            judge: what checks the sentences in the place of the deterministic judge.

        Raises:
            ragkit.generation.GenerationError: the generator was set up wrongly, or gave nothing. A server
                that fails is no error: the extractive generator answers, and the trace says so.
            TypeError: the generator, the grader or the judge is none.
        """
        from ragkit.answer import answer_from

        for name, given, method in (("grader", grader, "grade"), ("judge", judge, "judge")):
            if given is not None and (isinstance(given, type) or not callable(getattr(given, method, None))):
                raise TypeError(f"{name} ({given!r}) must be an object with {method}(), or None for the default")
        settings = self._settings(top_k, evidence_top_k, min_score, min_grade, context_tokens)
        result = self._retrieve(settings, question, filters, reader, operator, query_vector)
        if grader is None and settings.min_grade is not None:
            from ragkit.refusal import SignalGrader

            grader = SignalGrader(self.embedder, min_grade=settings.min_grade)
        if judge is None:
            from ragkit.citations import SignalJudge

            judge = SignalJudge(self.embedder)
        answer = answer_from(result, self.corpus.documents, settings, generator=self._generator(generator),
                             fallback=self._generator("extractive"), grader=grader, judge=judge)
        if answer.refused and not result.refused:
            vector = self.embedder.encode_queries([question])[0] if query_vector is None else query_vector
            left_out, note = probe(vector, result.candidates[0].score, corpus=self.corpus, reader=reader or (),
                                   filters=_filters(filters))
            answer = answer.explained(left_out, note if operator else "")
        return answer

    def _generator(self, wanted: "Generator | str | None") -> "Generator":
        """A name's generator is made once: a local model takes seconds to load. That of a server is made each time:
        it costs nothing, and a key or an address set meanwhile must count."""
        from ragkit.generation import Generator, make_generator

        wanted = self.settings.generator if wanted is None else wanted
        if not isinstance(wanted, str):
            if isinstance(wanted, type) or not isinstance(wanted, Generator):
                raise TypeError(f"generator ({wanted!r}) must be a name, or an object with a name and generate()")
            return wanted
        if wanted.partition(":")[0] == "openai":
            return make_generator(wanted, self.embedder)
        if wanted not in self._generators:
            self._generators[wanted] = make_generator(wanted, self.embedder)
        return self._generators[wanted]

    def _settings(self, top_k: int | None, evidence_top_k: int | None, min_score: float | None,
                  min_grade: float | None = _KEEP, context_tokens: int | None = None) -> Settings:
        """The settings with what a call overrides."""
        given = {"top_k": top_k, "evidence_top_k": evidence_top_k, "context_tokens": context_tokens}
        changes = {name: value for name, value in given.items() if value is not None}
        thresholds = {"min_score": min_score, "min_grade": min_grade}
        changes |= {name: value for name, value in thresholds.items() if value is not _KEEP}
        return self.settings.replace(**changes) if changes else self.settings

    def _retrieve(self, settings: Settings, question: str, filters: RetrievalFilters | dict | None,
                  reader: Collection[str] | None, operator: bool, query_vector: np.ndarray | None) -> RetrievalResult:
        return retrieve(question, settings, corpus=self.corpus, filters=_filters(filters), reader=reader or (),
                        operator=operator, query_vector=query_vector)

    def _rebuild(self, kept: dict[DocumentKey, Document], new: dict[DocumentKey, Document], chunks: Sequence[Chunk],
                 new_ids: Sequence[str], new_vectors: np.ndarray) -> None:
        """A new corpus: what is kept of the old one, with its vectors, and what is new.

        The old corpus is not touched, so whoever is searching it meanwhile gets a whole answer.
        """
        old = self.corpus
        tree = ChunkTree((chunk.id, chunk) for chunk in old.chunks.values()
                         if (chunk.document_id, chunk.version) in kept)
        survivors = [id_ for id_ in old.index.ids if id_ in tree]
        tree.update((chunk.id, chunk) for chunk in chunks)
        index = FaissIndex(self.embedder.dimension)
        if survivors:
            index.add(survivors, old.index.reconstruct(survivors))
        index.add(new_ids, new_vectors)
        self.too_long = tuple(entry for entry in self.too_long if entry.chunk_id in index)
        self.corpus = Corpus(kept | new, tree, index, self.embedder)

    def _repr_html_(self) -> str:
        rows = (("documents", len(self.corpus.documents)), ("searched chunks", len(self.corpus.index.ids)),
                ("chunks of all levels", len(self.corpus.chunks)), ("embedder", self.embedder.name))
        cells = "".join(f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(str(value))}</td></tr>"
                        for name, value in rows)
        return f"<table>{cells}</table>"


def _filters(given: RetrievalFilters | dict | None) -> RetrievalFilters | None:
    if isinstance(given, dict):
        return RetrievalFilters(**given)
    if given is not None and not isinstance(given, RetrievalFilters):
        raise TypeError(f"filters ({given!r}) must be RetrievalFilters or a dict of its fields")
    return given


def make_chunker(settings: Settings, embedder: Embedder | None = None):
    """The chunker that the settings name; "tokens" are counted by the embedder."""
    if settings.size_unit == "tokens" and embedder is None:
        raise ValueError("size_unit 'tokens' needs an embedder to count them")
    measure = embedder.count_tokens if settings.size_unit == "tokens" else len
    if settings.chunker == "fixed":
        return FixedChunker(settings.chunk_size, settings.chunk_overlap, measure=measure)
    if settings.chunker == "sentence":
        return SentenceChunker(settings.chunk_size, settings.chunk_overlap, measure=measure)
    if settings.chunker == "heading":
        return HeadingChunker(settings.chunk_size, measure=measure)
    return HierarchicalChunker(settings.level_sizes, measure=measure)
