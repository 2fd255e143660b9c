"""What is known about a document: front matter of Markdown files, and sidecars NAME.meta.yaml for others.

Values are read as they are written: `version: 1.10` stays "1.10" (YAML alone would make it the number 1.1),
`title: No` stays "No", and a date is a date only in the form YYYY-MM-DD.
"""

import datetime
import difflib
import re
import reprlib
from typing import Any

import yaml

from ragkit.documents.model import DocumentError

KEYS = ("id", "title", "topic", "effective_date", "version", "audience")
SIDECAR_SUFFIX = ".meta.yaml"
_FENCE = re.compile(r"---[ \t]*\n(?=[^\s])")
_END = re.compile(r"(?m)^(?:---|\.\.\.)[ \t]*$\n?")
_KEY_LINE = re.compile(r"""(?m)^["']?\w[\w -]*["']?[ \t]*:(?:[ \t]|$)""")


class _TextLoader(yaml.SafeLoader):
    """SafeLoader that turns plain scalars into nothing but strings and null."""


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag == "tag:yaml.org,2002:null"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def split_front_matter(text: str, source: str) -> tuple[str | None, str]:
    """The YAML between the "---" lines at the very beginning (None without any) and the text after it.

    "---" followed by an empty line is a rule across the page, not front matter.

    Raises:
        DocumentError: when front matter begins on line 1 and never ends.
    """
    begin = _FENCE.match(text)
    if not begin:
        return None, text
    end = _END.search(text, begin.end())
    inside = text[begin.end() : end.start() if end else None]
    if end and (not inside.strip() or _KEY_LINE.search(inside)):
        return inside, text[end.end() :].lstrip("\n")
    if not end and _KEY_LINE.match(inside):
        raise DocumentError(
            source, "the front matter begun on line 1 never ends", 'Put a line with "---" after its last key.'
        )
    return None, text


def parse_metadata(
    yaml_text: str, source: str, first_line: int = 1
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The known keys with checked values, and warnings about unknown ones.

    `first_line` is the line of the file `source` on which the YAML begins, for the messages.

    Raises:
        DocumentError: for YAML that is not valid, a key given twice, or a value of the wrong kind.
    """
    try:
        pairs = _read_pairs(yaml_text, source, first_line)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        offset = mark.line if mark else yaml_text.count("\n", 0, getattr(error, "position", 0))
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not valid YAML"
        raise DocumentError(
            source,
            f"the metadata cannot be read on line {first_line + offset}: {problem}",
            'Write one "key: value" a line; put a value with ": " or "#" in it in quotation marks.',
        ) from error
    except RecursionError as error:
        raise DocumentError(
            source, "the metadata is nested too deeply", f"Give {', '.join(KEYS)} only."
        ) from error
    values: dict[str, Any] = {}
    unknown = []
    for key, value, line in pairs:
        name = str(key).strip().lower().replace("-", "_").replace(" ", "_")
        if name in values:
            raise DocumentError(source, f"{name} is given twice (line {line})", "Keep one of them.")
        if name in KEYS:
            values[name] = _check(name, value, source, line)
            continue
        close = difflib.get_close_matches(name, KEYS, n=1, cutoff=0.75)
        if close == ["audience"]:  # passing over it would show a restricted document to everybody
            raise DocumentError(
                source, f"unknown key {_show(key)} on line {line}", 'Did you mean "audience"?'
            )
        unknown.append(f"{_show(key)} on line {line}" + (f' (did you mean "{close[0]}"?)' if close else ""))
    warnings = (f"unknown keys left out: {', '.join(unknown)}",) if unknown else ()
    return {name: value for name, value in values.items() if value is not None}, warnings


def _read_pairs(yaml_text: str, source: str, first_line: int) -> list[tuple[Any, Any, int]]:
    loader = _TextLoader(yaml_text)
    try:
        node = loader.get_single_node()
        if node is None:
            return []
        if not isinstance(node, yaml.MappingNode):
            raise DocumentError(
                source,
                f"the metadata on line {first_line} is not made of keys",
                'Write one "key: value" a line.',
            )
        return [
            (
                loader.construct_object(key, deep=True),
                loader.construct_object(value, deep=True),
                first_line + key.start_mark.line,
            )
            for key, value in node.value
        ]
    finally:
        loader.dispose()


def _check(name: str, value: Any, source: str, line: int) -> Any:
    def refuse(advice: str) -> DocumentError:
        return DocumentError(source, f"{name} on line {line} is {_show(value)}", advice)

    if value is None and name != "audience":
        return None
    if name == "audience":
        groups = [value] if isinstance(value, str) else value
        # An empty audience is refused rather than taken for "public".
        if (
            not isinstance(groups, list)
            or not groups
            or not all(isinstance(g, str) and g.strip() for g in groups)
        ):
            raise refuse('Name a group or a list of groups, as in [hr, managers]; "public" is everybody.')
        return frozenset(group.strip() for group in groups)
    if not isinstance(value, str):
        raise refuse("Write a single line of text.")
    if name == "effective_date":
        return _date(value.strip(), refuse)
    return value.strip() or None


def _date(value: str, refuse) -> datetime.date:
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII):
            return datetime.date.fromisoformat(value)
    except ValueError:
        pass  # a month or a day that does not exist
    raise refuse("Write a date as YYYY-MM-DD, for example 2025-09-01.")


def _show(value: Any) -> str:
    text = reprlib.repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
