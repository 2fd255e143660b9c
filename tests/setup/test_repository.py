"""What a stranger meets first: the README's commands, CI, licences, and that nothing names one machine."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OURS = [
    ROOT / name
    for name in (
        "course.py",
        "conftest.py",
        "pyproject.toml",
        "environment.yml",
        "requirements.lock",
        "README.md",
        "CONTRIBUTING.md",
        ".ci/run",
        ".github/workflows/ci.yml",
    )
]
OURS += [
    path
    for folder in ("coursekit", "ragkit", "docs", "tests", "tools", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".cfg", ".toml"}
]


def test_the_readme_names_the_two_commands_and_the_cpu_build():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^python3 course\.py .*$", text, re.MULTILINE) == [
        "python3 course.py lab",
        "python3 course.py test",
    ]
    assert (
        text.index("course.py lab\n")
        < text.index("export PIP_EXTRA_INDEX_URL=")
        < text.index("course.py test\n")
    )


def test_the_readme_s_commands_exist():
    from coursekit.commands import USAGE

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in set(re.findall(r"python3 course\.py ([\w-]+)", text)):
        assert re.search(rf"^  {command} ", USAGE, re.MULTILINE), command


def test_no_package_index_is_named_but_pytorch_s_in_the_readme():
    index = re.compile(
        r"https?://[\w.-]*(?:pypi|pythonhosted|pytorch|anaconda|conda-forge|debian|npmjs)\.\w+|/whl/"
    )
    found = {
        path.relative_to(ROOT).as_posix()
        for path in OURS
        if path != Path(__file__) and index.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"README.md"}


def test_links_between_documents_lead_somewhere():
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for name in re.findall(
            r"`((?:docs|tests|tools|notebooks|data)/[\w./-]+)`", path.read_text(encoding="utf-8")
        ):
            assert (ROOT / name).exists(), f"{path.name} names {name}"


def test_both_ci_files_run_the_readme_s_command():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.rstrip().endswith("\npython3 course.py test --strict\npython3 course.py eval")
    assert "set -euo pipefail" in script and "HF_HUB_OFFLINE=1" in script
    if os.name != "nt":
        assert os.access(ROOT / ".ci" / "run", os.X_OK)
        if shutil.which("bash"):
            subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)


def test_ci_covers_what_the_course_promises():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    jobs, triggers = workflow["jobs"], workflow[True]  # YAML 1.1 reads the key "on" as true
    assert triggers["schedule"] == [{"cron": "17 4 1 * *"}]
    assert jobs["strict"]["steps"][-1]["run"] == "bash .ci/run"
    assert jobs["strict"]["steps"][1]["with"]["python-version"] == "3.11"
    assert jobs["pythons"]["strategy"]["matrix"]["python"] == ["3.11.0", "3.13"]
    assert jobs["systems"]["strategy"]["matrix"]["system"] == ["macos-latest", "windows-latest"]
    for job in ("pythons", "systems"):
        assert re.fullmatch(r"python3? course\.py test", jobs[job]["steps"][-1]["run"])


def test_the_licences_and_the_citation():
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "MIT License" in licence and "Creative Commons Attribution 4.0" in licence
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["license"] == ["MIT", "CC-BY-4.0"]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()


@pytest.mark.parametrize("folder", ["ragkit", "coursekit", "benchmarks", "tools", "tests"])
def test_no_function_takes_the_name_of_another_or_of_an_import(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        names = Counter()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names[node.name] += 1
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names.update({alias.asname or alias.name for alias in node.names})
        twice = [name for name, count in names.items() if count > 1]
        assert twice == [], f"{path.relative_to(ROOT)}: {twice}"


def test_troubleshooting_has_ten_entries_each_with_the_way_out():
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    entries = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert [int(entry.split(".")[0]) for entry in entries] == list(range(1, 11))
    for entry in entries:
        for word in ("**You see:**", "**Why:**", "**Do:**"):
            assert word in entry, entry[:40]


def test_the_instructors_half_day_adds_up_and_names_what_there_is():
    text = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.*?) ?\|$", text, flags=re.MULTILINE)
    assert sum(int(minutes) for minutes, *_ in rows) == 4 * 60
    chapters = {path.name[:2]: path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert set(re.findall(r"chapter (\d\d)", text)) <= chapters.keys()
    for exercise in re.findall(r"\b(\d)\.(\d)\b", " ".join(map(" ".join, rows))):
        assert f"Exercise {'.'.join(exercise)}" in chapters[f"0{exercise[0]}"], exercise


SKIPPED = """
import pytest
@pytest.mark.skip(reason="no browser here")
def test_marked(): pass
def test_called(): pytest.skip("no server here")
@pytest.mark.xfail(reason="known")
def test_known(): assert False
def test_fine(): pass
"""


@pytest.mark.parametrize(
    ("options", "code", "summary"),
    [
        ((), 0, "1 passed, 3 skipped, 1 xfailed"),
        (("--fail-skips",), 1, "1 failed, 1 passed, 1 xfailed, 2 errors"),
    ],
)
def test_strict_makes_a_failure_of_every_skip(tmp_path, options, code, summary):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_some.py").write_text(SKIPPED)
    (tmp_path / "test_whole.py").write_text(
        "import pytest\npytest.skip('not on this system', allow_module_level=True)"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == code and summary in done.stdout, done.stdout
    if options:
        for reason in ("no browser here", "no server here", "not on this system"):
            assert f"{reason} (a skip is a failure here: --strict)" in done.stdout


def test_tests_run_offline_and_without_bars():
    assert (os.environ["HF_HUB_OFFLINE"], os.environ["RAGKIT_PROGRESS"]) == ("1", "0")
