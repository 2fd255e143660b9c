"""An answer without a language model: the best sentences of the sources, quoted exactly (chapter 07).

It cannot invent anything, needs no key and no model server, and is the yardstick for what a language model adds.
What it cannot do either: join two facts, count, or say no when a sentence only sounds like the question.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragkit.generation.base import NO_ANSWER, TextStream
from ragkit.generation.quotes import Quote, can_be_cited, find_quotes
from ragkit.wording import HAN, content_stems

if TYPE_CHECKING:
    from ragkit.context import Context
    from ragkit.embedding import Embedder

# Chosen on the dev half of the handbook's questions from a small grid of shares, thresholds and lengths, where the
# context holds the gold quote: English with MiniLM, Chinese with the multilingual model, whose cosines are lower.
# ``benchmarks/quotes.py`` measures both halves.
COSINE_SHARE = 2 / 3  # of the score; the question's words are the rest
MIN_SCORES = {"all-MiniLM-L6-v2": 0.25, "use-multilingual-v3": 0.2}
MIN_SCORE = 0.25  # for any other model, where nothing was measured
NEAR_BEST = 0.7  # of the best sentence's score; what is further below it is padding
MOST_SENTENCES = 3

_ENGLISH_ONLY = "all-MiniLM-L6-v2"
_HAN = re.compile(f"[{HAN}]")


class ExtractiveGenerator:
    """Answers with the sentences nearest to the question, each in a paragraph of its own with its [n] (chapter 07).

    How near a sentence is: two thirds cosine of its vector and the question's, one third the share of the
    question's content words in it, rare words counting more. A sentence must reach ``min_score``, and 0.7 of the
    best one's score; when none does, the answer is ``NO_ANSWER``. Quotes stand in the order of their sources. What
    two sources say in the same words is quoted once, with both marks.

    Args:
        embedder: None is the course's English model. That one cannot read Chinese: for a question in Chinese the
            multilingual one takes its place.
        most: the most sentences, at least 1.
        min_score: in [0, 1]; None takes what was measured for the embedder.
    """

    name = "extractive"

    def __init__(self, embedder: "Embedder | None" = None, *, most: int = MOST_SENTENCES,
                 min_score: float | None = None):
        if most < 1:
            raise ValueError(f"most ({most}) must be at least 1")
        if min_score is not None and not 0 <= min_score <= 1:
            raise ValueError(f"min_score ({min_score}) must lie in [0, 1]")
        self.embedder = embedder
        self.most, self.min_score = most, min_score

    def generate(self, question: str, context: "Context") -> TextStream:
        """The quotes, one piece of the stream each. The same question and context give the same answer."""
        return TextStream(lambda stream: self._pieces(question, context, stream))

    def _pieces(self, question: str, context: "Context", stream: TextStream) -> Iterator[str]:
        quotes = [quote for source in context for quote in find_quotes(source)]
        quotable = [quote for quote in quotes if can_be_cited(quote)]
        if len(quotable) < len(quotes):
            stream.notes += (f"not quoted, since they hold marks like [1] themselves: {len(quotes) - len(quotable)} "
                             "of the sources' sentences",)
        chosen = self.choose(question, quotable)
        if not chosen:
            yield NO_ANSWER
        for position, (quote, numbers) in enumerate(chosen):
            marks = "".join(f"[{number}]" for number in numbers)
            yield ("\n\n" if position else "") + f"{quote.text} {marks}"

    def choose(self, question: str, quotes: Sequence[Quote]) -> list[tuple[Quote, tuple[int, ...]]]:
        """The quotes that are given, in reading order, each with the numbers of the sources that say it."""
        from ragkit.context.duplicates import holds

        if not quotes:
            return []
        embedder = self._embedder_for(question)
        scores = _scores(question, quotes, embedder)
        least = MIN_SCORES.get(embedder.name, MIN_SCORE) if self.min_score is None else self.min_score
        least = max(least, NEAR_BEST * scores.max())
        chosen: dict[Quote, set[int]] = {}
        for quote in (quotes[i] for i in np.argsort(-scores, kind="stable") if scores[i] >= least):
            told = [other for other in chosen if holds(other.read_text, quote.read_text)]
            for other in told:
                if holds(quote.read_text, other.read_text):
                    chosen[other].add(quote.number)
            if not told and len(chosen) < self.most:
                chosen[quote] = {quote.number}
        return sorted(((quote, tuple(sorted(numbers))) for quote, numbers in chosen.items()),
                      key=lambda item: (item[1], item[0].start))

    def _embedder_for(self, question: str) -> "Embedder":
        from ragkit.embedding import shared_embedder

        if _HAN.search(question) and (self.embedder is None or self.embedder.name == _ENGLISH_ONLY):
            return shared_embedder("multilingual")
        return self.embedder or shared_embedder()


def _scores(question: str, quotes: Sequence[Quote], embedder: "Embedder") -> np.ndarray:
    """How near each quote is to the question, in [0, 1]; float64 of shape (quotes,)."""
    vectors = embedder.encode_passages([quote.read_text for quote in quotes])
    cosines = np.clip(vectors @ embedder.encode_queries([question])[0], 0.0, 1.0).astype(float)
    return COSINE_SHARE * cosines + (1 - COSINE_SHARE) * _word_shares(question, quotes)


def _word_shares(question: str, quotes: Sequence[Quote]) -> np.ndarray:
    """The share of the question's content words in each quote, in [0, 1], weighted by how few quotes have them."""
    wanted = set(content_stems(question))
    having = [wanted.intersection(content_stems(quote.read_text)) for quote in quotes]
    count = Counter(stem for stems in having for stem in stems)
    weights = {stem: math.log(1 + len(quotes) / (count[stem] + 0.5)) for stem in wanted}
    total = sum(weights.values())
    # Summed in a fixed order: sets are not, and a last bit may decide a tie.
    return np.array([sum(weights[stem] for stem in sorted(stems)) / total if total else 0.0 for stems in having])

