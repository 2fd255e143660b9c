"""Cutting documents into chunks with exact spans (chapter 01).

Four chunkers, from the simplest to the one the chain uses. Each has `chunk(document) -> list[Chunk]` and
gives, for every document:

- exact spans: `document.text[chunk.start:chunk.end] == chunk.text`;
- full cover: every non-blank character is inside some chunk of every level;
- order: within a level, starts and ends strictly increase;
- nesting: a child lies inside its parent;
- size: no span is longer than asked for, save a single character that measures more than the size by itself.

Modules: `chunk` (the data), `sentences` (where sentences end), `pieces` (units of text that are better not
cut), `packing` (pieces into chunks), `chunkers` (the four).
"""

from ragkit.chunking.chunk import Chunk, leaves
from ragkit.chunking.chunkers import FixedChunker, HeadingChunker, HierarchicalChunker, SentenceChunker
from ragkit.chunking.sentences import split_sentences

__all__ = [
    "Chunk",
    "FixedChunker",
    "HeadingChunker",
    "HierarchicalChunker",
    "SentenceChunker",
    "leaves",
    "split_sentences",
]
