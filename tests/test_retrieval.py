"""Recall and decide: scores, thresholds, reasons, the trace, and what an outsider never sees."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.filters import RetrievalFilters
from ragkit.hits import Hit, clamp
from ragkit.refusal import RefusalReason
from ragkit.retrieval import Candidates, decide, recall, retrieve, select
from ragkit.settings import Settings
from ragkit.trace import LinkTrace
from tests.fixtures import FLAT, base, corpus_of, document, family, level_hits

QUERY = np.array([1.0, 0.0], dtype=np.float32)


def at(cosine: float) -> list[float]:
    """A vector whose cosine with QUERY is this."""
    return [cosine, (1 - cosine * cosine) ** 0.5]


def scored(**cosines):
    """One public document for each name, its only chunk at that cosine from QUERY."""
    return corpus_of({name: at(cosine) for name, cosine in cosines.items()}, {name: document(name) for name in cosines})


def ask(corpus, filters=None, reader=frozenset(), operator=False, **changes):
    return retrieve("a question", FLAT.replace(**changes), corpus=corpus, filters=filters, reader=reader,
                    query_vector=QUERY, operator=operator)


def found(hits):
    return [hit.chunk.id for hit in hits]


def adds_up(result):
    for entry in result.trace.links:
        assert entry.count_in == entry.count_out + len(entry.drops) + sum(count for _, count in entry.excluded), entry
        assert entry.milliseconds >= 0
    chain = [entry for entry in result.trace.links if entry.link != "encode"]
    for before, after in zip(chain, chain[1:], strict=False):
        assert after.count_in == before.count_out
    assert chain[-1].count_out == len(result.evidence)
    json.dumps(result.trace.to_dict(), allow_nan=False)


def test_candidates_and_evidence_are_two_things():
    result = ask(scored(a=0.9, b=0.8, c=0.7, d=0.6, e=0.5), top_k=4, evidence_top_k=2)
    assert found(result.candidates) == ["a", "b", "c", "d"]
    assert found(result.evidence) == ["a", "b"]
    assert [(drop.chunk_id, drop.reason) for drop in result.trace["select"].drops] == [
        ("c", "beyond_evidence_top_k"), ("d", "beyond_evidence_top_k")]
    assert result.trace["recall"].excluded == (("not_in_top_k", 1),)
    assert (result.refused, result.refusal_reason, result.explanation) == (False, None, "")
    adds_up(result)


def test_opposite_vectors_score_minus_one_before_the_clamp_and_zero_after():
    result = ask(scored(opposite=-1.0))
    assert result.candidates[0].score == -1.0
    assert clamp(result.candidates[0].score) == 0.0
    kept = ask(scored(opposite=-1.0), min_score=0.0)
    assert found(kept.evidence) == ["opposite"], "0 after the clamp is not below 0"
    adds_up(kept)
    assert clamp(1.0000001) == 1.0
    with pytest.raises(ValueError, match="NaN"):
        clamp(float("nan"))


def test_the_threshold_is_inclusive():
    corpus = scored(a=0.5, b=0.25, c=0.249)
    result = ask(corpus, min_score=0.25)
    assert found(result.evidence) == ["a", "b"]
    assert [(drop.chunk_id, drop.reason, drop.score) for drop in result.trace["select"].drops] == [
        ("c", "below_threshold", 0.249)]
    assert found(ask(scored(one=1.0), min_score=1.0).evidence) == ["one"]


def test_none_is_no_threshold_and_not_zero():
    corpus = scored(a=0.5, b=-0.5)
    assert found(ask(corpus, min_score=None).evidence) == ["a", "b"]
    assert found(ask(corpus, min_score=0.0).evidence) == ["a", "b"], "clamped to 0, which is not below 0"
    assert found(ask(corpus, min_score=0.01).evidence) == ["a"]
    nothing = ask(scored(b=-0.5), min_score=1e-9)
    assert nothing.refused and "0.000, below min_score 1e-09" in nothing.explanation


def test_evidence_is_never_padded():
    result = ask(scored(a=0.9, b=0.1, c=0.05), min_score=0.25, evidence_top_k=3)
    assert found(result.evidence) == ["a"]
    assert len(result.candidates) == 3
    adds_up(result)


def test_a_threshold_that_empties_the_result_is_a_typed_refusal():
    result = ask(scored(a=0.3), min_score=0.4)
    assert (result.refused, result.refusal_reason) == (True, RefusalReason.BELOW_THRESHOLD)
    assert result.refusal_reason == "below_threshold"
    assert result.explanation == "The nearest candidate scores 0.300, below min_score 0.4; 0.3 would keep it."
    assert result.refused_by == "select"
    assert found(ask(scored(a=0.3), min_score=0.3).evidence) == ["a"], "what the explanation promises"
    assert result.evidence == () and found(result.candidates) == ["a"]
    adds_up(result)


def test_reasons_have_an_order():
    nothing = corpus_of({"x": at(0.9)}, {"x": document("x", audience={"staff"})})
    topic = RetrievalFilters(topic="none such")
    assert ask(nothing, min_score=0.95).refusal_reason == RefusalReason.NO_CANDIDATES
    assert ask(nothing, topic, min_score=0.95).refusal_reason == RefusalReason.NO_CANDIDATES
    assert ask(scored(a=0.1), topic, min_score=0.95).refusal_reason == RefusalReason.FILTERED_OUT
    assert ask(scored(a=0.1), min_score=0.95).refusal_reason == RefusalReason.BELOW_THRESHOLD
    order = list(RefusalReason)
    assert order.index("no_candidates") < order.index("filtered_out") < order.index("below_threshold") < order.index(
        "insufficient_evidence")


def test_four_of_topic_b_are_nearest_and_a_filter_on_a_gives_five():
    near = {f"b{number}": 0.9 + 0.01 * number for number in range(4)}
    far = {f"a{number}": 0.1 * number for number in range(6)}
    corpus = corpus_of({name: at(cosine) for name, cosine in (near | far).items()},
                       {name: document(name, topic=name[0].upper()) for name in near | far})
    assert {id_[0] for id_ in found(ask(corpus, top_k=4).candidates)} == {"b"}
    result = ask(corpus, RetrievalFilters(topic="A"), top_k=5, evidence_top_k=5)
    assert found(result.evidence) == ["a5", "a4", "a3", "a2", "a1"]
    assert result.trace["filter"].excluded == (("topic", 4),)
    assert result.trace["recall"].excluded == (("not_in_top_k", 1),)
    adds_up(result)


def test_filtered_out_says_what_was_nearest():
    result = ask(scored(a=0.9), RetrievalFilters(document_id="z"))
    assert (result.refusal_reason, result.candidates) == (RefusalReason.FILTERED_OUT, ())
    assert result.explanation == ("The filters leave no document. No document has document_id 'z'; there is a. "
                                  "Nearest of all is a version 1 at 0.900, which was left out: document_id. "
                                  "Without the filter document_id it would be searched.")
    assert result.refused_by == "filter"
    adds_up(result)


def test_what_the_explanation_promises_comes_true():
    """Rounded up, the score in the explanation would not keep the hit."""
    corpus = scored(a=0.29997)
    explanation = ask(corpus, min_score=0.4).explanation
    assert explanation == "The nearest candidate scores 0.300, below min_score 0.4; 0.299 would keep it."
    assert found(ask(corpus, min_score=0.299).evidence) == ["a"] and not ask(corpus, min_score=0.3).evidence
    documents = {"old": document("d", version="1", date="2024-01-01"), "new": document("d", version="2", date="2025-01-01")}
    two = corpus_of({"old": at(0.9), "new": at(0.1)}, documents)
    superseded = ask(two, min_score=0.5)
    assert superseded.explanation.endswith(
        "Nearest of all is d version 1 at 0.900, which was left out: superseded. "
        "A newer version is in force; effective_before=2024-01-01 asks for this one.")
    assert found(ask(two, RetrievalFilters(effective_before="2024-01-01"), min_score=0.5).evidence) == ["old"]
    assert ask(scored(a=0.9), min_score=0.5).refused_by is None


@pytest.mark.parametrize("asked, way, changed", [
    ({"topic": "zoo", "document_id": "b"}, "Without the filters topic, document_id it would be searched.", {}),
    ({"topic": "zoo", "effective_after": "2025-01-01"},
     "Without the filters topic, effective_after it would be searched.", {}),
    ({"effective_before": "2019-06-01"}, "effective_before=2020-01-01 asks for this one.",
     {"effective_before": "2020-01-01"}),
    ({"effective_before": "2021-06-01", "document_id": "b"},
     "A newer version is in force; effective_before=2020-01-01 asks for this one, without the filter document_id.",
     {"effective_before": "2020-01-01"}),
    ({"effective_after": "2021-01-01"},
     "A newer version is in force; effective_before=2020-01-01 asks for this one, without the filter effective_after.",
     {"effective_before": "2020-01-01"}),
])
def test_the_way_to_what_was_left_out_comes_true(asked, way, changed):
    """Also when several filters are in its way, or a newer version stands behind the filter."""
    alone = "effective_before" not in asked and "effective_before" not in changed
    documents = {"a1": document("a", version="1", date="2020-01-01", topic="travel"),
                 "b": document("b", date="2018-01-01", topic="zoo")}
    scores = {"a1": at(0.9), "b": at(0.1)}
    if not alone:
        documents["a2"], scores["a2"] = document("a", version="2", date="2021-01-01", topic="travel"), at(0.2)
    corpus = corpus_of(scores, documents)
    explanation = ask(corpus, RetrievalFilters(**asked), min_score=0.5).explanation
    assert explanation.partition("Nearest of all is a version 1 at 0.900, which was left out: ")[2].endswith(f". {way}")
    assert "a1" in found(ask(corpus, RetrievalFilters(**changed), min_score=0.5).evidence)


def test_a_version_that_nothing_reaches_is_promised_to_nobody():
    same_day = {f"a{number}": document("a", version=number, date="2020-01-01") for number in "12"}
    explanation = ask(corpus_of({"a1": at(0.9), "a2": at(0.1)}, same_day), min_score=0.5).explanation
    assert explanation.endswith("which was left out: superseded. A newer version is in force.")


def test_what_is_searched_and_empty_is_not_called_filtered_away():
    old, new = document("a", version="1", date="2020-01-01"), document("a", " ", version="2", date="2021-01-01")
    for knowledge, filters in ((base(old, new), None), (base(old, document("b", " ", topic="zoo")), {"topic": "zoo"})):
        result = knowledge.retrieve("All about a.", filters)
        assert (result.refusal_reason, result.refused_by) == ("filtered_out", "filter")
        assert result.explanation.startswith("No document that is searched has any text. Nearest of all is a version 1")


def test_a_score_just_below_the_threshold_is_shown_below_it():
    assert ask(scored(a=0.24996), min_score=0.25).explanation == (
        "The nearest candidate scores 0.24996, below min_score 0.25; 0.249 would keep it.")


def test_below_threshold_names_something_left_out_only_when_it_was_nearer():
    documents = {"in": document("in", topic="A"), "out": document("out", topic="B")}
    topic = RetrievalFilters(topic="A")
    nearer = ask(corpus_of({"in": at(0.2), "out": at(0.9)}, documents), topic, min_score=0.5)
    assert "out version 1 at 0.900" in nearer.explanation
    farther = ask(corpus_of({"in": at(0.2), "out": at(0.1)}, documents), topic, min_score=0.5)
    assert "out" not in farther.explanation.split("below")[1]


def test_equal_scores_stand_by_id():
    assert found(ask(scored(c=0.5, a=0.5, b=0.5), top_k=2).candidates) == ["a", "b"]


def test_nan_is_an_error_at_the_door():
    with pytest.raises(ValueError, match="NaN"):
        retrieve("?", FLAT, corpus=scored(a=0.5), query_vector=np.array([np.nan, 0]))
    chunk = next(iter(family((1,)).values()))
    with pytest.raises(ValueError, match="NaN"):
        select([Hit(chunk, float("nan"))], Settings(min_score=0.1), {})


def test_a_wrong_dimension_names_both():
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        retrieve("?", FLAT, corpus=scored(a=0.5), query_vector=np.zeros(3))


@pytest.mark.parametrize("question", ["", "  \n", "\u3000", None, 5])
def test_an_empty_question_is_refused(question):
    with pytest.raises(ValueError, match="question is empty"):
        recall(question, FLAT, corpus=scored(a=0.5))


def test_a_lone_string_is_no_reader():
    with pytest.raises(TypeError, match=r"reader \('staff'\).*\{'staff'\}"):
        ask(scored(a=0.5), reader="staff")


@pytest.mark.parametrize("reader", [5, [5], {"hr", None}])
def test_groups_are_texts(reader):
    with pytest.raises(TypeError, match=r"reader \(.+\) must be a set of groups, each a text"):
        ask(scored(a=0.5), reader=reader)


def test_the_question_is_encoded_as_a_query_and_its_length_reported():
    knowledge = base(document("a", "hotel cap"), document("b", "printer"))

    class Short(type(knowledge.embedder)):
        max_tokens = 3

        def encode_queries(self, texts):
            return super().encode_passages(["printer" for _ in texts])

    knowledge.corpus.embedder = Short(256)
    result = knowledge.retrieve("hotel cap")
    assert result.candidates[0].chunk.document_id == "b"
    assert result.trace["encode"].notes == ()
    assert knowledge.retrieve("one two three four").trace["encode"].notes == (
        "the question has 4 tokens; hashing-256 reads the first 3",)


def test_decide_is_pure():
    corpus = scored(a=0.9, b=0.4, c=0.3)
    candidates = recall("q", FLAT, corpus=corpus, query_vector=QUERY)
    before = dataclasses.replace(candidates)
    corpus.index.search = corpus.embedder.encode_queries = None  # no searching, no encoding
    strict, lenient = FLAT.replace(min_score=0.8), FLAT.replace(min_score=0.35)
    first = decide(candidates, strict)
    assert found(decide(candidates, lenient).evidence) == ["a", "b"]
    assert decide(candidates, strict) == first and found(first.evidence) == ["a"]
    assert candidates == before


def test_expansion_counts_contexts_and_the_threshold_reads_the_child():
    tree = family((1, 2, 4))
    hits = level_hits(tree, 3, [0.9, 0.8, 0.7, 0.1, 0.6, 0.05])
    candidates = Candidates("q", hits, tree, QUERY, visible=8)
    both = decide(candidates, Settings(expansion="parents", evidence_top_k=2, min_score=0.5))
    assert [(hit.chunk.level, hit.score) for hit in both.evidence] == [(2, 0.9), (2, 0.6)]
    assert decide(candidates, Settings(expansion="parents", min_score=0.65)).trace["select"].drops[0].score == 0.6
    top = decide(candidates, Settings(expansion="parents", parent_level=1, min_score=0.5))
    assert [(hit.chunk.level, hit.score) for hit in top.evidence] == [(1, 0.9)]
    alone = decide(candidates, Settings(expansion="none", evidence_top_k=2, min_score=0.5))
    assert [hit.chunk.level for hit in alone.evidence] == [3, 3]
    merged = decide(candidates, Settings(expansion="auto_merge", merge_ratio=1.0, min_score=0.5))
    assert [(hit.chunk.level, hit.score) for hit in merged.evidence] == [(2, 0.9), (3, 0.6)]
    for result in (both, top, alone, merged):
        adds_up(result)


grades = st.lists(st.sampled_from([-0.5, 0.0, 0.2, 0.25, 0.5, 0.9, 1.0]), max_size=8)


@given(grades, st.integers(1, 6), st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0]),
       st.sampled_from(["none", "parents", "auto_merge"]), st.integers(1, 3), st.sampled_from([0.25, 0.5, 1.0]))
@settings(max_examples=200, deadline=None)
def test_counts_always_add_up(scores, keep, threshold, expansion, parent_level, ratio):
    tree = family((1, 2, 4))
    hits = level_hits(tree, 3, scores)
    links = (LinkTrace("filter", 8, 8), LinkTrace("recall", 8, len(hits), excluded=(("not_in_top_k", 8 - len(hits)),)))
    chosen = Settings(expansion=expansion, parent_level=parent_level, merge_ratio=ratio, evidence_top_k=keep,
                      min_score=threshold)
    candidates = Candidates("q", hits, tree, QUERY, links, visible=8)
    result = decide(candidates, chosen)
    adds_up(result)
    assert result == decide(candidates, chosen)
    assert len(result.evidence) <= keep
    assert result.refused == (not result.evidence) == (result.refusal_reason is not None)
    if threshold is not None:
        assert all(clamp(hit.score) >= threshold for hit in result.evidence)
    if scores and (threshold is None or clamp(max(scores)) >= threshold):
        assert not result.refused and result.evidence[0].score == max(scores), "the best hit is never lost"
    kept = {id_ for hit in result.evidence for id_ in hit.matched}
    dropped = {id_ for name in ("expand", "select") for drop in result.trace[name].drops
               for id_ in _children_below(drop.chunk_id, hits, tree)}
    assert kept | dropped >= {hit.chunk.id for hit in hits}, "every hit is kept or dropped with a reason"


def _children_below(id_, hits, tree):
    chunk = tree[id_]
    return {hit.chunk.id for hit in hits if chunk.start <= hit.chunk.start and hit.chunk.end <= chunk.end}


OPEN = [document("travel", "The hotel cap in Berlin is 140 euros a night.", topic="travel", date="2024-01-01"),
        document("travel", "The hotel cap in Berlin is 120 euros a night.", version="0", topic="travel",
                 date="2023-01-01"),
        document("printer", "The printer on the third floor is out of paper.", topic="it", date="2024-05-01"),
        document("leave", "Annual leave is thirty days. Ask your lead.", topic="people"),
        document("leeds", "Leeds has a canteen and a bicycle shed.", topic="facilities", date="2025-02-02")]
SECRET = {
    "another document": document("bands", "The salary bands: hotel cap, printer, annual leave, canteen, bicycle.",
                                 topic="travel", date="2024-03-01", audience={"board"}),
    "a newer version": document("travel", "The hotel cap in Berlin will be 200 euros a night.", version="9",
                                topic="travel", date="2026-01-01", audience={"board"}),
    "an older version": document("leeds", "Leeds has a hotel cap.", version="0", topic="travel", date="2020-01-01",
                                 audience={"board", "staff"}),
    "the same words": document("twin", OPEN[0].text, topic="travel", date="2024-01-01", audience={"board"}),
}
QUESTIONS = ["What is the hotel cap in Berlin?", "hotel cap", "salary bands", "printer paper", "How many days of leave?",
             "bicycle canteen Leeds", "zebra", "?!", "200 euros a night"]
ASKED = [None, RetrievalFilters(topic="travel"), RetrievalFilters(topic="none"), RetrievalFilters(document_id="bands"),
         RetrievalFilters(effective_before="2024-06-01"), RetrievalFilters(effective_before="2019-01-01"),
         RetrievalFilters(effective_after="2025-06-01")]


@pytest.mark.parametrize("secret", SECRET)
@pytest.mark.parametrize("expansion", ["none", "parents"])
@pytest.mark.parametrize("first", [True, False])
def test_for_an_outsider_a_restricted_document_does_not_exist(secret, expansion, first):
    documents = [SECRET[secret], *OPEN] if first else [*OPEN, SECRET[secret]]
    shape = {"chunker": "hierarchical", "expansion": expansion}
    with_it, without = base(*documents, **shape), base(*OPEN, **shape)
    for question in QUESTIONS:
        for filters in ASKED:
            for threshold in (None, 0.0, 0.3, 0.9):
                for reader in (set(), {"visitors"}):
                    got = with_it.retrieve(question, filters, min_score=threshold, reader=reader, top_k=3)
                    wanted = without.retrieve(question, filters, min_score=threshold, reader=reader, top_k=3)
                    assert got == wanted
                    assert got.explanation == wanted.explanation and got.trace == wanted.trace
                    assert "bands@" not in str(got)
                    adds_up(got)
    seen = with_it.retrieve(SECRET[secret].text, reader={"board"}, top_k=9, evidence_top_k=9, min_score=None)
    if secret != "an older version":
        assert SECRET[secret].key in {(hit.chunk.document_id, hit.chunk.version) for hit in seen.evidence}


def test_a_corpus_of_secrets_is_an_empty_one():
    only = base(*SECRET.values())
    for question in QUESTIONS:
        assert only.retrieve(question, min_score=0.2) == base().retrieve(question, min_score=0.2)


def test_the_operator_sees_what_was_hidden():
    knowledge = base(*OPEN, SECRET["another document"])
    result = knowledge.retrieve("salary bands", min_score=0.9, operator=True)
    assert result.trace["permissions"].excluded == (("not_permitted", 1),)
    assert result.trace["permissions"].notes[0].startswith("the nearest hidden chunk is bands@1")
    adds_up(result)
    plain = knowledge.retrieve("salary bands", min_score=0.9)
    assert (plain.refusal_reason, plain.explanation) == (result.refusal_reason, result.explanation)
    assert "not_permitted" not in str(plain)
    with pytest.raises(KeyError, match="these did: encode, filter, recall, expand, select"):
        plain.trace["permissions"]
    assert knowledge.retrieve("salary", operator=True, reader={"board"}).trace["permissions"].excluded == ()


def test_results_show_themselves_safely():
    knowledge = base(document("<b>x</b>", "The <script>alert(1)</script> cap & more."))
    shown = knowledge.retrieve("the <i>cap</i>")._repr_html_()
    assert "<script>" not in shown and "<i>" not in shown and "&lt;script&gt;" in shown
    refused = knowledge.retrieve("<i>zebra</i>", min_score=1.0)._repr_html_()
    assert "below_threshold" in refused and "<i>" not in refused


def test_a_filter_that_fits_nothing_names_what_there_is():
    kb = base(document("a", topic="travel"), document("b", topic="finance"),
              document("s", topic="secret", audience=("board",)))
    assert "No document has topic 'travl'; there is travel." in kb.retrieve("a", {"topic": "travl"}).explanation
    # Nothing is near "zzz": all that the reader may see are listed, and nothing else.
    assert "there is finance, travel." in kb.retrieve("a", {"topic": "zzz"}).explanation
    assert "No document has document_id 's'" in kb.retrieve("a", {"document_id": "s"}).explanation
