"""Retrieval metrics at k, over document ids and over gold spans (chapter 08).

Pure functions: nothing that is handed in is changed. All are in [0, 1], higher is better, and are None where
nothing is relevant: a question that has no answer cannot be answered badly by a search.

Over ids they agree with trec_eval and ir-measures, for a ranking whose ties are settled (``rank``). Over spans a
chunk is relevant when it holds a gold quote whole, and each group of gold counts once.

Sources: Manning, Raghavan & Schütze (2008), "Introduction to Information Retrieval", sections 8.3 and 8.4;
Järvelin & Kekäläinen (2002), "Cumulated Gain-Based Evaluation of IR Techniques".
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Literal, NamedTuple

from ragkit.chunking import Chunk
from ragkit.evaluation.questions import Gold, Span, check_k
from ragkit.evaluation.questions import recall_at_k as groups_recalled
from ragkit.hits import Hit

Relevance = Mapping[str, int]
Metric = Callable[[Sequence[str], Relevance, int], float | None]


class Mean(NamedTuple):
    """A mean and its denominator; ``value`` is None when nothing was averaged."""

    value: float | None
    n: int


def rank(scores: Mapping[str, float]) -> list[str]:
    """Ids, best first: by score, and equal scores by id. The order of the mapping has no part in it.

    Raises:
        ValueError: a score is NaN; names the id.
    """
    for id_, score in scores.items():
        if math.isnan(score):
            raise ValueError(f"the score of {id_!r} is NaN; it has no place in a ranking")
    return sorted(scores, key=lambda id_: (-scores[id_], id_))


def recall_at_k(ranked: Sequence[str], relevance: Relevance, k: int) -> float | None:
    """Share of what is relevant that stands among the first ``k``.

    Args:
        ranked: ids, best first; an id that comes again counts where it came first, and takes no second place.
        relevance: grade by id; relevant is what has a grade above 0. What is not named is not relevant.
        k: at least 1.
    """
    gains, ideal = _gains(ranked, relevance, k)
    return sum(gain > 0 for gain in gains) / len(ideal) if ideal else None


def precision_at_k(ranked: Sequence[str], relevance: Relevance, k: int) -> float | None:
    """Share of ``k`` places that hold something relevant; a place left empty counts as a miss."""
    gains, ideal = _gains(ranked, relevance, k)
    return sum(gain > 0 for gain in gains) / k if ideal else None


def hit_rate_at_k(ranked: Sequence[str], relevance: Relevance, k: int) -> float | None:
    """1.0 when anything relevant stands among the first ``k``, else 0.0 (also called success at k)."""
    gains, ideal = _gains(ranked, relevance, k)
    return float(any(gain > 0 for gain in gains)) if ideal else None


def reciprocal_rank(ranked: Sequence[str], relevance: Relevance, k: int) -> float | None:
    """One divided by the rank of the first that is relevant; 0.0 when none is among the first ``k``.

    Its mean over questions is the MRR.
    """
    gains, ideal = _gains(ranked, relevance, k)
    return _reciprocal(_ranks(gains)) if ideal else None


def average_precision(ranked: Sequence[str], relevance: Relevance, k: int) -> float | None:
    """Mean, over all that is relevant, of the precision at its rank; 0 for what is not among the first ``k``.

    Its mean over questions is the MAP.
    """
    gains, ideal = _gains(ranked, relevance, k)
    return _average_precision(_ranks(gains), len(ideal)) if ideal else None


def ndcg_at_k(ranked: Sequence[str], relevance: Relevance, k: int) -> float | None:
    """Sum of grade / log2(1 + rank) over the first ``k``, divided by what the best order would give."""
    gains, ideal = _gains(ranked, relevance, k)
    return _discounted(enumerate(gains, 1)) / _discounted(enumerate(ideal[:k], 1)) if ideal else None


METRICS: dict[str, Metric] = {
    "recall": recall_at_k, "precision": precision_at_k, "hit_rate": hit_rate_at_k,
    "reciprocal_rank": reciprocal_rank, "average_precision": average_precision, "ndcg": ndcg_at_k}


def over_queries(metric: Metric, rankings: Mapping[str, Sequence[str]], qrels: Mapping[str, Relevance],
                 k: int) -> dict[str, float | None]:
    """The metric of every judged query, in the order of ``qrels``.

    A judged query without a ranking found nothing; a ranking that nobody judged is left out.
    """
    return {query: metric(rankings.get(query, ()), relevance, k) for query, relevance in qrels.items()}


def mean(values: Iterable[float | None], none: Literal["refuse", "leave_out", "as_zero"] = "refuse") -> Mean:
    """Mean and denominator.

    Args:
        none: what becomes of None. To leave questions out, or to take them for failures, must be said.

    Raises:
        ValueError: a NaN; a None with ``none="refuse"``; an unknown ``none``.
    """
    if none not in ("refuse", "leave_out", "as_zero"):
        raise ValueError(f"none ({none!r}) must be refuse, leave_out or as_zero")
    numbers = []
    for position, value in enumerate(values):
        if value is None and none == "refuse":
            raise ValueError(f"value {position} is None: nothing was relevant to its question; say "
                             'none="leave_out" or none="as_zero"')
        if value is not None and math.isnan(value):
            raise ValueError(f"value {position} is NaN")
        if value is not None or none == "as_zero":
            numbers.append(value or 0.0)
    return Mean(math.fsum(numbers) / len(numbers), len(numbers)) if numbers else Mean(None, 0)


def span_metrics(chunks: Sequence[Chunk | Hit], gold: Gold, k: int) -> dict[str, float | None]:
    """All metrics over spans, by name, of the first ``k`` chunks; each None when there is no gold.

    * recall: share of the gold groups that the chunks hold.
    * precision: share of ``k`` places whose chunk holds a gold quote.
    * hit_rate, reciprocal_rank: whether, and how far up, any chunk holds a gold quote.
    * average_precision, ndcg: over the groups, each of grade 1, at its first rank (``group_ranks``).
    * coverage: share of the gold characters that the chunks cover together (``gold_coverage``).
    """
    plain = _first(chunks, k)
    names = ("recall", "precision", "hit_rate", "reciprocal_rank", "average_precision", "ndcg", "coverage")
    if not gold:
        return dict.fromkeys(names)
    ranks = group_ranks(plain, gold)
    holding = sum(any(span.inside(chunk) for group in gold for span in group) for chunk in plain)
    within = [(place, 1) for place in ranks if place <= k]
    ideal = [(place, 1) for place in range(1, min(len(gold), k) + 1)]
    values = (groups_recalled(plain, gold, k), holding / k, float(bool(ranks)), _reciprocal(ranks),
              _average_precision(ranks, len(gold)), _discounted(within) / _discounted(ideal),
              gold_coverage(plain, gold, k))
    return dict(zip(names, values, strict=True))


def group_ranks(chunks: Sequence[Chunk | Hit], gold: Gold) -> list[int]:
    """Ranks, from 1 and rising, of the gold groups that are found, each at the first chunk that holds it.

    One chunk can hold several groups, and a rank has room for one: the i-th group to be found stands no
    higher than rank i. So two groups in the first chunk are as good as one in each of the first two, which
    is the best that can be.
    """
    plain = _plain(chunks)
    found = sorted(next((place for place, chunk in enumerate(plain, 1) if any(span.inside(chunk) for span in group)), 0)
                   for group in gold)
    return [max(place, number) for number, place in enumerate(filter(None, found), 1)]


def gold_coverage(chunks: Sequence[Chunk | Hit], gold: Gold, k: int) -> float | None:
    """Share of the gold characters that the first ``k`` chunks cover together; None when there is no gold.

    Of each group the alternative that is covered best counts. Two halves of a quote in two chunks cover it,
    though neither holds it: where coverage is high and recall is low, the chunking cut the evidence.
    """
    plain = _first(chunks, k)
    if not gold:
        return None
    best = [max(((_covered(span, plain), span.end - span.start) for span in group),
                key=lambda pair: pair[0] / pair[1]) for group in gold]
    return sum(covered for covered, _ in best) / sum(length for _, length in best)


def characters_read(chunks: Sequence[Chunk | Hit], k: int | None = None) -> int:
    """Characters of the first ``k`` chunks, or of all; prefixes left out, and what two share counted twice."""
    return sum(len(chunk.text) for chunk in (_plain(chunks) if k is None else _first(chunks, k)))


def _gains(ranked: Sequence[str], relevance: Relevance, k: int) -> tuple[list[int], list[int]]:
    """Grades of the first ``k`` as ranked, and all grades above 0 in the best order."""
    check_k(k)
    if isinstance(ranked, str):
        raise TypeError(f"expected ranked ids, got one string ({ranked[:40]!r}); put it in a list")
    if isinstance(ranked, (Mapping, Set)):
        raise TypeError(f"expected ranked ids, best first, got a {type(ranked).__name__}, which has no order; "
                        "rank(scores) makes them from scores")
    for id_, grade in relevance.items():
        if not math.isfinite(grade):
            raise ValueError(f"the grade of {id_!r} is {grade}; it must be a number")
    gains = [max(relevance.get(id_, 0), 0) for id_ in list(dict.fromkeys(ranked))[:k]]
    return gains, sorted((grade for grade in relevance.values() if grade > 0), reverse=True)


def _ranks(gains: Sequence[int]) -> list[int]:
    return [place for place, gain in enumerate(gains, 1) if gain > 0]


def _reciprocal(ranks: Sequence[int]) -> float:
    return 1 / ranks[0] if ranks else 0.0


def _average_precision(ranks: Sequence[int], relevant: int) -> float:
    return math.fsum(number / place for number, place in enumerate(ranks, 1)) / relevant


def _discounted(gains: Iterable[tuple[int, int]]) -> float:
    """DCG of (rank, grade)."""
    return math.fsum(grade / math.log2(1 + place) for place, grade in gains)


def _first(chunks: Sequence[Chunk | Hit], k: int) -> list[Chunk]:
    check_k(k)
    return _plain(chunks[:k])


def _plain(chunks: Sequence[Chunk | Hit]) -> list[Chunk]:
    return [item.chunk if isinstance(item, Hit) else item for item in chunks]


def _covered(span: Span, chunks: Iterable[Chunk]) -> int:
    """How many characters of the span lie in any of the chunks."""
    pieces = sorted((chunk.start, chunk.end) for chunk in chunks
                    if (chunk.document_id, chunk.version) == (span.document_id, span.version))
    covered, position = 0, span.start
    for start, end in pieces:
        start, end = max(start, position), min(end, span.end)
        if end > start:
            covered, position = covered + end - start, end
    return covered
