"""The picture of the lab of chapter 04: a document as a tree, and what is read of it."""

from collections.abc import Mapping, Sequence

from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from ragkit import plots
from ragkit.chunking import Chunk
from ragkit.hits import Hit

WIDEST = 32  # children that there is room for
_LOOKS = {"chunk": {"facecolor": "#F4F4F4", "edgecolor": plots.GREY, "linewidth": 0.8},
          "child that was hit, with its score":
              {"facecolor": plots.SKY, "edgecolor": plots.BLACK, "linewidth": 0.8, "hatch": "////"},
          "hit, but beyond evidence_top_k: not read":
              {"facecolor": "white", "edgecolor": plots.BLACK, "linewidth": 0.8, "hatch": "...."},
          "context that is read, with its rank": {"facecolor": "none", "edgecolor": plots.RED, "linewidth": 3}}
Box = list[tuple[float, float]]


class TreePicture:
    """Chunks as boxes, one row a level; beside it, gold found against characters read.

    Args:
        levels: rows of the tree.
        contexts: most contexts that are read.
        marks: label to (share of gold found, characters read) of what stays in the small plot.
        most: most characters that are ever read.
    """

    def __init__(self, levels: int, contexts: int, marks: Mapping[str, tuple[float, float]], marks_title: str,
                 title: str, most: float):
        self._levels = levels
        figure, (tree, total) = plots.new_figure(10.2, 3.9, columns=2)
        tree.get_subplotspec().get_gridspec().set_width_ratios([3, 1])
        tree.grid(visible=False)
        tree.spines[["left", "bottom"]].set_visible(False)
        tree.tick_params(length=0)
        tree.tick_params(axis="x", labelsize=7)
        tree.set(xlim=(0, WIDEST), ylim=(0.2, levels + 0.55), xticks=[n + 0.5 for n in range(WIDEST)],
                 xticklabels=[str(n + 1) for n in range(WIDEST)], yticks=range(1, levels + 1),
                 yticklabels=[f"level {level}" for level in range(levels, 0, -1)],
                 xlabel="children of the document, in reading order")
        self._plain, self._hit, self._left, self._read = (tree.add_collection(PolyCollection([], **look))
                                                          for look in _LOOKS.values())
        # The numbers of children that a document does not have are covered: to draw each anew would take longer.
        self._cover = tree.add_collection(PolyCollection(
            [], facecolor="white", edgecolor="none", clip_on=False, transform=tree.get_xaxis_transform()))
        # White behind the figures, as one artist: a box for each text would take longer to draw.
        self._paper = tree.add_collection(PolyCollection([], facecolor="white", edgecolor="none"))
        self._scores = [tree.text(0, 0, "", ha="center", va="center", fontsize=8, rotation=90)
                        for _ in range(WIDEST)]
        self._ranks = [tree.text(0, 0, "", ha="center", va="center", fontsize=8, weight="bold")
                       for _ in range(contexts)]
        self._title = tree.text(0, levels + 0.42, "", fontsize=10, va="bottom")
        tree.legend(handles=[Patch(**look) for look in _LOOKS.values()], labels=list(_LOOKS), ncols=2, fontsize=8,
                    frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), columnspacing=1.2)
        for (label, (found, read)), marker in zip(marks.items(), "os^", strict=True):
            total.plot([read], [found], linestyle="", marker=marker, markersize=8, markerfacecolor="white",
                       markeredgecolor=plots.BLACK, label=label)
        [self._now] = total.plot([], [], linestyle="", marker="*", markersize=15, color=plots.RED, label="now")
        total.set(xlim=(0, 1.08 * most), ylim=(0, 1), xlabel="characters read per answer",
                  ylabel="share of gold found", title=title)
        total.legend(fontsize=8, loc="lower right", title=marks_title, title_fontsize=8)
        self.live = plots.LivePicture(figure, [self._plain, self._hit, self._left, self._read, self._cover, self._paper,
                                               *self._scores, *self._ranks, self._title, self._now])

    def show(self, title: str, stretch: Sequence[Chunk], children: Sequence[Chunk], hits: Sequence[Hit],
             evidence: Sequence[Hit], now: tuple[float, float]) -> None:
        """Move everything into place; ``live`` draws it.

        Args:
            stretch: the chunks of all levels that are drawn; ``children`` the searched ones, in reading order.
            hits, evidence: those of them that are not in the stretch are not drawn.
            now: share of gold found and characters read, over all questions.
        """
        boxes = self._boxes(stretch, children)
        hit_here = [hit for hit in hits if hit.chunk.id in boxes]
        read_here = [(rank, hit) for rank, hit in enumerate(evidence, 1) if hit.chunk.id in boxes]
        self._plain.set_verts(list(boxes.values()))
        matched = {id_ for hit in evidence for id_ in hit.matched}
        for shown, is_read in ((self._hit, True), (self._left, False)):
            shown.set_verts([boxes[hit.chunk.id] for hit in hit_here if (hit.chunk.id in matched) == is_read])
        self._read.set_verts([boxes[hit.chunk.id] for _, hit in read_here])
        scores = [(*_at(boxes[hit.chunk.id], 0.42), f"{hit.score:.2f}") for hit in hit_here]
        ranks = [(*_at(boxes[hit.chunk.id], 0.86), str(rank)) for rank, hit in read_here]
        _write(self._scores, scores)
        _write(self._ranks, ranks)
        self._paper.set_verts([_corners(x - 0.32, y - 0.21, x + 0.32, y + 0.21) for x, y, _ in scores]
                              + [_corners(x - 0.3, y - 0.09, x + 0.3, y + 0.09) for x, y, _ in ranks])
        self._cover.set_verts([_corners(len(children), -0.065, WIDEST + 0.3, -0.005)] if len(children) < WIDEST else [])
        self._title.set_text(title)
        found, read = now
        self._now.set_data([read], [found])

    def _boxes(self, stretch: Sequence[Chunk], children: Sequence[Chunk]) -> dict[str, Box]:
        """The corners of each chunk's box: as wide as its children, the longest level on top."""
        boxes = {}
        for chunk in stretch:
            under = [number for number, child in enumerate(children) if chunk.start <= child.start < chunk.end]
            low = self._levels - chunk.level + 1 - 0.4
            boxes[chunk.id] = _corners(under[0] + 0.08, low, under[-1] + 0.92, low + 0.8)
        return boxes


def _corners(left: float, low: float, right: float, high: float) -> Box:
    return [(left, low), (left, high), (right, high), (right, low)]


def _at(box: Box, height: float) -> tuple[float, float]:
    """The middle of a box, at this share of its height."""
    (left, low), (right, high) = box[0], box[2]
    return (left + right) / 2, low + height * (high - low)


def _write(texts: Sequence, places: Sequence[tuple[float, float, str]]) -> None:
    """Put the words in their places; hide the texts left over."""
    for number, text in enumerate(texts):
        text.set_visible(number < len(places))
        if number < len(places):
            x, y, words = places[number]
            text.set(x=x, y=y, text=words)
