"""The set-up: a virtual environment in ``.venv`` with the exact packages of ``requirements.lock``.

A stamp is written into the environment last. It holds a hash of all that the set-up depends on, so an
interrupted set-up (no stamp) and an outdated one (another stamp) are both recognised, and the next run
finishes them; with the right stamp a run starts at once.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
CONDA_NAME = "evidence-first"  # the name in environment.yml
KERNEL = "ragkit"
KERNEL_TITLE = "Evidence First (ragkit)"
STAMP = "ragkit-setup.stamp"
LOG = "ragkit-setup.log"
NEEDED_GB = 3.0  # with PyTorch's CPU build the environment takes about 2.1 GB

_NO_DISK = re.compile(r"no space left|errno 28\b|disk quota|not enough space on the disk|winerror 112", re.I)
_NO_NETWORK = re.compile(
    r"connection ?error|connection (broken|refused|aborted|reset|timed out)|name resolution|"
    r"getaddrinfo|proxyerror|sslerror|timed out|timeouterror|network is unreachable",
    re.I,
)
_NOT_FOUND = re.compile(r"no matching distribution found for (\S+)", re.I)


class SetupError(Exception):
    """What stops a command, as one sentence with the way out."""


def in_conda() -> bool:
    """Whether this Python is that of the conda environment which environment.yml describes."""
    prefix = os.environ.get("CONDA_PREFIX")
    return (
        bool(prefix)
        and Path(prefix).name == CONDA_NAME
        and Path(prefix).resolve() == Path(sys.prefix).resolve()
    )


def prefix() -> Path:
    """The environment's folder: ``.venv``, or the course's conda environment when that one is active."""
    return Path(sys.prefix) if in_conda() else VENV


def python() -> Path:
    """The environment's Python, whether it is there or not."""
    if in_conda():
        return Path(sys.executable)
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def wanted_stamp() -> str:
    """Hash of the lock, pyproject.toml, this file, the Python version and the folder (the install names it)."""
    if not LOCK.is_file():
        raise SetupError(
            f"{LOCK.name} is missing from {ROOT}: take a fresh clone of the course, or `git checkout "
            f"{LOCK.name}`."
        )
    digest = hashlib.sha256()
    for part in (
        LOCK.read_bytes(),
        (ROOT / "pyproject.toml").read_bytes(),
        Path(__file__).read_bytes(),
        sys.version.encode(),
        os.fsencode(ROOT),
    ):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def state() -> str:
    """``"ready"``, ``"stale"``, ``"unfinished"`` or ``"absent"``."""
    if not python().is_file():
        return "absent"
    stamp = prefix() / STAMP
    if not stamp.is_file():
        return "unfinished"
    return "ready" if stamp.read_text(encoding="utf-8").strip() == wanted_stamp() else "stale"


def free_gb() -> float:
    """Free room on the disk that holds the course, in gigabytes."""
    return shutil.disk_usage(ROOT).free / 1e9


def ensure() -> None:
    """Make the environment ready, doing nothing when it is.

    Raises:
        SetupError: it cannot be made; the message is one sentence with the way out.
    """
    stamp_text, found = wanted_stamp(), state()
    if found == "ready":
        return
    if found == "absent" and free_gb() < NEEDED_GB:
        raise SetupError(
            f"The set-up needs {NEEDED_GB:.0f} GB of free disk and {ROOT} has {free_gb():.1f} GB: "
            "make room there, or move the folder to a larger disk, and run this again."
        )
    print(
        {
            "absent": "Setting up the course; the first time this takes a few minutes.",
            "unfinished": "The last set-up was interrupted; finishing it.",
            "stale": "The course or its folder has changed; bringing the set-up up to date.",
        }[found],
        flush=True,
    )
    try:
        if not in_conda():
            _make_venv()
        run_step("install", "packages", [python(), "-m", "pip", "install", "-r", LOCK])
        run_step(
            "install",
            "ragkit",
            [python(), "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--editable", ROOT],
        )
        run_step(
            "register",
            "the kernel",
            [
                python(),
                "-m",
                "ipykernel",
                "install",
                "--sys-prefix",
                "--name",
                KERNEL,
                "--display-name",
                KERNEL_TITLE,
            ],
        )
        _configure_jupyterlab()
        stamp = prefix() / STAMP
        stamp.with_suffix(".tmp").write_text(stamp_text + "\n", encoding="utf-8")
        os.replace(stamp.with_suffix(".tmp"), stamp)
    except OSError as error:
        print(flush=True)  # a step's line may stand unfinished
        if error.errno == 28:
            raise SetupError(_disk_sentence()) from None
        raise SetupError(
            f"The set-up could not write to {error.filename or ROOT} ({error.strerror}): check that "
            "the folder is yours to write to, or move the course into your home folder."
        ) from None
    print("The set-up is complete.", flush=True)


