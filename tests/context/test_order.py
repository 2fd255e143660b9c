"""The two orders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.context import best_at_both_ends, best_first


@pytest.mark.parametrize("count, wanted", [(0, []), (1, [1]), (2, [1, 2]), (3, [1, 3, 2]), (6, [1, 3, 5, 6, 4, 2])])
def test_the_best_stand_at_both_ends(count, wanted):
    assert best_at_both_ends(range(1, count + 1)) == wanted


@given(st.integers(3, 40))
def test_ranks_rise_towards_the_middle_and_fall_after_it(count):
    order = best_at_both_ends(range(count))
    middle = order.index(count - 1)
    assert order[:middle + 1] == sorted(order[:middle + 1]) and order[middle:] == sorted(order[middle:], reverse=True)
    assert sorted(order) == best_first(range(count)) == list(range(count))
