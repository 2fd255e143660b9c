"""The embedding cache: right after anything that happens to its file."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from ragkit.embedding import CachedEmbedder, Embedder, HashingEmbedder, shared_embedder
from tests.fixtures import ROOT

TEXTS = ["one", "two", "three", "two", "", "四"]


class Counting(HashingEmbedder):
    """Hashing, and a list of all that was encoded."""

    def __init__(self, dimension: int = 64):
        super().__init__(dimension)
        self.encoded: list[str] = []

    def encode_passages(self, texts):
        self.encoded += texts
        return super().encode_passages(texts)


def test_each_text_is_encoded_once_and_comes_back_the_same(tmp_path):
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path / "made when needed")
    plain = HashingEmbedder(64).encode_passages(TEXTS)
    for _ in range(2):
        vectors = cached.encode_passages(TEXTS)
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, plain)
    assert sorted(inner.encoded) == sorted(set(TEXTS))
    assert (cached.hits, cached.misses) == (6 + 1, 5)
    other = Counting()
    np.testing.assert_array_equal(CachedEmbedder(other, tmp_path / "made when needed").encode_passages(TEXTS), plain)
    assert other.encoded == []


def test_models_do_not_share_vectors(tmp_path):
    CachedEmbedder(Counting(64), tmp_path).encode_passages(["one"])
    other = Counting(32)
    assert CachedEmbedder(other, tmp_path).encode_passages(["one"]).shape == (1, 32)
    assert other.encoded == ["one"]
    namesake = Counting(64)
    namesake.name = "another model with as many numbers"
    CachedEmbedder(namesake, tmp_path).encode_passages(["one"])
    assert namesake.encoded == ["one"]
    liar = Counting(16)
    liar.name = "hashing-64"  # the name of another model, with vectors of another length
    assert CachedEmbedder(liar, tmp_path).encode_passages(["one"]).shape == (1, 16)


def test_it_is_an_embedder_and_keeps_no_queries(tmp_path):
    cached = CachedEmbedder(Counting(), tmp_path)
    assert isinstance(cached, Embedder)
    assert (cached.name, cached.dimension, cached.max_tokens, cached.count_tokens("a b")) == ("hashing-64", 64, None, 2)
    cached.encode_queries(["who asked this?"])
    assert not cached.path.exists()
    assert cached.encode_passages([]).shape == (0, 64)
    with pytest.raises(TypeError, match="put it in a list"):
        cached.encode_passages("one")


def test_lone_surrogates_do_not_stop_it(tmp_path):
    assert CachedEmbedder(Counting(), tmp_path).encode_passages(["a \ud800", "a \ud801"]).shape == (2, 64)


@pytest.mark.parametrize("damage", ["not a database", "torn", "page overwritten"])
def test_a_damaged_file_is_put_aside_and_begun_anew(tmp_path, damage, caplog):
    cached = CachedEmbedder(Counting(), tmp_path)
    texts = [f"text number {number}" for number in range(300)]
    wanted = cached.encode_passages(texts)
    content = bytearray(cached.path.read_bytes())
    if damage == "not a database":
        content = b"this is no database" * 500
    elif damage == "torn":
        content = content[:len(content) // 2]
    else:
        content[4096:] = b"\xab" * (len(content) - 4096)
    cached.path.write_bytes(content)
    again = CachedEmbedder(Counting(), tmp_path)
    np.testing.assert_array_equal(again.encode_passages(texts), wanted)
    assert "damaged" in caplog.text
    assert (tmp_path / "embeddings.sqlite.damaged").exists()
    last = Counting()
    np.testing.assert_array_equal(CachedEmbedder(last, tmp_path).encode_passages(texts), wanted)
    assert last.encoded == [], "what was begun anew is kept again"


def test_a_place_that_cannot_be_written_costs_time_not_the_answer(tmp_path, caplog):
    (tmp_path / "file").write_text("where a folder should be")
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path / "file")
    assert cached.encode_passages(["one", "two"]).shape == (2, 64)
    assert "cannot be used" in caplog.text
    assert sorted(inner.encoded) == ["one", "two"]


def test_a_lock_that_stays_costs_time_not_the_answer(tmp_path, caplog, monkeypatch):
    cached = CachedEmbedder(Counting(), tmp_path)
    cached.encode_passages(["one"])
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, timeout: connect(path, timeout=0.05))
    holder = connect(cached.path)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert cached.encode_passages(["one", "two"]).shape == (2, 64)
    finally:
        holder.close()
    assert "locked" in caplog.text
    assert not list(tmp_path.glob("*.damaged")), "a lock is somebody else at work, not damage"


def test_vectors_that_are_not_numbers_are_refused_and_not_kept(tmp_path):
    class Broken(Counting):
        def encode_passages(self, texts):
            vectors = super().encode_passages(texts)
            vectors[0, 0] = np.nan
            return vectors

    with pytest.raises(ValueError, match="without NaN"):
        CachedEmbedder(Broken(), tmp_path).encode_passages(["one"])
    np.testing.assert_array_equal(CachedEmbedder(Counting(), tmp_path).encode_passages(["one"]),
                                  HashingEmbedder(64).encode_passages(["one"]))


def test_an_error_of_the_model_is_the_models(tmp_path):
    class Failing(Counting):
        def encode_passages(self, texts):
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        CachedEmbedder(Failing(), tmp_path).encode_passages(["one"])


KILLED = """
import sys, numpy as np
from ragkit.embedding import cache, HashingEmbedder
cache.BLOCK = 8
embedder = cache.CachedEmbedder(HashingEmbedder(64), sys.argv[1])
embedder.encode_passages([f"text number {number}" for number in range(20_000)])
"""


def kept(file):
    """How many vectors the file holds; 0 before it is made."""
    if not file.exists():
        return 0
    with closing(sqlite3.connect(f"file:{file.as_posix()}?mode=ro", uri=True, timeout=30)) as connection:
        try:
            return connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is of Unix")
def test_killed_while_writing_it_is_right_only_smaller(tmp_path, caplog):
    texts = [f"text number {number}" for number in range(2000)]
    wanted = HashingEmbedder(64).encode_passages(texts)
    file = tmp_path / "embeddings.sqlite"
    for more in range(4):
        before = kept(file)
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT)
        deadline = time.monotonic() + 60
        while kept(file) == before and time.monotonic() < deadline:
            time.sleep(0.003 + 0.004 * more)  # then it is in the middle of something, each time something else
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert kept(file) > before
    cached = CachedEmbedder(HashingEmbedder(64), tmp_path)
    np.testing.assert_array_equal(cached.encode_passages(texts), wanted)
    assert cached.hits > 0
    assert not caplog.records


def encode_some(folder, numbers):
    CachedEmbedder(HashingEmbedder(64), folder).encode_passages([f"text number {number}" for number in numbers])


def test_several_processes_share_one_cache(tmp_path):
    context = multiprocessing.get_context("spawn")
    ranges = [range(0, 1500), range(500, 2000), range(1000, 2500)]
    processes = [context.Process(target=encode_some, args=(tmp_path, numbers)) for numbers in ranges]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    texts = [f"text number {number}" for number in range(2500)]
    cached = CachedEmbedder(Counting(), tmp_path)
    np.testing.assert_array_equal(cached.encode_passages(texts), HashingEmbedder(64).encode_passages(texts))
    assert cached.misses == 0


def test_one_shared_embedder_a_process_with_its_cache():
    shared = shared_embedder("hashing")
    assert shared is shared_embedder("hashing")
    assert isinstance(shared, CachedEmbedder) and isinstance(shared.embedder, HashingEmbedder)
