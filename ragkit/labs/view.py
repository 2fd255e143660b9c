"""The thin view that all labs share: controls, one text, one picture."""

import html
from collections.abc import Mapping
from functools import partial
from typing import Protocol

import ipywidgets as widgets

from ragkit.plots import LivePicture


class LabModel(Protocol):
    """What the view needs: an attribute for every control, and these two."""

    picture: LivePicture

    def html(self) -> str: ...
    def png(self) -> bytes: ...


class LabView(widgets.VBox):
    """Controls above, text and picture below. Each control sets the model's attribute of its name.

    What the controls show is what counts: when one moves, the model takes over all of them, also after code
    has set the model otherwise. A value that the model refuses (a ValueError) is shown as a sentence; text
    and picture stay as they were.

    Args:
        model: does all the work.
        controls: attribute name to widget, in the order of the page. Their values are taken from the model.
    """

    def __init__(self, model: LabModel, controls: Mapping[str, widgets.Widget]):
        self.model = model
        self.controls = dict(controls)
        self._text, self._error = widgets.HTML(), widgets.HTML()
        self._image = widgets.Image(format="png", layout={"align_self": "flex-start"})  # else it is stretched
        self._text.add_class("lab-text")
        self._image.add_class("lab-picture")
        self._error.add_class("lab-error")
        for name, control in self.controls.items():
            control.value = getattr(model, name)
            control.observe(partial(self._moved, name), names="value")
        super().__init__([*self.controls.values(), self._error, self._image, self._text])
        self.add_class("ragkit-lab")
        self.refresh()

    def refresh(self) -> None:
        """Show the model as it is now."""
        self._image.value = self.model.png()
        self._text.value = self.model.html()

    def _moved(self, name: str, change: dict) -> None:
        before = {each: getattr(self.model, each) for each in self.controls}
        try:
            shown = {each: control.value for each, control in self.controls.items()}
            self._set(shown | {name: change["new"]})
            self.refresh()
            self._error.value = ""
        except ValueError as error:
            self._set(before)
            self._error.value = f"<b>{html.escape(str(error))}</b>"

    def _set(self, values: Mapping[str, object]) -> None:
        for name, value in values.items():
            if getattr(self.model, name) != value:
                setattr(self.model, name, value)

    def __repr__(self) -> str:
        # This is what a static page shows in the place of the widget.
        return "Lab: run the notebook to move the controls."


def slider(description: str, low: int, high: int, step: int = 1) -> widgets.IntSlider:
    """A slider of whole numbers that updates while it moves, wide enough for its description."""
    return widgets.IntSlider(min=low, max=high, step=step, description=description, continuous_update=True,
                             style={"description_width": "10em"}, layout={"width": "34em"})


def float_slider(description: str, low: float, high: float, step: float) -> widgets.FloatSlider:
    """As ``slider``, for fractions."""
    return widgets.FloatSlider(min=low, max=high, step=step, description=description, continuous_update=True,
                               readout_format=".2f", style={"description_width": "10em"},
                               layout={"width": "34em"})


def choice(description: str, options: Mapping[str, object] | list) -> widgets.Dropdown:
    """A list to choose from."""
    return widgets.Dropdown(options=options, description=description,
                            style={"description_width": "10em"}, layout={"width": "34em"})


def text_area(description: str, rows: int = 6) -> widgets.Textarea:
    """A field for several lines of text that updates with every key."""
    return widgets.Textarea(description=description, continuous_update=True, rows=rows,
                            style={"description_width": "10em"}, layout={"width": "60em"})


def switch(description: str) -> widgets.Checkbox:
    """On or off."""
    return widgets.Checkbox(description=description, indent=False, layout={"margin": "0 0 0 10.5em", "width": "40em"})
