"""Notebooks as text and back: the authors' tool (CONTRIBUTING.md says how it is used).

    python tools/notebook.py text notebooks/03_x.ipynb      # writes 03_x.py (py:percent, with cell ids)
    python tools/notebook.py build 03_x.py                  # writes and executes notebooks/03_x.ipynb
    python tools/notebook.py run notebooks/03_x.ipynb       # executes it again, in place

A build runs in a fresh kernel from top to bottom; an error in a cell is an error here, and nothing is
written. Outputs are only ever what a kernel gave.
"""

import argparse
import hashlib
import os
import sys
from pathlib import Path

import jupytext
import nbclient
import nbformat

KERNEL = {"name": "ragkit", "display_name": "Evidence First (ragkit)", "language": "python"}
NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"


def to_text(path: Path) -> str:
    """The notebook as py:percent; each cell's id travels in its metadata."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata["id"] = cell.id
    return jupytext.writes(notebook, fmt="py:percent")


def from_text(text: str) -> nbformat.NotebookNode:
    """The notebook that a text describes, not executed. A cell without an id gets one from its source."""
    notebook = jupytext.reads(text, fmt="py:percent")
    taken: set[str] = set()
    for cell in notebook.cells:
        wanted = cell.metadata.pop("id", None) or "c-" + hashlib.sha256(cell.source.encode()).hexdigest()[:10]
        cell.id, number = wanted, 2
        while cell.id in taken:
            cell.id, number = f"{wanted}-{number}", number + 1
        taken.add(cell.id)
        if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", []):
            cell.metadata["jupyter"] = {"source_hidden": True}
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    return notebook


def execute(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run all cells in a fresh kernel that starts in ``folder``; keeps nothing of the machine or the clock."""
    os.environ |= {"RAGKIT_PROGRESS": "0", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name=KERNEL["name"], record_timing=False,
                            store_widget_state=False, coalesce_streams=True,
                            resources={"metadata": {"path": str(folder)}}).execute()
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("text", "build", "run"))
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    if options.what == "text":
        target = Path(options.path.stem + ".py")
        target.write_text(to_text(options.path), encoding="utf-8")
        print(f"wrote {target}")
        return 0
    if options.what == "build":
        notebook = from_text(options.path.read_text(encoding="utf-8"))
        target = NOTEBOOKS / f"{options.path.stem}.ipynb"
    else:
        notebook = nbformat.read(options.path, as_version=4)
        target = options.path
    execute(notebook, target.resolve().parent)
    nbformat.validate(notebook)
    nbformat.write(notebook, target)
    print(f"wrote {target.name}: {len(notebook.cells)} cells")
    return 0


if __name__ == "__main__":
    sys.exit(main())
