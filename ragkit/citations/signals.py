"""What a support score is made of: each signal of a claim and a source (chapter 07)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragkit.citations.checks import LONG, Clash, Part, find_clashes, missing_names
from ragkit.citations.direction import directions, same_direction
from ragkit.citations.passage import Passage, Unit
from ragkit.embedding import TokenVectors
from ragkit.wording import base_form, words

WINDOW = 3     # units at most that a claim may be borne out by together
NEAREST = 3    # units whose direction is compared with the claim's
LIKELIEST = 14
A_UNIT_MORE = 0.02  # what a longer window must gain to be preferred: the shortest that does is shown


@dataclass(frozen=True)
class Signals:
    """The signals of one claim, by name, and what they were read from.

    Attributes:
        values: "coverage": share of the claim's content words in the best window, headings and header row included;
            "alignment": the claim's content words each with the nearest token of the source, mean cosine (absent
            without token vectors); "values": 1 when a number, date, time or identifier is not in the source;
            "names": 1 when a name is not; "negation": 1 when one side denies what the other says; "direction": in
            (-1, 1), below 0 when the source goes the other way.
        window: first and last + 1 of the units of the best window.
        missing: the claim's content words that the window lacks.
    """

    values: dict[str, float]
    window: tuple[int, int]
    missing: tuple[str, ...]
    names: tuple[str, ...]
    clashes: tuple[Clash, ...]


def measure(text: str, claim: Sequence[Part], passage: Passage, claim_tokens: TokenVectors | None,
            unit_tokens: dict[int, TokenVectors], source: str) -> Signals:
    """The signals of a claim; ``unit_tokens`` are the token vectors of the units that the model read."""
    stems = list(dict.fromkeys(stem for part in claim for stem in part.stems))
    sets = [set(unit.stems) | unit.header | passage.about for unit in passage.units]
    nearest, weights = _alignments(text, claim_tokens, unit_tokens, len(sets))
    window, fit = _best_window(stems, sets, nearest, weights)
    there = set().union(*sets[slice(*window)])
    values = {"coverage": _coverage(stems, sets)}
    if claim_tokens is not None:
        values["alignment"] = float(nearest.max(axis=0) @ weights)
    clashes, names = find_clashes(claim, passage), missing_names(claim, source)
    values |= {"values": float(any(clash.missing for clash in clashes)), "names": float(bool(names)),
               "negation": float(any(clash.kind == "negation" for clash in clashes)),
               "direction": _direction(claim, passage.units, fit)}
    missing = _missing_words(text, there)
    return Signals(values, window, missing, tuple(names), tuple(clashes))


def likely_units(stems: Sequence[str], units: Sequence[Unit]) -> list[int]:
    """The units worth reading by a model: all of a short source; of a long one those that share most words with the
    claim, with their neighbours, and the first ones, which say what it is about."""
    if len(units) <= LONG:
        return list(range(len(units)))
    wanted = set(stems)
    order = sorted(range(len(units)), key=lambda index: (-len(wanted & set(units[index].stems)), index))
    chosen = {near for index in order[:LIKELIEST] for near in (index - 1, index, index + 1)} | set(range(4))
    return sorted(index for index in chosen if 0 <= index < len(units))


def _coverage(stems: Sequence[str], sets: Sequence[set[str]]) -> float:
    if not stems or not sets:
        return 0.0
    joined = [set().union(*sets[start:start + WINDOW]) for start in range(max(1, len(sets) - WINDOW + 1))]
    return max(sum(stem in window for stem in stems) for window in joined) / len(stems)


def _alignments(text: str, claim: TokenVectors | None, units: dict[int, TokenVectors],
                count: int) -> tuple[np.ndarray, np.ndarray]:
    """(units, claim tokens) of best cosines, 0 for what was not read, and the weight of each token; they sum to 1."""
    size = 0 if claim is None else len(claim.vectors)
    nearest = np.zeros((max(count, 1), size), dtype=np.float32)
    if not size:
        return nearest, np.zeros(size)
    for index, unit in units.items():
        if len(unit.vectors):
            nearest[index] = (claim.vectors @ unit.vectors.T).max(axis=1)
    nearest = nearest.clip(0, 1)
    inside = np.zeros(len(text) + 1, dtype=bool)
    for word in words(text):
        inside[word.start:word.end] |= word.is_content
    weights = np.array([float(inside[start:end].any()) for start, end in claim.spans])
    if not weights.any():
        weights[:] = 1
    return nearest, weights / weights.sum()


def _best_window(stems: Sequence[str], sets: Sequence[set[str]], nearest: np.ndarray,
                 weights: np.ndarray) -> tuple[tuple[int, int], np.ndarray]:
    """The window that fits best, and how well each unit alone does."""
    best, window = -1.0, (0, 0)
    single = np.zeros(len(sets))
    for start in range(len(sets)):
        for end in range(start + 1, min(start + WINDOW, len(sets)) + 1):
            there = set().union(*sets[start:end])
            fit = sum(stem in there for stem in stems) / max(1, len(stems))
            fit += float(nearest[start:end].max(axis=0) @ weights)
            if end == start + 1:
                single[start] = fit
            fit -= A_UNIT_MORE * (end - start - 1)
            if fit > best + 1e-9:
                best, window = fit, (start, end)
    return window, single


def _direction(claim: Sequence[Part], units: Sequence[Unit], fit: np.ndarray) -> float:
    own = [item for part in claim for item in directions(part.text, part.facts)]
    if not own:
        return 0.0
    near = [units[index] for index in np.argsort(-fit, kind="stable")[:NEAREST]]
    return same_direction(own, [item for unit in near for item in directions(unit.text, unit.facts)])


def _missing_words(text: str, there: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(
        word.text for word in words(text) if word.is_content and base_form(word.stem) not in there))
