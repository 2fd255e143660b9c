"""Runs: what is asked, what is counted, what an error is, and the scorecard."""

import json

import numpy as np
import pytest

from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import METRIC_NAMES, evaluate, span_metrics
from ragkit.evaluation.answers import ANSWER_METRICS
from ragkit.evaluation.outcome import RETRIEVAL_METRICS
from ragkit.generation import BackendUnavailable, GenerationError, TextStream
from ragkit.knowledge_base import KnowledgeBase
from tests.evaluation.small_questions import SETTINGS, documents, question, small_base, small_questions


@pytest.fixture(scope="module")
def evaluation():
    return evaluate(small_base(), small_questions())


class Failing:
    """Writes nothing for questions with this word in them; else quotes the first source."""

    name = "failing"

    def __init__(self, word: str, error: Exception):
        self._word, self._error = word, error

    def generate(self, question, context):
        def pieces(stream):
            if self._word in question:
                raise self._error
            yield f"{context[1].text} [1]"
        return TextStream(pieces)


class Guessing:
    """Recites one answer, whatever it is asked."""

    name = "guessing"

    def generate(self, question, context):
        return TextStream(lambda stream: iter(["The price is 99 euros. [7]"]))


def test_what_is_scored_is_what_a_user_gets(evaluation):
    base = small_base()
    for outcome in evaluation:
        answer = base.ask(outcome.question.question)
        assert outcome.answer.text == answer.text
        assert outcome.result.candidates == answer.result.candidates
        # Only that the question was encoded beforehand, with all the others, shows in the trace.
        assert outcome.result.trace.links == answer.result.trace.links[1:]
        assert outcome.refused == answer.refused


def test_each_question_has_all_metrics(evaluation):
    for outcome in evaluation:
        assert tuple(outcome.metrics) == METRIC_NAMES
    berlin = evaluation["berlin"]
    assert berlin.metrics["recall"] == berlin.metrics["evidence_recall"] == berlin.metrics["number_match"] == 1.0
    assert berlin.metrics["characters_read"] == sum(len(hit.chunk.text) for hit in berlin.evidence)
    expected = span_metrics(berlin.result.candidates, berlin.gold, evaluation.k)
    assert {name: berlin.metrics[name] for name in expected} == expected


def test_refusals_count_in_the_matrix_and_nowhere_else():
    evaluation = evaluate(small_base(min_score=0.99), small_questions())
    assert all(outcome.refused for outcome in evaluation)
    overall = evaluation.scorecard.overall
    assert overall.refusals.wrongly_refused == 3
    assert overall.refusals.recall == (1.0, 2)
    assert overall.refusals.precision == (0.4, 5)
    assert all(overall.metrics[name] == (None, 0) for name in (*ANSWER_METRICS, "characters_read"))
    assert overall.metrics["recall"] == (1.0, 3)  # found, and refused all the same
    assert overall.metrics["evidence_recall"] == (0.0, 3)


def test_denominators_of_retrieval_metrics_are_the_answerable_questions(evaluation):
    for group in (evaluation.scorecard.overall, *evaluation.scorecard.languages.values()):
        assert {group.metrics[name].n for name in RETRIEVAL_METRICS} == {3}
    assert evaluation.scorecard.kinds["unanswerable_far"].metrics["recall"] == (None, 0)


def test_groups_are_by_kind_and_language():
    asked = [*small_questions(), question("zh", "柏林的房费上限是多少？", "150", ("hotel", "150 euros"), language="zh",
                                          kind="chinese")]
    card = evaluate(small_base(), asked, answers=False).scorecard
    assert list(card.kinds) == ["direct", "paraphrase", "unanswerable_far", "unanswerable_near", "chinese"]
    assert {name: group.questions for name, group in card.languages.items()} == {"en": 5, "zh": 1}
    assert sum(group.questions for group in card.kinds.values()) == card.overall.questions == 6


