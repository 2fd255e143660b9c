"""The view that all labs share, without a browser."""

import ipywidgets as widgets
import pytest

from ragkit.labs.view import LabView, slider
from ragkit.plots import LivePicture, new_figure


class Model:
    def __init__(self):
        self.low, self.high = 1, 5
        figure, (axes,) = new_figure()
        self.picture = LivePicture(figure, axes.plot([0, 1]))

    def html(self):
        if self.low > self.high:
            raise ValueError(f"low <{self.low}> is above high")
        return f"{self.low} {self.high}"

    def png(self):
        return b"png"


@pytest.fixture
def view():
    return LabView(Model(), {"low": slider("low", 0, 9), "high": slider("high", 0, 9)})


def test_controls_begin_with_the_model_and_move_it(view):
    assert (view.controls["low"].value, view.controls["high"].value, view._text.value) == (1, 5, "1 5")
    view.controls["low"].value = 4
    assert (view.model.low, view._text.value, view._error.value) == (4, "4 5", "")


def test_a_refused_value_is_a_sentence_until_the_controls_fit_again(view):
    view.controls["low"].value = 7
    assert (view.model.low, view._text.value) == (1, "1 5")
    assert view._error.value == "<b>low &lt;7&gt; is above high</b>"
    view.controls["high"].value = 8  # the slider still shows 7, so the model is at 7
    assert (view.model.low, view.model.high, view._text.value, view._error.value) == (7, 8, "7 8", "")


def test_after_code_has_moved_the_model_the_controls_count(view):
    view.model.low = 3
    view.refresh()
    assert view._text.value == "3 5"
    view.controls["high"].value = 6
    assert view._text.value == "1 6"


def test_the_picture_keeps_its_size(view):
    picture = next(child for child in view.children if isinstance(child, widgets.Image))
    assert picture.layout.align_self == "flex-start"
