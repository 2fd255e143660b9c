"""Figures: one look for all chapters, and pictures that a lab can redraw in milliseconds.

Colours are those of Okabe & Ito (2008), told apart by people who are colour-blind and, by their
lightness, in grey. A figure is shown as an image with alternative text that says what to see.
"""

import io
from collections.abc import Sequence

from matplotlib import font_manager, rcParams
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, SKY, RED, GREY, BLACK = (
    "#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#999999", "#000000")
DPI = 96
CHINESE_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei",
                 "WenQuanYi Zen Hei", "Microsoft YaHei", "SimHei", "PingFang SC", "Hiragino Sans GB", "Heiti TC")


def chinese_font() -> str | None:
    """The first installed font that has Chinese characters, or None."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return next((name for name in CHINESE_FONTS if name in installed), None)


def new_figure(width: float = 7.0, height: float = 3.2, columns: int = 1) -> tuple[Figure, list]:
    """An empty figure of ``width`` by ``height`` inches, and its ``columns`` axes side by side.

    It is drawn without pyplot, so nothing is left open and no window system is needed.
    """
    rcParams["font.family"] = ["DejaVu Sans", *filter(None, [chinese_font()])]
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, columns, number + 1) for number in range(columns)]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(axis="y", color="#DDDDDD", linewidth=0.8)
        one.set_axisbelow(True)
    return figure, axes


def png(figure: Figure) -> bytes:
    """The figure as a PNG, without the date or the library's version in it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def show(figure: Figure, alt: str):
    """The figure for the end of a cell, with alternative text: what a reader should see in it."""
    from IPython.display import Image

    if not alt.strip():
        raise ValueError("a figure needs alternative text: one sentence that says what to see")
    return Image(data=png(figure), format="png", alt=alt)


class LivePicture:
    """A figure of which only some artists change: the rest is drawn once and kept (a *blit*).

    Redrawing takes a few milliseconds instead of the tens that a whole figure takes.

    Args:
        figure: finished, with everything in it that ever will be.
        moving: the artists that ``png`` draws anew each time; change them by their own methods.
    """

    def __init__(self, figure: Figure, moving: Sequence[Artist]):
        self.figure, self._moving = figure, list(moving)
        for artist in self._moving:
            artist.set_animated(True)
        self._canvas = figure.canvas
        self._canvas.draw()
        figure.set_layout_engine("none")  # what is laid out stays, whatever the moving parts do
        self._canvas.draw()
        self._still = self._canvas.copy_from_bbox(figure.bbox)

    def png(self) -> bytes:
        """The picture as it is now."""
        from PIL import Image

        self._canvas.restore_region(self._still)
        for artist in self._moving:
            self.figure.draw_artist(artist)
        buffer = io.BytesIO()
        pixels = Image.frombuffer("RGBA", self._canvas.get_width_height(), self._canvas.buffer_rgba(), "raw",
                                  "RGBA", 0, 1).convert("RGB")
        pixels.save(buffer, format="PNG", compress_level=1)  # a little larger, and ten times faster
        return buffer.getvalue()
