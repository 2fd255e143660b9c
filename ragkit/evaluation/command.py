"""``python -m ragkit eval``: a scorecard on the command line, a comparison, a page, the gate (chapter 08)."""

import argparse
import json
import os
import sys
from pathlib import Path

from ragkit.evaluation.beir import load_beir
from ragkit.evaluation.beir_run import evaluate_beir
from ragkit.evaluation.compare import Comparison, compare
from ragkit.evaluation.failures import attribute_failures
from ragkit.evaluation.gate import Baseline, GateReport, check_gate, load_baseline
from ragkit.evaluation.questions import Question, gold_spans, load_questions
from ragkit.evaluation.report import comparison_html, report_html
from ragkit.evaluation.run import Evaluation, evaluate
from ragkit.knowledge_base import KnowledgeBase
from ragkit.settings import Settings

GREEN, RED = 0, 1  # exit codes; 2, for what cannot be done, is the caller's


def run(options: argparse.Namespace) -> int:
    """Do what the options of ``eval`` say; the exit code is 1 when the gate is red.

    Raises:
        OSError, ValueError, RuntimeError: it cannot be done; the message is for the user.
    """
    if options.write and not options.baseline:
        raise ValueError("--write needs --baseline FILE: the file to write")
    if options.compare and (options.baseline or options.settings):
        raise ValueError("--compare takes its settings from its two files and has no baseline: leave out --settings "
                         "and --baseline")
    if options.questions is None:
        return _beir(options)
    for option, path in (("--html", options.html), ("--baseline", options.baseline if options.write else None)):
        if path is not None and Path(path).is_dir():  # said before minutes of work
            raise ValueError(f"{option} {path}: that is a folder; name a file in it")
        if path is not None and not Path(path).resolve().parent.is_dir():
            raise ValueError(f"{option} {path}: there is no folder {Path(path).resolve().parent}")
    questions = _questions(options)
    os.environ.setdefault("RAGKIT_PROGRESS", "1" if sys.stderr.isatty() else "0")
    return _compare(options, questions) if options.compare else _evaluate(options, questions)


def _beir(options: argparse.Namespace) -> int:
    """A collection brings its own queries; documents are judged, so there are no answers and no spans."""
    if options.compare or options.baseline or options.html:
        raise ValueError("name a file of questions behind the folder; a collection in the layout of BEIR goes without "
                         "one, and without --compare, --baseline and --html")
    settings = Settings.from_toml(options.settings) if options.settings else Settings()
    beir = load_beir(options.folder, options.split or "test")
    os.environ.setdefault("RAGKIT_PROGRESS", "1" if sys.stderr.isatty() else "0")
    scores = evaluate_beir(KnowledgeBase(beir.documents(), settings), beir)
    print(json.dumps(scores.to_dict(), ensure_ascii=False, indent=2) if options.json else scores)
    return GREEN


def _evaluate(options: argparse.Namespace, questions: list[Question]) -> int:
    settings = Settings.from_toml(options.settings) if options.settings else Settings()
    old = _baseline(options)
    kb = _knowledge_base(options, settings, questions)
    evaluation = evaluate(kb, questions, answers=not options.no_answers)
    _say_errors(evaluation)
    gate = None
    if options.write:
        gate = _gate_or_none(evaluation, old)
        Baseline.of(evaluation, old).save(options.baseline)
    elif old is not None:
        gate = check_gate(evaluation, old)
    if options.html:
        found = attribute_failures(evaluation, kb)
        _write(options.html, report_html(evaluation, found, title=_title(options), gate=gate))
    if options.json:
        plain = evaluation.to_dict() | ({"gate": gate.to_dict()} if gate is not None else {})
        print(json.dumps(plain, ensure_ascii=False, indent=2))
    else:
        print(evaluation if gate is None else gate)
    if options.write:
        print(f"written: {options.baseline}", file=sys.stderr)
        return GREEN
    return GREEN if gate is None or gate.passed else RED


def _compare(options: argparse.Namespace, questions: list[Question]) -> int:
    chains = _chains(options.compare)
    kb = _knowledge_base(options, next(iter(chains.values())), questions)
    comparison: Comparison = compare(chains, questions, kb=kb, answers=not options.no_answers)
    for evaluation in comparison.evaluations.values():
        _say_errors(evaluation)
    if options.html:
        found = {name: attribute_failures(comparison[name], KnowledgeBase.from_folder(options.folder, settings))
                 for name, settings in chains.items()}
        _write(options.html, comparison_html(comparison, found, title=_title(options)))
    print(json.dumps(comparison.to_dict(), ensure_ascii=False, indent=2) if options.json else comparison)
    return GREEN


def _questions(options: argparse.Namespace) -> list[Question]:
    questions = load_questions(options.questions, split=options.split)
    if not questions:
        which = f" of the split {options.split}" if options.split else ""
        raise ValueError(f"{Path(options.questions).name}: there are no questions{which} in it")
    return questions


def _knowledge_base(options: argparse.Namespace, settings: Settings, questions: list[Question]) -> KnowledgeBase:
    kb = KnowledgeBase.from_folder(options.folder, settings)
    for problem in kb.load_report.problems:
        print(f"not read: {problem.source}: {problem.reason} ({problem.advice})", file=sys.stderr)
    for question in questions:
        try:
            gold_spans(question, kb.corpus.documents)
        except ValueError as error:
            raise ValueError(f"{question.source}, gold: {error}") from error
    return kb


def _chains(files: list[str]) -> dict[str, Settings]:
    """By the names of the files; by their paths when the names are the same."""
    names = [Path(file).stem for file in files]
    if len(set(names)) < len(names):
        names = files
    if len(set(names)) < len(names):
        raise ValueError(f"--compare names the same file twice: {files[0]}")
    return {name: Settings.from_toml(file) for name, file in zip(names, files, strict=True)}


def _baseline(options: argparse.Namespace) -> Baseline | None:
    """The one that is named; only when it is to be written may it be missing.

    One that cannot be read is not overwritten either: its tolerances may have been set by hand.
    """
    if not options.baseline:
        return None
    if not Path(options.baseline).is_file():
        if options.write:
            return None
        raise FileNotFoundError(f"there is no baseline {options.baseline}; write one with --write")
    try:
        return load_baseline(options.baseline)
    except ValueError as error:
        raise ValueError(f"{error}; mend the file, or remove it and write a new one with --write") from error


def _gate_or_none(evaluation: Evaluation, old: Baseline | None) -> GateReport | None:
    """What a new baseline changes; None when the old one is of something else."""
    try:
        return None if old is None else check_gate(evaluation, old)
    except ValueError:
        return None


def _say_errors(evaluation: Evaluation) -> None:
    for outcome in evaluation.errors:
        print(f"failed: {outcome.question.id}: {outcome.error}", file=sys.stderr)


def _title(options: argparse.Namespace) -> str:
    """No path: the page may be sent to somebody."""
    split = f" ({options.split})" if options.split else ""
    title = f"{Path(options.questions).name}{split} on {Path(options.folder).resolve().name}"
    return f"{title}: {' and '.join(Path(file).name for file in options.compare)}" if options.compare else title


def _write(path: str, page: str) -> None:
    # A lone surrogate, which JSON can carry, is no text that UTF-8 could hold.
    Path(path).write_text(page, encoding="utf-8", errors="replace", newline="\n")
    print(f"written: {path}", file=sys.stderr)
