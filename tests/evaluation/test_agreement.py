"""Cohen's kappa, and a judge beside the hand labels."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.citations import LlmJudge, SignalJudge
from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import cohen_kappa, judge_agreement
from ragkit.recorded import load_recorded

LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30)


def pairs(*counts: tuple[str, str, int]) -> tuple[list[str], list[str]]:
    return ([one for one, _, count in counts for _ in range(count)],
            [other for _, other, count in counts for _ in range(count)])


def test_by_hand():
    # They agree in 35 of 50; chance is 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    one, other = pairs(("yes", "yes", 20), ("yes", "no", 5), ("no", "yes", 10), ("no", "no", 15))
    assert cohen_kappa(one, other) == pytest.approx((0.7 - 0.5) / 0.5)


def test_agreeing_by_chance_is_nothing():
    # Both say "yes" nine times in ten without looking: they agree in 82 %.
    one, other = pairs(("yes", "yes", 81), ("yes", "no", 9), ("no", "yes", 9), ("no", "no", 1))
    assert cohen_kappa(one, other) == pytest.approx(0.0, abs=1e-12)


def test_full_agreement_and_one_label_only():
    assert cohen_kappa(["a", "b"], ["a", "b"]) == 1.0
    assert cohen_kappa(["a", "a"], ["a", "a"]) is None
    assert cohen_kappa(["a", "b"], ["b", "a"]) == -1.0


@given(LABELS)
def test_symmetric_in_range_and_blind_to_the_names(labels):
    one, other = [a for a, _ in labels], [b for _, b in labels]
    kappa = cohen_kappa(one, other)
    swapped = cohen_kappa(other, one)
    renamed = cohen_kappa([ord(label) for label in one], [ord(label) for label in other])
    if kappa is None:
        assert swapped is renamed is None
    else:
        assert -1 - 1e-9 <= kappa <= 1
        assert swapped == pytest.approx(kappa) and renamed == pytest.approx(kappa)


def test_bad_labels():
    with pytest.raises(ValueError, match="2 labels and 1"):
        cohen_kappa(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="no labels"):
        cohen_kappa([], [])


@pytest.fixture(scope="module")
def words_only():
    return judge_agreement(SignalJudge(HashingEmbedder(64)))


def test_of_the_words_with_the_hand_labels(words_only):
    labelled = sum(sentence.label != "no_claim" for answer in load_recorded() for sentence in answer.sentences)
    assert words_only.n > 0.8 * labelled
    assert words_only.failed == 0
    assert 0 < words_only.low < words_only.kappa < words_only.high < 1
    assert 0 < words_only.observed < 1
    sides = pairs(*((hand, judge, count) for (hand, judge), count in words_only.counts.items()))
    assert words_only.kappa == pytest.approx(cohen_kappa(*sides))


def test_a_model_that_says_one_thing_agrees_by_chance():
    agreement = judge_agreement(LlmJudge(lambda prompt: "unsupported: nothing is ever certain", "sceptic"))
    assert agreement.kappa == pytest.approx(0.0, abs=1e-12)
    assert {judge for _, judge in agreement.counts} == {"unsupported"}
    assert "sceptic" == agreement.judge


def test_a_verdict_that_cannot_be_read_is_counted():
    agreement = judge_agreement(LlmJudge(lambda prompt: "Well, it depends."))
    labelled = sum(sentence.label != "no_claim" for answer in load_recorded() for sentence in answer.sentences)
    assert agreement.n == 0 and agreement.failed == labelled
    assert agreement.kappa is agreement.observed is None
    assert "without a verdict" in str(agreement)


def test_as_data_and_text(words_only):
    data = json.loads(json.dumps(words_only.to_dict()))
    assert sum(cell["count"] for cell in data["counts"]) == words_only.n
    assert "Cohen's kappa 0." in str(words_only)
    assert "<table>" in words_only._repr_html_()
    again = judge_agreement(SignalJudge(HashingEmbedder(64)))
    assert again == words_only and np.isfinite(again.kappa)
