"""Evidence into the numbered sources of a prompt, under a token budget (chapter 06).

Pieces are offered best first. One that says what is in already is left out; one that touches what is in is joined
to it; any other is added. What does not fit in whole is cut, and what cannot be cut to fit is left out. Every step
measures the very text that goes into the prompt, so the budget holds for any tokenizer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from math import isfinite
from numbers import Integral, Real
from typing import NamedTuple

from ragkit.chunking.pieces import furthest
from ragkit.context.drafts import Documents, Draft
from ragkit.context.duplicates import holds
from ragkit.context.fence import TAG, enclose
from ragkit.context.instructions import Suspicion, find_instructions
from ragkit.context.model import CUT, Context, Source
from ragkit.context.order import ORDERS, Order
from ragkit.context.tokens import count_tokens as default_count
from ragkit.documents import Document, DocumentKey
from ragkit.hits import Hit
from ragkit.trace import Drop

DUPLICATE = "duplicate"
EMPTY = "empty"
OVER_BUDGET = "over_budget"


def assemble_context(evidence: Sequence[Hit], budget: int = 1500, *,
                     documents: Mapping[DocumentKey, Document] | None = None, order: Order = "best_first",
                     count_tokens: Callable[[str], int] | None = None) -> Context:
    """Evidence as numbered sources within ``budget`` tokens, and a reason for all that is not in (chapter 06).

    Numbers are given at the end, so they run from [1] to [n] over what is really in. A cut falls after a
    sentence, a table row or a line of code, and keeps what was found. Overlapping spans of one document become one
    source without repeated text, and so do spans with only white space between them when ``documents`` has the
    document. Versions of one document are never merged, nor taken for duplicates; a note names them.

    Args:
        evidence: best first.
        budget: the most tokens that ``Context.text`` may have, delimiters and headers included; at least 1. Less
            than the shortest piece needs gives an empty context whose note says how much would do.
        documents: the documents by key; they give title, page, line, date and file. Without them the headers show
            what the chunks know.
        order: "best_first", or "best_at_both_ends" (the middle of a long context is read worst: Liu et al. 2023).
        count_tokens: ``str -> int``, or a number with a fraction; None counts with a tokenizer that comes with the
            course.

    Raises:
        ValueError: a budget below 1, an unknown order, a counter that gives a negative number or none, or a document
            that has changed since it was chunked.
        TypeError: evidence that is not hits, documents that are not given by key, a counter that gives no number.
    """
    if not isinstance(budget, Integral) or isinstance(budget, bool) or budget < 1:
        raise ValueError(f"the budget ({budget!r}) must be a whole number of tokens, at least 1")
    if order not in list(ORDERS):
        raise ValueError(f"the order {order!r} is unknown; there are {', '.join(ORDERS)}")
    documents = _by_key({} if documents is None else documents)
    packing = _Packing(int(budget), order, documents, _checked(default_count if count_tokens is None else count_tokens))
    for rank, hit in enumerate(_hits(evidence)):
        packing.offer(Draft.of(hit, rank, documents))
    return packing.finish()


def _hits(evidence: Iterable[Hit]) -> Iterable[Hit]:
    wrong = "the evidence must be a sequence of hits, such as result.evidence, not {!r:.80}"
    if not isinstance(evidence, Iterable):
        raise TypeError(wrong.format(evidence))
    for hit in evidence:
        if not isinstance(hit, Hit):
            raise TypeError(wrong.format(hit))
        yield hit


def _by_key(documents: Documents) -> Documents:
    if not isinstance(documents, Mapping) or not all(isinstance(key, tuple) for key in documents):
        raise TypeError("documents must be given by their key: kb.corpus.documents, or "
                        "{document.key: document for document in documents}")
    return documents


def _checked(count: Callable[[str], int]) -> Callable[[str], int]:
    """The counter, with an error where it gives what cannot be compared with a budget."""
    if not callable(count):
        raise TypeError(f"count_tokens must be a function from a text to its number of tokens, not {count!r}")

    def counted(text: str) -> int:
        tokens = count(text)
        if isinstance(tokens, bool) or not isinstance(tokens, Real):
            raise TypeError(f"count_tokens must give a number, not {tokens!r:.80}; for a list of tokens, give its len")
        if not isfinite(tokens) or tokens < 0:
            raise ValueError(f"count_tokens must give a number of tokens, 0 or more, not {tokens!r}")
        return int(tokens) if isinstance(tokens, Integral) else tokens

    return counted


class _State(NamedTuple):
    """What the context would be with one more piece, or a part of it."""

    drafts: list[Draft]  # all that would be in
    joined: Draft  # the one that has the piece
    touched: list[Draft]  # those that it was joined to
    covered: list[int]  # ranks that were left out before, and would be read there


class _Packing:
    """The context as it grows. ``drafts`` are in, by the rank of their best piece."""

    def __init__(self, budget: int, order: Order, documents: Documents, count: Callable[[str], int]):
        self.budget, self.arrange, self.documents, self.count = budget, ORDERS[order], documents, count
        self.drafts: list[Draft] = []
        self.pieces: list[Draft] = []  # all that were offered, by rank
        self.left_out: dict[int, tuple[str, str]] = {}  # rank to reason and detail
        self.duplicates: dict[int, int] = {}  # rank to the rank of a piece in the source that says the same
        self.manner: dict[int, str] = {}  # rank to how it came into a source that a better piece began

    def offer(self, piece: Draft) -> None:
        """Take the piece in, in whole or in part, or note why not."""
        self.pieces.append(piece)
        rank = piece.ranks[0]
        if not piece.source.text.strip():
            self.left_out[rank] = EMPTY, "it has no text"
            return
        twin = self._twin(piece)
        if twin is not None:
            self.duplicates[rank] = twin
            return
        whole = self._with(piece)
        needed = self.count(self._write(whole.drafts)[1])
        if needed <= self.budget:
            self._take(piece, whole)
            return
        forms = [self._with(part) for part in self._parts(piece, whole.touched)]
        # The shortest comes first.
        if forms and self._fits(forms[0].drafts):
            self._take(piece, forms[furthest(len(forms), lambda size: self._fits(forms[size - 1].drafts)) - 1])
        else:
            self.left_out[rank] = OVER_BUDGET, f"{needed} tokens with it in whole, {self.budget} are allowed"

    def finish(self) -> Context:
        """The context, with its numbers given."""
        sources, text, tag = self._write(self.drafts)
        sources = tuple(replace(source, warnings=_warnings(source.text)) for source in sources)
        tokens = self.count(text) if sources else 0
        return Context(sources, text, tokens, self.budget, tuple(self._drops()), tuple(self._notes(sources)), tag)

    def _with(self, piece: Draft) -> _State:
        """The context with this piece or part, joined to all that it touches."""
        touched = [draft for draft in self.drafts if draft.touches(piece, self.documents)]
        joined = reduce(lambda draft, more: draft.joined(more, self.documents), touched, piece)
        covered = [rank for rank, (reason, _) in self.left_out.items()
                   if reason == OVER_BUDGET and self.pieces[rank].within(joined)]
        ranks = tuple(sorted({*joined.ranks, *covered}))
        pieces = [self.pieces[rank] for rank in ranks]
        joined = replace(joined, ranks=ranks, source=replace(
            joined.source, score=pieces[0].source.score, cut=not all(each.within(joined) for each in pieces),
            chunk_ids=tuple(each.source.chunk_ids[0] for each in pieces)))
        others = [draft for draft in self.drafts if draft not in touched]
        return _State([*others, joined], joined, touched, covered)

    def _twin(self, piece: Draft) -> int | None:
        """The rank of a piece in a source that says all that this one does, if there is one."""
        new = piece.source
        for draft in self.drafts:
            old = draft.source
            if old.document_id != new.document_id or (old.version == new.version and
                                                      not draft.touches(piece, self.documents)):
                # Not the pieces that it was made from: what was cut from them is not there.
                if holds(old.text, new.text):
                    return draft.ranks[0]
            else:
                # Whether a new version changed a text is something to be read; and what touches is joined.
                for rank in draft.ranks:
                    same = self.pieces[rank].source
                    if (same.version, same.start, same.end) == (new.version, new.start, new.end):
                        return rank
        return None

    def _parts(self, piece: Draft, touched: list[Draft]) -> list[Draft]:
        """Parts of the piece, the shortest first: by itself, or beside the best source that it touches."""
        if not touched:
            return [part for part in piece.windows(self.documents) if self._twin(part) is None]
        beside = touched[0].source
        follows = piece.source.end > beside.end
        parts = piece.beginnings(self.documents) if follows else piece.endings(self.documents)
        # A part begins and ends without white space; where no document says what lies between, it may touch no more.
        return [part for part in parts if part.touches(touched[0], self.documents)
                and (part.source.end > beside.end if follows else part.source.start < beside.start)]

    def _take(self, piece: Draft, state: _State) -> None:
        self.drafts = sorted(state.drafts, key=lambda draft: draft.ranks[0])
        for draft in (piece, *state.touched):
            if draft.ranks[0] != state.joined.ranks[0]:
                met = state.touched if draft is piece else [piece]
                overlaps = any(draft.overlaps(other) for other in met)
                self.manner[draft.ranks[0]] = "overlaps" if overlaps else "adjacent to"
        for rank in state.covered:
            del self.left_out[rank]
            self.manner[rank] = "overlaps"

    def _fits(self, drafts: list[Draft]) -> bool:
        return self.count(self._write(drafts)[1]) <= self.budget

    def _write(self, drafts: list[Draft]) -> tuple[tuple[Source, ...], str, str]:
        """Numbered sources, their text and its tag."""
        ranked = sorted(drafts, key=lambda draft: draft.ranks[0])
        sources = tuple(replace(draft.source, number=number)
                        for number, draft in enumerate(self.arrange(ranked), start=1))
        return sources, *(enclose(sources) if sources else ("", TAG))

    def _drops(self):
        place = {rank: (number, draft) for number, draft in enumerate(self.arrange(self.drafts), start=1)
                 for rank in draft.ranks}
        for rank, piece in enumerate(self.pieces):
            if rank in self.duplicates:
                number, draft = place[self.duplicates[rank]]
                cut = piece.source.key == draft.source.key and piece.overlaps(draft) and not piece.within(draft)
                reason, detail = DUPLICATE, f"the same {'piece, shortened,' if cut else 'text as'} in [{number}]"
            elif rank in self.left_out:
                reason, detail = self.left_out[rank]
            else:
                number, draft = place[rank]
                whole, source = piece.source, draft.source
                if not piece.within(draft):
                    kept = min(whole.end, source.end) - max(whole.start, source.start)
                    reason, detail = CUT, f"{kept} of {whole.end - whole.start} characters kept, in [{number}]"
                elif rank != draft.ranks[0]:
                    reason, detail = f"{self.manner[rank]} [{number}]", "read there"
                else:
                    continue
            yield Drop(piece.source.chunk_ids[0], piece.source.document_id, piece.source.score, reason, detail)

    def _notes(self, sources: Sequence[Source]):
        pieces = [piece for piece in self.pieces if piece.source.text.strip()]
        if self.pieces and not pieces:
            yield "the evidence has no text"
        elif pieces and not sources:
            forms = [form for piece in pieces for form in (piece, *piece.windows(self.documents)[:1])]
            smallest = min(self.count(self._write([form])[1]) for form in forms)
            yield f"a budget of {self.budget} tokens holds no source; {smallest} would hold one"
        by_document: dict[str, list[Source]] = {}
        for source in sources:
            by_document.setdefault(source.document_id, []).append(source)
        for document_id, parts in by_document.items():
            if len({part.version for part in parts}) > 1:
                which = "; ".join(_version(part) for part in parts)
                yield f"{document_id} is in the context in more than one version: {which}"
        for source in sources:
            for warning in source.warnings:
                yield f"[{source.number}] addresses the machine ({warning.reason}): {warning.text!r}"
            # A title, too, was written by whoever wrote the document; it stands outside the text that is marked.
            for part in dict.fromkeys((source.title, *source.heading_path, source.prefix)):
                for warning in _warnings(part) if part not in source.text else ():
                    yield (f"the header of [{source.number}] addresses the machine ({warning.reason}): "
                           f"{warning.text!r}")


@lru_cache(maxsize=512)  # the same pieces come back with many questions
def _warnings(text: str) -> tuple[Suspicion, ...]:
    return tuple(find_instructions(text))


def _version(source: Source) -> str:
    since = "" if source.effective_date is None else f", in force from {source.effective_date.isoformat()}"
    return f"[{source.number}] is version {source.version}{since}"
