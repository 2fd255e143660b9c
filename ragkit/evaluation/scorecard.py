"""All metrics of a run in one card: overall, per kind, per language (chapter 08)."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ragkit.evaluation.answers import RefusalMatrix
from ragkit.evaluation.metrics import Mean, mean
from ragkit.evaluation.outcome import METRIC_NAMES, Outcome

HEADLINE = ("recall", "ndcg", "evidence_recall", "number_match", "citation_recall", "supported_share")


@dataclass(frozen=True)
class ScoreGroup:
    """The scores of some questions.

    Attributes:
        name: "overall", a kind or a language.
        questions: how many there are.
        errors: how many of them failed.
        metrics: mean and denominator by name, in the order of ``METRIC_NAMES``. A question for which a metric is
            undefined is left out of it, which the denominator shows.
        refusals: who was answered and who refused.
    """

    name: str
    questions: int
    errors: int
    metrics: Mapping[str, Mean] = field(repr=False)
    refusals: RefusalMatrix

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"questions": self.questions, "errors": self.errors,
                "metrics": {name: value._asdict() for name, value in self.metrics.items()},
                "refusals": self.refusals.to_dict()}


@dataclass(frozen=True)
class Scorecard:
    """Scores overall, per kind and per language. Prints as text, shows as tables in Jupyter, goes to JSON.

    Attributes:
        k: candidates that the retrieval metrics read.
        kinds, languages: by name, in the order of their first question.
    """

    k: int
    overall: ScoreGroup
    kinds: Mapping[str, ScoreGroup]
    languages: Mapping[str, ScoreGroup]

    def __getitem__(self, metric: str) -> Mean:
        """Mean and denominator over all questions; an unknown metric is an error that lists the known ones."""
        return self.overall.metrics[known_metric(metric)]

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"k": self.k, "overall": self.overall.to_dict(),
                "kinds": {name: group.to_dict() for name, group in self.kinds.items()},
                "languages": {name: group.to_dict() for name, group in self.languages.items()}}

    def tables(self) -> list[tuple[list[str], list[list[str]]]]:
        """Head and rows of each table, as text: metrics, refusals, kinds."""
        groups = [self.overall, *(self.languages.values() if len(self.languages) > 1 else ())]
        names = [name for name in METRIC_NAMES if self.overall.metrics[name].n]
        metrics = [[name, *(cell(group.metrics[name]) for group in groups)] for name in names]
        refusals = [[name, *(cell(getattr(group.refusals, attribute)) for group in groups)]
                    for name, attribute in (("refusal precision", "precision"), ("refusal recall", "recall"),
                                            ("answerable and answered", "answered"))]
        counts = [[name.replace("_", " "), *(str(getattr(group.refusals, name)) for group in groups)]
                  for name in ("rightly_answered", "wrongly_answered", "wrongly_refused", "rightly_refused")]
        errors = [["errors", *(str(group.errors) for group in groups)]]
        headline = [name for name in HEADLINE if name in names]
        kinds = [[group.name, str(group.questions), *(cell(group.metrics[name]) for name in headline),
                  cell(group.refusals.recall), cell(group.refusals.answered)] for group in self.kinds.values()]
        heads = [group.name for group in groups]
        return [([f"metric at k = {self.k}, mean (n)", *heads], metrics),
                (["refusals", *heads], counts + errors + refusals),
                (["kind", "questions", *headline, "refusal recall", "answered"], kinds)]

    def __repr__(self) -> str:
        return f"Scorecard({self.overall.questions} questions, {self.overall.errors} errors, k={self.k})"

    def __str__(self) -> str:
        head = f"{self.overall.questions} questions, {self.overall.errors} errors"
        return "\n\n".join([head, *(text_table(*table) for table in self.tables())])

    def _repr_html_(self) -> str:
        head = f"<p>{self.overall.questions} questions, {self.overall.errors} errors</p>"
        return head + "".join(html_table(*table) for table in self.tables())


def scorecard_of(outcomes: Sequence[Outcome], k: int) -> Scorecard:
    """The card of some outcomes."""
    def by(names: Iterable[str]) -> dict[str, ScoreGroup]:
        groups: dict[str, list[Outcome]] = {}
        for name, outcome in zip(names, outcomes, strict=True):
            groups.setdefault(name, []).append(outcome)
        return {name: _group(name, members) for name, members in groups.items()}

    return Scorecard(k, _group("overall", outcomes), by(outcome.question.kind for outcome in outcomes),
                     by(outcome.question.language for outcome in outcomes))


def known_metric(name: str) -> str:
    """The name, when it is one of ``METRIC_NAMES``; else a ValueError that lists them."""
    if name not in METRIC_NAMES:
        raise ValueError(f"unknown metric {name!r}; the metrics are {', '.join(METRIC_NAMES)}")
    return name


def cell(value: Mean) -> str:
    """"0.812 (214)", or a dash when nothing was averaged."""
    if value.value is None:
        return "–"
    number = f"{value.value:.3f}" if abs(value.value) < 10 else f"{value.value:,.0f}"
    return f"{number} ({value.n})"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text, the first column to the left and the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [[row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
             for row in (head, *rows)]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same in HTML, escaped; where the page is narrow the table scrolls and the page does not."""
    def line(texts: Sequence[str], tag: str) -> str:
        cells = "".join(f"<{tag} style='text-align:{'right' if column else 'left'}'>{html.escape(text)}</{tag}>"
                        for column, text in enumerate(texts))
        return f"<tr>{cells}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return (f"<div style='overflow-x:auto'><table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"
            "</div>")


def _group(name: str, outcomes: Sequence[Outcome]) -> ScoreGroup:
    metrics = {metric: mean((outcome.metrics[metric] for outcome in outcomes), none="leave_out")
               for metric in METRIC_NAMES}
    refusals = RefusalMatrix.count((outcome.question.answerable, outcome.refused) for outcome in outcomes)
    return ScoreGroup(name, len(outcomes), sum(outcome.error is not None for outcome in outcomes), metrics, refusals)
