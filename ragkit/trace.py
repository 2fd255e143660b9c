"""The trace: what came into each link of the chain, what went out, what was dropped and why (chapter 03)."""

import html
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")


class Drop(NamedTuple):
    """One chunk that a link did not pass on, with the reason and the score it had."""

    chunk_id: str
    document_id: str
    score: float | None
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class LinkTrace:
    """What one link did. ``count_in == count_out + len(drops) + sum(n for _, n in excluded)``, always.

    Attributes:
        link: the link's name ("filter", "recall", "expand", "select" ...).
        drops: chunks dropped one by one, each with its reason.
        excluded: ``(reason, count)`` of what was left out in bulk, too many to list.
        notes: what else happened, in words (a fallback, a missing parent).
        milliseconds: how long it took; takes no part in equality, nor in what is printed of the object.
    """

    link: str
    count_in: int
    count_out: int
    drops: tuple[Drop, ...] = ()
    excluded: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    milliseconds: float = field(default=0.0, compare=False, repr=False)


@dataclass(frozen=True)
class Trace:
    """The links in the order they ran. Prints as text, shows as a table in Jupyter, goes to JSON."""

    links: tuple[LinkTrace, ...] = ()

    def __getitem__(self, link: str) -> LinkTrace:
        """The link of that name; an unknown name is an error that lists those that ran."""
        for entry in self.links:
            if entry.link == link:
                return entry
        raise KeyError(f"no link {link!r} ran; these did: {', '.join(entry.link for entry in self.links)}")

    def with_note(self, link: str, note: str) -> "Trace":
        """The trace with one more note at the link of that name."""
        return Trace(tuple(replace(entry, notes=(*entry.notes, note)) if entry.link == link else entry
                           for entry in self.links))

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"links": [{
            "link": entry.link, "count_in": entry.count_in, "count_out": entry.count_out,
            "drops": [drop._asdict() for drop in entry.drops],
            "excluded": dict(entry.excluded), "notes": list(entry.notes),
            "milliseconds": round(entry.milliseconds, 3)} for entry in self.links]}

    def __repr__(self) -> str:
        # Short and without raw scores: whole entries are in ``links``, ``str`` shows the drops.
        return "Trace(" + ", ".join(f"{entry.link} {entry.count_in} -> {entry.count_out}" for entry in self.links) + ")"

    def __str__(self) -> str:
        lines = [f"{'link':<12} {'in':>7} {'out':>7} {'ms':>8}  dropped"]
        for entry in self.links:
            lines.append(f"{entry.link:<12} {entry.count_in:>7} {entry.count_out:>7} {entry.milliseconds:>8.2f}  "
                         + (", ".join(f"{reason} {count}" for reason, count in _summary(entry)) or "-"))
            lines += [f"{'':<12} - {_drop_text(drop)}" for drop in entry.drops]
            lines += [f"{'':<12} note: {note}" for note in entry.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for entry in self.links:
            cells = "; ".join(f"{reason} {count}" for reason, count in _summary(entry))
            details = [_drop_text(drop) for drop in entry.drops] + [f"note: {note}" for note in entry.notes]
            more = "".join(f"<br><small>{html.escape(line)}</small>" for line in details)
            rows.append(f"<tr><td>{html.escape(entry.link)}</td><td>{entry.count_in}</td><td>{entry.count_out}</td>"
                        f"<td style='text-align:left'>{html.escape(cells) or '&ndash;'}{more}</td>"
                        f"<td>{entry.milliseconds:.2f}</td></tr>")
        return ("<table><thead><tr><th>link</th><th>in</th><th>out</th><th style='text-align:left'>dropped, "
                f"and why</th><th>ms</th></tr></thead><tbody>{''.join(rows)}</tbody></table>")


def timed(function: Callable[..., Result], *args, **kwargs) -> tuple[Result, float]:
    """The function's result and the milliseconds it took."""
    start = perf_counter()
    result = function(*args, **kwargs)
    return result, (perf_counter() - start) * 1000


def _summary(entry: LinkTrace) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for drop in entry.drops:
        counts[drop.reason] = counts.get(drop.reason, 0) + 1
    return [*entry.excluded, *counts.items()]


def _drop_text(drop: Drop) -> str:
    score = "" if drop.score is None else f" at {drop.score:.3f}"
    detail = f" ({drop.detail})" if drop.detail else ""
    return f"{drop.chunk_id}{score}: {drop.reason}{detail}"
