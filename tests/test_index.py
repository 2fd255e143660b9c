"""Both indexes through the same cases, against a slow reference, and what they refuse."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.index import FaissIndex, IndexDamagedError, NumpyIndex
from tests.fixtures import unit_rows

both = pytest.mark.parametrize("kind", [NumpyIndex, FaissIndex])


def made(kind, vectors: dict[str, list[float]]):
    index = kind(len(next(iter(vectors.values()))))
    index.add(list(vectors), np.array(list(vectors.values()), dtype=np.float32))
    return index


def reference(ids, vectors, query, k, allowed=None):
    """The definition, in 64 bits, one vector at a time."""
    def unit(row):
        row = np.asarray(row, dtype=np.float32).astype(np.float64)
        length = np.sqrt((row * row).sum())
        return (row / length if length else row).astype(np.float32).astype(np.float64)

    scored = [(round(float(unit(row) @ unit(query)), 6), id_) for id_, row in zip(ids, vectors, strict=True)
              if allowed is None or id_ in allowed]
    return [(id_, score) for score, id_ in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:k]]


def close(found, wanted):
    assert [match.id for match in found] == [id_ for id_, _ in wanted]
    assert [match.score for match in found] == pytest.approx([score for _, score in wanted], abs=1.5e-6)


@both
def test_scores_are_cosines_best_first(kind):
    index = made(kind, {"same": [1, 0], "half": [1, 1], "across": [0, 5], "opposite": [-2, 0]})
    found = index.search(np.array([3.0, 0.0]), 4)
    assert [(match.id, match.score) for match in found] == [
        ("same", 1.0), ("half", 0.707107), ("across", 0.0), ("opposite", -1.0)]


@both
def test_equal_scores_stand_by_id_whatever_the_order_of_adding(kind):
    for order in ("dbca", "abcd", "cadb"):
        index = made(kind, {name: [0.6, 0.8] for name in order})
        assert [match.id for match in index.search(np.array([0.6, 0.8]), 2)] == ["a", "b"]


@both
def test_a_tie_of_hundreds_across_the_cut_gives_the_first_ids(kind):
    index = kind(4)
    ids = [f"{number:03}" for number in np.random.default_rng(3).permutation(300)]
    index.add(ids, np.tile([1, 2, 3, 4], (300, 1)))
    index.add(["best"], np.array([[4, 3, 2, 9.0]]))
    assert [match.id for match in index.search(np.array([4, 3, 2, 9.0]), 4)] == ["best", "000", "001", "002"]


@both
def test_fewer_than_k_are_given_never_padding(kind):
    index = made(kind, {"a": [1, 0], "b": [0, 1]})
    assert [match.id for match in index.search(np.array([1, 0]), 10)] == ["a", "b"]
    assert [match.id for match in index.search(np.array([1, 0]), 10, allowed={"b"})] == ["b"]
    assert index.search(np.array([1, 0]), 10, allowed=set()) == []
    assert kind(2).search(np.array([1, 0]), 3) == []


@both
def test_a_filter_never_starves_the_result(kind):
    near = {f"b{number}": [1, 0.01 * number] for number in range(4)}
    far = {f"a{number}": [0.1 * number, 1] for number in range(6)}
    index = made(kind, near | far)
    query = np.array([1.0, 0.0])
    assert {match.id[0] for match in index.search(query, 4)} == {"b"}
    found = index.search(query, 5, allowed=far)
    assert [match.id for match in found] == ["a5", "a4", "a3", "a2", "a1"]


@both
def test_allowed_is_a_collection_of_ids_or_a_mask(kind):
    index = made(kind, {"a": [1, 0], "b": [1, 1], "c": [0, 1]})
    query = np.array([1, 0])
    mask = np.array([False, True, True])
    for allowed in ({"b", "c"}, ["c", "b", "b"], ("b", "c", "not there"), mask, np.array(["b", "c"])):
        assert [match.id for match in index.search(query, 3, allowed)] == ["b", "c"]
    assert [match.id for match in index.search(query, 3, "b")] == ["b"], "a lone string is one id"
    with pytest.raises(ValueError, match=r"\(2,\).*3 vectors"):
        index.search(query, 3, np.array([True, False]))


@both
def test_a_zero_vector_is_at_right_angles_to_everything(kind):
    index = made(kind, {"zero": [0, 0], "one": [1, 0]})
    assert index.search(np.array([1, 0]), 2)[1] == ("zero", 0.0)
    assert [match.score for match in index.search(np.zeros(2), 2)] == [0.0, 0.0]
    assert str(index.search(np.array([-0.0, -1.0]), 1)[0].score) == "0.0", "no negative zero"


@both
def test_very_long_and_very_short_vectors_have_a_direction(kind):
    index = made(kind, {"long": [3e30, 4e30], "short": [3e-30, 4e-30]})
    assert [match.score for match in index.search(np.array([3e25, 4e25]), 2)] == [1.0, 1.0]


@both
def test_remove_and_add_again(kind):
    index = made(kind, {"a": [1, 0], "b": [0, 1], "c": [-1, 0]})
    index.remove(["a"])
    assert (len(index), list(index.ids), "a" in index, "b" in index) == (2, ["b", "c"], False, True)
    index.add(["a"], np.array([[0, -1]]))
    assert index.search(np.array([0, -1]), 1) == [("a", 1.0)]
    assert index.search(np.array([0, 1]), 1) == [("b", 1.0)]
    index.remove([])
    index.remove("b")
    assert list(index.ids) == ["c", "a"]
    np.testing.assert_allclose(index.reconstruct(["a", "c"]), [[0, -1], [-1, 0]])
    index.remove(["a", "c"])
    assert index.reconstruct([]).shape == (0, 2)
    assert index.search(np.array([0, 1]), 1) == []
    index.add([], np.zeros((0, 2)))
    assert len(index) == 0


@both
def test_it_grows_after_it_was_searched(kind):
    index = made(kind, {"a": [1, 0]})
    assert index.search(np.array([1, 0]), 1) == [("a", 1.0)]
    index.add([f"b{number:05}" for number in range(20_000)], np.tile([0, 1], (20_000, 1)))  # more than fits beside it
    assert index.search(np.array([0, 1]), 1) == [("b00000", 1.0)]
    index.remove([f"b{number:05}" for number in range(19_999)])
    assert index.search(np.array([0, 1]), 2) == [("b19999", 1.0), ("a", 0.0)]


@both
def test_wrong_dimensions_name_both_numbers(kind):
    index = made(kind, {"a": [1, 0, 0]})
    with pytest.raises(ValueError, match=r"\(1, 2\).*\(n, 3\)"):
        index.add(["b"], np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"\(4,\).*\(3,\)"):
        index.search(np.zeros(4), 1)
    with pytest.raises(ValueError, match=r"\(1, 3\).*\(3,\)"):
        index.search(np.zeros((1, 3)), 1)
    assert list(index.ids) == ["a"]


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_nan_and_infinity_are_stopped_at_the_door(kind, bad):
    index = made(kind, {"a": [1, 0]})
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="NaN or infinity"):
        index.add(["b"], np.array([[bad, 0]]))
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="NaN or infinity"):
        index.search(np.array([0, bad]), 1)
    assert list(index.ids) == ["a"]


@both
def test_ids_are_refused_when_known_or_twice_or_too_few(kind):
    index = made(kind, {"a": [1, 0]})
    with pytest.raises(ValueError, match="'a' is in the index already"):
        index.add(["b", "a"], np.eye(2))
    with pytest.raises(ValueError, match="'b' is in the index already"):
        index.add(["b", "b"], np.eye(2))
    with pytest.raises(ValueError, match="1 ids for 2 vectors"):
        index.add(["b"], np.eye(2))
    with pytest.raises(KeyError, match="'z' is not in the index"):
        index.remove(["a", "z"])
    assert list(index.ids) == ["a"]
    assert index.search(np.array([1, 0]), 2) == [("a", 1.0)]


@both
@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_k_is_a_whole_number_of_at_least_one(kind, k):
    with pytest.raises(ValueError, match="k .* at least 1"):
        made(kind, {"a": [1, 0]}).search(np.array([1, 0]), k)


@both
@pytest.mark.parametrize("dimension", [0, -3, 2.0, True])
def test_dimension_is_a_whole_number_of_at_least_one(kind, dimension):
    with pytest.raises(ValueError, match="at least 1"):
        kind(dimension)


@both
def test_a_query_leaves_its_arguments_as_they_were(kind):
    index = made(kind, {"a": [1, 0], "b": [0, 1]})
    query, mask = np.array([5, 5], dtype=np.float32), np.array([True, False])
    index.search(query, 1, mask)
    assert query.tolist() == [5, 5] and mask.tolist() == [True, False]


numbers = st.integers(-2, 2)
rows = st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=25)


@given(rows, st.tuples(numbers, numbers, numbers), st.integers(1, 30), st.data())
@settings(max_examples=150, deadline=None)
def test_both_agree_with_the_reference(vectors, query, k, data):
    # Small whole numbers give many equal directions, so ties are the rule here.
    ids = data.draw(st.permutations([f"id{number:02}" for number in range(len(vectors))]))
    allowed = data.draw(st.none() | st.sets(st.sampled_from(ids)))
    answers = []
    for kind in (NumpyIndex, FaissIndex):
        index = kind(3)
        index.add(ids, np.array(vectors, dtype=np.float32))
        answers.append(index.search(np.array(query, dtype=np.float32), k, allowed))
    assert answers[0] == answers[1]
    close(answers[0], reference(ids, vectors, query, k, allowed))


@pytest.mark.parametrize("seed", range(8))
def test_both_give_the_same_scores_to_the_last_digit(seed):
    vectors, ids = unit_rows(2000, 384, seed), [f"{number:04}" for number in range(2000)]
    queries = unit_rows(10, 384, seed + 100)
    one, two = NumpyIndex(384), FaissIndex(384)
    one.add(ids, vectors)
    two.add(ids[::-1], vectors[::-1])
    everybody = np.ones(2000, dtype=bool)
    for query in queries:
        found = one.search(query, 20)
        assert found == two.search(query, 20)
        assert found == two.search(query, 20, everybody), "with a filter that lets all through as without"


commands = st.lists(st.tuples(st.sampled_from(["add", "remove", "search"]), st.integers(0, 9)), max_size=40)


@given(commands, st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_any_sequence_of_adding_and_removing(steps, seed):
    random = np.random.default_rng(seed)
    held: dict[str, np.ndarray] = {}
    pair = [NumpyIndex(3), FaissIndex(3)]
    for command, number in steps:
        id_ = f"id{number}"
        if command == "search":
            query = random.integers(-2, 3, 3).astype(np.float32)
            allowed = {f"id{other}" for other in range(number)}
            for index in pair:
                close(index.search(query, number + 1, allowed),
                      reference(held, held.values(), query, number + 1, allowed))
        elif (command == "add") == (id_ not in held):
            if command == "add":
                held[id_] = random.integers(-2, 3, 3).astype(np.float32)
            for index in pair:
                index.add([id_], held[id_][None]) if command == "add" else index.remove({id_})
            if command == "remove":
                del held[id_]
    for index in pair:
        assert list(index.ids) == list(held)


@both
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    index = made(kind, {"a": [1, 0], "中文": [0, 1], "c\nd": [1, 1]})
    index.save(tmp_path / "new folder" / "index.v1")
    again = kind.load(tmp_path / "new folder" / "index.v1")
    query = np.array([0.3, 0.9])
    assert again.search(query, 3) == index.search(query, 3)
    assert list(again.ids) == list(index.ids)
    again.remove(["a"])
    again.add(["e"], np.array([[1, 0]]))
    again.save(tmp_path / "new folder" / "index.v1")
    assert list(kind.load(tmp_path / "new folder" / "index.v1").ids) == ["中文", "c\nd", "e"]
    assert not list(tmp_path.rglob("*.tmp"))
    kind(2).save(tmp_path / "empty")
    assert len(kind.load(tmp_path / "empty")) == 0


@both
def test_damage_is_recognised(kind, tmp_path):
    path = tmp_path / "index"
    index = made(kind, {"a": [1, 0], "b": [0, 1]})
    vectors_path, json_path = tmp_path / f"index{kind.suffix}", tmp_path / "index.json"

    def broken(part, content):
        index.save(path)
        part.unlink() if content is None else part.write_bytes(content)
        with pytest.raises(IndexDamagedError, match="build the index anew"):
            kind.load(path)

    index.save(path)
    whole, head = vectors_path.read_bytes(), json.loads(json_path.read_text(encoding="utf-8"))
    flipped = bytearray(whole)
    flipped[-3] ^= 1
    for content in (None, b"", whole[:-1], bytes(flipped), whole + b"x"):
        broken(vectors_path, content)
    for content in (None, b"", b"[]", b"null", b"{}", b"\xff\xfe", json_path.read_bytes()[:-5]):
        broken(json_path, content)
    for change in ({"ids": ["a"]}, {"ids": ["a", "b", "c"]}, {"ids": ["a", "a"]}, {"ids": 5}, {"dimension": 3},
                   {"dimension": "two"}, {"format": 99}, {"kind": "OtherIndex"}, {"sha256": "0" * 64}):
        broken(json_path, json.dumps(head | change).encode())


@both
def test_halves_of_two_saves_are_not_taken_for_a_pair(kind, tmp_path):
    made(kind, {"a": [1, 0]}).save(tmp_path / "old")
    made(kind, {"a": [0, 1]}).save(tmp_path / "new")
    # As after a crash between the two renames: new vectors, old ids.
    (tmp_path / f"new{kind.suffix}").replace(tmp_path / f"old{kind.suffix}")
    with pytest.raises(IndexDamagedError, match="does not belong"):
        kind.load(tmp_path / "old")


def test_one_kind_does_not_load_the_other(tmp_path):
    made(NumpyIndex, {"a": [1, 0]}).save(tmp_path / "index")
    (tmp_path / "index.npy").rename(tmp_path / "index.faiss")
    with pytest.raises(IndexDamagedError, match="NumpyIndex.*FaissIndex"):
        FaissIndex.load(tmp_path / "index")


def rewrite_checksum(path, suffix):
    import hashlib

    head = json.loads((path.parent / f"{path.name}.json").read_text())
    head["sha256"] = hashlib.sha256((path.parent / f"{path.name}{suffix}").read_bytes()).hexdigest()
    (path.parent / f"{path.name}.json").write_text(json.dumps(head))


class Mischief:
    def __reduce__(self):
        return (print, ("a pickle was loaded",))


def test_nothing_is_ever_unpickled(tmp_path, capsys):
    path = tmp_path / "index"
    made(NumpyIndex, {"a": [1, 0]}).save(path)
    for content in (pickle.dumps(Mischief()), None):
        if content is None:
            with (tmp_path / "index.npy").open("wb") as file:
                np.save(file, np.array([[Mischief(), 1]], dtype=object), allow_pickle=True)
        else:
            (tmp_path / "index.npy").write_bytes(content)
        rewrite_checksum(path, ".npy")
        with pytest.raises(IndexDamagedError):
            NumpyIndex.load(path)
    assert "pickle was loaded" not in capsys.readouterr().out


def test_another_kind_of_faiss_index_is_not_taken(tmp_path):
    import faiss

    path = tmp_path / "index"
    made(FaissIndex, {"a": [1, 0]}).save(path)
    by_distance = faiss.IndexFlatL2(2)
    by_distance.add(np.array([[1, 0]], dtype=np.float32))
    faiss.write_index(by_distance, str(tmp_path / "index.faiss"))
    rewrite_checksum(path, ".faiss")
    with pytest.raises(IndexDamagedError):
        FaissIndex.load(path)
