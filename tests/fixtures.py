"""Small documents, trees of chunks and vectors that the tests of the chain share. Imported explicitly."""

import datetime
import gc
import os
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np

from ragkit.chunking import Chunk
from ragkit.documents import Document
from ragkit.embedding import HashingEmbedder, SentenceTransformerEmbedder
from ragkit.hits import Hit, in_order
from ragkit.index import FaissIndex
from ragkit.knowledge_base import KnowledgeBase
from ragkit.parents import ChunkTree
from ragkit.retrieval import Corpus
from ragkit.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
FLAT = Settings(chunker="sentence", expansion="none", min_score=None)


def day(text: str) -> datetime.date:
    """"2025-09-01" as a date."""
    return datetime.date.fromisoformat(text)


def processor_seconds(call, repeats: int = 3) -> float:
    """The least processor time of a few calls: neither a busy machine nor a collection of garbage counts."""
    gc.collect()
    gc.disable()  # in a process as large as a whole test run's, one collection takes longer than what is measured
    try:
        times = []
        for _ in range(repeats):
            start = time.thread_time()
            call()
            times.append(time.thread_time() - start)
        return min(times)
    finally:
        gc.enable()


def document(id_: str, text: str = "", version: str = "1", date: str | None = None, topic: str | None = None,
             audience=("public",)) -> Document:
    """A document of a few words; its text is its id when none is given."""
    return Document(id=id_, title=id_, text=text or f"All about {id_}.", version=version, topic=topic,
                    effective_date=None if date is None else day(date), audience=frozenset(audience))


def base(*documents: Document, **settings) -> KnowledgeBase:
    """A knowledge base with the hashing embedder: no model, no cache, flat chunks unless said otherwise."""
    return KnowledgeBase(documents, FLAT.replace(**settings), HashingEmbedder(256))


def span(start: int, end: int, level: int, parent: str | None = None, document_id: str = "d") -> Chunk:
    """A chunk of a made-up document, with the id that a chunker would give it."""
    return Chunk(f"{document_id}@1:L{level}:{start}-{end}", document_id, "1", level, start, end,
                 "x" * (end - start), parent_id=parent)


def family(shape: tuple[int, ...] = (2, 2, 4), document_id: str = "d", size: int = 4) -> ChunkTree:
    """A full tree: shape (2, 2, 4) is 2 chunks of level 1, 2 children each, 4 of level 3 in each of those."""
    tree = ChunkTree()

    def grow(start: int, level: int, parent: str | None) -> int:
        here = start
        for _ in range(shape[level - 1]):
            length = size * int(np.prod(shape[level:], dtype=int))
            chunk = span(here, here + length, level, parent, document_id)
            tree[chunk.id] = chunk
            if level < len(shape):
                grow(here, level + 1, chunk.id)
            here += length
        return here

    grow(0, 1, None)
    return tree


def hit(chunk: Chunk, score: float) -> Hit:
    return Hit(chunk, score)


def level_hits(tree: ChunkTree, level: int, scores: list[float]) -> tuple[Hit, ...]:
    """The first chunks of a level with these scores, best first."""
    chunks = [chunk for chunk in tree.values() if chunk.level == level]
    return in_order(Hit(chunk, score) for chunk, score in zip(chunks, scores, strict=False))


def corpus_of(vectors: dict[str, list[float]], documents: dict[str, Document]) -> Corpus:
    """A corpus with one chunk a document and the vectors given, so that scores are known."""
    chunks = ChunkTree()
    for name, owner in documents.items():
        chunks[name] = Chunk(name, owner.id, owner.version, 1, 0, len(owner.text), owner.text)
    index = FaissIndex(len(next(iter(vectors.values()))))
    index.add(list(vectors), np.array(list(vectors.values()), dtype=np.float32))
    return Corpus({owner.key: owner for owner in documents.values()}, chunks, index, HashingEmbedder(index.dimension))


@lru_cache
def minilm() -> SentenceTransformerEmbedder:
    """The bundled model, loaded once for all tests that need it."""
    return SentenceTransformerEmbedder()


def unit_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((rows, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def python(*arguments: str, cache: Path, **more) -> subprocess.CompletedProcess:
    """Run Python in a fresh process in the course's folder, with a cache of its own."""
    environment = {**os.environ, "RAGKIT_CACHE": str(cache), "RAGKIT_PROGRESS": "0", "PYTHONPATH": str(ROOT),
                   "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run([sys.executable, *arguments], env=environment, cwd=ROOT, text=True, encoding="utf-8",
                          capture_output=True, timeout=300, check=False, **more)
