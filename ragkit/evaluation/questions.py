"""Questions with gold evidence, and whether a search found it (chapter 02; chapter 08 builds on this).

Gold evidence is a *quoted span* of a document, not a chunk id, so any two ways of cutting are compared on
the same questions. A chunk is relevant when it holds the whole quote.

Source: Manning, Raghavan & Schütze (2008), "Introduction to Information Retrieval", chapter 8.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ragkit.chunking import Chunk
from ragkit.documents import Document, DocumentKey
from ragkit.filters import RetrievalFilters
from ragkit.hits import Hit
from ragkit.paths import data_path

KINDS = ("direct", "paraphrase", "identifier", "table", "multi_hop", "dated", "restricted", "injection", "chinese",
         "unanswerable_far", "unanswerable_near")


class GoldQuote(BaseModel):
    """A quote that occurs in one version of one document: the ``occurrence``-th time, counted from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    document: str = Field(min_length=1)
    version: str = Field(min_length=1)
    quote: str = Field(min_length=1)
    occurrence: int | None = Field(default=None, ge=1)


class Question(BaseModel):
    """One labelled question (chapter 02).

    Attributes:
        gold: groups that are all needed, each of alternatives of which any will do; empty when unanswerable.
        filters, reader: what it is asked with.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    split: Literal["dev", "test"]
    kind: Literal[KINDS]
    language: Literal["en", "zh"]
    question: str = Field(min_length=1)
    answerable: bool
    answer: str
    gold: tuple[tuple[GoldQuote, ...], ...]
    filters: RetrievalFilters = RetrievalFilters()
    reader: frozenset[str] = frozenset()

    @model_validator(mode="after")
    def _gold_fits(self) -> "Question":
        if self.answerable != bool(self.gold) or not all(self.gold):
            raise ValueError("an answerable question needs gold, each group of at least one quote; "
                             "an unanswerable one has none")
        return self


@dataclass(frozen=True)
class Span:
    """A piece of one version of one document: ``text[start:end]``."""

    document_id: str
    version: str
    start: int
    end: int

    def inside(self, chunk: Chunk) -> bool:
        """Whether the chunk holds all of it."""
        return (self.document_id == chunk.document_id and self.version == chunk.version
                and chunk.start <= self.start and self.end <= chunk.end)


Gold = tuple[tuple[Span, ...], ...]


def load_questions(path: str | Path | None = None, *, split: str | None = None, language: str | None = None,
                   kinds: Iterable[str] | None = None, answerable: bool | None = None) -> list[Question]:
    """Read a JSON Lines file of questions; None reads the handbook's. The keywords select.

    Raises:
        ValueError: a bad line: names the file, the line, the field and the value.
    """
    path = data_path("questions.jsonl") if path is None else Path(path)
    questions: dict[str, Question] = {}
    # Split at \n only: a quote may hold other characters that count as line ends, such as U+2028.
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            question = Question.model_validate(json.loads(line))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "the line"
            raise ValueError(f"{path.name}, line {number}, {field}: {first['msg']} "
                             f"(got {_short(first['input'])})") from error
        except json.JSONDecodeError as error:
            raise ValueError(f"{path.name}, line {number}: not JSON ({error})") from error
        if question.id in questions:
            raise ValueError(f"{path.name}, line {number}, id: {question.id!r} is there twice")
        questions[question.id] = question
    wanted = None if kinds is None else set(kinds)
    if wanted is not None and not wanted <= set(KINDS):
        raise ValueError(f"unknown kind {sorted(wanted - set(KINDS))[0]!r}; the kinds are {', '.join(KINDS)}")
    return [question for question in questions.values()
            if split in (None, question.split) and language in (None, question.language)
            and (wanted is None or question.kind in wanted) and answerable in (None, question.answerable)]


def gold_spans(question: Question, documents: Iterable[Document] | Mapping[DocumentKey, Document]) -> Gold:
    """The question's gold quotes as spans, found in the documents' extracted text.

    Raises:
        ValueError: a quote's document is not there, the quote is not in it, or it occurs several times and
            the question does not say which is meant.
    """
    if not isinstance(documents, Mapping):
        documents = {document.key: document for document in documents}
    return tuple(tuple(_locate(question.id, quote, documents) for quote in group) for group in question.gold)


def found_groups(chunks: Sequence[Chunk | Hit], gold: Gold) -> list[bool]:
    """For each gold group whether one of the chunks holds one of its alternatives whole. Each counts once."""
    plain = [item.chunk if isinstance(item, Hit) else item for item in chunks]
    return [any(span.inside(chunk) for span in group for chunk in plain) for group in gold]


def recall_at_k(chunks: Sequence[Chunk | Hit], gold: Gold, k: int) -> float | None:
    """Share of the gold groups that the first ``k`` chunks hold, in [0, 1]; None when there is no gold.

    None is not 0: a question that has no answer cannot be answered badly by a search.
    """
    if k < 1:
        raise ValueError(f"k ({k}) must be at least 1")
    if not gold:
        return None
    found = found_groups(chunks[:k], gold)
    return sum(found) / len(found)


def _locate(question_id: str, quote: GoldQuote, documents: Mapping[DocumentKey, Document]) -> Span:
    where = f"question {question_id}: {quote.document} version {quote.version}"
    key = DocumentKey(quote.document, quote.version)
    if key not in documents:
        raise ValueError(f"{where} is not among the documents")
    starts = []
    at = documents[key].text.find(quote.quote)
    while at >= 0:
        starts.append(at)
        at = documents[key].text.find(quote.quote, at + 1)
    if len(starts) < (quote.occurrence or 1):
        raise ValueError(f"{where} holds the quote {_short(quote.quote)} {len(starts)} times")
    if len(starts) > 1 and quote.occurrence is None:
        raise ValueError(f"{where} holds the quote {_short(quote.quote)} {len(starts)} times; give its occurrence")
    start = starts[(quote.occurrence or 1) - 1]
    return Span(quote.document, quote.version, start, start + len(quote.quote))


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[:limit - 1] + "…"
