"""Delimiters that cannot occur in what they enclose (chapter 06).

Retrieved text is data. A document that holds the closing delimiter would end its own quotation and go on as
if it were the prompt, so the delimiter is chosen after the texts are known.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragkit.context.model import Source

TAG = "source"


def enclose(sources: "Sequence[Source]") -> tuple[str, str]:
    """The sources as one text, each between ``<tag>`` and ``</tag>``, and the tag; ("", "source") for none.

    The tag is "source". When a text, a header or a prefix holds anything that could be taken for it, the tag
    gets a suffix made from the contents, lengthened until it occurs in none of them. That is what protects, not that
    nobody could foresee it: whoever knows all the contents can. The same sources give the same text, always.
    """
    bodies = [f"{source.header}\n{source.shown_text}" for source in sources]
    tag = free_tag(bodies)
    return "\n".join(f"<{tag}>\n{body}\n</{tag}>" for body in bodies), tag


def free_tag(texts: Sequence[str]) -> str:
    """The tag of which neither the opening nor the closing form occurs in any of the texts.

    What only looks like a tag counts too: capitals, blanks inside it, full-width or invisible characters, marks
    between the bracket and the name.
    """
    if isinstance(texts, str):
        raise TypeError("free_tag takes a list of texts; a single text is [text]")
    plain = "\n".join(_plain(text) for text in texts)
    tag = TAG
    if _occurs(tag, plain):
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
        length = 4
        while _occurs(tag := f"{TAG}-{digest[:length]}", plain):
            length += 1
            if length > len(digest):
                digest += hashlib.sha256(digest.encode()).hexdigest()
    return tag


@lru_cache(maxsize=512)  # each try at packing reads the same sources again
def _plain(text: str) -> str:
    """The text as a model may read it: compatibility forms folded, no capitals, nothing invisible, no blanks."""
    folded = "".join(unicodedata.normalize("NFKD", text).casefold().split())
    if folded.isascii() and folded.isprintable():
        return folded
    # Controls, formats, combining marks and variation selectors; Hangul's fillers are letters, and blank.
    return "".join(character for character in folded
                   if unicodedata.category(character)[0] not in "CM" and character not in "\u115f\u1160\u2800")


def _occurs(tag: str, plain: str) -> bool:
    return re.search(rf"<\W{{0,3}}{re.escape(tag)}", plain) is not None
