"""The lab of chapter 03, without a browser: its counts are those of the chain itself."""

import random
import time

import numpy as np
import pytest

from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import GoldQuote, Question, found_groups, gold_spans
from ragkit.filters import RetrievalFilters
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.evidence import MOST, EvidenceModel, evidence_lab
from ragkit.retrieval import decide, recall
from ragkit.settings import Settings
from tests.fixtures import day, document

TEXTS = {"hotel": "A hotel in Berlin costs at most 150 euros a night.", "taxi": "A taxi ride costs at most 40 euros.",
         "train": "Train tickets are bought five days before the trip.", "badge": "A lost badge costs 25 euros.",
         "lunch": "Lunch is served from noon to two in the canteen.", "leave": "Leave is asked for in the portal."}


def ask(id_, question, kind="direct", gold=(), filters=None, reader=()):
    groups = tuple(tuple(GoldQuote(document=d, version=v, quote=quote) for d, v, quote in group) for group in gold)
    return Question(id=id_, split="dev", kind=kind, language="en", question=question, answerable=bool(gold),
                    answer="yes" if gold else "", gold=groups, filters=filters or RetrievalFilters(),
                    reader=frozenset(reader))


@pytest.fixture(scope="module")
def base():
    documents = [document(name, text, topic="travel" if name in {"hotel", "taxi", "train"} else "office",
                          date="2025-01-01") for name, text in TEXTS.items()]
    documents += [document("hotel", "A hotel in Berlin costs at most 120 euros a night.", version="0",
                           date="2023-01-01", topic="travel"),
                  document("pay", "A team <b>lead</b> is paid 74,000 euros & more.", audience=("people",)),
                  *(document(f"filler{n}", f"Rule {n} of the office says that {n} desks stand in room {n}.")
                    for n in range(30))]
    return KnowledgeBase(documents, Settings(chunker="sentence", expansion="none"), HashingEmbedder(512))


@pytest.fixture(scope="module")
def questions():
    return [
        ask("q1", "What does a hotel in Berlin cost?", gold=[[("hotel", "1", "150 euros")]]),
        ask("q2", "What did a hotel in Berlin cost?", "dated", [[("hotel", "0", "120 euros")]],
            RetrievalFilters(effective_before=day("2024-01-01"))),
        ask("q3", "What is a team lead paid?", "restricted", [[("pay", "1", "74,000 euros")]], reader=["people"]),
        ask("q4", "What do a taxi ride and a lost badge cost?", "multi_hop",
            [[("taxi", "1", "40 euros")], [("badge", "1", "25 euros")]]),
        ask("q5", "Who drives the taxi to the hotel?", "unanswerable_near"),
        ask("q6", "zebra quartz", "unanswerable_far"),
        ask("q7", "Anything?", "unanswerable_near", filters=RetrievalFilters(topic="nowhere")),
    ]


@pytest.fixture
def model(base, questions):
    return EvidenceModel(base, questions)


def expected(base, questions, settings):
    groups = {"answerable": [], "near miss": [], "far off": []}
    for q in questions:
        candidates = recall(q.question, settings, corpus=base.corpus, filters=q.filters, reader=q.reader)
        evidence = decide(candidates, settings).evidence
        right = q.answerable and all(found_groups(evidence, gold_spans(q, base.documents)))
        outcome = "refused" if not evidence else "right evidence" if right else "wrong evidence"
        name = "answerable" if q.answerable else {"near": "near miss", "far": "far off"}[q.kind.split("_")[1]]
        groups[name].append(outcome)
    return {name: {outcome: found.count(outcome) for outcome in ("right evidence", "wrong evidence", "refused")}
            for name, found in groups.items()}


@pytest.mark.parametrize("top_k, evidence_top_k, min_score",
                         [(8, 4, 0.25), (1, 1, 0.0), (20, 12, None), (3, 8, 0.4), (8, 2, 1.0), (20, 1, 0.6)])
def test_the_counts_are_those_of_the_chain(base, questions, model, top_k, evidence_top_k, min_score):
    model.top_k, model.evidence_top_k, model.min_score = top_k, evidence_top_k, min_score
    settings = base.settings.replace(top_k=top_k, evidence_top_k=evidence_top_k, min_score=min_score)
    assert model.tally() == expected(base, questions, settings)


