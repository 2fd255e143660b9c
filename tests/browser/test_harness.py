"""The harness itself, on a notebook with one small lab: what a lab's test asks must be able to fail."""

import nbformat
import pytest
from nbformat import v4

from tests.browser.harness import measure_latency

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAB = """
import io, time
import ipywidgets as widgets
from PIL import Image

def picture(value):
    buffer = io.BytesIO()
    Image.new("RGB", (40, 40), (value, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()

def lab(delay):
    slider = widgets.IntSlider(description=f"delay {delay}", value=3, max=9)
    kind = widgets.Dropdown(description=f"kind {delay}", options=["plain", "loud"])
    table, image = widgets.HTML(), widgets.Image()
    def show(_=None):
        time.sleep(delay / 1000)
        table.value = f"<table><tr><td>{kind.value} {slider.value}</td></tr></table>"
        image.value = picture(slider.value)
    slider.observe(show, "value")
    kind.observe(show, "value")
    show()
    return widgets.VBox([slider, kind, table, image])

lab(0)
"""


@pytest.fixture(scope="module")
def small_notebook(lab_server):
    notebook = v4.new_notebook(
        metadata={"kernelspec": {"name": "ragkit", "display_name": "x", "language": "python"}}
    )
    notebook.cells = [
        v4.new_markdown_cell("\n\n".join(f"Line {n}." for n in range(60))),
        v4.new_code_cell(LAB),
        v4.new_markdown_cell("More."),
        v4.new_code_cell("lab(400)"),
        v4.new_code_cell(f"'the end'  # {'of a line that is too long for any window ' * 10}"),
    ]
    (lab_server.folder / "tests").mkdir()
    nbformat.write(notebook, lab_server.folder / "tests" / "small.ipynb")
    notebook.cells.append(v4.new_code_cell("1 / 0"))
    nbformat.write(notebook, lab_server.folder / "tests" / "broken.ipynb")
    return "tests/small.ipynb"


def test_long_lines_of_code_are_wrapped(lab_page, small_notebook):
    """By the set-up's own settings: a line that ends outside the window is not read."""
    editors = lab_page(small_notebook).page.locator(".jp-CodeCell .cm-scroller")
    assert editors.count() == 3
    for editor in editors.all():
        assert editor.locator(".cm-lineWrapping").count() == 1
        assert editor.evaluate("element => element.scrollWidth <= element.clientWidth")


def test_a_slider_moves_table_and_picture(lab_page, small_notebook):
    page = lab_page(small_notebook)
    assert page.errors() == []
    before = page.picture("delay 0")
    assert page.table("delay 0") == "plain 3"
    page.press("delay 0", "ArrowRight", "ArrowRight")
    assert (page.table("delay 0"), page.readout("delay 0")) == ("plain 5", "5")
    moved = page.picture("delay 0")
    assert moved != before
    page.choose("kind 0", "loud")
    assert page.table("delay 0") == "loud 5"
    assert page.picture("delay 0") == moved
    page.press("delay 0", "End")
    assert page.table("delay 0") == "loud 9"
    page.press("delay 400", "Home")
    assert page.table("delay 400") == "plain 0"
    assert page.table("delay 0") == "loud 9"


def test_latency_is_that_of_the_kernel(lab_page, small_notebook):
    page = lab_page(small_notebook)
    page.slider("delay 400")
    slow = measure_latency(page.page, ["ArrowRight", "ArrowLeft"], quiet=150)
    page.slider("delay 0")
    fast = measure_latency(page.page, ["ArrowRight", "ArrowLeft"] * 3, quiet=300)
    assert len(fast) == 6 and len(slow) == 2
    assert min(slow) >= 400
    assert sorted(fast)[3] < 400
    page.page.keyboard.press("End")
    page.settle()
    with pytest.raises(AssertionError, match="changed nothing"):
        measure_latency(page.page, ["ArrowRight"], quiet=300)


def test_an_error_is_seen(lab_page, small_notebook):
    page = lab_page("tests/broken.ipynb")
    assert ["ZeroDivisionError" in error for error in page.errors()] == [True]
