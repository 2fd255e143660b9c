"""The benchmark's chain on a collection whose ranking is known; public data take no part in the tests."""

import json

import pytest

from benchmarks import quality
from ragkit.evaluation import evaluate_beir, load_beir
from tests.evaluation.beir_folder import write

WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett"]
LONG = "Here stands a sentence that says nothing at all about the matter. " * 20


@pytest.fixture
def data(tmp_path, monkeypatch):
    """130 documents, more than are ranked; ten of them answer a query, the last only far down in a long text."""
    corpus = [{"_id": f"d{number}", "title": "", "text": word} for number, word in enumerate(WORDS[:9])]
    corpus.append({"_id": "d9", "title": "", "text": f"{LONG}\n\n{WORDS[9]}\n\n{LONG}"})
    corpus += [{"_id": f"x{number}", "title": "", "text": f"noise{number}"} for number in range(120)]
    queries = [{"_id": f"q{number}", "text": word} for number, word in enumerate(WORDS)]
    queries.append({"_id": "none", "text": "zulu"})
    qrels = [f"q{number}\td{number}\t1" for number in range(10)] + ["none\td0\t0"]
    write(tmp_path / "known", corpus, queries, qrels)
    monkeypatch.setenv("RAGKIT_DATA", str(tmp_path))
    monkeypatch.setenv("RAGKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_both_chains_rank_the_known_documents(data, capsys):
    whole, chunked = quality.measure(["known"], ["hashing"])
    assert (whole.collection, whole.mode, whole.chunks) == ("known", "one chunk a document", 130)
    assert chunked.chunks > 130
    for row in (whole, chunked):
        assert row.queries == 10, "a query with nothing relevant is left out, and the denominator says so"
        assert row.recall_100 == pytest.approx(1.0)
    printed = capsys.readouterr().out
    assert f"{whole.ndcg_10:.3f}" in printed and "nDCG@10" in printed and "benchmarks.quality known" in printed
    assert str(data) not in printed


def test_a_document_counts_as_much_as_its_best_chunk_and_enough_documents_are_ranked(data):
    beir = load_beir(data / "known")
    kb = quality.rk.KnowledgeBase(beir.documents(), quality.rk.Settings(embedder="hashing"))
    ranked = evaluate_beir(kb, beir, (quality.DEEP,)).rankings
    assert all(len(documents) == len(set(documents)) == quality.DEEP for documents in ranked.values())
    assert [ranked[f"q{number}"][0] for number in range(10)] == [f"d{number}" for number in range(10)]


def test_a_collection_in_which_nothing_is_relevant_has_no_means(data, capsys):
    write(data / "nothing", [{"_id": "d", "title": "", "text": "x"}], [{"_id": "q", "text": "y"}], ["q\td\t0"])
    rows = quality.measure(["nothing"], ["hashing"])
    assert [(row.queries, row.ndcg_10) for row in rows] == [(0, None), (0, None)] and "–" in capsys.readouterr().out


def test_without_data_it_says_what_to_set(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("RAGKIT_DATA", raising=False)
    assert quality.measure() == [] and "set RAGKIT_DATA" in capsys.readouterr().out
    monkeypatch.setenv("RAGKIT_DATA", str(tmp_path))
    assert quality.measure() == [] and "scifact" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError, match="corpus.jsonl"):
        quality.measure(["absent"])


def test_the_command_line_of_the_benchmarks_knows_the_part():
    from benchmarks import run

    assert "quality" in run.PARTS and "quality" in run.__doc__


def test_rows_are_plain_numbers(data):
    json.dumps(quality.measure(["known"], ["hashing"]))
