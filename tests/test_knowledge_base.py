"""The knowledge base: adding, replacing, removing, and the cache of a folder after anything that happens to it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from ragkit.embedding import HashingEmbedder
from ragkit.filters import RetrievalFilters
from ragkit.folder_cache import FolderCache
from ragkit.knowledge_base import KnowledgeBase, make_chunker
from ragkit.settings import Settings
from tests.fixtures import ROOT, base, document

SMALL = Settings(embedder="hashing", min_score=None)


def owners(knowledge):
    return {(chunk.document_id, chunk.version) for chunk in knowledge.corpus.chunks.values()}


def whole(knowledge):
    """Everything a knowledge base holds, to compare."""
    index = knowledge.corpus.index
    return (knowledge.documents, sorted(knowledge.corpus.chunks.values(), key=lambda chunk: chunk.id),
            sorted(index.ids), index.reconstruct(sorted(index.ids)).tolist() if len(index) else [])


def test_documents_and_chunks():
    knowledge = base(document("b", "Hotel. " * 80), document("a", "Printer."), document("a", "New.", version="2"))
    assert [doc.key for doc in knowledge.documents] == [("a", "1"), ("a", "2"), ("b", "1")]
    assert {chunk.document_id for chunk in knowledge.chunks} == {"a", "b"} and len(knowledge.chunks) > 3
    for chunk in knowledge.corpus.chunks.values():
        assert knowledge.corpus.documents[chunk.document_id, chunk.version].text[chunk.start:chunk.end] == chunk.text
    assert "searched chunks" in knowledge._repr_html_()


def test_only_the_shortest_chunks_are_searched():
    knowledge = base(document("a", "A sentence about hotels. " * 120), chunker="hierarchical")
    assert {chunk.level for chunk in knowledge.chunks} == {3}
    assert {chunk.level for chunk in knowledge.corpus.chunks.values()} == {1, 2, 3}


def test_the_same_version_with_new_text_leaves_no_old_child():
    knowledge = base(document("a", "The hotel cap is 140 euros. " * 30), document("b", "Printer paper."),
                     chunker="hierarchical", expansion="parents")
    knowledge.add([document("a", "The canteen closes at two.")])
    texts = " ".join(chunk.text for chunk in knowledge.corpus.chunks.values())
    assert "hotel" not in texts and "canteen" in texts and "Printer" in texts
    assert set(knowledge.corpus.index.ids) <= set(knowledge.corpus.chunks)
    assert whole(knowledge) == whole(base(document("b", "Printer paper."), document("a", "The canteen closes at two."),
                                          chunker="hierarchical", expansion="parents"))
    assert not any("140" in hit.chunk.text for hit in knowledge.retrieve("hotel cap 140 euros").candidates)


def test_the_same_version_with_other_metadata_counts_at_once():
    knowledge = base(document("a", "hotel cap", topic="travel"))
    knowledge.add([document("a", "hotel cap", topic="finance", audience={"staff"})])
    assert knowledge.retrieve("hotel cap").refused
    assert not knowledge.retrieve("hotel cap", RetrievalFilters(topic="finance"), reader={"staff"}).refused


def test_the_last_of_two_with_one_key_counts():
    first, last = document("a", "old words"), document("a", "new words")
    knowledge = base(first)
    knowledge.add([last, first])
    assert knowledge.documents == [first]
    knowledge.add([first, last])
    assert knowledge.documents == [last]


def test_adding_what_is_there_does_no_work():
    knowledge = base(document("a", "hotel cap"))
    corpus = knowledge.corpus
    knowledge.add([document("a", "hotel cap")])
    knowledge.add([])
    assert knowledge.corpus is corpus


def test_a_new_version_supersedes_and_removing_it_brings_the_old_one_back():
    knowledge = base(document("a", "cap 120", date="2024-01-01"), document("b", "printer"))
    knowledge.add([document("a", "cap 140", version="2", date="2025-01-01")])

    def current(**filters):
        return knowledge.retrieve("cap", RetrievalFilters(**filters)).candidates[0].chunk.text

    assert current() == "cap 140"
    assert current(effective_before="2024-12-31") == "cap 120"
    assert dict(knowledge.retrieve("cap").trace["filter"].excluded) == {"superseded": 1}
    knowledge.remove("a", "2")
    assert current() == "cap 120" and owners(knowledge) == {("a", "1"), ("b", "1")}
    knowledge.remove("a")
    assert owners(knowledge) == {("b", "1")}
    knowledge.remove("b")
    assert knowledge.retrieve("cap").refusal_reason == "no_candidates"


def test_removing_what_is_not_there_names_it():
    knowledge = base(document("a", "hotel"))
    with pytest.raises(KeyError, match="no document z"):
        knowledge.remove("z")
    with pytest.raises(KeyError, match="no document a version 7"):
        knowledge.remove("a", "7")
    assert len(knowledge.documents) == 1


@pytest.mark.parametrize("failure", ["raises", "NaN", "too few", "wrong dimension"])
def test_a_failing_embedder_leaves_everything_as_it_was(failure):
    knowledge = base(document("a", "hotel cap"))
    before, corpus = whole(knowledge), knowledge.corpus

    def encode_passages(texts):
        if failure == "raises":
            raise RuntimeError("out of memory")
        shape = {"NaN": (len(texts), 256), "too few": (0, 256), "wrong dimension": (len(texts), 5)}[failure]
        return np.full(shape, np.nan if failure == "NaN" else 1.0, dtype=np.float32)

    knowledge.embedder.encode_passages = encode_passages
    with pytest.raises((RuntimeError, ValueError)):
        knowledge.add([document("a", "other"), document("b", "printer")])
    assert knowledge.corpus is corpus and whole(knowledge) == before
    assert not knowledge.retrieve("hotel").refused


def test_whoever_searches_meanwhile_has_a_whole_corpus():
    knowledge = base(document("a", "hotel cap"))
    old = knowledge.corpus
    knowledge.remove("a")
    assert len(old.index) == len(old.chunks) == len(old.documents) == 1


def test_what_the_model_does_not_read_is_reported(caplog):
    class Short(HashingEmbedder):
        max_tokens = 6

    knowledge = KnowledgeBase([document("a", "one two three four five six seven eight."), document("b", "short")],
                              Settings(chunker="sentence"), Short(64))
    (entry,) = knowledge.too_long
    assert (entry.chunk_id.startswith("a@1:"), entry.tokens, entry.limit) == (True, 9, 6)
    assert "make chunks smaller" in caplog.text
    knowledge.add([document("a", "brief")])
    assert knowledge.too_long == ()


def test_overrides_and_the_difference_of_none_and_zero():
    knowledge = base(document("a", "hotel cap"), document("b", "hotel"), document("c", "printer"), min_score=0.9)
    assert knowledge.retrieve("zebra").refused, "the settings' threshold"
    assert len(knowledge.retrieve("zebra", min_score=None).evidence) == 3
    assert len(knowledge.retrieve("zebra", min_score=0.0).evidence) == 3
    assert len(knowledge.retrieve("hotel", top_k=2, min_score=None).candidates) == 2
    assert len(knowledge.retrieve("hotel", evidence_top_k=1, min_score=None).evidence) == 1
    assert knowledge.settings.min_score == 0.9
    for wrong in ({"top_k": 0}, {"evidence_top_k": -1}, {"min_score": 1.5}, {"min_score": float("nan")},
                  {"top_k": 2.5}):
        (name, value), = wrong.items()
        with pytest.raises(ValueError, match=f"{name}.*{value}"):
            knowledge.retrieve("hotel", **wrong)


def test_filters_are_checked_at_the_door():
    knowledge = base(document("a", "hotel cap", topic="travel"))
    assert not knowledge.retrieve("hotel", {"topic": "travel"}).refused
    with pytest.raises(ValueError, match="topics"):
        knowledge.retrieve("hotel", {"topics": "travel"})
    with pytest.raises(ValueError, match="2025-9-1"):
        knowledge.retrieve("hotel", {"effective_before": "2025-9-1"})
    with pytest.raises(TypeError, match="filters .*'travel'"):
        knowledge.retrieve("hotel", "travel")
    with pytest.raises(TypeError, match="reader"):
        knowledge.retrieve("hotel", reader="staff")


def test_chunkers_by_name():
    text = document("a", "A sentence about hotels. " * 30)
    for name in ("fixed", "sentence", "heading", "hierarchical"):
        settings = Settings(chunker=name, chunk_size=100, chunk_overlap=10, level_sizes=(300, 100))
        assert all(chunk.end - chunk.start <= 300 for chunk in make_chunker(settings).chunk(text))
    tokens = Settings(chunker="sentence", chunk_size=8, size_unit="tokens")
    assert {len(chunk.text.split()) for chunk in make_chunker(tokens, HashingEmbedder()).chunk(text)} == {8}
    with pytest.raises(ValueError, match="embedder"):
        make_chunker(tokens)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RAGKIT_CACHE", str(tmp_path / "cache ? # %41"))  # signs that mean something in a URL
    place = tmp_path / "documents"
    place.mkdir()
    for number in range(5):
        (place / f"note{number}.md").write_text(f"# Note {number}\n\nThe hotel cap of town {number} is {number}00 euros.\n",
                                                encoding="utf-8")
    (place / "bad.md").write_text("---\nid: [\n---\nnever closed", encoding="utf-8")
    return place


def home(place):
    return FolderCache(place, SMALL, HashingEmbedder()).home


def from_folder(place, **more):
    return KnowledgeBase.from_folder(place, SMALL, HashingEmbedder(), **more)


@pytest.fixture
def no_building(monkeypatch):
    """Whatever loads documents or encodes passages afterwards fails the test."""
    def forbidden(*_):
        raise AssertionError("this should have come from the cache")

    def switch():
        monkeypatch.setattr("ragkit.knowledge_base.load_folder", forbidden)
        monkeypatch.setattr(HashingEmbedder, "encode_passages", forbidden)

    return switch


def test_from_the_cache_it_is_the_same(folder, no_building):
    fresh, uncached = from_folder(folder), from_folder(folder, cache=False)
    no_building()
    kept = from_folder(folder)
    assert whole(fresh) == whole(kept) == whole(uncached)
    assert fresh.load_report == kept.load_report and fresh.load_report.problems
    assert (kept.too_long, kept.load_report.documents[0].headings) == ((), fresh.load_report.documents[0].headings)
    assert {(doc.title, doc.source) for doc in kept.documents} == {(f"Note {n}", f"note{n}.md") for n in range(5)}


def test_any_change_is_noticed(folder, no_building):
    from_folder(folder)

    def answer():
        return from_folder(folder).retrieve("hotel cap of town").candidates

    (folder / "note0.md").write_text("The hotel cap of town is 999 euros.", encoding="utf-8")
    assert any("999" in hit.chunk.text for hit in answer())
    (folder / "deeper").mkdir()
    (folder / "deeper" / "new.md").write_text("The hotel cap of town is 888 euros.", encoding="utf-8")
    assert any("888" in hit.chunk.text for hit in answer())
    (folder / "deeper" / "new.md").unlink()
    assert not any("888" in hit.chunk.text for hit in answer())
    (folder / "note1.md").write_text("---\naudience: [board]\n---\nThe hotel cap.", encoding="utf-8")
    assert not any(hit.chunk.document_id == "note1" for hit in answer())
    no_building()
    answer()


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_change_behind_a_link_is_noticed(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "linked.md").write_text("The hotel cap of town is 777 euros.", encoding="utf-8")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "loop").symlink_to(folder)
    assert any("777" in chunk.text for chunk in from_folder(folder).chunks)
    (tmp_path / "elsewhere" / "linked.md").write_text("The hotel cap of town is 666 euros.", encoding="utf-8")
    assert any("666" in chunk.text for chunk in from_folder(folder).chunks)


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text exist on Linux only")
def test_a_file_name_that_is_no_text_stops_nothing(folder):
    with open(os.fsencode(folder) + b"/caf\xe9.md", "wb") as file:
        file.write(b"The hotel cap of the cafe.")
    for _ in range(2):
        assert len(from_folder(folder).documents) >= 5


def test_settings_and_embedders_do_not_share_a_cache(folder):
    from_folder(folder)
    small = KnowledgeBase.from_folder(folder, SMALL.replace(level_sizes=(40, 20)), HashingEmbedder())
    assert max(len(chunk.text) for chunk in small.chunks) <= 20
    assert KnowledgeBase.from_folder(folder, SMALL, HashingEmbedder(32)).corpus.index.dimension == 32
    other = SMALL.replace(top_k=3, min_score=0.5, expansion="none")
    assert FolderCache(folder, other, HashingEmbedder()).home == home(folder), "what only decides shapes no index"


@pytest.mark.parametrize("part", ["head.json", "index.json", "index.faiss", "chunks.sqlite"])
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "garbage", "flipped", "null"])
def test_a_damaged_part_is_recognised_and_built_anew(folder, part, damage, caplog):
    wanted = whole(from_folder(folder))
    path = home(folder) / part
    content = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "flipped":
        content[:16] = b"\x00" * 16
        path.write_bytes(content)
    else:
        path.write_bytes({"empty": b"", "cut": content[:len(content) // 3], "garbage": b"\xff\x00garbage" * 99,
                          "null": b"null"}[damage])
    again = from_folder(folder)
    assert whole(again) == wanted and again.load_report.problems
    if (part, damage) != ("head.json", "gone"):
        assert "built anew" in caplog.text
    caplog.clear()
    assert whole(from_folder(folder)) == wanted and not caplog.text, "and it is kept again"


def test_an_index_of_other_chunks_is_recognised(folder, tmp_path, caplog):
    wanted = whole(from_folder(folder))
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.md").write_text("Something else.", encoding="utf-8")
    from_folder(other)
    for name in ("index.faiss", "index.json"):
        shutil.copy(home(other) / name, home(folder) / name)
    assert whole(from_folder(folder)) == wanted
    assert "damaged" in caplog.text


def test_a_head_of_another_folder_is_not_believed(folder):
    wanted = whole(from_folder(folder))
    head = json.loads((home(folder) / "head.json").read_text(encoding="utf-8"))
    (home(folder) / "head.json").write_text(json.dumps(head | {"content": "0" * 64}), encoding="utf-8")
    assert whole(from_folder(folder)) == wanted


def test_a_cache_that_cannot_be_written_costs_time_not_the_answer(folder, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("where a folder should be")
    monkeypatch.setenv("RAGKIT_CACHE", str(tmp_path / "file"))
    assert len(from_folder(folder).documents) == 5
    assert "could not be kept" in caplog.text
    default = KnowledgeBase.from_folder(folder, SMALL)  # with the cache of embeddings as well
    assert len(default.documents) == 5


def test_folders_that_cannot_be_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("RAGKIT_CACHE", str(tmp_path / "cache"))
    loaded = []
    monkeypatch.setattr("ragkit.knowledge_base.make_embedder", lambda name: loaded.append(name) or HashingEmbedder())
    with pytest.raises(FileNotFoundError, match="nowhere"):
        KnowledgeBase.from_folder(tmp_path / "nowhere")
    (tmp_path / "file.md").write_text("text")
    with pytest.raises(NotADirectoryError, match="file.md"):
        KnowledgeBase.from_folder(tmp_path / "file.md")
    assert loaded == [], "no model is loaded for a folder that is not there"
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no document could be read from .*empty.*it holds no files"):
        KnowledgeBase.from_folder(tmp_path / "empty")
    (tmp_path / "blank").mkdir()
    (tmp_path / "blank" / "blank.md").write_text("\n \n")
    with pytest.raises(ValueError, match="blank.md"):
        KnowledgeBase.from_folder(tmp_path / "blank")


KILLED = """
import sys
import time
from ragkit.embedding import HashingEmbedder
from ragkit.index import FaissIndex
from ragkit.knowledge_base import KnowledgeBase
from ragkit.settings import Settings
save = FaissIndex.save
def wait(where):
    if where == sys.argv[2]:
        print("now", flush=True)
        sys.stdin.read()
