"""From evidence to a checked answer: every way to refuse, what falls back and what is raised, the trace."""

import json

import pytest

from ragkit.answer import Answer
from ragkit.generation import (
    NO_ANSWER,
    BackendUnavailable,
    EmptyAnswer,
    RequestRejected,
    StreamInterrupted,
    TextStream,
)
from ragkit.refusal import Grade, RefusalReason
from tests.fixtures import base, document

CAP = "The hotel cap in Berlin is 180 euros a night."
LEAVE = "Parental leave is agreed with the people team six weeks ahead."


class Scripted:
    """A generator that says what it is told, or fails as told."""

    name = "scripted"

    def __init__(self, *pieces: str, error: Exception | None = None):
        self.pieces, self.error, self.asked = pieces, error, []

    def generate(self, question, context):
        self.asked.append((question, context))

        def produce(stream):
            yield from self.pieces
            if self.error:
                raise self.error

        return TextStream(produce)


class Grades:
    """A grader that always gives the same grade."""

    name = "fixed"

    def __init__(self, score: float, min_grade: float = 0.5):
        self.score, self.min_grade = score, min_grade

    def grade(self, question, evidence):
        return Grade(score=self.score, sufficient=self.score >= self.min_grade, min_grade=self.min_grade,
                     signals=(), reasons=("coverage: no word of sauna", "focus: no sauna"))


@pytest.fixture
def kb():
    return base(document("travel", CAP, date="2025-03-01"), document("leave", LEAVE),
                document("secret", "The hotel cap of the board is unlimited.", audience=["board"]), min_grade=None)


def ask(kb, *pieces, question="What is the hotel cap in Berlin?", error=None, **more) -> Answer:
    return kb.ask(question, generator=Scripted(*pieces, error=error), evidence_top_k=1, **more)


def test_a_true_answer(kb):
    answer = ask(kb, "The hotel cap in Berlin ", "is 180 euros a night. [1]")
    assert (answer.refused, answer.refusal_reason, answer.explanation) == (False, None, "")
    assert answer.text == "The hotel cap in Berlin is 180 euros a night. [1]" and answer.generator == "scripted"
    (sentence,) = answer.sentences
    assert (sentence.label, answer.verification.citation_precision, answer.verification.citation_recall) == (
        "supported", 1.0, 1.0)
    (citation,) = answer.citations
    held = kb.corpus.documents["travel", "1"]
    assert (citation.number, citation.document_id, citation.version, citation.content_hash) == (
        1, "travel", "1", held.content_hash)
    assert held.text[citation.start:citation.end] == citation.quote


def test_a_wrong_number_and_a_source_that_is_not_there_are_said(kb):
    answer = ask(kb, "The hotel cap in Berlin is 210 euros a night. [1] It was raised in spring. [7]")
    first, second = answer.sentences
    assert first.label in ("contradicted", "unsupported") and "210" in " ".join(first.reasons)
    assert second.missing == (7,) and second.label == "unsupported"
    assert [citation.number for citation in answer.citations] == [1]
    assert dict(answer.trace["verify"].excluded)[first.label] >= 1


def test_what_retrieve_refuses_is_not_sent_to_a_generator(kb):
    for kwargs, reason in (({"min_score": 0.99}, "below_threshold"), ({"filters": {"topic": "x"}}, "filtered_out")):
        told = Scripted("Never. [1]")
        answer = kb.ask("zebra stripes", generator=told, **kwargs)
        assert (answer.refused, answer.refusal_reason, answer.text) == (True, reason, NO_ANSWER)
        assert told.asked == [] and answer.context is None and answer.sentences == ()
        assert answer.explanation == answer.result.explanation != ""


def test_evidence_that_is_not_enough(kb):
    told = Scripted("Never. [1]")
    answer = kb.ask("Is there a sauna in Berlin?", generator=told, grader=Grades(0.31))
    assert (answer.refused, answer.refusal_reason) == (True, RefusalReason.INSUFFICIENT_EVIDENCE)
    assert answer.explanation == ("The evidence is graded 0.310, below min_grade 0.5: coverage: no word of sauna; "
                                  "focus: no sauna.")
    assert told.asked == [] and answer.grade.score == 0.31 and answer.result.evidence
    assert dict(answer.trace["grade"].excluded) == {"insufficient_evidence": len(answer.result.evidence)}
    enough = ask(kb, CAP + " [1]", grader=Grades(0.5))
    assert not enough.refused and enough.grade.sufficient, "the threshold is inclusive"


