"""The commands of course.py."""

import os
import platform
import signal
import subprocess
import sys

from . import environment, local_llm, work
from .environment import ROOT, SetupError

USAGE = """usage: python3 course.py COMMAND

  lab [--port N ...]     set up if needed and open the notebooks in JupyterLab; further arguments go to it
  test [--strict ...]    set up if needed and run every test; --strict fails what would be skipped;
                         further arguments go to pytest
  check                  say what works here and what does not, and the way out
  reset [CHAPTER]        restore work/'s copy of a chapter (3, 03 or 03_name) or of all; yours is kept
  local-llm              set up if needed and install a small language model for chapter 07 (about 95 MB)
  bench [...]            set up if needed and measure the package's speed on this machine
  eval [--write ...]     set up if needed and score the handbook's dev questions; fails when worse than
                         benchmarks/baseline.json; --write writes that anew; further arguments go to
                         `python -m ragkit eval`, for example --html report.html"""

NOTEBOOKS, WORK = ROOT / "notebooks", ROOT / "work"


def main(arguments: list[str]) -> int:
    """Run one command; its exit code. What stops it is said in a sentence."""
    commands = {
        "lab": lab,
        "test": test,
        "check": check,
        "reset": reset,
        "local-llm": install_local_llm,
        "bench": bench,
        "eval": evaluate,
    }
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if name in {"", "-h", "--help", "help"}:
        print(USAGE)
        return 0 if name else 2
    if name not in commands:
        print(f"There is no command {name!r}: the commands are {', '.join(commands)}.", file=sys.stderr)
        return 2
    if rest and rest[0] in {"-h", "--help"} and name in {
        "check",
        "reset",
        "local-llm",
        "bench",
        "eval",
    }:
        print(USAGE)
        return 0
    try:
        return commands[name](rest)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def lab(rest: list[str]) -> int:
    """Set up, derive work/, open JupyterLab on the first chapter."""
    environment.ensure()
    work.make(NOTEBOOKS, WORK)
    first = work.first(WORK)
    command = [str(environment.python()), "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}", *rest]
    if first and not any(argument.endswith(".ipynb") for argument in rest):
        command.append(f"--LabApp.default_url=/lab/tree/work/{first.name}")  # in the printed address as well
    if not has_display() and "--no-browser" not in rest:
        command.append("--no-browser")
        print(
            "There is no display here: open the address that JupyterLab prints below in a browser\n"
            "(from another machine, forward the port first: ssh -L 8888:localhost:8888 THIS-MACHINE)."
        )
    if hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in rest:
        command.append(
            "--allow-root"
        )  # JupyterLab refuses root otherwise; containers often have no other user
    return run(command)


def test(rest: list[str]) -> int:
    """Set up, run the whole suite; notebooks are compared on Linux x86-64 and executed elsewhere."""
    environment.ensure()
    strict = "--strict" in rest
    rest = [argument for argument in rest if argument != "--strict"]
    compared = sys.platform == "linux" and platform.machine() == "x86_64"
    command = [
        str(environment.python()),
        "-m",
        "pytest",
        "--nbval" if compared else "--nbval-lax",
        "--nbval-sanitize-with",
        str(ROOT / "tests" / "notebooks" / "sanitize.cfg"),
        "--nbval-cell-timeout",
        "300",
    ]
    if strict:
        command.append("--fail-skips")
    if not any(
        (ROOT / argument.split("::")[0]).exists() for argument in rest if not argument.startswith("-")
    ):
        command += [name for name in ("tests", "notebooks") if (ROOT / name).is_dir()]
    return run([*command, *rest])


def check(rest: list[str]) -> int:
    """Say what works: first what needs no packages, then `python -m ragkit check` in the environment."""
    version, state = sys.version.split()[0], environment.state()
    print(f"[OK]   Python for course.py: {version}")
    if state == "ready":
        print(f"[OK]   set-up: {environment.prefix()} is complete and up to date")
        return run([str(environment.python()), "-m", "ragkit", "check", *rest])
    free = environment.free_gb()
    if free < environment.NEEDED_GB:
        print(f"[FAIL] disk: {free:.1f} GB free, {environment.NEEDED_GB:.0f} GB needed; make room first")
    else:
        print(f"[OK]   disk: {free:.0f} GB free")
    print(f"[FAIL] set-up: {environment.prefix()} is {state}; `python3 course.py lab` makes it ready")
    return 1


def reset(rest: list[str]) -> int:
    """Restore work/'s copy of one chapter or of all."""
    if len(rest) > 1:
        print("reset takes one chapter, as in: python3 course.py reset 3", file=sys.stderr)
        return 2
    try:
        chosen = work.choose(NOTEBOOKS, rest[0] if rest else None)
    except work.UnknownChapter as error:
        print(error, file=sys.stderr)
        return 2
    for master in chosen:
        kept = work.reset(master, WORK)
        print(f"work/{master.name} is as new" + (f"; yours is kept as work/{kept.name}" if kept else ""))
    return 0


def install_local_llm(rest: list[str]) -> int:
    """Install the small language model of chapter 07."""
    if rest:
        print(f"local-llm takes no arguments, and got {rest[0]!r}", file=sys.stderr)
        return 2
    environment.ensure()
    local_llm.install()
    return 0


def bench(rest: list[str]) -> int:
    """Run the benchmarks."""
    program = ROOT / "benchmarks" / "run.py"
    if not program.is_file():
        raise SetupError(f"There are no benchmarks in this clone ({program} is missing): take a fresh clone.")
    environment.ensure()
    return run([str(environment.python()), str(program), *rest])


def evaluate(rest: list[str]) -> int:
    """Score the handbook's dev questions and compare with the committed baseline."""
    environment.ensure()
    data = ROOT / "data"
    command = [
        str(environment.python()),
        "-m",
        "ragkit",
        "eval",
        str(data / "handbook"),
        str(data / "questions.jsonl"),
        "--split",
        "dev",
        "--baseline",
        str(ROOT / "benchmarks" / "baseline.json"),
    ]
    return run([*command, *rest])


def has_display() -> bool:
    """Whether a browser opened here could be seen by the person who typed the command."""
    if "SSH_CONNECTION" in os.environ or "SSH_TTY" in os.environ:
        return bool(os.environ.get("DISPLAY"))
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def run(command: list[str]) -> int:
    """Run a command in the course's folder. Ctrl-C and a polite kill are the command's to handle."""
    with subprocess.Popen(command, cwd=ROOT) as process:
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # the terminal sent it to the command as well
