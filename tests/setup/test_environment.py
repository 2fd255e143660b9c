"""The set-up's states, with pip's steps replaced (test_entry_point runs it), and the commands."""

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import namedtuple
from pathlib import Path

import pytest

from coursekit import commands, environment
from coursekit.environment import SetupError

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone whose steps are recorded and always succeed."""
    (tmp_path / "requirements.lock").write_text("a==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(environment, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    return tmp_path


@pytest.fixture
def steps(monkeypatch):
    """The steps that ensure() took."""
    taken = []

    def make_venv():
        taken.append("venv")
        environment.python().parent.mkdir(parents=True, exist_ok=True)
        environment.python().touch()

    monkeypatch.setattr(environment, "_make_venv", make_venv)
    monkeypatch.setattr(environment, "run_step", lambda verb, what, command: taken.append(what))
    return taken


ALL = ["venv", "packages", "ragkit", "the kernel"]


def test_a_second_run_does_nothing(clone, steps):
    assert environment.state() == "absent"
    environment.ensure()
    assert (steps, environment.state()) == (ALL, "ready")
    environment.ensure()
    assert steps == ALL


@pytest.mark.parametrize("last", ["packages", "ragkit", "the kernel"])
def test_an_interrupted_set_up_is_finished_by_the_next_run(clone, steps, monkeypatch, last):
    record = environment.run_step

    def fail(verb, what, command):
        record(verb, what, command)
        if what == last:
            raise SetupError("the power went")

    monkeypatch.setattr(environment, "run_step", fail)
    with pytest.raises(SetupError, match="the power went"):
        environment.ensure()
    assert environment.state() == "unfinished"
    monkeypatch.setattr(environment, "run_step", record)
    steps.clear()
    environment.ensure()
    assert (steps, environment.state()) == (ALL, "ready")


@pytest.mark.parametrize("change", ["lock", "pyproject", "python", "folder"])
def test_what_makes_a_set_up_stale(clone, steps, monkeypatch, change):
    environment.ensure()
    if change == "lock":
        (clone / "requirements.lock").write_text("a==2\n")
    elif change == "pyproject":
        (clone / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    elif change == "python":
        monkeypatch.setattr(sys, "version", "3.13.9 (another)")
    else:
        monkeypatch.setattr(environment, "ROOT", clone / "moved")
        (clone / "moved").mkdir()
        shutil.copy(clone / "pyproject.toml", clone / "moved")
    assert environment.state() == "stale"
    environment.ensure()
    assert (steps, environment.state()) == (ALL + ALL, "ready")


def test_too_little_disk_is_said_before_anything_is_made(clone, steps, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(9e9, 8e9, 1e9))
    with pytest.raises(SetupError, match=r"needs 3 GB of free disk and .* has 1\.0 GB"):
        environment.ensure()
    assert steps == [] and not (clone / ".venv").exists()


def test_a_disk_that_fills_up_at_the_end(clone, steps, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(SetupError, match="is full"):
        environment.ensure()
    assert environment.state() == "unfinished"


def test_a_folder_that_cannot_be_written_to(clone, steps, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied", str(clone / ".venv"))

    monkeypatch.setattr(environment, "_make_venv", refuse)
    with pytest.raises(SetupError, match=r"could not write to .*\.venv \(Permission denied\)"):
        environment.ensure()


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "is full",
        ),
        (
            "NewConnectionError('...: [Errno -3] Temporary failure in name resolution')\n"
            "ERROR: No matching distribution found for numpy==2.4.6",
            "does not answer",
        ),
        ("ReadTimeoutError: Read timed out.", "does not answer"),
        ("ERROR: No matching distribution found for torch==2.13.0", "has no torch==2.13.0 for this Python"),
        ("building\n\nerror: something odd\n", r"failed \(error: something odd\)"),
        ("", "said nothing"),
    ],
)
def test_why_pip_failed(output, sentence, tmp_path):
    said = environment._explain(output, tmp_path / "log")
    assert re.search(sentence, said) and "\n" not in said


def test_a_step_that_fails_leaves_its_log(clone, capsys):
    environment.VENV.mkdir()
    with pytest.raises(SetupError, match="it broke"):
        environment.run_step("try", "it", [sys.executable, "-c", "print('a line'); raise SystemExit('it broke')"])
    assert (environment.VENV / environment.LOG).read_text(encoding="utf-8").split() == [
        "a",
        "line",
        "it",
        "broke",
    ]
    assert capsys.readouterr().out == "  try it ... failed\n"


@pytest.mark.slow
def test_a_venv_that_works_is_kept_and_one_that_does_not_is_made_anew(clone):
    environment._make_venv()
    witness = environment.VENV / "witness"
    witness.touch()
    environment._make_venv()
    assert witness.exists()
    pip = next(environment.VENV.glob("**/site-packages/pip/__init__.py"))
    pip.write_text("raise ImportError('half unpacked')")
    environment._make_venv()
    assert not witness.exists()
    found = subprocess.run([environment.python(), "-m", "pip", "--version"], capture_output=True)
    assert found.returncode == 0


def test_the_course_s_conda_environment_is_used_in_place(clone, monkeypatch, tmp_path):
    conda = tmp_path / "envs" / environment.CONDA_NAME
    conda.mkdir(parents=True)
    monkeypatch.setenv("CONDA_PREFIX", str(conda))
    assert environment.prefix() == environment.VENV  # active, but this Python is another one
    monkeypatch.setattr(sys, "prefix", str(conda))
    assert (environment.prefix(), environment.python()) == (conda, Path(sys.executable))
    taken = []
    monkeypatch.setattr(environment, "run_step", lambda verb, what, command: taken.append(what))
    environment.ensure()
    assert taken == ALL[1:] and environment.state() == "ready" and not environment.VENV.exists()


@pytest.fixture
def command(clone, monkeypatch):
    """commands.lab and commands.test with the set-up done and the last step recorded instead of taken."""
    taken = []
    monkeypatch.setattr(environment, "ensure", lambda: None)
    monkeypatch.setattr(commands, "run", lambda arguments: taken.append(arguments) or 0)
    monkeypatch.setattr(commands, "ROOT", clone)
    monkeypatch.setattr(commands, "NOTEBOOKS", clone / "notebooks")
    monkeypatch.setattr(commands, "WORK", clone / "work")
    for name in ("SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    (clone / "notebooks").mkdir()
    for name in ("00_start_here", "01_documents"):
        (clone / "notebooks" / f"{name}.ipynb").write_text('{"cells": []}')
    return taken


def test_lab_opens_the_first_copy(command, clone):
    assert commands.main(["lab", "--port", "9999"]) == 0
    assert command[0][1:3] == ["-m", "jupyterlab"]
    assert {"--port", "9999", "--LabApp.default_url=/lab/tree/work/00_start_here.ipynb"} <= set(command[0])
    assert "--no-browser" not in command[0]
    assert (clone / "work" / "01_documents.ipynb").is_file()


def test_lab_opens_the_first_that_exists(command, clone):
    (clone / "notebooks" / "00_start_here.ipynb").unlink()
    commands.main(["lab"])
    assert "--LabApp.default_url=/lab/tree/work/01_documents.ipynb" in command[0]


def test_lab_opens_the_notebook_that_is_named(command):
    commands.main(["lab", "work/01_documents.ipynb"])
    assert "work/01_documents.ipynb" in command[0]
    assert not any("default_url" in argument for argument in command[0])


def test_lab_without_a_display(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY")
    commands.main(["lab"])
    assert command[0].count("--no-browser") == 1
    assert "open the address" in capsys.readouterr().out
    commands.main(["lab", "--no-browser"])
    assert command[1].count("--no-browser") == 1


def test_lab_over_ssh(command, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    commands.main(["lab"])
    assert "--no-browser" not in command[0]
    monkeypatch.setenv("SSH_CONNECTION", "somewhere")
    monkeypatch.delenv("DISPLAY")
    commands.main(["lab"])
    assert "--no-browser" in command[1]


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_root_is_allowed(command, monkeypatch, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    commands.main(["lab"])
    assert ("--allow-root" in command[0]) is allowed


def test_the_test_command(command, clone, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    (clone / "tests").mkdir()
    commands.main(["test", "--strict", "-k", "chunk"])
    assert "--nbval" in command[0] and "--fail-skips" in command[0] and "--strict" not in command[0]
    assert command[0][-4:] == ["tests", "notebooks", "-k", "chunk"]
    commands.main(["test", "tests::x"])
    assert command[1][-1] == "tests::x" and "notebooks" not in command[1] and "--fail-skips" not in command[1]


@pytest.mark.parametrize(
    ("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "aarch64")]
)
def test_elsewhere_notebooks_are_executed_and_not_compared(command, monkeypatch, system, machine):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    commands.main(["test"])
    assert "--nbval-lax" in command[0] and "--nbval" not in command[0]


def test_bench_without_benchmarks(command, capsys):
    assert commands.main(["bench"]) == 1
    assert "There are no benchmarks in this clone" in capsys.readouterr().err


def test_the_eval_command(command, clone):
    commands.main(["eval", "--write", "--html", "report.html"])
    assert command[0][1:5] == ["-m", "ragkit", "eval", str(clone / "data" / "handbook")]
    assert command[0][5:10] == [
        str(clone / "data" / "questions.jsonl"),
        "--split",
        "dev",
        "--baseline",
        str(clone / "benchmarks" / "baseline.json"),
    ]
    assert command[0][10:] == ["--write", "--html", "report.html"]


@pytest.fixture
def keep_handlers():
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


def test_the_exit_code_is_handed_on(keep_handlers):
    assert commands.run([sys.executable, "-c", "raise SystemExit(5)"]) == 5


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that asks a program to end")
def test_a_polite_kill_ends_the_command_as_well(keep_handlers):
    killer = threading.Timer(1, os.kill, [os.getpid(), signal.SIGTERM])
    killer.start()
    started = time.monotonic()
    assert commands.run([sys.executable, "-c", "import time; time.sleep(60)"]) == -signal.SIGTERM
    assert time.monotonic() - started < 30
