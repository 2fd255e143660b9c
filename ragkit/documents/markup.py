"""Writes headings, tables, code and plain lines as Markdown: the form that HTML and DOCX are extracted to."""

import re

# Plain lines that a reader of Markdown would take for a heading, a fence or an underline.
_LOOKS_LIKE_MARKUP = re.compile(r"(?m)^( {0,3})(?=#{1,6}(?:[ \t]|$)|`{3}|~{3}|=+[ \t]*$|-+[ \t]*$|<!--)")


def heading(level: int, title: str) -> str:
    """An ATX heading on one line. Word knows nine levels, Markdown six: the deepest share the sixth."""
    title = re.sub(r"(?<=\s)(#+)$", r"\\\1", " ".join(title.split()))
    return f"{'#' * min(max(level, 1), 6)} {title}"


def plain(text: str) -> str:
    """Running text; a line that looks like a mark gets a backslash, so that it stays text."""
    return _LOOKS_LIKE_MARKUP.sub(r"\1\\", text)


def fence(code: str, language: str = "") -> str:
    """A fenced code block; the fence is longer than any run of backticks in the code."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{language}\n{code}\n{marks}"


def table(rows: list[list[str]]) -> str:
    """A pipe table; the first row is the header. Short rows are filled up, line breaks become spaces.

    Empty rows go; "" when nothing is left.
    """
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    if not cells:
        return ""
    width = max(len(row) for row in cells)
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def list_item(marker: str, content: str) -> str:
    """A list item; further lines are indented to stay inside it."""
    indent = " " * (len(marker) + 1)
    first, *rest = content.split("\n")
    return "\n".join([f"{marker} {first}".rstrip(), *(indent + line if line else "" for line in rest)])


def join_blocks(blocks: list[str]) -> str:
    """Blocks apart by an empty line; empty ones go."""
    return "\n\n".join(block for block in blocks if block.strip())
