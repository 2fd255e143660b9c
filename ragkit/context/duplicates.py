"""Pieces that say nothing new: they cost tokens, and make one voice sound like two (chapter 06).

A piece is a duplicate when all its words stand in another, in the same order and side by side; white space,
capitals, punctuation and Markdown's marks aside. No share of differing words is allowed, as near-duplicate
detection in search engines does (Broder 1997): in a collection of policies the texts that differ in one word in
twenty are the office guides of two cities and the caps of two years, and that word is the answer.
"""

import re
import unicodedata
from functools import lru_cache

# Words and numbers, and the signs that change what they mean (%, €, °, <, a minus); a hyphen before a blank, and
# the marks of Markdown and of sentences, say nothing here.
_WORD = re.compile(r"\w+(?:[.,:/-]\w+)*|-(?=\w)|[^\w\s*_`#|\"'“”‘’()\[\],.;:!?，。；：、！？（）「」《》—–-]")


def holds(whole: str, part: str) -> bool:
    """Whether all the words of ``part`` stand in ``whole``, in order and side by side."""
    return whole == part or "\n" != _words(part) in _words(whole)


@lru_cache(maxsize=512)  # each piece is compared with all that are in
def _words(text: str) -> str:
    # A line a word, with line ends around, so that no word is found inside a longer one.
    found = _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("_", " "))
    return "\n" + "".join(f"{word}\n" for word in found)
