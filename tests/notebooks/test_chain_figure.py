"""The map of chapter 00 is what its script draws."""

import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.notebook
ROOT = Path(__file__).parents[2]


def test_the_map_is_what_its_script_draws():
    drawn = runpy.run_path(str(ROOT / "tools" / "draw_chain.py"))["draw"]()
    ElementTree.fromstring(drawn)
    assert drawn == (ROOT / "notebooks" / "figures" / "chain.svg").read_text(encoding="utf-8")