def test_evidence_that_is_not_enough_says_what_was_left_out():
    """The probe of a refusal by retrieval, for a refusal by the grade too; the hidden one for the operator only."""
    new = document("lunch", "Lunch in the canteen is served from noon to two.", version="2", date="2026-01-01")
    old = document("lunch", "Oysters in the canteen are sold on Fridays.", version="1", date="2024-01-01")
    secret = document("secret", "Oysters are sold to the board on Mondays.", audience=["board"])
    kb = base(new, old, secret, min_score=0.0)
    asked = {"question": "Are oysters sold in the canteen?", "grader": Grades(0.1), "generator": Scripted()}
    answer = kb.ask(**asked)
    assert "which was left out: superseded. A newer version is in force; effective_before=2024-01-01" in answer.explanation
    assert "secret" not in answer.explanation and "permissions" not in answer.milliseconds
    seen = kb.ask(**asked, operator=True)
    assert seen.explanation == answer.explanation
    assert any("secret@1" in note for note in seen.trace["permissions"].notes)
    assert "left out" not in kb.ask(**asked, filters={"effective_before": "2024-06-01"}).explanation


def test_retrieve_never_grades(kb):
    assert not kb.retrieve("What is the hotel cap in Berlin?").refused
    assert [link.link for link in kb.retrieve("hotel").trace.links][-1] == "select"


def test_a_budget_that_holds_nothing(kb):
    told = Scripted("Never. [1]")
    answer = kb.ask("What is the hotel cap in Berlin?", generator=told, context_tokens=3)
    assert (answer.refused, answer.refusal_reason, told.asked) == (True, "insufficient_evidence", [])
    assert "3" in answer.explanation and [drop.reason for drop in answer.context.drops].count("over_budget") >= 1


@pytest.mark.parametrize("said", [NO_ANSWER, "Hello!", "  " + NO_ANSWER + "\n"])
def test_a_generator_that_finds_nothing(kb, said):
    answer = ask(kb, said)
    assert (answer.refused, answer.refusal_reason, answer.text) == (True, "insufficient_evidence", said)
    assert "scripted" in answer.explanation and answer.citations == ()
    assert answer.verification.supported_share is None, "no claim is no unfaithful claim"


@pytest.mark.parametrize(("error", "pieces"), [
    (BackendUnavailable("the server at localhost does not answer"), ()),
    (StreamInterrupted("the stream broke off", partial="The hotel"), ("The hotel",))])
def test_a_server_that_fails_leaves_quotes_and_a_note(kb, error, pieces):
    answer = ask(kb, *pieces, error=error)
    assert not answer.refused and answer.text == f"{CAP} [1]" and answer.generator == "extractive"
    (note,) = [note for note in answer.trace["generate"].notes if "failed" in note]
    assert str(error) in note and "extractive answered instead" in note


def test_the_attempts_before_a_failure_are_in_the_trace(kb):
    class Tries(Scripted):
        def generate(self, question, context):
            stream = super().generate(question, context)
            stream.notes += ("attempt 1 failed (HTTP 500)",)
            return stream

    answer = kb.ask("What is the hotel cap in Berlin?", generator=Tries(error=BackendUnavailable("down")))
    first, second = answer.trace["generate"].notes[:2]
    assert first == "attempt 1 failed (HTTP 500)" and "extractive answered instead" in second


@pytest.mark.parametrize("pieces", [(), ("",), (" ", "\n")])
def test_an_answer_without_text_is_no_refusal(kb, pieces):
    with pytest.raises(EmptyAnswer, match="scripted gave an empty answer"):
        ask(kb, *pieces)


class Plain:
    """A generator as somebody writes it who has not read of ``TextStream``."""

    name = "plain"

    def __init__(self, *pieces):
        self.pieces = pieces

    def generate(self, question, context):
        yield from self.pieces


