"""What would have kept a piece of gold, and what shows that it was lost: the details (chapter 08)."""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Any

from ragkit.chunking import Chunk, leaves
from ragkit.context import Context, assemble_context
from ragkit.context.duplicates import holds
from ragkit.documents import Document, DocumentKey, LoadProblem
from ragkit.evaluation.questions import GoldQuote, Span
from ragkit.evaluation.verdicts import Change
from ragkit.filters import SUPERSEDED, RetrievalFilters, how_to_reach
from ragkit.hits import Hit
from ragkit.knowledge_base import KnowledgeBase, make_chunker
from ragkit.retrieval import expand
from ragkit.settings import Settings

MOST_READ = 200_000  # characters of a document that are compared with a quote that is not in it
MOST_PIECES = 24  # of evidence; packing takes time that grows with their square
UNLIMITED = 10**9  # tokens
STRETCH = 64  # tokens; in so few the context takes two or three forms, and going from each to the next is quicker
GROWTH = 60  # steps of a tenth: chunks are tried up to seven times their size


def floor3(score: float) -> float:
    """The largest threshold of three decimals that a score still reaches."""
    return max(0.0, math.floor(score * 1000) / 1000)


def unread_file(kb: KnowledgeBase, document_id: str) -> LoadProblem | None:
    """The file of that name that could not be read, if loading the folder met one."""
    report = kb.load_report
    for problem in (*report.problems, *report.warnings) if report is not None else ():
        path = PurePosixPath(problem.source)
        if document_id in (path.stem, str(path.with_suffix("")), problem.source):
            return problem
    return None


def absence(kb: KnowledgeBase, key: DocumentKey) -> str:
    """That a document is not there, and what is there of it."""
    versions = sorted(held.version for held in kb.corpus.documents if held.id == key.id)
    if versions:
        return f"{key.id} version {key.version} is not in the corpus; there is version {', '.join(versions)}"
    return f"{key.id} is not among the {len(kb.corpus.documents)} documents of the corpus"


def misread(document: Document, quote: GoldQuote) -> str:
    """That a quote is not in its document's text, and how much of it is."""
    text, wanted = document.text, quote.quote
    where = f"{document.id} version {document.version}" + (f" ({document.source})" if document.source else "")
    count = text.count(wanted)
    if count:
        return f"{where} holds the quote {count} times; occurrence {quote.occurrence} is asked for"
    if holds(text, wanted):
        return f"{where} holds the words of the quote, but with other white space or punctuation between them"
    match = SequenceMatcher(None, text[:MOST_READ], wanted, autojunk=False).find_longest_match()
    part = text[match.a:match.a + match.size]
    return f"{where} does not hold the quote; the longest part of it there is {part!r}, {len(part)} of {len(wanted)}"


def kept_out(reason: str, document: Document, filters: RetrievalFilters, documents: Iterable[Document],
             reader: Collection[str]) -> str:
    """Which filter left a document out, and the values on both sides."""
    if reason == SUPERSEDED:
        way = how_to_reach(document, reason, filters, documents, reader)
        return f"{document.id} version {document.version} is superseded. {way}"
    if reason in ("effective_before", "effective_after"):
        has = document.effective_date
    else:
        has = document.topic if reason == "topic" else document.id
    return f"the filter {reason} asks for {_plain(getattr(filters, reason))}; {document.id} has {_plain(has)}"


def let_in(reason: str, document: Document) -> Change | None:
    """The filters with which the document is searched: without the one that kept it out, or on its day."""
    if reason != SUPERSEDED:
        return Change(filters={reason: None})
    if document.effective_date is None:
        return None
    return Change(filters={"effective_before": document.effective_date})


def larger_chunks(kb: KnowledgeBase, document: Document, span: Span) -> Change | None:
    """The least larger size, or for overlapping chunks the least overlap, with which one chunk holds the span.

    Only this document is cut anew: what such chunks do to the search takes a new index.
    """
    for settings, words in _larger(kb.settings):
        cut = make_chunker(settings, kb.embedder).chunk(document)
        whole = [chunk for chunk in cut if span.inside(chunk)]
        # On another level than the one that is read, it is of no use.
        if whole and next(carriers(span, leaves(cut), {chunk.id: chunk for chunk in cut}, settings), None):
            return Change(words, checked=f"cut anew, {whole[-1].id} holds the quote; the search was not run again")
    return None


