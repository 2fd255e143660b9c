"""The words in which a failed question is told: verdict, loss, change (chapter 08)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from ragkit.context import Context
from ragkit.evaluation.questions import GoldQuote
from ragkit.filters import RetrievalFilters
from ragkit.retrieval import RetrievalResult
from ragkit.settings import Settings


class Verdict(StrEnum):
    """How a question came out wrong: in the order of the chain, which is the order of precedence."""

    FAILED_WITH_ERROR = "failed_with_error"
    NOT_IN_CORPUS = "not_in_corpus"
    LOST_IN_EXTRACTION = "lost_in_extraction"
    CUT_BY_CHUNKING = "cut_by_chunking"
    FILTERED = "filtered"
    NOT_RECALLED = "not_recalled"
    DROPPED_BY_RERANK = "dropped_by_rerank"
    LOST_IN_EXPANSION = "lost_in_expansion"
    BEYOND_EVIDENCE_TOP_K = "beyond_evidence_top_k"
    BELOW_THRESHOLD = "below_threshold"
    REFUSED_WRONGLY = "refused_wrongly"
    CUT_FROM_CONTEXT = "cut_from_context"
    GENERATED_WRONGLY = "generated_wrongly"
    CITED_WRONGLY = "cited_wrongly"
    ANSWERED_WRONGLY = "answered_wrongly"  # it should have been refused

    @property
    def place(self) -> int:
        """Where in the chain, from 0."""
        return list(Verdict).index(self)


@dataclass(frozen=True)
class Change:
    """What would have saved a question: other settings, another filter, one more group for the reader.

    Attributes:
        by_hand: what no setting does, in words: "add travel version 2".
        settings, filters: the new values by their names; None takes a filter away.
        reader: groups that the reader must belong to as well.
        checked: what was looked at to know that it helps, when the chain cannot be run with it.
    """

    by_hand: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)
    reader: frozenset[str] = frozenset()
    checked: str = ""

    @classmethod
    def of(cls, **settings: Any) -> "Change":
        """A change of settings."""
        return cls(settings=settings)

    @property
    def words(self) -> str:
        """All of it as people say it: "top_k 11, without the filter topic"; "" when there is none."""
        parts = [*(f"{name} {_written(value)}" for name, value in self.settings.items()),
                 *(f"without the filter {name}" if value is None else f"{name} {_written(value)}"
                   for name, value in self.filters.items()),
                 *(f"reader {group}" for group in sorted(self.reader)), self.by_hand]
        return ", ".join(filter(None, parts))

    @property
    def can_run(self) -> bool:
        """Whether the chain can be run with it on the index as it is."""
        return bool(self.settings or self.filters or self.reader)

    def then(self, later: "Change") -> "Change":
        """Both; of a setting or a filter that both change, the later value."""
        by_hand = ", ".join(filter(None, dict.fromkeys((self.by_hand, later.by_hand))))
        return Change(by_hand, {**self.settings, **later.settings}, {**self.filters, **later.filters},
                      self.reader | later.reader, later.checked)


@dataclass(frozen=True)
class Asked:
    """What a question is asked with."""

    settings: Settings
    filters: RetrievalFilters = RetrievalFilters()
    reader: frozenset[str] = frozenset()

    def changed(self, change: Change) -> "Asked":
        """The same with the change made."""
        return Asked(self.settings.replace(**change.settings),
                     self.filters.model_copy(update=dict(change.filters)), self.reader | change.reader)


@dataclass(frozen=True)
class Run:
    """One pass of the chain, as far as it went.

    Attributes:
        pack: gives the context, or None when nothing is packed. Packing takes most of a pass's time, so it is done
            when somebody looks, and once.
    """

    asked: Asked
    result: RetrievalResult
    pack: Callable[[], Context | None]

    @cached_property
    def context(self) -> Context | None:
        """What the answer reads; None when nothing was packed."""
        return self.pack()


@dataclass(frozen=True)
class Loss:
    """Where one group of gold was lost, told of the alternative that came furthest.

    Attributes:
        group: number of the gold group, from 1.
        link: its name in the trace; "documents" and "chunks" stand before those.
        evidence: what shows it, in words.
        change: what would have kept it at this link; None when nothing is known.
        distance: how far it was from being kept, to choose among alternatives lost at one link.
    """

    group: int
    quote: GoldQuote
    verdict: Verdict
    link: str
    evidence: str
    change: Change | None = None
    distance: float = 0.0


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
