"""Questions at the door, gold as spans, recall by whole quotes."""

import json

import pytest

from ragkit.evaluation import Question, Span, found_groups, gold_spans, load_questions, recall_at_k
from ragkit.hits import Hit
from tests.fixtures import document, span

QUOTE = {"document": "d", "version": "1", "quote": "cap"}
LINE = {"id": "q1", "split": "dev", "kind": "direct", "language": "en", "question": "What is the cap?",
        "answerable": True, "answer": "140", "gold": [[QUOTE]], "filters": {"topic": "travel"}, "reader": ["staff"]}


def write(path, *lines):
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_loading_and_choosing(tmp_path):
    far = LINE | {"id": "q2", "kind": "unanswerable_far", "answerable": False, "gold": [], "split": "test"}
    zh = LINE | {"id": "q3", "kind": "chinese", "language": "zh", "question": "住宿标准\u2028是多少？"}
    path = write(tmp_path / "q.jsonl", json.dumps(LINE), "", json.dumps(far), json.dumps(zh, ensure_ascii=False))

    def ids(**choice):
        return [question.id for question in load_questions(path, **choice)]

    assert ids() == ["q1", "q2", "q3"]
    assert ids(split="dev") == ["q1", "q3"] and ids(language="zh") == ["q3"]
    assert ids(kinds=["chinese", "direct"]) == ["q1", "q3"] and ids(answerable=False) == ["q2"]
    first = load_questions(path)[0]
    assert first.filters.topic == ("travel",) and first.reader == {"staff"}
    with pytest.raises(ValueError, match="unknown kind 'easy'; the kinds are direct"):
        load_questions(path, kinds=["easy"])


@pytest.mark.parametrize(("change", "message"), [
    ({"split": "train"}, "split"), ({"kind": "easy"}, "kind"), ({"question": ""}, "question"),
    ({"gold": []}, "needs gold"), ({"gold": [[]]}, "needs gold"), ({"answerable": False}, "needs gold"),
    ({"gold": [[QUOTE | {"quote": ""}]]}, "quote"), ({"gold": [[QUOTE | {"occurrence": 0}]]}, "occurrence"),
    ({"filters": {"topics": "x"}}, "topics"), ({"filters": {"effective_before": "2025-9-1"}}, "2025-9-1"),
    ({"extra": 1}, "extra")])
def test_a_bad_line_is_named(tmp_path, change, message):
    path = write(tmp_path / "q.jsonl", LINE | {"id": "q0"}, LINE | change)
    with pytest.raises(ValueError, match=rf"q\.jsonl, line 2.*{message}"):
        load_questions(path)


def test_what_is_no_json_or_twice_is_named(tmp_path):
    with pytest.raises(ValueError, match="line 1: not JSON"):
        load_questions(write(tmp_path / "q.jsonl", "{"))
    with pytest.raises(ValueError, match="line 2, id: 'q1' is there twice"):
        load_questions(write(tmp_path / "q.jsonl", LINE, LINE))


def question(*groups):
    return Question(**(LINE | {"gold": groups}))


def test_gold_is_found_as_spans():
    documents = [document("d", "A cap. No cape, a cap!"), document("e", "aaaa")]
    with pytest.raises(ValueError, match="holds the quote 'cap' 3 times; give its occurrence"):
        gold_spans(question([QUOTE]), documents)
    third = gold_spans(question([QUOTE | {"occurrence": 3}]), documents)
    assert third == ((Span("d", "1", 18, 21),),) and documents[0].text[18:21] == "cap"
    overlapping = gold_spans(question([{"document": "e", "version": "1", "quote": "aa", "occurrence": 3}]), documents)
    assert overlapping == ((Span("e", "1", 2, 4),),)
    for wrong, message in ((QUOTE | {"quote": "hat"}, "0 times"), (QUOTE | {"occurrence": 4}, "3 times"),
                           (QUOTE | {"version": "2"}, "d version 2 is not among the documents")):
        with pytest.raises(ValueError, match=message):
            gold_spans(question([wrong]), documents)


def test_a_chunk_is_relevant_when_it_holds_the_whole_quote():
    gold = ((Span("d", "1", 10, 20),),)
    for start, end, wanted in ((10, 20, 1.0), (0, 30, 1.0), (11, 30, 0.0), (0, 19, 0.0), (12, 18, 0.0)):
        assert recall_at_k([span(start, end, 1)], gold, 1) == wanted
    assert recall_at_k([span(0, 30, 1, document_id="other")], gold, 1) == 0.0
    assert recall_at_k([Hit(span(0, 30, 1), 0.5)], gold, 1) == 1.0
    assert recall_at_k([span(0, 10, 1), span(0, 15, 1), span(15, 30, 1)], gold, 3) == 0.0, "two halves are no whole"


def test_groups_are_all_needed_alternatives_are_not_and_each_counts_once():
    one, two, other = Span("d", "1", 0, 5), Span("d", "1", 20, 25), Span("e", "1", 0, 5)
    gold = ((one, other), (two,))
    first, second = span(0, 10, 1), span(18, 30, 1)
    assert found_groups([first], gold) == [True, False]
    assert recall_at_k([first, first, span(0, 7, 1)], gold, 3) == 0.5
    assert recall_at_k([second, span(0, 9, 1, document_id="e")], gold, 2) == 1.0
    assert recall_at_k([first, second], gold, 1) == 0.5, "only the first k"


def test_no_gold_is_none_and_not_zero():
    assert recall_at_k([span(0, 9, 1)], (), 3) is None
    assert recall_at_k([], ((Span("d", "1", 0, 5),),), 3) == 0.0
    with pytest.raises(ValueError, match=r"k \(0\)"):
        recall_at_k([], (), 0)
