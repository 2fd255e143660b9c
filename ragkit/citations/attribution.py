"""Adds the citations that an answer should have had (chapter 07): attribution after the fact.

The idea is that of RARR's attribution step (Gao et al. 2023, "RARR: Researching and Revising What Language Models
Say"), without its revision: the words of the answer stay as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.citations.verify import SUPPORTED, SentenceVerdict, Verification, as_context, verify_citations
from ragkit.context import Context

if TYPE_CHECKING:
    from ragkit.citations.support import SupportJudge


@dataclass(frozen=True)
class AddedCitation:
    """A mark that was added: ``text[start:end]`` of the new text is the mark, for ``sentence`` of the old one."""

    number: int
    start: int
    end: int
    sentence: str


@dataclass(frozen=True)
class Attribution:
    """An answer with the citations it lacked.

    Attributes:
        text: the answer; without its marks it is the answer that was given.
        added: the marks that were not there before, in order.
        uncited: the claims that remain without a citation, because no source supports them.
        unsupported: the claims that cite a source which does not support them; nothing was changed there.
        before: the verification of the answer as it was given.
    """

    text: str
    added: tuple[AddedCitation, ...]
    uncited: tuple[SentenceVerdict, ...]
    unsupported: tuple[SentenceVerdict, ...]
    before: Verification

    def __str__(self) -> str:
        left = [f"without a citation: {sentence.text}" for sentence in self.uncited]
        left += [f"wrongly cited: {sentence.text}" for sentence in self.unsupported]
        return "\n".join([self.text, *left])


def attribute(answer: str, context: Context | Sequence[str], *, judge: "SupportJudge | None" = None) -> Attribution:
    """Add the missing citations to the sentences that a source supports (chapter 07).

    A sentence that cites no source of the context gets the one that supports it best, as " [n]" after its full
    stop (in a table inside the last cell). Citations that are there stay, right or wrong. Doing it again changes
    nothing.

    Args:
        context, judge: as for ``verify_citations``.
    """
    before = verify_citations(answer, as_context(context), judge=judge)
    pieces: list[str] = []
    added: list[AddedCitation] = []
    position = length = 0
    for sentence in before.uncited:
        if not sentence.better:
            continue
        at = _before_a_bracket(answer, sentence)
        mark = f"[{sentence.better[0]}]"
        pieces += [answer[position:at], " ", mark]
        length += at - position + 1
        added.append(AddedCitation(sentence.better[0], length, length + len(mark), sentence.text))
        length += len(mark)
        position = at
    uncited = tuple(sentence for sentence in before.uncited if not sentence.better)
    unsupported = tuple(sentence for sentence in before.claims if sentence.cited and sentence.label != SUPPORTED)
    return Attribution("".join([*pieces, answer[position:]]), tuple(added), uncited, unsupported, before)


def _before_a_bracket(answer: str, sentence: SentenceVerdict) -> int:
    """Where the mark goes; not right before "(", which would make a link of it, but before the full stop."""
    at = sentence.insert_at
    while answer.startswith("(", at) and at > sentence.start + 1:
        at -= 1
    return at
