"""Vectors of one run: nothing is encoded twice, and token vectors are kept for the next run (chapter 08).

A user asks one question at a time; a run asks hundreds about the same documents, and grader, generator and judge each
want the vectors of the same sentences.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ragkit.embedding import CachedEmbedder, Embedder, TokenVectors, token_embedder
from ragkit.embedding.cache import BLOCK


class RunEmbedder:
    """Wraps an embedder for the length of a run; gives the same vectors.

    Memory holds what was encoded. Where the embedder keeps its vectors on disk, those of questions and of tokens are
    kept there too: unlike what people ask, the questions of a file come again.
    """

    def __init__(self, embedder: Embedder):
        self._wrapped = embedder
        self.name, self.dimension, self.max_tokens = embedder.name, embedder.dimension, embedder.max_tokens
        self._queries: dict[str, np.ndarray] = {}
        self._passages: dict[str, np.ndarray] = {}
        self._encode_queries = embedder.encode_queries
        self.embedder = getattr(embedder, "embedder", embedder)  # what ``token_embedder`` finds
        if isinstance(embedder, CachedEmbedder):
            folder = embedder.path.parent
            self._encode_queries = CachedEmbedder(_Questions(embedder), folder).encode_passages
            if token_embedder(embedder) is not None:
                self.embedder = TokenCache(self.embedder, folder)

    def count_tokens(self, text: str) -> int:
        """As the wrapped embedder counts."""
        return self._wrapped.count_tokens(text)

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, dimension)."""
        return _from(self._queries, texts, self._encode_queries)

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, dimension)."""
        return _from(self._passages, texts, self._wrapped.encode_passages)


class _Questions:
    """An embedder's questions as passages of another model, so that they are kept apart from its passages."""

    def __init__(self, embedder: Embedder):
        self.name, self.dimension, self.max_tokens = f"{embedder.name} (questions)", embedder.dimension, None
        self.count_tokens, self.encode_passages = embedder.count_tokens, embedder.encode_queries


class TokenCache(CachedEmbedder):
    """Keeps the token vectors of an embedder in ``folder/tokens.sqlite``, by model and text hash.

    A sentence takes about 25 kB, so this is for runs, which read the same sentences again and again, and not for
    everything that anybody asks.
    """

    def __init__(self, embedder: Embedder, folder: str | Path):
        super().__init__(embedder, folder)
        self.path = self.path.with_name("tokens.sqlite")

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """As the wrapped embedder gives them."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known: dict[bytes, TokenVectors] = {}
        self._use(lambda connection: known.update(self._read(connection, keys)))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for start in range(0, len(missing), BLOCK):
            block = list(missing)[start:start + BLOCK]
            made = dict(zip(block, self.embedder.encode_tokens([missing[key] for key in block]), strict=True))
            known |= made
            rows = [(self.name, key, _pack(vectors)) for key, vectors in made.items()]
            self._use(lambda connection, rows=rows: connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows))
        return [known[key] for key in keys]

    def _read(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, TokenVectors]:
        found = {}
        for key in set(keys):
            row = connection.execute("SELECT vector FROM vectors WHERE model = ? AND hash = ?",
                                     (self.name, key)).fetchone()
            if row is not None:
                found[key] = _unpack(row[0], self.dimension)
        return found


def _from(kept: dict[str, np.ndarray], texts: Sequence[str], encode: Callable) -> np.ndarray:
    if isinstance(texts, str):
        return encode(texts)  # refused there, in words
    new = list(dict.fromkeys(text for text in texts if text not in kept))
    if new:
        kept |= zip(new, encode(new), strict=True)
    return np.stack([kept[text] for text in texts]) if len(texts) else encode(texts)


def _pack(tokens: TokenVectors) -> bytes:
    return np.asarray(tokens.spans, dtype="<i4").tobytes() + np.asarray(tokens.vectors, dtype="<f4").tobytes()


def _unpack(blob: bytes, dimension: int) -> TokenVectors:
    count = len(blob) // (4 * (dimension + 2))
    spans = np.frombuffer(blob, dtype="<i4", count=2 * count).reshape(count, 2)
    vectors = np.frombuffer(blob, dtype="<f4", offset=8 * count).reshape(count, dimension)
    return TokenVectors(vectors, spans.astype(np.int64))
