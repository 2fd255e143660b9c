"""Parent expansion: short chunks find, long chunks make sense (chapter 04).

Both links take hits and a mapping of all chunks by id, do no I/O, and give hits and drops.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from ragkit.chunking import Chunk
from ragkit.hits import Hit, LinkResult, in_order

SAME_PARENT = "same_parent"


class ChunkTree(dict[str, Chunk]):
    """All chunks by id, with the size of each family counted once."""

    @classmethod
    def of(cls, chunks: Mapping[str, Chunk]) -> "ChunkTree":
        """The mapping as a tree; one that is a tree already is not copied."""
        return chunks if isinstance(chunks, ChunkTree) else cls(chunks)

    @cached_property
    def family_sizes(self) -> Mapping[str, int]:
        """How many direct children each parent has; 0 for a chunk without any."""
        return Counter(chunk.parent_id for chunk in self.values() if chunk.parent_id is not None)


def expand_parents(hits: Sequence[Hit], chunks: Mapping[str, Chunk], level: int | None = None) -> LinkResult:
    """Replace each hit by its parent, every parent once (chapter 04).

    The parent gets its best child's score and the ids of all children that were hit, best first. The
    other children are dropped as "same_parent". A chunk that has no parent stays as it is; one whose
    parent is missing stays too, and one note for each missing parent says so.

    Args:
        hits: best first or in any order.
        chunks: all chunks by id.
        level: climb to this level (1 is the longest); None climbs one step, to the direct parent.
    """
    if level is not None and level < 1:
        raise ValueError(f"level ({level}) must be at least 1, the longest chunks")
    families: dict[str, list[Hit]] = defaultdict(list)
    contexts: dict[str, Chunk] = {}
    kept: dict[str, set[str]] = defaultdict(set)  # missing parent to the chunks that stand in its place
    for hit in in_order(hits):
        context, missing = _climb(hit.chunk, chunks, level)
        if missing is not None:
            kept[missing].add(context.id)
        contexts[context.id] = context
        families[context.id].append(hit)
    return _merge(families, contexts, [_note(parent_id, len(below)) for parent_id, below in kept.items()])


def auto_merge(hits: Sequence[Hit], chunks: Mapping[str, Chunk], ratio: float = 0.5) -> LinkResult:
    """Replace children by their parent only where enough of them were hit (chapter 04).

    From the shortest level up: when at least ``ratio`` (inclusive) of a parent's children, and at least
    two distinct ones, are among the hits, the parent takes their place, with the best child's score; and
    it may merge again a level higher. Lone hits stay short.

    Args:
        ratio: in (0, 1].
    """
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio ({ratio!r}) must lie in (0, 1]")
    siblings = ChunkTree.of(chunks).family_sizes
    families: dict[str, list[Hit]] = defaultdict(list)
    contexts: dict[str, Chunk] = {}
    for hit in in_order(hits):
        families[hit.chunk.id].append(hit)
        contexts[hit.chunk.id] = hit.chunk
    notes: list[str] = []
    for level in range(max((chunk.level for chunk in contexts.values()), default=1), 1, -1):
        groups: dict[str, list[str]] = defaultdict(list)
        for chunk in contexts.values():
            if chunk.level == level and chunk.parent_id is not None:
                groups[chunk.parent_id].append(chunk.id)
        for parent_id, children in groups.items():
            # Dividing gives the very number that a ratio such as 0.28 is read as; 0.28 * 25 is more than 7.
            share = len(children) / max(siblings[parent_id], len(children))
            if len(children) < 2 or share < ratio:
                continue
            if parent_id not in chunks:
                notes.append(_note(parent_id, len(children)))
                continue
            contexts[parent_id] = chunks[parent_id]
            families[parent_id] += [hit for child in children for hit in families.pop(child)]
            for child in children:
                del contexts[child]
    return _merge(families, contexts, notes)


def _climb(chunk: Chunk, chunks: Mapping[str, Chunk], level: int | None) -> tuple[Chunk, str | None]:
    """The chunk that is reached, and the id of the parent that is missing, if that is why it goes no further."""
    goal = chunk.level - 1 if level is None else level
    while chunk.level > goal and chunk.parent_id is not None:
        if chunk.parent_id not in chunks:
            return chunk, chunk.parent_id
        chunk = chunks[chunk.parent_id]
    return chunk, None


def _note(parent_id: str, count: int) -> str:
    return f"parent {parent_id} is missing; kept in its place: {count} of the chunks below it"


def _merge(families: dict[str, list[Hit]], contexts: Mapping[str, Chunk], notes: Sequence[str]) -> LinkResult:
    if len({chunk.level for chunk in contexts.values()}) > 1:
        _absorb(families, contexts)
    merged, drops = [], []
    for context_id, members in families.items():
        if len(members) == 1 and members[0].chunk.id == context_id:
            merged.append(members[0])
            continue
        best, *others = members = in_order(members)
        matched = tuple(dict.fromkeys(id_ for hit in members for id_ in hit.matched)) if others else best.matched
        merged.append(Hit(contexts[context_id], best.score, matched))
        drops += [hit.drop(SAME_PARENT, f"read as part of {context_id}") for hit in others]
    return LinkResult(in_order(merged), tuple(drops), tuple(notes))


def _absorb(families: dict[str, list[Hit]], contexts: Mapping[str, Chunk]) -> None:
    """A lone child may be left inside a context that others merged into: it is read there already."""
    outer = None
    for chunk in sorted(contexts.values(), key=lambda chunk: (chunk.document_id, chunk.version, chunk.start,
                                                              -chunk.end, chunk.level)):
        if outer is not None and (chunk.document_id, chunk.version) == (outer.document_id, outer.version) \
                and chunk.end <= outer.end:
            families[outer.id] += families.pop(chunk.id)
        else:
            outer = chunk
