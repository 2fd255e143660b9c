"""Answers from any server that speaks OpenAI's chat completions: OpenAI, Ollama, llama.cpp, vLLM … (chapter 07).

The ``openai`` package speaks the protocol. What is added here is what a reader who waits needs: time limits for
each kind of silence, retries that can never double a text, an end to the request when the reader leaves, errors
that say what to do, and a key that shows nowhere.

Sources: OpenAI API reference, "Chat completions, streaming"; RFC 9110, 10.2.3 (Retry-After); Marc Brooker (2015),
"Exponential Backoff and Jitter", for the waits between attempts.
"""

import asyncio
import ipaddress
import math
import os
import random
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from ragkit.generation.background import Note, read_in_background
from ragkit.generation.base import NO_ANSWER, TextStream
from ragkit.generation.failures import Ended, Endpoint, Failure, explain

if TYPE_CHECKING:
    import openai

    from ragkit.context import Context

OPENAI_URL = "https://api.openai.com/v1"
LONGEST_BACKOFF = 8.0  # seconds
REST_SECONDS = 0.2  # for what comes after the answer; the answer is not held back for it
LONGEST_WAIT = 60.0  # seconds; a server that asks for more is not waited for
OWN_FIELDS = ("model", "messages", "stream")  # of the request; no option may change them


@dataclass(frozen=True)
class Timeouts:
    """How long each kind of silence may last, in seconds.

    Attributes:
        connect: until the server takes the connection.
        first_token: from the request to the first text; a model on a CPU first reads the whole prompt.
        between_tokens: from one text to the next.
    """

    connect: float = 5.0
    first_token: float = 120.0
    between_tokens: float = 30.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, (int, float)) or not value > 0:
                raise ValueError(f"{name} ({value!r}) must be more than 0 seconds")