def _make_venv() -> None:
    """Create ``.venv`` when there is none that works with this Python; keep the one that does."""
    if python().is_file():
        probe = subprocess.run(
            [str(python()), "-c", "import pip, sys; print(sys.version)"],
            capture_output=True,
            text=True,
            check=False,
        )
        if probe.returncode == 0 and probe.stdout.strip() == sys.version.strip():
            (prefix() / STAMP).unlink(missing_ok=True)
            return
    try:
        import ensurepip  # noqa: F401  Debian and Ubuntu split it off, and venv fails without it
        import venv
    except ImportError:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise SetupError(
            "This Python comes without its venv module: install it (on Debian and Ubuntu: `sudo apt-get "
            f"install python{version}-venv`) and run this again."
        ) from None
    try:
        venv.EnvBuilder(with_pip=True, clear=True, symlinks=os.name != "nt").create(VENV)
    except subprocess.CalledProcessError as error:
        output = (error.output or b"").decode(errors="replace")
        raise SetupError(
            _disk_sentence()
            if _NO_DISK.search(output)
            else f"Python could not make a virtual environment in {VENV}: delete that folder and run this "
            "again; if it fails again, reinstall Python."
        ) from None


def _configure_jupyterlab() -> None:
    """JupyterLab neither asks for news nor looks for updates, since the course works offline; and it wraps long
    lines of code, which on a laptop would end outside the window."""
    for place, content in (
        (
            "etc/jupyter/labconfig/page_config.json",
            {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}},
        ),
        (
            "share/jupyter/lab/settings/overrides.json",
            {"@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineWrap": True}}},
        ),
    ):
        path = prefix() / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")


def run_step(verb: str, what: str, command: list) -> None:
    """Run one step, its output in the log, a counter on the screen. Raises SetupError with the reason."""
    log = prefix() / LOG
    environment = {
        **os.environ,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PYTHONUNBUFFERED": "1",
    }
    environment.pop("PIP_REQUIRE_VIRTUALENV", None)
    tail, collected = deque(maxlen=200), 0
    print(f"  {verb} {what} ...", end="", flush=True)
    with (
        log.open("a", encoding="utf-8") as record,
        subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            cwd=ROOT,
        ) as process,
    ):
        try:
            for line in process.stdout:
                record.write(line)
                tail.append(line)
                if line.startswith(("Collecting ", "Requirement already satisfied")):
                    collected += 1
                    if sys.stdout.isatty():
                        print(f"\r  {verb} {what} ... {collected}", end="", flush=True)
                elif line.startswith("Installing collected") and sys.stdout.isatty():
                    print(f"\r  {verb} {what} ... {collected} found, unpacking", end="", flush=True)
        except KeyboardInterrupt:
            process.terminate()
            print()
            raise SetupError(
                "The set-up was interrupted: run the same command again and it goes on from there."
            ) from None
    print(" done" if process.returncode == 0 else " failed", flush=True)
    if process.returncode != 0:
        raise SetupError(_explain("".join(tail), log))


def _explain(output: str, log: Path) -> str:
    """One sentence on why a step of the set-up failed, with the way out."""
    if _NO_DISK.search(output):
        return _disk_sentence()
    if _NO_NETWORK.search(output):
        return (
            "The packages could not be downloaded because the package index does not answer: check the "
            "network (behind a proxy set HTTPS_PROXY) and run this again; it goes on from where it stopped."
        )
    missing = _NOT_FOUND.search(output)
    if missing:
        return (
            f"The package index has no {missing[1]} for this Python ({sys.version.split()[0]}) and system: "
            "use a 64-bit Python 3.11 to 3.13, and see docs/troubleshooting.md if yours is one."
        )
    errors = [line.strip() for line in output.splitlines() if line.strip()] or ["it said nothing"]
    return f"The set-up failed ({errors[-1]}): the whole story is in {log}; put it right and run this again."


def _disk_sentence() -> str:
    return (
        f"The disk that holds {ROOT} (or the temporary folder) is full: make {NEEDED_GB:.0f} GB of room, or "
        "set TMPDIR to a folder on a larger disk, and run this again."
    )
