"""Packing pieces into chunks of a limited size (chapter 01)."""

from ragkit.chunking.chunk import Measure
from ragkit.chunking.pieces import CLAUSE, GLUED, Piece, furthest


def pack(text: str, pieces: list[Piece], size: int, measure: Measure, overlap: int = 0) -> list[list[Piece]]:
    """Groups of consecutive pieces whose span measures at most `size`.

    Each group is filled as far as it goes and then cut at the best place in its second half, the later of
    equals; so a heading starts a new chunk rather than ending up alone at the end of one. With `overlap`, a
    group begins with the last pieces of the one before, as many as measure at most `overlap`.

    Every piece must fit by itself; one that cannot (a single character) makes a group of its own.
    """
    groups: list[list[Piece]] = []
    first = done = 0  # the next group begins at `first`; pieces before `done` are in some group already
    while done < len(pieces):

        def fits(count: int) -> bool:
            return measure(text[pieces[first].start : pieces[done + count - 1].end]) <= size

        full = done + furthest(len(pieces) - done, fits)
        cut = _best_cut(pieces, first, done, full)
        if cut < full and not fits(cut - done):
            cut = full
        groups.append(pieces[first:cut])
        first = _overlap_start(text, pieces, first, cut, size, overlap, measure)
        done = cut
    return groups


def _best_cut(pieces: list[Piece], first: int, done: int, full: int) -> int:
    """The number of pieces to end the group before: `full`, or fewer if there is a better place."""
    if full == len(pieces):
        return full
    start = pieces[first].start
    half = start + (pieces[full - 1].end - start) / 2
    free = [cut for cut in range(done + 1, full + 1) if pieces[cut].before > GLUED]
    late = [cut for cut in free if pieces[cut - 1].end >= half]
    if late:
        return max(late, key=lambda cut: (pieces[cut].before, cut))
    return free[-1] if free else full


def _overlap_start(
    text: str, pieces: list[Piece], first: int, cut: int, size: int, overlap: int, measure: Measure
) -> int:
    """Where the group after `cut` begins: at most `overlap` back, with room to go on, at a sentence."""
    start = cut
    if overlap and cut < len(pieces):
        for candidate in range(cut - 1, first, -1):
            begin = pieces[candidate].start
            if measure(text[begin : pieces[cut - 1].end]) > overlap:
                break
            if measure(text[begin : pieces[cut].end]) > size:
                break
            if pieces[candidate].before > CLAUSE or pieces[candidate].before == GLUED:
                start = candidate
    return start
