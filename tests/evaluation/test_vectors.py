"""Vectors of a run: the same as without, encoded once, and token vectors kept for the next run."""

import numpy as np
import pytest

from ragkit.embedding import CachedEmbedder, HashingEmbedder, TokenVectors, token_embedder
from ragkit.evaluation.vectors import RunEmbedder, TokenCache

TEXTS = ["A room costs 150 euros.", "", "每晚八百元", "A room costs 150 euros."]


class TokenHashing(HashingEmbedder):
    """One vector a character; counts the texts that it reads."""

    def __init__(self):
        super().__init__(8)
        self.read: list[str] = []

    def encode_queries(self, texts):
        self.read += texts
        return super().encode_queries(texts)

    def encode_tokens(self, texts):
        self.read += texts
        return [TokenVectors(np.full((len(text), 8), len(text), np.float32),
                             np.array([(at, at + 1) for at in range(len(text))], dtype=np.int64).reshape(-1, 2))
                for text in texts]


def same(one: list[TokenVectors], other: list[TokenVectors]) -> bool:
    return all(np.array_equal(a.vectors, b.vectors) and np.array_equal(a.spans, b.spans)
               and a.spans.dtype == b.spans.dtype for a, b in zip(one, other, strict=True))


def test_the_same_vectors_each_text_once():
    embedder = TokenHashing()
    run = RunEmbedder(embedder)
    for _ in range(2):
        assert np.array_equal(run.encode_queries(TEXTS), HashingEmbedder(8).encode_queries(TEXTS))
        assert np.array_equal(run.encode_passages(TEXTS), HashingEmbedder(8).encode_passages(TEXTS))
    assert embedder.read == TEXTS[:3]
    assert run.encode_passages([]).shape == (0, 8)
    assert (run.name, run.dimension, run.max_tokens) == (embedder.name, 8, embedder.max_tokens)
    assert run.count_tokens("a b") == embedder.count_tokens("a b")


def test_one_string_is_no_list_of_texts():
    with pytest.raises(TypeError, match="put it in a list"):
        RunEmbedder(HashingEmbedder(8)).encode_passages("text")


def test_token_vectors_are_kept_beside_the_others(tmp_path):
    first, second = TokenHashing(), TokenHashing()
    expected = TokenHashing().encode_tokens(TEXTS)
    assert same(token_embedder(RunEmbedder(CachedEmbedder(first, tmp_path))).encode_tokens(TEXTS), expected)
    assert first.read == TEXTS[:3]
    assert same(token_embedder(RunEmbedder(CachedEmbedder(second, tmp_path))).encode_tokens(TEXTS), expected)
    assert not second.read
    assert (tmp_path / "tokens.sqlite").is_file()


def test_questions_are_kept_apart_from_passages(tmp_path):
    class Prefixing(TokenHashing):
        def encode_queries(self, texts):
            return super().encode_queries([f"query: {text}" for text in texts])

    first, second = (RunEmbedder(CachedEmbedder(Prefixing(), tmp_path)) for _ in range(2))
    for run in (first, second):
        assert np.array_equal(run.encode_passages(TEXTS), HashingEmbedder(8).encode_passages(TEXTS))
        assert np.array_equal(run.encode_queries(TEXTS), Prefixing().encode_queries(TEXTS))
    assert not second.embedder.embedder.read


def test_a_damaged_file_is_begun_anew(tmp_path):
    (tmp_path / "tokens.sqlite").write_bytes(b"no database" * 100)
    embedder = TokenHashing()
    assert same(TokenCache(embedder, tmp_path).encode_tokens(TEXTS), TokenHashing().encode_tokens(TEXTS))


def test_nothing_is_kept_for_an_embedder_that_keeps_nothing():
    embedder = TokenHashing()
    assert token_embedder(RunEmbedder(embedder)) is embedder
    assert token_embedder(RunEmbedder(HashingEmbedder(8))) is None
