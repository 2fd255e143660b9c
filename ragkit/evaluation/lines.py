"""Files with one record a line, read so that whatever is wrong is named with its line (chapter 08)."""

import json
from collections.abc import Iterator
from pathlib import Path

from ragkit.embedding.base import progress_wanted

LONG_WORK = 1_000_000  # bytes of a file from which a progress bar is worth showing


def numbered_lines(path: Path, what: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line that is not blank, with a progress bar over the bytes of a long file.

    Only \\n ends a line: a text may hold other characters that count as line ends, such as U+2028. A byte order
    mark is no part of the first line.

    Raises:
        ValueError: a line is not UTF-8; names the file, the line and the bytes.
    """
    from tqdm.auto import tqdm

    size = path.stat().st_size
    quiet = not progress_wanted() or size < LONG_WORK
    with path.open("rb") as file, tqdm(total=size, desc=what, unit="B", unit_scale=True, disable=quiet) as bar:
        for number, raw in enumerate(file, 1):
            bar.update(len(raw))
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                packed = "; it is packed: unpack it first" if number == 1 and raw[:2] == b"\x1f\x8b" else ""
                raise ValueError(f"{path.name}, line {number}: not UTF-8 (got {raw[error.start:error.end]!r})"
                                 f"{packed or '; save it as UTF-8'}") from error
            if line.strip():
                yield number, line


def json_of(line: str, where: str) -> object:
    """The line as JSON; ``where`` names its place when it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # also a number of 5000 digits, and 100,000 brackets
        raise ValueError(f"{where}: not JSON ({error})") from error


def short(value: object, limit: int = 80) -> str:
    """The value as Python writes it, for an error that names it."""
    text = repr(value)
    return text if len(text) <= limit else text[:limit - 1] + "…"
