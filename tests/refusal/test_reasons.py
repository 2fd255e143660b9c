"""The reasons, and the package around them."""

import pytest

import ragkit.refusal
from ragkit.refusal import RefusalReason
from tests.fixtures import python


def test_the_reasons_in_their_order_of_precedence():
    assert list(RefusalReason) == ["backend_unavailable", "no_candidates", "filtered_out", "below_threshold",
                                   "insufficient_evidence", "not_permitted"]
    assert f"{RefusalReason.BELOW_THRESHOLD}" == "below_threshold"


def test_every_name_is_where_the_package_says():
    for name in ragkit.refusal.__all__:
        assert getattr(ragkit.refusal, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'luck'"):
        ragkit.refusal.luck  # noqa: B018


def test_the_retrieval_chain_loads_the_reasons_alone(tmp_path):
    code = ("import sys, ragkit.retrieval; "
            "print(sorted(name for name in sys.modules if name.startswith('ragkit.refusal')))")
    done = python("-c", code, cache=tmp_path)
    assert done.stdout.strip() == "['ragkit.refusal', 'ragkit.refusal.reasons']", done.stderr
