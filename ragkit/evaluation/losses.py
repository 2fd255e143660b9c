"""Gold evidence followed down the chain: the link that lost it, how that shows, and what would have kept it.

The walk reads what a run recorded (candidates, evidence, trace, context) and asks the corpus for the rest: texts,
chunks, the rank in a search without ``top_k``. So it follows a run of the past, and one under changed settings,
alike. ``ragkit.evaluation.failures`` is the way in (chapter 08).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from ragkit.chunking import Chunk
from ragkit.context.assemble import DUPLICATE
from ragkit.context.duplicates import holds
from ragkit.documents import Document, DocumentKey
from ragkit.evaluation import remedies
from ragkit.evaluation.questions import GoldQuote, Question, Span, gold_spans
from ragkit.evaluation.run import with_settings
from ragkit.evaluation.vectors import RunEmbedder
from ragkit.evaluation.verdicts import Change, Loss, Run, Verdict
from ragkit.filters import NOT_PERMITTED
from ragkit.hits import Hit, clamp
from ragkit.knowledge_base import KnowledgeBase
from ragkit.retrieval import BELOW_THRESHOLD, expand
from ragkit.trace import Drop

KNOWN_LINKS = frozenset("encode permissions filter recall expand select grade context generate verify".split())


class Walk:
    """Follows gold through runs over one knowledge base."""

    def __init__(self, kb: KnowledgeBase):
        self.kb = with_settings(kb, kb.settings)  # a copy, to remember the vectors of this walk
        self.kb.embedder = RunEmbedder(kb.embedder)
        self.corpus = kb.corpus
        self._leaves: dict[DocumentKey, list[Chunk]] = defaultdict(list)
        for id_ in self.corpus.index.ids:
            chunk = self.corpus.chunks[id_]
            self._leaves[DocumentKey(chunk.document_id, chunk.version)].append(chunk)

    def losses(self, question: Question, run: Run) -> list[Loss]:
        """One for each gold group of which nothing is left at the end of the run, in the order of the chain.

        Of alternatives the one that came furthest counts: it was nearest to saving its group.

        Raises:
            ValueError: a quote occurs several times and the question does not say which is meant.
        """
        lost = []
        for number, group in enumerate(question.gold, 1):
            found = [self._loss(number, quote, question, run) for quote in group]
            if None not in found:
                lost.append(max(found, key=lambda loss: (loss.verdict.place, -loss.distance)))
        return sorted(lost, key=lambda loss: (loss.verdict.place, loss.group))

    def arrives(self, question: Question, run: Run) -> bool:
        """Whether of each group something is left; what would mend it is not looked for, which takes longest."""
        return all(any(self._lost_in_documents(number, quote) is None and self._trail(number, quote, question, run)
                       .arrives() for quote in group) for number, group in enumerate(question.gold, 1))

    def _loss(self, group: int, quote: GoldQuote, question: Question, run: Run) -> Loss | None:
        """Where this quote was lost; None when it is there at the end."""
        loss = self._lost_in_documents(group, quote)
        if loss is not None:
            return loss
        trail = self._trail(group, quote, question, run)
        return None if trail.arrives() else trail.lost_before_search() or trail.lost_in_search()

    def _trail(self, group: int, quote: GoldQuote, question: Question, run: Run) -> "_Trail":
        one = question.model_copy(update={"gold": ((quote,),)})
        return _Trail(self, group, quote, gold_spans(one, self.corpus.documents)[0][0], run)

    def _lost_in_documents(self, group: int, quote: GoldQuote) -> Loss | None:
        key = DocumentKey(quote.document, quote.version)
        document = self.corpus.documents.get(key)
        if document is None:
            unread = remedies.unread_file(self.kb, key.id)
            if unread is not None:
                return Loss(group, quote, Verdict.LOST_IN_EXTRACTION, "documents", str(unread),
                            Change(f"mend {unread.source}"))
            return Loss(group, quote, Verdict.NOT_IN_CORPUS, "documents", remedies.absence(self.kb, key),
                        Change(f"add {key.id} version {key.version}"))
        # Counted as ``gold_spans`` does: occurrences may overlap.
        if len(re.findall(f"(?={re.escape(quote.quote)})", document.text)) < (quote.occurrence or 1):
            return Loss(group, quote, Verdict.LOST_IN_EXTRACTION, "documents", remedies.misread(document, quote),
                        Change(f"mend how {document.source or key.id} is read, or the quote"))
        return None

    def query_vector(self, question: str) -> np.ndarray:
        """Shape (dimension,); encoded once."""
        return self.kb.embedder.encode_queries([question])[0]

    def leaves(self, span: Span) -> list[Chunk]:
        """The searched chunks of the span's document."""
        return self._leaves[DocumentKey(span.document_id, span.version)]


