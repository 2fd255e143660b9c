"""Ranking, metrics over ids against ir-measures, metrics over spans by hand, means with their denominators."""

import copy
import math

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.evaluation import Span, characters_read, gold_coverage, mean, metrics, rank, recall_at_k, span_metrics
from ragkit.hits import Hit
from tests.fixtures import span

THEIRS = {"recall": ir_measures.R, "precision": ir_measures.P, "hit_rate": ir_measures.Success,
          "reciprocal_rank": ir_measures.RR, "average_precision": ir_measures.AP, "ndcg": ir_measures.nDCG}
# Ids of queries and of documents are drawn from the same few, so that a query often has a document's id.
IDS = st.sampled_from(["a", "b", "c", "d1", "d10", "d2", "é", "文", "q"])
SCORES = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.floats(-1, 1))
RUNS = st.dictionaries(IDS, st.lists(st.tuples(IDS, SCORES), max_size=12).map(dict), max_size=6)
QRELS = st.dictionaries(IDS, st.dictionaries(IDS, st.integers(-1, 4), min_size=1), min_size=1, max_size=6)


def theirs(measure, rankings, qrels):
    """Per judged query what ir-measures says, once the ties are made distinct in our order."""
    judged = [ir_measures.Qrel(query, id_, grade) for query, grades in qrels.items() for id_, grade in grades.items()]
    run = [ir_measures.ScoredDoc(query, id_, float(-place)) for query, ranked in rankings.items()
           for place, id_ in enumerate(ranked)]
    found = {entry.query_id: entry.value for entry in ir_measures.iter_calc([measure], judged, run)}
    return {query: found.get(query, 0.0) for query in qrels}


@settings(max_examples=150, deadline=None)
@given(RUNS, QRELS, st.integers(1, 14))
def test_agreement_with_ir_measures(run, qrels, k):
    before = copy.deepcopy((run, qrels))
    rankings = {query: rank(scores) for query, scores in run.items()}
    for name, metric in metrics.METRICS.items():
        ours = metrics.over_queries(metric, rankings, qrels, k)
        assert list(ours) == list(qrels), "every judged query, and only those"
        wanted = theirs(THEIRS[name] @ k, rankings, qrels)
        assert {query: value or 0.0 for query, value in ours.items()} == pytest.approx(wanted, abs=1e-9), name
        for query, value in ours.items():
            assert (value is None) == (not any(grade > 0 for grade in qrels[query].values())), "None, and only then"
        average = mean(ours.values(), none="as_zero")
        judged = [ir_measures.Qrel(query, id_, grade) for query in qrels for id_, grade in qrels[query].items()]
        assert average.n == len(qrels) == len({entry.query_id for entry in judged})
    assert before == (run, qrels), "what is handed in stays as it was"


@given(st.lists(IDS, max_size=15), st.dictionaries(IDS, st.integers(0, 3)), st.integers(1, 10))
def test_an_id_that_comes_again_adds_nothing_and_takes_no_place(ranked, relevance, k):
    for metric in metrics.METRICS.values():
        value = metric(ranked, relevance, k)
        assert value == metric(list(dict.fromkeys(ranked)), relevance, k)
        assert value is None or 0 <= value <= 1


def test_by_hand():
    """Manning et al., section 8.4: relevant at ranks 1, 3 and 6 of four that are relevant."""
    ranked, relevance = list("abcdef"), {"a": 1, "c": 2, "f": 1, "z": 3, "b": 0, "d": -1}
    assert metrics.recall_at_k(ranked, relevance, 5) == 2 / 4 and metrics.recall_at_k(ranked, relevance, 6) == 3 / 4
    assert metrics.precision_at_k(ranked, relevance, 3) == 2 / 3
    assert metrics.precision_at_k(ranked, relevance, 10) == 0.3, "four places are left empty"
    assert metrics.average_precision(ranked, relevance, 10) == pytest.approx((1 / 1 + 2 / 3 + 3 / 6) / 4)
    assert metrics.average_precision(ranked, relevance, 5) == pytest.approx((1 / 1 + 2 / 3) / 4)
    assert metrics.reciprocal_rank(ranked[1:], relevance, 3) == 1 / 2
    assert metrics.reciprocal_rank(ranked[3:], relevance, 2) == 0.0
    assert metrics.hit_rate_at_k(ranked[3:], relevance, 2) == 0.0 and metrics.hit_rate_at_k(ranked, relevance, 1) == 1.0
    found = 1 + 2 / math.log2(4)
    best = 3 + 2 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)
    assert metrics.ndcg_at_k(ranked, relevance, 5) == pytest.approx(found / best)
    best_two = 3 + 2 / math.log2(3)
    assert metrics.ndcg_at_k(ranked, relevance, 2) == pytest.approx(1 / best_two)