def test_a_score_equal_to_the_threshold_counts_as_in_the_chain(base, questions, model):
    model.min_score = float(model.result().candidates[0].score)
    settings = base.settings.replace(min_score=model.min_score)
    assert not model.result().refused
    assert model.tally() == expected(base, questions, settings)


def test_one_question_goes_through_the_chain(base, questions, model):
    for q in questions:
        model.question = q.id
        assert model.result() == base.retrieve(q.question, q.filters, reader=q.reader,
                                               query_vector=model._asked[q.id].vector)
        fates = model.fates()
        assert len(fates) == len(model.result().candidates)
        assert sum(fate.startswith("evidence ") for fate in fates) == len(model.result().evidence)


def test_the_knobs_move_text_and_picture(model):
    model.question, model.min_score = "q1", 0.0
    before = model.html(), model.png()
    assert "evidence 4" in before[0] and "dropped: beyond_evidence_top_k" in before[0]
    assert model.fates()[4] == "dropped: beyond_evidence_top_k (rank 5, evidence_top_k 4)"
    model.evidence_top_k = 2
    assert "evidence 3" not in model.html()
    assert model.png() != before[1]
    model.min_score = 1.0
    assert model.fates()[0] == "dropped: below_threshold (min_score 1)"
    assert "dropped: below_threshold" in model.html() and "Refused: below_threshold." in model.html()
    model.question, model.min_score, model.evidence_top_k = "q1", 0.0, 4
    assert (model.html(), model.png()) == before


def test_what_is_told_of_a_question(model):
    model.question = "q3"
    text = model.html()
    assert "asked as: people" in text and "A team &lt;b&gt;lead&lt;/b&gt; is paid 74,000 euros &amp; more." in text
    assert "superseded 1" in text and "&#9670; yes" in text
    model.question = "q2"
    assert "effective_before 2024-01-01" in model.html() and "hotel v0" in model.html()
    model.question = "q4"
    assert "1 of 2" in model.html() and "2 of 2" in model.html()
    model.question = "q7"
    assert "Refused: filtered_out." in model.html() and model.fates() == []
    assert model.png()


@pytest.mark.parametrize("name, value, message", [
    ("min_score", 1.01, r"min_score \(1.01\)"), ("top_k", 0, r"top_k \(0\)"), ("top_k", MOST + 1, "at most 20"),
    ("evidence_top_k", 0, r"evidence_top_k \(0\)"), ("question", "q99", "no question 'q99'")])
def test_what_is_refused(model, name, value, message):
    setattr(model, name, value)
    for show in (model.html, model.png, model.tally):
        with pytest.raises(ValueError, match=message):
            show()


def test_the_view_shows_a_refusal_as_a_sentence(base, questions):
    lab = evidence_lab(base, questions, chosen=["q2", "gone", "q1"])
    assert lab.model.question == "q2"
    assert list(lab.controls["question"].options.values()) == ["q2", "q1"]
    text, picture = lab._text.value, lab._image.value
    lab.controls["min_score"].value = 1.0
    assert lab.model.min_score == 1.0 and lab._text.value != text and lab._image.value != picture
    lab.controls["top_k"].max = MOST + 1  # wider than the lab makes it
    lab.controls["top_k"].value = MOST + 1
    assert "at most 20" in lab._error.value and lab.model.top_k == 8


def test_a_move_is_quick(model):
    moves = random.Random(3)
    times = []
    for _ in range(60):
        model.question = moves.choice(model.ids)
        model.top_k, model.evidence_top_k = moves.randint(1, MOST), moves.randint(1, 12)
        model.min_score = moves.random()
        start = time.thread_time()  # processor time: what else the machine does takes no part in it
        model.png(), model.html()
        times.append(1000 * (time.thread_time() - start))
    print(f"a move of the evidence lab: 95th percentile {np.percentile(times, 95):.1f} ms")
    assert np.median(times) < 50  # about 10; a figure drawn anew takes far more
