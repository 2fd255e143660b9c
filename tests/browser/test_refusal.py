"""The lab of chapter 05 in real JupyterLab: controls move table and picture, extremes show no error, it is quick."""

import numpy as np
import pytest

from ragkit.labs.refusal import MOST_COST, VIEWS
from tests.browser.harness import measure_latency

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PRICES = ("wrong answer", "wrong refusal")
BOUND = 400  # milliseconds; under 100 on a quiet machine, a shared one may be slow


def quiet(page):
    assert page.errors() == []
    assert page.lab("threshold").locator(".lab-error").inner_text().strip() == ""


def to_40(page):
    page.press("threshold", "Home", *["PageUp"] * 8)  # five steps each
    assert page.readout("threshold") == "0.40"


def test_the_lab_of_chapter_05(lab_page):
    page = lab_page("05_refusal", timeout=400)
    quiet(page)
    for view in VIEWS:
        page.choose("picture", view)
        to_40(page)
        before = page.picture("threshold"), page.table("threshold")
        page.press("threshold", *["ArrowRight"] * 5)
        assert page.picture("threshold") != before[0] and page.table("threshold") != before[1], view
        assert "flipped between 0.44 and 0.45, now refused" in page.lab("threshold").inner_text()
        quiet(page)

    for price in PRICES:  # the picture is that of the cost
        text, picture = page.lab("threshold").inner_text(), page.picture("threshold")
        page.press(price, "ArrowRight")
        assert page.lab("threshold").inner_text() != text and page.picture("threshold") != picture, price

    scores = page.labelled("score").locator("option").all_inner_texts()
    assert scores == ["cosine", "grade"]
    for score in scores:
        page.choose("score", score)
        for view in VIEWS:
            page.choose("picture", view)
            for key, price in (("Home", "1"), ("End", str(MOST_COST))):
                for control in ("threshold", *PRICES):
                    page.press(control, key)
                assert page.readout(PRICES[0]) == page.readout(PRICES[1]) == price
                quiet(page)
    assert page.readout("threshold") == "1.00" and "risk undefined" in page.lab("threshold").inner_text()

    times = []
    for view in VIEWS:
        page.choose("picture", view)
        to_40(page)
        page.slider("threshold")
        times += measure_latency(page.page, ["ArrowRight"] * 8 + ["ArrowLeft"] * 8, quiet=200)
    page.slider(PRICES[0])
    times += measure_latency(page.page, ["ArrowLeft", "ArrowRight"] * 4, quiet=200)
    half, most = np.percentile(times, [50, 95])
    print(f"\nrefusal_lab, slider to screen: median {half:.0f} ms, 95th percentile {most:.0f} ms")
    assert most < BOUND