def slow(self, path):
    wait("before the index")
    save(self, path)
    wait("after the index")
FaissIndex.save = slow
if sys.argv[2] == "while replacing":
    import os
    os.replace = (lambda replace: lambda a, b: (wait("while replacing") if "building-" in str(a) and
                  os.path.isdir(a) else None, replace(a, b)))(os.replace)
KnowledgeBase.from_folder(sys.argv[1], Settings(embedder="hashing", min_score=None), HashingEmbedder())
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is of Unix")
@pytest.mark.parametrize("moment", ["before the index", "after the index", "while replacing"])
def test_killed_while_writing_leaves_nothing_that_looks_finished(folder, moment, caplog):
    from_folder(folder)
    (folder / "note0.md").write_text("The hotel cap of town is 999 euros.", encoding="utf-8")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder), moment], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, cwd=ROOT, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert process.stdout.readline() == b"now\n"
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.stdin.close()
    process.stdout.close()
    wanted = whole(from_folder(folder, cache=False))
    assert whole(from_folder(folder)) == wanted
    assert not caplog.text
    assert whole(from_folder(folder)) == wanted


SHARED = """
import sys
import time
from ragkit.knowledge_base import KnowledgeBase
from ragkit.settings import Settings
for _ in range(4):
    base = KnowledgeBase.from_folder(sys.argv[1], Settings(embedder="hashing"))
    result = base.retrieve("hotel cap of town 3", min_score=None)
    assert result.candidates[0].chunk.document_id == "note3", result
print(len(base.documents))
"""


def test_several_processes_share_one_cache(folder):
    processes = [subprocess.Popen([sys.executable, "-c", SHARED, str(folder)], stdout=subprocess.PIPE, cwd=ROOT,
                                  stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(ROOT)))
                 for _ in range(3)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [output for output, _ in outputs] == [b"5\n"] * 3, [error.decode() for _, error in outputs]


def test_nothing_is_pickled(folder):
    from_folder(folder)
    for path in home(folder).rglob("*"):
        assert not path.read_bytes().startswith(b"\x80"), path
    sources = [path for path in (ROOT / "ragkit").rglob("*.py") if "import pickle" in path.read_text(encoding="utf-8")]
    assert sources == []


def test_what_a_killed_build_left_is_cleared_away_after_a_day(folder):
    place = FolderCache(folder, SMALL, HashingEmbedder()).home.parent
    for name, age in (("building-old", 2 * 86_400), ("building-new", 60)):
        (place / name).mkdir(parents=True)
        os.utime(place / name, (time.time() - age,) * 2)
    from_folder(folder)
    assert sorted(left.name for left in place.glob("building-*")) == ["building-new"]
