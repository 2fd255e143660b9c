"""For every wrong question the first link that lost it, what shows it, and the smallest change that saves it
(chapter 08).

One number hides many failures: a recall of 0.8 may be a threshold that is too high, a quote cut in two, or a filter.
Each has another remedy, and a remedy for the wrong link changes nothing. The same idea, over the parts of a
question answering system, is in Moldovan et al. (2003), "Performance issues and error analysis in an open-domain
question answering system"; here each verdict is checked by running the chain again with the change it names.
"""

import html
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragkit.evaluation.losses import Walk
from ragkit.evaluation.outcome import Outcome
from ragkit.evaluation.questions import Question
from ragkit.evaluation.repairs import Repairs, Saved, is_right
from ragkit.evaluation.run import Evaluation, with_settings
from ragkit.evaluation.verdicts import Asked, Change, Loss, Run, Verdict
from ragkit.knowledge_base import KnowledgeBase
from ragkit.wording import shortened

if TYPE_CHECKING:
    from ragkit.citations import SentenceVerdict

SUPPORTED = "supported"
_RAISED_BY = {"MalformedVerdict": "grade", "JudgeError": "verify"}  # all else comes from the generator


@dataclass(frozen=True)
class Failure:
    """One question that came out wrong. Prints as text, shows in Jupyter, goes to JSON.

    Attributes:
        verdict: what went wrong first.
        link: the link of the chain that lost it, or that should have stopped it, as it is named in the trace;
            "documents" and "chunks" stand before those.
        evidence: what shows it, in words.
        change: the smallest change found that would have saved it, such as "top_k 11, evidence_top_k 5"; "" when
            none was found.
        verified: whether the chain was run with the change and the question came out right: its answer, where that
            was written again, else that its gold arrives.
        effect: what was seen then, in words; or what else was checked, when it could not be run.
        losses: one for each gold group that was lost, in the order of the chain; the first is the verdict's.
    """

    question: Question
    verdict: Verdict
    link: str
    evidence: str
    change: str = ""
    verified: bool = False
    effect: str = ""
    losses: tuple[Loss, ...] = ()

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"id": self.question.id, "kind": self.question.kind, "question": self.question.question,
                "verdict": str(self.verdict), "link": self.link, "evidence": self.evidence, "change": self.change,
                "verified": self.verified, "effect": self.effect,
                "losses": [{"group": loss.group, "document": loss.quote.document, "version": loss.quote.version,
                            "quote": loss.quote.quote, "verdict": str(loss.verdict), "link": loss.link,
                            "evidence": loss.evidence} for loss in self.losses]}

    def __str__(self) -> str:
        lines = [f"{self.question.id}: {self.question.question}",
                 f"  lost at {self.link}: {self.verdict}. {self.evidence}"]
        lines += [f"  also lost, group {loss.group}, at {loss.link}: {loss.verdict}. {loss.evidence}"
                  for loss in self.losses[1:]]
        lines.append(f"  change: {self._change()}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = (("question", self.question.question), ("verdict", str(self.verdict)), ("link", self.link),
                ("evidence", self.evidence),
                *((f"group {loss.group}", f"{loss.verdict}. {loss.evidence}") for loss in self.losses[1:]),
                ("change", self._change()))
        cells = "".join(f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{html.escape(value)}"
                        "</td></tr>" for name, value in rows)
        return f"<table>{cells}</table>"

    def _change(self) -> str:
        effect = f" ({'verified: ' if self.verified else ''}{self.effect})" if self.effect else ""
        return (self.change or "none found") + effect


def attribute_failures(evaluation: Evaluation, kb: KnowledgeBase) -> list[Failure]:
    """The wrong questions of an evaluation, each with the first link that lost it, in the order of the questions.

    Wrong is a question that failed with an error; one that can be answered, but of which a group of gold is not in
    what the answer read (in the evidence, when no answers were asked for), or which was refused, or answered
    wrongly (``is_right``), or with a claim that its citation does not support; and one that has no answer and was
    given one. Gold that is missing counts even when the answer happens to say the right thing.

    A group is lost when all its alternatives are; it is told of the one that came furthest. The question is lost
    at the first link that lost a group. Changes are found link by link, running the chain again after each, until
    the gold arrives. No language model is called for it; where answers came from the extractive generator, the
    answer is written again and judged too.

    Args:
        kb: the one that was evaluated, as it was then.

    Raises:
        ValueError: a knowledge base that was cut or embedded otherwise, or that lacks chunks which were found; a quote
            that occurs several times, and the question does not say which is meant.
    """
    with_settings(kb, evaluation.settings)  # only to say so when they do not belong together
    held = kb.corpus.chunks
    for hit in (hit for outcome in evaluation if outcome.result is not None for hit in outcome.result.candidates):
        if hit.chunk.id not in held:
            raise ValueError(f"the chunk {hit.chunk.id} was found, and the knowledge base has no such chunk; give the "
                             "one that was evaluated, or evaluate this one")
    attribution = _Attribution(evaluation, kb)
    found = (attribution.failure(outcome) for outcome in evaluation)
    return [failure for failure in found if failure is not None]


