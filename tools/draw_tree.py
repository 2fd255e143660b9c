"""Draws notebooks/figures/tree.svg: the small tree on which chapter 04 builds auto-merging.

    python tools/draw_tree.py
"""

from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "notebooks" / "figures" / "tree.svg"
BOXES = {"A": (20, 20, 620), "B": (20, 110, 230), "C": (265, 110, 130), "D": (410, 110, 230),  # left, top, width
         "b1": (20, 200, 70), "b2": (100, 200, 70), "b3": (180, 200, 70), "c1": (265, 200, 60), "c2": (335, 200, 60),
         "d1": (410, 200, 70), "d2": (490, 200, 70), "d3": (570, 200, 70)}
PARENTS = {"B": "A", "C": "A", "D": "A", "b1": "B", "b2": "B", "b3": "B", "c1": "C", "c2": "C",
           "d1": "D", "d2": "D", "d3": "D"}
LEVELS = ("level 1: longest", "level 2", "level 3: searched")
HEIGHT = 44


def draw() -> str:
    """The tree as SVG; dark on white, so that it is read on any background."""
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 265" width="800" height="265" '
             'font-family="DejaVu Sans, Arial, sans-serif" font-size="16">', "<title>A small tree of chunks</title>",
             '<rect width="800" height="265" fill="white"/>']
    for child, parent in PARENTS.items():
        (left, top, width), (above, high, wide) = BOXES[child], BOXES[parent]
        x = min(max(left + width / 2, above + 12), above + wide - 12)
        lines.append(f'<line x1="{left + width / 2:g}" y1="{top}" x2="{x:g}" y2="{high + HEIGHT}" '
                     'stroke="#555555" stroke-width="1.5"/>')
    for name, (left, top, width) in BOXES.items():
        lines.append(f'<rect x="{left}" y="{top}" width="{width}" height="{HEIGHT}" rx="4" fill="#F4F4F4" '
                     'stroke="black" stroke-width="1.5"/>')
        lines.append(f'<text x="{left + width / 2:g}" y="{top + 28}" text-anchor="middle" fill="black">{name}</text>')
    for number, words in enumerate(LEVELS):
        lines.append(f'<text x="660" y="{48 + 90 * number}" font-size="14" fill="black">{words}</text>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(draw(), encoding="utf-8", newline="\n")
