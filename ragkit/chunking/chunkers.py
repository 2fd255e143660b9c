"""The four chunkers (chapter 01).

Sizes are in characters, or in the units of any `measure: str -> int`, such as an embedder's `count_tokens`.
The prefix is outside the size. Each chunker refuses, when it is made, settings that cannot work
(`ValueError`).
"""

from dataclasses import dataclass

from ragkit.chunking.chunk import Chunk, ChunkMaker, Measure
from ragkit.chunking.packing import pack
from ragkit.chunking.pieces import (
    SENTENCE,
    Piece,
    document_pieces,
    fit,
    furthest,
    joins_previous,
    longest_fit,
)
from ragkit.documents import Document


@dataclass(frozen=True)
class FixedChunker:
    """Cuts every `size` units, wherever that falls; a chunk repeats the last `overlap` units of the one
    before.

    Pieces that are blank are left out, and there is none that adds nothing to the one before.
    """

    size: int = 250
    overlap: int = 50
    measure: Measure = len
    with_prefix: bool = True

    def __post_init__(self) -> None:
        _check_size(self.size)
        _check_overlap(self.overlap, self.size)

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of `document`, all of level 1, by start."""
        text = document.text
        maker = ChunkMaker(document, self.with_prefix)
        chunks = []
        start = done = 0
        stop = len(text.rstrip())
        while done < stop:
            end = longest_fit(text, start, len(text), self.size, self.measure)
            if end <= done:
                start = done  # a measure that jumps left no room for anything new behind the overlap
                continue
            if not text[start:end].isspace():
                chunks.append(maker.make(start, end))
            start, done = self._next_start(text, start, end), end
        return chunks

    def _next_start(self, text: str, start: int, end: int) -> int:
        """The first position after `start` from which `overlap` reaches to `end`; `end` if there is none."""

        def fits(length: int) -> bool:
            return self.measure(text[end - length : end]) <= self.overlap

        if not self.overlap or end - start == 1:
            return end
        position = end - furthest(end - start - 1, fits, self.overlap)
        while position < end and (joins_previous(text, position) or not fits(end - position)):
            position += 1
        return position


@dataclass(frozen=True)
class SentenceChunker:
    """Packs whole sentences up to `size`; a longer sentence is cut at its clauses, then words, then anywhere.

    Headings stay with the text below them. Tables and code fences are not cut if they fit. With `overlap`, a
    chunk repeats the last sentences of the one before, as many as measure at most that much.
    """

    size: int = 250
    overlap: int = 0
    measure: Measure = len
    with_prefix: bool = True

    def __post_init__(self) -> None:
        _check_size(self.size)
        _check_overlap(self.overlap, self.size)

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of `document`, all of level 1, by start."""
        maker = ChunkMaker(document, self.with_prefix)
        return [maker.make(start, end) for start, end in self.spans(document.text, document_pieces(document))]

    def spans(self, text: str, pieces: list[Piece]) -> list[tuple[int, int]]:
        """Where the chunks begin and end; `pieces` serve any size, so who tries many finds them once."""
        # To this chunker every sentence end is as good as another, at the end of a section or not.
        pieces = [
            Piece(piece.start, piece.end, piece.kind, min(piece.before, SENTENCE))
            for piece in fit(text, pieces, self.size, self.measure)
        ]
        groups = pack(text, pieces, self.size, self.measure, self.overlap)
        return [(group[0].start, group[-1].end) for group in groups]


@dataclass(frozen=True)
class HeadingChunker:
    """One chunk a section: a heading with its own text, down to the next heading of any level.

    Text before the first heading is a section too. A section longer than `size` is packed along its
    paragraphs and sentences.
    """

    size: int = 1200
    measure: Measure = len
    with_prefix: bool = True

    def __post_init__(self) -> None:
        _check_size(self.size)

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of `document`, all of level 1, by start."""
        maker = ChunkMaker(document, self.with_prefix)
        return [maker.make(start, end) for start, end in self.spans(document.text, document_pieces(document))]

    def spans(self, text: str, pieces: list[Piece]) -> list[tuple[int, int]]:
        """Where the chunks begin and end; `pieces` serve any size, so who tries many finds them once."""
        sections: list[list[Piece]] = []
        for piece in pieces:
            if piece.kind == "heading" or not sections:
                sections.append([])
            sections[-1].append(piece)
        return [
            (group[0].start, group[-1].end)
            for section in sections
            for group in pack(text, fit(text, section, self.size, self.measure), self.size, self.measure)
        ]


@dataclass(frozen=True)
class HierarchicalChunker:
    """Chunks at several sizes: long parents to read, short children to find, each child inside its parent.

    Level 1 packs the document along headings, paragraphs and sentences; each further level cuts the chunks of
    the one above in the same way to its smaller size. Every level holds the whole document.
    """

    sizes: tuple[int, ...] = (1200, 600, 250)
    measure: Measure = len
    with_prefix: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        if not self.sizes:
            raise ValueError("sizes must name at least one level, such as (1200, 600, 250), got none")
        for size in self.sizes:
            _check_size(size)
        if any(longer <= shorter for longer, shorter in zip(self.sizes, self.sizes[1:])):
            raise ValueError(f"sizes must get smaller from level to level, got {self.sizes}")

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of `document` of all levels: level 1 by start, then level 2 by start, and so on."""
        text = document.text
        maker = ChunkMaker(document, self.with_prefix)
        chunks: list[Chunk] = []
        parents: list[tuple[str | None, list[Piece]]] = [(None, document_pieces(document))]
        for level, size in enumerate(self.sizes, start=1):
            children = []
            for parent_id, pieces in parents:
                for group in pack(text, fit(text, pieces, size, self.measure), size, self.measure):
                    chunk = maker.make(group[0].start, group[-1].end, level, parent_id)
                    chunks.append(chunk)
                    children.append((chunk.id, group))
            parents = children
        return chunks


def _check_size(size: int) -> None:
    if not isinstance(size, int) or isinstance(size, bool):
        raise ValueError(f"size must be a whole number, got {size!r}")
    if size < 1:
        raise ValueError(f"size ({size}) must be at least 1")


def _check_overlap(overlap: int, size: int) -> None:
    if not isinstance(overlap, int) or isinstance(overlap, bool):
        raise ValueError(f"overlap must be a whole number, got {overlap!r}")
    if overlap < 0:
        raise ValueError(f"overlap ({overlap}) must be at least 0")
    if overlap >= size:
        raise ValueError(f"overlap ({overlap}) must be smaller than size ({size})")
