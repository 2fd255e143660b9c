"""The recorded answers: exact, current, labelled as data/README.md says, and made from the prompts they name."""

import json
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest

import ragkit as rk
from ragkit.citations import parse_citations
from ragkit.citations.sentences import answer_sentences
from ragkit.context import Context
from ragkit.generation.prompt import messages
from ragkit.recorded import LABELS, PROMPTS, load_recorded

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recorded():
    return load_recorded()


@pytest.fixture(scope="module")
def documents():
    return {document.key: document for document in rk.load_folder(rk.data_path("handbook")).documents}


def labels(recorded) -> Counter:
    return Counter(sentence.label for answer in recorded for sentence in answer.sentences)


def test_there_are_enough_of_every_prompt_and_every_kind(recorded):
    assert len(recorded) >= 60
    by_prompt = Counter(answer.prompt for answer in recorded)
    assert all(by_prompt[prompt] >= 8 for prompt in PROMPTS), by_prompt
    kinds = {question.id: question.kind for question in rk.load_questions()}
    assert {"direct", "paraphrase", "table", "identifier", "multi_hop", "dated", "injection", "unanswerable_near",
            "unanswerable_far"} <= {kinds[answer.question_id] for answer in recorded}


def test_every_question_is_one_of_the_handbooks(recorded):
    questions = {question.id: question.question for question in rk.load_questions()}
    assert [answer.id for answer in recorded if questions.get(answer.question_id) != answer.question] == []


def test_every_source_is_its_span_of_the_document_as_it_is_now(recorded, documents):
    for answer in recorded:
        for source in answer.context:
            document = documents[source.key]
            assert document.text[source.start:source.end] == source.text, (answer.id, source.number)
            assert document.content_hash == source.content_hash, (answer.id, source.number)
            assert document.title == source.title


def test_the_sentences_are_those_that_the_checks_cut(recorded):
    for answer in recorded:
        cut = answer_sentences(answer.answer)
        assert [(s.start, s.end) for s in cut] == [(s.start, s.end) for s in answer.sentences], answer.id
        assert [tuple(sorted({m.number for m in s.marks})) for s in cut] == [s.cited for s in answer.sentences]
    assert sum(bool(parse_citations(answer.answer)) for answer in recorded) >= 30


def test_every_label_is_there_often_enough_to_test_a_check_with(recorded):
    counts = labels(recorded)
    assert all(counts[label] >= 25 for label in LABELS), counts
    cited_wrongly = [sentence for answer in recorded for sentence in answer.sentences
                     if sentence.label == "supported" and sentence.cited
                     and not set(sentence.cited) & set(sentence.correct_sources)]
    assert len(cited_wrongly) >= 3  # true, and attributed to a source that does not say so


def test_the_datasheet_gives_the_counts(recorded):
    counts, text = labels(recorded), " ".join((ROOT / "data" / "README.md").read_text(encoding="utf-8").split())
    sentences = ", ".join(f"{counts[label]} {label}" for label in LABELS)
    by_prompt = Counter(answer.prompt for answer in recorded)
    answers = ", ".join(f"{by_prompt[prompt]} {prompt}" for prompt in PROMPTS)
    assert f"{len(recorded)} answers ({answers}) with {sum(counts.values())} sentences ({sentences})" in text


def test_a_sentence_called_supported_adds_no_number(recorded):
    """A label set by hand may slip: a number of a supported sentence stands in a source that supports it, or in
    the question ("a claim for 3,000 euros" is one above 2,500)."""
    number = re.compile(r"\d+(?:[.,:]\d+)*")
    for answer in recorded:
        for sentence in answer.sentences:
            if sentence.label != "supported":
                continue
            said = answer.answer[sentence.start:sentence.end]
            for mark in reversed(parse_citations(said)):
                said = said[:mark.bracket[0]] + said[mark.bracket[1]:]
            shown = " ".join(answer.context[n].header + " " + answer.context[n].shown_text
                             for n in sentence.correct_sources)
            missing = set(number.findall(said)) - set(number.findall(shown + " " + answer.question))
            assert not missing, (answer.id, said, missing)


def test_the_chat_that_was_sent_can_be_made_again(recorded):
    """What the model read is what the package and tools/record_answers.py would send now."""
    tool = runpy.run_path(str(ROOT / "tools" / "record_answers.py"))
    for answer in recorded:
        sent = tool["chat"](answer.prompt, answer.question, answer.context)
        assert tool["digest"](sent) == answer.messages_sha256, answer.id
        if answer.prompt in ("marked", "plain"):
            assert sent == messages(answer.question, answer.context, examples=True)


class Says:
    """A model that says what it is told."""

    name, answer_start, stop = "local:m", "", ()

    def __init__(self, answer):
        self.answer = answer

    def complete(self, sent):
        from ragkit.generation import TextStream

        return TextStream(lambda stream: iter([self.answer]))