class _Attribution:
    """What the questions of one evaluation share."""

    def __init__(self, evaluation: Evaluation, kb: KnowledgeBase):
        self.evaluation, self.walk = evaluation, Walk(kb)
        self.repairs = Repairs(self.walk, evaluation)

    def failure(self, outcome: Outcome) -> Failure | None:
        question, answer = outcome.question, outcome.answer
        if outcome.error is not None:
            return self._failed(outcome)
        if not question.answerable:
            return None if outcome.refused else self._answered_wrongly(outcome)
        run = Run(Asked(self.evaluation.settings, question.filters, question.reader), outcome.result,
                  lambda: None if answer is None else answer.context)
        losses = self.walk.losses(question, run)
        if losses:
            saved = self.repairs.save(question, run, losses)
            failure = _failure(question, losses[0].verdict, losses[0].link, losses[0].evidence, saved)
            return replace(failure, evidence=failure.evidence + _all_the_same(outcome), losses=tuple(losses))
        if outcome.refused:
            return self._refused(outcome, run)
        if answer is None:
            return None
        return self._generated_wrongly(outcome, run) or self._cited_wrongly(outcome)

    def _failed(self, outcome: Outcome) -> Failure:
        link = "recall" if outcome.result is None else (
            _RAISED_BY.get(outcome.error.partition(":")[0], "generate"))
        return _failure(outcome.question, Verdict.FAILED_WITH_ERROR, link, outcome.error,
                        self.repairs.without_language_model(outcome) if outcome.result is not None else None)

    def _refused(self, outcome: Outcome, run: Run) -> Failure:
        """The gold was there, and still: by the grade, or by the generator."""
        answer = outcome.answer
        graded = answer.grade is not None and not answer.grade.sufficient
        link = "grade" if graded else "generate"
        saved = self.repairs.lower_grade(outcome, run) if graded else self.repairs.another_answer(outcome, run)
        return _failure(outcome.question, Verdict.REFUSED_WRONGLY, link, answer.explanation, saved)

    def _generated_wrongly(self, outcome: Outcome, run: Run) -> Failure | None:
        answer = outcome.answer
        if is_right(answer, outcome.question):
            return None
        evidence = (f"the gold is in the context, and {answer.generator} wrote {shortened(answer.text, 120)!r}; "
                    f"right is {outcome.question.answer!r}")
        notes = "; ".join(answer.trace["generate"].notes)
        return _failure(outcome.question, Verdict.GENERATED_WRONGLY, "generate",
                        evidence + (f"; {notes}" if notes else ""), self.repairs.another_answer(outcome, run))

    def _cited_wrongly(self, outcome: Outcome) -> Failure | None:
        bad = [sentence for sentence in outcome.answer.sentences if sentence.missing
               or sentence.is_claim and (sentence.label != SUPPORTED or not sentence.cited)]
        if not bad:
            return None
        evidence = "; ".join(f"{shortened(sentence.text, 120)!r}: {', '.join(sentence.reasons) or sentence.label}"
                             for sentence in bad)
        cites = [_better_citation(sentence) for sentence in bad]
        saved = None
        if all(cites):
            saved = Saved(Change(", ".join(dict.fromkeys(cites))), True, "the judge finds every claim supported there")
        return _failure(outcome.question, Verdict.CITED_WRONGLY, "verify", evidence, saved)

    def _answered_wrongly(self, outcome: Outcome) -> Failure:
        """The link that should have stopped it: the generator when it invented, else the cheapest threshold."""
        link, saved, cost = self.repairs.stop(outcome)
        answer = outcome.answer
        if answer is None:
            evidence = f"it has no answer, and {len(outcome.evidence)} pieces of evidence were given"
            return _failure(outcome.question, Verdict.ANSWERED_WRONGLY, link, f"{evidence}; {cost}", saved)
        invented = [sentence for sentence in answer.sentences if sentence.is_claim and sentence.in_context != SUPPORTED]
        if invented:
            link, why = "generate", f"no source says {shortened(invented[0].text, 120)!r}"
        else:
            why = f"the sources say {shortened(answer.text, 120)!r}, which does not answer it"
        return _failure(outcome.question, Verdict.ANSWERED_WRONGLY, link, f"it has no answer; {why}; {cost}", saved)


def _failure(question: Question, verdict: Verdict, link: str, evidence: str, saved: Saved | None) -> Failure:
    if saved is None:
        return Failure(question, verdict, link, evidence)
    return Failure(question, verdict, link, evidence, saved.change.words, saved.verified, saved.effect)


def _better_citation(sentence: "SentenceVerdict") -> str:
    """What to cite instead; "" when no source supports the claim."""
    if sentence.missing and (sentence.cited and sentence.label == SUPPORTED or not sentence.is_claim):
        return "leave out " + ", ".join(f"[{number}]" for number in sentence.missing)
    return f"cite [{sentence.better[0]}]" if sentence.better else ""


def _all_the_same(outcome: Outcome) -> str:
    """A hint at an alternative that the gold lacks."""
    if outcome.answer is None or outcome.refused or not is_right(outcome.answer, outcome.question):
        return ""
    return "; the answer matches the gold answer all the same: look whether what it cites belongs to the gold"
