"""Which documents a question is asked of: filters, versions and readers (chapter 03).

All of it is decided per document, before the search, so that no filter can starve the result:
the search then looks only at the chunks of the documents that pass.
"""

import datetime
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from ragkit.documents import Document, DocumentKey

PUBLIC = "public"
NOT_PERMITTED = "not_permitted"
SUPERSEDED = "superseded"
NAMED = 12  # so many names a refusal lists, no more


def _strict_date(value: Any) -> Any:
    """Dates are dates: "2025-9-1" and 20250901 are refused rather than guessed at or compared as text."""
    if value is None or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)):
        return value
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII):
        return datetime.date.fromisoformat(value)
    raise ValueError(f"{value!r} is not a date; write it as YYYY-MM-DD, for example 2025-09-01")


def _strings(value: Any) -> Any:
    if value is None:
        return None
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, Collection) or isinstance(values, Mapping) or not values:
        raise ValueError(f"{value!r} is not a name or a non-empty list of names")
    if not all(isinstance(item, str) and item.strip() for item in values):
        raise ValueError(f"{value!r} holds something that is not a name")
    return tuple(sorted(set(values)))


Names = Annotated[tuple[str, ...] | None, BeforeValidator(_strings)]
Day = Annotated[datetime.date | None, BeforeValidator(_strict_date)]


class RetrievalFilters(BaseModel):
    """What the asker narrows the search to. Checked at the door; immutable; usable as a cache key.

    Attributes:
        topic: one topic or several; a document passes when its topic is among them.
        document_id: one document id or several.
        effective_before: inclusive: only what was in force on that day, and of each document the newest
            version in force then. A document without a date does not pass.
        effective_after: inclusive: only versions that took effect on that day or later.

    Raises:
        pydantic.ValidationError: (a ValueError) for an unknown field, or a value of the wrong kind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    topic: Names = None
    document_id: Names = None
    effective_before: Day = None
    effective_after: Day = None

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            for name in values:
                if name not in cls.model_fields:
                    raise ValueError(f"there is no filter {name!r}; the filters are {', '.join(cls.model_fields)}")
        return values

    def active(self) -> dict[str, Any]:
        """Only the filters that are set, as ``{name: value}``."""
        return {name: value for name, value in self if value is not None}


@dataclass(frozen=True)
class DocumentSelection:
    """Which documents are searched, and what kept the others out.

    ``excluded`` gives one reason for each visible document that is not searched: "effective_before",
    "superseded", "topic", "document_id" or "effective_after"; the first that applies.
    ``hidden`` holds what the reader may not see; it never leaves the operator's trace.
    """

    allowed: frozenset[DocumentKey]
    excluded: Mapping[DocumentKey, str]
    hidden: frozenset[DocumentKey]


def may_read(document: Document, reader: Collection[str]) -> bool:
    """Whether somebody in the groups ``reader`` may see the document; public ones everybody may."""
    return PUBLIC in document.audience or not document.audience.isdisjoint(reader)


def version_order(document: Document) -> tuple:
    """Sort key: the later effective date is newer, then the higher version ("10" after "9").

    A document without a date is older than any with one.
    """
    parts = re.findall(r"\d+|[^\d.]+", document.version)
    natural = tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts)
    return (document.effective_date or datetime.date.min, natural, document.version)


def select_documents(documents: Iterable[Document], filters: RetrievalFilters | None = None,
                     reader: Collection[str] = frozenset()) -> DocumentSelection:
    """Decide for every document whether it is searched (chapter 03).

    Permission comes first, so that a restricted version leaves no trace: an outsider sees the newest
    version *that they may read*. Then the day asked about, then the newest version, then the filters.
    """
    filters = filters or RetrievalFilters()
    documents = list(documents)
    hidden = frozenset(document.key for document in documents if not may_read(document, reader))
    excluded: dict[DocumentKey, str] = {}
    in_force = []
    for document in documents:
        if document.key in hidden:
            continue
        day = document.effective_date
        if filters.effective_before is not None and (day is None or day > filters.effective_before):
            excluded[document.key] = "effective_before"
        else:
            in_force.append(document)
    newest = {document.id: document for document in sorted(in_force, key=version_order)}
    excluded.update({document.key: SUPERSEDED for document in in_force if newest[document.id] is not document})
    allowed = set()
    for document in newest.values():
        reason = _failing_filter(document, filters)
        if reason is None:
            allowed.add(document.key)
        else:
            excluded[document.key] = reason
    return DocumentSelection(frozenset(allowed), excluded, hidden)


def admitting(document: Document, filters: RetrievalFilters, documents: Iterable[Document],
              reader: Collection[str] = frozenset()) -> RetrievalFilters | None:
    """The filters nearest to these with which a left-out document is searched; None when there are none.

    Tried, not guessed: a document may fail several filters, and a version with a newer one of the same day is out
    of reach.
    """
    versions = [other for other in documents if other.id == document.id]
    failing = {name: None for name in ("document_id", "topic", "effective_after")
               if _failing_filter(document, RetrievalFilters().model_copy(update={name: getattr(filters, name)}))}
    for day in dict.fromkeys((filters.effective_before, None, document.effective_date)):
        changed = filters.model_copy(update={**failing, "effective_before": day})
        if document.key in select_documents(versions, changed, reader).allowed:
            return changed
    return None


def how_to_reach(document: Document, reason: str, filters: RetrievalFilters, documents: Iterable[Document],
                 reader: Collection[str] = frozenset()) -> str:
    """What has to change before a document that was left out is searched, in words; always true."""
    newer = "A newer version is in force"
    changed = admitting(document, filters, documents, reader)
    if changed is None:
        return f"{newer}."
    dropped = [name for name in filters.active() if getattr(changed, name) is None]
    without = f"without the filter{'s' * (len(dropped) > 1)} {', '.join(dropped)}"
    if changed.effective_before in (None, filters.effective_before):
        return f"{without.capitalize()} it would be searched."
    return (f"{newer}; " if reason == SUPERSEDED else "") + (
        f"effective_before={changed.effective_before} asks for this one{f', {without}' if dropped else ''}.")


def unknown_names(filters: RetrievalFilters, documents: Collection[Document]) -> str:
    """What the filters ask for that none of the documents has, with what there is instead."""
    sentences = ""
    for name, wanted, known in (("topic", filters.topic, {document.topic for document in documents} - {None}),
                                ("document_id", filters.document_id, {document.id for document in documents})):
        for value in sorted(set(wanted or ()) - known):
            near = get_close_matches(value, known, n=3) or sorted(known)
            sentences += f" No document has {name} {value!r}; there is {', '.join(near[:NAMED])}" + (
                f" and {len(near) - NAMED} more." if len(near) > NAMED else ".")
    return sentences


def _failing_filter(document: Document, filters: RetrievalFilters) -> str | None:
    if filters.document_id is not None and document.id not in filters.document_id:
        return "document_id"
    if filters.topic is not None and document.topic not in filters.topic:
        return "topic"
    if filters.effective_after is not None and (
            document.effective_date is None or document.effective_date < filters.effective_after):
        return "effective_after"
    return None
