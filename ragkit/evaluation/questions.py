"""Questions with gold evidence, and whether a search found it (chapter 02; chapter 08 builds on this).

Gold evidence is a *quoted span* of a document, not a chunk id, so any two ways of cutting are compared on
the same questions. A chunk is relevant when it holds the whole quote.

Source: Manning, Raghavan & Schütze (2008), "Introduction to Information Retrieval", chapter 8.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ragkit.chunking import Chunk
from ragkit.documents import Document, DocumentKey
from ragkit.evaluation.lines import json_of, numbered_lines, short
from ragkit.filters import RetrievalFilters
from ragkit.hits import Hit
from ragkit.paths import data_path

KINDS = ("direct", "paraphrase", "identifier", "table", "multi_hop", "dated", "restricted", "injection", "chinese",
         "unanswerable_far", "unanswerable_near")
SPLITS, LANGUAGES = ("dev", "test"), ("en", "zh")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]


class GoldQuote(BaseModel):
    """A quote that occurs in one version of one document: the ``occurrence``-th time, counted from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    document: Text
    version: Text
    quote: Text
    occurrence: int | None = Field(default=None, ge=1)


class Question(BaseModel):
    """One labelled question (chapter 02).

    Attributes:
        gold: groups that are all needed, each of alternatives of which any will do; empty when unanswerable.
        filters, reader: what it is asked with.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Text
    split: Literal[SPLITS]
    kind: Literal[KINDS]
    language: Literal[LANGUAGES]
    question: Text
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

    @cached_property
    def source(self) -> str:
        """File and line that it was read from, for errors; "" when it was made by hand. No part of equality."""
        return ""

    def model_copy(self, *, update: Mapping | None = None, deep: bool = False) -> "Question":
        """A copy; one with changes is no longer what the file says."""
        copied = super().model_copy(update=update, deep=deep)
        if update:
            copied.__dict__.pop("source", None)
        return copied


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
        ValueError: a bad line: names the file, the line, the field and the value; a file without questions; an
            unknown split, language or kind.
    """
    if kinds is not None:
        kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for what, wanted, known in (("split", (split,), (None, *SPLITS)), ("language", (language,), (None, *LANGUAGES)),
                                ("kind", kinds or (), KINDS)):
        for one in wanted:
            if one not in known:
                raise ValueError(f"unknown {what} {one!r}; the {what}s are {', '.join(filter(None, known))}")
    path = data_path("questions.jsonl") if path is None else Path(path)
    questions: dict[str, Question] = {}
    for number, line in numbered_lines(path, path.name):
        where = f"{path.name}, line {number}"
        row = json_of(line, where)
        try:
            question = Question.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "the line"
            raise ValueError(f"{where}, {field}: {first['msg']} (got {short(first['input'])})") from error
        if question.id in questions:
            raise ValueError(f"{where}, id: {question.id!r} is there twice, first in {questions[question.id].source}")
        question.__dict__["source"] = where  # where a cached property is kept: the fields are frozen
        questions[question.id] = question
    if not questions:
        raise ValueError(f"{path.name}: there are no questions in it")
    return [question for question in questions.values()
            if split in (None, question.split) and language in (None, question.language)
            and (kinds is None or question.kind in kinds) and answerable in (None, question.answerable)]


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
    check_k(k)
    if not gold:
        return None
    found = found_groups(chunks[:k], gold)
    return sum(found) / len(found)


def check_k(k: int) -> None:
    """``k`` is a whole number of at least 1, or an error."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ValueError(f"k ({k!r}) must be a whole number of at least 1")


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
        raise ValueError(f"{where} holds the quote {short(quote.quote)} {len(starts)} times")
    if len(starts) > 1 and quote.occurrence is None:
        raise ValueError(f"{where} holds the quote {short(quote.quote)} {len(starts)} times; give its occurrence")
    start = starts[(quote.occurrence or 1) - 1]
    return Span(quote.document, quote.version, start, start + len(quote.quote))
