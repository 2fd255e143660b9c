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


_BOOL = (bool, np.bool_)


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

    An array is no number, and 1 is not True (numpy's own True is).

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
    return Feedback(exercise, "not quite", f"You have {_show_two(got, wanted)[0]}. Hint: {hint}")


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
            mine, right = _show_two(got, wanted)
            return Feedback(exercise, "not quite", f"{call} gives {mine}, not {right}. Hint: {hint}")
    return Feedback(exercise, "right")


def _same(got: Any, wanted: Any, tolerance: float) -> bool:
    try:
        if isinstance(wanted, _BOOL) or isinstance(got, _BOOL):
            return isinstance(wanted, _BOOL) and isinstance(got, _BOOL) and bool(got) == bool(wanted)
        if isinstance(wanted, (int, float, np.number)):
            return not isinstance(got, np.ndarray) and math.isclose(got, wanted, rel_tol=0, abs_tol=tolerance)
        if isinstance(wanted, np.ndarray):
            return np.shape(got) == wanted.shape and bool(np.allclose(got, wanted, rtol=0, atol=tolerance))
        if isinstance(wanted, (list, tuple)):
            return (isinstance(got, (list, tuple)) and len(got) == len(wanted)
                    and all(_same(a, b, tolerance) for a, b in zip(got, wanted, strict=True)))
        return bool(got == wanted)
    except Exception:  # comparing with something of another kind is simply not the same
        return False


def _show(value: Any, limit: int = 80) -> str:
    try:
        text = repr(value)
    except Exception:  # a repr of the reader's own may be wrong as well
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= limit else text[:limit - 1] + "…"


def _show_two(got: Any, wanted: Any, limit: int = 80) -> tuple[str, str]:
    """Both values; of two strings too long to show, the part around the first place where they differ."""
    if not (isinstance(got, str) and isinstance(wanted, str)) or max(len(repr(got)), len(repr(wanted))) <= limit:
        return _show(got, limit), _show(wanted, limit)
    place = next((n for n, (a, b) in enumerate(zip(got, wanted, strict=False)) if a != b),
                 min(len(got), len(wanted)))
    start = max(place - limit // 4, 0)
    end = start + limit // 2

    def part(text: str) -> str:
        shown = ("…" if start else "") + repr(text[start:end]) + ("…" if end < len(text) else "")
        return f"{shown} (around character {place})"

    return part(got), part(wanted)
