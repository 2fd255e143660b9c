"""The BEIR layout: what is read, and that every bad line is named."""

import pytest

from ragkit.documents import Document
from ragkit.evaluation import evaluate_beir, lines, load_beir
from ragkit.knowledge_base import KnowledgeBase
from tests.evaluation.beir_folder import CORPUS, QRELS, QUERIES, write
from tests.evaluation.small_questions import SETTINGS


def test_documents_queries_and_grades(tmp_path):
    collection = load_beir(write(tmp_path / "tiny"))
    assert (collection.name, collection.split, collection.size) == ("tiny", "test", 3)
    assert collection.queries == {"q2": "Which cap?", "q1": "Which train?"} and list(collection.queries) == ["q2", "q1"]
    assert collection.qrels == {"q1": {"q1": 1}, "q2": {"d1": 2, "d3": 0}}, "a query may have a document's id"
    wanted = [Document(id="d1", title="Hotels", text="The cap is 140."),
              Document(id="q1", title="", text="Trains.\u2028Slow."),
              Document(id="d3", title="Only a title", text="Only a title")]
    assert list(collection.documents()) == wanted == list(collection.documents()), "each call reads anew"
    assert next(collection.documents()) == wanted[0], "one at a time"


@pytest.mark.parametrize("qrels", [
    ["query-id\tcorpus-id\tscore", *QRELS], ["", "frage\tdokument\tnote", *QRELS], [*QRELS, ""], QRELS + QRELS[:1],
    [f"{line}\r" for line in QRELS]])
def test_the_header_is_optional_and_a_line_may_come_again(tmp_path, qrels):
    assert load_beir(write(tmp_path / "tiny", qrels=qrels)).qrels == {"q1": {"q1": 1}, "q2": {"d1": 2, "d3": 0}}


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    folder = write(tmp_path / "tiny")
    for path in folder.iterdir():
        path.write_bytes("\ufeff".encode() + path.read_bytes())
    assert load_beir(folder).qrels["q1"] == {"q1": 1}


def test_a_judged_query_without_words_is_named_and_another_is_not_asked(tmp_path):
    blank = {"_id": "blank", "text": "\t"}
    assert "blank" not in load_beir(write(tmp_path / "tiny", queries=[*QUERIES, blank])).queries
    with pytest.raises(ValueError, match=r"^qrels\.tsv, line 4: the query 'blank' is blank in queries\.jsonl"):
        load_beir(write(tmp_path / "tiny", queries=[*QUERIES, blank], qrels=[*QRELS, "blank\td1\t1"]))


def test_any_id_will_do_and_a_document_may_be_empty(tmp_path):
    ids = ["a/b", "a b", "a@1", "a@1#0", "文档", "e\u0301", "é", "../x", "#", "😀", "x" * 300, " lead", "a'\"<b>"]
    corpus = [{"_id": id_, "title": "T", "text": f"number{place} stands here"} for place, id_ in enumerate(ids)]
    corpus += [{"_id": "empty", "title": "", "text": ""}, {"_id": "blank", "text": " \n"}]
    queries = [{"_id": id_, "text": f"number{place}"} for place, id_ in enumerate(ids)]
    beir = load_beir(write(tmp_path / "odd", corpus, queries,
                           [line for id_ in ids for line in (f"{id_}\t{id_}\t2", f"{id_}\tempty\t0")]))
    for settings in (SETTINGS, SETTINGS.replace(chunker="hierarchical")):
        scores = evaluate_beir(KnowledgeBase(beir.documents(), settings), beir)
        assert scores["ndcg", 10] == scores["recall", 100] == (1.0, len(ids))
        other = evaluate_beir(KnowledgeBase(list(beir.documents())[::-1], settings), beir)
        assert other.rankings == scores.rankings


def test_equal_scores_stand_in_the_order_of_document_ids_at_every_depth(tmp_path):
    """The order of chunk ids is another one: "!" and "#" stand before "@", which follows the document's id there."""
    ids = ["b", "a", "a!", "a#", "a@", "a/"]
    corpus = [{"_id": id_, "title": "", "text": "the same words"} for id_ in ids]
    beir = load_beir(write(tmp_path / "ties", corpus, [{"_id": "q", "text": "the same words"}], ["q\tb\t1"]))
    kb = KnowledgeBase(beir.documents(), SETTINGS)
    for depth in range(1, 8):
        assert evaluate_beir(kb, beir, (depth,)).rankings == {"q": sorted(ids)[:depth]}


def test_scores_name_what_is_wrong(tmp_path):
    beir = load_beir(write(tmp_path / "tiny"))
    kb = KnowledgeBase(beir.documents(), SETTINGS)
    scores = evaluate_beir(kb, beir, (1, 3))
    with pytest.raises(KeyError, match=r"no mean \('mrr', 3\); the metrics are recall, .*, each at k = 1, 3"):
        scores["mrr", 3]
    with pytest.raises(ValueError, match="depths is empty"):
        evaluate_beir(kb, beir, ())
    with pytest.raises(ValueError, match=r"k \(0\)"):
        evaluate_beir(kb, beir, (10, 0))
    with pytest.raises(ValueError, match="'q1' of tiny is judged and not in the knowledge base"):
        evaluate_beir(KnowledgeBase(list(beir.documents())[:1], SETTINGS), beir)


