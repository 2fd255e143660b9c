"""Labs: a pure model, tested without a browser, under a thin view of widgets (from chapter 01 on).

Each ``…_lab(...)`` gives a widget whose ``.model`` has plain attributes: set one, and ``html()`` and
``png()`` answer, with or without a browser.
"""

from importlib import import_module

_HOME = {
    "chunking_lab": "ragkit.labs.chunking",
    "citations_lab": "ragkit.labs.citations",
    "context_lab": "ragkit.labs.context",
    "embedding_lab": "ragkit.labs.embedding",
    "evaluation_lab": "ragkit.labs.evaluation",
    "evidence_lab": "ragkit.labs.evidence",
    "merge_lab": "ragkit.labs.merge",
    "refusal_lab": "ragkit.labs.refusal",
}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"there is no lab {name!r}; the labs are {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)
