"""Lab of chapter 02: two sentences, and a question against a map of the handbook.

The map is the plane of the two directions in which the chunks' vectors vary most (principal components).

Source: Pearson (1901), "On lines and planes of closest fit to systems of points in space".
"""

import html
import math
from collections.abc import Collection, Mapping

import ipywidgets as widgets
import numpy as np

from ragkit.documents import DocumentKey
from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import Question, found_groups, gold_spans, load_questions
from ragkit.filters import select_documents
from ragkit.index import FaissIndex, Match, VectorIndex
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs.view import LabView, choice, slider
from ragkit.plots import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, LivePicture, new_figure
from ragkit.wording import shortened

MAX_K = 20
NUMBERED = 8  # nearest chunks that carry their rank on the map; more would cover each other
# The topics that lie apart, each with a mark and a colour of its own; more colours could not be told apart.
TOPICS = {"suzhou": ("*", SKY), "product": ("P", BLUE), "engineering": ("o", GREEN), "people": ("<", ORANGE),
          "travel": ("p", RED)}
ANGLES = np.linspace(0, 2 * np.pi, 24, endpoint=False)


class EmbeddingLab:
    """A question, its ``k`` nearest chunks on a map, and the cosine of two sentences.

    It searches what is in force and public, with the knowledge base's vectors; shared words are compared by
    the hashing embedder on the same chunks.

    Attributes:
        question: id of one of ``questions``.
        own_question: asked instead when not blank; nobody has said what its gold evidence is.
        k: how many nearest chunks, 1 to 20.
        first, second: two sentences to compare; not blank.
        questions: the English dev questions whose gold evidence is in force and public, by id.
        recalls: Recall@1 to Recall@20 over ``questions``, by embedder: "meaning" and "words".
    """

    def __init__(self, kb: KnowledgeBase):
        current = select_documents(kb.documents).allowed
        self.passages = [chunk for chunk in kb.chunks if (chunk.document_id, chunk.version) in current]
        self._chunks = {chunk.id: chunk for chunk in self.passages}
        self._embedder, self._words = kb.embedder, HashingEmbedder()
        ids = [chunk.id for chunk in self.passages]
        vectors = kb.corpus.index.reconstruct(ids)
        self._index, by_words = FaissIndex(kb.embedder.dimension), FaissIndex(self._words.dimension)
        self._index.add(ids, vectors)
        by_words.add(ids, self._words.encode_passages([chunk.embedded_text for chunk in self.passages]))

        asked = load_questions(split="dev", language="en", answerable=True)
        self.questions = {question.id: question for question in asked if _gold_in(question, current)}
        self._gold = {id_: gold_spans(question, kb.documents) for id_, question in self.questions.items()}
        texts = [question.question for question in self.questions.values()]
        encoded = self._embedder.encode_queries(texts)
        self._encoded = dict(zip(texts, encoded, strict=True))
        self.recalls = {"meaning": self._curve(self._index, encoded),
                        "words": self._curve(by_words, self._words.encode_queries(texts))}

        self._centre = vectors.mean(axis=0)
        _, singular, directions = np.linalg.svd(vectors - self._centre, full_matrices=False)
        self._plane = directions[:2].T
        self.share = float((singular[:2] ** 2).sum() / (singular ** 2).sum())
        self._points = dict(zip(ids, (vectors - self._centre) @ self._plane, strict=True))

        self._question, self._own_question, self._k = next(iter(self.questions)), "", 8
        self._first = "Sticks found in the car park must be handed to the service desk."
        self._second = "There was a memory stick lying by the entrance, what now?"
        self.picture = self._draw({document.key: document.topic for document in kb.documents})
        self.png()

    @property
    def question(self) -> str:
        return self._question

    @question.setter
    def question(self, value: str) -> None:
        if value not in self.questions:
            raise ValueError(f"there is no question {value!r} in this lab")
        self._question = value

    @property
    def own_question(self) -> str:
        return self._own_question

    @own_question.setter
    def own_question(self, value: str) -> None:
        self._own_question = value.strip()

    @property
    def k(self) -> int:
        return self._k

    @k.setter
    def k(self, value: int) -> None:
        if not 1 <= value <= MAX_K:
            raise ValueError(f"k ({value}) must lie between 1 and {MAX_K}")
        self._k = int(value)

    @property
    def first(self) -> str:
        return self._first

    @first.setter
    def first(self, value: str) -> None:
        self._first = _sentence("first", value)

    @property
    def second(self) -> str:
        return self._second

    @second.setter
    def second(self, value: str) -> None:
        self._second = _sentence("second", value)

    @property
    def text(self) -> str:
        """The question that is asked."""
        return self.own_question or self.questions[self.question].question

    @property
    def recall(self) -> dict[str, float]:
        """Recall@k over all questions at the current k, by embedder, in [0, 1]."""
        return {name: curve[self.k - 1] for name, curve in self.recalls.items()}

    def pair(self) -> dict[str, float]:
        """Cosine of the two sentences, by embedder, in [-1, 1]."""
        words = self._words.encode_passages([self.first, self.second])
        return {"meaning": _cosine(self._encode(self.first), self._encode(self.second)),
                "words": _cosine(*words)}

    def nearest(self) -> list[Match]:
        """The ``k`` chunks nearest to the question, best first."""
        return self._index.search(self._encode(self.text), self.k)

    def holds_gold(self, id_: str) -> bool | None:
        """Whether a chunk holds a gold quote of the question; None for a question of one's own."""
        if self.own_question:
            return None
        return any(found_groups([self._chunks[id_]], self._gold[self.question]))

    def html(self) -> str:
        pair, recall = self.pair(), self.recall
        angle = math.degrees(math.acos(pair["meaning"]))
        rows = "".join(self._row(rank, match) for rank, match in enumerate(self.nearest(), 1))
        return (
            f"<p><b>The two sentences:</b> cosine {pair['meaning']:.3f} by meaning "
            f"(an angle of {angle:.0f} degrees), {pair['words']:.3f} by shared words.</p>"
            f"<p><b>Recall@{self.k}</b> over {len(self.questions)} questions: "
            f"{recall['meaning']:.3f} by meaning, {recall['words']:.3f} by shared words.</p>"
            f"<p><b>The {self.k} nearest to:</b> {html.escape(self.text)}</p>"
            "<table><thead><tr><th>rank</th><th>cosine</th><th>gold?</th>"
            "<th style='text-align:left'>document</th>"
            f"<th style='text-align:left'>passage</th></tr></thead><tbody>{rows}</tbody></table>")

    def png(self) -> bytes:
        """The picture for the current question and k."""
        found = self.nearest()
        places = np.array([self._points[match.id] for match in found])
        self._rings.set_data(*places.T)
        held = np.array([bool(self.holds_gold(match.id)) for match in found])
        self._golds.set_data(*places[held].T)
        star = (self._encode(self.text) - self._centre) @ self._plane
        self._star.set_data(*star[:, None])
        pixels = self._plane_axis.transData.transform([*places, star])
        beside = _beside(pixels[:NUMBERED][:len(found)], pixels, self._plane_axis.bbox.extents)
        beside = self._plane_axis.transData.inverted().transform(beside)
        for number, label in enumerate(self._labels):
            label.set_visible(number < len(found))
            if number < len(found):
                label.set_position(beside[number])
        gaps = np.full((len(beside), 2), np.nan)  # NaN lifts the pen between one leader and the next
        self._leaders.set_data(*np.stack([places[:NUMBERED], beside, gaps], axis=1).reshape(-1, 2).T)
        for point, curve in zip(self._markers, self.recalls.values(), strict=True):
            point.set_data([self.k], [curve[self.k - 1]])
        return self.picture.png()

    def _row(self, rank: int, match: Match) -> str:
        chunk, held = self._chunks[match.id], self.holds_gold(match.id)
        mark = {None: "?", True: "<b>&#10003; yes</b>", False: "no"}[held]
        return (f"<tr><td>{rank}</td><td>{match.score:.3f}</td><td>{mark}</td>"
                f"<td style='text-align:left'>{html.escape(chunk.document_id)}</td>"
                f"<td style='text-align:left'>{html.escape(shortened(chunk.text, 110))}</td></tr>")

    def _encode(self, text: str) -> np.ndarray:
        if text not in self._encoded:
            self._encoded[text] = self._embedder.encode_queries([text])[0]
        return self._encoded[text]

    def _curve(self, index: VectorIndex, encoded: np.ndarray) -> list[float]:
        """Recall@1 to Recall@20. A gold group counts from the rank of the first chunk that holds it."""
        shares = np.zeros((len(encoded), MAX_K))
        for row, (vector, gold) in enumerate(zip(encoded, self._gold.values(), strict=True)):
            found = [self._chunks[match.id] for match in index.search(vector, MAX_K)]
            for group in gold:
                holds = [any(span.inside(chunk) for span in group) for chunk in found]
                rank = holds.index(True) if True in holds else MAX_K
                shares[row, rank:] += 1 / len(gold)
        return shares.mean(axis=0).tolist()

    def _draw(self, topics: Mapping[DocumentKey, str | None]) -> LivePicture:
        figure, (plane, curve) = new_figure(10.4, 4.6, columns=2)
        of = [topics[chunk.document_id, chunk.version] for chunk in self.passages]
        points = np.array([self._points[chunk.id] for chunk in self.passages])
        for topic in (None, *TOPICS):  # the grey ones first, below the others
            marker, colour = TOPICS.get(topic, (".", GREY))
            chosen = points[[one == topic if topic else one not in TOPICS for one in of]]
            plane.plot(*chosen.T, marker, markersize=4, alpha=0.55, markeredgewidth=0, color=colour,
                       label=topic or "other topics")
        plane.set(xlabel="first direction (no unit)", ylabel="second direction (no unit)",
                  title=f"The handbook: {self.share:.0%} of the variance", aspect="equal")
        plane.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, fontsize=9, markerscale=1.8,
                     frameon=False, handletextpad=0.1, columnspacing=1)
        ks = range(1, MAX_K + 1)
        for name, style in (("meaning", "-"), ("words", "--")):
            curve.plot(ks, self.recalls[name], style, color=BLACK, label=f"by {name}")
        curve.set(xlabel="k (passages looked at)", ylabel="Recall@k (share of gold found)",
                  xlim=(0, MAX_K + 0.5), ylim=(0, 1.02), xticks=[1, 4, 8, 12, 16, 20],
                  title=f"{len(self.questions)} dev questions")
        curve.legend(loc="lower right", frameon=False)

        self._rings, = plane.plot([], [], "o", markersize=8, markerfacecolor="none", markeredgecolor=BLACK,
                                  markeredgewidth=1.2)
        self._golds, = plane.plot([], [], "s", markersize=15, markerfacecolor="none", markeredgecolor=RED,
                                  markeredgewidth=2)
        self._star, = plane.plot([], [], "*", markersize=17, color="white", markeredgecolor=BLACK,
                                 markeredgewidth=1.4)
        self._leaders, = plane.plot([], [], "-", color=BLACK, linewidth=0.7)
        self._plane_axis = plane
        self._labels = [plane.text(0, 0, str(rank), fontsize=10, fontweight="bold", ha="center", va="center",
                                   bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.6})
                        for rank in range(1, NUMBERED + 1)]
        self._markers = [curve.plot([], [], marker, markersize=10, color=BLUE)[0] for marker in "oD"]
        return LivePicture(figure, [self._leaders, self._rings, self._golds, self._star, *self._labels, *self._markers])


