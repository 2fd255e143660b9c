"""A grid of settings on the same questions, and which is best (chapter 08)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragkit.evaluation.chains import SharedChains
from ragkit.evaluation.metrics import Mean
from ragkit.evaluation.outcome import LOWER_IS_BETTER
from ragkit.evaluation.questions import Question
from ragkit.evaluation.run import check_questions
from ragkit.evaluation.scorecard import HEADLINE, Scorecard, cell, html_table, known_metric, scorecard_of, text_table
from ragkit.knowledge_base import KnowledgeBase
from ragkit.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SweepRow:
    """One point of the grid: the values that were tried, the whole settings, and the scores."""

    changes: Mapping[str, object]
    settings: Settings = field(repr=False)
    scorecard: Scorecard


@dataclass(frozen=True)
class Sweep:
    """The points of a grid in its order, the last setting changing fastest. Prints and shows as a table.

    The best of many looks better than it is: choose on the ``dev`` questions, report on ``test``.
    """

    grid: Mapping[str, tuple]
    rows: tuple[SweepRow, ...]

    def best(self, metric: str = "recall") -> SweepRow:
        """The point with the best mean; of equals the first."""
        scored = [row for row in self.rows if row.scorecard[metric].value is not None]
        if not scored:
            raise ValueError(f"{metric} is undefined for all {len(self.rows)} points")
        sign = -1 if metric in LOWER_IS_BETTER else 1
        return max(scored, key=lambda row: sign * row.scorecard[metric].value)

    def at(self, **changes) -> SweepRow:
        """The point with these values; the settings that are not named stand at the first value they were given."""
        wanted = {name: values[0] for name, values in self.grid.items()} | changes
        for row in self.rows:
            if row.changes == wanted:
                return row
        raise KeyError(f"no point {wanted!r} in the grid {dict(self.grid)!r}")

    def heat_values(self, metric: str, x: str, y: str, **fixed) -> np.ndarray:
        """Means of shape (values of y, values of x), NaN where undefined; the other settings at ``fixed``.

        Of those that are neither named nor fixed the value of the best point is taken.
        """
        known_metric(metric)
        for name in (x, y, *fixed):
            if name not in self.grid:
                raise ValueError(f"{name!r} was not varied; these were: {', '.join(self.grid)}")
        if x == y or {x, y} & set(fixed):
            raise ValueError(f"a heat map over {x!r} and {y!r} needs two settings, neither of them fixed ({fixed!r})")
        around = dict(self.best(metric).changes) | fixed
        means: list[list[Mean]] = [[self.at(**(around | {x: across, y: down})).scorecard[metric]
                                    for across in self.grid[x]] for down in self.grid[y]]
        return np.array([[np.nan if mean.value is None else mean.value for mean in line] for line in means])

    def heat_figure(self, metric: str = "recall", x: str | None = None, y: str | None = None, **fixed) -> "Figure":
        """A heat map over two settings; None takes the first two that were varied."""
        from ragkit.evaluation.pictures import heat_figure

        x, y = self._axes(x, y)
        values = self.heat_values(metric, x, y, **fixed)
        return heat_figure(values, [str(value) for value in self.grid[y]], [str(value) for value in self.grid[x]],
                           y, x, metric, lower_is_better=metric in LOWER_IS_BETTER)

    def plot(self, metric: str = "recall", x: str | None = None, y: str | None = None, **fixed):
        """The heat map as the end of a cell shows it, with alternative text."""
        from ragkit.plots import show

        x, y = self._axes(x, y)
        best = self.best(metric)
        told = ", ".join(f"{name} {value}" for name, value in best.changes.items())
        return show(self.heat_figure(metric, x, y, **fixed),
                    f"Mean {metric} over {x} and {y}; best is {best.scorecard[metric].value:.3f} at {told}.")

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows, as text: the values tried and the headline metrics."""
        shown = [name for name in (*HEADLINE, "characters_read") if any(row.scorecard[name].n for row in self.rows)]
        rows = [[*(str(value) for value in row.changes.values()), *(cell(row.scorecard[name]) for name in shown),
                 cell(row.scorecard.overall.refusals.recall), cell(row.scorecard.overall.refusals.answered)]
                for row in self.rows]
        return [*self.grid, *shown, "refusal recall", "answered"], rows

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"grid": {name: list(values) for name, values in self.grid.items()},
                "rows": [{"changes": dict(row.changes), "scorecard": row.scorecard.to_dict()} for row in self.rows]}

    def __repr__(self) -> str:
        return f"Sweep({' x '.join(f'{name} {len(values)}' for name, values in self.grid.items())})"

    def __str__(self) -> str:
        return text_table(*self.table())

    def _repr_html_(self) -> str:
        return html_table(*self.table())

    def _axes(self, x: str | None, y: str | None) -> tuple[str, str]:
        varied = [name for name in self.grid if name not in (x, y)]
        if len(varied) < (x is None) + (y is None):
            raise ValueError(f"a heat map needs two settings; only {', '.join(self.grid)} was varied")
        x = varied.pop(0) if x is None else x
        return x, varied.pop(0) if y is None else y


def sweep(grid: Mapping[str, Sequence], questions: Iterable[Question], *, kb: KnowledgeBase | None = None,
          folder: str | Path | None = None, settings: Settings | None = None, k: int | None = None,
          missing_gold: str = "error") -> Sweep:
    """Retrieve with every combination of the values in ``grid`` and score each (chapter 08). No answers are written.

    Args:
        grid: values by the name of a setting, for example ``{"top_k": (4, 8), "min_score": (0.2, 0.3)}``.
        kb, folder, missing_gold: as in ``compare``.
        settings: what is not varied; None is the knowledge base's own, or the defaults.
        k: candidates that the retrieval metrics read, the same for all; None is the largest ``top_k``.

    Raises:
        TypeError: one value where a list of them belongs.
        ValueError: an empty grid, an unknown setting, or a combination that ``Settings`` refuses.
    """
    if not isinstance(grid, Mapping):
        raise TypeError(f'{grid!r} is no grid; give values by name: {{"top_k": (4, 8), "min_score": (0.2, 0.3)}}')
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"{name} ({values!r}) must be a list of values to try: ({values!r},) tries one")
    grid = {name: tuple(values) for name, values in grid.items()}
    if not grid or not all(grid.values()):
        raise ValueError(f"the grid {grid!r} has no points; give each setting at least one value")
    start = settings or (kb.settings if kb is not None else Settings())
    changes = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    chains = [start.replace(**change) for change in changes]
    k = max(chain.top_k for chain in chains) if k is None else k
    shared = SharedChains(check_questions(questions), kb=kb, folder=folder, missing_gold=missing_gold)
    # Only the scores are kept: the outcomes of sixty chains would fill the memory.
    cards = {position: scorecard_of(outcomes, k) for position, outcomes in shared.retrieve_all(chains, k)}
    return Sweep(grid, tuple(SweepRow(change, chain, cards[position])
                             for position, (change, chain) in enumerate(zip(changes, chains, strict=True))))