class OpenAIGenerator:
    """Answers written by a language model behind an OpenAI-compatible server (chapter 07).

    A pickle of it goes without the key; who loads it reads OPENAI_API_KEY again. A server that sends the request on
    to another address is not followed.

    Args:
        model: the server's name for it; None reads RAGKIT_LLM_MODEL.
        base_url: such as "http://localhost:11434/v1"; None reads OPENAI_BASE_URL, else it is OpenAI's.
        api_key: None reads OPENAI_API_KEY; "" sends none. A server on this machine needs none.
        retries: more attempts after one that failed before its first text, where trying again may help.
        backoff: seconds before the first retry, doubled for each further one, less up to half of it by chance.
        temperature: 0 for the same answer each time, as far as the server can; None leaves it out.
        max_tokens: longest answer, in tokens; None leaves it out.
        options: further fields of the request as the server names them: ``{"seed": 7}``.

    Raises:
        ValueError: no model or key is given, the key would travel unencrypted without your having said so, or a
            value is out of its range.
    """

    def __init__(self, model: str | None = None, *, base_url: str | None = None, api_key: str | None = None,
                 timeouts: Timeouts = Timeouts(), retries: int = 2, backoff: float = 0.5,
                 temperature: float | None = 0.0, max_tokens: int | None = 512,
                 options: Mapping[str, object] | None = None):
        self.model = (model or os.environ.get("RAGKIT_LLM_MODEL", "")).strip()
        if not self.model:
            raise ValueError("no model is named; give one (OpenAIGenerator('gpt-4o-mini')) or set RAGKIT_LLM_MODEL")
        self.base_url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
        self._key = _checked_key(api_key, self.base_url)
        if not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries ({retries!r}) must be a whole number of at least 0")
        if not isinstance(backoff, (int, float)) or not 0 <= backoff < math.inf:
            raise ValueError(f"backoff ({backoff!r}) must be a number of seconds, at least 0")
        if max_tokens is not None and (not isinstance(max_tokens, int) or max_tokens < 1):
            raise ValueError(f"max_tokens ({max_tokens!r}) must be a whole number of at least 1, or None")
        for name in OWN_FIELDS:
            if name in (options or {}):
                raise ValueError(f"options may not hold {name!r}: the generator sets {', '.join(OWN_FIELDS)} itself")
        self.timeouts, self.retries, self.backoff = timeouts, retries, backoff
        fields = {"temperature": temperature, "max_tokens": max_tokens}
        self._fields = {name: value for name, value in fields.items() if value is not None} | dict(options or {})
        self.name = f"openai:{self.model}"

    def __repr__(self) -> str:
        return f"OpenAIGenerator({self.model!r}, base_url={self.base_url!r})"

    def __getstate__(self) -> dict:
        return vars(self) | {"_key": None if self._key.get_secret_value() else ""}

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state)
        self._key = _checked_key(state["_key"], self.base_url)

    def generate(self, question: str, context: "Context") -> TextStream:
        """The model's answer as it comes. Without sources the server is not asked: the answer is NO_ANSWER.

        Raises (while the stream is read):
            BackendUnavailable: no connection, no first text in time, 429 or 5xx, after the retries.
            RequestRejected: key, model or request refused.
            InvalidResponse, StreamInterrupted, EmptyAnswer: as they say.
        """
        from ragkit.generation.prompt import messages

        prompt = messages(question, context)

        def produce(stream: TextStream) -> Iterator[str]:
            if not context.sources:
                return iter((NO_ANSWER,))
            return read_in_background(lambda: self._answer(prompt), stream)

        return TextStream(produce)

    async def _answer(self, prompt: list[dict]) -> AsyncIterator[str | Note]:
        """The text of the first attempt that gives any."""
        endpoint = Endpoint(self.base_url, self.model, self._key)
        for attempt in range(self.retries + 1):
            given = ""
            try:
                async with aclosing(self._attempt(prompt)) as items:
                    async for item in items:
                        if isinstance(item, str):
                            given += item
                        yield item
                return
            except Exception as error:
                failure = explain(error, endpoint, given)
            # Raised out here, and as a new error: the package's own hold the request with the key in its headers.
            wait = self._wait(failure, attempt)
            if given or wait is None:
                raise failure.error
            yield Note(f"attempt {attempt + 1} failed ({failure.short}); tried again after {wait:.1f} s")
            await asyncio.sleep(wait)

    def _wait(self, failure: Failure, attempt: int) -> float | None:
        """Seconds until the next attempt; None when there is none."""
        if not failure.retry or attempt == self.retries:
            return None
        if failure.retry_after is not None:
            return failure.retry_after if failure.retry_after <= LONGEST_WAIT else None
        return min(self.backoff * 2**attempt, LONGEST_BACKOFF) * random.uniform(0.5, 1.0)

    async def _attempt(self, prompt: list[dict]) -> AsyncIterator[str | Note]:
        """One request. Ends when the model says that it is done; ``Ended`` when it never does, or had no text."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.timeouts.first_token
        text, held, end, seen = "", "", "", False
        async with self._client() as client:
            async with asyncio.timeout_at(deadline):
                events = await client.chat.completions.create(
                    model=self.model, messages=prompt, stream=True, extra_headers=self._headers(),
                    extra_body=self._fields)
            try:
                # The silence after each text is measured, not that between events: some servers send empty ones
                # for ever to keep a connection open.
                while not end:
                    async with asyncio.timeout_at(deadline):
                        event = await anext(events, None)
                    if event is None:
                        raise Ended("cut") if seen else Ended("no event", "it sent no event")
                    seen = True
                    piece, end = _read(event)
                    piece, held = _whole_characters(held + piece)
                    if piece:
                        text += piece
                        yield piece
                        deadline = clock() + self.timeouts.between_tokens
            finally:
                await _run_out(events)
        if not text.strip():
            raise Ended("empty", end)
        if end == "length":
            yield Note(f"the answer was cut at the longest allowed (max_tokens {self._fields.get('max_tokens')})")
        elif end != "stop":
            endpoint = Endpoint(self.base_url, self.model, self._key)
            yield Note(f"the server ended the answer for another reason: {endpoint.scrub(end)}")

    def _client(self) -> "openai.AsyncOpenAI":
        """A client for one request: nothing of it outlives the answer, and closing it closes the connection."""
        import openai

        # A proxy of the environment cannot reach this machine's own servers.
        http = openai.DefaultAsyncHttpxClient(trust_env=not _is_local(self.base_url), follow_redirects=False)
        limits = openai.Timeout(None, connect=self.timeouts.connect)  # the others are kept here
        return openai.AsyncOpenAI(api_key=self._key.get_secret_value() or "none", base_url=self.base_url,
                                  timeout=limits, max_retries=0, http_client=http)

    def _headers(self) -> dict:
        import openai

        return {} if self._key.get_secret_value() else {"Authorization": openai.Omit()}


async def _run_out(events: "openai.AsyncStream") -> None:
    """Read what is left, shortly: token counts and the closing mark. It also ends the generators inside."""
    with suppress(Exception):
        async with asyncio.timeout(REST_SECONDS):
            async for _ in events:
                pass


def _read(event: object) -> tuple[str, str]:
    """The text of an event, and why the answer ends with it ("" when it does not).

    Events without choices (token counts, pings) and without text (the role) are usual. The package checks
    nothing of what a server sends.
    """
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import Choice

    choices = getattr(event, "choices", None) or []
    if not isinstance(event, ChatCompletionChunk) or not all(isinstance(choice, Choice) for choice in choices):
        raise Ended("invalid", "an event is not of the form it should have")
    # Asked for several answers (options={"n": 2}), a server mixes them in one stream: the first one counts.
    choices = [choice for choice in choices if not getattr(choice, "index", None)]
    if not choices:
        return "", ""
    text = getattr(getattr(choices[0], "delta", None), "content", None) or ""
    if not isinstance(text, str):
        raise Ended("invalid", "the text of an event is not text")
    return text, str(getattr(choices[0], "finish_reason", None) or "")


def _whole_characters(text: str) -> tuple[str, str]:
    """The text with pairs of surrogates joined, and what must wait for the next event.

    JSON may write an emoji as two escapes, and a server may send each in an event of its own.
    """
    held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    text = text[: len(text) - len(held)]
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), held


def _checked_url(url: str) -> str:
    url = url.strip()
    parts = _parts(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or url.split() != [url]:
        shown = url.partition("?")[0].rpartition("@")[2]  # before and after them a key may stand
        raise ValueError(f"base_url ({shown!r}) must be an address such as http://localhost:11434/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(f"base_url must be scheme, host and path only ({parts.scheme}://{parts.hostname}/…); "
                         "a key goes into api_key or OPENAI_API_KEY, where it is kept out of messages")
    return url.rstrip("/")


def _parts(url: str) -> SplitResult | None:
    """The parts of an address; None when it is none."""
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None  # the port is only read, and checked, here
    except ValueError:
        return None


def _checked_key(key: str | None, base_url: str) -> SecretStr:
    given = key is not None
    key = (key if given else os.environ.get("OPENAI_API_KEY", "")).strip()
    local, plain = _is_local(base_url), urlsplit(base_url).scheme == "http"
    if not key and not given and not local:
        raise ValueError(f"{base_url} needs a key: set OPENAI_API_KEY, or give api_key='' if it needs none")
    if key and not given and plain and not local:
        raise ValueError(f"the key in OPENAI_API_KEY would go to {base_url} unencrypted; use an https address, give "
                         "api_key='' if it needs none, or give the key as api_key if you mean it")
    if not all("!" <= character <= "~" for character in key):
        # Without the value: an error that shows the key is a leak.
        raise ValueError("the key holds blanks or characters outside ASCII; copy it again without what is around it")
    return SecretStr(key)


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
