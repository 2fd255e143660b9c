"""An evaluation or a comparison as one page that can be sent to somebody (chapter 08).

The page holds everything: nothing is fetched and no script runs, so it opens offline and in ten years. What comes
from documents, questions and models is escaped. It is laid out for the width of a phone; wide tables scroll in
their own boxes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragkit.evaluation.compare import Comparison
from ragkit.evaluation.failures import Failure
from ragkit.evaluation.gate import GateReport
from ragkit.evaluation.outcome import METRIC_NAMES, Outcome
from ragkit.evaluation.page import escape, kinds_picture, narrow, page, picture, table, verdicts_picture
from ragkit.evaluation.questions import Question
from ragkit.evaluation.run import Evaluation
from ragkit.evaluation.scorecard import Scorecard, cell
from ragkit.evaluation.verdicts import Verdict
from ragkit.settings import Settings

FLIPPED_BY = ("recall", "evidence_recall", "number_match", "answerable_answered", "unanswerable_refused")


def report_html(evaluation: Evaluation, failures: Sequence[Failure] = (), *, title: str = "Evaluation",
                gate: GateReport | None = None) -> str:
    """A page on one evaluation: scorecard with denominators, figures, the gate, every failing question.

    Args:
        failures: what ``attribute_failures`` found for it.
        title: says what was evaluated.
        gate: the differences from a baseline, when there is one.
    """
    card = evaluation.scorecard
    parts = [_opening(card, len(failures))]
    if gate is not None:
        parts.append(_gate(gate))
    parts += ["<h2>Scorecard</h2>\n", _scores(card), "<h2>Kinds of questions</h2>\n",
              kinds_picture(card.kinds, card.k), _groups(card), "<h2>Failing questions</h2>\n",
              _failures(failures, evaluation), "<h2>Settings</h2>\n", _settings({"value": evaluation.settings})]
    return page(title, "".join(parts))


def comparison_html(comparison: Comparison, failures: Mapping[str, Sequence[Failure]] | None = None, *,
                    title: str = "Comparison") -> str:
    """A page on a comparison: scorecards side by side, differences with intervals, questions that flipped.

    Args:
        failures: what ``attribute_failures`` found, by the name of the settings.
    """
    first, *others = comparison.names
    questions = len(comparison[first])
    parts = [f"<p>{questions} questions under {len(comparison)} settings. An interval that holds 0 cannot tell which "
             "is better.</p>\n<h2>Scorecards</h2>\n", table(*comparison.scorecard_table)]
    for name in others:
        parts += [f"<h2>{escape(name)} against {escape(first)}</h2>\n", _difference_picture(comparison, name),
                  table(*comparison.difference_table(name)), _flips(comparison, name)]
    for name, found in (failures or {}).items():
        parts += [f"<h2>Failing questions under {escape(name)}</h2>\n", _failures(found, comparison[name])]
    settings = {name: evaluation.settings for name, evaluation in comparison.evaluations.items()}
    parts += ["<h2>Settings</h2>\n", _settings(settings)]
    return page(title, "".join(parts))


def _opening(card: Scorecard, failing: int) -> str:
    refusals = card.overall.refusals
    return (f"<p>{card.overall.questions} questions, {card.overall.errors} errors, {failing} failing. "
            f"Recall at {card.k}: {cell(card['recall'])}. Answerable and answered: {cell(refusals.answered)}. "
            f"Unanswerable and refused: {cell(refusals.recall)}.</p>\n"
            "<p>Means stand with their denominators in brackets: the questions for which the metric is defined.</p>\n")


def _scores(card: Scorecard) -> str:
    metrics, refusals, _ = card.tables()
    return table(*metrics) + table(*refusals)


def _groups(card: Scorecard) -> str:
    """Every metric of every kind and language, with its denominator."""
    groups = [*card.kinds.values(), *card.languages.values()]
    names = [name for name in METRIC_NAMES if card.overall.metrics[name].n]
    head = ["kind or language", "questions", "errors", *names, "refusal precision", "refusal recall", "answered"]
    return table(head, [[group.name, str(group.questions), str(group.errors),
                         *(cell(group.metrics[name]) for name in names), cell(group.refusals.precision),
                         cell(group.refusals.recall), cell(group.refusals.answered)] for group in groups])


def _gate(gate: GateReport) -> str:
    colour = "green" if gate.passed else "red"
    changed = table(["setting", "baseline", "now"], [[str(value) for value in change] for change in gate.changed])
    return (f"<h2>Against the baseline</h2>\n<p class='{colour}'>{escape(gate.summary)}</p>\n" + table(*gate.table())
            + (changed if gate.changed else ""))


def _failures(failures: Sequence[Failure], evaluation: Evaluation) -> str:
    if not failures:
        return "<p>No question failed.</p>\n"
    ordered = sorted(failures, key=lambda failure: Verdict(failure.verdict).place)  # stable: in the order of questions
    parts = [verdicts_picture(str(failure.verdict) for failure in ordered)]
    verdict = None
    for failure in ordered:
        if failure.verdict != verdict:
            verdict = failure.verdict
            parts.append(f"<h3>{escape(_words(verdict))}</h3>\n")
        parts.append(_failure(failure, evaluation[failure.question.id]))
    return "".join(parts)


def _failure(failure: Failure, outcome: Outcome) -> str:
    question = failure.question
    asked = [*(f"{name}: {value}" for name, value in question.filters.model_dump(exclude_none=True).items()),
             *(["reader: " + ", ".join(sorted(question.reader))] if question.reader else [])]
    change = failure.change or "none found"
    if failure.effect:
        change += f" ({'verified: ' if failure.verified else ''}{failure.effect})"
    rows: list[tuple[str, str]] = [
        ("kind", _words(question.kind) + (", " + ", ".join(asked) if asked else "")),
        ("gold answer", question.answer if question.answerable else "none: it is to be refused"),
        ("answer", _given(outcome)),
        *((f"gold, group {number}", "\nor: ".join(f"{quote.document} version {quote.version}: {quote.quote}"
                                                  for quote in group))
          for number, group in enumerate(question.gold, 1)),
        (f"lost at {failure.link}", f"{_words(failure.verdict)}. {failure.evidence}"),
        *((f"also lost at {loss.link}, group {loss.group}", f"{_words(loss.verdict)}. {loss.evidence}")
          for loss in failure.losses[1:]),
        ("smallest change", change)]
    told = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return (f"<details class='failure'><summary><code>{escape(question.id)}</code> {escape(question.question)}"
            f"</summary><dl>{told}</dl></details>\n")


def _given(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"failed with {outcome.error}"
    if outcome.refused:
        return f"refused: {_words(outcome.refusal_reason)}"
    return outcome.answer.text if outcome.answer is not None else "none asked for; evidence was found"


def _difference_picture(comparison: Comparison, name: str) -> str:
    clear = [f"{one.metric} {one.verdict}" for one in comparison.differences(name) if one.verdict != "cannot tell"]
    caption = (f"Differences {name} minus {comparison.names[0]} with {comparison.confidence:.0%} intervals. "
               f"Clear of zero: {', '.join(clear) or 'none'}.")
    return picture(narrow(comparison.figure(name)), caption, caption)


def _flips(comparison: Comparison, name: str) -> str:
    parts = ["<h3>Questions that flipped</h3>\n"]
    for metric in FLIPPED_BY:
        flips = comparison.flipped(metric, name)
        if flips.won or flips.lost:
            parts.append(f"<details><summary>{escape(_words(metric))}: {len(flips.won)} won, {len(flips.lost)} lost"
                         f"</summary>{_list('won', flips.won)}{_list('lost', flips.lost)}</details>\n")
    return "".join(parts) if len(parts) > 1 else parts[0] + "<p>None.</p>\n"


def _list(name: str, questions: Iterable[Question]) -> str:
    lines = "".join(f"<li><code>{escape(question.id)}</code> {escape(question.question)}</li>"
                    for question in questions)
    return f"<p>{name}</p><ul>{lines}</ul>" if lines else ""


def _settings(settings: Mapping[str, Settings]) -> str:
    plain: dict[str, dict[str, Any]] = {name: one.to_dict() for name, one in settings.items()}
    names = next(iter(plain.values()))
    return table(["setting", *plain], [[name, *(_value(one[name]) for one in plain.values())] for name in names])


def _value(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, tuple | list) else "off" if value is None else str(value)


def _words(name: object) -> str:
    return str(name).replace("_", " ")