def test_an_error_of_the_generator_is_an_error_whatever_the_question(caplog):
    asked = [question("moon", "What may a room on the moon cost a night?"), *small_questions()[:2]]
    found = evaluate(small_base(min_score=None), asked, generator=Failing("room", GenerationError("broken")))
    moon, berlin, cab = found
    assert moon.error == berlin.error == "GenerationError: broken"
    assert moon.refused is None and moon.refusal_reason is None
    assert berlin.metrics["recall"] == 1.0  # the search did not fail
    assert all(berlin.metrics[name] is None for name in ANSWER_METRICS)
    assert cab.error is None and cab.refused is False
    overall = found.scorecard.overall
    assert overall.errors == 2
    assert (overall.refusals.answerable_errors, overall.refusals.unanswerable_errors) == (1, 1)
    assert overall.refusals.recall == (0.0, 1)
    assert found.errors == (moon, berlin)
    assert "2 of 3 questions failed, the first, moon, with GenerationError: broken" in caplog.text


def test_an_error_of_the_search_is_a_failure_of_the_search(monkeypatch):
    base = small_base()

    def broken(vector, k, mask=None):
        raise OSError("the disk is gone")

    monkeypatch.setattr(base.corpus.index, "search", broken)
    found = evaluate(base, small_questions())
    assert {outcome.error for outcome in found} == {"OSError: the disk is gone"}
    assert found.scorecard["recall"] == found.scorecard["ndcg"] == (0.0, 3)  # not dropped
    assert found.scorecard.overall.refusals.rightly_refused == 0
    assert all(outcome.result is None and outcome.evidence == () for outcome in found)


def test_a_server_that_fails_is_no_error_since_the_chain_answers_without_it():
    found = evaluate(small_base(), small_questions(), generator=Failing("", BackendUnavailable("no server")))
    assert not found.errors
    assert found["berlin"].answer.generator == "extractive"


def test_a_generator_that_cannot_be_made_is_raised_at_once():
    with pytest.raises(Exception, match="nowhere"):
        evaluate(small_base(), small_questions(), generator="local:/nowhere")


def test_an_answer_out_of_the_blue_is_neither_right_nor_supported():
    found = evaluate(small_base(), small_questions()[:2], generator=Guessing())
    card = found.scorecard
    assert card["number_match"] == card["citation_precision"] == card["supported_share"] == (0.0, 2)


def test_without_answers(evaluation):
    found = evaluate(small_base(), small_questions(), answers=False)
    assert all(outcome.answer is None for outcome in found)
    for one, other in zip(found, evaluation, strict=True):
        assert [one.metrics[name] for name in RETRIEVAL_METRICS] == [other.metrics[name] for name in RETRIEVAL_METRICS]
        assert one.refused == one.result.refused
    assert found.scorecard["token_f1"] == (None, 0)


def test_filters_and_readers_go_with_the_question():
    asked = question("x", "What may a cab ride cost?", "40 euros", ("cab", "40 euros"),
                     filters={"document_id": "hotel"})
    found = evaluate(small_base(min_score=None), [asked], answers=False)
    assert {hit.chunk.document_id for hit in found["x"].result.candidates} == {"hotel"}
    assert found.scorecard["recall"] == (0.0, 1)


def test_settings_of_the_run(evaluation):
    base = small_base()
    found = evaluate(base, small_questions(), settings=base.settings.replace(top_k=1, evidence_top_k=1), answers=False)
    assert found.k == 1 and all(len(outcome.result.candidates) <= 1 for outcome in found)
    assert base.settings.top_k == 8  # the knowledge base is as it was
    assert isinstance(base.embedder, HashingEmbedder)
    assert evaluation.k == 8 and evaluate(base, small_questions(), k=3, answers=False).k == 3


def test_settings_that_need_another_index_are_refused():
    with pytest.raises(ValueError, match="chunk_size 90, and the settings say 50"):
        evaluate(small_base(), small_questions(), settings=SETTINGS.replace(chunk_size=50))
    # level_sizes belong to another chunker, so they change nothing here.
    evaluate(small_base(), small_questions(), settings=SETTINGS.replace(level_sizes=(100, 50)), answers=False)


def test_gold_that_is_not_there_is_an_error_or_counted():
    asked = [question("a", "What may a cab ride cost?", "", ("cab", "41 euros")),
             question("b", "What may a room cost?", "", ("boat", "nothing"))]
    with pytest.raises(ValueError, match="question a: cab version 1 holds the quote '41 euros' 0 times"):
        evaluate(small_base(), asked)
    found = evaluate(small_base(), asked, answers=False, missing_gold="count")
    assert found.scorecard["recall"] == found.scorecard["coverage"] == (0.0, 2)
    with pytest.raises(ValueError, match="missing_gold"):
        evaluate(small_base(), asked, missing_gold="ignore")


