"""The regression gate: a committed scorecard, and whether a run is worse than it (chapter 08).

Every number of the course can be moved by a change that was meant for something else. The gate keeps the scores of
a known state, with a tolerance for each, and tells a run that is worse from one that is not. Run it on the ``dev``
questions: whoever looks at the ``test`` half at every change tunes on it.
"""

import hashlib
import html
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragkit.evaluation.metrics import Mean
from ragkit.evaluation.outcome import CHARACTERS_READ, LOWER_IS_BETTER, METRIC_NAMES
from ragkit.evaluation.questions import Question
from ragkit.evaluation.run import Evaluation
from ragkit.evaluation.scorecard import ScoreGroup, html_table, text_table

ERRORS = "errors"
REFUSALS = {"refusal_precision": "precision", "refusal_recall": "recall", "answered": "answered"}
COSTS = LOWER_IS_BETTER | {ERRORS}  # of these, less is better
DIGITS = 6  # that a baseline keeps
MOVED = 10.0**-DIGITS  # a smaller difference is none
Key = tuple[str, str]  # group, metric


@dataclass(frozen=True)
class Entry:
    """One score of a baseline: mean, denominator, and by how much a run may be worse. ``value`` None is undefined."""

    value: float | None
    n: int
    tolerance: float


@dataclass(frozen=True)
class Baseline:
    """The scores of a known state.

    Attributes:
        fingerprint: of the questions, gold included (``fingerprint``).
        questions, k, answers: how many were asked, the candidates that were read, whether answers were written.
        settings: of the chain; they may change, which is shown.
        entries: by (group, metric); the groups are "overall" and, where there are several, the languages.
    """

    fingerprint: str
    questions: int
    k: int
    answers: bool
    settings: Mapping[str, Any]
    entries: Mapping[Key, Entry] = field(repr=False)

    @classmethod
    def of(cls, evaluation: Evaluation, old: "Baseline | None" = None) -> "Baseline":
        """The scores of a run, with the tolerances of ``old``, or those of ``default_tolerance``."""
        entries = {}
        for key, (value, n) in _scores(evaluation).items():
            known = old.entries.get(key) if old is not None else None
            tolerance = known.tolerance if known is not None else default_tolerance(key[1], value, n)
            entries[key] = Entry(None if value is None else round(value, DIGITS), n, tolerance)
        return cls(fingerprint(outcome.question for outcome in evaluation), len(evaluation), evaluation.k,
                   evaluation.answers, _plain(evaluation.settings.to_dict()), entries)

    def save(self, path: str | Path) -> None:
        """Write it as JSON, one score a line, so that a change of one is a change of one line."""
        head = {"fingerprint": self.fingerprint, "questions": self.questions, "k": self.k, "answers": self.answers,
                "settings": self.settings}
        groups: dict[str, list[str]] = {}
        for (group, metric), entry in self.entries.items():
            values = {"value": entry.value, "n": entry.n, "tolerance": entry.tolerance}
            groups.setdefault(group, []).append(f"      {json.dumps(metric)}: {json.dumps(values)}")
        tables = ",\n".join(f"    {json.dumps(group)}: {{\n" + ",\n".join(lines) + "\n    }"
                            for group, lines in groups.items())
        lines = [f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
        text = "{\n" + ",\n".join(lines) + ',\n  "scores": {\n' + tables + "\n  }\n}\n"
        Path(path).write_text(text, encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class GateRow:
    """One score, then and now. ``now.value`` None is undefined."""

    group: str
    metric: str
    before: Entry
    now: Mean

    @property
    def difference(self) -> float | None:
        """Now minus the baseline; None when one of them is undefined."""
        if self.before.value is None or self.now.value is None:
            return None
        return self.now.value - self.before.value

    @property
    def verdict(self) -> str:
        """"same", "within tolerance", "better", "new", or one of the two that fail: "worse" and "missing".

        A score that was defined and is no longer is missing, and never a pass: of nothing, anything is true.
        """
        if self.before.value is None:
            return "same" if self.now.value is None else "new"
        if self.difference is None:
            return "missing"
        if abs(self.difference) < MOVED:
            return "same"
        if abs(self.difference) <= self.before.tolerance + MOVED:
            return "within tolerance"
        return "worse" if (self.difference < 0) != (self.metric in COSTS) else "better"

    @property
    def failed(self) -> bool:
        """Whether it turns the gate red."""
        return self.verdict in ("worse", "missing")

    def cells(self) -> list[str]:
        """The row of the table, as text."""
        digits = 0 if max(abs(self.before.value or 0), abs(self.now.value or 0)) >= 10 else 3
        difference = "–" if self.difference is None else f"{self.difference:+z,.{digits}f}"
        return [f"{self.group} {self.metric}", _number(self.before.value, self.before.n, digits),
                _number(self.now.value, self.now.n, digits), difference, f"{self.before.tolerance:,.{digits}f}",
                self.verdict]


@dataclass(frozen=True)
class GateReport:
    """What became of every score of a baseline. Prints and shows as a table: all that moved, and the overall ones.

    Attributes:
        changed: settings that differ, as (name, then, now).
    """

    rows: tuple[GateRow, ...]
    changed: tuple[tuple[str, Any, Any], ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is worse by more than its tolerance, or missing."""
        return not self.failures

    @property
    def failures(self) -> tuple[GateRow, ...]:
        """The rows that turn the gate red."""
        return tuple(row for row in self.rows if row.failed)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows, as text."""
        shown = [row for row in self.rows
                 if row.verdict != "same" or row.group == "overall" and row.before.value is not None]
        return (["metric", "baseline (n)", "now (n)", "difference", "tolerance", "verdict"],
                [row.cells() for row in shown])

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        if self.failures:
            names = ", ".join(f"{row.group} {row.metric}" for row in self.failures)
            return f"Worse than the baseline by more than the tolerance, or missing: {names}."
        better = sum(row.verdict == "better" for row in self.rows)
        moved = sum(row.verdict != "same" for row in self.rows)
        if better:
            return (f"Not worse than the baseline; {better} scores are better by more than the tolerance: write the "
                    "baseline anew, so that this is not lost again.")
        return f"Not worse than the baseline; {moved or 'no'} scores moved."

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        rows = [{"group": row.group, "metric": row.metric, "baseline": row.before.value, "baseline_n": row.before.n,
                 "now": row.now.value, "n": row.now.n, "difference": row.difference,
                 "tolerance": row.before.tolerance, "verdict": row.verdict} for row in self.rows]
        return {"passed": self.passed, "changed_settings": [list(change) for change in self.changed], "rows": rows}

    def __str__(self) -> str:
        return "\n\n".join([*self._changes(), text_table(*self.table()), self.summary])

    def _repr_html_(self) -> str:
        texts = (*self._changes(), self.summary)
        return html_table(*self.table()) + "".join(f"<p>{html.escape(text)}</p>" for text in texts)

    def _changes(self) -> list[str]:
        if not self.changed:
            return []
        return ["Settings that differ from the baseline's: "
                + ", ".join(f"{name} {then!r} -> {now!r}" for name, then, now in self.changed)]


def check_gate(evaluation: Evaluation, baseline: Baseline) -> GateReport:
    """Compare a run with a baseline.

    Raises:
        ValueError: they cannot be compared: other questions, another k, with answers and without, or a score that
            one has and the other does not know. None of these is a pass.
    """
    asked = fingerprint(outcome.question for outcome in evaluation)
    if asked != baseline.fingerprint:
        raise ValueError(f"the {len(evaluation)} questions ({asked[:12]}) are not the {baseline.questions} of the "
                         f"baseline ({baseline.fingerprint[:12]}); ask the same, or write the baseline anew")
    for name in ("k", "answers"):
        then, now = getattr(baseline, name), getattr(evaluation, name)
        if then != now:
            raise ValueError(f"the baseline was made with {name} {then}, and this run with {now}; make them equal, "
                             "or write the baseline anew")
    scores = _scores(evaluation)
    for one, other, where in ((scores, baseline.entries, "the baseline"), (baseline.entries, scores, "this run")):
        missing = next((key for key in one if key not in other), None)
        if missing is not None:
            raise ValueError(f"{where} has no score {' '.join(missing)!r}; write the baseline anew")
    rows = tuple(GateRow(*key, entry, scores[key]) for key, entry in baseline.entries.items())
    now = _plain(evaluation.settings.to_dict())
    names = dict.fromkeys((*baseline.settings, *now))
    return GateReport(rows, tuple((name, baseline.settings.get(name), now.get(name)) for name in names
                                  if baseline.settings.get(name) != now.get(name)))


def load_baseline(path: str | Path) -> Baseline:
    """Read a baseline that ``Baseline.save`` wrote; its tolerances may be edited by hand.

    Raises:
        ValueError: names the file, and the field and value that are wrong.
    """
    path = Path(path)
    try:
        plain = json.loads(path.read_text(encoding="utf-8-sig"))  # some editors put a mark before the text
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name}: not UTF-8 (got {error.object[error.start:error.end]!r})") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{path.name}, line {error.lineno}: not JSON ({error.msg})") from error
    if not isinstance(plain, dict):
        raise ValueError(f"{path.name}: {plain!r} is no baseline")
    for name, kind in (("fingerprint", str), ("questions", int), ("k", int), ("answers", bool), ("settings", dict),
                       ("scores", dict)):
        if not isinstance(plain.get(name), kind):
            raise ValueError(f"{path.name}, {name}: {plain.get(name)!r} is no {kind.__name__}")
    entries = {}
    for group, scores in plain["scores"].items():
        if not isinstance(scores, dict):
            raise ValueError(f"{path.name}, scores.{group}: {scores!r} is no dict")
        for metric, values in scores.items():
            entries[group, metric] = _entry(values, f"{path.name}, scores.{group}.{metric}")
    return Baseline(plain["fingerprint"], plain["questions"], plain["k"], plain["answers"], plain["settings"], entries)


def fingerprint(questions: Iterable[Question]) -> str:
    """SHA-256 of the questions with all their fields, whatever their order."""
    rows = []
    for question in questions:
        plain = question.model_dump(mode="json") | {"reader": sorted(question.reader)}
        rows.append(json.dumps(plain, sort_keys=True, ensure_ascii=True))
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def default_tolerance(metric: str, value: float | None, n: int) -> float:
    """What a score may lose: what two questions move, but 0.01 at least, and no more than 0.05 or one question.

    Some, because another machine's last digit can turn a close call. 5 % for the characters read; 0 for errors.
    """
    if metric == ERRORS:
        return 0.0
    if metric == CHARACTERS_READ:
        return float(math.ceil(0.05 * (value or 0)))
    if not n:
        return 0.05
    return math.ceil(1000 * max(1 / n, min(2 / n, 0.05), 0.01)) / 1000


def _scores(evaluation: Evaluation) -> dict[Key, Mean]:
    card = evaluation.scorecard
    groups: list[ScoreGroup] = [card.overall, *(card.languages.values() if len(card.languages) > 1 else ())]
    scores: dict[Key, Mean] = {}
    for group in groups:
        scores |= {(group.name, metric): group.metrics[metric] for metric in METRIC_NAMES}
        scores |= {(group.name, name): getattr(group.refusals, share) for name, share in REFUSALS.items()}
        scores[group.name, ERRORS] = Mean(float(group.errors), group.questions)
    return scores


def _entry(values: Any, where: str) -> Entry:
    if not isinstance(values, dict):
        raise ValueError(f"{where}: {values!r} is no dict of value, n and tolerance")
    for name in ("value", "n", "tolerance"):
        number = values.get(name)
        if name == "value" and number is None and name in values:
            continue
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
            raise ValueError(f"{where}.{name}: {number!r} is no number of at least 0")
    return Entry(values["value"], values["n"], values["tolerance"])


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has them: a tuple is a list there."""
    return json.loads(json.dumps(settings))


def _number(value: float | None, n: int, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f} ({n})"
