"""Questions at the door, gold as spans, recall by whole quotes."""

import gzip
import json

import pytest

from ragkit.evaluation import (Question, Span, compare, evaluate, found_groups, gold_spans, load_questions, recall_at_k,
                               sweep)
from ragkit.hits import Hit
from tests.evaluation.small_questions import SETTINGS, small_base
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
    assert ids(kinds="chinese") == ["q3"] and ids(kinds=iter(["chinese", "direct"])) == ["q1", "q3"]
    with pytest.raises(ValueError, match="unknown split 'train'; the splits are dev, test"):
        load_questions(path, split="train")
    with pytest.raises(ValueError, match="unknown language 'fr'; the languages are en, zh"):
        load_questions(path, language="fr")


def test_byte_order_mark_line_ends_and_blank_lines_change_nothing(tmp_path):
    lines = [json.dumps(LINE).encode(), b"", json.dumps(LINE | {"id": "q2"}).encode()]
    path = tmp_path / "q.jsonl"
    path.write_bytes(b"\n".join(lines))
    plain = load_questions(path)
    path.write_bytes("\ufeff".encode() + b"\r\n".join(lines) + b"\r\n \r\n")
    assert load_questions(path) == plain and len(plain) == 2
    path.write_bytes(b"\n".join(reversed(lines)))
    assert load_questions(path)[::-1] == plain


@pytest.mark.parametrize(("change", "message"), [
    ({"split": "train"}, "split"), ({"kind": "easy"}, "kind"), ({"question": ""}, "question"),
    ({"question": " \u3000"}, "question: .*must not be blank"), ({"id": " "}, "id: .*must not be blank"),
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
    for wrong in ("[" * 100_000, "9" * 5000, "nul"):
        with pytest.raises(ValueError, match="line 7: not JSON"):
            load_questions(write(tmp_path / "q.jsonl", *(LINE | {"id": str(number)} for number in range(6)), wrong))
    with pytest.raises(ValueError, match="line 2, id: 'q1' is there twice, first in q.jsonl, line 1"):
        load_questions(write(tmp_path / "q.jsonl", LINE, LINE))


@pytest.mark.parametrize(("raw", "message"), [
    (b"", r"^q\.jsonl: there are no questions in it"), (b" \r\n", "no questions"),
    (b'\n\n{"id": "caf\xe9"}', r"^q\.jsonl, line 3: not UTF-8 \(got b'\\xe9'\); save it as UTF-8"),
    (gzip.compress(b"{}"), r"^q\.jsonl, line 1: not UTF-8 .*unpack it")])
def test_a_file_that_is_no_text_or_empty_is_named(tmp_path, raw, message):
    (tmp_path / "q.jsonl").write_bytes(raw)
    with pytest.raises(ValueError, match=message):
        load_questions(tmp_path / "q.jsonl")


def test_gold_that_is_not_there_is_named_with_its_line(tmp_path):
    asked = load_questions(write(tmp_path / "q.jsonl", "", LINE | {"gold": [[QUOTE | {"document": "cab"}]]}))
    assert asked[0].source == "q.jsonl, line 2"
    for ask in (evaluate, lambda kb, questions: compare({"a": SETTINGS}, questions, kb=kb),
                lambda kb, questions: sweep({"top_k": (1,)}, questions, kb=kb)):
        with pytest.raises(ValueError, match="^q.jsonl, line 2, gold: question q1: .* holds the quote 'cap' 0 times"):
            ask(small_base(), asked)
    changed = asked[0].model_copy(update={"id": "other"})
    with pytest.raises(ValueError, match="^question other: "):  # no line of the file says that
        evaluate(small_base(), [changed])


def test_where_a_question_was_read_is_no_part_of_it(tmp_path):
    path = write(tmp_path / "q.jsonl", "", LINE)
    read, made = load_questions(path)[0], Question(**LINE)
    assert read == made and hash(read) == hash(made) and repr(read) == repr(made)
    assert read.model_dump_json() == made.model_dump_json() and (read.source, made.source) == ("q.jsonl, line 2", "")
    assert read.model_copy().source == read.source


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
    for wrong in (0, -1, 2.5, "3", True, None):
        with pytest.raises(ValueError, match=r"k \(.*\) must be a whole number"):
            recall_at_k([], (), wrong)
