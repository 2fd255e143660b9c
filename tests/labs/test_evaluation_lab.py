"""The lab of chapter 08, without a browser: what it shows is what ``compare`` says."""

import random
import time

import numpy as np
import pytest

from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import Comparison, GoldQuote, Question, compare, paired_difference
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.evaluation import DRAWN, METRICS, SHOWN, EvaluationModel, evaluation_lab
from ragkit.settings import Settings
from tests.fixtures import document

TEXTS = [f"The {word} in hall {number} is <checked> every {number + 2} days by the warden of the {word}."
         for number, word in enumerate(("boiler", "crane", "drill", "forklift", "grinder", "hoist", "kiln", "lathe",
                                        "mixer", "oven", "press", "robot", "saw", "torch", "vice", "winch"))]


def ask(number, text, answerable=True):
    gold = ((GoldQuote(document=f"d{number}", version="1", quote=text),),) if answerable else ()
    word = text.split()[1]
    kind = "direct" if answerable else "unanswerable_far"
    return Question(id=f"q<i>{number:02d}", split="dev", kind=kind, language="en",
                    question=f"Is the <{word}> in hall checked?" if answerable else f"zebra quartz {number}?",
                    answerable=answerable, answer="x" if answerable else "", gold=gold)


@pytest.fixture(scope="module")
def comparison():
    base = KnowledgeBase([document(f"d{number}", text) for number, text in enumerate(TEXTS)],
                         Settings(chunker="sentence", expansion="none", top_k=8, evidence_top_k=4, min_score=None),
                         HashingEmbedder(512))
    questions = [ask(number, text) for number, text in enumerate(TEXTS)]
    questions += [ask(number, TEXTS[0], answerable=False) for number in range(20, 32)]
    return compare({"all": base.settings, "one": base.settings.replace(top_k=1, evidence_top_k=1),
                    "strict": base.settings.replace(min_score=0.9)}, questions, kb=base, answers=False, k=8)


@pytest.fixture
def model(comparison):
    return EvaluationModel(comparison)


def test_with_all_questions_it_is_what_compare_says(model, comparison):
    for name in ("one", "strict"):
        model.b = name
        for metric, found in model.differences().items():
            told = comparison.difference(metric, name)
            assert (found is None) == (told is None), metric
            if found is None:
                continue
            assert (found.a, found.b, found.n, found.won, found.lost) == pytest.approx(
                (told.a, told.b, told.n, told.won, told.lost)), metric
            spread = max(1e-9, told.high - told.low)  # other draws: the intervals agree roughly
            assert abs(found.low - told.low) < 0.35 * spread and abs(found.high - told.high) < 0.35 * spread


def test_fewer_questions_are_the_first_of_a_fixed_order(model):
    model.b = "strict"
    model.flips = "answerable_answered"
    all_lost = {question.id for question in model.flipped()[1]}
    model.questions = model.fewest
    some_lost = {question.id for question in model.flipped()[1]}
    assert some_lost < all_lost and len(all_lost) > 3
    found = model.differences()["answerable_answered"]
    assert found.lost == len(some_lost) and found.n < len(TEXTS)
    again = paired_difference([1.0] * found.n, [0.0] * found.lost + [1.0] * (found.n - found.lost))
    assert found.difference == pytest.approx(again.difference)


def test_the_questions_that_flipped(model):
    model.b, model.flips = "strict", "unanswerable_refused"
    won, lost = model.flipped()
    assert len(won) == 12 and lost == [] and all(not question.answerable for question in won)
    text = model.html()
    assert "<b>12 won by B</b> (unanswerable_refused)" in text and f"and {12 - SHOWN} more" in text
    assert "<b>0 lost by B</b>" in text
    model.a, model.b = "strict", "all"  # the other way round
    assert ([q.id for q in model.flipped()[1]], model.flipped()[0]) == ([q.id for q in won], [])
    model.a, model.b, model.flips = "all", "one", "characters_read"  # of which less is better
    assert model.differences()["characters_read"].won > 10 and model.flipped()[0]
    assert model.differences()["characters_read"].lost == len(model.flipped()[1])