class _Trail:
    """One gold quote in one run."""

    def __init__(self, walk: Walk, group: int, quote: GoldQuote, span: Span, run: Run):
        self.walk, self.corpus, self.group, self.quote, self.span, self.run = (
            walk, walk.corpus, group, quote, span, run)
        self.settings, self.result = run.asked.settings, run.result

    @cached_property
    def carriers(self) -> set[str]:
        searched = self.walk.leaves(self.span)
        return {chunk.id for chunk in remedies.carriers(self.span, searched, self.corpus.chunks, self.settings)}

    @property
    def document(self) -> Document:
        return self.corpus.documents[self.span.document_id, self.span.version]

    def lost(self, verdict: Verdict, link: str, evidence: str, change: Change | None, distance: float = 0.0) -> Loss:
        return Loss(self.group, self.quote, verdict, link, evidence, change, distance)

    def arrives(self) -> bool:
        """Whether the quote is in what the answer reads: a source of the context or, without one, the evidence."""
        span = self.span
        pieces = [hit.chunk for hit in self.result.evidence if remedies.shared(span, hit.chunk)]
        if not pieces:  # what is not in the evidence is not in the context either, which need not be packed for that
            return False
        holding, context = {chunk.id for chunk in pieces if span.inside(chunk)}, self.run.context
        if context is None:
            return bool(holding)
        if any((source.document_id, source.version) == (span.document_id, span.version)
               and source.start <= span.start and span.end <= source.end for source in context):
            return True
        # Left out because another document says the same words: they are read there.
        twins = {drop.chunk_id for drop in context.drops if drop.reason == DUPLICATE}
        return bool(holding & twins) and any(holds(source.text, self.quote.quote) for source in context)

    def lost_before_search(self) -> Loss | None:
        """Cut by the chunking, or in a document that was not searched."""
        if not self.carriers:
            change = self._uncut() or remedies.larger_chunks(self.walk.kb, self.document, self.span)
            return self.lost(Verdict.CUT_BY_CHUNKING, "chunks", self._cut(), change)
        asked = self.run.asked
        selection = self.corpus.select(asked.filters, asked.reader).documents
        if self.document.key in selection.hidden:
            group = min(self.document.audience)
            evidence = (f"{NOT_PERMITTED}: {self.document.id} is for {', '.join(sorted(self.document.audience))}; "
                        f"asked as {', '.join(sorted(asked.reader)) or 'nobody in particular'}")
            return self.lost(Verdict.FILTERED, "permissions", evidence,
                             Change(reader=frozenset([group])))
        reason = selection.excluded.get(self.document.key)
        if reason is None:
            return None
        return self.lost(Verdict.FILTERED, "filter", remedies.kept_out(reason, self.document, asked.filters,
                                           self.corpus.documents.values(), asked.reader),
                         remedies.let_in(reason, self.document))

    def lost_in_search(self) -> Loss:
        """Between recall and context. Links that this module does not know are told apart by what they dropped."""
        others = [entry for entry in self.result.trace.links if entry.link not in KNOWN_LINKS]
        found = self.carriers & {hit.chunk.id for hit in self.result.candidates}.union(
            *({drop.chunk_id for drop in entry.drops} for entry in others))
        if not found:
            return self._not_recalled()
        for entry in others:
            drops = {drop.chunk_id: drop for drop in entry.drops}
            if found <= drops.keys():
                nearest = min((drops[id_] for id_ in found), key=_order)
                return self.lost(Verdict.DROPPED_BY_RERANK, entry.link, _told(nearest),
                                 Change(f"let {entry.link} keep more, or leave it out"))
            found -= drops.keys()
        kept = {hit.chunk.id for hit in self.result.evidence}
        dropped = {drop.chunk_id: drop for drop in self.result.trace["select"].drops}
        holding = {id_ for id_ in (*kept, *dropped) if self.span.inside(self.corpus.chunks[id_])}
        if not holding:
            return self._lost_in_expansion(found)
        if not holding & kept:
            return self._lost_in_selection(min((dropped[id_] for id_ in holding), key=_order))
        return self._cut_from_context(holding)

    def _not_recalled(self) -> Loss:
        asked, result = self.run.asked, self.result
        selection = self.corpus.select(asked.filters, asked.reader)
        found = self.corpus.index.search(self.walk.query_vector(result.query), selection.count, selection.mask)
        rank, match = next((rank, match) for rank, match in enumerate(found, 1) if match.id in self.carriers)
        evidence = f"rank {rank} of {len(found)}: {match.id} scores {match.score:.3f}"
        if result.candidates:
            last = result.candidates[-1]
            evidence += f"; top_k {self.settings.top_k} ends at {last.score:.3f} with {last.chunk.id}"
        long = next((entry for entry in self.walk.kb.too_long if entry.chunk_id == match.id), None)
        if long is not None:
            evidence += f"; of its {long.tokens} tokens the model read {long.limit}"
        change = Change.of(top_k=rank) if rank > self.settings.top_k else None
        return self.lost(Verdict.NOT_RECALLED, "recall", evidence, change, rank)

    def _lost_in_expansion(self, found: set[str]) -> Loss:
        entry = self.result.trace["expand"]
        told = [_told(drop) for drop in entry.drops if drop.chunk_id in found] + list(entry.notes)
        evidence = "; ".join([f"{min(found)} was found, but no context after it holds the quote", *told])
        levels = {chunk.level for chunk in self._longer()}
        change = remedies.expanded(self.span, self.result.candidates, self.corpus.chunks, self.settings, levels)
        if change is None and entry.notes:
            change = Change("index the documents again")
        return self.lost(Verdict.LOST_IN_EXPANSION, "expand", evidence, change)

    def _lost_in_selection(self, drop: Drop) -> Loss:
        score = clamp(drop.score)
        evidence = f"{drop.chunk_id} scores {score:.4f}; {drop.detail}"
        if drop.reason == BELOW_THRESHOLD:
            return self.lost(Verdict.BELOW_THRESHOLD, "select", evidence,
                             Change.of(min_score=remedies.floor3(score)), 1 - score)
        select = self.result.trace["select"]
        # Before it stand the evidence, what the threshold took of the first, and what is nearer of the rest.
        nearer = sum(_order(other) < _order(drop) for other in select.drops)
        rank = select.count_out + nearer + 1
        return self.lost(Verdict.BEYOND_EVIDENCE_TOP_K, "select", evidence, Change.of(evidence_top_k=rank), rank)

    def _cut_from_context(self, holding: set[str]) -> Loss:
        context = self.run.context
        told = [_told(drop) for drop in context.drops if drop.chunk_id in holding]
        # Pieces are packed best first, so those after the gold take nothing from it.
        last = min(rank for rank, hit in enumerate(self.result.evidence) if hit.chunk.id in holding)
        budget = remedies.smallest_budget(
            self.result.evidence[:last + 1], self.settings, self.corpus.documents,
            lambda packed: _Trail(self.walk, self.group, self.quote, self.span,
                                  replace(self.run, pack=lambda: packed)).arrives())
        return self.lost(Verdict.CUT_FROM_CONTEXT, "context", "; ".join([*told, *context.notes]),
                         None if budget is None else Change.of(context_tokens=budget))

    def _cut(self) -> str:
        """How the chunks that are read divide the quote."""
        pieces = [leaf for leaf in self.walk.leaves(self.span) if remedies.shared(self.span, leaf)]
        if self.settings.expansion == "parents" and pieces:
            hits = expand([Hit(leaf, 1.0) for leaf in pieces], self.settings, self.corpus.chunks).hits
            pieces = [hit.chunk for hit in hits]
        if not pieces:
            return "no chunk holds any of it"
        best = max(pieces, key=lambda chunk: remedies.shared(self.span, chunk))
        return (f"the quote of {self.span.end - self.span.start} characters lies across {len(pieces)} chunks; "
                f"most of it, {remedies.shared(self.span, best)}, is in {best.id}")

    def _uncut(self) -> Change | None:
        """The longer chunks of the index as it is, when one of them holds the quote."""
        levels = [chunk.level for chunk in self._longer() if self.span.inside(chunk)]
        if not levels:
            return None
        level = remedies.nearest_first(levels, self.settings)[0]
        return remedies.needed(self.settings, expansion="parents", parent_level=level)

    def _longer(self) -> Iterator[Chunk]:
        """The chunks above those that are searched, of the document."""
        for leaf in self.walk.leaves(self.span):
            yield from remedies.ancestors(leaf, self.corpus.chunks)


def _told(drop: Drop) -> str:
    score = "" if drop.score is None else f" at {drop.score:.3f}"
    return f"{drop.chunk_id}{score}: {drop.reason}" + (f" ({drop.detail})" if drop.detail else "")


def _order(drop: Drop) -> tuple[float, str]:
    """Best first, as hits are ordered."""
    return (float("inf") if drop.score is None else -drop.score, drop.chunk_id)
