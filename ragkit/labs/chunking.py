"""The lab of chapter 01: where a chunker cuts a document, and which gold quotes it cuts in two.

The figure of the whole question set is counted once, when the lab is made, for every position of the
sliders; a move then only chunks the one document that is shown.
"""

import html
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ragkit.chunking import Chunk, FixedChunker, HeadingChunker, SentenceChunker
from ragkit.chunking.pieces import Piece, document_pieces
from ragkit.documents import Document
from ragkit.evaluation import Question, Span, gold_spans
from ragkit.labs.view import LabView, choice, slider
from ragkit.plots import BLUE, GREY, RED, LivePicture, new_figure

CHUNKERS = {"fixed": FixedChunker, "sentences": SentenceChunker, "headings": HeadingChunker}
SIZES = range(50, 1001, 50)
OVERLAPS = range(0, 201, 50)
CHOICES = ("travel-policy@3", "error-code-index@1", "ci-quayside@2", "hotel-and-meal-caps@1",
           "suzhou-attendance@3")

_LISTED = 3  # broken quotes that are spelled out above the text

# Pale enough for black text; the brackets and numbers say the same without colour.
_STYLE = """<style>
.rk-cut {max-height: 26em; overflow: auto; white-space: pre-wrap; border: 1px solid #999; padding: .6em;
 line-height: 1.7; font-family: sans-serif; color: #000; background: #fff}
.rk-cut .a {background: #dcecf7} .rk-cut .b {background: #fbeccb}
.rk-cut .o {background: repeating-linear-gradient(45deg, #cfcfcf 0 3px, #f4f4f4 3px 8px)}
.rk-cut b.n {font-size: 85%; color: #000; white-space: nowrap}
.rk-cut .whole {text-decoration: underline 2px #009E73}
.rk-cut .cut {text-decoration: underline wavy 2px #D55E00}
.rk-counts td, .rk-counts th {text-align: right; padding: 2px 10px}
.rk-counts td:first-child {text-align: left}
</style>"""


@dataclass(frozen=True)
class _Quoted:
    """A document with gold quotes in it, its pieces, and where the quotes begin and end."""

    document: Document
    pieces: list[Piece]
    starts: np.ndarray
    ends: np.ndarray


