"""pyproject.toml, environment.yml and requirements.lock name the same versions."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SYSTEMS = {
    "linux": {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": "x86_64",
    },
    "macos": {
        "sys_platform": "darwin",
        "platform_system": "Darwin",
        "os_name": "posix",
        "platform_machine": "arm64",
    },
    "windows": {
        "sys_platform": "win32",
        "platform_system": "Windows",
        "os_name": "nt",
        "platform_machine": "AMD64",
    },
}
PYTHONS = ["3.11", "3.12", "3.13"]
LEFT_TO_PIP = re.compile(r"nvidia-|cuda-|triton")  # PyTorch's libraries for graphics cards


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(lines: list[str]) -> dict[str, str]:
    """Name to version, having checked that every requirement is one exact version."""
    found = {}
    for requirement in map(Requirement, lines):
        (specifier,) = requirement.specifier
        assert specifier.operator == "==" and "+" not in specifier.version and "*" not in specifier.version, (
            requirement
        )
        assert canonicalize_name(requirement.name) not in found, requirement
        found[canonicalize_name(requirement.name)] = specifier.version
    return found


def lock_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def locked() -> dict[str, Requirement]:
    lines = lock_lines((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    return {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, lines)}


def direct() -> dict[str, str]:
    return pins(project()["dependencies"] + project()["optional-dependencies"]["dev"])


def conda_disagreements(text: str) -> list[str]:
    """Where environment.yml and pyproject.toml say different things."""
    dependencies = yaml.safe_load(text)["dependencies"]
    (nested,) = [entry["pip"] for entry in dependencies if isinstance(entry, dict)]
    conda = dict(
        re.match(r"([\w-]+)(.*)", entry).groups() for entry in dependencies if isinstance(entry, str)
    )
    given = pins([line for line in nested if not line.startswith("-")])
    given["torch"] = conda.get("pytorch-cpu", "").lstrip("=")
    wanted = direct()
    wrong = [
        f"{name}: environment.yml {given.get(name)}, pyproject.toml {wanted.get(name)}"
        for name in sorted(given.keys() | wanted.keys())
        if given.get(name) != wanted.get(name)
    ]
    if SpecifierSet(conda.get("python", "")) != SpecifierSet(project()["requires-python"]):
        wrong.append(
            f"python: environment.yml {conda.get('python')}, pyproject.toml {project()['requires-python']}"
        )
    return wrong


def test_conda_and_pyproject_agree():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert conda_disagreements(text) == []
    assert "-c requirements.lock" in text and yaml.safe_load(text)["channels"][0] == "conda-forge"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("pytorch-cpu=2.13.0", "pytorch-cpu=2.12.0", "torch"),
        ("numpy==2.4.6", "numpy==2.4.5", "numpy"),
        ("      - tqdm==4.70.1\n", "", "tqdm"),
        ("      - tqdm==4.70.1\n", "      - tqdm==4.70.1\n      - extra==1\n", "extra"),
        ("python>=3.11,<3.14", "python>=3.12,<3.14", "python"),
    ],
)
def test_a_disagreement_is_found(old, new, named):
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert old in text
    (wrong,) = conda_disagreements(text.replace(old, new))
    assert wrong.startswith(f"{named}: ")


def test_the_lock_holds_every_direct_pin():
    lock = locked()
    assert {name: str(lock[name].specifier) for name in direct()} == {
        name: f"=={version}" for name, version in direct().items()
    }
    assert direct()["torch"] == "2.13.0"
    assert not [name for name in lock if LEFT_TO_PIP.match(name)]


def test_the_lock_is_exact_and_in_order():
    lines = lock_lines((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    pins(lines)
    names = [line.split("==")[0].lower() for line in lines]
    assert names == sorted(names)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_lock_holds_everything_that_is_needed_in_turn(system, python):
    """Walk the installed packages' own requirements as if on that system; all must be locked there."""
    environment = {
        **default_environment(),
        **SYSTEMS[system],
        "python_version": python,
        "python_full_version": python + ".0",
        "extra": "",
    }
    lock, seen, problems = locked(), set(), []
    todo = [
        (canonicalize_name(requirement.name), requirement.extras)
        for requirement in map(
            Requirement, project()["dependencies"] + project()["optional-dependencies"]["dev"]
        )
    ]
    while todo:
        name, extras = todo.pop()
        if (name, frozenset(extras)) in seen or LEFT_TO_PIP.match(name):
            continue
        seen.add((name, frozenset(extras)))
        pin = lock.get(name)
        if pin is None or (pin.marker and not pin.marker.evaluate(environment)):
            problems.append(f"{name} is needed and not locked")
            continue
        try:
            metadata = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            assert system != current_system(), f"{name} is locked for this system and not installed"
            continue  # of another system: it needs nothing (appnope, colorama, pywinpty)
        (specifier,) = pin.specifier
        for needed in map(Requirement, metadata.requires or []):
            applies = not needed.marker or any(
                needed.marker.evaluate({**environment, "extra": extra}) for extra in ["", *extras]
            )
            if not applies:
                continue
            todo.append((canonicalize_name(needed.name), needed.extras))
            there = lock.get(canonicalize_name(needed.name))
            if there and not needed.specifier.contains(
                str(there.specifier).removeprefix("=="), prereleases=True
            ):
                problems.append(f"{name} needs {needed}, locked is {there}")
    assert problems == []


def current_system() -> str:
    import sys

    return {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")


@pytest.mark.parametrize("python", ["3.11.0", "3.12.0", "3.13.0"])
def test_every_package_takes_every_python(python):
    """A package may want a later bugfix release than a learner has: 3.11.2 is what a stable Debian ships."""
    refusing = []
    for name in locked():
        try:
            wanted = importlib.metadata.metadata(name)["Requires-Python"]
        except importlib.metadata.PackageNotFoundError:
            continue
        if wanted and python not in SpecifierSet(wanted):
            refusing.append(f"{name} {wanted}")
    assert refusing == []


def test_what_is_installed_is_what_is_locked():
    wrong = []
    for name, requirement in locked().items():
        if requirement.marker and not requirement.marker.evaluate():
            continue
        found = importlib.metadata.version(name).split("+")[0]
        if not requirement.specifier.contains(found):
            wrong.append(f"{name} is {found}, locked is {requirement.specifier}")
    assert wrong == []
