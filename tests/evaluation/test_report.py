"""The page: whole, escaped, and with nothing that has to be fetched."""

import html.parser
import json
import re

import pytest

from ragkit.evaluation import compare, evaluate
from ragkit.evaluation.failures import attribute_failures
from ragkit.evaluation.gate import Baseline, check_gate
from ragkit.evaluation.report import comparison_html, report_html
from ragkit.settings import Settings
from tests.evaluation.small_questions import SETTINGS, question, small_base, small_questions

EVIL = "</summary><script>window.ran = 1</script><img src=x onerror='window.ran = 1'> & more?"
VOID = {"meta", "img", "br"}


class Reader(html.parser.HTMLParser):
    """Tags with their attributes; every tag must be closed in its turn."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.texts, self._open = [], [], []
        self.feed(page)
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def questions():
    evil = question("<evil&1>", EVIL, "<b>never</b>", ("leave", "28 days of leave a year"))
    return [*small_questions(), evil]


@pytest.fixture(scope="module")
def run(questions):
    kb = small_base()
    evaluation = evaluate(kb, questions)
    return evaluation, attribute_failures(evaluation, kb)


@pytest.fixture(scope="module")
def report(run):
    return report_html(*run, title="Test & <title>")


def check_page(page: str) -> Reader:
    """Self-contained and well formed."""
    read = Reader(page)
    assert page.startswith("<!doctype html>") and page.count("<body>") == 1
    names = {name for name, _ in read.tags}
    assert not names & {"script", "link", "iframe", "object", "embed", "form", "base"}
    for name, attributes in read.tags:
        assert not [key for key in attributes if key.startswith("on")], (name, attributes)
        for key in ("src", "href"):
            assert attributes.get(key, "data:image/png;base64,").startswith("data:image/png;base64,")
        if name == "img":
            assert len(attributes["alt"]) > 20
    assert "url(" not in page and "@import" not in page
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in read.tags
    return read


def test_the_page_is_whole_and_escaped(report):
    read = check_page(report)
    assert "Test & <title>" in read.text
    assert EVIL in read.text and "<evil&1>" in read.text and "<b>never</b>" in read.text
    assert "<b>" not in report


def test_scores_stand_with_their_denominators(report, run):
    evaluation, _ = run
    read = check_page(report)
    for name, (value, n) in evaluation.scorecard.overall.metrics.items():
        assert not n or (f"{value:.3f} ({n})" in read.text or f"{value:,.0f} ({n})" in read.text), name
    for kind in evaluation.scorecard.kinds:
        assert f"<td>{kind}</td>" in report
    assert "<td>en</td>" in report and "6 questions, 0 errors" in read.text


def test_every_failing_question_stands_with_the_link_that_lost_it(report, run):
    _, failures = run
    assert "<evil&1>" in {failure.question.id for failure in failures}
    read = check_page(report)
    assert sum(name == "details" for name, _ in read.tags) == len(failures)
    for failure in failures:
        told = " ".join(f"lost at {failure.link} {str(failure.verdict).replace('_', ' ')}. {failure.evidence}".split())
        assert told in read.text
        assert not failure.change or " ".join(failure.change.split()) in read.text
    drawn = [attributes["alt"] for name, attributes in read.tags if name == "img"]
    assert len(drawn) == 2 and any(f"{failures[0].verdict}".replace("_", " ") in alt for alt in drawn)


def test_errors_refusals_and_no_failures(questions):
    kb = small_base()
    kb.retrieve = kb.ask = None  # every question fails with a TypeError
    evaluation = evaluate(kb, questions)
    read = check_page(report_html(evaluation, attribute_failures(evaluation, small_base())))
    assert "6 errors" in read.text and "failed with TypeError" in read.text
    assert "No question failed." in check_page(report_html(evaluation)).text


def test_without_answers(questions):
    kb = small_base()
    evaluation = evaluate(kb, questions, answers=False)
    read = check_page(report_html(evaluation, attribute_failures(evaluation, kb)))
    assert "token_f1" not in read.text and "evidence_recall" in read.text


def test_the_gate_stands_on_the_page(run, questions):
    evaluation, failures = run
    strict = evaluate(small_base(min_score=0.95), questions)
    page = report_html(strict, gate=check_gate(strict, Baseline.of(evaluation)))
    read = check_page(page)
    assert "Worse than the baseline by more than the tolerance" in read.text and "<p class='red'>" in page
    assert "<td>min_score</td><td>0.2</td><td>0.95</td>" in page
    assert "<p class='green'>" in report_html(evaluation, gate=check_gate(evaluation, Baseline.of(evaluation)))


def test_a_comparison(questions):
    chains = {"plain": SETTINGS, "<strict>": SETTINGS.replace(min_score=0.95)}
    kb = small_base()
    comparison = compare(chains, questions, kb=kb, resamples=200)
    failures = {"<strict>": attribute_failures(comparison["<strict>"], small_base(min_score=0.95))}
    page = comparison_html(comparison, failures, title="Two")
    read = check_page(page)
    assert "<strict> against plain" in read.text and "answerable answered: 0 won, " in read.text
    assert "Failing questions under <strict>" in read.text
    for row in comparison.difference_table()[1]:
        assert " ".join(row) in read.text
    assert "<td>min_score</td><td>0.2</td><td>0.95</td>" in page


def test_the_page_is_the_same_each_time(run, report):
    assert report_html(*run, title="Test & <title>") == report


def test_no_setting_is_left_out(report):
    shown = dict(re.findall(r"<td>(\w+)</td><td>([^<]*)</td></tr>", report.split("<h2>Settings</h2>")[1]))
    assert set(shown) == set(Settings().to_dict())
    assert (shown["min_grade"], shown["level_sizes"]) == ("off", "1200/600/250")
    assert json.loads(shown["top_k"]) == SETTINGS.top_k
