"""What became of one question (chapter 08)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.evaluation.answers import ANSWER_METRICS, answer_metrics
from ragkit.evaluation.metrics import characters_read, span_metrics
from ragkit.evaluation.questions import Gold, Question, recall_at_k
from ragkit.hits import Hit
from ragkit.retrieval import RetrievalResult

if TYPE_CHECKING:
    from ragkit.answer import Answer

RETRIEVAL_METRICS = ("recall", "precision", "hit_rate", "reciprocal_rank", "average_precision", "ndcg", "coverage",
                     "evidence_recall")
CHARACTERS_READ = "characters_read"
METRIC_NAMES = (*RETRIEVAL_METRICS, CHARACTERS_READ, *ANSWER_METRICS)
LOWER_IS_BETTER = frozenset({CHARACTERS_READ})


@dataclass(frozen=True)
class Outcome:
    """What became of one question.

    Attributes:
        gold: the question's gold as spans; () when it is unanswerable.
        result: candidates and evidence; None when the search itself failed.
        answer: None when none was asked for, or when making it failed.
        error: what was raised, as "ValueError: …"; None when nothing was. An error is neither an answer nor a
            refusal, whatever the question.
        metrics: by the names in ``METRIC_NAMES``; None where one is undefined:

            * retrieval metrics (``span_metrics`` over the first k candidates, and ``evidence_recall``, the share of
              the gold groups in the evidence): None for an unanswerable question; 0 when the search failed.
            * ``characters_read``: of the evidence; None when there is none.
            * answer metrics (``answer_metrics``): None when refused, failed or not asked for. Correctness is None for
              an unanswerable question too, as there is nothing to be right about.
    """

    question: Question
    gold: Gold
    result: RetrievalResult | None
    answer: "Answer | None"
    error: str | None
    metrics: Mapping[str, float | None]

    @property
    def refused(self) -> bool | None:
        """Whether it was refused: by ``ask``, or by ``retrieve`` when no answer was asked for; None on an error."""
        if self.error is not None:
            return None
        return self.answer.refused if self.answer is not None else self.result.refused

    @property
    def refusal_reason(self) -> str | None:
        """Why it was refused; None when it was not."""
        if not self.refused:
            return None
        return str((self.answer or self.result).refusal_reason)

    @property
    def evidence(self) -> Sequence[Hit]:
        """What was selected for the answer; nothing when the search failed."""
        return self.result.evidence if self.result is not None else ()

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"id": self.question.id, "kind": self.question.kind, "language": self.question.language,
                "question": self.question.question, "answerable": self.question.answerable,
                "gold_answer": self.question.answer, "answer": self.answer and self.answer.text,
                "refused": self.refused, "refusal_reason": self.refusal_reason, "error": self.error,
                "metrics": dict(self.metrics)}


def outcome_of(question: Question, gold: Gold, result: RetrievalResult | None, answer: "Answer | None" = None,
               error: str | None = None, *, k: int) -> Outcome:
    """The outcome with its metrics at ``k``."""
    hits = result.candidates if result is not None else ()
    evidence = result.evidence if result is not None else ()
    metrics = span_metrics(hits, gold, k)
    metrics["evidence_recall"] = recall_at_k(evidence, gold, max(1, len(evidence)))
    outcome = Outcome(question, gold, result, answer, error, metrics)
    answered = outcome.refused is False
    metrics[CHARACTERS_READ] = float(characters_read(evidence)) if answered else None
    metrics |= answer_metrics(answer, question) if answered and answer is not None else dict.fromkeys(ANSWER_METRICS)
    return outcome
