"""Allowed here and forbidden there, without a "not" (chapter 07).

Only plain cases are decided: one sentence with a word that allows, the other with a word that forbids, and in neither
a negation or an exception, which may turn it around.
"""

import re
from collections.abc import Iterable

from ragkit.wording import stem_of

_FORBIDS = re.compile(r"\b(?:forbidden|prohibited|banned)\b|禁止|严禁|禁用|禁入", re.IGNORECASE)
_ALLOWS = re.compile(r"\b(?:allowed|permitted|may|can)\b|可以|可用|允许|准许", re.IGNORECASE)
_TURNS = re.compile(r"\b(?:not|no|never|none|nobody|cannot|without|unless|except|only|but|other than|outside|until)\b"
                    r"|\bif\b|n['’]t\b|[不未没无除但若]|以外|如果", re.IGNORECASE)
_STEMS = frozenset(map(stem_of, "allow permit forbid forbidden prohibit ban".split()))


def differs(claim: str, source: str) -> tuple[str, str] | None:
    """The word of the claim and that of the source when one allows and the other forbids; else None."""
    if _TURNS.search(claim) or _TURNS.search(source):
        return None
    for ours, theirs in ((_ALLOWS, _FORBIDS), (_FORBIDS, _ALLOWS)):
        mine, other = ours.search(claim), theirs.search(source)
        if mine and other and not theirs.search(claim) and not ours.search(source):
            return mine[0], other[0]
    return None


def without_permission(stems: Iterable[str]) -> set[str]:
    """The stems but for the words that allow or forbid: what is allowed or forbidden."""
    return set(stems) - _STEMS