def carriers(span: Span, searched: Iterable[Chunk], chunks: Mapping[str, Chunk], settings: Settings) -> Iterator[Chunk]:
    """Of the searched chunks of a document those that, when found, can bring the whole span into the evidence."""
    for leaf in searched:
        if span.inside(leaf):
            yield leaf
        elif settings.expansion == "auto_merge":
            if any(span.inside(chunk) for chunk in ancestors(leaf, chunks)):
                yield leaf
        elif settings.expansion == "parents":
            reached = expand([Hit(leaf, 1.0)], settings, chunks)
            # Whose parent is missing, nobody can say what it held.
            if span.inside(reached.hits[0].chunk) or reached.notes and shared(span, leaf):
                yield leaf


def ancestors(chunk: Chunk, chunks: Mapping[str, Chunk]) -> Iterator[Chunk]:
    """Its parent, that one's parent, and so on."""
    while chunk.parent_id in chunks:
        chunk = chunks[chunk.parent_id]
        yield chunk


def shared(span: Span, chunk: Chunk) -> int:
    """How many characters of the span lie in a chunk; none when it is of another document."""
    if (span.document_id, span.version) != (chunk.document_id, chunk.version):
        return 0
    return max(0, min(span.end, chunk.end) - max(span.start, chunk.start))


def smallest_budget(evidence: Sequence[Hit], settings: Settings, documents: Mapping[DocumentKey, Document],
                    keeps: Callable[[Context], bool]) -> int | None:
    """The fewest tokens, above those allowed, with which the context keeps the gold in the last piece of evidence.

    None when no budget does, or when there are so many pieces that no budget is worth naming.
    """

    def packed(budget: int, count: int = len(evidence)) -> Context:
        return assemble_context(evidence[:count], budget, documents=documents, order=settings.context_order)

    if len(evidence) > MOST_PIECES:
        return None
    everything = packed(UNLIMITED)
    if not keeps(everything):
        return None
    allowed, enough = settings.context_tokens, max(everything.tokens, settings.context_tokens + 1)
    low, high = allowed, enough
    # With less than the pieces before it take, the gold seldom gets in, and packing is slow as each of them is cut.
    first = packed(UNLIMITED, len(evidence) - 1).tokens - 1
    while high - low > 1:
        middle = (low + high) // 2 if high - low > STRETCH else high - 1
        context = packed(first if low == allowed and low < first < high else middle)
        if keeps(context):
            high = max(context.tokens, low + 1)  # the same context is packed with no more than it has
        else:
            low = context.budget
    # Only where a later piece made a context shorter, by joining two sources, is it not packed with so few.
    return high if keeps(packed(high)) else bisect_left(range(enough), True, allowed + 1,
                                                        key=lambda budget: keeps(packed(budget)))


def expanded(span: Span, candidates: Sequence[Hit], chunks: Mapping[str, Chunk], settings: Settings,
             levels: Collection[int]) -> Change | None:
    """A readier merge, else a fixed level, that makes of these candidates a context which holds the span."""
    tries: list[Mapping] = []
    if settings.expansion == "auto_merge":
        ratios = (round(step / 20, 2) for step in range(20, 0, -1))
        tries = [{"merge_ratio": ratio} for ratio in ratios if ratio < settings.merge_ratio]
    tries += [{"expansion": "parents", "parent_level": level} for level in nearest_first(levels, settings)]
    for changes in tries:
        hits = expand(candidates, settings.replace(**changes), chunks).hits
        if any(span.inside(hit.chunk) for hit in hits):
            return needed(settings, **changes)
    return None


def nearest_first(levels: Collection[int], settings: Settings) -> list[int]:
    """The level that the settings name, which is no change, then the shortest chunks first."""
    return sorted(set(levels), key=lambda level: (level != settings.parent_level, -level))


def needed(settings: Settings, **changes: Any) -> Change:
    """The change without what is so already."""
    return Change.of(**{name: value for name, value in changes.items() if getattr(settings, name) != value})


def _larger(settings: Settings) -> Iterator[tuple[Settings, str]]:
    """Settings with larger chunks, step by step, each with what was changed, in words."""
    if settings.chunker == "hierarchical":
        for step in range(1, GROWTH + 1):
            sizes = tuple(size + size * step // 10 for size in settings.level_sizes)
            if all(above > below for above, below in zip(sizes, sizes[1:], strict=False)):
                yield settings.replace(level_sizes=sizes), f"level_sizes {'/'.join(map(str, sizes))}"
        return
    size = settings.chunk_size
    tenth = max(1, size // 10)
    if settings.chunker in ("fixed", "sentence"):
        for overlap in range(settings.chunk_overlap + tenth, size // 2 + 1, tenth):
            yield settings.replace(chunk_overlap=overlap), f"chunk_overlap {overlap}"
    for step in range(1, GROWTH + 1):
        yield settings.replace(chunk_size=size + step * tenth), f"chunk_size {size + step * tenth}"


def _plain(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else "none" if value is None else str(value)
