"""course.py as a stranger types it: from anywhere, with any Python, with parts of the machine missing."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import course

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone without packages, in a folder with spaces and an accent."""
    folder = tmp_path / "my clöne of the course"
    folder.mkdir()
    shutil.copy(ROOT / "course.py", folder)
    shutil.copytree(ROOT / "coursekit", folder / "coursekit", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "requirements.lock").write_text("surely-not-there==1.0\n")
    (folder / "pyproject.toml").write_text('[project]\nname = "ragkit"\nversion = "0"\n')
    (folder / "notebooks").mkdir()
    return folder


def run(clone: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(clone / "course.py"), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=clone.parent,
        timeout=240,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
    )


def one_sentence(result: subprocess.CompletedProcess) -> str:
    """What was said on stderr, having checked that it is one line, no traceback, exit code 1."""
    said = result.stderr.strip()
    assert result.returncode == 1, result
    assert "Traceback" not in said and len(said.splitlines()) == 1, said
    return said


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 15), (3, 10, 13), (3, 14, 0), (4, 0, 0)])
def test_an_unsuitable_python_is_told_so(version):
    said = course.unsuitable(version)
    assert said.startswith("This course needs Python 3.11 to 3.13") and f"{version[0]}.{version[1]};" in said


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 12, 1), (3, 13, 0)])
def test_a_suitable_python_is_not(version):
    assert course.unsuitable(version) == ""


def test_an_unsuitable_python_ends_in_one_sentence(clone):
    pretend = (
        f"import runpy, sys; sys.version_info = (3, 10, 13, 'final', 0); sys.argv = ['course.py', 'lab'];"
        f"runpy.run_path({str(clone / 'course.py')!r}, run_name='__main__')"
    )
    result = subprocess.run([sys.executable, "-c", pretend], capture_output=True, text=True, encoding="utf-8")
    assert "this is 3.10; " in one_sentence(result)


def test_a_suitable_python_on_the_path_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install Python 3.13" in course.unsuitable((3, 10))
    if os.name != "nt":
        (tmp_path / "python3.12").symlink_to(sys.executable)
        assert "python3.12 course.py lab" in course.unsuitable((3, 10))
        (tmp_path / "python3.12").unlink()
        (tmp_path / "python3.12").write_text(
            "#!/bin/sh\nexit 127\n"
        )  # a version manager's name without a Python
        (tmp_path / "python3.12").chmod(0o755)
        assert "install Python 3.13" in course.unsuitable((3, 10))


def test_course_py_is_readable_to_old_pythons():
    tree = ast.parse((ROOT / "course.py").read_text(encoding="utf-8"), feature_version=(3, 4))
    assert not any(isinstance(node, (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr)) for node in ast.walk(tree))
    assert (ROOT / "course.py").read_text(encoding="utf-8").isascii()


@pytest.mark.parametrize(
    "file", [ROOT / "course.py", *sorted((ROOT / "coursekit").glob("*.py"))], ids=lambda path: path.name
)
def test_only_the_standard_library_is_used(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
        for name in names:
            assert name.split(".")[0] in sys.stdlib_module_names | {"coursekit"}, name


def test_without_a_command_the_usage_is_printed(clone):
    result = run(clone)
    assert result.returncode == 2 and "lab [--port N ...]" in result.stdout
    assert run(clone, "--help").returncode == 0


def test_an_unknown_command_names_the_others(clone):
    result = run(clone, "sing")
    assert result.returncode == 2
    assert result.stderr.strip() == (
        "There is no command 'sing': the commands are lab, test, check, reset, local-llm, bench, eval."
    )


def test_check_works_before_the_set_up(clone):
    result = run(clone, "check")
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert "[OK]   Python" in result.stdout
    assert "[FAIL] set-up" in result.stdout and "is absent; `python3 course.py lab`" in result.stdout


def test_a_python_without_venv(clone, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "ensurepip.py").write_text("raise ImportError('split off by the distribution')")
    said = one_sentence(run(clone, "lab", PYTHONPATH=str(tmp_path / "broken")))
    assert "venv module" in said and f"apt-get install python3.{sys.version_info[1]}-venv" in said
    assert not (clone / ".venv" / "ragkit-setup.stamp").exists()


@pytest.mark.slow
def test_no_network_then_an_index_without_the_package(clone, tmp_path):
    """A closed port stands for no network, an empty folder for an index that lacks a package."""
    alone = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_RETRIES": "1",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    }
    first = run(clone, "lab", **alone)
    assert "package index does not answer" in one_sentence(first)
    assert "Setting up the course" in first.stdout
    (tmp_path / "index").mkdir()
    second = run(clone, "lab", **{**alone, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index")})
    assert "has no surely-not-there==1.0 for this Python" in one_sentence(second)
    assert "interrupted; finishing it" in second.stdout
    assert "surely-not-there" in (clone / ".venv" / "ragkit-setup.log").read_text(encoding="utf-8")
    assert "is unfinished" in run(clone, "check").stdout


def test_a_clone_without_its_lock(clone):
    (clone / "requirements.lock").unlink()
    assert "requirements.lock is missing" in one_sentence(run(clone, "lab"))
