"""Feedback on exercises: it never raises, and knows "not yet" from "not quite"."""

import numpy as np
import pytest

from ragkit.checks import check, check_function


class Awkward:
    def __eq__(self, other):
        raise RuntimeError("no comparing")

    __hash__ = None


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(("got", "want", "status"), [
    (..., 3, "not yet"), (None, 3, "not yet"), (3, 3, "right"), (3.0000001, 3, "right"), (3.1, 3, "not quite"),
    (0, 0.0, "right"), ("a", "a", "right"), ("a", "b", "not quite"), ("3", 3, "not quite"), (True, True, "right"),
    (np.True_, True, "right"), (np.False_, True, "not quite"), (True, np.True_, "right"), (np.True_, 1, "not quite"),
    (None, True, "not yet"), (np.array([True]), True, "not quite"), (1, True, "not quite"), (True, 1, "not quite"), ([1, 2.0], [1, 2], "right"),
    ((1, 2), [1, 2], "right"), ([1], [1, 2], "not quite"), (5, [1], "not quite"), (float("nan"), 1.0, "not quite"),
    (np.array([1.0, 2.0]), np.array([1, 2]), "right"), ([1.0, 2.0], np.array([1, 2]), "right"),
    (np.array([1.0]), np.array([1, 2]), "not quite"), (np.array(["a"]), np.array([1]), "not quite"),
    (np.float32(0.5), 0.5, "right"), (Awkward(), 3, "not quite"), ({"a"}, {"a"}, "right"), (3, lambda: 3, "right"),
    (np.array([3.0]), 3, "not quite"), (np.array(3.0), 3, "not quite"), (np.array([3, 4]), 3, "not quite"),
    ([np.array([1, 2]), 2], [1, 2], "not quite"), (np.array([1, 2]), [1, 2], "not quite"),
    (np.array(["a"]), "a" * 99, "not quite"), (0.5, np.float32(0.5), "right"), (Unspeakable(), 3, "not quite"),
    ([..., 2], [1, 2], "not quite")])
@pytest.mark.filterwarnings("error")
def test_status(got, want, status):
    feedback = check("1.1", got, want, "think again")
    assert feedback.status == status
    assert ("think again" in repr(feedback)) == (status != "right")
    assert repr(feedback).startswith(f"Exercise 1.1: {status}.")


def test_the_answer_is_not_given_away_and_html_is_escaped():
    feedback = check("2.3", "<b>wrong</b>", "the secret", "a <hint>")
    assert "secret" not in repr(feedback)
    assert "<b>" not in feedback._repr_html_() and "&lt;hint&gt;" in feedback._repr_html_()
    assert len(repr(check("1", "x" * 10_000, "y", "h"))) < 300


def test_functions():
    cases = [((1, 2), 3), ((0, 0), 0)]
    assert check_function("1", lambda a, b: a + b, cases, "add").status == "right"
    wrong = check_function("1", lambda a, b: a - b, cases, "add")
    assert wrong.status == "not quite" and "(1, 2) gives -1, not 3" in wrong.message
    assert check_function("1", lambda a, b: ..., cases, "add").status == "not yet"
    assert check_function("1", lambda a, b: None, cases, "add").status == "not yet"
    assert check_function("1", lambda a: None, [((1,), None)], "h").status == "right"
    raising = check_function("1", lambda a, b: a / 0, cases, "add")
    assert raising.status == "not quite" and "raises ZeroDivisionError: division by zero" in raising.message
    assert check_function("1", lambda: 1, cases, "add").status == "not quite"
    assert check_function("1", ..., cases, "add").status == "not yet"


def test_numpy_truth_values_and_arrays_in_functions():
    assert check_function("1", lambda a: np.bool_(a), [((True,), True), ((False,), False)], "h").status == "right"
    assert check_function("1", lambda a: 1, [((True,), True)], "h").status == "not quite"
    assert check_function("1", lambda a: None, [((True,), True)], "h").status == "not yet"
    array = check_function("1", lambda a: np.array([a, a]), [((2,), 2)], "h")
    assert array.status == "not quite" and "gives array([2, 2]), not 2" in array.message


def test_long_strings_are_shown_where_they_differ():
    long = "x" * 200
    cases = [((), f"{long}\nend")]
    message = check_function("1", lambda: f"{long} end", cases, "h").message
    assert f"gives …'{'x' * 20} end' (around character 200), not …'{'x' * 20}\\nend' (around character 200)" in message
    message = check_function("1", lambda: long, cases, "h").message  # it ends too early
    assert f"gives …'{'x' * 20}' (around" in message and "\\nend'" in message
    message = check_function("1", lambda: "y" + long, cases, "h").message  # from the first character on
    assert f"gives 'y{'x' * 39}'… (around character 0), not '{'x' * 40}'…" in message
    assert "gives 'ab', not 'ac'" in check_function("1", lambda: "ab", [((), "ac")], "h").message


def test_a_value_is_shown_where_it_differs_and_the_right_one_is_not():
    feedback = check("1", "x" * 200 + "?" + "z" * 200, "x" * 200 + "secret" + "z" * 200, "h")
    assert "?zzz" in feedback.message and "secret" not in feedback.message