def test_a_changed_prompt_is_asked_again_and_only_the_same_answer_keeps_its_labels():
    tool = runpy.run_path(str(ROOT / "tools" / "record_answers.py"))
    question, context = rk.load_questions()[0], Context.from_texts("A room costs 150 euros.")
    asked = tool["describe"](Says(""), "plain", question, context, "0")
    old = tool["record"](Says("It is 150 [1]."), [], asked, None)
    assert [sentence["label"] for sentence in old["sentences"]] == ["to do"]
    old["sentences"][0]["label"] = "supported"
    assert tool["is_current"](old, asked) and not tool["is_current"](None, asked)
    for changed in ({"messages_sha256": "of another prompt"}, {"sources": []},
                    {"settings": asked["settings"] | {"threads": 9}}):
        assert not tool["is_current"](old, asked | changed), changed
    again = tool["record"](Says("It is 150 [1]."), [], asked | {"messages_sha256": "1"}, old)
    assert again == old | {"messages_sha256": "1"}
    other = tool["record"](Says("It is 160 [1]."), [], asked, old)
    assert [sentence["label"] for sentence in other["sentences"]] == ["to do"]
    elsewhere = tool["record"](Says("It is 150 [1]."), [], asked | {"sources": []}, old)
    assert [sentence["label"] for sentence in elsewhere["sentences"]] == ["to do"], "the numbers mean other sources"


def test_the_rows_of_the_file_have_the_form_that_the_tool_writes():
    tool = runpy.run_path(str(ROOT / "tools" / "record_answers.py"))
    rows = tool["rows_of"](rk.data_path("recorded_answers.jsonl"))
    question = rk.load_questions()[0]
    made = tool["record"](Says("Yes."), [], tool["describe"](Says(""), "plain", question, Context.from_texts("x"), "0"),
                          None)
    assert {tuple(row) for row in rows} == {tuple(made)}
    assert {tuple(row["settings"]) for row in rows} == {tuple(made["settings"])}


def test_the_given_start_is_in_the_answer(recorded):
    for answer in recorded:
        assert answer.answer.startswith(answer.settings.answer_start)
        assert (answer.settings.answer_start != "") == (answer.prompt == "marked")


def line(**changes) -> str:
    """A small valid line, changed."""
    source = {"number": 1, "document_id": "d", "version": "1", "title": "D", "text": "A room costs 150 euros.",
              "start": 0, "end": 23, "content_hash": "0"}
    settings = {"model": "m", "weights_sha256": "0", "temperature": 0, "max_tokens": 9, "answer_start": "", "stop": [],
                "threads": 1, "transformers": "5", "torch": "2"}
    sentence = {"start": 0, "end": 11, "label": "supported", "note": "", "cited": [1], "correct_sources": [1]}
    row = {"id": "a", "question_id": "q", "question": "What?", "prompt": "plain", "settings": settings,
           "messages_sha256": "0", "budget": 10, "tokens": 9, "sources": [source], "answer": "It is 150 [1]",
           "finish": "stop", "sentences": [{**sentence, "end": 13}]}
    row["sentences"][0].update(changes.pop("sentence", {}))
    return json.dumps({**row, **changes})


def test_a_line_becomes_an_answer_with_its_context(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(line() + "\n\n" + line(id="b") + "\n", encoding="utf-8")
    first, second = load_recorded(path)
    assert (first.id, second.id) == ("a", "b")
    assert first.context[1].text == "A room costs 150 euros." and first.context.tag == "source"
    assert first.context.text.startswith("<source>\n[1] D (version 1)\nA room costs 150 euros.")


@pytest.mark.parametrize(("changes", "said"), [
    ({"sentence": {"label": "right"}}, "line 1, sentences.0.label"),
    ({"sentence": {"correct_sources": []}}, "line 1, sentences.0: .*names the sources that support it"),
    ({"sentence": {"correct_sources": [2]}}, r"correct_sources names 2, and the sources are \[1\]"),
    ({"sentence": {"label": "contradicted", "correct_sources": []}}, "needs a note that says why"),
    ({"sentence": {"end": 14}}, r"sentence \(0, 14\) overlaps another or lies outside the answer"),
    ({"sentence": {"end": 5}}, "' 150 .1.' of the answer is in no sentence"),
    ({"prompt": "clever"}, "line 1, prompt"),
    ({"extra": 1}, "line 1, extra"),
    ({"answer": ""}, "line 1, answer"),
])
def test_a_bad_line_is_named_with_its_field(tmp_path, changes, said):
    path = tmp_path / "r.jsonl"
    path.write_text(line(**changes), encoding="utf-8")
    with pytest.raises(ValueError, match=f"r.jsonl, {said}" if said.startswith("line") else f"r.jsonl, .*{said}"):
        load_recorded(path)


def test_a_line_that_is_no_json_and_an_id_twice(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="r.jsonl, line 1: not JSON"):
        load_recorded(path)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ValueError, match="r.jsonl: not UTF-8"):
        load_recorded(path)
    path.write_text(line() + "\n" + line(), encoding="utf-8")
    with pytest.raises(ValueError, match="r.jsonl, line 2, id: 'a' is there twice"):
        load_recorded(path)
