"""The chunk: a span of a document, and what is shown with it (chapter 01)."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ragkit.documents import Document
from ragkit.documents.structure import scan_blocks

Measure = Callable[[str], int]
"""What sizes are counted in: `len` for characters, or an embedder's `count_tokens`."""

# A longer "header row" is data; repeated with every row below it, it would bury the rows.
_LONGEST_HEADER = 500


@dataclass(frozen=True)
class Chunk:
    """The span `start:end` of a document's text, at one level of detail.

    `level` 1 is the longest (the parent); a flat chunker gives level 1 only. `prefix` is shown and embedded
    with the text but is no part of the span: it cannot be quoted or cited.
    """

    id: str
    document_id: str
    version: str
    level: int
    start: int
    end: int
    text: str
    prefix: str = ""
    parent_id: str | None = None
    heading_path: tuple[str, ...] = ()

    @property
    def embedded_text(self) -> str:
        """What the embedder encodes and the answer reads: the prefix on its own lines, then the text."""
        return f"{self.prefix}\n{self.text}" if self.prefix else self.text


def leaves(chunks: Iterable[Chunk]) -> list[Chunk]:
    """The chunks that are no other chunk's parent, in their order: the ones to search."""
    chunks = list(chunks)
    parents = {chunk.parent_id for chunk in chunks}
    return [chunk for chunk in chunks if chunk.id not in parents]


class ChunkMaker:
    """Makes the chunks of one document from spans, and finds the prefix of each.

    The prefix has the headings above the start of the span on its first line, joined by " > " and led by the
    document's title. If the span starts inside a table or a code fence, the table's header row or the
    fence's opening line follows, unless it is longer than 500 characters.
    """

    def __init__(self, document: Document, with_prefix: bool) -> None:
        self._document = document
        self._with_prefix = with_prefix
        self._blocks = [block for block in scan_blocks(document.text) if block.header_end is not None]
        self._block_starts = [block.start for block in self._blocks]

    def make(self, start: int, end: int, level: int = 1, parent_id: str | None = None) -> Chunk:
        """The chunk of the span `start:end`."""
        document = self._document
        path = document.heading_path_at(start)
        return Chunk(
            id=f"{document.id}@{document.version}:L{level}:{start}-{end}",
            document_id=document.id,
            version=document.version,
            level=level,
            start=start,
            end=end,
            text=document.text[start:end],
            prefix=self._prefix(path, start) if self._with_prefix else "",
            parent_id=parent_id,
            heading_path=path,
        )

    def _prefix(self, path: tuple[str, ...], start: int) -> str:
        title = self._document.title
        shown = path if path[:1] == (title,) else (title, *path)
        headings = " > ".join(" ".join(part.split()) for part in shown if part.strip())
        return "\n".join(part for part in (headings, self._header_at(start)) if part)

    def _header_at(self, start: int) -> str:
        index = bisect_right(self._block_starts, start) - 1
        if index < 0:
            return ""
        block = self._blocks[index]
        text = self._document.text
        holds_header = not text[block.start : min(start, block.header_end)].strip()
        if start >= block.end or holds_header:
            return ""
        header = text[block.start : block.header_end].strip()
        if block.kind == "table":
            header = header.rpartition("\n")[0].strip()  # the row of dashes says nothing and costs tokens
        return header if len(header) <= _LONGEST_HEADER else ""
