"""Thresholds from labelled questions: by hand, against scikit-learn, and what is refused."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_recall_curve, roc_auc_score

from ragkit.refusal import (
    MaxF1,
    MinCost,
    MinCoverage,
    MinPrecision,
    MinRecall,
    ObjectiveNotReached,
    Outcomes,
    calibrate,
    share_interval,
)
from ragkit.refusal.outcomes import count_scores

# Ten questions. From the top: a a u a a u a u u u, with a tie of an answerable and an unanswerable one at 0.5.
SCORES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1]
LABELS = [True, True, False, True, True, False, True, False, False, False]

_scores = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 1.0]) | st.floats(0, 1)
_questions = st.lists(st.tuples(_scores, st.booleans()), min_size=2, max_size=30)
_objectives = st.sampled_from([MaxF1(), MinPrecision(0.6), MinCoverage(0.5), MinRecall(0.7), MinCost(3, 1)])


def two_sided(questions):
    scores, labels = map(list, zip(*questions, strict=True))
    assume(0 < sum(labels) < len(labels))
    return scores, labels


def counts(outcomes):
    return (outcomes.rightly_answered, outcomes.wrongly_answered, outcomes.wrongly_refused, outcomes.rightly_refused)


# --- the curve ----------------------------------------------------------------------------------------------


def test_the_curve_by_hand():
    curve = calibrate(SCORES, LABELS).curve
    assert curve.threshold[:-1].tolist() == sorted(set(SCORES))
    assert curve.threshold[-1] == np.nextafter(0.9, 1)
    assert curve.rightly_answered.tolist() == [5, 5, 5, 5, 4, 3, 2, 2, 1, 0]
    assert curve.wrongly_answered.tolist() == [5, 4, 3, 2, 2, 1, 1, 0, 0, 0]
    assert curve.wrongly_refused.tolist() == [0, 0, 0, 0, 1, 2, 3, 3, 4, 5]
    assert curve.rightly_refused.tolist() == [0, 1, 2, 3, 3, 4, 4, 5, 5, 5]
    assert curve.coverage[4] == 0.6  # at the tie both sides are answered: the threshold is inclusive
    assert curve.risk[4] == pytest.approx(2 / 6) and curve.precision[4] == pytest.approx(4 / 6)
    assert (curve.recall[4], curve.specificity[4]) == (0.8, 0.6)
    assert curve.f1[4] == pytest.approx(2 * (4 / 6) * 0.8 / (4 / 6 + 0.8))
    assert curve.cost(5, 1)[4] == pytest.approx((2 * 5 + 1 * 1) / 10)
    assert np.isnan(curve.risk[-1]) and np.isnan(curve.precision[-1]) and curve.f1[-1] == 0


def test_auroc_by_hand():
    # Of 25 pairs the answerable one wins 5 + 5 + 4 + 3 (and a tie) + 3.
    assert calibrate(SCORES, LABELS).auroc == pytest.approx((5 + 5 + 4 + 3.5 + 3) / 25)
    assert calibrate([0.9, 0.8, 0.2], [True, True, False]).auroc == 1.0
    assert calibrate([0.4, 0.4], [True, False]).auroc == 0.5


@given(_questions)
def test_the_curve_is_scikit_learns(questions):
    scores, labels = two_sided(questions)
    counted = count_scores(scores, labels)
    curve = counted.curve()
    assert counted.auroc() == pytest.approx(roc_auc_score(labels, scores))
    precision, recall, thresholds = precision_recall_curve(labels, scores)
    assert curve.threshold[:-1].tolist() == thresholds.tolist()
    np.testing.assert_allclose(curve.precision[:-1], precision[:-1])
    np.testing.assert_allclose(curve.recall, recall)
    for position, threshold in enumerate(curve.threshold):
        [[tn, fp], [fn, tp]] = confusion_matrix(labels, np.array(scores) >= threshold, labels=[False, True])
        assert counts(curve[position]) == (tp, fp, fn, tn)


@given(_questions)
def test_a_higher_threshold_answers_less_and_refuses_more(questions):
    curve = count_scores(*two_sided(questions)).curve()
    assert np.all(np.diff(curve.threshold) > 0)
    for falling in (curve.coverage, curve.recall):
        assert falling[0] == 1 and falling[-1] == 0 and np.all(np.diff(falling) <= 0)
    assert curve.specificity[0] == 0 and curve.specificity[-1] == 1 and np.all(np.diff(curve.specificity) >= 0)


# --- the choice ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective, threshold, expected", [
    (MaxF1(), 0.4, (5, 2, 0, 3)),  # F1 10/12; at 0.8 only 4/7
    (MinPrecision(0.7), 0.4, (5, 2, 0, 3)),  # 5/7, and nothing lower reaches it
    (MinPrecision(0.75), 0.6, (3, 1, 2, 4)),  # exactly 3/4: the floor is inclusive
    (MinPrecision(1.0), 0.8, (2, 0, 3, 5)),
    (MinCoverage(0.4), 0.6, (3, 1, 2, 4)),  # exactly 4 of 10
    (MinCoverage(0.5), 0.4, (5, 2, 0, 3)),  # risk 2/7 at coverage 0.7 beats 2/6 at 0.6
    (MinCoverage(1.0), 0.1, (5, 5, 0, 0)),
    (MinRecall(0.8), 0.4, (5, 2, 0, 3)),  # at 0.5 as many wrong answers, one right answer fewer
    (MinRecall(0.6), 0.6, (3, 1, 2, 4)),
    (MinCost(1, 1), 0.4, (5, 2, 0, 3)),
    (MinCost(5, 1), 0.8, (2, 0, 3, 5)),
    (MinCost(1, 5), 0.4, (5, 2, 0, 3)),
])
def test_each_objective_by_hand(objective, threshold, expected):
    calibration = calibrate(SCORES, LABELS, objective)
    assert (calibration.threshold, counts(calibration.outcomes)) == (threshold, expected)
    assert calibration.outcomes.threshold == threshold and calibration.objective == objective


def test_of_equals_the_cautious_threshold():
    assert calibrate([0.8, 0.6, 0.6], [True, True, False], MinCost(1, 1)).threshold == 0.8
    assert calibrate([0.8, 0.6, 0.6, 0.6], [True, True, False, False], MaxF1()).threshold == 0.8  # 2/3 at both


@pytest.mark.parametrize("price", [1e-320, 1e-13, 1e308])
@pytest.mark.filterwarnings("error")
def test_tiny_and_huge_prices_choose_as_their_ratio_does(price):
    scores, labels = [0.9, 0.8, 0.7, 0.6], [True, False, True, False]
    for ratio in (1, 4):
        expected = calibrate(scores, labels, MinCost(ratio, 1)).threshold
        assert calibrate(scores, labels, MinCost(price, price / ratio)).threshold == expected


def test_a_high_price_refuses_everything():
    calibration = calibrate([0.9, 0.5, 1.0], [True, True, False], MinCost(wrong_answer=10))
    assert counts(calibration.outcomes) == (0, 0, 2, 1)
    assert calibration.threshold > 1.0  # inclusive, so 1.0 would still answer the question at 1.0
    assert calibration.metrics["precision"] is None and calibration.intervals["precision"] is None


@settings(max_examples=20)
@given(_questions, st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.1, 10))
def test_only_the_ratio_of_the_prices_counts(questions, wrong_answer, wrong_refusal, factor):
    scores, labels = two_sided(questions)
    calibration = calibrate(scores, labels, MinCost(wrong_answer, wrong_refusal))
    paid = calibration.curve.cost(wrong_answer, wrong_refusal)
    assert calibration.outcomes.cost(wrong_answer, wrong_refusal) == pytest.approx(paid.min())
    scaled = calibrate(scores, labels, MinCost(wrong_answer * factor, wrong_refusal * factor))
    assert scaled.outcomes.cost(wrong_answer, wrong_refusal) == pytest.approx(paid.min())


@settings(max_examples=20)
@given(_questions, _objectives)
def test_the_threshold_applied_by_hand_gives_the_outcomes(questions, objective):
    scores, labels = map(np.array, two_sided(questions))
    try:
        calibration = calibrate(scores, labels, objective)
    except ObjectiveNotReached:
        assert objective == MinPrecision(0.6)
        assert all(labels[scores >= threshold].mean() < 0.6 for threshold in scores)
        return
    answered = scores >= calibration.threshold
    assert counts(calibration.outcomes) == (sum(answered & labels), sum(answered & ~labels), sum(~answered & labels),
                                            sum(~answered & ~labels))
    curve = calibration.curve
    if objective == MaxF1():
        assert calibration.metrics["f1"] == curve.f1.max()
    elif objective == MinPrecision(0.6):
        assert calibration.metrics["precision"] >= 0.6
        assert not np.any(curve.precision[curve.threshold < calibration.threshold] >= 0.6)
    elif objective == MinCoverage(0.5):
        assert calibration.metrics["risk"] == np.nanmin(curve.risk[curve.coverage >= 0.5])
    elif objective == MinRecall(0.7):
        assert calibration.metrics["specificity"] == curve.specificity[curve.recall >= 0.7].max()


@settings(max_examples=20)
@given(_questions, st.randoms())
def test_the_order_of_the_questions_does_not_matter(questions, shuffle):
    scores, labels = two_sided(questions)
    shuffled = list(questions)
    shuffle.shuffle(shuffled)
    assert calibrate(scores, labels) == calibrate(*two_sided(shuffled))


# --- intervals ----------------------------------------------------------------------------------------------


def sample(size, seed):
    generator = np.random.default_rng(seed)
    labels = np.arange(size) < 0.7 * size
    return np.clip(generator.normal(0.4 + 0.15 * labels, 0.12), 0, 1), labels


def test_the_intervals_are_those_of_a_plain_bootstrap():
    scores, labels = sample(200, 0)
    calibration = calibrate(scores, labels, MaxF1())
    generator = np.random.default_rng(99)
    drawn = []
    for _ in range(400):  # every question by itself, with scikit-learn's curve
        chosen = np.concatenate([generator.choice(np.flatnonzero(side), side.sum()) for side in (labels, ~labels)])
        precision, recall, thresholds = precision_recall_curve(labels[chosen], scores[chosen])
        best = np.argmax((2 * precision * recall / np.maximum(precision + recall, 1e-12))[:-1])
        answered = scores[chosen] >= calibration.threshold
        drawn.append((thresholds[best], labels[chosen][answered].mean(), roc_auc_score(labels[chosen], scores[chosen])))
    for name, values in zip(("threshold", "precision", "auroc"), np.transpose(drawn), strict=True):
        np.testing.assert_allclose(calibration.intervals[name], np.quantile(values, [0.025, 0.975]), atol=0.015)


def test_an_interval_holds_its_value_narrows_with_more_questions_and_repeats():
    small, large = (calibrate(*sample(size, 1), MinRecall(0.9)) for size in (60, 3000))
    for name, value in {"threshold": small.threshold, **small.metrics}.items():
        low, high = small.intervals[name]
        assert low <= value <= high and low < high, name
        assert large.intervals[name].high - large.intervals[name].low < (high - low) / 2, name
    assert small == calibrate(*sample(60, 1), MinRecall(0.9))
    assert small.intervals != calibrate(*sample(60, 1), MinRecall(0.9), seed=1).intervals


def test_resamples_that_miss_the_objective_are_told():
    scores, labels = [0.9, 0.8, 0.7, 0.1], [True, False, True, False]
    calibration = calibrate(scores, labels, MinPrecision(1.0))
    # Missed when the answerable question at 0.9 is not drawn (1/4) and the unanswerable one at 0.8 is (3/4).
    assert calibration.reached == pytest.approx(1 - 3 / 16, abs=0.04)
    assert calibrate(scores, labels, MinRecall(0.5)).reached == 1.0


def test_the_interval_of_a_share():
    # Wilson's interval, worked by hand with z = 1.959964.
    assert share_interval(20, 20) == pytest.approx((0.8389, 1.0), abs=1e-4)
    assert share_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert share_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    for hits, total in ((3, 2), (-1, 5), (0, 0), (0.5, 2), (None, 2), (1, float("inf"))):
        with pytest.raises(ValueError, match=rf"hits \({hits}\) must lie between 0 and total \({total}\)"):
            share_interval(hits, total)


# --- dev and test -------------------------------------------------------------------------------------------


def test_a_report_applies_the_threshold_as_it_stands():
    calibration = calibrate(SCORES, LABELS, MinPrecision(0.75))
    report = calibration.report([0.6, 0.59, 0.95, 0.95], [True, True, False, True])
    assert (report.threshold, counts(report.outcomes)) == (0.6, (2, 1, 1, 0))
    assert report.metrics == pytest.approx({"coverage": 3 / 4, "risk": 1 / 3, "precision": 2 / 3, "recall": 2 / 3,
                                            "specificity": 0, "f1": 2 / 3, "auroc": 0.5 / 3})
    assert report.intervals["recall"] == (0, 1) and report.intervals["specificity"] == (0, 0)


def test_a_report_may_be_of_one_side():
    report = calibrate(SCORES, LABELS).report([0.2, 0.4, 0.1], [False, False, False])
    assert report.metrics["specificity"] == pytest.approx(2 / 3)
    assert report.metrics["recall"] is report.metrics["auroc"] is report.intervals["recall"] is None
    assert "recall      undefined" in str(report)


def test_questions_that_set_the_threshold_cannot_report_on_it():
    plain = calibrate(SCORES, LABELS)
    with pytest.raises(ValueError, match="the very scores and labels that set this threshold"):
        plain.report(SCORES[::-1], LABELS[::-1])
    named = calibrate(SCORES, LABELS, ids=[f"dev-{n}" for n in range(10)])
    with pytest.raises(ValueError, match="2 of the questions set this threshold, 'dev-3' among them"):
        named.report([0.1, 0.2, 0.3], [True, False, True], ids=["dev-7", "test-1", "dev-3"])
    assert named.report(SCORES, LABELS, ids=[f"test-{n}" for n in range(10)]).metrics == named.metrics
    for calibration, ids in ((named, None), (plain, ["a", "b"])):
        with pytest.raises(ValueError, match="ids to calibrate and to report, or to neither"):
            calibration.report([0.1, 0.2], [True, False], ids=ids)
    mixed = calibrate(SCORES[:4], LABELS[:4], ids=[1, "a", 2, "b"])
    with pytest.raises(ValueError, match="2 of the questions set this threshold, 'a' among them"):
        mixed.report([0.1, 0.2], [True, False], ids=[1, "a"])
    with pytest.raises(TypeError, match=r"ids must be strings .*unhashable"):
        calibrate([0.1, 0.2], [True, False], ids=[["a"], ["b"]])
    for ids in (["a"], ["a", "a"], "ab"):
        with pytest.raises(ValueError, match="ids must be one for each of the 2 questions"):
            calibrate([0.1, 0.2], [True, False], ids=ids)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scores, labels, message", [
    ([0.1, 0.2], [True, True], "none of the 2 questions is unanswerable"),
    ([0.1, 0.2], [0, 0], "none of the 2 questions is answerable"),
    ([0.1, 0.2, 0.3], [True, False], "there are 3 scores and 2 labels"),
    ([[0.1, 0.2]], [[True, False]], r"scores\[0\] \(\[0.1, 0.2\]\) is not a number"),
    (np.array([[0.1, 0.2]]), np.array([[True, False]]), r"scores\[0\] \(\[0.1, 0.2\]\) is not a number"),
    ([[0.5], 0.4], [True, False], r"scores\[0\] \(\[0.5\]\) is not a number"),
    ([0.1, None], [True, False], r"scores\[1\] \(None\) is not a number"),
    (["0.5", "0.1"], [True, False], r"scores\[0\] \('0.5'\) is not a number"),
    ([0.5 + 1j, 0.1], [True, False], r"scores\[0\] \(\(0.5\+1j\)\) is not a number"),
    ([0.5, 0.4], [[True], False], r"answerable\[0\] \(\[True\]\) must be true or false"),
    ([0.5, 0.4], [True, None], r"answerable\[1\] \(None\) must be true or false"),
    ([], [], "there are no scores"),
    ([0.1, float("nan")], [True, False], r"scores\[1\] \(nan\) is not in \[0, 1\]; look at what made it"),
    ([-0.02, 0.4], [True, False], r"scores\[0\] \(-0.02\) is not in \[0, 1\]; a cosine is clamped"),
    ([0.1, 1.5], [True, False], r"scores\[1\] \(1.5\)"),
    ([0.1, 0.2], [True, 0.5], r"answerable\[1\] \(0.5\) must be true or false"),
    ([0.1, 0.2], ["yes", "no"], r"answerable\[0\] \('yes'\) must be true or false"),
])
def test_bad_data_is_refused(scores, labels, message):
    with pytest.raises(ValueError, match=message):
        calibrate(scores, labels)


@pytest.mark.parametrize("scores, labels, name", [
    (None, [True], r"scores \(None\)"), ("ab", [True, False], r"scores \('ab'\)"), (0.5, [True], r"scores \(0.5\)"),
    ([0.5], True, r"answerable \(True\)")])
def test_what_is_no_list_is_named(scores, labels, name):
    with pytest.raises(TypeError, match=f"{name} must be a list with one entry for each question"):
        calibrate(scores, labels)


def test_any_kind_of_list_will_do_and_is_left_alone():
    expected = calibrate(SCORES, LABELS, ids=[str(n) for n in range(10)])
    scores, labels = np.array(SCORES), np.array(LABELS)
    assert calibrate(scores, labels) == calibrate(scores.astype(object), list(labels)) == expected
    assert calibrate(iter(SCORES), (int(label) for label in LABELS), ids=map(str, range(10))) == expected
    assert scores.tolist() == SCORES and labels.tolist() == LABELS


@pytest.mark.parametrize("seed", [-1, 1.5, None, True])
def test_a_wrong_seed_is_named(seed):
    with pytest.raises(ValueError, match=r"seed \(.*\) must be a whole number"):
        calibrate(SCORES, LABELS, seed=seed)


def test_an_objective_that_cannot_be_reached_says_what_can():
    with pytest.raises(ObjectiveNotReached, match=r"precision 0.9; the best is 0.667 at threshold 0.300, where 75.0%"):
        calibrate([0.9, 0.5, 0.3, 0.1], [False, True, True, False], MinPrecision(0.9))
    with pytest.raises(ObjectiveNotReached, match="the best is 0.500 at threshold 0.200, where 100.0%"):  # not at 0.7
        calibrate([0.2, 0.5, 0.7, 0.9], [True, False, True, False], MinPrecision(0.9))
    with pytest.raises(ObjectiveNotReached, match="no threshold reaches precision 0.7; the best is 0.69997 at"):
        calibrate([0.5] * 100_005, [True] * 70_000 + [False] * 30_005, MinPrecision(0.7))


@pytest.mark.parametrize("make, message", [
    (lambda: MinPrecision(0), r"floor of precision \(0\)"), (lambda: MinCoverage(1.1), r"floor of coverage \(1.1\)"),
    (lambda: MinRecall(float("nan")), r"floor of recall \(nan\)"), (lambda: MinCost(0, 1), r"wrong_answer \(0\)"),
    (lambda: MinCost(1, float("inf")), r"wrong_refusal \(inf\)"), (lambda: MinCost(None), r"wrong_answer \(None\)"),
    (lambda: MinPrecision("0.9"), r"floor of precision \('0.9'\)"), (lambda: MinRecall(None), r"recall \(None\)"),
    (lambda: MinCoverage(True), r"floor of coverage \(True\)")])
def test_bad_objectives_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("objective", ["f1", MaxF1, None])
def test_what_is_no_objective_is_named(objective):
    with pytest.raises(TypeError, match=r"must be an object such as MaxF1\(\)"):
        calibrate(SCORES, LABELS, objective)


def test_it_prints_as_a_table():
    text = str(calibrate(SCORES, LABELS, MinRecall(0.8)))
    assert text.splitlines()[0] == "for         MinRecall(floor=0.8)"
    assert "threshold   0.400  [0.4" in text and "specificity 0.600  [0.200, 1.000]" in text


def test_single_outcomes_are_plain_numbers():
    outcomes = Outcomes(0.5, 0, 0, 3, 2)
    assert np.isnan(outcomes.precision) and outcomes.recall == 0.0 and outcomes.cost(2, 1) == 3 / 5
    assert type(calibrate(SCORES, LABELS).outcomes.recall) is float
