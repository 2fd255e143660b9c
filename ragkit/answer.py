"""From evidence to an answer whose citations were checked, or to a refusal with its reason (chapters 05 to 07)."""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter

from ragkit.citations import (
    Citation,
    SentenceVerdict,
    SupportJudge,
    Verification,
    citations_of,
    parse_citations,
    render_html,
    render_text,
    verify_citations,
)
from ragkit.context import Context, assemble_context
from ragkit.documents import Document, DocumentKey
from ragkit.generation import NO_ANSWER, BackendUnavailable, EmptyAnswer, Generator, StreamInterrupted, TextStream
from ragkit.hits import below
from ragkit.refusal import EvidenceGrader, Grade, RefusalReason
from ragkit.retrieval import RetrievalResult
from ragkit.settings import Settings
from ragkit.trace import LinkTrace, Trace, timed

NOT_CITED = "not_cited"


@dataclass(frozen=True)
class Answer:
    """An answer with everything that says where it comes from, or a refusal with its reason (chapter 07).

    Shows in Jupyter with footnotes that open the source; prints as plain text.

    Attributes:
        question: as it was asked.
        text: with its marks such as [1]; ``NO_ANSWER``, or what the generator said instead, when refused.
        refused, refusal_reason, explanation: as in ``RetrievalResult``; ``ask`` adds ``insufficient_evidence``.
        citations: one for each source that the text cites and that exists.
        verification: each sentence with its verdict; None when nothing was written.
        context: the numbered sources, and what did not go in and why; None when it was not got that far.
        grade: how far the evidence covers the question; None when it was not graded.
        generator: who wrote the text; "" when nobody was asked.
        result: candidates and evidence.
        trace: all links, those of ``result`` first.
        documents: those of the sources, by key, as they were when it was asked; the footnotes show them. No others:
            an answer goes to the asker.
    """

    question: str
    text: str
    refused: bool
    refusal_reason: RefusalReason | None
    explanation: str
    result: RetrievalResult
    trace: Trace
    grade: Grade | None = None
    context: Context | None = None
    verification: Verification | None = None
    citations: tuple[Citation, ...] = ()
    generator: str = ""
    documents: Mapping[DocumentKey, Document] = field(default_factory=dict, compare=False, repr=False)

    @property
    def sentences(self) -> tuple[SentenceVerdict, ...]:
        """The answer's sentences, each with its verdict; none when nothing was written."""
        return self.verification.sentences if self.verification else ()

    @property
    def refused_by(self) -> str | None:
        """The link that left nothing to answer with; None when there is an answer."""
        if not self.refused:
            return None
        return next((entry.link for entry in self.trace.links if not entry.count_out), "generate")

    @property
    def milliseconds(self) -> dict[str, float]:
        """How long each link took."""
        return {entry.link: entry.milliseconds for entry in self.trace.links}

    def explained(self, more: str, note: str = "") -> "Answer":
        """The refusal with more to its explanation, and a note at the operator's link "permissions"."""
        trace = self.trace.with_note("permissions", note) if note else self.trace
        return replace(self, explanation=self.explanation + more, trace=trace)

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"question": self.question, "text": self.text, "refused": self.refused,
                "refusal_reason": self.refusal_reason and str(self.refusal_reason), "explanation": self.explanation,
                "generator": self.generator,
                "citations": [citation.to_dict() for citation in self.citations],
                "verification": self.verification and self.verification.to_dict(),
                "trace": self.trace.to_dict()}

    def __repr__(self) -> str:
        end = f"refused={self.refusal_reason}" if self.refused else f"{len(self.citations)} citations"
        return f"Answer({self.question!r}, {end})"

    def _repr_html_(self) -> str:
        if self.refused:
            return (f"<b>{html.escape(self.question)}</b><p>{html.escape(self.text)}</p>"
                    f"<p>Refused: <b>{self.refusal_reason}</b>. {html.escape(self.explanation)}</p>")
        return render_html(self.text, self.verification, self.context, self.documents)

    def __str__(self) -> str:
        if self.refused:
            return f"{self.text}\nRefused: {self.refusal_reason}. {self.explanation}"
        return render_text(self.text, self.verification, self.context, self.documents)


