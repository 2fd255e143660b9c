"""The frame of the report page, and its figures (chapter 08). One file: nothing is fetched, nothing runs."""

import base64
import html
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ragkit.evaluation.scorecard import ScoreGroup
from ragkit.plots import BLUE, DPI, ORANGE, RED, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PHONE = 3.6  # inches: a figure of this width is shown in full size on a phone
FINE = 2 * DPI  # sharp on screens that have two dots where others have one
_LINE = 0.34  # inches that a row of a figure takes

STYLE = """
:root { color-scheme: light dark; --line: #c8ccd2; --soft: #f3f5f7; --red: #a83c00; --green: #00664a; }
@media (prefers-color-scheme: dark) {
  :root { --line: #4a4f57; --soft: #23272d; --red: #ff9d66; --green: #5fd3ae; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem;
       overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; }
.box { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap;
         overflow-wrap: normal; }
thead th { background: var(--soft); }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; }  /* the names stay in sight */
td:first-child { background: Canvas; }
figure { margin: 1rem 0; } figcaption { font-size: .875rem; }
img { display: block; max-width: 100%; height: auto; background: white; }
details { border-top: 1px solid var(--line); padding: .4rem 0; }
summary { cursor: pointer; } summary code { font-size: .8125rem; }
dl { margin: .5rem 0 .5rem 1rem; } dt { font-weight: 600; font-size: .8125rem; } dd { margin: 0 0 .5rem; }
dd, td.text { white-space: pre-wrap; }
.red { color: var(--red); font-weight: 600; } .green { color: var(--green); font-weight: 600; }
footer { margin-top: 2rem; font-size: .8125rem; }
"""


def page(title: str, body: str) -> str:
    """A whole HTML page; ``title`` is escaped here, ``body`` must be escaped already."""
    name = escape(title)
    return ("<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
            # Should anything ever slip through the escaping: no script runs here, and nothing is fetched.
            "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; img-src data:; "
            "style-src 'unsafe-inline'\">\n"
            f"<title>{name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n{body}\n"
            "</body>\n</html>\n")


def escape(value: object) -> str:
    """Text as it is to be read, whatever is in it."""
    return html.escape(str(value))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls in its own box where the page is narrow; reachable by keyboard, as it scrolls."""
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>\n"

    body = "".join(line(row, "td") for row in rows)
    return (f"<div class='box' tabindex='0' role='region' aria-label='{escape(head[0])}'><table><thead>"
            f"{line(head, 'th')}</thead><tbody>\n{body}</tbody></table></div>\n")


def picture(figure: "Figure", alt: str, caption: str) -> str:
    """A figure as an inline PNG, shown in the size it was drawn for."""
    width = round(figure.get_size_inches()[0] * DPI)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=FINE, metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode()
    image = f"<img alt='{escape(alt)}' width='{width}' src='data:image/png;base64,{data}'>"
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>\n"


def kinds_picture(kinds: Mapping[str, ScoreGroup], k: int) -> str:
    """For each kind of question: the share that was found, and that was answered, or refused, as it should."""
    names = list(kinds)
    found = [kinds[name].metrics["recall"].value for name in names]
    decided = [_rightly(kinds[name]) for name in names]
    figure, (axes,) = new_figure(PHONE, 1.0 + _LINE * len(names))
    places = range(len(names))
    for values, shift, colour, label in ((found, -0.18, BLUE, f"recall at {k}"),
                                         (decided, 0.18, ORANGE, "answered, or refused, as it should be")):
        shown = [(place + shift, value) for place, value in zip(places, values, strict=True) if value is not None]
        axes.barh([place for place, _ in shown], [value for _, value in shown], 0.34, color=colour, label=label,
                  edgecolor="white", hatch="//" if colour == ORANGE else "")
    _rows(axes, [f"{name} ({kinds[name].questions})" for name in names])
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the questions (or of their gold)")
    figure.legend(loc="outside upper left", fontsize=8, frameon=False)
    told = "By kind: " + "; ".join(f"{name} recall {_said(one)}, rightly decided {_said(other)}"
                                   for name, one, other in zip(names, found, decided, strict=True))
    return picture(figure, told, "What was found and what was decided, for each kind of question (how many there are).")


def narrow(figure: "Figure") -> "Figure":
    """A figure of one part, made for a notebook, laid out anew for the width of a phone."""
    figure.set_size_inches(PHONE, figure.get_size_inches()[1])
    for axes in figure.axes:
        axes.tick_params(labelsize=8)
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.label.set_size(8)
        axes.xaxis.label.set_wrap(True)
        if (legend := axes.get_legend()) is not None:
            handles, names = axes.get_legend_handles_labels()
            legend.remove()
            figure.legend(handles, names, loc="outside upper left", fontsize=8, frameon=False, ncols=len(names))
    return figure


def verdicts_picture(verdicts: Iterable[str]) -> str:
    """How many wrong questions each verdict has, in the order given."""
    counts = Counter(verdicts)
    if not counts:
        return ""
    figure, (axes,) = new_figure(PHONE, 0.9 + _LINE * len(counts))
    bars = axes.barh(range(len(counts)), list(counts.values()), 0.6, color=RED)
    axes.bar_label(bars, padding=3, fontsize=9)
    axes.margins(x=0.12)
    _rows(axes, [name.replace("_", " ") for name in counts])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("questions")
    told = "Wrong questions by verdict: " + "; ".join(f"{name.replace('_', ' ')} {count}"
                                                      for name, count in counts.items())
    return picture(figure, told, "Where the wrong questions were lost, in the order of the chain.")


def _rows(axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.xaxis.label.set_size(8)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.8)


def _rightly(group: ScoreGroup) -> float:
    refusals = group.refusals
    return (refusals.rightly_answered + refusals.rightly_refused) / group.questions


def _said(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"