@pytest.mark.parametrize("metric", metrics.METRICS.values())
def test_nothing_relevant_is_none_and_nothing_found_is_zero(metric):
    assert metric(["a"], {}, 3) is None and metric(["a"], {"a": 0, "b": -1}, 3) is None and metric([], {}, 3) is None
    assert metric([], {"a": 1}, 3) == 0.0 and metric(["b"], {"a": 1}, 3) == 0.0
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match=r"k \(.*\) must be a whole number of at least 1"):
            metric(["a"], {"a": 1}, wrong)
    with pytest.raises(TypeError, match="one string"):
        metric("abc", {"a": 1}, 3)
    for scores in ({"a": 0.1, "b": 0.9}, {"a", "b"}):  # in the order of insertion, or in none
        with pytest.raises(TypeError, match="best first.*which has no order"):
            metric(scores, {"a": 1}, 3)
    with pytest.raises(ValueError, match="the grade of 'a' is nan"):
        metric(["a"], {"b": 1, "a": math.nan}, 3)


@given(st.dictionaries(IDS, SCORES))
def test_the_tie_rule_is_score_then_id_whatever_the_order(scores):
    ranked = rank(scores)
    assert ranked == rank(dict(reversed(scores.items()))) and sorted(ranked) == sorted(scores)
    for better, worse in zip(ranked, ranked[1:], strict=False):
        assert scores[better] > scores[worse] or (scores[better] == scores[worse] and better < worse)


def test_a_tie_by_hand_and_a_nan_named():
    assert rank({"d2": 0.5, "d10": 0.5, "z": 0.7, "a": -0.0, "b": 0.0}) == ["z", "d10", "d2", "a", "b"]
    with pytest.raises(ValueError, match="score of 'd2' is NaN"):
        rank({"d1": 1.0, "d2": float("nan")})


def test_a_mean_says_how_many_it_is_over():
    assert mean([1.0, 0.0, 0.5]) == (0.5, 3)
    assert mean([1.0, None], none="leave_out") == (1.0, 1) and mean([1.0, None], none="as_zero") == (0.5, 2)
    assert mean([]) == (None, 0) and mean([None], none="leave_out") == (None, 0) == mean([], none="as_zero")
    with pytest.raises(ValueError, match="value 1 is None.*leave_out"):
        mean([1.0, None])
    with pytest.raises(ValueError, match="value 0 is NaN"):
        mean([float("nan")])
    with pytest.raises(ValueError, match=r"none \('skip'\)"):
        mean([1.0], none="skip")


A, B, C = Span("d", "1", 0, 10), Span("d", "1", 20, 30), Span("e", "1", 0, 10)
HOLDS_A, HOLDS_B, HOLDS_BOTH, JUNK = span(0, 12, 1), span(18, 30, 1), span(0, 40, 1), span(50, 60, 1)


def test_over_spans_by_hand():
    values = span_metrics([JUNK, HOLDS_A, JUNK, HOLDS_B], ((A,), (B, C)), 4)
    ideal = 1 + 1 / math.log2(3)
    assert values == {"recall": 1.0, "precision": 0.5, "hit_rate": 1.0, "reciprocal_rank": 0.5,
                      "average_precision": pytest.approx((1 / 2 + 2 / 4) / 2),
                      "ndcg": pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal), "coverage": 1.0}
    first = span_metrics([JUNK, HOLDS_A, JUNK, HOLDS_B], ((A,), (B, C)), 3)
    assert first["recall"] == 0.5 and first["precision"] == pytest.approx(1 / 3) and first["coverage"] == 0.5
    assert first["average_precision"] == pytest.approx(1 / 2 / 2)
    assert first["ndcg"] == pytest.approx(1 / math.log2(3) / ideal), "the ideal has room for both"


