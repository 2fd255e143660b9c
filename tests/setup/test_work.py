"""work/: what a learner's copy holds, that it is never overwritten, and that reset keeps what was there."""

import copy
import datetime
import json
from pathlib import Path

import nbformat
import pytest

from coursekit import commands, work

DAY = datetime.date(2026, 11, 30)


def markdown(source, cell_id, tags=()):
    return {"cell_type": "markdown", "id": cell_id, "metadata": {"tags": list(tags)}, "source": source}


def code(source, cell_id, count, tags=()):
    outputs = [
        {
            "output_type": "execute_result",
            "execution_count": count,
            "metadata": {},
            "data": {"text/plain": [f"result {count}"]},
        },
        {"output_type": "stream", "name": "stdout", "text": ["printed\n"]},
    ]
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": {"tags": list(tags)},
        "source": source,
        "execution_count": count,
        "outputs": outputs,
    }


MASTER = {
    "cells": [
        markdown(
            ["# 03. Candidates 候选\n", '![a map](figures/map.png) <img src="figures/b.svg"> configures/x'],
            "title",
        ),
        code("1 + 1", "shown", 1),
        markdown("Say less.", "note", ["instructor"]),
        code("answer = None", "starter", 2, ["exercise"]),
        code("answer = 42", "solved", 3, ["solution"]),
        code("check(answer)", "checked", 4, ["check", "nbval-ignore-output"]),
        markdown("![again](figures/map.png)", "end"),
    ],
    "metadata": {"kernelspec": {"name": "ragkit", "display_name": "x", "language": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """Three masters, and course.py's commands acting on them."""
    (tmp_path / "notebooks" / "figures").mkdir(parents=True)
    for name in ("00_start_here", "03_candidates_and_evidence", "11_conversation"):
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text(json.dumps(MASTER), encoding="utf-8")
    (tmp_path / "notebooks" / "scratch.ipynb").write_text("{}")
    monkeypatch.setattr(commands, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(commands, "WORK", tmp_path / "work")
    return tmp_path


def test_a_copy_has_no_solutions_and_no_outputs_of_exercises():
    before = copy.deepcopy(MASTER)
    derived = work.derive(MASTER)
    assert MASTER == before
    assert [cell["id"] for cell in derived["cells"]] == ["title", "shown", "starter", "checked", "end"]
    cells = {cell["id"]: cell for cell in derived["cells"]}
    assert cells["starter"]["outputs"] == cells["checked"]["outputs"] == []
    assert [output["output_type"] for output in cells["shown"]["outputs"]] == ["execute_result", "stream"]
    assert cells["shown"]["outputs"][0]["execution_count"] is None
    assert all(cell["execution_count"] is None for cell in cells.values() if cell["cell_type"] == "code")
    assert "42" not in json.dumps(derived)


def test_figures_are_found_from_work():
    first, *_, last = work.derive(MASTER)["cells"]
    assert "".join(first["source"]) == (
        "# 03. Candidates 候选\n![a map](../notebooks/figures/map.png) "
        '<img src="../notebooks/figures/b.svg"> configures/x'
    )
    assert "".join(last["source"]) == "![again](../notebooks/figures/map.png)"


def test_copies_are_made_once_and_are_valid(course):
    made = work.make(course / "notebooks", course / "work")
    assert [path.name for path in made] == [
        "00_start_here.ipynb",
        "03_candidates_and_evidence.ipynb",
        "11_conversation.ipynb",
    ]
    for path in made:
        nbformat.validate(nbformat.read(path, as_version=4))
    assert not list((course / "work").glob("*.tmp"))
    made[1].write_text("the learner's", encoding="utf-8")
    made[0].unlink()
    assert work.make(course / "notebooks", course / "work") == [made[0]]
    assert made[1].read_text(encoding="utf-8") == "the learner's"


@pytest.mark.parametrize(
    "chapter",
    [
        "3",
        "03",
        "03_candidates",
        "03_candidates_and_evidence",
        "03_candidates_and_evidence.ipynb",
        "work/03_candidates_and_evidence.ipynb",
    ],
)
def test_a_chapter_is_named_in_many_ways(course, chapter):
    assert [path.stem for path in work.choose(course / "notebooks", chapter)] == [
        "03_candidates_and_evidence"
    ]


@pytest.mark.parametrize("chapter", ["4", "x", "", "candidates", "1"])
def test_an_unknown_chapter_names_those_that_exist(course, chapter, capsys):
    assert commands.main(["reset", chapter]) == 2
    said = capsys.readouterr().err.strip()
    assert said == (
        f"There is no one chapter called {chapter!r}: the chapters are 00_start_here, "
        "03_candidates_and_evidence, 11_conversation."
    )
    assert not (course / "work").exists()


def test_reset_keeps_an_edited_file_twice_on_one_day(course):
    master = course / "notebooks" / "03_candidates_and_evidence.ipynb"
    work.make(course / "notebooks", course / "work")
    mine = course / "work" / master.name
    fresh = mine.read_text(encoding="utf-8")
    for turn, name in enumerate(["2026-11-30", "2026-11-30-2", "2026-11-30-3"]):
        mine.write_text(f"edit {turn} 编辑", encoding="utf-8")
        kept = work.reset(master, course / "work", DAY)
        assert kept == course / "work" / f"03_candidates_and_evidence.{name}.ipynb"
        assert kept.read_text(encoding="utf-8") == f"edit {turn} 编辑"
        assert mine.read_text(encoding="utf-8") == fresh
    assert len(list((course / "work").iterdir())) == 6


def test_reset_of_an_untouched_copy_keeps_nothing(course):
    master = course / "notebooks" / "00_start_here.ipynb"
    work.make(course / "notebooks", course / "work")
    assert work.reset(master, course / "work", DAY) is None
    assert len(list((course / "work").iterdir())) == 3


def test_reset_makes_a_copy_that_is_missing(course, capsys):
    assert commands.main(["reset", "11"]) == 0
    assert capsys.readouterr().out == "work/11_conversation.ipynb is as new\n"
    assert [path.name for path in (course / "work").iterdir()] == ["11_conversation.ipynb"]


def test_reset_of_all(course, capsys):
    work.make(course / "notebooks", course / "work")
    (course / "work" / "00_start_here.ipynb").write_bytes(b"\xff broken bytes")
    (course / "work" / "notes.txt").write_text("mine")
    assert commands.main(["reset"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    kept = course / lines[0].split(" kept as ")[1]
    assert kept.read_bytes() == b"\xff broken bytes"
    assert not any("kept" in line for line in lines[1:])
    assert (course / "work" / "notes.txt").read_text() == "mine"


def test_a_kept_file_is_not_taken_for_a_chapter(course):
    """JupyterLab opens the first chapter's copy, not what reset put aside before it."""
    work.make(course / "notebooks", course / "work")
    (course / "work" / "00_start_here.ipynb").write_text("mine")
    work.reset(course / "notebooks" / "00_start_here.ipynb", course / "work", DAY)
    assert work.first(course / "work").name == "00_start_here.ipynb"


def test_reset_takes_one_chapter(course, capsys):
    assert commands.main(["reset", "0", "3"]) == 2
    assert "one chapter" in capsys.readouterr().err
