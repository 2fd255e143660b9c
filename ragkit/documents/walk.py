"""The files below a folder, links followed, loops ended."""

import os
from pathlib import Path

from ragkit.documents.report import LoadProblem


def walk(root: Path) -> tuple[list[Path], list[LoadProblem]]:
    """All files below `root` that are not hidden, sorted by path, and the folders that cannot be opened.

    Each folder is entered once, by its own path rather than through a link, so loops of links end.
    """
    files: list[Path] = []
    problems: list[LoadProblem] = []
    entered: set[tuple[int, int]] = set()
    folders, links = [root], []
    while folders or links:
        folder = folders.pop() if folders else links.pop(0)
        try:
            status = folder.stat()
            identity = (status.st_dev, status.st_ino)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            problems.append(
                LoadProblem(
                    relative_source(folder, root),
                    f"the folder cannot be opened ({error.strerror})",
                    "Check its permissions.",
                )
            )
            continue
        if identity in entered:
            continue
        entered.add(identity)
        for entry in entries:
            if entry.name.startswith((".", "~$")):
                continue
            if not entry.is_dir():
                files.append(Path(entry.path))
            elif entry.is_symlink():
                links.append(Path(entry.path))
            else:
                folders.append(Path(entry.path))
    return sorted(files, key=lambda file: file.relative_to(root).as_posix()), problems


def relative_source(path: Path, root: Path) -> str:
    """The path below `root` with forward slashes, as text that can always be printed and stored."""
    try:
        return path.relative_to(root).as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except ValueError:
        raise ValueError(f"{str(path)!r} is not below the root {str(root)!r}") from None
