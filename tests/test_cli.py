"""The command line in fresh processes: what it prints, and exit code 2 with one sentence when it cannot be done."""

import json
import os
import re
import subprocess
import sys

import pytest

from ragkit import cli
from tests.fixtures import ROOT, python


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    (folder / "travel.md").write_text(
        "---\ntitle: Travel\ntopic: travel\neffective_date: 2024-01-01\n---\n# Travel\n\n## Hotels\n\n"
        "The hotel cap in Berlin is 140 euros a night.\n", encoding="utf-8")
    (folder / "zh.md").write_text("# 差旅\n\n住宿标准每晚四百元。\n", encoding="utf-8")
    (folder / "board.md").write_text("---\naudience: [board]\n---\nThe hotel cap of the board is unlimited.\n",
                                     encoding="utf-8")
    (folder / "bad.pdf").write_bytes(b"no PDF at all")
    return folder


@pytest.fixture(scope="module")
def run(place, tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")

    def ask(question, *more, folder=place):
        return python("-m", "ragkit", "ask", str(folder), question, "--embedder", "hashing", *more, cache=cache)

    return ask


def test_an_answer_with_its_sources(run):
    done = run("What is the hotel cap in Berlin?")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("The hotel cap in Berlin is 140 euros a night. [1]\n\nSources:\n"
                           "[1] Travel > Hotels (version 1, line 10, travel.md)\n"
                           '    "The hotel cap in Berlin is 140 euros a night."\n')
    assert "unlimited" not in done.stdout
    assert "unlimited. [1]" in run("hotel cap of the board", "--reader", "board").stdout


def test_evidence_with_places_and_scores(run):
    shown = run("What is the hotel cap in Berlin?", "--evidence").stdout.split("Evidence:\n")[1]
    assert re.match(r"0\.\d{3}  travel version 1, travel\.md, line 6: Travel\n    # Travel\n", shown)
    assert "    The hotel cap in Berlin is 140 euros a night." in shown and "unlimited" not in shown
    assert run("zebra stripes", "--evidence").stdout.endswith("Evidence:\nnone\n")


def test_chinese_is_printed_whatever_the_locale(run):
    assert "住宿标准每晚四百元。" in run("住宿标准").stdout


def test_a_refusal_is_an_answer(run):
    done = run("zebra stripes")
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert done.stdout.startswith("The sources do not say.\nRefused: below_threshold. The nearest candidate scores ")
    assert "Refused: filtered_out." in run("hotel", "--topic", "none").stdout
    assert "Refused: filtered_out." in run("hotel", "--effective-before", "2023-12-31").stdout
    assert "140" in run("hotel cap", "--effective-before", "2024-01-01").stdout


def test_json(run, place):
    plain = json.loads(run("hotel cap in Berlin", "--json", "--trace", "--min-score", "0", "--min-grade", "0").stdout)
    assert plain["refused"] is False and plain["refusal_reason"] is None
    entry = plain["evidence"][0]
    assert entry["document"] == "travel" and "140 euros" in entry["text"] and entry["page"] is None
    lines = (place / "travel.md").read_text(encoding="utf-8").split("\n")
    assert lines[entry["line"] - 1] == entry["text"].split("\n")[0]  # the line of the file, not of the text
    assert [link["link"] for link in plain["trace"]["links"]] == [
        "encode", "filter", "recall", "expand", "select", "grade", "context", "generate", "verify"]
    assert (plain["text"], plain["generator"]) == ("The hotel cap in Berlin is 140 euros a night. [1]", "extractive")
    assert plain["verification"]["citation_recall"] == 1.0 and plain["citations"][0]["line"] == 10
    refused = json.loads(run("zebra", "--json").stdout)
    assert (refused["refusal_reason"], refused["evidence"]) == ("below_threshold", []) and "trace" not in refused
    assert "四百元" in run("住宿", "--json").stdout


def test_trace_and_knobs(run):
    shown = run("hotel cap", "--trace", "--top-k", "1").stdout
    assert "not_in_top_k" in shown and "select" in shown
    assert "not_permitted" not in shown and "board" not in shown
    assert "[2]" not in run("hotel cap", "--evidence-top-k", "1", "--min-score", "0", "--min-grade", "0").stdout


def sentence(done):
    """The error: exit code 2, nothing on the standard output, one line, no traceback."""
    assert done.returncode == 2 and done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_what_cannot_be_done_is_one_sentence(run, place, tmp_path):
    assert "nowhere" in sentence(run("?", folder=tmp_path / "nowhere"))
    assert "is a file" in sentence(run("?", folder=place / "travel.md"))
    (tmp_path / "empty").mkdir()
    assert "no document could be read" in sentence(run("?", folder=tmp_path / "empty"))
    for question in ("", "  \t"):
        assert "question is empty" in sentence(run(question))
    for day in ("2025-9-1", "yesterday", "2025-02-30"):
        assert "effective_before" in sentence(run("hotel", "--effective-before", day))
    for score in ("1.5", "-1", "nan"):
        assert f"min_score ({float(score)})" in sentence(run("hotel", "--min-score", score))
    assert "min_grade (2.0)" in sentence(run("hotel", "--min-grade", "2"))
    assert "context_tokens (0)" in sentence(run("hotel", "--context-tokens", "0"))
    assert "top_k (0)" in sentence(run("hotel", "--top-k", "0"))
    assert "none.toml" in sentence(run("hotel", "--settings", str(tmp_path / "none.toml")))
    (tmp_path / "bad.toml").write_text("topk = 3")
    assert "bad.toml: unknown setting 'topk'" in sentence(run("hotel", "--settings", str(tmp_path / "bad.toml")))
    assert "topic" in sentence(run("hotel", "--topic", ""))


def test_settings_come_from_a_file(run, tmp_path):
    (tmp_path / "my.toml").write_text("min_score = 0.0\nevidence_top_k = 1\n")
    shown = run("zebra", "--settings", str(tmp_path / "my.toml"), "--evidence").stdout
    assert shown.startswith("The sources do not say.\nRefused: insufficient_evidence.")
    assert len(re.findall(r"^0\.\d{3}  ", shown, re.MULTILINE)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
def test_bytes_that_are_no_text_in_the_question(run, place):
    done = run(os.fsdecode(b"\xff hotel cap in Berlin"), "--embedder", "minilm", "--min-grade", "0")
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert "140 euros" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe that nobody reads fails in another way there")
def test_whoever_reads_it_may_leave(place, tmp_path):
    """As ``| head`` does."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as nobody:
        done = subprocess.run(
            [sys.executable, "-m", "ragkit", "ask", str(place), "hotel cap", "--embedder", "hashing", "--trace"],
            stdout=nobody, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=300, check=False,
            env={**os.environ, "RAGKIT_CACHE": str(tmp_path), "RAGKIT_PROGRESS": "0", "PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr.replace("not read: bad.pdf", "").count("roken")) == (0, 0), done.stderr
    assert "Exception" not in done.stderr


def test_generators_by_name(run, monkeypatch):
    assert "generator ('magic') must be 'extractive'" in sentence(run("hotel cap in Berlin", "--generator", "magic"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")  # nobody listens there
    done = run("What is the hotel cap in Berlin?", "--generator", "openai:some-model", "--trace")
    assert "The hotel cap in Berlin is 140 euros a night. [1]" in done.stdout
    assert "openai" in done.stdout and "extractive answered instead" in done.stdout
    assert "sk-secret" not in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [[], ["ask"], ["ask", "folder"], ["sing"], ["ask", "f", "q", "--min-score", "high"],
                                       ["ask", "f", "q", "--top-k", "many"]])
def test_wrong_usage_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_a_file_that_was_not_read_is_said(run):
    assert "not read: bad.pdf" in run("hotel").stderr
