"""The lab of chapter 05, without a browser: its counts are those of plain comparisons."""

import random
import time

import numpy as np
import pytest

from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import GoldQuote, Question
from ragkit.filters import RetrievalFilters
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.refusal import COSINE, SHOWN, VIEWS, RefusalModel, best_cosines, refusal_lab
from ragkit.refusal import MinCost, calibrate
from ragkit.settings import Settings
from tests.fixtures import document

KINDS = ("direct", "direct", "paraphrase", "unanswerable_near", "direct", "unanswerable_near", "unanswerable_far")
SCORES = (0.8, 0.7, 0.55, 0.7, 0.4, 0.3, 0.1)


def ask(number, kind, question=None, **asked):
    answerable = not kind.startswith("unanswerable")
    gold = ((GoldQuote(document="d", version="1", quote="x"),),) if answerable else ()
    return Question(id=f"q{number}", split="dev", kind=kind, language="en", question=question or f"Is it <{number}>?",
                    answerable=answerable, answer="x" if answerable else "", gold=gold, **asked)


@pytest.fixture
def model():
    questions = [ask(number, kind) for number, kind in enumerate(KINDS)]
    return RefusalModel(questions, {COSINE: SCORES, "grade": [1 - score for score in SCORES]})


def test_the_counts_by_hand(model):
    assert model.tally() == {"answerable": (4, 0), "near miss": (2, 0), "far off": (0, 1)}
    model.threshold = 0.7  # inclusive
    assert model.tally() == {"answerable": (2, 2), "near miss": (1, 1), "far off": (0, 1)}
    now = model.outcomes()
    assert (now.rightly_answered, now.wrongly_answered, now.wrongly_refused, now.rightly_refused) == (2, 1, 2, 2)
    model.wrong_answer, model.wrong_refusal = 3, 2
    assert "mean cost of a question <b>0.333</b> (1 = the dearer mistake)" in model.html()  # (3 + 2 * 2) / 7 / 3
    assert "coverage <b>42.9%</b>" in model.html() and "risk <b>33.3%</b>" in model.html()
    assert "2 &#10003; rightly</td><td class='n'>2 &#10007; wrongly" in model.html()


@pytest.mark.parametrize("prices", [(1, 1), (5, 1), (1, 5), (10, 1)])
def test_the_cheapest_threshold_is_that_of_calibrate(model, prices):
    model.wrong_answer, model.wrong_refusal = prices
    found = calibrate(SCORES, [not kind.startswith("un") for kind in KINDS], MinCost(*prices))
    assert model.cheapest() == (found.threshold, pytest.approx(found.outcomes.cost(*prices)))


def test_refusing_everything_can_be_cheapest():
    model = RefusalModel([ask(0, "direct"), ask(1, "unanswerable_near")], {COSINE: [0.4, 0.9]})
    model.wrong_answer = 10
    assert model.cheapest() == (pytest.approx(0.9), 0.5) and model.cheapest()[0] > 0.9
    assert "lowest at these prices 0.050, when everything is refused" in model.html()
    model.threshold = 1.0
    assert "risk <b>undefined</b>" in model.html()
    for view in VIEWS:
        model.view = view
        assert model.png()


def test_the_questions_that_flipped(model):
    assert model.flipped() == [] and "No question flipped" in model.html()
    model.threshold = 0.6
    assert [(question.id, score) for question, score in model.flipped()] == [("q5", 0.3), ("q4", 0.4), ("q2", 0.55)]
    text = model.html()
    assert "3 flipped between 0.25 and 0.60, now refused" in text
    assert "0.300 &#10003; rightly: Is it &lt;5&gt;? <i>(unanswerable_near)</i>" in text
    assert "0.400 &#10007; wrongly: Is it &lt;4&gt;?" in text
    model.threshold = 0.5
    assert "1 flipped between 0.60 and 0.50, now answered" in model.html()
    assert "0.550 &#10003; rightly" in model.html()
    model.score = "grade"  # another score: no question was turned by the threshold
    assert model.flipped() == []
    assert model.tally()["far off"] == (1, 0)


