"""The lab of chapter 02, without a browser: its numbers are those of the package."""

import random
import time

import numpy as np
import pytest

from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import gold_spans, recall_at_k
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.embedding import MAX_K, EmbeddingLab, embedding_lab
from ragkit.paths import data_path


@pytest.fixture(scope="module")
def base():
    return KnowledgeBase.from_folder(data_path("handbook"), embedder=HashingEmbedder(256), cache=False)


@pytest.fixture(scope="module")
def shared(base):
    return EmbeddingLab(base)


@pytest.fixture
def model(shared):
    shared.question, shared.own_question, shared.k = next(iter(shared.questions)), "", 8
    shared.first, shared.second = "A rule about hotels.", "A rule about trains."
    return shared


def test_nearest_are_the_candidates_of_the_chain(base, model):
    for id_ in list(model.questions)[::10]:
        model.question = id_
        chain = base.retrieve(model.text, top_k=model.k, min_score=None).candidates
        assert model.nearest() == [(hit.chunk.id, hit.score) for hit in chain]


def test_the_curve_is_recall_at_k(base, model):
    for k in (1, 7, MAX_K):
        recalls = []
        for question in model.questions.values():
            found = base.retrieve(question.question, top_k=k, min_score=None).candidates
            recalls.append(recall_at_k(found, gold_spans(question, base.documents), k))
        model.k = k
        assert model.recall["meaning"] == pytest.approx(np.mean(recalls))
    assert model.recalls["meaning"] != model.recalls["words"]
    for curve in model.recalls.values():
        assert len(curve) == MAX_K and curve == sorted(curve) and 0 < curve[-1] < 1


def test_gold_is_marked_in_table_and_picture(base, model):
    model.k = MAX_K
    held = {}
    for id_, question in model.questions.items():
        model.question = id_
        gold = gold_spans(question, base.documents)
        right = [any(span.inside(base.corpus.chunks[match.id]) for group in gold for span in group)
                 for match in model.nearest()]
        assert [model.holds_gold(match.id) for match in model.nearest()] == right
        held[id_] = sum(right)
    assert 0 in held.values() and max(held.values()) > 0
    model.question = max(held, key=held.get)
    assert model.html().count("yes</b>") == held[model.question]
    with_squares = model.png()
    model.own_question = model.questions[model.question].question
    assert model.html().count("<td>?</td>") == MAX_K
    assert model.png() != with_squares  # the squares are gone: nobody said what its gold is


def test_the_pair(model):
    model.first = model.second = "Sticks may be plugged in."
    assert model.pair() == {"meaning": pytest.approx(1), "words": pytest.approx(1)}
    assert "an angle of 0 degrees" in model.html()
    model.second = "zebra"
    assert model.pair()["words"] == 0
    cosine = model.pair()["meaning"]
    angle = np.degrees(np.arccos(cosine))
    assert f"cosine {cosine:.3f} by meaning (an angle of {angle:.0f} degrees), 0.000 by sh" in model.html()


def test_text_is_escaped(model):
    model.own_question = "Is <script>alert(1)</script> & more allowed?"
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in model.html()
    assert "<script>" not in model.html()


@pytest.mark.parametrize(("name", "value", "message"), [
    ("k", 0, r"k \(0\) must lie between 1 and 20"), ("k", 21, r"k \(21\)"),
    ("question", "nobody", "no question 'nobody'"),
    ("first", "  ", "the first sentence is empty"), ("second", "", "the second sentence is empty")])
def test_refused_values(model, name, value, message):
    before = getattr(model, name)
    with pytest.raises(ValueError, match=message):
        setattr(model, name, value)
    assert getattr(model, name) == before


def test_every_extreme_can_be_shown(model):
    pictures = set()
    for id_ in model.questions:
        for k in (1, MAX_K):
            model.question, model.k = id_, k
            assert model.html().count("<tr>") == k + 1
            pictures.add(model.png())
    assert len(pictures) == 2 * len(model.questions)
    model.own_question = "zzzz " * 500  # far longer than a model reads, and known to nobody
    model.html()
    model.png()


def test_the_view_shows_a_refusal_and_stays(base):
    view = embedding_lab(base)
    before = view._text.value
    view.controls["first"].value = " "
    assert "the first sentence is empty" in view._error.value
    assert view._text.value == before and view.model.first.strip()
    view.controls["first"].value = "A rule."
    view.controls["k"].value = 3
    assert view._error.value == "" and view.model.k == 3 and view._text.value.count("<tr>") == 4
    ids = list(view.controls["question"].options.values())
    assert sorted(ids) == sorted(view.model.questions)


def test_a_move_is_quick(model):
    generator, times = random.Random(2), []
    for _ in range(60):
        start = time.process_time()
        if generator.random() < 0.5:
            model.k = generator.randint(1, MAX_K)
        else:
            model.question = generator.choice(list(model.questions))
        model.html()
        model.png()
        times.append(time.process_time() - start)
    print(f"embedding lab, processor time a move: median {1000 * np.median(times):.0f} ms, "
          f"95th percentile {1000 * np.percentile(times, 95):.0f} ms")
    assert np.percentile(times, 95) < 0.1  # processor time, so that a busy machine does not count
