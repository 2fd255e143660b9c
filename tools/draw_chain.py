"""Draws the map of the course: the chain from documents to citations, with the chapter of each link.

    python tools/draw_chain.py          # writes notebooks/figures/chain.svg; equal input, equal file
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).resolve().parent.parent / "notebooks" / "figures" / "chain.svg"
WIDTH, HEIGHT = 980, 474
BOX_WIDTH, BOX_HEIGHT, STEP, LEFT = 134, 62, 184, 72
INK, QUIET, PAPER = "#1A1A1A", "#555555", "#FFFFFF"


class Row(NamedTuple):
    """One line of the map: when it happens, its colours, and its links as (name, what it does, chapter)."""

    title: str
    top: int
    edge: str
    fill: str
    links: tuple[tuple[str, str, str], ...]


ROWS = (
    Row("Once, and when a document changes", 44, "#0072B2", "#E6F1F8", (
        ("documents", "read, with metadata", "01"), ("chunks", "cut into pieces", "01"),
        ("index", "made searchable", "02"))),
    Row("For every question: search (dashed: optional)", 166, "#9A6A00", "#FDF3DC", (
        ("recall", "encode, filter, search", "02, 03"), ("fuse", "several searches", "09"), ("rerank", "a closer look", "10"),
        ("expand", "child to parent", "04"), ("select", "top-k, threshold", "03"))),
    Row("For every question: answer or refuse", 302, "#00785A", "#E2F3EE", (
        ("refuse?", "is there no evidence?", "05"), ("context", "what the model reads", "06"),
        ("answer", "written from evidence", "07"), ("citations", "a source for each", "07"))),
)
OPTIONAL = {"fuse", "rerank"}
AROUND = ("Around the chain:  evaluation over labelled questions 08  ·  conversation and routing 11",
          "living index 12  ·  service 13  ·  outgrowing one machine 14  ·  capstone 15")


def text(x: float, y: float, words: str, size: int = 14, colour: str = INK, anchor: str = "middle",
         weight: str = "normal") -> str:
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def arrow(points: str) -> str:
    return f'<polyline points="{points}" fill="none" stroke="{QUIET}" stroke-width="1.6" marker-end="url(#tip)"/>'


def draw_row(row: Row) -> list[str]:
    parts = [text(LEFT + 36, row.top - 10, row.title, 14, row.edge, "start", "bold")]
    for number, (name, what, chapter) in enumerate(row.links):
        x = LEFT + number * STEP
        dashes = ' stroke-dasharray="6 4"' if name in OPTIONAL else ""
        parts += [
            f'<rect x="{x}" y="{row.top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8" fill="{row.fill}" '
            f'stroke="{row.edge}" stroke-width="1.8"{dashes}/>',
            text(x + BOX_WIDTH / 2, row.top + 21, name, 16, INK, weight="bold"),
            text(x + BOX_WIDTH / 2, row.top + 38, what, 11, INK),
            text(x + BOX_WIDTH / 2, row.top + 55, f"chapter {chapter}", 12, row.edge, weight="bold"),
        ]
        if number:
            parts.append(arrow(f"{x - STEP + BOX_WIDTH + 4},{row.top + 31} {x - 5},{row.top + 31}"))
    return parts


def down(x: float, top: int, into: float, next_top: int) -> str:
    """From under a box of one row into the top of a box of the next."""
    turn = next_top - 38
    return f"{x:g},{top + BOX_HEIGHT + 2} {x:g},{turn} {into:g},{turn} {into:g},{next_top - 4}"


def draw() -> str:
    """The whole figure as SVG."""
    prepare, search, answer = ROWS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">',
        '<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="7" refY="4" orient="auto">'
        f'<path d="M0,0 L9,4 L0,8 z" fill="{QUIET}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>',
        *(part for row in ROWS for part in draw_row(row)),
    ]
    # The index feeds recall; so does the question, which comes from the left.
    index, into = LEFT + 2 * STEP + BOX_WIDTH / 2, LEFT + 18
    parts += [arrow(down(index, prepare.top, into, search.top)),
              text(4, search.top + 22, "question", 12, INK, "start", "bold"),
              arrow(f"6,{search.top + 31} {LEFT - 5},{search.top + 31}"),
              arrow(down(LEFT + 4 * STEP + BOX_WIDTH / 2, search.top, into, answer.top)),
              text(LEFT + 4 * STEP + BOX_WIDTH / 2 - 8, search.top + BOX_HEIGHT + 18, "evidence: few", 12, INK, "end",
                   "bold")]
    # What recall brings are candidates: a note hangs from its arrow. What select keeps is evidence.
    gap = LEFT + BOX_WIDTH + (STEP - BOX_WIDTH) / 2
    parts += [f'<line x1="{gap:g}" y1="{search.top + 33}" x2="{gap:g}" y2="{search.top + BOX_HEIGHT + 6}" '
              f'stroke="{QUIET}" stroke-width="1.2" stroke-dasharray="2 3"/>',
              text(gap, search.top + BOX_HEIGHT + 18, "candidates: many", 12, INK, weight="bold")]
    # The way out of "refuse?".
    middle, under = LEFT + BOX_WIDTH / 2, answer.top + BOX_HEIGHT
    parts += [arrow(f"{middle:g},{under + 2} {middle:g},{under + 26}"),
              text(middle + 8, under + 18, "yes", 12, INK, "start", "bold"),
              text(gap, answer.top + 25, "no", 12, INK, weight="bold"),
              text(LEFT, under + 42, "a refusal, with its reason", 12, INK, "start", "bold")]
    parts += [text(LEFT, HEIGHT - 36 + 20 * number, line, 13, INK, "start") for number, line in enumerate(AROUND)]
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(draw(), encoding="utf-8", newline="\n")
