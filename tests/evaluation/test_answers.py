"""Correctness against the short gold answer, and the refusal matrix."""

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.evaluation import RefusalMatrix, answer_metrics, exact_match, number_match, token_f1, token_recall
from ragkit.evaluation.answers import ANSWER_METRICS, CITATIONS, CORRECTNESS, answer_tokens
from tests.evaluation.small_questions import question, small_base, small_questions

PLAIN = st.text(alphabet="abcdeht .,!'-\n", max_size=40)


def squad_tokens(text: str) -> list[str]:
    """Normalisation as Rajpurkar et al. describe it: lower case, no punctuation, no articles, single spaces."""
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def squad_f1(text: str, gold: str) -> float:
    given_, wanted = squad_tokens(text), squad_tokens(gold)
    common = sum((Counter(given_) & Counter(wanted)).values())
    if not given_ or not wanted:
        return float(given_ == wanted)
    if not common:
        return 0.0
    precision, recall = common / len(given_), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


@given(PLAIN, PLAIN)
def test_as_squad_where_there_are_no_numbers(text, gold):
    assert exact_match(text, gold) == float(squad_tokens(text) == squad_tokens(gold))
    assert token_f1(text, gold) == pytest.approx(squad_f1(text, gold), abs=1e-12)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_measured(text, gold):
    assert exact_match(text, text) == token_f1(text, text) == token_recall(text, text) == 1.0
    assert token_f1(text, gold) == token_f1(gold, text)
    assert 0 <= token_f1(text, gold) <= 1
    assert number_match(text, gold) in (None, 0.0, 1.0)


@pytest.mark.parametrize(("text", "gold"), [
    ("The cap: EUR 1,200.", "the cap 1200 euros"), ("two weeks", "14 days"), ("12 March 2025", "2025-03-12"),
    ("twelve", "12"), ("9:30 am", "09:30"), ("Yes.", "yes"), ("ＩＴ部门", "IT部门"), ("八百元", "800元")])
def test_the_same_in_other_words_is_an_exact_match(text, gold):
    assert exact_match(text, gold) == token_f1(text, gold) == 1.0


def test_chinese_is_compared_character_by_character():
    assert answer_tokens("每晚，八百元！") == ["每", "晚", "800", "cny"]
    assert token_f1("财务部门", "财务部") == pytest.approx(6 / 7)


def test_a_sentence_around_the_answer_costs_f1_and_not_recall():
    text, gold = "In Berlin a room may cost up to 150 euros a night.", "150 euros a night"
    assert exact_match(text, gold) == 0.0
    assert 0.3 < token_f1(text, gold) < 0.6
    assert token_recall(text, gold) == number_match(text, gold) == 1.0


@pytest.mark.parametrize(("bare", "with_unit"), [
    ("28", "28 days"), ("2", "two hours"), ("30", "30 seconds"), ("5", "5 km"), ("150", "150 euros"), ("八百", "八百元"),
    ("28", "二十八天")])
def test_an_amount_without_its_unit_is_half_of_it(bare, with_unit):
    assert token_f1(bare, with_unit) == token_f1(with_unit, bare) == pytest.approx(2 / 3)
    assert token_recall(bare, with_unit) == 0.5 and exact_match(bare, with_unit) == 0.0
    assert token_recall(f"{bare} rooms for 8 hours", "8 attempts") == 0.0, "with a word behind it, it is another amount"


def test_a_token_that_comes_twice_must_be_there_twice():
    assert token_recall("no", "no no") == 0.5
    assert token_f1("no", "no no") == pytest.approx(2 / 3)


@pytest.mark.parametrize(("text", "gold", "expected"), [
    ("It costs 180 euros", "150 euros", 0.0), ("150 euros or 160 euros", "150 euros", 1.0),
    ("Use E-412 within 3 days", "E-412, 3 days", 1.0), ("Use E-413 within 3 days", "E-412, 3 days", 0.0),
    ("form TR-14", "the department head signs", None), ("", "40 euros", 0.0)])
def test_number_match(text, gold, expected):
    assert number_match(text, gold) == expected


def test_metrics_of_an_answer_leave_its_marks_out():
    base = small_base()
    asked = small_questions()[0]
    answer = base.ask(asked.question)
    assert "[1]" in answer.text
    metrics = answer_metrics(answer, asked)
    assert set(metrics) == set(ANSWER_METRICS)
    assert exact_match(answer.text.replace("[1]", ""), asked.answer) == metrics["exact_match"]
    assert metrics["number_match"] == 1.0
    assert {name: metrics[name] for name in CITATIONS} == answer.verification.measures()


def test_without_a_gold_answer_there_is_no_correctness_but_there_are_citations():
    answer = small_base().ask(small_questions()[0].question)
    for asked in (question("x", "What?"), question("y", "What?", "  ", ("hotel", "Breakfast"))):
        metrics = answer_metrics(answer, asked)
        assert all(metrics[name] is None for name in CORRECTNESS)
        assert metrics["citation_recall"] is not None


def test_refusal_matrix():
    pairs = ([(True, False)] * 6 + [(True, True)] * 2 + [(True, None)] + [(False, True)] * 3 + [(False, False)] * 4
             + [(False, None)] * 5)
    matrix = RefusalMatrix.count(pairs)
    assert matrix == RefusalMatrix(6, 4, 2, 3, 1, 5)
    assert matrix.precision == (3 / 5, 5)
    assert matrix.recall == (3 / 12, 12)  # an error is no right refusal
    assert matrix.answered == (6 / 9, 9)
    assert matrix.to_dict()["recall"] == {"value": 0.25, "n": 12}


@pytest.mark.parametrize("pair", [(True, "no"), (None, True), (True, 2)])
def test_a_refusal_that_is_none_is_not_lost(pair):
    with pytest.raises(ValueError, match=re.escape(f"{pair!r} is no (answerable, refused)")):
        RefusalMatrix.count([(True, False), pair])


def test_refusal_shares_of_nothing_are_undefined():
    matrix = RefusalMatrix.count([(True, False)])
    assert matrix.precision == matrix.recall == (None, 0)
    assert matrix.answered == (1.0, 1)
