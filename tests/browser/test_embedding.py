"""Chapter 02's lab in real JupyterLab."""

import numpy as np
import pytest

from tests.browser.harness import measure_latency

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def rows(page) -> int:
    return len(page.table("k").strip().split("\n")) - 1


def write(page, description: str, text: str) -> None:
    box = page.labelled(description).locator("input")
    box.fill(text)
    box.press("Enter")
    page.settle()


def test_the_embedding_lab(lab_page):
    page = lab_page("02_embeddings_and_index", timeout=240)
    assert page.errors() == []
    page.slider("k")  # brings the lab into view: JupyterLab draws what is far away later
    page.settle()
    assert page.readout("k") == "8" and rows(page) == 8
    before = page.picture("k"), page.table("k")
    page.press("k", "ArrowRight", "ArrowRight")
    assert page.readout("k") == "10" and rows(page) == 10
    assert page.picture("k") != before[0] and page.table("k") != before[1]
    for key, k in (("Home", 1), ("End", 20)):
        page.press("k", key)
        assert rows(page) == k
        assert f"Recall@{k} over" in page.lab("k").inner_text()

    options = page.labelled("question").locator("option").all_inner_texts()
    assert len(options) > 100
    seen = set()
    chosen = sorted({*range(0, len(options), 12), len(options) - 1})
    for index in chosen:
        page.labelled("question").locator("select").select_option(index=index)
        page.settle()
        seen.add(page.table("k"))
        assert page.errors() == []
    assert len(seen) == len(chosen)

    write(page, "your own question", "May I bring my dog <b>to work</b>?")
    assert "The 20 nearest to: May I bring my dog <b>to work</b>?" in page.lab("k").inner_text()
    write(page, "your own question", "")
    assert "The 20 nearest to: May I bring my dog" not in page.lab("k").inner_text()
    write(page, "first sentence", "Red badges are escorted.")
    write(page, "second sentence", "Red badges are escorted.")
    assert "cosine 1.000 by meaning" in page.lab("k").inner_text()
    write(page, "second sentence", " ")
    assert "the second sentence is empty" in page.lab("k").inner_text()
    write(page, "second sentence", "Visitors are accompanied.")
    assert "the second sentence is empty" not in page.lab("k").inner_text()
    assert page.errors() == []

    page.slider("k")
    page.page.keyboard.press("Home")
    page.settle()
    times = measure_latency(page.page, ["ArrowRight"] * 19 + ["ArrowLeft"] * 19)
    print(f"embedding lab, slider to screen: median {np.median(times):.0f} ms, 95th percentile "
          f"{np.percentile(times, 95):.0f} ms")
    assert np.percentile(times, 95) < 250
