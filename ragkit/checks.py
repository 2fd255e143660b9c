"""Feedback on exercises: right, not yet, or what is off; it never raises (all chapters).

A starter leaves ``...`` where the reader's work goes. An exercise that is not done says "not yet" and shows
the hint, so a notebook runs from top to bottom at any stage of the work.
"""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Feedback:
    """What a check found; shows itself in a notebook. ``status`` is "right", "not yet" or "not quite"."""

    exercise: str
    status: str
    message: str = ""

    def __repr__(self) -> str:
        return f"Exercise {self.exercise}: {self.status}." + (f" {self.message}" if self.message else "")

    def _repr_html_(self) -> str:
        mark = {"right": "&#10003;", "not yet": "&hellip;", "not quite": "&#10007;"}[self.status]
        return f"<p>{mark} {html.escape(repr(self))}</p>"


def check(exercise: str, got: Any, want: Any, hint: str, tolerance: float = 1e-6) -> Feedback:
    """Compare a value with the right one; numbers within ``tolerance``, arrays and lists entry by entry.

    Args:
        exercise: its number, such as "3.1".
        got: the reader's value; ``...`` or None means not done.
        want: the right value, or a function of no arguments that gives it.
        hint: what to think of next.
    """
    if got is ... or got is None:
        return Feedback(exercise, "not yet", f"Hint: {hint}")
    wanted = want() if callable(want) else want
    if _same(got, wanted, tolerance):
        return Feedback(exercise, "right")
    return Feedback(exercise, "not quite", f"You have {_show(got)}. Hint: {hint}")


def check_function(exercise: str, function: Callable, cases: Sequence[tuple[tuple, Any]], hint: str,
                   tolerance: float = 1e-6) -> Feedback:
    """Call the reader's function on each ``(arguments, wanted)``; the first that differs is shown."""
    if function is ... or function is None:
        return Feedback(exercise, "not yet", f"Hint: {hint}")
    for arguments, wanted in cases:
        call = f"{getattr(function, '__name__', 'function')}({', '.join(_show(value) for value in arguments)})"
        try:
            got = function(*arguments)
        except Exception as error:  # whatever the reader's code raises is feedback, never a broken notebook
            return Feedback(exercise, "not quite", f"{call} raises {type(error).__name__}: {error}. Hint: {hint}")
        if got is ... or got is None and wanted is not None:
            return Feedback(exercise, "not yet", f"Hint: {hint}")
        if not _same(got, wanted, tolerance):
            return Feedback(exercise, "not quite", f"{call} gives {_show(got)}, not {_show(wanted)}. Hint: {hint}")
    return Feedback(exercise, "right")


def _same(got: Any, wanted: Any, tolerance: float) -> bool:
    try:
        if isinstance(wanted, bool) or isinstance(got, bool):
            return got is wanted or bool(got == wanted) and type(got) is type(wanted)
        if isinstance(wanted, (int, float)):
            return math.isclose(got, wanted, rel_tol=0, abs_tol=tolerance)
        if isinstance(wanted, np.ndarray):
            return np.shape(got) == wanted.shape and bool(np.allclose(got, wanted, rtol=0, atol=tolerance))
        if isinstance(wanted, (list, tuple)):
            return (isinstance(got, (list, tuple)) and len(got) == len(wanted)
                    and all(_same(a, b, tolerance) for a, b in zip(got, wanted, strict=True)))
        return bool(got == wanted)
    except Exception:  # comparing with something of another kind is simply not the same
        return False


def _show(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[:limit - 1] + "…"