def test_splits(tmp_path):
    folder = write(tmp_path / "tiny", qrels_file="qrels/test.tsv")
    write(folder, qrels=QRELS[:1], qrels_file="qrels/train.tsv")
    assert list(load_beir(folder).qrels) == ["q1", "q2"]
    assert load_beir(folder, "train").queries == {"q1": "Which train?"}
    with pytest.raises(FileNotFoundError, match="split 'dev'.*the splits are test, train"):
        load_beir(folder, "dev")
    lone = write(tmp_path / "lone")
    with pytest.raises(FileNotFoundError, match="split 'train'.*the splits are test"):
        load_beir(lone, "train")
    (lone / "qrels.tsv").unlink()
    with pytest.raises(FileNotFoundError, match="add qrels.tsv"):
        load_beir(lone)
    (lone / "queries.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"no queries\.jsonl in"):
        load_beir(lone)


@pytest.mark.parametrize(("line", "message"), [
    ("q1\td1", r"'q1\\td1' has 2 columns where 3 are needed"),
    ("q1 d1 1", "'q1 d1 1' has 1 columns"),
    ("q1\t0\td1\t1", "has 4 columns"),
    ("q1\tnobody\t1", r"the document id 'nobody' is not in corpus\.jsonl"),
    ("q7\td1\t1", r"the query id 'q7' is not in queries\.jsonl"),
    ("q1\td1\thigh", "the grade 'high' is not a whole number"),
    ("q1\td1\t1.5", "the grade '1.5'"), ("q1\td1\t", "the grade ''"), ("q1\td1\t²", "the grade '²'"),
    ("q1\td1\tnan", "the grade 'nan'"),
    ("q2\td1\t1", "'q2' and 'd1' have the grade 1 here and 2 before"),
    ("query-id\tcorpus-id\tscore", "the query id 'query-id'")])
def test_a_bad_judgement_is_named(tmp_path, line, message):
    with pytest.raises(ValueError, match=rf"^qrels\.tsv, line 4: .*{message}"):
        load_beir(write(tmp_path / "tiny", qrels=[*QRELS, line]))


@pytest.mark.parametrize("line", ["q1\td1", "q7\td1\thigh", "q1\tnobody\thigh"])
def test_a_bad_first_line_is_no_header(tmp_path, line):
    with pytest.raises(ValueError, match=r"^qrels\.tsv, line 1: "):
        load_beir(write(tmp_path / "tiny", qrels=[line, *QRELS]))


@pytest.mark.parametrize("qrels", [[], ["query-id\tcorpus-id\tscore"]])
def test_no_judgement_at_all_is_said(tmp_path, qrels):
    with pytest.raises(ValueError, match=r"qrels\.tsv: there is no judgement"):
        load_beir(write(tmp_path / "tiny", qrels=qrels))


@pytest.mark.parametrize("file", ["corpus", "queries"])
@pytest.mark.parametrize(("line", "message"), [
    ('{"_id": "x"', "not JSON"), ('["x", "y"]', r"\['x', 'y'\] is no object"),
    ({"text": "no id"}, "_id: None is no text"), ({"_id": 7, "text": "x"}, "_id: 7 is no text"),
    ({"_id": " ", "text": "x"}, "_id: ' ' is blank"), ({"_id": "x"}, "text: None is no text"),
    ({"_id": "x", "text": 3}, "text: 3 is no text"), ({"_id": "x", "text": "y", "title": ["z"]}, r"title: \['z'\]"),
    ({"_id": "q1", "text": "again"}, "_id: 'q1' is there twice, first in line 2")])
def test_a_bad_document_or_query_is_named(tmp_path, file, line, message):
    good = {"corpus": CORPUS, "queries": QUERIES}[file]
    with pytest.raises(ValueError, match=rf"^{file}\.jsonl, line 4.*{message}"):
        load_beir(write(tmp_path / "tiny", **{file: [*good, line]}))


def test_bytes_that_are_no_utf8_are_named(tmp_path):
    folder = write(tmp_path / "tiny")
    with (folder / "corpus.jsonl").open("ab") as file:
        file.write(b'{"_id": "x", "text": "caf\xe9"}\n')
    with pytest.raises(ValueError, match=r"corpus\.jsonl, line 4: not UTF-8 .*xe9"):
        load_beir(folder)


def test_a_long_file_shows_a_bar_unless_it_is_switched_off(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(lines, "LONG_WORK", 1)
    folder = write(tmp_path / "tiny")
    monkeypatch.setenv("RAGKIT_PROGRESS", "0")
    load_beir(folder)
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("RAGKIT_PROGRESS", "1")
    load_beir(folder)
    assert "tiny, queries: 100%" in capfd.readouterr().err
