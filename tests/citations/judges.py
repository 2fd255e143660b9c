"""A judge whose verdicts a reader of a test can foresee."""

import re
from collections.abc import Sequence

from ragkit.citations.support import Support

_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]", re.IGNORECASE)


class WordJudge:
    """Supported: every word of the claim is in the source. Contradicted: all but a number. No language, no model."""

    name = "words"

    def __init__(self):
        self.calls: list[tuple[tuple[str, ...], str]] = []

    def judge(self, claims: Sequence[str], source: str) -> list[Support]:
        self.calls.append((tuple(claims), source))
        return [self._one(claim, source) for claim in claims]

    @staticmethod
    def _one(claim: str, source: str) -> Support:
        places = {match[0].lower(): match.span() for match in reversed(list(_WORD.finditer(source)))}
        words = [match[0].lower() for match in _WORD.finditer(claim)]
        lacking = [word for word in words if word not in places]
        whole = source.lower().find(claim.lower().rstrip(". "))
        spans = ([(whole, whole + len(claim.rstrip(". ")))] if whole >= 0 else
                 [places[word] for word in words if word in places] or [(0, len(source))])
        label = ("supported" if not lacking else
                 "contradicted" if all(word.isdigit() for word in lacking) and len(words) > 1 else "unsupported")
        return Support(1 - len(lacking) / max(1, len(words)), label,
                       tuple(f"{word} is not in the source" for word in lacking),
                       (min(start for start, _ in spans), max(end for _, end in spans)), ())
