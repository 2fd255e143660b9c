"""Every master keeps the rules of a chapter, and every rule can fail."""

import copy
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from tests.notebooks import anatomy

pytestmark = pytest.mark.notebook
MASTERS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9][0-9]_*.ipynb"))


@pytest.mark.parametrize("rule", anatomy.RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("master", MASTERS, ids=lambda path: path.stem)
def test_master(master, rule):
    notebook = nbformat.read(master, as_version=4)
    assert list(rule(notebook, int(master.name[:2]))) == []


def code(source, count, tags=(), output="1", **metadata):
    cell = v4.new_code_cell(source, execution_count=count, metadata={"tags": list(tags), **metadata})
    cell.outputs = [v4.new_output("stream", text=output + "\n")] if output else []
    return cell


def chapter() -> nbformat.NotebookNode:
    """A small chapter 03 that keeps every rule."""
    texts = {"## Time and prerequisites": "Reading: 20 min. Exercises: 25 min."}
    notebook = v4.new_notebook(
        metadata={"kernelspec": {"name": "ragkit", "display_name": "x", "language": "python"}}
    )
    notebook.cells = [v4.new_markdown_cell("# 03. Candidates\n\n**The question:** which?")]
    for heading in anatomy.HEADINGS:
        title = heading + ": three knobs" if heading == anatomy.LAB else heading
        notebook.cells.append(v4.new_markdown_cell(f"{title}\n\n{texts.get(heading, 'Text.')}"))
        if heading == "## A common mistake":
            picture = code("figure()", 1, output="")
            picture.outputs = [v4.new_output("display_data", {"image/png": "aGk=", "text/plain": "<Figure>"})]
            notebook.cells += [picture, v4.new_markdown_cell("In numbers:"), code("print(1)", 2)]
        if heading == "## Exercises":
            notebook.cells += [
                code("answer = None", 3, ["exercise"], output=""),
                code("answer = 1", 4, ["solution"], output="", jupyter={"source_hidden": True}),
                code("print(answer)", 5, ["check"]),
            ]
    notebook.cells.append(v4.new_markdown_cell("Previous: 02. Next: 04."))
    return notebook


def test_a_right_chapter_breaks_no_rule():
    assert [breach for rule in anatomy.RULES for breach in rule(chapter(), 3)] == []


def find(notebook, text):
    return next(cell for cell in notebook.cells if text in cell.source)


def no_solution(notebook):
    notebook.cells.remove(find(notebook, "answer = 1"))
    find(notebook, "print(answer)").execution_count = 4


BREAKS = [  # (the rule that must notice, a word of its message, what is broken)
    (anatomy.has_the_anatomy, "# 03. Title", lambda nb: nb.cells[0].update(source="# 3 Candidates")),
    (anatomy.has_the_anatomy, "Where it breaks", lambda nb: nb.cells.remove(find(nb, "Where it breaks"))),
    (anatomy.has_the_anatomy, "Lab", lambda nb: nb.cells.remove(find(nb, "## Lab"))),
    (
        anatomy.has_the_anatomy,
        "no heading",
        lambda nb: nb.cells[-1].update(source="## More\nPrevious: Next:"),
    ),
    (anatomy.asks_its_question, "question", lambda nb: nb.cells[0].update(source="# 03. Candidates")),
    (
        anatomy.fits_the_time,
        "46 minutes",
        lambda nb: find(nb, "20 min").update(
            source="## Time and prerequisites\nReading: 20 min, Exercises: 26 min"
        ),
    ),
    (
        anatomy.fits_the_time,
        "does not say",
        lambda nb: find(nb, "20 min").update(source="## Time and prerequisites"),
    ),
    (anatomy.ends_with_links, "Next", lambda nb: nb.cells[-1].update(source="Previous: 02.")),
    (anatomy.is_executed_in_order, "fresh kernel", lambda nb: find(nb, "print(1)").update(execution_count=7)),
    (anatomy.is_executed_in_order, "None", lambda nb: find(nb, "print(1)").update(execution_count=None)),
    (
        anatomy.has_outputs_without_errors,
        "ValueError",
        lambda nb: find(nb, "print(1)").outputs.append(
            v4.new_output("error", ename="ValueError", evalue="", traceback=[])
        ),
    ),
    (
        anatomy.has_outputs_without_errors,
        "stderr",
        lambda nb: find(nb, "print(1)").outputs.append(
            v4.new_output("stream", name="stderr", text="Warning")
        ),
    ),
    (
        anatomy.has_outputs_without_errors,
        "no outputs",
        lambda nb: [cell.update(outputs=[]) for cell in nb.cells if cell.cell_type == "code"],
    ),
    (anatomy.has_stable_cell_ids, "twice", lambda nb: nb.cells[1].update(id=nb.cells[2].id)),
    (anatomy.has_stable_cell_ids, "not every cell", lambda nb: nb.cells[1].pop("id")),
    (anatomy.is_valid_and_clean, "widgets", lambda nb: nb.metadata.update(widgets={})),
    (anatomy.is_valid_and_clean, "python3", lambda nb: nb.metadata.kernelspec.update(name="python3")),
    (anatomy.is_valid_and_clean, "valid", lambda nb: nb.cells[0].update(cell_type="prose")),
    (anatomy.names_no_machine_path, "/home/", lambda nb: nb.cells[1].update(source="see /home/me/x")),
    (
        anatomy.names_no_machine_path,
        "/tmp/",
        lambda nb: find(nb, "print(1)").outputs[0].update(text="/tmp/a.py:3"),
    ),
    (anatomy.names_no_machine_path, "C:", lambda nb: nb.cells[1].update(source="C:\\Users\\me")),
    (
        anatomy.has_short_cells,
        "9 lines",
        lambda nb: find(nb, "print(1)").update(source="x = 1\n\n# why\n" * 8 + "print(1)"),
    ),
    (
        anatomy.has_short_cells,
        "without a 'reason'",
        lambda nb: find(nb, "print(1)").metadata.tags.append("long-ok"),
    ),
    (anatomy.leads_in_to_code, "without a sentence", lambda nb: nb.cells.remove(find(nb, "In numbers"))),
    (anatomy.has_known_tags, "skipped", lambda nb: find(nb, "print(1)").metadata.tags.append("skipped")),
    (
        anatomy.has_known_tags,
        "ignores",
        lambda nb: find(nb, "print(1)").metadata.tags.append("nbval-ignore-output"),
    ),
    (
        anatomy.has_known_tags,
        "comment",
        lambda nb: find(nb, "print(1)").update(source="# NBVAL_SKIP\nprint(1)"),
    ),
    (anatomy.solves_its_exercises, "not followed", no_solution),
    (anatomy.solves_its_exercises, "collapsed", lambda nb: find(nb, "answer = 1").metadata.pop("jupyter")),
    (
        anatomy.solves_its_exercises,
        "without its exercise",
        lambda nb: nb.cells.remove(find(nb, "answer = None")),
    ),
    (anatomy.solves_its_exercises, "no exercise", lambda nb: nb.cells.remove(find(nb, "answer = None"))),
    (
        anatomy.closes_its_details,
        "details",
        lambda nb: nb.cells[1].update(source="<details><summary>a</summary>"),
    ),
    (
        anatomy.follows_pictures_with_numbers,
        "neither",
        lambda nb: find(nb, "print(1)").update(source="x = 1"),
    ),
]


@pytest.mark.parametrize(
    ("rule", "message", "damage"), BREAKS, ids=[f"{rule.__name__}-{message}" for rule, message, _ in BREAKS]
)
def test_each_rule_can_fail(rule, message, damage):
    notebook = chapter()
    damage(notebook)
    assert any(message in breach for breach in rule(notebook, 3)), list(rule(notebook, 3))


def test_chapter_00_has_no_lab():
    notebook = copy.deepcopy(chapter())
    notebook.cells[0].source = "# 00. Start here\n\n**The question:** what?"
    assert list(anatomy.has_the_anatomy(notebook, 0)) != []
    notebook.cells.remove(find(notebook, "## Lab"))
    assert list(anatomy.has_the_anatomy(notebook, 0)) == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("# only a comment", 0),
        ("x = 1", 1),
        ("f(1,\n  2,\n  3)", 1),
        ("%matplotlib inline\nx = 1", 2),
        ('"""text\n\nmore"""', 1),
        ("if x:\n    y = 1\n\n    # why\n    z = 2", 3),
    ],
)
def test_code_lines(source, lines):
    assert anatomy.code_lines(source) == lines
