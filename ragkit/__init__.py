"""ragkit: the helper package of Evidence First, one module a concept, one concept a chapter.

The few names a learner needs are here. They are loaded on first use (PEP 562), so that
``import ragkit`` costs next to nothing and loads neither torch nor faiss.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "Answer": "ragkit.answer",
    "KnowledgeBase": "ragkit.knowledge_base",
    "RefusalReason": "ragkit.refusal",
    "RetrievalFilters": "ragkit.filters",
    "RetrievalResult": "ragkit.retrieval",
    "Settings": "ragkit.settings",
    "data_path": "ragkit.paths",
    "load_folder": "ragkit.documents",
    "load_questions": "ragkit.evaluation",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from ragkit.answer import Answer
    from ragkit.documents import load_folder
    from ragkit.evaluation import load_questions
    from ragkit.filters import RetrievalFilters
    from ragkit.knowledge_base import KnowledgeBase
    from ragkit.paths import data_path
    from ragkit.refusal import RefusalReason
    from ragkit.retrieval import RetrievalResult
    from ragkit.settings import Settings


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'ragkit' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # so that the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
