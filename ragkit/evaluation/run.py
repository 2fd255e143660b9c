"""Ask a chain a set of questions and score what it does (chapter 08)."""

import copy
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ragkit.documents import Document, DocumentKey
from ragkit.embedding.base import progress_wanted
from ragkit.evaluation.lines import short
from ragkit.evaluation.outcome import Outcome, outcome_of
from ragkit.evaluation.questions import Gold, GoldQuote, Question, Span, gold_spans
from ragkit.evaluation.scorecard import Scorecard, known_metric, scorecard_of
from ragkit.evaluation.vectors import RunEmbedder
from ragkit.folder_cache import SHAPING
from ragkit.knowledge_base import KnowledgeBase
from ragkit.retrieval import RetrievalResult
from ragkit.settings import Settings

if TYPE_CHECKING:
    from ragkit.citations import SupportJudge
    from ragkit.generation import Generator
    from ragkit.refusal import EvidenceGrader

logger = logging.getLogger("ragkit.evaluation")

INDEXED = (*SHAPING, "embedder")  # the settings that a knowledge base is built with
Documents = Mapping[DocumentKey, Document]
LONG_WORK = 50  # questions from which a progress bar is worth showing


@dataclass(frozen=True)
class Evaluation:
    """What became of each question under one chain. Iterates over the outcomes, in the order of the questions.

    Shows its scorecard in Jupyter and prints it as text.

    Attributes:
        settings: what the chain ran with.
        k: candidates that the retrieval metrics read.
        answers: whether answers were asked for, or evidence only.
    """

    settings: Settings
    outcomes: tuple[Outcome, ...]
    k: int
    answers: bool

    @cached_property
    def scorecard(self) -> Scorecard:
        """All metrics, overall, per kind and per language."""
        return scorecard_of(self.outcomes, self.k)

    @property
    def errors(self) -> tuple[Outcome, ...]:
        """The questions that failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.error is not None)

    def values(self, metric: str) -> list[float | None]:
        """The metric of each question, in their order; None where it is undefined."""
        return [outcome.metrics[known_metric(metric)] for outcome in self.outcomes]

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __getitem__(self, question_id: str) -> Outcome:
        """The outcome of one question; an unknown id is a KeyError."""
        for outcome in self.outcomes:
            if outcome.question.id == question_id:
                return outcome
        raise KeyError(f"no question {question_id!r} was asked")

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"settings": self.settings.to_dict(), "answers": self.answers, "scorecard": self.scorecard.to_dict(),
                "questions": [outcome.to_dict() for outcome in self.outcomes]}

    def __repr__(self) -> str:
        return f"Evaluation({len(self.outcomes)} questions, {len(self.errors)} errors, k={self.k})"

    def __str__(self) -> str:
        return str(self.scorecard)

    def _repr_html_(self) -> str:
        return self.scorecard._repr_html_()


def evaluate(kb: KnowledgeBase, questions: Iterable[Question], *, settings: Settings | None = None,
             answers: bool = True, k: int | None = None, generator: "Generator | str | None" = None,
             grader: "EvidenceGrader | None" = None, judge: "SupportJudge | None" = None, operator: bool = False,
             missing_gold: str = "error", query_vectors: np.ndarray | None = None) -> Evaluation:
    """Ask every question, with its own filters and reader, and score what comes back (chapter 08).

    It goes through ``kb.ask`` (``kb.retrieve`` without answers), so what is scored is what a user gets. What is
    raised for a question is kept as that question's error, and the others are asked all the same.

    Args:
        settings: None is the knowledge base's own. It must be cut and embedded in the same way; ``compare`` builds
            what differs.
        answers: False scores the retrieval only, which takes a tenth of the time.
        k: candidates that the retrieval metrics read; None is ``settings.top_k``.
        generator, grader, judge, operator: as in ``kb.ask``. A generator that cannot be made is raised at once.
        missing_gold: "error", or "count": a quote that the documents do not hold cannot be found, and the question
            is scored so. For documents of your own whose text was extracted badly.
        query_vectors: shape (questions, dimension), when they are encoded already.

    Raises:
        ValueError: no questions, an id that comes twice, a gold quote that is not in the documents, settings that
            need another index.
    """
    questions = check_questions(questions)
    kb = with_settings(kb, kb.settings if settings is None else settings)
    k = kb.settings.top_k if k is None else k
    golds = locate_gold(questions, kb, missing_gold)
    if not isinstance(kb.embedder, RunEmbedder):
        kb.embedder = RunEmbedder(kb.embedder)
    if query_vectors is None:
        query_vectors = encode_questions(questions, kb)
    if len(query_vectors) != len(questions):
        raise ValueError(f"query_vectors holds {len(query_vectors)} vectors for {len(questions)} questions")
    asking = _writers(kb, generator, judge) | {"grader": grader} if answers else {}
    outcomes = []
    for question, gold, vector in progress(zip(questions, golds, query_vectors, strict=True), len(questions)):
        given = {"filters": question.filters, "reader": question.reader, "query_vector": vector,
                 "operator": operator}
        answer = error = result = None
        try:
            if answers:
                answer = kb.ask(question.question, **given, **asking)
                result = answer.result
            else:
                result = kb.retrieve(question.question, **given)
        except Exception as raised:  # whatever it is, it is this question's and must be counted
            error = f"{type(raised).__name__}: {raised}"
            result = _evidence_all_the_same(kb, question.question, given) if answers else None
        outcomes.append(outcome_of(question, gold, result, answer, error, k=k))
    evaluation = Evaluation(kb.settings, tuple(outcomes), k, answers)
    if evaluation.errors:
        first = evaluation.errors[0]
        logger.warning("%d of %d questions failed, the first, %s, with %s", len(evaluation.errors), len(questions),
                       first.question.id, first.error)
    return evaluation


def check_questions(questions: Iterable[Question]) -> list[Question]:
    """The questions as a list; none at all, or an id that comes twice, is an error."""
    questions = [questions] if isinstance(questions, Question) else list(questions)
    if not questions:
        raise ValueError("there are no questions to ask")
    seen: set[str] = set()
    for question in questions:
        if not isinstance(question, Question):
            raise TypeError(f"{short(question)} is no question; load_questions reads them from a file")
        if question.id in seen:
            raise ValueError(f"the question id {question.id!r} comes twice")
        seen.add(question.id)
    return questions


def with_settings(kb: KnowledgeBase, settings: Settings) -> KnowledgeBase:
    """A copy with the same documents, chunks and index under other settings.

    Raises:
        ValueError: the settings need another index; names the first that does.
    """
    if not isinstance(settings, Settings):
        raise TypeError(f"{short(settings)} is no Settings; Settings(top_k=4) makes one")
    for name in INDEXED:
        old, new = getattr(kb.settings, name), getattr(settings, name)
        if old != new and _matters(name, settings):
            raise ValueError(f"the knowledge base was built with {name} {old!r}, and the settings say {new!r}; "
                             "build one with them, or let compare do it")
    other = copy.copy(kb)
    other.settings = settings
    other._generators = {}
    return other


def index_settings(settings: Settings) -> tuple:
    """What of the settings an index depends on: settings with equal ones share it."""
    return tuple((name, getattr(settings, name)) for name in INDEXED if _matters(name, settings))


def locate_gold(questions: Sequence[Question], kb: KnowledgeBase, missing_gold: str = "error") -> list[Gold]:
    """The gold of each question as spans; see ``evaluate`` for ``missing_gold``."""
    if missing_gold not in ("error", "count"):
        raise ValueError(f"missing_gold ({missing_gold!r}) must be error or count")
    locate = _gold_or_its_line if missing_gold == "error" else _gold_as_far_as_there
    return [locate(question, kb.corpus.documents) for question in questions]


def encode_questions(questions: Sequence[Question], kb: KnowledgeBase) -> np.ndarray:
    """float32 (questions, dimension), in one batch."""
    return kb.embedder.encode_queries([question.question for question in questions])


def progress(items: Iterable, total: int, what: str = "questions", each: int = 1) -> Iterator:
    """The items, with a progress bar where one is wanted; ``each`` is how many questions an item stands for."""
    from tqdm.auto import tqdm

    return iter(tqdm(items, total=total, desc=what, disable=not progress_wanted() or total * each < LONG_WORK))


def _writers(kb: KnowledgeBase, generator: "Generator | str | None", judge: "SupportJudge | None") -> dict:
    """Generator and judge, made once for the run: what cannot be made is raised before anything is asked."""
    from ragkit.citations import SignalJudge
    from ragkit.generation import make_generator

    if generator is None or isinstance(generator, str):
        generator = make_generator(generator or kb.settings.generator, kb.embedder)
    return {"generator": generator, "judge": judge or SignalJudge(kb.embedder)}


def _matters(name: str, settings: Settings) -> bool:
    """Whether the chunker that the settings name reads this setting."""
    if name == "level_sizes":
        return settings.chunker == "hierarchical"
    if name == "chunk_size":
        return settings.chunker != "hierarchical"
    if name == "chunk_overlap":
        return settings.chunker in ("fixed", "sentence")
    return True


def _evidence_all_the_same(kb: KnowledgeBase, question: str, given: dict) -> RetrievalResult | None:
    """What the search found, when it was the answer that failed; None when it was the search."""
    try:
        return kb.retrieve(question, **given)
    except Exception:
        return None


def _gold_or_its_line(question: Question, documents: Documents) -> Gold:
    """The gold; what is wrong with it is said with the line of the file that it was read from."""
    try:
        return gold_spans(question, documents)
    except ValueError as error:
        if not question.source:
            raise
        raise ValueError(f"{question.source}, gold: {error}") from error


def _gold_as_far_as_there(question: Question, documents: Documents) -> Gold:
    return tuple(tuple(_span_or_nowhere(question, quote, documents) for quote in group) for group in question.gold)


def _span_or_nowhere(question: Question, quote: GoldQuote, documents: Documents) -> Span:
    """The quote's span; behind the end of its document, where no chunk reaches, when it is not there."""
    try:
        return gold_spans(question.model_copy(update={"gold": ((quote,),)}), documents)[0][0]
    except ValueError:
        document = documents.get(DocumentKey(quote.document, quote.version))
        end = len(document.text) if document is not None else 0
        return Span(quote.document, quote.version, end, end + len(quote.quote))
