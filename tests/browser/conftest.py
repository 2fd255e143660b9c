"""Fixtures of the browser tests: one JupyterLab and one Chromium for all of them, one page a test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coursekit import work
from tests.browser.harness import LabPage, LabServer, find_browser, open_and_run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """Chromium, as installed on this machine."""
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium on this machine: install chromium or Google Chrome to run the browser tests")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"]
        )  # CI runs as root
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """JupyterLab on the notebooks as a learner has them (``work/``), and on what a test puts there."""
    from jupyter_client.kernelspec import find_kernel_specs

    if "ragkit" not in find_kernel_specs():
        pytest.skip(
            "the kernel ragkit is not registered in this environment: `python3 course.py test` does it"
        )
    folder = tmp_path_factory.mktemp("lab")
    work.make(ROOT / "notebooks", folder / "work")
    server = LabServer(folder, tmp_path_factory.mktemp("jupyter"))
    yield server
    server.stop()


@pytest.fixture
def lab_page(browser, lab_server: LabServer) -> Iterator[Callable[..., LabPage]]:
    """``lab_page("03_candidates_and_evidence")`` opens it, runs all its cells and gives the page."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})

    def open_notebook(notebook: str, timeout: float = 120) -> LabPage:
        path = notebook if "/" in notebook else f"work/{notebook.removesuffix('.ipynb')}.ipynb"
        return open_and_run(context, lab_server, path, timeout)

    yield open_notebook
    for page in context.pages:  # else the kernels of all tests so far would share the machine with the next
        page.evaluate("() => window.jupyterapp?.serviceManager?.sessions?.shutdownAll()")
    context.close()
