"""One frozen Settings; wrong values are refused where they come in, by name."""

import dataclasses
import json

import pytest

from ragkit.settings import Settings


def test_defaults_are_the_designs():
    settings = Settings()
    assert (settings.top_k, settings.evidence_top_k, settings.min_score) == (8, 4, 0.25)
    assert (settings.chunker, settings.level_sizes, settings.embedder) == ("hierarchical", (1200, 600, 250), "minilm")


@pytest.mark.parametrize(("name", "value"), [
    ("chunker", "magic"), ("chunker", None), ("expansion", "parent"), ("size_unit", "words"), ("chunk_size", 0),
    ("chunk_size", 2.5), ("chunk_size", True), ("chunk_overlap", -1), ("top_k", 0), ("top_k", "8"),
    ("evidence_top_k", -4), ("parent_level", 0), ("min_score", -0.1), ("min_score", 1.1), ("min_score", float("nan")),
    ("min_score", "0.5"), ("min_score", True), ("merge_ratio", 0), ("merge_ratio", 1.5), ("merge_ratio", None),
    ("embedder", ""), ("embedder", 3), ("level_sizes", ()), ("level_sizes", (250, 600)), ("level_sizes", (250, 250)),
    ("min_grade", 1.01), ("min_grade", -1), ("min_grade", float("nan")), ("context_tokens", 0), ("context_order", "worst"),
    ("generator", ""), ("generator", None), ("level_sizes", "abc"), ("level_sizes", 250), ("level_sizes", (600, 0)), ("level_sizes", (600.0, 250))])
def test_a_wrong_value_is_named(name, value):
    for make in (lambda: Settings(**{name: value}), lambda: Settings().replace(**{name: value})):
        with pytest.raises(ValueError, match=name):
            make()


def test_both_values_are_named():
    with pytest.raises(ValueError, match=r"chunk_overlap \(60\) must be smaller than chunk_size \(50\)"):
        Settings(chunk_size=50, chunk_overlap=60)
    with pytest.raises(ValueError, match=r"chunk_overlap \(50\)"):
        Settings(chunk_size=50, chunk_overlap=50)


def test_none_and_the_ends_of_ranges_are_allowed():
    assert Settings(min_score=None, min_grade=None).min_score is None
    assert (Settings(min_score=0).min_score, Settings(min_score=1).min_score, Settings(merge_ratio=1).merge_ratio) == (
        0, 1, 1)


def test_it_is_a_value():
    assert Settings(level_sizes=[600, 250]) == Settings(level_sizes=(600, 250))
    assert hash(Settings(level_sizes=[600, 250])) == hash(Settings(level_sizes=(600, 250)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().top_k = 3
    assert Settings(**json.loads(json.dumps(Settings(min_score=None).to_dict()))) == Settings(min_score=None)


def test_replace_knows_the_names():
    assert Settings().replace(top_k=3).top_k == 3
    with pytest.raises(ValueError, match="unknown setting 'topk'; the settings are .*top_k"):
        Settings().replace(topk=3)


def test_toml(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('chunker = "fixed"\nlevel_sizes = [300, 100]\nmin_score = 0.4\n', encoding="utf-8")
    assert Settings.from_toml(path) == Settings(chunker="fixed", level_sizes=(300, 100), min_score=0.4)
    for content in (b"top_k = ", b"top_k = 0", b"topk = 3", b"\xff\xfe", b"level_sizes = 5"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"my\.toml: "):
            Settings.from_toml(path)
    with pytest.raises(FileNotFoundError):
        Settings.from_toml(tmp_path / "none.toml")
