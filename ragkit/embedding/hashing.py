"""Similarity without meaning: an embedder that only sees which words two texts share (chapter 02).

Source: Weinberger et al. (2009), "Feature Hashing for Large Scale Multitask Learning".
"""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from ragkit.embedding.base import check_texts

# A run of letters and digits; a Chinese character is a word of its own here.
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")


class HashingEmbedder:
    """Each word adds +1 or -1 at a place that its hash chooses; the sum is scaled to length 1.

    It needs no model and no training, is the same on every machine, and finds exact words well. It
    knows nothing of meaning: "hotel" and "accommodation" are as far apart as "hotel" and "printer".
    """

    max_tokens = None

    def __init__(self, dimension: int = 384):
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise ValueError(f"dimension ({dimension!r}) must be a whole number of at least 1")
        self.dimension = dimension
        self.name = f"hashing-{dimension}"

    def count_tokens(self, text: str) -> int:
        """How many words it sees."""
        return len(_WORD.findall(text))

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, dimension); unit rows, zeros for a text without words."""
        texts = check_texts(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in _WORD.findall(text.casefold()):
                number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
                vectors[row, (number >> 1) % self.dimension] += 1 if number & 1 else -1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths == 0, 1, lengths)

    encode_queries = encode_passages
