"""Where things lie: the course's data, and the cache (chapter 00)."""

import os
from pathlib import Path


def data_path(*parts: str) -> Path:
    """Path of something in the course's ``data/`` folder, from ``notebooks/`` and ``work/`` alike.

    Looks in the current folder and its parents first, so that a clone always uses its own data, then
    beside the installed package. ``RAGKIT_DATA`` is not read here: it names public data for benchmarks.

    Raises:
        FileNotFoundError: there is no such file or folder; the message names where it was looked for.
    """
    here = Path.cwd().resolve()
    roots = [*(folder for folder in (here, *here.parents) if (folder / "course.py").is_file()),
             Path(__file__).resolve().parent.parent]
    for root in roots:
        found = root.joinpath("data", *parts)
        if found.exists():
            return found
    wanted = "/".join(("data", *parts))
    raise FileNotFoundError(f"{wanted} was found neither above the current folder nor beside the package; "
                            "start from a folder inside the course's clone")


def cache_folder() -> Path:
    """Folder for embeddings and built knowledge bases: ``RAGKIT_CACHE``, else the system's user cache.

    Everything in it can be deleted at any time; it is made again when needed.
    """
    chosen = os.environ.get("RAGKIT_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("ragkit", appauthor=False)