def embedding_lab(kb: KnowledgeBase) -> LabView:
    """The lab on a knowledge base of the handbook (chapter 02)."""
    model = EmbeddingLab(kb)
    wide = {"style": {"description_width": "10em"}, "layout": {"width": "52em"}, "continuous_update": False}
    options = {f"{question.kind}: {question.question}": id_ for id_, question in sorted(
        model.questions.items(), key=lambda item: (item[1].kind, item[0]))}
    questions = choice("question", options)
    questions.layout.width = wide["layout"]["width"]
    return LabView(model, {
        "first": widgets.Text(description="first sentence", **wide),
        "second": widgets.Text(description="second sentence", **wide),
        "question": questions,
        "own_question": widgets.Text(description="your own question",
                                     placeholder="leave empty to ask the one above", **wide),
        "k": slider("k", 1, MAX_K),
    })


def _gold_in(question: Question, documents: Collection[DocumentKey]) -> bool:
    return all(any((gold.document, gold.version) in documents for gold in group) for group in question.gold)


def _beside(rings: np.ndarray, marks: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Where the numbers of some rings go, in pixels: near their ring, clear of all marks and other numbers."""
    around = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
    ways = np.concatenate([radius * around for radius in (17, 27, 39, 53, 69)])
    placed: list[np.ndarray] = []
    for ring in rings:
        spots = ring + ways
        room = np.linalg.norm(spots[:, None] - np.array([*marks, *placed]), axis=2).min(axis=1)
        room[((spots < box[:2] + 8) | (spots > box[2:] - 8)).any(axis=1)] = 0
        placed.append(spots[np.argmax(np.minimum(room, 16))])  # the first with room enough is the nearest
    return np.array(placed)


def _sentence(name: str, value: str) -> str:
    if not value.strip():
        raise ValueError(f"the {name} sentence is empty; write one")
    return value


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.clip(a @ b, -1, 1))
