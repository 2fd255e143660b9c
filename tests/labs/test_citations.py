"""The lab of chapter 07, without a browser: its verdicts are those of ``verify_citations`` itself."""

import time

import numpy as np
import pytest

from ragkit.citations import attribute, verify_citations
from ragkit.citations.support import MINILM
from ragkit.labs.citations import BLANK, MOST, CitationsModel, RememberingJudge, citations_lab
from ragkit.recorded import LabelledSentence, RecordedAnswer, RecordedSettings, RecordedSource, load_recorded
from tests.citations.judges import WordJudge

SETTINGS = RecordedSettings(model="m", weights_sha256="x", temperature=0, max_tokens=9, answer_start="", stop=(),
                            threads=1, transformers="x", torch="x")


def record(id_, answer, *texts):
    sources = tuple(RecordedSource(number=n, document_id=f"d{n}", version="1", title=f"D{n}", text=text, start=0,
                                   end=len(text), content_hash="") for n, text in enumerate(texts, 1))
    sentence = LabelledSentence(start=0, end=len(answer), label="no_claim", note="", cited=(), correct_sources=())
    return RecordedAnswer(id=id_, question_id="q", question="What <b>colour</b>?", prompt="plain", settings=SETTINGS,
                          messages_sha256="", budget=500, tokens=9, sources=sources, answer=answer, finish="stop",
                          sentences=(sentence,))


ANSWERS = [
    record("a", "The fox is red [1]. The dog is red [2]. It is so [9].", "The fox is <i>red</i>.", "The dog sleeps."),
    record("b", "The dog sleeps. The fox is 5 [1]. Hello!", "The fox is 4.", "The dog sleeps."),
]


@pytest.fixture
def model():
    return CitationsModel(ANSWERS, WordJudge())


def test_the_verdicts_are_those_of_the_check(model):
    for one in ANSWERS:
        model.recorded = one.id
        assert model.verification() == verify_citations(one.answer, one.context, judge=WordJudge())
        model.attributed = True
        text = attribute(one.answer, one.context, judge=WordJudge()).text
        assert model.verification() == verify_citations(text, one.context, judge=WordJudge())
        model.attributed = False


def test_an_edit_changes_a_verdict_text_and_picture(model):
    before = model.html(), model.png()
    assert "✗ unsupported" in before[0] and "[9] does not exist" in before[0]
    model.answer = model.answer.replace("dog is red", "dog sleeps")
    assert [sentence.label for sentence in model.verification().sentences][1] == "supported"
    assert (model.html(), model.png()) != before
    model.recorded = "a"
    assert (model.html(), model.png()) == before


def test_an_edit_asks_the_judge_about_the_new_sentence_only(model):
    model.html(), model.png()
    asked = model.judge.asked
    model.answer += " The dog sleeps all day."
    model.html(), model.png()
    assert model.judge.asked == asked + 2  # one claim, two sources
    model.answer = model.answer.replace(" [1]", "")
    model.html(), model.png()
    assert model.judge.asked == asked + 2


def test_the_best_source(model):
    sentences = model.verification().sentences
    assert model.best(sentences[0]) == (1, 1.0)
    assert model.best(sentences[1]) == (1, 0.75)
    model.recorded = "b"
    assert model.best(model.verification().sentences[2]) is None


def test_blank_has_the_first_sources_and_no_text(model):
    model.recorded = "b"
    model.recorded = BLANK
    assert (model.answer, model.question, len(model.context)) == ("", ANSWERS[0].question, 2)
    assert model.verification().sentences == () and model.html() and model.png()


def test_long_answers_and_texts_with_markup(model):
    model.answer = "The <b>fox</b> is red [1]. " * (MOST + 5)
    text = model.html()
    assert "<b>fox" not in text and "&lt;b&gt;fox" in text and "<i>red" not in text and "What <b>colour" not in text
    assert text.count("✗ unsupported") == MOST + 5 and model.png()


def test_what_is_refused(model):
    with pytest.raises(ValueError, match="no answer 'z' in this lab; it has a, b, blank"):
        model.recorded = "z"
    with pytest.raises(ValueError, match="at least one recorded answer"):
        CitationsModel([], WordJudge())


def test_a_claim_is_judged_once():
    judge = WordJudge()
    remembering = RememberingJudge(judge)
    assert remembering.judge(["a", "b", "a"], "a") == judge.judge(["a", "b", "a"], "a")
    assert remembering.judge(["b"], "a") == judge.judge(["b"], "a")
    assert remembering.asked == 2 and remembering.name == "words"


def test_the_view_loads_and_follows_edits():
    lab = citations_lab(ANSWERS, WordJudge(), chosen={"second": "b", "first": "a"})
    assert lab.model.recorded == "b" and lab.controls["answer"].value == ANSWERS[1].answer
    lab.controls["recorded"].value = "a"
    assert lab.controls["answer"].value == lab.model.answer == ANSWERS[0].answer
    text, picture = lab._text.value, lab._image.value
    lab.controls["answer"].value = "The dog sleeps."
    assert lab.model.answer == "The dog sleeps." and lab._text.value != text and lab._image.value != picture
    lab.controls["attributed"].value = True
    assert "The dog sleeps. [2]" in lab._text.value
    lab.controls["recorded"].value = BLANK
    assert lab.model.answer == lab.controls["answer"].value == "" and lab._error.value == ""


def test_a_move_is_quick(model):
    times = []
    for number in range(40):
        model.answer = ANSWERS[number % 2].answer + f" The dog is {number} years old [1]." * (number % 5)
        start = time.thread_time()  # processor time: what else the machine does takes no part in it
        model.png(), model.html()
        times.append(1000 * (time.thread_time() - start))
    print(f"an edit in the citations lab: 95th percentile {np.percentile(times, 95):.1f} ms")
    assert np.median(times) < 60  # about 20; a figure drawn anew takes far more


def test_a_sentence_that_cites_nothing_that_exists_keeps_its_diamond():
    [one] = [one for one in load_recorded() if one.id == "marked-en-b-079"]
    model = CitationsModel([one])
    model.answer = one.answer.replace("[1]", "[9]")
    [sentence] = model.verification().sentences
    assert (sentence.label, sentence.score, model.best(sentence)[0]) == ("unsupported", None, 1)
    assert model.png() and "[9] does not exist" in model.html()
    assert model.judge.threshold == MINILM.threshold
