"""Comparisons and sweeps: the same as chain by chain, with what they share made once."""

import json

import pytest

from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import COMPARED, METRIC_NAMES, compare, evaluate, paired_difference, sweep
from ragkit.evaluation.chains import SharedChains, cut_to
from ragkit.evaluation.outcome import LOWER_IS_BETTER
from ragkit.knowledge_base import KnowledgeBase
from ragkit.retrieval import decide, recall
from tests.evaluation.small_questions import SETTINGS, documents, question, small_base, small_questions

CHAINS = {"plain": SETTINGS, "one": SETTINGS.replace(top_k=1, evidence_top_k=1),
          "strict": SETTINGS.replace(min_score=0.6), "fine": SETTINGS.replace(chunk_size=25),
          "tree": SETTINGS.replace(chunker="hierarchical", level_sizes=(90, 45), expansion="auto_merge")}
GRID = {"chunk_size": (90, 40), "top_k": (1, 2, 8), "min_score": (None, 0.3)}


class CountingEmbedder(HashingEmbedder):
    """Counts what it encodes."""

    def __init__(self):
        super().__init__(512)
        self.queries = self.batches = 0

    def encode_queries(self, texts):
        self.queries += len(texts)
        return super().encode_queries(texts)

    def encode_passages(self, texts):
        self.batches += 1
        return super().encode_passages(texts)


def alone(settings):
    """The same chain by itself, on a knowledge base of its own."""
    return KnowledgeBase(documents(), settings, HashingEmbedder(512))


@pytest.fixture(scope="module")
def comparison():
    return compare(CHAINS, small_questions(), kb=small_base(), k=8)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("answers", [True, False])
def test_each_chain_scores_as_it_does_alone(name, answers):
    together = compare(CHAINS, small_questions(), kb=small_base(), answers=answers, k=8)[name]
    apart = evaluate(alone(CHAINS[name]), small_questions(), answers=answers, k=8)
    assert together.to_dict() == apart.to_dict()
    for one, other in zip(together, apart, strict=True):
        assert one.result.candidates == other.result.candidates
        assert one.result.evidence == other.result.evidence
        assert one.result.trace == other.result.trace


@pytest.mark.parametrize("top_k", [1, 2, 3, 8])
def test_cutting_candidates_is_recalling_fewer(top_k):
    base = small_base()
    for asked in small_questions():
        many, few = (recall(asked.question, base.settings.replace(top_k=size), corpus=base.corpus)
                     for size in (8, top_k))
        cut = cut_to(many, top_k)
        assert (cut.hits, cut.links, cut.visible) == (few.hits, few.links, few.visible)
        assert decide(cut, base.settings) == decide(few, base.settings)


def test_what_chains_share_is_made_once():
    embedder = CountingEmbedder()
    base = KnowledgeBase(documents(), SETTINGS, embedder)
    asked = small_questions()
    batches = embedder.batches
    sweep(GRID, asked, kb=base)
    assert embedder.queries == len(asked)
    assert embedder.batches == batches + 1  # the one index that was not there


def test_a_search_that_fails_is_an_error_of_that_question(monkeypatch):
    base = small_base()
    search = base.corpus.index.search
    asked = small_questions()
    broken = SharedChains(asked, kb=base).vectors(SETTINGS)[1]

    def sometimes(vector, k, mask=None):
        if (vector == broken).all():
            raise OSError("gone")
        return search(vector, k, mask)

    monkeypatch.setattr(base.corpus.index, "search", sometimes)
    found = compare({"plain": SETTINGS}, asked, kb=base, answers=False)["plain"]
    assert [outcome.error for outcome in found] == [None, "OSError: gone", None, None, None]
    assert found.scorecard["recall"] == (pytest.approx(2 / 3), 3)


def test_differences_are_paired_by_question(comparison):
    for metric in METRIC_NAMES:
        expected = paired_difference(comparison["plain"].values(metric), comparison["strict"].values(metric), metric,
                                     lower_is_better=metric in LOWER_IS_BETTER)
        assert comparison.difference(metric, "strict") == expected
    assert [one.metric for one in comparison.differences("strict")] == [
        metric for metric in COMPARED if comparison.difference(metric, "strict") is not None]


