"""Figures of comparisons and sweeps (chapter 08)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragkit.evaluation.statistics import Difference
from ragkit.plots import BLACK, BLUE, GREY, RED, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = {"better": (BLUE, "o"), "worse": (RED, "s"), "cannot tell": (GREY, "D")}  # told apart by shape too
_LINE = 0.3  # inches that a metric takes


def difference_figure(differences: Sequence[Difference], a: str, b: str) -> "Figure":
    """One line a metric: the difference b - a and its interval, against a line at 0."""
    if not differences:
        raise ValueError(f"{a!r} and {b!r} have no metric in common that could be drawn")
    figure, (axes,) = new_figure(7.0, 1.1 + _LINE * len(differences))
    places = np.arange(len(differences))
    axes.axvline(0, color=BLACK, linewidth=1)
    for verdict, (colour, marker) in _LOOKS.items():
        lines = [(place, one) for place, one in zip(places, differences, strict=True) if one.verdict == verdict]
        if not lines:
            continue
        at = [place for place, _ in lines]
        axes.hlines(at, [one.low for _, one in lines], [one.high for _, one in lines], color=colour, linewidth=2)
        axes.plot([one.difference for _, one in lines], at, marker, color=colour, linestyle="none", markersize=6,
                  label=f"{verdict} ({len(lines)})")
    axes.set_yticks(places, [f"{one.metric} (n = {one.n})" for one in differences])
    axes.set_ylim(len(differences) - 0.5, -0.5)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.8)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"difference: {_short(b)} - {_short(a)}, with its {differences[0].confidence:.0%} interval",
                    parse_math=False)  # a name is a name, whatever dollars are in it
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 0.45 / len(differences) + 0.08), ncols=3, frameon=False)
    return figure


def heat_figure(values: np.ndarray, rows: Sequence[str], columns: Sequence[str], row_name: str, column_name: str,
                metric: str, *, lower_is_better: bool = False) -> "Figure":
    """A grid of means, shape (rows, columns), each written in its cell; the best one has a frame."""
    from matplotlib.patches import Rectangle

    figure, (axes,) = new_figure(max(4.0, 1.8 + 0.75 * len(columns)), max(2.4, 1.2 + 0.42 * len(rows)))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    image = axes.imshow(values, cmap="cividis", aspect="auto")
    middle = (image.norm.vmin + image.norm.vmax) / 2
    for (row, column), value in np.ndenumerate(values):
        axes.text(column, row, "–" if np.isnan(value) else f"{value:.3f}" if abs(value) < 10 else f"{value:,.0f}",
                  ha="center", va="center", fontsize=9, color="white" if value < middle else "black")
    axes.set_xticks(range(len(columns)), columns, parse_math=False)
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    axes.set_xlabel(column_name)
    axes.set_ylabel(row_name)
    if not np.isnan(values).all():
        row, column = np.unravel_index((np.nanargmin if lower_is_better else np.nanargmax)(values), values.shape)
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=RED, linewidth=2.5))
    figure.colorbar(image, ax=axes, label=metric)
    return figure


def _short(name: str, limit: int = 28) -> str:
    return name if len(name) <= limit else name[:limit - 1] + "…"
