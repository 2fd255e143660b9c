"""Evidence into the numbered sources of a prompt, under a token budget (chapter 06).

Pieces are offered best first. One that says what is in already is left out; one that touches what is in is joined
to it; any other is added. What does not fit in whole is cut, and what cannot be cut to fit is left out. Every step
measures the very text that goes into the prompt, so the budget holds for any tokenizer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce

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
        count_tokens: ``str -> int``; None counts with a tokenizer that comes with the course.

    Raises:
        ValueError: a budget below 1, an unknown order, or a document that has changed since it was chunked.
    """
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise ValueError(f"the budget ({budget!r}) must be a whole number of tokens, at least 1")
    if order not in ORDERS:
        raise ValueError(f"the order {order!r} is unknown; there are {', '.join(ORDERS)}")
    packing = _Packing(budget, order, documents or {}, count_tokens or default_count)
    for rank, hit in enumerate(evidence):
        packing.offer(Draft.of(hit, rank, packing.documents))
    return packing.finish()


class _Packing:
    """The context as it grows. ``drafts`` are in, by the rank of their best piece."""

    def __init__(self, budget: int, order: Order, documents: Documents, count: Callable[[str], int]):
        self.budget, self.arrange, self.documents, self.count = budget, ORDERS[order], documents, count
        self.drafts: list[Draft] = []
        self.pieces: list[Draft] = []  # all that were offered, by rank
        self.left_out: dict[int, tuple[str, str]] = {}  # rank to reason and detail
        self.duplicates: dict[int, int] = {}  # rank to the rank of the piece that says the same
        self.joined: dict[int, str] = {}  # rank to how it came into a source that a better piece began

    def offer(self, piece: Draft) -> None:
        """Take the piece in, in whole or in part, or note why not."""
        self.pieces.append(piece)
        rank = piece.ranks[0]
        twin = self._twin(piece)
        if twin is not None:
            self.duplicates[rank] = twin
            return
        touching = [draft for draft in self.drafts if draft.touches(piece, self.documents)]
        others = [draft for draft in self.drafts if draft not in touching]
        whole = reduce(lambda draft, more: draft.joined(more, self.documents), touching, piece)
        needed = self.count(self._write([*others, whole])[1])
        if needed <= self.budget:
            for draft in (piece, *touching):
                if draft.ranks[0] != whole.ranks[0]:
                    self.joined[draft.ranks[0]] = self._manner(draft, piece, touching)
            self._take([*others, whole])
        elif touching:
            self._take_part(piece, touching[0], needed)
        else:
            self._choose(piece, piece.windows(self.documents), self.drafts, needed)

    def finish(self) -> Context:
        """The context, with its numbers given."""
        sources, text, tag = self._write(self.drafts)
        sources = tuple(replace(source, warnings=_warnings(source.text)) for source in sources)
        number_of = {rank: number for number, draft in enumerate(self.arrange(self.drafts), start=1)
                     for rank in draft.ranks}
        tokens = self.count(text) if sources else 0
        return Context(sources, text, tokens, self.budget, tuple(self._drops(number_of)),
                       tuple(self._notes(sources)), tag)

    def _twin(self, piece: Draft) -> int | None:
        """The rank of a piece that is in and says all that this one does, if there is one."""
        new = piece.source
        for draft in self.drafts:
            for rank in draft.ranks:
                old = self.pieces[rank].source
                if old.document_id != new.document_id or (old.version == new.version and
                                                          not draft.touches(piece, self.documents)):
                    same = holds(old.text, new.text)
                else:
                    # Whether a new version changed a text is something to be read; and what touches is joined.
                    same = (old.version, old.start, old.end) == (new.version, new.start, new.end)
                if same:
                    return rank
        return None

    def _manner(self, draft: Draft, piece: Draft, touching: list[Draft]) -> str:
        met = touching if draft is piece else [piece]
        return "overlaps" if any(draft.overlaps(other) for other in met) else "adjacent to"

    def _take_part(self, piece: Draft, beside: Draft, needed: int) -> None:
        """As much of the piece as fits, joined to the source that it touches."""
        others = [draft for draft in self.drafts if draft is not beside]
        follows = piece.source.end > beside.source.end
        parts = piece.beginnings(self.documents) if follows else piece.endings(self.documents)
        # A part begins and ends without white space; where no document says what lies between, it may touch no more.
        news = [part.joined(beside, self.documents) for part in parts if part.touches(beside, self.documents)
                and (part.source.end > beside.source.end if follows else part.source.start < beside.source.start)]
        self._choose(piece, news, others, needed)

    def _choose(self, piece: Draft, forms: list[Draft], others: list[Draft], needed: int) -> None:
        """The longest of these forms that fits beside the others; the shortest comes first.

        ``needed``: the context's tokens with the piece in whole, joined to what it touches.
        """
        rank = piece.ranks[0]
        if not forms or not self._fits([*others, forms[0]]):
            self.left_out[rank] = OVER_BUDGET, f"{needed} tokens with it in whole, {self.budget} are allowed"
            return
        chosen = forms[furthest(len(forms), lambda size: self._fits([*others, forms[size - 1]])) - 1]
        self._take([*others, chosen])
        whole, source = piece.source, chosen.source
        kept = min(whole.end, source.end) - max(whole.start, source.start)
        self.left_out[rank] = CUT, f"{kept} of {whole.end - whole.start} characters kept"

    def _take(self, drafts: list[Draft]) -> None:
        self.drafts = sorted(drafts, key=lambda draft: draft.ranks[0])

    def _fits(self, drafts: list[Draft]) -> bool:
        return self.count(self._write(drafts)[1]) <= self.budget

    def _write(self, drafts: list[Draft]) -> tuple[tuple[Source, ...], str, str]:
        """Numbered sources, their text and its tag."""
        ranked = sorted(drafts, key=lambda draft: draft.ranks[0])
        sources = tuple(replace(draft.source, number=number)
                        for number, draft in enumerate(self.arrange(ranked), start=1))
        return sources, *(enclose(sources) if sources else ("", TAG))

    def _drops(self, number_of: dict[int, int]):
        for rank, piece in enumerate(self.pieces):
            if rank in self.duplicates:
                reason, detail = DUPLICATE, f"the same text as in [{number_of[self.duplicates[rank]]}]"
            elif rank in self.joined:
                reason, detail = f"{self.joined[rank]} [{number_of[rank]}]", "read there"
            elif rank in self.left_out:
                reason, detail = self.left_out[rank]
                detail += f", in [{number_of[rank]}]" if rank in number_of else ""
            else:
                continue
            yield Drop(piece.source.chunk_ids[0], piece.source.document_id, piece.source.score, reason, detail)

    def _notes(self, sources: Sequence[Source]):
        if self.pieces and not sources:
            forms = [form for piece in self.pieces for form in (piece, *piece.windows(self.documents)[:1])]
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


@lru_cache(maxsize=512)  # the same pieces come back with many questions
def _warnings(text: str) -> tuple[Suspicion, ...]:
    return tuple(find_instructions(text))


def _version(source: Source) -> str:
    since = "" if source.effective_date is None else f", in force from {source.effective_date.isoformat()}"
    return f"[{source.number}] is version {source.version}{since}"