def test_a_plain_generator_will_do(kb):
    answer = kb.ask("What is the hotel cap in Berlin?", generator=Plain(CAP, " [1]"))
    assert (answer.text, answer.generator, answer.refused) == (f"{CAP} [1]", "plain", False)
    with pytest.raises(TypeError, match="b'bytes'"):
        kb.ask("What is the hotel cap in Berlin?", generator=Plain(b"bytes"))


@pytest.mark.parametrize("wrong", [5, object(), Plain, lambda question, context: "yes"])
def test_what_is_no_generator_is_told_at_the_door(kb, wrong):
    for question in ("What is the hotel cap in Berlin?", "zebra stripes"):
        with pytest.raises(TypeError, match="must be a name, or an object with a name and generate"):
            kb.ask(question, generator=wrong, min_score=0.2)


def test_a_generator_that_gives_nothing_to_read_is_told(kb):
    class Returns(Plain):
        def generate(self, question, context):
            return None

    with pytest.raises(TypeError, match="the generator 'plain' gave None; give a TextStream"):
        kb.ask("What is the hotel cap in Berlin?", generator=Returns())


def test_a_key_that_was_mended_counts_at_the_next_question(kb, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    keys = []
    for key in ("sk-wrong", "sk-right"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        keys.append(kb._generator("openai:m")._key.get_secret_value())
    assert keys == ["sk-wrong", "sk-right"]
    assert kb._generator("extractive") is kb._generator("extractive"), "what takes seconds to load is kept"


def test_a_request_that_is_wrong_is_raised(kb):
    with pytest.raises(RequestRejected, match="no such model"):
        ask(kb, error=RequestRejected("no such model 'x'"))


def test_the_default_generator_quotes(kb):
    answer = kb.ask("What is the hotel cap in Berlin?", evidence_top_k=1)
    assert (answer.text, answer.generator) == (f"{CAP} [1]", "extractive")
    with pytest.raises(ValueError, match="unknown generator 'magic'"):
        kb.ask("hotel", generator="magic")


def test_the_trace_goes_from_the_question_to_the_verdicts(kb):
    answer = ask(kb, CAP + " [1]", grader=Grades(0.9), operator=True)
    assert [entry.link for entry in answer.trace.links] == [
        "encode", "permissions", "filter", "recall", "expand", "select", "grade", "context", "generate", "verify"]
    for entry in answer.trace.links:
        assert entry.count_in == entry.count_out + len(entry.drops) + sum(count for _, count in entry.excluded), entry
    assert list(answer.milliseconds) == [entry.link for entry in answer.trace.links]
    assert all(milliseconds >= 0 for milliseconds in answer.milliseconds.values())


def test_what_a_reader_may_not_see_changes_nothing(kb):
    without = base(*[held for held in kb.documents if held.id != "secret"], min_grade=None)
    for question in ("What is the hotel cap of the board?", "zebra stripes"):
        there, gone = kb.ask(question), without.ask(question)
        assert (there.text, there.explanation, there.trace) == (gone.text, gone.explanation, gone.trace)
        assert there.to_dict() | {"trace": None} == gone.to_dict() | {"trace": None}
    assert "unlimited" in kb.ask("What is the hotel cap of the board?", reader={"board"}).text


def test_it_shows_prints_and_goes_to_json(kb):
    wild = "<script>alert(1)</script> hotel cap"
    refused = kb.ask(wild, min_score=0.999)
    assert "<script>" not in refused._repr_html_() and "below_threshold" in refused._repr_html_()
    answer = ask(kb, CAP + " [1] <script>alert(2)</script>")
    assert "<script>" not in answer._repr_html_() and "180" in answer._repr_html_()
    assert CAP in str(answer) and "travel" in str(answer)
    assert "Refused: below_threshold." in str(refused)
    plain = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert (plain["refused"], plain["citations"][0]["document_id"], plain["generator"]) == (False, "travel", "scripted")
    assert repr(answer) == "Answer('What is the hotel cap in Berlin?', 1 citations)"


@pytest.mark.parametrize(("name", "method"), [("grader", "grade"), ("judge", "judge")])
def test_what_is_no_grader_or_judge_is_named(name, method):
    with pytest.raises(TypeError, match=rf"{name} \(5\) must be an object with {method}\(\)"):
        base(document("a")).ask("All about a?", **{name: 5})