def answer_from(result: RetrievalResult, documents: Mapping[DocumentKey, Document], settings: Settings, *,
                generator: Generator, fallback: Generator, grader: EvidenceGrader | None = None,
                judge: SupportJudge | None = None) -> Answer:
    """Grade the evidence, pack it, have the answer written, check every sentence (chapter 07).

    A server that cannot be reached or breaks off does not leave the asker with nothing: ``fallback`` answers
    instead and the trace says so. What is wrong with the request itself is raised.

    Args:
        documents: by key; for titles, pages and spans.
        grader: None does not grade.
        judge: None is the deterministic one.
    """
    answer = Answer(result.query, NO_ANSWER, result.refused, result.refusal_reason, result.explanation, result,
                    result.trace)
    if answer.refused:
        return answer
    if grader is not None:
        answer = _grade(answer, grader)
        if not answer.grade.sufficient:
            return _refuse(answer, _too_low(answer.grade))
    context, milliseconds = timed(assemble_context, result.evidence, settings.context_tokens, documents=documents,
                                  order=settings.context_order)
    shown = {source.key: documents[source.key] for source in context if source.key in documents}
    answer = _add(answer, context.link(milliseconds), context=context, documents=shown)
    if not context.sources:
        return _refuse(answer, " ".join(context.notes))
    answer = _verify(_write(answer, generator, fallback), judge)
    if all(sentence.label == "no_claim" for sentence in answer.sentences):
        return _refuse(answer, f"The generator ({answer.generator}) found no answer in the sources.")
    return answer


def _grade(answer: Answer, grader: EvidenceGrader) -> Answer:
    evidence = answer.result.evidence
    grade, milliseconds = timed(grader.grade, answer.question, evidence)
    kept, left_out = (len(evidence), ()) if grade.sufficient else (
        0, ((str(RefusalReason.INSUFFICIENT_EVIDENCE), len(evidence)),))
    link = LinkTrace("grade", len(evidence), kept, excluded=left_out, notes=tuple(grade.reasons),
                     milliseconds=milliseconds)
    return _add(answer, link, grade=grade)


def _write(answer: Answer, generator: Generator, fallback: Generator) -> Answer:
    start = perf_counter()
    notes: list[str] = []
    try:
        text = _read(generator, answer, notes)
    except (BackendUnavailable, StreamInterrupted) as error:
        notes.append(f"{generator.name} failed ({error}); {fallback.name} answered instead")
        generator = fallback
        text = _read(fallback, answer, notes)
    sources = len(answer.context)
    cited = len({mark.number for mark in parse_citations(text)} & {source.number for source in answer.context})
    link = LinkTrace("generate", sources, cited, excluded=((NOT_CITED, sources - cited),) if cited < sources else (),
                     notes=tuple(notes), milliseconds=(perf_counter() - start) * 1000)
    return _add(answer, link, text=text, generator=generator.name)


def _read(generator: Generator, answer: Answer, notes: list[str]) -> str:
    """The whole text; the stream's notes are added to ``notes``, also when it fails."""
    given = generator.generate(answer.question, answer.context)
    if not isinstance(given, Iterable):
        raise TypeError(f"the generator {generator.name!r} gave {given!r}; give a TextStream, or pieces of text")
    # Somebody's own generator may be a plain one, with ``yield``.
    stream = given if isinstance(given, TextStream) else TextStream(lambda _: iter(given))
    try:
        with stream:
            text = stream.text()
    finally:
        notes += stream.notes
    if not text.strip():
        raise EmptyAnswer(f"{generator.name} gave an empty answer. Ask again, or with another generator.", text)
    return text


def _verify(answer: Answer, judge: SupportJudge | None) -> Answer:
    verification, milliseconds = timed(verify_citations, answer.text, answer.context, judge=judge)
    labels = [sentence.label for sentence in verification.sentences]
    failed = tuple((label, labels.count(label)) for label in ("unsupported", "contradicted") if label in labels)
    link = LinkTrace("verify", len(labels), len(labels) - sum(count for _, count in failed), excluded=failed,
                     milliseconds=milliseconds)
    return _add(answer, link, verification=verification,
                citations=citations_of(verification, answer.context, answer.documents))


def _add(answer: Answer, link: LinkTrace, **changes) -> Answer:
    return replace(answer, trace=Trace((*answer.trace.links, link)), **changes)


def _too_low(grade: Grade) -> str:
    reasons = f": {'; '.join(grade.reasons)}" if grade.reasons else ""
    if grade.score >= grade.min_grade:  # a grader that goes by something else than its score
        return f"The grader says that the evidence is not enough{reasons}."
    return f"The evidence is graded {below(grade.score, grade.min_grade)}, below min_grade {grade.min_grade:g}{reasons}."


def _refuse(answer: Answer, explanation: str) -> Answer:
    return replace(answer, refused=True, refusal_reason=RefusalReason.INSUFFICIENT_EVIDENCE, explanation=explanation)
