"""In which order the sources stand in the prompt (chapter 06).

Liu et al. (2024), "Lost in the Middle: How Language Models Use Long Contexts" (TACL; preprint 2023): models use
what stands at the beginning or the end of a long context best, and what stands in its middle worst.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

Item = TypeVar("Item")
Order = Literal["best_first", "best_at_both_ends"]


def best_first(ranked: Sequence[Item]) -> list[Item]:
    """As given: 1 2 3 4 5."""
    return list(ranked)


def best_at_both_ends(ranked: Sequence[Item]) -> list[Item]:
    """The best first, the second best last, and so on inwards: 1 3 5 4 2."""
    return [*ranked[0::2], *reversed(ranked[1::2])]


ORDERS: dict[str, Callable[[Sequence], list]] = {"best_first": best_first, "best_at_both_ends": best_at_both_ends}