class ChunkingModel:
    """Set `document` ("id@version"), `chunker` ("fixed", "sentences", "headings"), `size` and `overlap`.

    Sizes and overlaps are in characters. Every distinct gold quote of the questions counts once; it is broken
    when no chunk holds all of it. `problem` is the sentence with which a chunker refuses the settings, else
    "". Headings know no overlap and leave it out of account.
    """

    def __init__(self, documents: Iterable[Document], questions: Iterable[Question], document: str) -> None:
        self._documents = {f"{one.id}@{one.version}": one for one in documents}
        by_key = {one.key: one for one in self._documents.values()}
        self._quotes: dict[str, list[Span]] = defaultdict(list)
        for span in sorted({span for question in questions for group in gold_spans(question, by_key)
                            for span in group}, key=lambda span: (span.start, span.end)):
            self._quotes[f"{span.document_id}@{span.version}"].append(span)
        self.quotes = sum(map(len, self._quotes.values()))
        self._quoted = [
            _Quoted(self._documents[name], document_pieces(self._documents[name]),
                    np.array([span.start for span in spans]), np.array([span.end for span in spans]))
            for name, spans in sorted(self._quotes.items())
        ]
        self.document, self.chunker, self.size, self.overlap = document, "fixed", 250, 0
        self._counted: dict[tuple[str, int, int], int] = {}
        for name in CHUNKERS:
            for overlap in OVERLAPS:
                self.curve(name, overlap)
        self._draw()

    @property
    def document(self) -> str:
        """The document that is shown, as "id@version"."""
        return self._document

    @document.setter
    def document(self, name: str) -> None:
        if name not in self._documents:
            raise ValueError(f"there is no document {name!r}; one is {next(iter(self._documents))!r}")
        self._document = name

    @property
    def chunker(self) -> str:
        """How it is cut."""
        return self._chunker

    @chunker.setter
    def chunker(self, name: str) -> None:
        if name not in CHUNKERS:
            raise ValueError(f"there is no chunker {name!r}; the chunkers are {', '.join(CHUNKERS)}")
        self._chunker = name

    @property
    def problem(self) -> str:
        """Why the settings cannot work, in the chunker's own words; "" when they can."""
        try:
            _make(self.chunker, self.size, self.overlap)
        except ValueError as error:
            return str(error)
        return ""

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks of the document that is shown. Raises ValueError when there is a `problem`."""
        return _make(self.chunker, self.size, self.overlap).chunk(self._documents[self.document])

    @property
    def broken_here(self) -> list[Span]:
        """The gold quotes of this document that no chunk holds."""
        return _broken(self.chunks, self._quotes[self.document])

    @property
    def quotes_here(self) -> int:
        """How many gold quotes this document has."""
        return len(self._quotes[self.document])

    @property
    def broken(self) -> int:
        """How many gold quotes of the whole question set are broken."""
        return self._count(self.chunker, self.size, self.overlap)

    def curve(self, chunker: str, overlap: int) -> np.ndarray:
        """Broken quotes in % of all, one value for each of `SIZES`; NaN where the settings are refused."""
        return np.array([
            np.nan if chunker != "headings" and overlap >= size else self._share(chunker, size, overlap)
            for size in SIZES
        ])

    def _share(self, name: str, size: int, overlap: int) -> float:
        return 100 * self._count(name, size, overlap) / max(self.quotes, 1)

    def _count(self, name: str, size: int, overlap: int) -> int:
        overlap = 0 if name == "headings" else overlap
        key = (name, size, overlap)
        if key not in self._counted:
            chunker = _make(name, size, overlap)
            self._counted[key] = sum(_count_broken(chunker, one) for one in self._quoted)
        return self._counted[key]

    def _draw(self) -> None:
        figure, (axes,) = new_figure(7.0, 3.2)
        axes.plot(SIZES, self.curve("fixed", 0), color=GREY, linestyle="--", label="fixed, overlap 0")
        (self._line,) = axes.plot(SIZES, np.zeros(len(SIZES)), color=BLUE, linewidth=2, marker=".",
                                  label="your settings")
        (self._point,) = axes.plot([], [], color=RED, marker="D", markersize=9, linestyle="none",
                                   label="you are here")
        self._words = axes.text(0.98, 0.62, "", transform=axes.transAxes, ha="right", va="top")
        axes.set(xlim=(0, 1030), ylim=(-2, 102), xlabel="size of a chunk, characters",
                 ylabel="broken gold quotes, %")
        axes.legend(loc="upper right", frameon=False)
        self._picture = LivePicture(figure, [self._line, self._point, self._words])

    @property
    def picture(self) -> LivePicture:
        """Broken quotes of the whole question set against the size, with the present settings marked."""
        self._line.set_ydata(self.curve(self.chunker, self.overlap))
        asked = self.chunker if self.chunker == "headings" else f"{self.chunker}, overlap {self.overlap}"
        if self.problem:
            self._point.set_data([], [])
            self._words.set_text(f"{asked}\nno chunks of size {self.size}")
        else:
            share = self._share(self.chunker, self.size, self.overlap)
            self._point.set_data([self.size], [share])
            self._words.set_text(f"{asked}\nsize {self.size}: {share:.1f} % broken")
        return self._picture

    def png(self) -> bytes:
        """The picture as an image."""
        return self.picture.png()

    def html(self) -> str:
        """The counts, and the document with its cuts; or the sentence that says why there are none."""
        if self.problem:
            return f"<p><b>No chunks: {html.escape(self.problem)}.</b></p>"
        chunks, document = self.chunks, self._documents[self.document]
        broken = _broken(chunks, self._quotes[self.document])
        everywhere = self._share(self.chunker, self.size, self.overlap)
        here = f"{100 * len(broken) / self.quotes_here:.1f} %" if self.quotes_here else "-"
        rows = [(html.escape(document.title), self.quotes_here, len(broken), here, len(chunks)),
                ("the whole question set", self.quotes, self.broken, f"{everywhere:.1f} %", "")]
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
        head = "".join(f"<th>{name}</th>" for name in ("", "gold quotes", "broken", "broken, %", "chunks"))
        key = ("<p>[3 begins chunk 3 and 3] ends it; hatched text is in more than one chunk. &#10003; is a "
               "gold quote that is whole (straight line), &#9986; one that is broken (wavy line).</p>")
        torn = [f"<li>{_torn(document.text, quote, chunks)}</li>" for quote in broken[:_LISTED]]
        if len(broken) > _LISTED:
            torn.append(f"<li>and {len(broken) - _LISTED} more</li>")
        shown = _marked(document.text, chunks, self._quotes[self.document], broken)
        return (f'{_STYLE}<table class="rk-counts"><tr>{head}</tr>{body}</table><ul>{"".join(torn)}</ul>{key}'
                f'<div class="rk-cut">{shown}</div>')


def chunking_lab(documents: Iterable[Document], questions: Iterable[Question],
                 choices: Sequence[str] = CHOICES) -> LabView:
    """The lab (chapter 01). Counting the whole question set at every position takes a few seconds."""
    documents = list(documents)
    model = ChunkingModel(documents, questions, choices[0])
    titles = {f"{one.id}@{one.version}": one.title for one in documents}
    return LabView(model, {
        "document": choice("document", {titles[name]: name for name in choices}),
        "chunker": choice("chunker", list(CHUNKERS)),
        "size": slider("size", SIZES[0], SIZES[-1], SIZES.step),
        "overlap": slider("overlap", OVERLAPS[0], OVERLAPS[-1], OVERLAPS.step),
    })


def _make(name: str, size: int, overlap: int) -> FixedChunker | SentenceChunker | HeadingChunker:
    return HeadingChunker(size) if name == "headings" else CHUNKERS[name](size, overlap)


def _broken(chunks: list[Chunk], quotes: list[Span]) -> list[Span]:
    return [quote for quote in quotes if not any(quote.inside(chunk) for chunk in chunks)]


def _count_broken(chunker: FixedChunker | SentenceChunker | HeadingChunker, quoted: _Quoted) -> int:
    """How many of a document's quotes lie in no chunk whole."""
    if isinstance(chunker, FixedChunker):
        # Of the chunks that begin at or before the quote, the last reaches furthest. Only a letter with
        # combining marks makes a fixed cut move, and the handbook has none (a test compares the two ways).
        step = chunker.size - chunker.overlap
        furthest = quoted.starts // step * step + chunker.size
    else:
        spans = np.array(chunker.spans(quoted.document.text, quoted.pieces)).reshape(-1, 2)
        last = np.searchsorted(spans[:, 0], quoted.starts, side="right") - 1
        furthest = spans[last, 1]
    return int((quoted.ends > furthest).sum())