def test_a_group_counts_once_and_an_alternative_is_enough():
    e = span(0, 10, 1, document_id="e")
    values = span_metrics([HOLDS_B, e, HOLDS_B], ((B, C),), 3)
    assert values == {"recall": 1.0, "precision": 1.0, "hit_rate": 1.0, "reciprocal_rank": 1.0,
                      "average_precision": 1.0, "ndcg": 1.0, "coverage": 1.0}
    assert metrics.group_ranks([JUNK, e, HOLDS_B], ((B, C),)) == [2]


def test_one_chunk_with_two_groups_is_as_good_as_two_chunks_and_no_better():
    gold = ((A,), (B,))
    both, apart = span_metrics([HOLDS_BOTH, JUNK], gold, 2), span_metrics([HOLDS_A, HOLDS_B], gold, 2)
    for name in ("recall", "average_precision", "ndcg", "reciprocal_rank", "coverage"):
        assert both[name] == apart[name] == 1.0, name
    assert (both["precision"], apart["precision"]) == (0.5, 1.0)
    late = span_metrics([JUNK, HOLDS_BOTH], gold, 2)
    assert late["average_precision"] == pytest.approx((1 / 2 + 2 / 2) / 2) and late["reciprocal_rank"] == 0.5
    assert span_metrics([HOLDS_BOTH], gold, 1)["ndcg"] == 1.0


def places():
    return st.builds(lambda start, length, id_: span(start, start + length, 1, document_id=id_),
                     st.integers(0, 30), st.integers(1, 25), st.sampled_from("de"))


def golds():
    one = st.builds(lambda start, length, id_: Span(id_, "1", start, start + length),
                    st.integers(0, 30), st.integers(1, 10), st.sampled_from("de"))
    return st.lists(st.lists(one, min_size=1, max_size=2).map(tuple), min_size=1, max_size=4).map(tuple)


@given(st.lists(places(), max_size=6), golds(), st.integers(1, 7))
def test_metrics_over_spans_stay_in_their_bounds_and_agree_with_each_other(chunks, gold, k):
    before = list(chunks)
    values = span_metrics(chunks, gold, k)
    assert all(0 <= value <= 1 for value in values.values())
    assert values["recall"] == recall_at_k(chunks, gold, k) and values["coverage"] >= 0
    assert values["hit_rate"] == float(values["recall"] > 0) == float(values["precision"] > 0)
    assert (values["reciprocal_rank"] > 0) == (values["recall"] > 0) == (values["ndcg"] > 0)
    if values["recall"] == 1:
        assert values["coverage"] == 1
    marked = {(span.document_id, at) for span in (group[0] for group in gold) for at in range(span.start, span.end)}
    if len(marked) == sum(group[0].end - group[0].start for group in gold) and all(len(group) == 1 for group in gold):
        read = {(chunk.document_id, at) for chunk in chunks[:k] for at in range(chunk.start, chunk.end)}
        assert values["coverage"] == pytest.approx(len(marked & read) / len(marked)), "counted character by character"
    assert span_metrics([Hit(chunk, 0.5) for chunk in chunks], gold, k) == values and chunks == before


def test_without_gold_all_is_none():
    assert set(span_metrics([HOLDS_A], (), 3).values()) == {None} and gold_coverage([HOLDS_A], (), 3) is None
    assert set(span_metrics([], ((A,),), 3).values()) == {0.0}


def test_coverage_sees_the_cut_that_recall_calls_a_miss():
    halves = [span(0, 5, 1), span(5, 10, 1)]
    assert span_metrics(halves, ((A,),), 2)["recall"] == 0.0 and gold_coverage(halves, ((A,),), 2) == 1.0
    assert gold_coverage([span(0, 6, 1), span(3, 8, 1), span(2, 4, 1)], ((A,),), 3) == 0.8, "what two share counts once"
    assert gold_coverage([span(0, 4, 1)], ((Span("d", "1", 0, 4), Span("d", "1", 0, 100)),), 1) == 1.0
    assert gold_coverage([span(0, 5, 1), span(0, 30, 1, document_id="e")], ((A,), (Span("f", "1", 0, 90),)), 2) == 0.05
    other_version = (Span("d", "2", 0, 10),)
    assert gold_coverage([HOLDS_BOTH], (other_version,), 1) == 0.0


def test_characters_read():
    chunks = [span(0, 10, 1), span(5, 12, 1)]
    assert characters_read(chunks) == 17 and characters_read([Hit(chunk, 1.0) for chunk in chunks], 1) == 10
    assert characters_read([]) == 0