def test_questions_are_checked():
    with pytest.raises(ValueError, match="no questions"):
        evaluate(small_base(), [])
    with pytest.raises(ValueError, match="'berlin' comes twice"):
        evaluate(small_base(), [*small_questions(), small_questions()[0]])
    for wrong in ("questions.jsonl", [{"id": "x"}]):
        with pytest.raises(TypeError, match="is no question; load_questions reads them"):
            evaluate(small_base(), wrong)
    assert len(evaluate(small_base(), small_questions()[0], answers=False)) == 1
    for wrong in ({"top_k": 3}, {}):
        with pytest.raises(TypeError, match="is no Settings"):
            evaluate(small_base(), small_questions(), settings=wrong)


def test_an_iterator_of_questions_will_do():
    assert len(evaluate(small_base(), iter(small_questions()), answers=False)) == 5


def test_the_order_of_documents_has_no_part_in_it(evaluation):
    base = KnowledgeBase(documents()[::-1], SETTINGS, HashingEmbedder(512))
    assert evaluate(base, small_questions()).to_dict() == evaluation.to_dict()


def test_vectors_that_are_there_are_used():
    base = small_base()
    vectors = np.zeros((5, 512), dtype=np.float32)
    found = evaluate(base, small_questions(), answers=False, query_vectors=vectors)
    assert all(hit.score == 0 for outcome in found for hit in outcome.result.candidates)
    with pytest.raises(ValueError, match="query_vectors holds 2 vectors for 5 questions"):
        evaluate(base, small_questions(), answers=False, query_vectors=vectors[:2])


def test_lookups_name_what_is_there(evaluation):
    with pytest.raises(KeyError, match="no question 'x'"):
        evaluation["x"]
    with pytest.raises(ValueError, match="unknown metric 'recal'.*recall"):
        evaluation.values("recal")
    with pytest.raises(ValueError, match="unknown metric"):
        evaluation.scorecard["f1"]
    assert evaluation.values("recall") == [1.0, 1.0, 1.0, None, None]


def test_as_data_text_and_html(evaluation):
    data = json.loads(json.dumps(evaluation.to_dict()))
    assert data["scorecard"]["overall"]["metrics"]["recall"] == {"value": 1.0, "n": 3}
    assert data["questions"][0]["id"] == "berlin" and data["questions"][3]["refused"] is True
    text = str(evaluation)
    assert text.startswith("5 questions, 0 errors")
    assert "1.000 (3)" in text and "unanswerable_near" in text
    assert repr(evaluation) == "Evaluation(5 questions, 0 errors, k=8)"
    assert evaluation._repr_html_().count("<table>") == 3
    assert all(line == line.rstrip() for line in text.splitlines())


def test_what_a_question_and_a_run_are_asked_with_reaches_the_chain(monkeypatch):
    asked = question("cab", "What may a cab ride cost?", "40 euros", ("cab", "40 euros"),
                     filters={"document_id": "cab"})
    asked = asked.model_copy(update={"reader": frozenset({"staff"})})
    given = []

    def asking(self, text, filters=None, **more):
        given.append((filters, more.get("reader"), more.get("operator"), more.get("grader")))
        raise OSError("enough")

    monkeypatch.setattr(KnowledgeBase, "ask", asking)
    grader = object()
    evaluate(small_base(), [asked], operator=True, grader=grader)
    assert given == [(asked.filters, {"staff"}, True, grader)]


def test_recall_of_the_evidence_reads_all_of_it():
    asked = question("both", "What may a room in Berlin and a cab ride cost?", "", ("hotel", "150 euros"),
                     ("cab", "40 euros"))
    outcome = evaluate(small_base(min_score=None), [asked], answers=False)["both"]
    assert len(outcome.evidence) > 1 and outcome.metrics["evidence_recall"] == 1.0


def test_a_refusal_by_the_answer_is_a_refusal_though_the_search_found_something():
    answer = small_base(min_score=None, min_grade=1.0).ask("Whoever walked upon lunar soil first?")
    assert answer.refused and not answer.result.refused
    outcome = evaluate(small_base(min_score=None, min_grade=1.0), small_questions()[3:4])["moon"]
    assert outcome.refused and outcome.refusal_reason == "insufficient_evidence"
    assert outcome.metrics["characters_read"] is None