def _torn(text: str, quote: Span, chunks: list[Chunk]) -> str:
    """A broken quote as HTML, with scissors where chunks end inside it."""
    edges = [quote.start, *(chunk.end for chunk in chunks if quote.start < chunk.end < quote.end), quote.end]
    return " <b>&#9986;</b> ".join(html.escape(text[start:end]) for start, end in zip(edges, edges[1:]))


def _marked(text: str, chunks: list[Chunk], quotes: list[Span], broken: list[Span]) -> str:
    """The text as HTML: brackets and colours for chunks, lines and signs for quotes."""
    opening, closing = defaultdict(str), defaultdict(str)
    for number, chunk in enumerate(chunks, 1):
        opening[chunk.start] += f'<b class="n">[{number}&nbsp;</b>'
        closing[chunk.end] += f'<b class="n">&nbsp;{number}]</b>'
    for quote in quotes:
        opening[quote.start] += f'<b class="n">{"&#9986;" if quote in broken else "&#10003;"}</b>'
    edges = {0, len(text)}
    for span in (*chunks, *quotes):
        edges |= {span.start, span.end}
    edges = sorted(edges)
    shown, first = [], 0
    for start, end in zip(edges, edges[1:] + [len(text)]):
        while first < len(chunks) and chunks[first].end <= start:
            first += 1  # chunks end in the order in which they begin
        candidates = range(first, min(first + 2, len(chunks)))
        inside = [number for number in candidates if chunks[number].start <= start]
        around = [quote for quote in quotes if quote.start <= start and end <= quote.end]
        kind = "" if not inside else "o" if len(inside) > 1 else "ab"[inside[0] % 2]
        line = "" if not around else "cut" if any(quote in broken for quote in around) else "whole"
        part = html.escape(text[start:end])
        shown.append(f'{closing[start]}{opening[start]}<span class="{kind} {line}">{part}</span>' if part
                     else closing[start] + opening[start])
    return "".join(shown)
