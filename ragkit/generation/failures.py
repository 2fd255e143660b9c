"""What went wrong with a request to a language model, in words that say what to do (chapter 07).

The ``openai`` package's own errors hold the request, and with it the key in its headers. So they are read here and
replaced; none of them is kept, not as a cause either.
"""

import datetime
import email.utils
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from ragkit.generation.base import (
    BackendUnavailable,
    EmptyAnswer,
    GenerationError,
    InvalidResponse,
    RequestRejected,
    StreamInterrupted,
)

_RETRIED = frozenset({408, 409, 429})  # and all from 500
_LONGEST_MESSAGE = 300  # characters of a server's own words


@dataclass(frozen=True)
class Endpoint:
    """Where the request went and what must not be repeated from its answer."""

    base_url: str
    model: str
    key: SecretStr

    def scrub(self, text: str) -> str:
        """The text on one line, not too long, without the key: some servers repeat it."""
        key = self.key.get_secret_value()
        text = " ".join(text.split())
        text = text.replace(key, "[key]") if key else text
        return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"


class Ended(Exception):
    """The stream is over, but no answer came to its end. ``reason`` is "cut", "invalid", "no event" or "empty"."""

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(reason)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True)
class Failure:
    """An error for the caller, and whether another attempt may help.

    Attributes:
        short: the failure in a few words, for a note.
        retry_after: seconds that the server asks to wait; None when it does not say.
    """

    error: GenerationError
    short: str
    retry: bool = False
    retry_after: float | None = None


def explain(error: Exception, endpoint: Endpoint, given: str) -> Failure:
    """The failure behind an exception of one attempt; ``given`` is the text that had come until then."""
    import openai

    match error:
        case Ended():
            return _ended(error, endpoint, given)
        case openai.APIStatusError():
            return _status(error, endpoint)
        case TimeoutError() | openai.APITimeoutError() if given:
            return Failure(StreamInterrupted(
                f"{endpoint.base_url} sent nothing more for too long, in the middle of the answer. Ask again, or raise "
                "Timeouts(between_tokens=…).", given), "stalled")
        case openai.APITimeoutError():  # the other limits are kept outside of the package
            return Failure(BackendUnavailable(
                f"{endpoint.base_url} does not take the connection in time. Is the server running, and the address "
                "right?"), "no connection in time", retry=True)
        case TimeoutError():
            return Failure(BackendUnavailable(
                f"{endpoint.base_url} gave no text in time. A model that is being loaded or a long prompt takes long: "
                "raise Timeouts(first_token=…), or lower the context's budget."), "no text in time", retry=True)
        case openai.APIConnectionError() if given:
            return _ended(Ended("cut"), endpoint, given)
        case openai.APIConnectionError():
            return Failure(BackendUnavailable(
                f"{endpoint.base_url} cannot be reached, or closed the connection. Is the server running, and the "
                "address right?"), "no connection", retry=True)
        case json.JSONDecodeError() | UnicodeDecodeError() | RecursionError():
            return _ended(Ended("invalid", "an event is not JSON"), endpoint, given)
        case openai.APIError():  # an error event in the stream
            return _in_stream(error, endpoint, given)
    words = endpoint.scrub(str(error))
    kind = type(error).__name__
    return Failure(GenerationError(f"The request to {endpoint.base_url} failed: {kind}: {words}", given), kind)


def _ended(ended: Ended, endpoint: Endpoint, given: str) -> Failure:
    where = endpoint.base_url
    match ended.reason:
        case "empty":
            advice = ("Raise max_tokens: the model used them up before it wrote." if ended.detail == "length"
                      else "Ask again, or try another model.")
            end = endpoint.scrub(ended.detail)
            return Failure(EmptyAnswer(f"{endpoint.model!r} at {where} gave an empty answer (finish_reason {end!r}). "
                                       f"{advice}", given), "empty answer")
        case "cut" if given:
            return Failure(StreamInterrupted(f"The stream from {where} broke off before the answer was complete. "
                                             "Ask again; `partial` holds what had come.", given), "stream cut")
        case "cut":
            return Failure(BackendUnavailable(f"The stream from {where} broke off before the first text. Try later."),
                           "stream cut before the first text", retry=True)
        case _:
            return Failure(InvalidResponse(
                f"{where} does not answer as chat completions do: {ended.detail}. Check the base address (it usually "
                "ends in /v1) and that the server streams.", given), "not the protocol")


def _status(error, endpoint: Endpoint) -> Failure:
    status, where = error.status_code, endpoint.base_url
    says = endpoint.scrub(_words(error.body))
    says = f" The server says: {says}" if says else ""
    short = f"HTTP {status}"
    if status in (401, 403):
        advice = ("Check OPENAI_API_KEY or api_key." if endpoint.key.get_secret_value()
                  else "It wants a key: set OPENAI_API_KEY, or give api_key.")
        return Failure(RequestRejected(f"{where} refuses the key (HTTP {status}). {advice}{says}"), short)
    if status == 404:
        return Failure(RequestRejected(f"{where} knows no model {endpoint.model!r}, or the address is wrong "
                                       f"(HTTP 404); it usually ends in /v1.{says}"), short)
    if status < 400:  # it is not followed: the sources would go to a machine that nobody named
        to = endpoint.scrub(error.response.headers.get("location", "nowhere"))
        return Failure(RequestRejected(f"{where} sends the request on to {to} (HTTP {status}), and it is not followed. "
                                       "If you trust that address, give it as the base address, up to /v1."), short)
    if error.code == "insufficient_quota":  # a 429 that waiting does not mend
        return Failure(RequestRejected(f"The account at {where} has no credit left (HTTP {status}).{says}"), short)
    if status in _RETRIED or status >= 500:
        after = _retry_after(error.response.headers)
        asks = "" if after is None else f" It asks to wait {after:g} s."
        state = "is overloaded, or you ask too often" if status == 429 else "has failed"
        return Failure(BackendUnavailable(f"{where} {state} (HTTP {status}). Try later.{asks}{says}"), short,
                       retry=True, retry_after=after)
    return Failure(RequestRejected(f"{where} refuses the request (HTTP {status}). Check the model, max_tokens, the "
                                   f"options and the context's budget.{says}"), short)


def _in_stream(error, endpoint: Endpoint, given: str) -> Failure:
    says = endpoint.scrub(_words(error.body) or error.message)
    if given:
        return Failure(StreamInterrupted(f"{endpoint.base_url} failed in the middle of the answer. Ask again; "
                                         f"`partial` holds what had come. The server says: {says}", given),
                       "error in the stream")
    return Failure(BackendUnavailable(f"{endpoint.base_url} failed before the first text. Try later. "
                                      f"The server says: {says}"), "error in the stream", retry=True)


def _words(body: object) -> str:
    """The server's own explanation in an error's body; "" when it is a web page or nothing readable."""
    if isinstance(body, Mapping):
        body = body.get("message") or body.get("error") or body.get("detail") or ""
    return body if isinstance(body, str) and not body.lstrip().startswith("<") else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the Retry-After header, which is a number or a date (RFC 9110); None without one."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value)
            date = date if date.tzinfo else date.replace(tzinfo=datetime.UTC)  # "-0000" is UTC, too
            seconds = date.timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)
