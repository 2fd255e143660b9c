"""Intervals, the randomisation test, and how many questions it takes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.evaluation import bootstrap_interval, paired_difference, questions_needed, randomisation_test
from ragkit.evaluation.statistics import EXACT_UP_TO, p_text

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def test_the_interval_of_a_share_is_that_of_the_binomial():
    values = [1.0] * 60 + [0.0] * 40
    low, high = bootstrap_interval(values)
    error = 1.96 * (0.6 * 0.4 / 100) ** 0.5
    assert low == pytest.approx(0.6 - error, abs=0.011)
    assert high == pytest.approx(0.6 + error, abs=0.011)


def test_the_interval_holds_the_true_mean_as_often_as_it_says():
    generator = np.random.default_rng(4)
    held = 0
    for trial in range(300):
        low, high = bootstrap_interval(generator.random(80), resamples=500, seed=trial)
        held += low <= 0.5 <= high
    assert 0.90 <= held / 300 <= 0.98


def test_the_same_seed_gives_the_same_interval_and_another_one_nearly():
    values = np.random.default_rng(0).random(200)
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) == pytest.approx(bootstrap_interval(values, seed=4), abs=0.005)


def test_more_values_than_are_drawn_at_a_time(monkeypatch):
    monkeypatch.setattr("ragkit.evaluation.statistics._BLOCK", 1000)
    values = np.random.default_rng(0).random(300)
    low, high = bootstrap_interval(values, resamples=1000)
    assert low < values.mean() < high
    assert 0 < randomisation_test(values - 0.5, resamples=1000) <= 1


@given(SCORES)
@settings(max_examples=30)
def test_an_interval_lies_among_the_values(values):
    low, high = bootstrap_interval(values, resamples=50)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def enumerated(differences: list[float]) -> float:
    """The test by its definition: every way to flip the signs, zeros and all."""
    seen = abs(sum(differences))
    sums = [abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
            for signs in product((1, -1), repeat=len(differences))]
    return sum(value >= seen - 1e-9 for value in sums) / len(sums)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
@settings(max_examples=60)
def test_small_samples_are_counted_out(differences):
    assert randomisation_test(differences) == pytest.approx(enumerated([float(value) for value in differences]))


def test_above_the_exact_size_it_agrees_with_the_sign_test():
    # 20 questions, 15 won by one point and 5 lost: the two-sided binomial tail of 15 of 20.
    differences = [1.0] * 15 + [-1.0] * 5
    assert len(differences) > EXACT_UP_TO
    assert randomisation_test(differences, resamples=20_000) == pytest.approx(0.0414, abs=0.006)


def test_no_question_differs():
    assert randomisation_test([0.0, 0.0, 1e-15]) == 1.0


def test_never_quite_zero():
    assert 0 < randomisation_test([1.0] * 500, resamples=100) == pytest.approx(1 / 101)


def test_equal_chains_are_called_different_as_often_as_the_level_says():
    generator = np.random.default_rng(8)
    rejected = sum(randomisation_test(generator.normal(size=30), resamples=400, seed=trial) <= 0.05
                   for trial in range(500))
    assert rejected / 500 == pytest.approx(0.05, abs=0.03)


def test_difference_counts_the_questions_that_both_have():
    found = paired_difference([1.0, 0.0, None, 0.5, None], [1.0, 1.0, 0.3, 0.2, None], "recall")
    assert (found.n, found.won, found.lost, found.tied) == (3, 1, 1, 1)
    assert found.a == pytest.approx(0.5)
    assert found.difference == pytest.approx(0.7 / 3)
    assert found.verdict == "cannot tell"


def test_the_verdict_says_better_and_worse():
    low = [0.0] * 100
    high = [1.0] * 30 + [0.0] * 70
    assert paired_difference(low, high).verdict == "better"
    assert paired_difference(high, low).verdict == "worse"
    assert paired_difference(high, high).verdict == "cannot tell"
    fewer = paired_difference([200.0] * 20, [100.0] * 20, "characters_read", lower_is_better=True)
    assert (fewer.verdict, fewer.won, fewer.lost) == ("better", 20, 0)


def test_two_questions_prove_nothing():
    found = paired_difference([0.0, 0.0], [1.0, 1.0])
    assert found.low == found.high == 1.0
    assert found.verdict == "cannot tell"


@given(SCORES)
@settings(max_examples=25)
def test_swapping_the_chains_swaps_the_difference(values):
    other = values[::-1]
    one, two = (paired_difference(*pair, resamples=200) for pair in ((values, other), (other, values)))
    assert one.difference == pytest.approx(-two.difference)
    assert one.p_value == two.p_value
    assert (one.won, one.lost) == (two.lost, two.won)


def test_nothing_in_common():
    assert paired_difference([None, 1.0], [1.0, None]) is None


def test_questions_needed():
    generator = np.random.default_rng(1)
    differences = np.where(generator.random(400) < 0.1, generator.choice([-1.0, 1.0], 400), 0.0)
    scatter = differences.std(ddof=1)
    assert questions_needed(differences, 0.05) == int(np.ceil((2.80159 * scatter / 0.05) ** 2))
    assert questions_needed(differences, 0.1) < questions_needed(differences, 0.05)
    assert questions_needed(differences, 0.05, power=0.9) > questions_needed(differences, 0.05)
    assert questions_needed([0.0, 0.0], 0.05) == 2


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="3 values and 2"):
        paired_difference([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match=r"value 1 \(nan\)"):
        bootstrap_interval([1.0, float("nan")])
    with pytest.raises(ValueError, match=r"value 2 of b \(inf\)"):  # the place in what was given
        paired_difference([None, 1.0, 2.0], [1.0, None, float("inf")])
    with pytest.raises(ValueError, match=r"confidence \(2\)"):
        paired_difference([None], [1.0], confidence=2)
    with pytest.raises(ValueError, match=r"seed \(-1\)"):
        randomisation_test([1.0], seed=-1)
    with pytest.raises(ValueError, match=r"effect \('x'\)"):
        questions_needed([1.0, 0.0], "x")
    with pytest.raises(ValueError, match=r"confidence \(95\)"):
        bootstrap_interval([1.0], confidence=95)
    with pytest.raises(ValueError, match=r"resamples \(0\)"):
        randomisation_test([1.0], resamples=0)
    with pytest.raises(ValueError, match="at least one number"):
        bootstrap_interval([])
    with pytest.raises(ValueError, match=r"effect \(0\)"):
        questions_needed([1.0, 0.0], 0)
    with pytest.raises(ValueError, match=r"power \(1\)"):
        questions_needed([1.0, 0.0], 0.1, power=1)
    with pytest.raises(ValueError, match="does not scatter"):
        questions_needed([1.0], 0.1)


def test_p_values_as_text():
    assert p_text(0.0001) == "< 0.001"
    assert p_text(0.0341) == "= 0.034"
