"""Chapter 01's lab in real JupyterLab."""

import numpy as np
import pytest

from ragkit.labs.chunking import CHUNKERS
from tests.browser.harness import measure_latency

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_chunking_lab(lab_page):
    page = lab_page("01_documents_and_chunks")
    assert page.errors() == []
    before = page.picture("size"), page.table("size")
    page.press("size", "ArrowRight", "ArrowRight")
    assert page.readout("size") == "350"
    assert page.picture("size") != before[0] and page.table("size") != before[1]

    for chunker in CHUNKERS:
        page.choose("chunker", chunker)
        for size_key in ("Home", "End"):
            for overlap_key in ("Home", "End"):
                page.press("overlap", overlap_key)
                page.press("size", size_key)
                shown = page.lab("size").inner_text()
                refused = chunker != "headings" and (size_key, overlap_key) == ("Home", "End")
                assert ("overlap (200) must be smaller than size (50)" in shown) == refused
                assert page.errors() == []

    shown = page.labelled("document").locator("option").all_inner_texts()
    options = [option.replace("\u00a0", " ") for option in shown]
    assert len(options) == 5
    seen = set()
    for option in options:
        page.choose("document", option)
        assert page.table("size").split("\n")[1].startswith(option)
        seen.add(page.table("size"))
    assert len(seen) == len(options) and page.errors() == []

    page.choose("document", options[0])
    page.choose("chunker", "fixed")
    page.press("overlap", "Home")
    page.slider("size")
    page.page.keyboard.press("Home")
    page.settle()
    times = measure_latency(page.page, ["ArrowRight"] * 18 + ["ArrowLeft"] * 17)
    print(f"chunking lab, slider to screen: median {np.median(times):.0f} ms, 95th percentile "
          f"{np.percentile(times, 95):.0f} ms")
    assert np.percentile(times, 95) < 250