def test_decisions_to_refuse_are_compared_too():
    found = compare({"loose": SETTINGS.replace(min_score=None), "none": SETTINGS.replace(min_score=1.0)},
                    small_questions(), kb=small_base(), answers=False)
    answered, refused = found.difference("answerable_answered"), found.difference("unanswerable_refused")
    assert (answered.a, answered.b, answered.n) == (1.0, 0.0, 3)
    assert (refused.a, refused.b, refused.n) == (0.0, 1.0, 2)


def test_flipped_questions():
    found = compare({"whole": SETTINGS, "fine": SETTINGS.replace(chunk_size=25)}, small_questions(), kb=small_base(),
                    answers=False)
    flips = found.flipped("recall")
    assert not flips.won and flips.lost
    difference = found.difference("recall")
    assert (len(flips.won), len(flips.lost)) == (difference.won, difference.lost)
    back = found.flipped("recall", "whole", "fine")
    assert (back.won, back.lost) == (flips.lost, flips.won)


def test_fewer_characters_read_is_a_question_won():
    found = compare({"all": SETTINGS, "one": SETTINGS.replace(evidence_top_k=1)}, small_questions(), kb=small_base(),
                    answers=False)
    assert found.flipped("characters_read").won
    assert found.difference("characters_read").won == len(found.flipped("characters_read").won)


def test_all_are_read_at_the_same_k():
    found = compare({"few": SETTINGS.replace(top_k=2), "many": SETTINGS}, small_questions(), kb=small_base(),
                    answers=False)
    assert {evaluation.k for evaluation in found.evaluations.values()} == {8}


def test_from_a_folder(tmp_path):
    (tmp_path / "cab.md").write_text("# Cabs\n\nA cab ride may cost up to 40 euros.\n", encoding="utf-8")
    asked = [question("cab", "What may a cab ride cost?", "40 euros", ("cab", "up to 40 euros"))]
    chains = {"a": SETTINGS, "b": SETTINGS.replace(chunk_size=20)}
    found = compare(chains, asked, folder=tmp_path, answers=False)
    assert [evaluation.scorecard["recall"].value for evaluation in found.evaluations.values()] == [1.0, 0.0]


def test_what_is_missing_is_said(comparison):
    with pytest.raises(ValueError, match="no settings to compare"):
        compare({}, small_questions(), kb=small_base())
    with pytest.raises(ValueError, match="not both"):
        compare(CHAINS, small_questions())
    with pytest.raises(KeyError, match="'x' were compared; these were: plain, one"):
        comparison["x"]
    with pytest.raises(ValueError, match="only 'plain' was evaluated"):
        compare({"plain": SETTINGS}, small_questions(), kb=small_base(), answers=False).difference()
    with pytest.raises(ValueError, match="unknown metric"):
        comparison.difference("f1")
    for wrong in ([SETTINGS], SETTINGS, {1: SETTINGS}, {"a": {"top_k": 3}}, None):
        with pytest.raises(TypeError, match="no settings by name; give"):
            compare(wrong, small_questions(), kb=small_base())
    for wrong in ({"confidence": 95}, {"resamples": 0}, {"seed": -1}):  # before anything is asked
        with pytest.raises(ValueError, match=next(iter(wrong))):
            compare({"a": SETTINGS}, [question("x", "What?", "", ("no such document", "x"))], kb=small_base(), **wrong)


def test_equal_chains_one_question_and_nothing_to_measure():
    same = {"a": SETTINGS, "b": SETTINGS}
    for asked in (small_questions(), small_questions()[:1], small_questions()[3:]):
        found = compare(same, asked, kb=small_base(), answers=False)
        assert all((one.difference, one.p_value, one.verdict) == (0.0, 1.0, "cannot tell")
                   for one in found.differences())
        assert found.flipped("recall") == ((), ()) and found.plot() and str(found) and found._repr_html_()
        json.dumps(found.to_dict(), allow_nan=False)
    assert found.difference("recall") is None
    assert [one.metric for one in found.differences()] == ["unanswerable_refused"]


def test_a_name_is_drawn_as_it_is():
    found = compare({"a$_{$": SETTINGS, "b$\\frac$": SETTINGS}, small_questions(), kb=small_base(), answers=False)
    assert found.plot().data.startswith(b"\x89PNG") and "b$\\frac$ - a$_{$" in found.figure().axes[0].get_xlabel()


