"""Every term that a notebook marks as new stands in the glossary, once."""

import re
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.notebook
ROOT = Path(__file__).parents[2]
MASTERS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
GLOSSARY = ROOT / "docs" / "glossary.md"


def marked_terms(text: str) -> list[str]:
    """What stands in <dfn>...</dfn>, in lower case, without markup."""
    return [plain(term) for term in re.findall(r"<dfn[^>]*>(.*?)</dfn>", text, re.DOTALL)]


def plain(term: str) -> str:
    return " ".join(re.sub(r"[*_`]|<[^>]+>", "", term).lower().split())


def glossary_terms(text: str) -> list[str]:
    """The terms a glossary defines: a level-3 heading, a line's bold beginning, a table row's first cell.

    "retrieval-augmented generation (RAG)" defines the long and the short form.
    """
    terms = []
    for line in text.splitlines():
        found = re.match(r"### (.+)|\*\*(.+?)\*\*|\| *([^|]+?) *\|", line)
        term = plain(next(filter(None, found.groups()))) if found else ""
        if not term or set(term) <= set("-: ") or term == "term":
            continue
        both = re.fullmatch(r"(.+?) \((.+)\)", term)
        terms += both.groups() if both else [term]
    return terms


@pytest.mark.parametrize("master", MASTERS, ids=lambda path: path.stem)
def test_marked_terms_are_in_the_glossary_once(master):
    notebook = nbformat.read(master, as_version=4)
    marked = [
        term for cell in notebook.cells if cell.cell_type == "markdown" for term in marked_terms(cell.source)
    ]
    terms = glossary_terms(GLOSSARY.read_text(encoding="utf-8"))
    assert {term: terms.count(term) for term in marked if terms.count(term) != 1} == {}


def test_reading_a_glossary():
    text = (
        "# Glossary\n### Chunk\nA span.\n\n**retrieval-augmented generation (RAG)** is ...\n"
        "| term | meaning |\n|---|---|\n| *Top-k* | the best k |\n"
    )
    assert glossary_terms(text) == ["chunk", "retrieval-augmented generation", "rag", "top-k"]
    assert marked_terms("a <dfn>Child\n  *chunk*</dfn> and <dfn>RAG</dfn>") == ["child chunk", "rag"]
