"""The learner's copies: ``work/`` is derived from ``notebooks/`` by cell tags, and never overwritten."""

import datetime
import json
import os
import re
from pathlib import Path

LEFT_OUT = {"solution", "instructor"}  # cells that only the masters have
EMPTIED = {"exercise", "check"}  # cells whose outputs would give the solution away
_NUMBERED = re.compile(r"\d\d_[^.]+\.ipynb")
_FIGURE = re.compile(r"""(\]\(|src=["'])figures/""")


class UnknownChapter(ValueError):
    """No such chapter; the message names those that exist."""


def masters(notebooks: Path) -> list[Path]:
    """The chapters' masters (``NN_name.ipynb``), in order."""
    return sorted(path for path in notebooks.glob("*.ipynb") if _NUMBERED.fullmatch(path.name))


def derive(notebook: dict) -> dict:
    """The learner's copy of a master: no solutions, exercises not run, figures still found from ``work/``."""
    cells = []
    for cell in notebook["cells"]:
        tags = set(cell.get("metadata", {}).get("tags", ()))
        if tags & LEFT_OUT:
            continue
        cell = dict(cell)
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            outputs = [] if tags & EMPTIED else cell["outputs"]
            cell["outputs"] = [
                {**out, "execution_count": None} if "execution_count" in out else out for out in outputs
            ]
        elif cell["cell_type"] == "markdown":
            lines = cell["source"] if isinstance(cell["source"], list) else [cell["source"]]
            cell["source"] = [_FIGURE.sub(r"\1../notebooks/figures/", line) for line in lines]
        cells.append(cell)
    return {**notebook, "cells": cells}


def derived_text(master: Path) -> str:
    """The learner's copy of the master as the text of a file."""
    notebook = derive(json.loads(master.read_text(encoding="utf-8")))
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def make(notebooks: Path, work: Path) -> list[Path]:
    """Write the copies that are missing from ``work`` and return them; what is there stays as it is."""
    work.mkdir(exist_ok=True)
    made = []
    for master in masters(notebooks):
        copy = work / master.name
        if not copy.exists():
            _write(copy, derived_text(master))
            made.append(copy)
    return made


def first(work: Path) -> Path | None:
    """The learner's copy to begin with: the earliest chapter; what reset kept (NAME.DATE) is none."""
    return min((path for path in work.glob("*.ipynb") if _NUMBERED.fullmatch(path.name)), default=None)


def choose(notebooks: Path, chapter: str | None) -> list[Path]:
    """The masters that ``chapter`` names: "3", "03", "03_candidates" or a file name; all of them for None.

    Raises:
        UnknownChapter: there is no such chapter, or more than one fits.
    """
    known = masters(notebooks)
    if chapter is None:
        return known
    name = Path(chapter).name.removesuffix(".ipynb")
    wanted = f"{int(name):02d}_" if name.isdecimal() else name
    found = [master for master in known if wanted and master.stem.startswith(wanted)]
    exact = [master for master in found if master.stem == wanted]
    if len(exact or found) == 1:
        return exact or found
    names = ", ".join(master.stem for master in known) or "none"
    raise UnknownChapter(f"There is no one chapter called {chapter!r}: the chapters are {names}.")


def reset(master: Path, work: Path, today: datetime.date | None = None) -> Path | None:
    """Restore the learner's copy of one master.

    Returns where the old one was kept, or None when it was missing or as new.
    """
    work.mkdir(exist_ok=True)
    copy, text, kept = work / master.name, derived_text(master), None
    if copy.exists():
        if copy.read_text(encoding="utf-8", errors="replace") == text:
            return None
        day = (today or datetime.date.today()).isoformat()
        kept, number = work / f"{master.stem}.{day}.ipynb", 1
        while kept.exists():
            number += 1
            kept = work / f"{master.stem}.{day}-{number}.ipynb"
        copy.rename(kept)
    _write(copy, text)
    return kept


def _write(path: Path, text: str) -> None:
    """Write under a temporary name and rename, so that a killed run leaves no half notebook."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    os.replace(temporary, path)
