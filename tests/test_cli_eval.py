"""``python -m ragkit eval`` in fresh processes: what it prints and writes, and its exit codes."""

import json
import shutil

import pytest

from tests.evaluation.beir_folder import QRELS, QUERIES, write
from tests.evaluation.small_questions import TEXTS, small_questions
from tests.fixtures import python

SETTINGS = ('embedder = "hashing"\nchunker = "sentence"\nchunk_size = 90\nexpansion = "none"\nmin_score = {}\n'
            "min_grade = 0.0\n")
LINES = [question.model_dump_json() for question in small_questions()]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eval")
    (folder / "documents").mkdir()
    for name, text in TEXTS.items():
        (folder / "documents" / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "questions.jsonl").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    for name, score in (("low", 0.2), ("high", 0.95)):
        (folder / f"{name}.toml").write_text(SETTINGS.format(score), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(place, tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")

    def score(*more, questions="questions.jsonl", settings="low"):
        chosen = ["--settings", str(place / f"{settings}.toml")] if settings else []
        return python("-m", "ragkit", "eval", str(place / "documents"), str(place / questions), *chosen,
                      *map(str, more), cache=cache)

    return score


def sentence(done) -> str:
    """The error: exit code 2, nothing on the standard output, one line."""
    assert (done.returncode, done.stdout) == (2, ""), done
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_scorecard(run):
    done = run()
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.startswith("5 questions, 0 errors\n\nmetric at k = 8, mean (n)")
    rows = {line.split("  ")[0]: line.split()[-2:] for line in done.stdout.splitlines() if line.strip()}
    assert rows["recall"] == ["1.000", "(3)"] and "number_match" in rows
    bare = run("--no-answers").stdout
    assert "recall " in bare and "number_match" not in bare


def test_json(run):
    plain = json.loads(run("--json").stdout)
    assert plain["scorecard"]["overall"]["metrics"]["recall"] == {"value": 1.0, "n": 3}
    assert [question["id"] for question in plain["questions"]] == ["berlin", "cab", "leave", "moon", "cheese"]
    assert plain["settings"]["min_score"] == 0.2 and "gate" not in plain


def test_the_gate_is_green_then_red(run, place, tmp_path):
    baseline = tmp_path / "baseline.json"
    assert "there is no baseline" in sentence(run("--baseline", baseline))
    done = run("--baseline", baseline, "--write")
    assert done.returncode == 0 and done.stdout.startswith("5 questions") and "written: " in done.stderr
    text = baseline.read_text(encoding="utf-8")
    green = run("--baseline", baseline)
    assert green.returncode == 0 and "Not worse than the baseline; no scores moved." in green.stdout
    red = run("--baseline", baseline, settings="high")
    assert red.returncode == 1 and "overall answered" in red.stdout.splitlines()[-1]
    assert "min_score 0.2 -> 0.95" in red.stdout and baseline.read_text(encoding="utf-8") == text
    assert json.loads(run("--baseline", baseline, "--json", settings="high").stdout)["gate"]["passed"] is False
    rewritten = run("--baseline", baseline, "--write", settings="high")
    assert rewritten.returncode == 0 and "overall answered" in rewritten.stdout
    assert run("--baseline", baseline, settings="high").returncode == 0
    (place / "fewer.jsonl").write_text("\n".join(LINES[:4]), encoding="utf-8")
    assert "the 4 questions" in sentence(run("--baseline", baseline, questions="fewer.jsonl"))
    baseline.write_text(text.replace('"value": 1.0, "n": 3', '"value": "all", "n": 3', 1), encoding="utf-8")
    assert "baseline.json, scores.overall.recall.value: 'all'" in sentence(run("--baseline", baseline))


def test_two_settings_compared(run, place, tmp_path):
    both = (place / "low.toml", place / "high.toml")
    done = run("--compare", *both, settings=None)
    assert done.returncode == 0, done.stderr
    assert "high - low" in done.stdout and "answerable_answered" in done.stdout
    plain = json.loads(run("--compare", *both, "--json", "--no-answers", settings=None).stdout)
    assert list(plain["evaluations"]) == ["low", "high"]
    (tmp_path / "other").mkdir()
    shutil.copy(place / "high.toml", tmp_path / "other" / "low.toml")
    same_name = run("--compare", place / "low.toml", tmp_path / "other" / "low.toml", "--json", settings=None)
    assert [name.endswith("low.toml") for name in json.loads(same_name.stdout)["evaluations"]] == [True, True]
    assert "the same file twice" in sentence(run("--compare", both[0], both[0], settings=None))
    assert "leave out --settings" in sentence(run("--compare", *both))


@pytest.mark.parametrize("compared", [False, True])
def test_a_page(run, place, tmp_path, compared):
    page = tmp_path / "report.html"
    more = ("--compare", place / "low.toml", place / "high.toml") if compared else ()
    done = run("--html", page, *more, settings=None if compared else "high")
    assert done.returncode == 0 and "written: " in done.stderr, done.stderr
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "What may a cab ride cost?" in text and "below threshold" in text
    assert "questions.jsonl on documents" in text and str(place) not in text  # no path of this machine


def test_bad_question_files(run, place):
    def said(name, *lines):
        (place / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return sentence(run(questions=name))

    plain = json.loads(LINES[0])
    assert "bad.jsonl, line 2: not JSON" in said("bad.jsonl", LINES[0], "{")
    assert "bad.jsonl, line 2, id: 'berlin' is there twice" in said("bad.jsonl", LINES[0], LINES[0])
    assert "bad.jsonl, line 1, split" in said("bad.jsonl", json.dumps(plain | {"split": "all"}))
    lost = json.dumps(plain | {"gold": [[{"document": "hotel", "version": "1", "quote": "never said"}]]})
    assert "bad.jsonl, line 3, gold: question berlin: hotel version 1 holds the quote 'never said' 0 times" in said(
        "bad.jsonl", LINES[1], "", lost)
    unknown = json.dumps(plain | {"gold": [[{"document": "motel", "version": "1", "quote": "x"}]]})
    assert "bad.jsonl, line 1, gold: question berlin: motel version 1 is not among" in said("bad.jsonl", unknown)
    assert "bad.jsonl: there are no questions" in said("bad.jsonl", "")
    assert "there are no questions of the split test" in sentence(run("--split", "test"))
    (place / "latin.jsonl").write_bytes(b'\n{"id": "\xff"}')
    assert "latin.jsonl, line 2: not UTF-8 (got b'\\xff')" in sentence(run(questions="latin.jsonl"))


def test_what_cannot_be_done_is_said_before_any_work(run, tmp_path):
    assert "nowhere.jsonl" in sentence(run(questions="nowhere.jsonl"))
    assert "--write needs --baseline" in sentence(run("--write"))
    assert "there is no folder" in sentence(run("--html", tmp_path / "nowhere" / "report.html"))
    assert "that is a folder; name a file in it" in sentence(run("--html", tmp_path))
    assert "there is no folder" in sentence(run("--baseline", tmp_path / "nowhere" / "b.json", "--write"))
    (tmp_path / "old.json").write_text('{"recall": 0.9}', encoding="utf-8")
    for more in ([], ["--write"]):
        assert sentence(run("--baseline", tmp_path / "old.json", *more)).endswith(
            "old.json, fingerprint: None is no str; mend the file, or remove it and write a new one with --write")
    assert (tmp_path / "old.json").read_text(encoding="utf-8") == '{"recall": 0.9}', "nothing is lost"
    (tmp_path / "bad.toml").write_text("topk = 3", encoding="utf-8")
    assert "bad.toml: unknown setting 'topk'" in sentence(run("--settings", tmp_path / "bad.toml", settings=None))
    assert run("--compare", "one.toml").returncode == 2 and run("--split", "all").returncode == 2


@pytest.fixture(scope="module")
def run_beir(place, tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")

    def score(folder, *more):
        return python("-m", "ragkit", "eval", str(folder), "--settings", str(place / "low.toml"), *more, cache=cache)

    return score


def test_a_collection_in_the_layout_of_beir(run_beir, tmp_path):
    folder = write(tmp_path / "beir")
    done = run_beir(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].split("  ")[0] == "beir, test: mean (n)"
    metrics = json.loads(run_beir(folder, "--json").stdout)["metrics"]
    assert metrics["recall@10"] == {"value": 1.0, "n": 2} and metrics["precision@10"] == {"value": 0.1, "n": 2}
    assert "file of questions" in sentence(run_beir(folder, "--html", str(tmp_path / "report.html")))


def test_bad_collections(run_beir, tmp_path):
    def said(**rows):
        return sentence(run_beir(write(tmp_path / "bad", **rows)))

    assert "qrels.tsv, line 2: 'q1\\t1' has 2 columns where 3 are needed" in said(qrels=[QRELS[0], "q1\t1"])
    assert "qrels.tsv, line 3: the document id 'd7' is not in corpus.jsonl" in said(qrels=[*QRELS[:2], "q2\td7\t1"])
    assert "queries.jsonl, line 4, _id: 'q2' is there twice, first in line 1" in said(queries=[*QUERIES, QUERIES[0]])
    assert "there is no corpus.jsonl" in sentence(run_beir(tmp_path))
