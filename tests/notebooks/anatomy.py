"""The rules a chapter's master keeps. Each takes a notebook and its number and gives its breaches."""

import io
import re
import tokenize
from collections.abc import Iterator

import nbformat
from nbformat import NotebookNode

LAB = "## Lab"
HEADINGS = [
    "## What you will be able to do",
    "## Time and prerequisites",
    "## A common mistake",
    "## Build it in the open",
    "## The same from ragkit",
    LAB,
    "## Where it breaks",
    "## Exercises",
    "## On your own folder (optional)",
    "## Check yourself",
    "## Key points",
]
TAGS = {"exercise", "solution", "check", "lab", "instructor", "optional", "long-ok", "nbval-ignore-output"}
MINUTES = 45
CODE_LINES = 8
_MACHINE_PATH = re.compile(
    r"(?<![\w.~:/])/(?:home|Users|root|tmp|work|var|private|opt)/\w|\b[A-Z]:\\\w|site-packages"
)


def tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", ()))


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def name(cell: NotebookNode) -> str:
    return f"cell {cell.get('id', '?')!r}"


def headings(notebook: NotebookNode) -> list[str]:
    """The headings of levels 1 and 2, outside code fences."""
    found = []
    for cell in notebook.cells:
        fenced = False
        for line in cell.source.splitlines() if cell.cell_type == "markdown" else ():
            if line.lstrip().startswith(("```", "~~~")):
                fenced = not fenced
            elif not fenced and re.match(r"##? ", line):
                found.append(line.strip())
    return found


def has_the_anatomy(notebook: NotebookNode, number: int) -> Iterator[str]:
    first, *rest = headings(notebook) or [""]
    if not re.fullmatch(rf"# {number:02d}\. \S.*", first):
        yield f"the first heading is {first!r}, not '# {number:02d}. Title'"
    wanted = [heading for heading in HEADINGS if number or heading != LAB]
    given = [LAB if re.match(rf"{LAB}\b", heading) else heading for heading in rest]
    for position, heading in enumerate(wanted):
        if position >= len(given) or given[position] != heading:
            found = given[position] if position < len(given) else None
            yield f"heading {position + 2} is {found!r}, not {heading!r}"
            return
    for heading in given[len(wanted) :]:
        yield f"{heading!r} is no heading of the anatomy"


def asks_its_question(notebook: NotebookNode, number: int) -> Iterator[str]:
    if not re.search(r"^\*\*The question:\*\* \S", notebook.cells[0].source, re.MULTILINE):
        yield "the first cell has no line that begins '**The question:** '"


def fits_the_time(notebook: NotebookNode, number: int) -> Iterator[str]:
    section = next((cell.source for cell in notebook.cells if "## Time and prerequisites" in cell.source), "")
    minutes = [re.search(rf"{what}: (\d+) min", section) for what in ("Reading", "Exercises")]
    if not all(minutes):
        yield "'## Time and prerequisites' does not say 'Reading: N min' and 'Exercises: M min'"
    elif (total := sum(int(match[1]) for match in minutes)) > MINUTES:
        yield f"reading and exercises take {total} minutes, and {MINUTES} is the most"


def ends_with_links(notebook: NotebookNode, number: int) -> Iterator[str]:
    last = notebook.cells[-1]
    for word in ("Previous:", "Next:"):
        if last.cell_type != "markdown" or word not in last.source:
            yield f"the last cell does not say {word!r}"


def is_executed_in_order(notebook: NotebookNode, number: int) -> Iterator[str]:
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"the execution counts are {counts}: run it from a fresh kernel, from top to bottom"


def has_outputs_without_errors(notebook: NotebookNode, number: int) -> Iterator[str]:
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"{name(cell)} ends in {output.ename}"
            if output.get("name") == "stderr":
                yield f"{name(cell)} writes to stderr: {output.text[:80]!r}"
    if not any(cell.outputs for cell in code_cells(notebook)):
        yield "no outputs are stored"


def has_stable_cell_ids(notebook: NotebookNode, number: int) -> Iterator[str]:
    ids = [cell.get("id") for cell in notebook.cells]
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5) or not all(ids):
        yield "not every cell has an id (nbformat 4.5)"
    for repeated in sorted({cell_id for cell_id in ids if cell_id and ids.count(cell_id) > 1}):
        yield f"the id {repeated!r} is given twice"


def is_valid_and_clean(notebook: NotebookNode, number: int) -> Iterator[str]:
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        yield f"not a valid notebook: {str(error).splitlines()[0]}"
    if "widgets" in notebook.metadata:
        yield "metadata.widgets is stored: save it without the widgets' state"
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "ragkit":
        yield f"the kernel is {kernel!r}, not 'ragkit'"


