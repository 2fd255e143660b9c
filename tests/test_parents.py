"""Expansion: every hit accounted for, no context inside another, the best score kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.hits import Hit
from ragkit.parents import ChunkTree, auto_merge, expand_parents
from tests.fixtures import family, hit, span

TREE = family((2, 2, 4))


def level(number, tree=TREE):
    return [chunk for chunk in tree.values() if chunk.level == number]


def test_three_children_of_one_parent_are_one_context():
    children = level(3)[:3]
    result = expand_parents([hit(children[0], 0.4), hit(children[1], 0.9), hit(children[2], 0.6)], TREE)
    (context,) = result.hits
    assert context.chunk is TREE[children[0].parent_id]
    assert context.score == 0.9
    assert context.matched == (children[1].id, children[2].id, children[0].id)
    assert context.context_chunk_id == children[0].parent_id and context.best_child_id == children[1].id
    assert [(drop.chunk_id, drop.reason, drop.score) for drop in result.drops] == [
        (children[2].id, "same_parent", 0.6), (children[0].id, "same_parent", 0.4)]
    assert result.notes == ()


def test_parents_keep_the_order_of_their_best_children():
    one, other = level(3)[0], level(3)[4]
    result = expand_parents([hit(one, 0.3), hit(other, 0.8)], TREE)
    assert [context.chunk.id for context in result.hits] == [other.parent_id, one.parent_id]


def test_equal_scores_stand_by_the_contexts_id():
    hits = [hit(level(3)[4], 0.5), hit(level(3)[0], 0.5)]
    wanted = sorted([level(3)[4].parent_id, level(3)[0].parent_id])
    assert [context.chunk.id for context in expand_parents(hits, TREE).hits] == wanted


def test_it_climbs_to_the_level_asked_for():
    children = [level(3)[0], level(3)[4]]  # of two parents, of one grandparent
    hits = [hit(children[0], 0.5), hit(children[1], 0.7)]
    assert len(expand_parents(hits, TREE).hits) == 2
    (context,) = expand_parents(hits, TREE, level=1).hits
    assert context.chunk.level == 1 and context.score == 0.7
    assert expand_parents(hits, TREE, level=3).hits == (hits[1], hits[0])
    with pytest.raises(ValueError, match=r"level \(0\)"):
        expand_parents(hits, TREE, level=0)


def test_a_chunk_without_a_parent_stays():
    top = level(1)[0]
    assert expand_parents([hit(top, 0.5)], TREE).hits == (hit(top, 0.5),)
    assert expand_parents([], TREE).hits == auto_merge([], TREE).hits == ()


@pytest.mark.parametrize("climb", [1, 2])
def test_a_missing_parent_keeps_the_child_and_says_so(climb):
    child = level(3)[0]
    broken = ChunkTree({id_: chunk for id_, chunk in TREE.items() if id_ != child.parent_id})
    result = expand_parents([hit(child, 0.5)], broken, climb)
    assert result.hits == (hit(child, 0.5),) and not result.drops
    assert result.notes == (f"parent {child.parent_id} is missing; kept in its place: 1 of the chunks below it",)
    merged = auto_merge([hit(sibling, 0.5) for sibling in level(3)[:4]], broken)
    assert len(merged.hits) == 4
    assert merged.notes == (f"parent {child.parent_id} is missing; kept in its place: 4 of the chunks below it",)


def test_a_missing_parent_is_noted_once_with_the_chunks_kept_in_its_place():
    top = level(1)[0]
    broken = ChunkTree({id_: chunk for id_, chunk in TREE.items() if id_ != top.id})
    # Children of both halves: each half is reached, and neither climbs further.
    result = expand_parents([hit(chunk, 0.5) for chunk in level(3)[:8]], broken, 1)
    assert [context.chunk.level for context in result.hits] == [2, 2]
    assert result.notes == (f"parent {top.id} is missing; kept in its place: 2 of the chunks below it",)


def test_auto_merge_climbs_when_enough_siblings_were_hit():
    children = level(3)[:4]
    two = auto_merge([hit(children[0], 0.4), hit(children[3], 0.6)], TREE, ratio=0.5)
    assert [context.chunk.id for context in two.hits] == [children[0].parent_id], "the ratio is inclusive"
    assert (two.hits[0].score, two.hits[0].matched) == (0.6, (children[3].id, children[0].id))
    assert [drop.chunk_id for drop in two.drops] == [children[0].id]
    above = auto_merge([hit(children[0], 0.4), hit(children[3], 0.6)], TREE, ratio=0.51)
    assert {context.chunk.id for context in above.hits} == {children[0].id, children[3].id}
    one = auto_merge([hit(children[0], 0.4)], TREE, ratio=0.01)
    assert one.hits == (hit(children[0], 0.4),), "at least two, whatever the ratio"


def test_an_only_child_is_not_replaced():
    tree = family((1, 1, 1))
    child = tree["d@1:L3:0-4"]
    assert auto_merge([hit(child, 0.5)], tree, 0.5).hits == (hit(child, 0.5),)


@pytest.mark.parametrize(("ratio", "size", "needed"), [(0.28, 25, 7), (0.55, 20, 11), (0.14, 50, 7), (0.07, 100, 7),
                                                       (1.0, 3, 3), (0.34, 3, 2), (2 / 3, 3, 2)])
def test_the_ratio_is_inclusive_to_the_last_bit(ratio, size, needed):
    tree = family((1, size))
    hits = [hit(chunk, 0.5) for chunk in level(2, tree)]
    assert len(auto_merge(hits[:needed], tree, ratio).hits) == 1
    assert len(auto_merge(hits[:needed - 1], tree, ratio).hits) == needed - 1


def test_the_same_child_twice_is_one_sibling():
    child = level(3)[0]
    result = auto_merge([hit(child, 0.4), hit(child, 0.6)], TREE, 0.5)
    assert [(context.chunk.id, context.score) for context in result.hits] == [(child.id, 0.6)]
    assert len(result.drops) == 1


def test_it_climbs_two_levels_when_both_halves_merge():
    result = auto_merge([hit(chunk, 0.1 * number) for number, chunk in enumerate(level(3)[:8], 1)], TREE, 1.0)
    (context,) = result.hits
    assert context.chunk.level == 1 and context.score == pytest.approx(0.8)
    assert len(context.matched) == 8 and context.matched[0] == level(3)[7].id


def test_a_lone_child_is_read_within_what_the_others_merged_into():
    # One half merges to level 2; with the ratio at one half that is enough to climb... only with two halves.
    tree = family((1, 3, 2))
    children = level(3, tree)
    result = auto_merge([hit(chunk, score) for chunk, score in zip(children, (0.3, 0.4, 0.5, 0.6, 0.9), strict=False)],
                        tree, 0.6)
    (context,) = result.hits
    assert context.chunk.level == 1 and context.score == 0.9, "the lone child was the best of all"
    assert context.matched[0] == children[4].id
    assert len(result.drops) == 4


@pytest.mark.parametrize("ratio", [0, -0.1, 1.01, float("nan")])
def test_a_ratio_is_in_zero_to_one(ratio):
    with pytest.raises(ValueError, match="ratio"):
        auto_merge([], TREE, ratio)


def test_family_sizes_are_counted_once():
    assert ChunkTree.of(TREE) is TREE
    assert dict(ChunkTree.of(dict(TREE)).family_sizes) == dict(TREE.family_sizes)
    assert TREE.family_sizes[level(1)[0].id] == 2 and TREE.family_sizes["nobody"] == 0


def test_two_documents_do_not_mix():
    tree = ChunkTree(family((1, 2), "a") | family((1, 2), "b"))
    hits = [hit(chunk, 0.5) for chunk in level(2, tree)]
    assert {context.chunk.document_id for context in auto_merge(hits, tree, 0.5).hits} == {"a", "b"}


shapes = st.sampled_from([(2, 2, 4), (1, 3, 2), (3, 1, 1), (1, 7), (4,)])


@given(shapes, st.data())
@settings(max_examples=300, deadline=None)
def test_invariants(shape, data):
    tree = family(shape)
    missing = data.draw(st.sets(st.sampled_from(sorted(tree)), max_size=2))
    everything = list(tree.values())
    # Hits at any level: the links must hold up wherever they stand in a chain.
    chosen = data.draw(st.lists(st.sampled_from(everything), max_size=12))
    hits = [Hit(chunk, data.draw(st.sampled_from([-0.2, 0.0, 0.25, 0.5, 0.75, 1.0]))) for chunk in chosen]
    chunks = ChunkTree({id_: chunk for id_, chunk in tree.items() if id_ not in missing})
    link = data.draw(st.sampled_from([
        lambda: expand_parents(hits, chunks), lambda: expand_parents(hits, chunks, 1),
        lambda: expand_parents(hits, chunks, 2), lambda: auto_merge(hits, chunks, 0.5),
        lambda: auto_merge(hits, chunks, 1.0), lambda: auto_merge(hits, dict(chunks), 0.1)]))
    result = link()
    contexts = [context.chunk for context in result.hits]
    assert len(hits) == len(contexts) + len(result.drops)
    assert len({chunk.id for chunk in contexts}) == len(contexts)
    for one in contexts:
        for other in contexts:
            assert one is other or not (other.start <= one.start and one.end <= other.end), "one inside another"
    matched = [id_ for context in result.hits for id_ in context.matched]
    assert sorted(matched) == sorted({chunk.id for chunk in chosen}), "each child in exactly one context"
    for context in result.hits:
        members = [hit_ for hit_ in hits if hit_.chunk.id in context.matched]
        assert context.score == max(hit_.score for hit_ in members)
        assert all(context.chunk.start <= hit_.chunk.start and hit_.chunk.end <= context.chunk.end for hit_ in members)
        best = {hit_.chunk.id: max(other.score for other in members if other.chunk.id == hit_.chunk.id)
                for hit_ in members}
        assert list(context.matched) == sorted(best, key=lambda id_: (-best[id_], id_))
    keys = [(-context.score, context.chunk.id) for context in result.hits]
    assert keys == sorted(keys)
    assert {drop.reason for drop in result.drops} <= {"same_parent"}
    assert link() == result
    assert auto_merge(hits[::-1], chunks, 0.5) == auto_merge(hits, chunks, 0.5), "the order of hits is nothing"


def test_a_flat_cut_is_left_alone():
    flat = [span(0, 10, 1), span(8, 20, 1), span(18, 30, 1)]
    hits = tuple(hit(chunk, 0.9 - 0.1 * number) for number, chunk in enumerate(flat))
    tree = ChunkTree({chunk.id: chunk for chunk in flat})
    assert expand_parents(hits, tree).hits == expand_parents(hits, tree, 2).hits == auto_merge(hits, tree).hits == hits
