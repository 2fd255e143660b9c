"""What holds for every chunker, every text and every size (chapter 01)."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.chunking import (
    FixedChunker,
    HeadingChunker,
    HierarchicalChunker,
    SentenceChunker,
    leaves,
    split_sentences,
)
from ragkit.documents import Document, scan_blocks


def count_tokens(text):
    """Like a model's tokens: not additive, and a longer text may measure less ("ab" two, "abc" one)."""
    return len(re.findall(r"abc|the |\w{3}|\S", text))


def count_with_marks(text):
    """Counts the two marks that models put around any text, so that even nothing measures two."""
    return 2 + count_tokens(text)


CHUNKERS = [
    FixedChunker(),
    FixedChunker(size=1, overlap=0),
    FixedChunker(size=7, overlap=6),
    FixedChunker(size=5, overlap=2, measure=count_tokens),
    FixedChunker(size=6, overlap=4, measure=count_with_marks),
    SentenceChunker(),
    SentenceChunker(size=1),
    SentenceChunker(size=40, overlap=20),
    SentenceChunker(size=8, overlap=7, measure=count_tokens),
    SentenceChunker(size=2, measure=count_with_marks),
    HeadingChunker(),
    HeadingChunker(size=1),
    HeadingChunker(size=30),
    HeadingChunker(size=9, measure=count_tokens),
    HierarchicalChunker(),
    HierarchicalChunker(sizes=(3, 2, 1)),
    HierarchicalChunker(sizes=(120, 60, 25)),
    HierarchicalChunker(sizes=(30, 15, 6), measure=count_tokens),
    HierarchicalChunker(sizes=(12, 3), measure=count_with_marks),
]

characters = st.text(st.characters(), max_size=120)
tricky = st.text("abc .。！；：“”\n#|-`~*>é\u0301\u200d👩🏽\u3000\x0c\u2028\r\t字", max_size=200)

phrases = st.sampled_from(
    ["the abc", "Dr. No", "3.14", "报销上限", "e.g. this", "👩\u200d👧", "e\u0301te\u0301", "verylong" * 9, "a | b"]
)
sentence = st.builds(
    lambda words, end: " ".join(words) + end,
    st.lists(phrases, min_size=1, max_size=8),
    st.sampled_from([".", "。", "?", ":", ""]),
)
paragraph = st.lists(sentence, min_size=1, max_size=4).map(" ".join) | st.just("Book early. " * 6)
heading = st.builds(lambda level, title: "#" * level + " " + title, st.integers(1, 4), phrases)
table = st.builds(
    lambda cells: "\n".join(["| Grade | Cap |", "|---|---|", *(f"| {cell} | 1 |" for cell in cells)]),
    st.lists(sentence, max_size=6),
)
fence = st.builds(
    lambda mark, lines: "\n".join([mark + "python", *lines, mark]),
    st.sampled_from(["```", "~~~~"]),
    st.lists(st.sampled_from(["x = 1", "    y = 'the'", "", "# no heading", "z" * 40]), max_size=6),
)
items = st.lists(sentence, min_size=1, max_size=4).map(lambda lines: "\n".join(f"- {line}" for line in lines))
block = st.one_of(heading, paragraph, table, fence, items)
gap = st.sampled_from(["\n", "\n\n", "\n \n"])
markdown = st.lists(st.builds(str.__add__, block, gap), max_size=8).map("".join)


def document(text):
    return Document(id="d", title="Travel Policy", text=text)


def sizes_of(chunker):
    return chunker.sizes if isinstance(chunker, HierarchicalChunker) else (chunker.size,)


def check_invariants(chunker, text):
    chunks = chunker.chunk(document(text))
    by_id = {chunk.id: chunk for chunk in chunks}
    assert len(by_id) == len(chunks)
    assert [chunk.level for chunk in chunks] == sorted(chunk.level for chunk in chunks)
    levels = range(1, len(sizes_of(chunker)) + 1) if text.strip() else ()
    assert {chunk.level for chunk in chunks} == set(levels)
    for level, size in enumerate(sizes_of(chunker), start=1):
        position, last_start = 0, -1
        for chunk in (chunk for chunk in chunks if chunk.level == level):
            assert chunk.id == f"d@1:L{level}:{chunk.start}-{chunk.end}"
            assert text[chunk.start : chunk.end] == chunk.text and chunk.text.strip()
            assert chunk.start > last_start and chunk.end > position
            assert not text[position : chunk.start].strip(), "left out"
            assert chunker.measure(chunk.text) <= size or len(chunk.text) == 1
            if level == 1:
                assert chunk.parent_id is None
            else:
                parent = by_id[chunk.parent_id]
                assert parent.level == level - 1
                assert parent.start <= chunk.start < chunk.end <= parent.end
            position, last_start = chunk.end, chunk.start
        assert not text[position:].strip(), "left out at the end"
    assert leaves(chunks) == [chunk for chunk in chunks if chunk.level == len(sizes_of(chunker))]


@pytest.mark.parametrize("chunker", CHUNKERS, ids=str)
@settings(max_examples=30, deadline=None)
@given(text=characters | tricky)
def test_invariants_on_any_text(chunker, text):
    check_invariants(chunker, text)


@pytest.mark.parametrize("chunker", CHUNKERS, ids=str)
@settings(max_examples=30, deadline=None)
@given(text=markdown)
def test_invariants_on_markdown(chunker, text):
    check_invariants(chunker, text)


@pytest.mark.parametrize("chunker", [c for c in CHUNKERS if not isinstance(c, FixedChunker)], ids=str)
@settings(max_examples=30, deadline=None)
@given(text=markdown)
def test_what_fits_is_not_cut(chunker, text):
    chunks = chunker.chunk(document(text))
    blocks = [(block.start, block.end) for block in scan_blocks(text)]
    prose = [0, *(edge for span in blocks for edge in span), len(text)]
    whole = list(blocks)
    for start, end in zip(prose[::2], prose[1::2]):
        whole += [(start + first, start + last) for first, last in split_sentences(text[start:end])]
    for start, end in whole:
        end = start + len(text[start:end].rstrip())
        begin = end - len(text[start:end].lstrip())
        for level, size in enumerate(sizes_of(chunker), start=1):
            if chunker.measure(text[begin:end]) <= size:
                spans = [(chunk.start, chunk.end) for chunk in chunks if chunk.level == level]
                assert any(first <= begin and end <= last for first, last in spans), text[begin:end]


@settings(max_examples=100, deadline=None)
@given(st.text("ab .\n", max_size=100), st.integers(1, 20), st.data())
def test_fixed_chunks_are_what_slicing_gives(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    expected = []
    for start in range(0, len(text), size - overlap):
        if text[start : start + size].strip():
            expected.append(text[start : start + size])
        if start + size >= len(text.rstrip()):
            break
    assert [chunk.text for chunk in FixedChunker(size, overlap).chunk(document(text))] == expected
