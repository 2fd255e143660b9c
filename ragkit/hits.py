"""What search finds and what a link hands on (chapter 03)."""

from collections.abc import Iterable
from dataclasses import dataclass

from ragkit.chunking import Chunk
from ragkit.trace import Drop


@dataclass(frozen=True, init=False)
class Hit:
    """A chunk with its score.

    Attributes:
        chunk: the child that was found or, after expansion, the context that is read.
        score: raw cosine of the (best) child with the question, in [-1, 1].
        matched: ids of the children that were found inside ``chunk``, best first; before expansion
            just its own id.
    """

    chunk: Chunk
    score: float
    matched: tuple[str, ...]

    def __init__(self, chunk: Chunk, score: float, matched: tuple[str, ...] = ()):
        # One write for all fields: a frozen dataclass's own makes one call a field, and every search makes hits.
        self.__dict__.update(chunk=chunk, score=score, matched=matched or (chunk.id,))

    @property
    def context_chunk_id(self) -> str:
        """Id of the chunk that goes to the answer: the parent's after expansion."""
        return self.chunk.id

    @property
    def best_child_id(self) -> str:
        """Id of the child whose score this is."""
        return self.matched[0]

    def drop(self, reason: str, detail: str = "") -> Drop:
        """This hit as an entry in the trace."""
        return Drop(self.chunk.id, self.chunk.document_id, self.score, reason, detail)


@dataclass(frozen=True)
class LinkResult:
    """What a link gives: the hits that go on, those that do not with the reason, and notes."""

    hits: tuple[Hit, ...]
    drops: tuple[Drop, ...] = ()
    notes: tuple[str, ...] = ()


def in_order(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Best first; equal scores by chunk id."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id)))


def below(score: float, threshold: float) -> str:
    """A score that is below a threshold, with as many digits as it takes to see that: "0.2499", not "0.250"."""
    return next((text for text in (f"{score:.{digits}f}" for digits in range(3, 17)) if float(text) < threshold),
                repr(score))


def clamp(score: float) -> float:
    """A cosine where it meets a threshold: in [0, 1]. NaN is an error."""
    if score != score:
        raise ValueError("a score is NaN; look at the vectors it was made from")
    return min(1.0, max(0.0, score))