def names_no_machine_path(notebook: NotebookNode, number: int) -> Iterator[str]:
    for cell in notebook.cells:
        texts = [cell.source]
        for output in cell.get("outputs", ()):
            texts.append(output.get("text", ""))
            texts += [
                text
                for mime, text in output.get("data", {}).items()
                if mime.startswith("text/") and isinstance(text, str)
            ]
        for text in texts:
            if found := _MACHINE_PATH.search(text):
                yield f"{name(cell)} names a path of one machine: {text[found.start() :][:60]!r}"


def has_short_cells(notebook: NotebookNode, number: int) -> Iterator[str]:
    for cell in code_cells(notebook):
        if "long-ok" in tags(cell) and not cell.metadata.get("reason"):
            yield f"{name(cell)} is tagged long-ok without a 'reason' in its metadata"
        if tags(cell) & {"long-ok", "optional"}:
            continue
        if (lines := code_lines(cell.source)) > CODE_LINES:
            yield f"{name(cell)} has {lines} lines of code, and {CODE_LINES} is the most"


def code_lines(source: str) -> int:
    """Logical lines: comments and blank lines do not count, a call in brackets over several lines is one."""
    plain = "\n".join("pass" if line.startswith(("%", "!")) else line for line in source.splitlines())
    tokens = tokenize.generate_tokens(io.StringIO(plain + "\n").readline)
    return sum(token.type == tokenize.NEWLINE for token in tokens)


def leads_in_to_code(notebook: NotebookNode, number: int) -> Iterator[str]:
    before = None
    for cell in notebook.cells:
        if cell.cell_type == "code" and before == "code" and not tags(cell) & {"solution", "check"}:
            yield f"{name(cell)} follows another code cell without a sentence between them"
        before = cell.cell_type


def has_known_tags(notebook: NotebookNode, number: int) -> Iterator[str]:
    for cell in notebook.cells:
        for tag in sorted(tags(cell) - TAGS):
            yield f"{name(cell)} has the unknown tag {tag!r}"
        if "nbval-ignore-output" in tags(cell) and not cell.metadata.get("reason"):
            yield f"{name(cell)} ignores its output without a 'reason' in its metadata"
        if re.search(r"#\s*(NBVAL|PYTEST)_", cell.source):
            yield f"{name(cell)} steers nbval by a comment: use a tag"


def solves_its_exercises(notebook: NotebookNode, number: int) -> Iterator[str]:
    """exercise, solution, check stand together; the solution is collapsed; a hint stands before."""
    cells = notebook.cells
    for position, cell in enumerate(cells):
        if "exercise" in tags(cell):
            following = [tags(other) for other in cells[position + 1 : position + 3]]
            if len(following) < 2 or "solution" not in following[0] or "check" not in following[1]:
                yield f"{name(cell)} is not followed by its solution and its check"
        if "solution" in tags(cell):
            if not cell.metadata.get("jupyter", {}).get("source_hidden"):
                yield f"{name(cell)} is a solution that is not collapsed (metadata.jupyter.source_hidden)"
            if not position or "exercise" not in tags(cells[position - 1]):
                yield f"{name(cell)} is a solution without its exercise before it"
    if not any("exercise" in tags(cell) for cell in cells):
        yield "there is no exercise"


def closes_its_details(notebook: NotebookNode, number: int) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for word in ("details", "summary", "dfn"):
                opened, closed = (len(re.findall(rf"<{slash}{word}\b", cell.source)) for slash in ("", "/"))
                if opened != closed:
                    yield f"{name(cell)} opens <{word}> {opened} times and closes it {closed} times"


def follows_pictures_with_numbers(notebook: NotebookNode, number: int) -> Iterator[str]:
    """PNGs are not compared, so the next code cell prints or asserts what the picture shows."""
    cells = code_cells(notebook)
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        if not any("image/png" in output.get("data", {}) for output in cell.outputs):
            continue
        if following is None or not re.search(r"\bprint\(|\bassert\b", following.source):
            yield f"{name(cell)} shows a picture, and the next code cell neither prints nor asserts"


RULES = [
    has_the_anatomy,
    asks_its_question,
    fits_the_time,
    ends_with_links,
    is_executed_in_order,
    has_outputs_without_errors,
    has_stable_cell_ids,
    is_valid_and_clean,
    names_no_machine_path,
    has_short_cells,
    leads_in_to_code,
    has_known_tags,
    solves_its_exercises,
    closes_its_details,
    follows_pictures_with_numbers,
]