def test_what_documents_say_is_escaped(model):
    model.b, model.flips = "strict", "answerable_answered"
    text = model.html()
    assert "Is the &lt;" in text and "Is the <" not in text
    assert "q<i>" not in text and "q&lt;i&gt;" in text, "an id comes from a file, too"


def test_a_name_with_dollars_is_drawn_as_it_is(comparison):
    model = EvaluationModel(Comparison({"a$_{$": comparison["all"], "b$\\frac$": comparison["one"]}))
    assert model.png().startswith(b"\x89PNG")


def test_a_chain_against_itself_differs_in_nothing(model):
    model.b = "all"
    assert all(found.difference == 0 and found.verdict == "cannot tell" for found in model.differences().values()
               if found is not None)
    assert model.flipped() == ([], []) and model.png()


def test_every_knob_moves_what_shows_it(model):
    for name, value in (("b", "strict"), ("questions", 20), ("a", "strict")):
        before = model.png(), model.html()
        setattr(model, name, value)
        assert model.png() != before[0] and model.html() != before[1], name
    before = model.html()
    model.flips = "answerable_answered"
    assert model.html() != before


def test_the_picture_names_both_chains_and_its_labels_stand_in_a_column_beside_the_intervals(model):
    model.a, model.b = "one", "strict"
    model.png()
    texts = {text.get_text(): text for text in model.picture.figure.axes[0].texts}
    assert "A: one    B: strict" in texts
    labels = [text for words, text in texts.items() if "(n = " in words]
    assert len(labels) > 1 and {text.get_position()[0] for text in labels} == {1.08}  # differences end at 1


def test_no_unanswerable_questions_at_all(comparison):
    def answerable(evaluation):
        return type(evaluation)(evaluation.settings, evaluation.outcomes[:16], evaluation.k, False)

    model = EvaluationModel(Comparison({name: answerable(comparison[name]) for name in ("all", "strict")}))
    assert model.fewest == model.most == 16
    assert model.differences()["unanswerable_refused"] is None
    assert model.png() and "&ndash;" in model.html()


@pytest.mark.parametrize("name, value, message", [
    ("a", "best", "no settings 'best'; there are all, one, strict"), ("b", "", "no settings ''"),
    ("questions", 3, r"questions \(3\) must lie between 20 and 28"), ("questions", 29, r"questions \(29\)"),
    ("questions", 20.5, r"questions \(20.5\) .* whole number"), ("questions", "all", r"questions \('all'\)"),
    ("flips", "luck", "no metric 'luck'")])
def test_what_is_refused(model, name, value, message):
    with pytest.raises(ValueError, match=message):
        setattr(model, name, value)


def test_one_chain_is_none_to_compare(comparison):
    with pytest.raises(ValueError, match="at least two"):
        EvaluationModel(Comparison({"all": comparison["all"]}))


def test_the_view_moves_the_model(comparison):
    lab = evaluation_lab(comparison)
    assert list(lab.controls["a"].options) == ["all", "one", "strict"]
    assert list(lab.controls["flips"].options) == list(METRICS) and set(DRAWN) < set(METRICS)
    text, picture = lab._text.value, lab._image.value
    lab.controls["b"].value = "strict"
    assert lab.model.b == "strict" and lab._text.value != text and lab._image.value != picture
    lab.controls["questions"].value = 21
    assert "21 of 28 questions" in lab._text.value and lab._error.value == ""


def test_a_move_is_quick(comparison):
    many = Comparison({name: type(comparison[name])(comparison[name].settings, comparison[name].outcomes * 7, 8, False)
                       for name in comparison.names})  # 196 questions, as many as the chapter's
    model, moves, times = EvaluationModel(many), random.Random(3), []
    for _ in range(60):
        model.a, model.b = moves.sample(model.names, 2)
        model.questions, model.flips = moves.randint(model.fewest, model.most), moves.choice(METRICS)
        start = time.thread_time()  # processor time: what else the machine does takes no part in it
        model.png(), model.html()
        times.append(1000 * (time.thread_time() - start))
    print(f"a move of the evaluation lab: median {np.median(times):.1f} ms, 95th percentile "
          f"{np.percentile(times, 95):.1f} ms")
    assert np.median(times) < 60  # about 20


