"""What a generator is, the stream it gives, and how it can fail (chapter 07).

A generator reads a question and a numbered context and writes an answer with marks such as [1]. It gives a
stream, because the first word of a language model may come seconds before the last, and because whoever reads
may stop: a stream that is closed must stop the work behind it, wherever that runs.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ragkit.context import Context
    from ragkit.embedding import Embedder

# What a generator answers when the context does not hold the answer. One fixed sentence, so that a refusal
# can be told from an answer; `verify_citations` counts it as no claim.
NO_ANSWER = "The sources do not say."

log = logging.getLogger("ragkit.generation")


class GenerationError(RuntimeError):
    """An answer could not be written. The message says why and what to do.

    Attributes:
        partial: the text that had been given before, "" when there was none.
    """

    def __init__(self, message: str, partial: str = ""):
        super().__init__(message)
        self.partial = partial


class BackendUnavailable(GenerationError):
    """The server cannot be reached, is too slow to begin, or is overloaded, also after retries: try later."""


class RequestRejected(GenerationError):
    """The server refuses the request (key, model name, length): trying again as it is does not help."""


class InvalidResponse(GenerationError):
    """The server's answer is not what the protocol says; usually the base address is another service's."""


class StreamInterrupted(GenerationError):
    """The stream broke off or stalled after text had come; ``partial`` holds that text."""


class EmptyAnswer(GenerationError):
    """The stream ended in order but held no text."""


class ModelUnavailable(GenerationError):
    """A local model is not installed or cannot be loaded."""


@runtime_checkable
class Generator(Protocol):
    """Writes an answer to a question from a context (chapter 07).

    ``generate`` returns at once, or nearly: the work is done while the stream is read. The answer cites
    sources as [n], n being a ``Source.number`` of the context, or is ``NO_ANSWER``.

    Attributes:
        name: names the generator and its model in traces; never holds a key.
    """

    name: str

    def generate(self, question: str, context: "Context") -> "TextStream": ...


class TextStream:
    """An answer as it is written: an iterator of pieces of text (chapter 07).

    ``produce(stream)`` gives the pieces, usually as a Python generator whose ``finally`` frees what it uses.
    It looks at ``stream.closed`` between steps, and registers with ``stream.on_close`` what wakes it when it
    waits (shutting a connection, say).

    The stream is read by one thread at a time. ``close`` may come from any thread at any time, more than
    once, also while another thread waits for the next piece: that thread's iteration then ends, without an
    error. A stream that is read to its end, or fails, is closed. Use it in a ``with`` to be sure.

    Attributes:
        received: the text given so far.
        closed: whether it was closed, has ended or has failed.
        notes: what is worth knowing of how it ended, in words ("the answer was cut at 512 tokens").
    """

    def __init__(self, produce: "Callable[[TextStream], Iterator[str]]"):
        self.received = ""
        self.notes: tuple[str, ...] = ()
        self._closed = threading.Event()
        self._turn = threading.Lock()  # held while the producer runs: a Python generator takes one caller
        self._state = threading.Lock()
        self._wake: list[Callable[[], None]] = []
        self._pieces = iter(produce(self))

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def on_close(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` once when the stream is closed; at once when it is closed already."""
        with self._state:
            if not self._closed.is_set():
                self._wake.append(wake)
                return
        wake()

    def close(self) -> None:
        """Stop the work behind the stream. Does not wait for it; harmless when called again."""
        with self._state:
            self._closed.set()
            wake, self._wake = self._wake, []
        for call in wake:
            call()
        self._release()

    def text(self) -> str:
        """Read to the end; the whole text, with what was read before."""
        for _ in self:
            pass
        return self.received

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            with self._turn:
                if self.closed:
                    raise StopIteration
                piece = next(self._pieces)
                if self.closed:  # closed while this thread waited: what came meanwhile is not given
                    raise StopIteration
                if not isinstance(piece, str):
                    raise TypeError(f"a generator gave {piece!r} for a piece of text; give a str")
                self.received += piece
            return piece
        except StopIteration:
            self.close()
            raise
        except BaseException as error:
            # A producer woken by close() fails in whatever way its connection does; that is no error.
            cancelled = self.closed and isinstance(error, Exception)
            self.close()
            if not cancelled:
                raise
            log.debug("closed while waiting: %s", type(error).__name__)
            raise StopIteration from None
        finally:
            if self.closed:
                self._release()

    def _release(self) -> None:
        """End the producer, unless it is running: then the thread that runs it does this when it is done."""
        if self._turn.acquire(blocking=False):
            try:
                if hasattr(self._pieces, "close"):
                    self._pieces.close()
            finally:
                self._turn.release()

    def __enter__(self) -> "TextStream":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def make_generator(name: str, embedder: "Embedder | None" = None) -> Generator:
    """The generator of a name: "extractive", "openai:MODEL" or "local:PATH" (or a model's name).

    "openai" alone takes the model from RAGKIT_LLM_MODEL, "local" alone the model that
    ``course.py local-llm`` installs. ``embedder`` compares sentences for "extractive"; None is the bundled model.

    Raises:
        ValueError: another name.
    """
    kind, _, rest = name.partition(":")
    if kind == "extractive" and not rest:
        from ragkit.generation.extractive import ExtractiveGenerator

        return ExtractiveGenerator(embedder)
    if kind == "openai":
        from ragkit.generation.openai_compatible import OpenAIGenerator

        return OpenAIGenerator(rest or None)
    if kind == "local":
        from ragkit.generation.local import LocalGenerator

        return LocalGenerator(rest) if rest else LocalGenerator()
    raise ValueError(f"unknown generator {name!r}; give 'extractive', 'openai:MODEL' or 'local:PATH'")
