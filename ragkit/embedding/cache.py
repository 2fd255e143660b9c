"""Vectors kept on disk, so that a text is encoded once for each model (chapter 02)."""

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path

import numpy as np

from ragkit.embedding.base import Embedder, check_texts, make_embedder
from ragkit.paths import cache_folder

logger = logging.getLogger("ragkit.embedding")

BLOCK = 512  # texts encoded, then kept: killed in between, at most so many are encoded again


@lru_cache(maxsize=4)
def shared_embedder(name: str = "minilm") -> "CachedEmbedder":
    """The embedder that ``make_embedder`` makes, one a process, with its passages kept in the cache folder.

    For whatever reads the same sentences again and again and was given no embedder: graders, judges (chapter 05).
    """
    return CachedEmbedder(make_embedder(name), cache_folder())


class CachedEmbedder:
    """Wraps an embedder; keeps passage vectors in ``folder/embeddings.sqlite`` by model and text hash.

    SQLite writes a block wholly or not at all, so a process killed while writing leaves a cache that is
    right, only smaller. A damaged file is put aside and begun anew; where nothing can be written (a full or
    read-only disk), a warning is logged and texts are encoded each time. Queries are not kept: they are few,
    and what people ask should not pile up on a disk.
    """

    def __init__(self, embedder: Embedder, folder: str | Path):
        self.embedder = embedder
        self.name, self.dimension, self.max_tokens = embedder.name, embedder.dimension, embedder.max_tokens
        self.path = Path(folder) / "embeddings.sqlite"
        self.hits = self.misses = 0

    def count_tokens(self, text: str) -> int:
        """As the wrapped embedder counts."""
        return self.embedder.count_tokens(text)

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, dimension); straight from the wrapped embedder."""
        return self.embedder.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, dimension); known texts from the disk, the others encoded once and kept."""
        texts = check_texts(texts)
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known: dict[bytes, np.ndarray] = {}
        self._use(lambda connection: known.update(self._read(connection, keys)))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        self.hits += len(keys) - len(missing)
        self.misses += len(missing)
        order = sorted(missing, key=lambda key: (len(missing[key]), key))  # alike lengths pad little
        for start in range(0, len(order), BLOCK):
            block = order[start:start + BLOCK]
            vectors = np.asarray(self.embedder.encode_passages([missing[key] for key in block]), dtype=np.float32)
            if vectors.shape != (len(block), self.dimension) or not np.isfinite(vectors).all():
                raise ValueError(f"{self.name} gave an array of shape {vectors.shape} for {len(block)} texts, where "
                                 f"({len(block)}, {self.dimension}) without NaN is needed; nothing of it is kept")
            known.update(zip(block, vectors, strict=True))
            rows = [(self.name, key, vector.astype("<f4").tobytes()) for key, vector in zip(block, vectors, strict=True)]
            self._use(lambda connection, rows=rows: connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows))
        if not keys:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([known[key] for key in keys])

    def _use(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Do some work in one transaction. What is wrong with the file is logged and costs time, no more."""
        for _ in range(2):
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
                    connection.execute("CREATE TABLE IF NOT EXISTS vectors (model TEXT, hash BLOB, vector BLOB, "
                                       "PRIMARY KEY (model, hash)) WITHOUT ROWID")
                    work(connection)
                return
            except (OSError, sqlite3.OperationalError) as error:  # locked for long, full, read-only
                logger.warning("%s cannot be used (%s); texts are encoded without it", self.path, error)
                return
            except sqlite3.DatabaseError as error:
                aside = self.path.with_name(self.path.name + ".damaged")
                logger.warning("%s is damaged (%s); it is put aside as %s and begun anew",
                               self.path.name, error, aside.name)
                # The journal goes with its file: SQLite would play it into the new one.
                self.path.with_name(self.path.name + "-journal").unlink(missing_ok=True)
                with suppress(FileNotFoundError):  # another process was quicker
                    self.path.replace(aside)

    def _read(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        found = {}
        ordered = sorted(set(keys))
        for start in range(0, len(ordered), BLOCK):  # SQLite takes a limited number of parameters
            block = ordered[start:start + BLOCK]
            marks = ",".join("?" * len(block))
            rows = connection.execute(f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({marks})",
                                      (self.name, *block))
            for key, blob in rows:
                vector = np.frombuffer(blob, dtype="<f4")
                if vector.shape == (self.dimension,):
                    found[key] = vector
        return found
