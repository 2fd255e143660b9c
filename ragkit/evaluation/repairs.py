"""Finding the smallest change that saves a question, by running the chain again (chapter 08)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ragkit.context import Context, assemble_context
from ragkit.context.duplicates import holds
from ragkit.evaluation.answers import number_match, token_recall
from ragkit.evaluation.losses import Walk
from ragkit.evaluation.outcome import Outcome
from ragkit.evaluation.questions import Question
from ragkit.evaluation.remedies import MOST_PIECES, floor3
from ragkit.evaluation.run import Evaluation, with_settings
from ragkit.evaluation.verdicts import Asked, Change, Loss, Run
from ragkit.hits import clamp
from ragkit.retrieval import retrieve

if TYPE_CHECKING:
    from ragkit.answer import Answer
    from ragkit.citations import Support

EXTRACTIVE = "extractive"
ENOUGH_WORDS = 0.5  # of the gold answer, where it has no number, date, time or identifier to go by
MOST_STEPS = 12  # changes one after the other for each group; each mends one link


@dataclass(frozen=True)
class Saved:
    """A change, whether the chain was run with it and saves the question, and what was seen."""

    change: Change
    verified: bool
    effect: str = ""


def is_right(answer: "Answer", question: Question) -> bool:
    """Whether an answer that was given says what the gold says.

    That is: it quotes one alternative of each group of gold word for word, or holds every number, date, time and
    identifier of the short gold answer; where that has none, at least half of its words.
    """
    from ragkit.citations.marks import parse_citations, remove_marks

    text = remove_marks(answer.text, parse_citations(answer.text))[0]
    if question.gold and all(any(holds(text, quote.quote) for quote in group) for group in question.gold):
        return True
    if not question.answer.strip():
        return False
    numbers = number_match(text, question.answer)
    return numbers == 1.0 if numbers is not None else token_recall(text, question.answer) >= ENOUGH_WORDS


class Repairs:
    """Changes that save questions of one evaluation. Never calls a language model."""

    def __init__(self, walk: Walk, evaluation: Evaluation):
        self.walk, self.kb, self.evaluation = walk, walk.kb, evaluation
        given = [outcome.answer for outcome in evaluation if outcome.answer is not None]
        writers = {answer.generator for answer in given if answer.generator} or {evaluation.settings.generator}
        self.extractive = writers == {EXTRACTIVE}
        # A grader of another kind cannot be asked again: its grades have no signals.
        grades = [answer.grade for answer in given if answer.grade is not None]
        self.grades = evaluation.settings.min_grade is not None and (
            not grades or any(grade.signals for grade in grades))

    def save(self, question: Question, run: Run, losses: Sequence[Loss]) -> Saved | None:
        """Mend the first loss, run again, mend the next, until the gold arrives or nothing is known to help."""
        first, total, tried = run.asked, Change(), {run.asked}
        for _ in range(MOST_STEPS * len(question.gold)):
            change = losses[0].change
            if change is not None and not change.can_run:
                return Saved(total.then(change), False, change.checked)
            # What was tried before comes again where two groups need opposite things: two versions, say.
            if change is None or (asked := run.asked.changed(change)) in tried:
                return Saved(total, False, f"lost at {losses[0].link} all the same") if total.words else None
            tried.add(asked)
            total = total.then(change)
            run = self._again(question, asked)
            losses = self.walk.losses(question, run)
            if not losses:
                return self._written(question, *self._least(question, first, run, total))
        return Saved(total, False, "the gold does not arrive with it")

    def lower_grade(self, outcome: Outcome, run: Run) -> Saved:
        """The threshold that lets this evidence through."""
        change = Change.of(min_grade=floor3(outcome.answer.grade.score))
        if not self.grades:
            return Saved(change, False, "another grader gave this grade; it was not asked again")
        return self._written(outcome.question, self._again(outcome.question, run.asked.changed(change)), change)

    def another_answer(self, outcome: Outcome, run: Run) -> Saved | None:
        """The extractive generator in the place of another; for itself less to read, as long as the gold is there."""
        question = outcome.question
        if not self.extractive:
            return self._tried(question, run.asked, Change.of(generator=EXTRACTIVE))
        for fewer in range(len(run.result.evidence) - 1, 0, -1):
            saved = self._tried(question, run.asked, Change.of(evidence_top_k=fewer))
            if saved is not None:
                return saved
        return None

    def without_language_model(self, outcome: Outcome) -> Saved | None:
        """The extractive generator for a question that failed."""
        question = outcome.question
        if self.extractive:
            return None
        answer = self._ask(question, Asked(self.evaluation.settings, question.filters, question.reader))
        good = not answer.refused and is_right(answer, question) if question.answerable else answer.refused
        then = "refused" if answer.refused else "answered rightly" if good else "answered wrongly"
        return Saved(Change.of(generator=EXTRACTIVE), good, f"it is then {then}")

    def stop(self, outcome: Outcome) -> tuple[str, Saved | None, str]:
        """The threshold that would have refused an unanswerable question at the least cost in right answers.

        Returns:
            the link, the change and what it costs, in words.
        """
        question, stops = outcome.question, []
        score = max(clamp(hit.score) for hit in outcome.evidence)
        if (least := _above(score)) <= 1:
            kb = with_settings(self.kb, self.evaluation.settings.replace(min_score=least))
            refused = kb.retrieve(question.question, question.filters, reader=question.reader,
                                  query_vector=self.walk.query_vector(question.question)).refused
            stops.append((sum(best < least for best in self._right_scores), "select", Change.of(min_score=least),
                          refused, f"the best evidence scores {score:.4f}"))
        if outcome.answer is not None:
            grade = outcome.answer.grade or self._grade(outcome)
            if (least := _above(grade.score)) <= 1:
                stops.append((sum(other < least for other in self._right_grades), "grade", Change.of(min_grade=least),
                              bool(grade.signals), f"the evidence is graded {grade.score:.4f}"))
        if not stops:
            return "generate", None, "no threshold can stop it"
        lost, link, change, refused, told = min(stops, key=lambda stop: stop[0])
        effect = f"it is then refused, and with it {lost} of the {len(self._right)} questions answered rightly"
        return link, Saved(change, refused, effect), told

    def _least(self, question: Question, first: Asked, run: Run, total: Change) -> tuple[Run, Change]:
        """Without the settings that later ones made needless: a merge, say, before a fixed level."""
        for name in total.settings:
            rest = replace(total, settings={other: value for other, value in total.settings.items() if other != name})
            if rest.can_run and self.walk.arrives(question, less := self._again(question, first.changed(rest))):
                run, total = less, rest
        return run, total

    def _again(self, question: Question, asked: Asked) -> Run:
        """The chain up to the context; up to the evidence when that is more than anyone would pack."""
        result = retrieve(question.question, asked.settings, corpus=self.kb.corpus, filters=asked.filters,
                          reader=asked.reader, query_vector=self.walk.query_vector(question.question))

        def pack() -> Context | None:
            if not self.evaluation.answers or not 0 < len(result.evidence) <= MOST_PIECES:
                return None
            return assemble_context(result.evidence, asked.settings.context_tokens,
                                    documents=self.kb.corpus.documents, order=asked.settings.context_order)

        return Run(asked, result, pack)

    def _written(self, question: Question, run: Run, change: Change) -> Saved:
        """The gold arrives with the change; see what the answer makes of it, where that can be run."""
        if not self.evaluation.answers:
            return Saved(change, True, "the gold is then in the evidence")
        if run.context is None:
            count = len(run.result.evidence)
            return Saved(change, False, f"the gold is then among {count} pieces of evidence, too many")
        if not self.extractive:
            return Saved(change, True, "the gold is then in the context; the language model was not asked again")
        answer = self._ask(question, run.asked)
        if answer.refused and self.grades and answer.grade is not None and not answer.grade.sufficient:
            change = change.then(Change.of(min_grade=floor3(answer.grade.score)))
            answer = self._ask(question, run.asked.changed(change))
        right = not answer.refused and is_right(answer, question)
        still = "refused" if answer.refused else "answered wrongly"
        return Saved(change, right, "the answer is then right" if right else
                     f"the gold is then in the context; it is still {still}")

    def _tried(self, question: Question, asked: Asked, change: Change) -> Saved | None:
        answer = self._ask(question, asked.changed(change))
        if answer.refused or not is_right(answer, question):
            return None
        return Saved(change, True, "the answer is then right")

    def _ask(self, question: Question, asked: Asked) -> "Answer":
        settings = asked.settings if self.grades else asked.settings.replace(min_grade=None)
        kb = with_settings(self.kb, settings.replace(generator=EXTRACTIVE))
        return kb.ask(question.question, asked.filters, reader=asked.reader, generator=self._generator,
                      judge=_NoJudge(), query_vector=self.walk.query_vector(question.question))

    @cached_property
    def _generator(self):
        from ragkit.generation import ExtractiveGenerator

        return ExtractiveGenerator(self.kb.embedder)

    @cached_property
    def _right(self) -> list[Outcome]:
        """The questions answered rightly; without answers, those whose evidence holds all gold."""
        return [outcome for outcome in self.evaluation
                if outcome.question.answerable and outcome.refused is False
                and (is_right(outcome.answer, outcome.question) if outcome.answer is not None
                     else outcome.metrics["evidence_recall"] == 1.0)]

    @cached_property
    def _right_scores(self) -> list[float]:
        return [max(clamp(hit.score) for hit in outcome.evidence) for outcome in self._right]

    @cached_property
    def _right_grades(self) -> list[float]:
        return [(outcome.answer.grade or self._grade(outcome)).score for outcome in self._right]

    def _grade(self, outcome: Outcome):
        from ragkit.refusal import SignalGrader

        return SignalGrader(self.kb.embedder).grade(outcome.question.question, outcome.evidence)


class _NoJudge:
    """Judging takes most of an answer's time, and whether a quotation is supported is not asked here."""

    name = "none"

    def judge(self, claims: Sequence[str], source: str) -> "list[Support]":
        from ragkit.citations import Support

        return [Support(1.0, "supported", (), (0, len(source)), ()) for _ in claims]


def _above(score: float) -> float:
    """The least threshold of three decimals that a score does not reach."""
    return round(math.floor(score * 1000) / 1000 + 0.001, 3)