def test_comparison_as_data_text_and_html():
    found = compare({"a <1>": SETTINGS, "b": CHAINS["strict"]}, small_questions(), kb=small_base(), answers=False)
    data = json.loads(json.dumps(found.to_dict()))
    assert set(data["differences"]) == {"b"} and set(data["evaluations"]) == {"a <1>", "b"}
    page = found._repr_html_()
    assert "a &lt;1&gt;" in page and "a <1>" not in page
    assert "b - a <1>" in str(found) and "cannot tell" in str(found)
    assert found.names == ("a <1>", "b") and len(found) == 2


def test_pictures(comparison):
    image = comparison.plot("fine")
    assert image.data.startswith(b"\x89PNG")
    assert image.alt.startswith("Differences fine minus plain with 95% intervals")
    assert comparison.figure("strict").axes[0].get_xlabel().startswith("difference: strict - plain")


@pytest.fixture(scope="module")
def swept():
    return sweep(GRID, small_questions(), kb=small_base())


def test_each_point_of_a_grid_scores_as_it_does_alone(swept):
    assert len(swept.rows) == 12
    for row in swept.rows:
        apart = evaluate(alone(row.settings), small_questions(), answers=False, k=8)
        assert row.scorecard == apart.scorecard
        assert all(getattr(row.settings, name) == value for name, value in row.changes.items())
    assert [row.changes["min_score"] for row in swept.rows[:2]] == [None, 0.3]  # the last changes fastest


def test_points_the_best_and_the_heat_map(swept):
    assert swept.at(chunk_size=40, top_k=2).changes == {"chunk_size": 40, "top_k": 2, "min_score": None}
    best = swept.best("recall")
    assert best.scorecard["recall"].value == max(row.scorecard["recall"].value for row in swept.rows)
    assert swept.best("characters_read").scorecard["characters_read"].value == min(
        row.scorecard["characters_read"].value for row in swept.rows)
    values = swept.heat_values("recall", "top_k", "chunk_size", min_score=0.3)
    assert values.shape == (2, 3)
    assert values[1, 0] == swept.at(chunk_size=40, top_k=1, min_score=0.3).scorecard["recall"].value
    image = swept.plot("recall", "top_k", "chunk_size")
    assert image.data.startswith(b"\x89PNG") and "best is" in image.alt
    assert swept.plot().alt.startswith("Mean recall over chunk_size and top_k")


def test_sweep_as_data_and_text(swept):
    assert len(json.loads(json.dumps(swept.to_dict()))["rows"]) == 12
    assert len(str(swept).splitlines()) == 13
    assert swept._repr_html_().count("<tr>") == 13


def test_bad_grids_are_refused(swept):
    for grid in ({}, {"top_k": ()}):
        with pytest.raises(ValueError, match="no points"):
            sweep(grid, small_questions(), kb=small_base())
    with pytest.raises(ValueError, match="unknown setting 'topk'"):
        sweep({"topk": (1,)}, small_questions(), kb=small_base())
    with pytest.raises(ValueError, match=r"top_k \(0\)"):
        sweep({"top_k": (0, 1)}, small_questions(), kb=small_base())
    with pytest.raises(ValueError, match="'k' was not varied; these were: chunk_size"):
        swept.heat_values("recall", "k", "top_k")
    with pytest.raises(ValueError, match="needs two settings"):
        sweep({"top_k": (1, 2)}, small_questions(), kb=small_base()).plot()
    for grid in ({"top_k": 8}, {"chunker": "fixed"}, {"top_k": None}):
        with pytest.raises(TypeError, match=r"must be a list of values to try: \("):
            sweep(grid, small_questions(), kb=small_base())
    with pytest.raises(TypeError, match="is no grid"):
        sweep([("top_k", (1,))], small_questions(), kb=small_base())
    for axes, fixed in ((("top_k", "top_k"), {}), (("top_k", "min_score"), {"top_k": 1})):
        with pytest.raises(ValueError, match="needs two settings, neither of them fixed"):
            swept.heat_values("recall", *axes, **fixed)
    with pytest.raises(ValueError, match="recal.* unknown|unknown metric 'recal'"):
        swept.best("recal")