def test_many_flipped_are_cut_short():
    questions = [ask(number, "direct") for number in range(SHOWN + 3)] + [ask(99, "unanswerable_far")]
    model = RefusalModel(questions, {COSINE: [0.5] * len(questions)})
    model.threshold = 0.6
    assert model.html().count("wrongly: ") == SHOWN and "and 4 more" in model.html()


def test_every_knob_moves_the_picture_that_shows_it(model):
    for view in VIEWS:
        model.view, model.threshold = view, 0.2
        before = model.png()
        model.threshold = 0.6
        assert model.png() != before, view
    model.view = "cost"
    before = model.png(), model.html()
    model.wrong_answer = 4
    assert model.png() != before[0] and model.html() != before[1]
    model.wrong_answer = 1
    assert (model.png(), model.html()) == before
    model.score = "grade"
    assert model.png() != before[0] and model.html() != before[1]


@pytest.mark.parametrize("name, value, message", [
    ("threshold", 1.2, r"threshold \(1.2\)"), ("threshold", "0.5", r"threshold \('0.5'\)"),
    ("score", "luck", "no score 'luck'; there are cosine, grade"),
    ("view", "sky", "no view 'sky'"), ("wrong_answer", 0, r"prices \(0, 1\)")])
def test_what_is_refused(model, name, value, message):
    with pytest.raises(ValueError, match=message):
        setattr(model, name, value)
        model.html(), model.png()


def test_what_is_refused_when_it_is_made():
    question = ask(0, "direct")
    for threshold in (7, float("nan"), None):
        with pytest.raises(ValueError, match=rf"threshold \({threshold}\) must lie in"):
            RefusalModel([question], {COSINE: [0.4]}, threshold)
    with pytest.raises(ValueError, match="there are no scores; give one for each question, by name"):
        RefusalModel([question], {})
    with pytest.raises(ValueError, match="2 scores and 1 labels"):
        RefusalModel([question], {COSINE: [0.4, 0.5]})


@pytest.fixture(scope="module")
def base():
    documents = [document("hotel", "A hotel in Berlin costs at most 150 euros a night.", topic="travel"),
                 document("pay", "A team lead is paid 74,000 euros.", audience=("people",))]
    return KnowledgeBase(documents, Settings(chunker="sentence", expansion="none"), HashingEmbedder(512))


def test_the_cosines_are_those_of_the_chain(base):
    questions = [ask(1, "direct", "What does a hotel in Berlin cost?"),
                 ask(2, "restricted", "What is a team lead paid?", reader=frozenset({"people"})),
                 ask(3, "restricted", "What is a team lead paid?"),
                 ask(4, "direct", "Anything?", filters=RetrievalFilters(topic="nowhere"))]
    results = [base.retrieve(q.question, q.filters, reader=q.reader, min_score=None) for q in questions]
    scores = best_cosines(base, questions)
    assert scores[:3] == [result.candidates[0].score for result in results[:3]]
    assert scores[1] > scores[2] and scores[3] == 0.0 and results[3].candidates == ()


def test_the_view_moves_the_model(base):
    questions = [ask(1, "direct", "What does a hotel in Berlin cost?"), ask(2, "unanswerable_far", "zebra quartz")]
    lab = refusal_lab(base, questions, {"coin": [0.9, 0.1]})
    assert list(lab.controls["score"].options) == [COSINE, "coin"]
    text, picture = lab._text.value, lab._image.value
    lab.controls["threshold"].value = 0.95
    assert lab.model.threshold == 0.95 and lab._text.value != text and lab._image.value != picture
    assert "1 flipped" in lab._text.value
    lab.controls["view"].value = "cost"
    lab.controls["wrong_refusal"].value = 7
    assert (lab.model.view, lab.model.wrong_refusal, lab._error.value) == ("cost", 7, "")


def test_a_move_is_quick(model):
    moves, times = random.Random(3), []
    for _ in range(60):
        model.view, model.score = moves.choice(VIEWS), moves.choice(model.score_names)
        model.threshold, model.wrong_answer = moves.random(), moves.randint(1, 10)
        start = time.thread_time()  # processor time: what else the machine does takes no part in it
        model.png(), model.html()
        times.append(1000 * (time.thread_time() - start))
    print(f"a move of the refusal lab: 95th percentile {np.percentile(times, 95):.1f} ms")
    assert np.median(times) < 50  # about 10; a figure drawn anew takes far more
