"""Slider to screen: from a key press to the last change in the page, for every slider of every lab.

Measured in a real JupyterLab in Chromium, beside a bare slider whose kernel does nothing but write its value
into a label: what is between the two is the lab's own.
"""

import statistics
import tempfile
from pathlib import Path

import nbformat

from coursekit import work
from tests.browser.harness import LabServer, find_browser, measure_latency, open_and_run

ROOT = Path(__file__).resolve().parent.parent
# Each slider with the steps from its lower end to a stretch where a move changes text and picture.
SLIDERS = {
    "01_documents_and_chunks": {"size": 3, "overlap": 1},
    "02_embeddings_and_index": {"k": 3},
    "03_candidates_and_evidence": {"top_k": 3, "evidence_top_k": 2, "min_score": 25},
    "04_parent_expansion": {"top_k": 3, "ratio (auto_merge)": 9},
    "05_refusal": {"threshold": 38, "wrong answer": 3, "wrong refusal": 3},
    "06_context_and_prompts": {"budget": 8},
    "08_evaluation": {"questions": 20},
}
PRESSES = (["ArrowRight"] * 2 + ["ArrowLeft"] * 2) * 10
BARE = """
import ipywidgets
bare, label = ipywidgets.IntSlider(description="bare", max=50, value=25), ipywidgets.Label()
bare.observe(lambda change: setattr(label, "value", str(change["new"])), names="value")
ipywidgets.VBox([bare, label])
"""


def measure() -> dict[str, list[float]]:
    """Milliseconds of each press, by lab and slider; the bare slider first."""
    program = find_browser()
    if program is None:
        raise RuntimeError("no Chromium on this machine: install chromium or Google Chrome to measure the labs")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="ragkit-bench-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        work.make(ROOT / "notebooks", root / "work")
        bare = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(BARE)])
        bare.metadata["kernelspec"] = {"name": "ragkit", "display_name": "ragkit", "language": "python"}
        nbformat.write(bare, root / "work" / "bare.ipynb")
        (root / "jupyter").mkdir()
        server = LabServer(root, root / "jupyter")
        try:
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                return {f"{name[:2]} {slider}": times for name, sliders in {"bare": {"bare": 3}, **SLIDERS}.items()
                        for slider, times in _measure_notebook(chromium, server, name, sliders)}
        finally:
            server.stop()


def _measure_notebook(chromium, server: LabServer, name: str, sliders: dict[str, int]):
    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    opened = open_and_run(context, server, f"work/{name}.ipynb", timeout=400)  # the first time, it embeds documents
    results = []
    for slider, steps in sliders.items():
        opened.press(slider, "Home", *["ArrowRight"] * steps)
        results.append((slider, measure_latency(opened.page, PRESSES)))
        opened.press(slider, "End")  # many candidates for the sliders that come after
    opened.page.evaluate("() => window.jupyterapp?.serviceManager?.sessions?.shutdownAll()")
    context.close()
    return results


def percentiles(times: list[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]
