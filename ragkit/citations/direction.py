"""Whether a source says the same or the opposite: "rises" against "falls", "promotes" against "inhibits" (chapter 07).

Words of direction are closed classes, so a list will do; a negation that reaches one turns it around. Which of them
belong together is told by the words around them.
"""

import math
from collections.abc import Sequence

from ragkit.facts import Fact
from ragkit.wording import stem_of, words

_UP = """increase increased raise rise risen higher elevate enhance augment upregulate upregulation grow growth greater
more gain accelerate amplify boost expand heighten high strong stronger longer larger most maximum promote
induce stimulate activate activation trigger facilitate encourage drive potentiate improve exceed better faster
superior above over open allow permit include effective beneficial positive presence resistant early earlier
before extend win"""
_DOWN = """decrease reduce reduction lower decline diminish attenuate downregulate downregulation fall drop less fewer loss
lose slow shrink weak weaker weaken low impair inhibit inhibition inhibitor suppress suppression block blockade
prevent impede repress repression antagonize silence abrogate restrain hinder disrupt eliminate shorter smaller
least minimum worsen worse slower inferior deficiency deficient deletion knockdown knockout lack absence
ablation defective poor below under closed close forbid prohibit exclude ineffective harmful negative
susceptible susceptibility late later after shorten defeat"""
SIGNS = {stem_of(word): 1 for word in _UP.split()} | {stem_of(word): -1 for word in _DOWN.split()}
REACH = 5  # words on each side that say what a direction is about


def directions(text: str, facts: Sequence[Fact]) -> list[tuple[int, frozenset[str]]]:
    """(+1 or -1, stems of the content words around) for each word of direction in a sentence."""
    found = words(text)
    denied = {stem for fact in facts if fact.kind == "negation" for stem in fact.value}
    result = []
    for position, word in enumerate(found):
        sign = SIGNS.get(word.stem)
        if sign:
            near = found[max(0, position - REACH):position + REACH + 1]
            about = frozenset(other.stem for other in near if other.is_content and other.stem not in SIGNS)
            result.append((-sign if word.stem in denied else sign, about))
    return result


def same_direction(claim: Sequence[tuple[int, frozenset[str]]], source: Sequence[tuple[int, frozenset[str]]]) -> float:
    """In (-1, 1): above 0 when what the claim says of its matters goes the way the source says, below 0 when it
    goes the other way, 0 when one of them says nothing."""
    total = 0.0
    for sign, about in claim:
        for other, context in source:
            total += sign * other * len(about & context) / max(1, len(about))
    return math.tanh(total)
