"""The client against a real server in this process that fails in all the usual ways."""

import email.utils
import logging
import pickle
import threading
import time
import traceback

import pytest

from ragkit.context import Context
from ragkit.generation import (
    NO_ANSWER,
    BackendUnavailable,
    EmptyAnswer,
    GenerationError,
    InvalidResponse,
    OpenAIGenerator,
    RequestRejected,
    StreamInterrupted,
)
from ragkit.generation.openai_compatible import Timeouts
from tests.generation.chat_server import (
    DONE,
    ChatServer,
    event,
    fails,
    says,
    sends,
    then_waits,
    unused_port,
)

KEY = "sk-test-4f9d27c0b1"
CONTEXT = Context.from_texts("In Berlin a room may cost up to 150 euros a night.")
QUESTION = "What is the hotel cap in Berlin?"
SOON = 1.0  # seconds within which a server notices that its client has left


def becomes_true(condition, within=5.0):
    end = time.monotonic() + within
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


@pytest.fixture
def server(caplog):
    """A server; at the end no connection is open at it, no thread is left here, and nothing has complained."""
    before = set(threading.enumerate())
    with ChatServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        nothing_open = becomes_true(lambda: running.open_connections == 0)
        running.shutdown()
        thread.join()
    assert nothing_open, f"{running.open_connections} connections left open"
    assert becomes_true(lambda: set(threading.enumerate()) <= before), threading.enumerate()
    assert [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR] == []


@pytest.fixture
def generator(server):
    def make(*replies, **arguments):
        server.replies = replies
        return OpenAIGenerator("m", **{"base_url": server.url, "api_key": KEY, "backoff": 0.01, **arguments})
    return make


def ask(generator):
    return generator.generate(QUESTION, CONTEXT)


def failure(generator, kind):
    """The error of this kind that reading the answer raises, with the key in no part of it."""
    stream = ask(generator)
    with pytest.raises(GenerationError) as caught:
        stream.text()
    error = caught.value
    assert type(error) is kind
    assert stream.closed
    assert error.partial == stream.received
    assert error.__cause__ is None and error.__context__ is None
    assert KEY not in "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    return error


# ---- in order ----

def test_the_text_comes_in_pieces_as_it_was_sent(generator):
    stream = ask(generator(says("In Berlin", " 150 euros", " [1].")))
    assert list(stream) == ["In Berlin", " 150 euros", " [1]."]
    assert stream.received == "In Berlin 150 euros [1]."
    assert stream.notes == ()


def test_the_first_piece_is_there_before_the_last_is_sent(generator):
    sent_all = threading.Event()

    def slow(call):
        call.start()
        call.send(event("first"))
        assert read_one.wait(5)
        sent_all.set()
        call.send(event("second", end="stop"), DONE)

    read_one = threading.Event()
    stream = ask(generator(slow))
    assert next(stream) == "first"
    assert not sent_all.is_set()
    read_one.set()
    assert list(stream) == ["second"]


def test_what_is_asked(generator, server):
    ask(generator(says("x"), max_tokens=77, options={"seed": 7})).text()
    ask(generator(says("x"), temperature=None, max_tokens=None)).text()
    body = server.calls[0].body
    assert (body["model"], body["stream"], body["temperature"], body["max_tokens"], body["seed"]) == (
        "m", True, 0.0, 77, 7)
    assert {message["role"] for message in body["messages"]} == {"system", "user"}
    user = body["messages"][-1]["content"]
    assert QUESTION in user and CONTEXT.sources[0].text in user
    assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"
    assert {"temperature", "max_tokens"}.isdisjoint(server.calls[1].body)


def test_an_address_on_this_machine_needs_no_key_and_is_sent_none(generator, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert ask(generator(says("x"), api_key=None)).text() == "x"
    assert "Authorization" not in server.calls[0].headers


def test_model_address_and_key_come_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("RAGKIT_LLM_MODEL", "from-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    server.replies = (says("x"),)
    generator = OpenAIGenerator()
    assert ask(generator).text() == "x"
    assert generator.name == "openai:from-environment" and server.calls[0].body["model"] == "from-environment"
    assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(generator, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_port()}")
    assert ask(generator(says("x"))).text() == "x"


def test_without_sources_the_server_is_not_asked(generator, server):
    assert generator(says("made up")).generate(QUESTION, Context.from_texts()).text() == NO_ANSWER
    assert server.calls == []


def test_no_request_before_the_stream_is_read(generator, server):
    with ask(generator(says("x"))):
        pass
    assert server.calls == []


def test_unicode_split_over_network_packets_and_events(generator):
    whole = event("差旅 €")
    middle = whole.index("旅".encode()) + 1  # inside the three bytes of a character
    halves = [b'data: {"choices": [{"index": 0, "delta": {"content": "\\ud83d"}}]}\n\n',
              b'data: {"choices": [{"index": 0, "delta": {"content": "\\ude00!"}}]}\n\n']

    def split(call):
        call.start()
        for part in (whole[:middle], whole[middle:], *halves, event(end="stop")):
            call.send(part)
            time.sleep(0.02)

    text = ask(generator(split)).text()
    assert text == "差旅 €😀!"
    text.encode("utf-8")


def test_events_without_choices_or_text_and_comments_are_passed_over(generator):
    role = b'data: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": null}}]}\n\n'
    usage = b'data: {"choices": [], "usage": {"total_tokens": 3}}\n\n'
    parts = [b": keep-alive\n\n", usage, role, event("yes"), b"data: {}\n\n", usage, event(end="stop"), usage, DONE]
    assert list(ask(generator(sends(*parts)))) == ["yes"]


@pytest.mark.parametrize("end, note", [("length", "max_tokens 512"), ("content_filter", "content_filter")])
def test_an_answer_that_did_not_end_by_itself_has_a_note(generator, end, note):
    stream = ask(generator(says("up to 15", end=end)))
    assert stream.text() == "up to 15"
    assert len(stream.notes) == 1 and note in stream.notes[0]


def test_an_answer_that_says_it_is_done_is_complete_without_the_closing_mark(generator):
    assert ask(generator(sends(event("yes", end="stop")))).text() == "yes"


def test_of_several_answers_at_once_the_first_is_read(generator):
    """options={"n": 2}: one event of the one, one of the other."""
    other = [b'data: {"choices": [{"index": 1, "delta": {"content": "Munich"}}]}\n\n',
             b'data: {"choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]}\n\n']
    parts = [event("Ber"), other[0], event("lin"), other[1], event("."), event(end="stop"), DONE]
    assert list(ask(generator(sends(*parts), options={"n": 2}))) == ["Ber", "lin", "."]


# ---- refused ----

@pytest.mark.parametrize("reply, words", [
    (fails(401, f"Incorrect API key provided: {KEY}"), "OPENAI_API_KEY"),
    (fails(403), "OPENAI_API_KEY"),
    (fails(404, "model 'm' not found, try pulling it first"), "try pulling it first"),
    (fails(400, "maximum context length is 2048 tokens"), "2048"),
    (fails(429, "You exceeded your quota", code="insufficient_quota"), "no credit"),
])
def test_what_trying_again_cannot_mend_is_not_tried_again(generator, server, reply, words):
    error = failure(generator(reply), RequestRejected)
    assert words in str(error)
    assert len(server.calls) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_sources_do_not_go_where_a_server_sends_them(generator, server, status):
    elsewhere = f"http://localhost:{server.server_address[1]}/v1/chat/completions"
    error = failure(generator(fails(status, Location=elsewhere), says("from elsewhere")), RequestRejected)
    assert elsewhere in str(error) and "not followed" in str(error)
    assert len(server.calls) == 1


def test_a_refusal_without_a_key_says_that_one_is_wanted(generator):
    assert "wants a key" in str(failure(generator(fails(401), api_key=""), RequestRejected))


def test_an_error_page_is_not_repeated(generator):
    def page(call):
        call.start(502, "text/html")
        call.send(b"<html><body>Bad gateway</body></html>")
    error = failure(generator(page, retries=0), BackendUnavailable)
    assert "HTTP 502" in str(error) and "<" not in str(error)


# ---- overloaded, unreachable ----

def test_a_failing_server_is_asked_again(generator, server):
    stream = ask(generator(fails(500), fails(503), says("yes")))
    assert stream.text() == "yes"
    assert len(server.calls) == 3
    assert ["HTTP 500" in stream.notes[0], "HTTP 503" in stream.notes[1], len(stream.notes)] == [True, True, 2]


@pytest.mark.parametrize("status", [429, 500])
def test_a_server_that_fails_for_ever_is_given_up(generator, server, status):
    assert f"HTTP {status}" in str(failure(generator(fails(status), retries=2), BackendUnavailable))
    assert len(server.calls) == 3


def test_the_waits_double_and_vary(generator, server):
    failure(generator(fails(500), backoff=0.1, retries=2), BackendUnavailable)
    first, second, third = (call.at for call in server.calls)
    assert 0.05 <= second - first
    assert 0.1 <= third - second
    assert third - first < SOON  # 0.3 at most, and time for a busy machine


@pytest.mark.parametrize("value", ["0.3", "date"])
def test_the_server_says_how_long_to_wait(generator, server, value):
    if value == "date":  # whole seconds: between one and two from now
        value = email.utils.formatdate(time.time() + 2, usegmt=True)
    assert ask(generator(fails(429, Retry_After=value), says("yes"))).text() == "yes"
    waited = server.calls[1].at - server.calls[0].at
    assert 0.3 <= waited < 1.3 if value == "0.3" else 0.9 <= waited < 3


def test_a_server_that_asks_for_an_hour_is_not_waited_for(generator, server):
    assert "3600 s" in str(failure(generator(fails(429, Retry_After="3600")), BackendUnavailable))
    assert len(server.calls) == 1


@pytest.mark.parametrize("value", ["soon", "nan", "-5", "Fri, 31 Dec 1999 23:59:59 -0000",
                                   "Fri, 31 Dec 9999 23:59:59 -9959"])
def test_a_wait_that_makes_no_sense_is_ignored(generator, server, value):
    started = time.monotonic()
    assert ask(generator(fails(429, Retry_After=value), says("yes"))).text() == "yes"
    assert time.monotonic() - started < SOON


def test_nobody_listens():
    generator = OpenAIGenerator("m", base_url=f"http://127.0.0.1:{unused_port()}/v1", api_key=KEY, backoff=0.01)
    error = failure(generator, BackendUnavailable)
    assert "cannot be reached" in str(error) and generator.base_url in str(error)


# ---- silent ----

def test_a_slow_first_token(generator, server):
    """Also when the server sends something all the time, only no text."""
    def pings(call):
        call.start()
        while True:
            call.send(b": wait\n\n", event(""))
            time.sleep(0.05)

    for reply in (then_waits(), then_waits(event("")), pings):
        started = time.monotonic()
        error = failure(generator(reply, timeouts=Timeouts(first_token=0.2), retries=0), BackendUnavailable)
        assert 0.2 <= time.monotonic() - started < SOON
        assert "first_token" in str(error)


def test_a_slow_first_token_is_tried_again(generator, server):
    generator = generator(then_waits(), says("yes"), timeouts=Timeouts(first_token=0.3))
    assert ask(generator).text() == "yes"
    assert becomes_true(lambda: server.calls[0].left_after is not None)


def test_a_stall_in_the_middle(generator, server):
    generator = generator(then_waits(event("In Berlin")), timeouts=Timeouts(between_tokens=0.2))
    error = failure(generator, StreamInterrupted)
    assert error.partial == "In Berlin" and "between_tokens" in str(error)
    assert len(server.calls) == 1
    assert becomes_true(lambda: server.calls[0].left_after is not None)


def test_slow_but_steady_is_no_stall(generator):
    def steady(call):
        call.start()
        for _ in range(6):
            time.sleep(0.1)
            call.send(event("x"))
        call.send(event(end="stop"))

    generator = generator(steady, timeouts=Timeouts(first_token=0.5, between_tokens=0.5))
    assert ask(generator).text() == "xxxxxx"


# ---- broken ----

def cut_short(call):
    """Announces more than it sends, as a connection that breaks does."""
    call.start(Content_Length="9999")
    call.send(event("In Berlin"))


@pytest.mark.parametrize("reply", [cut_short, sends(event("In Berlin")), sends(event("In Berlin"), DONE)],
                         ids=["connection broke", "closed in order", "closing mark but no end"])
def test_a_stream_cut_in_the_middle_keeps_what_had_come_and_is_not_doubled(generator, server, reply):
    error = failure(generator(reply, says("In Berlin 150 euros")), StreamInterrupted)
    assert error.partial == "In Berlin"
    assert len(server.calls) == 1


def test_a_stream_cut_before_its_first_text_is_tried_again(generator, server):
    stream = ask(generator(sends(event("")), says("yes")))
    assert stream.text() == "yes"
    assert len(server.calls) == 2


@pytest.mark.parametrize("bad", [b'data: {"choices": [\n\n', b"data: \xff\xfe\n\n", b"data: 5\n\n", b'data: "text"\n\n',
                                 b'data: {"choices": [7]}\n\n',
                                 b'data: {"choices": [{"index": 0, "delta": {"content": 5}}]}\n\n'])
def test_an_event_that_is_none(generator, server, bad):
    error = failure(generator(sends(event("In Berlin"), bad, event(end="stop"))), InvalidResponse)
    assert error.partial == "In Berlin" and "/v1" in str(error)
    assert len(server.calls) == 1


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b'{"choices": [{"message": {"content": "yes"}}]}', b""])
def test_another_service_at_the_address(generator, server, body):
    assert "no event" in str(failure(generator(sends(body)), InvalidResponse))
    assert len(server.calls) == 1


def test_an_error_in_the_stream(generator, server):
    broken = b'data: {"error": {"message": "out of memory for ' + KEY.encode() + b'", "code": 500}}\n\n'
    error = failure(generator(sends(event("In"), broken)), StreamInterrupted)
    assert error.partial == "In" and "out of memory" in str(error)


def test_an_error_in_the_stream_may_be_words_only(generator):
    """As Ollama sends it."""
    broken = b'data: {"error": "out of memory"}\n\n'
    assert "says: out of memory" in str(failure(generator(sends(event("In"), broken)), StreamInterrupted))


def test_an_event_of_endless_depth_is_none(generator):
    deep = b"data: " + b"[" * 200_000 + b"\n\n"
    assert "not JSON" in str(failure(generator(sends(event("In"), deep)), InvalidResponse))


def test_an_error_in_the_stream_before_the_first_text_is_tried_again(generator, server):
    broken = b'data: {"error": {"message": "overloaded"}}\n\n'
    assert ask(generator(sends(broken), says("yes"))).text() == "yes"
    assert len(server.calls) == 2


@pytest.mark.parametrize("reply, advice", [(says(), "another model"), (says(" ", "\n"), "another model"),
                                           (says(end="length"), "max_tokens")])
def test_an_empty_answer(generator, server, reply, advice):
    assert advice in str(failure(generator(reply), EmptyAnswer))
    assert len(server.calls) == 1


# ---- left ----

@pytest.mark.parametrize("reply, read_before", [(then_waits(), 0), (then_waits(event("")), 0),
                                                (then_waits(event("In"), event(" Berlin")), 2)],
                         ids=["before the status", "before the first text", "in the middle"])
def test_close_from_another_thread_stops_the_request(generator, server, reply, read_before):
    stream = ask(generator(reply))
    pieces = []
    reader = threading.Thread(target=lambda: pieces.extend(stream))
    reader.start()
    assert becomes_true(lambda: server.calls and len(stream.received) == (9 if read_before else 0))
    time.sleep(0.05)  # it waits for the next event by now
    closed_at = time.monotonic()
    stream.close()
    stream.close()
    reader.join(5)
    assert not reader.is_alive()
    assert len(pieces) == read_before
    assert becomes_true(lambda: server.calls[0].left_after is not None)
    assert server.calls[0].at + server.calls[0].left_after - closed_at < SOON
    assert list(stream) == []


def test_close_by_the_reader_stops_the_request(generator, server):
    with ask(generator(then_waits(event("In"), event(" Berlin")))) as stream:
        assert next(stream) == "In"
    assert becomes_true(lambda: server.calls[0].left_after is not None)


def test_a_stream_that_is_dropped_unread_stops_its_request(generator, server):
    import gc
    stream = ask(generator(then_waits(event("In"), event(" Berlin"))))
    assert next(stream) == "In"
    del stream
    gc.collect()
    assert becomes_true(lambda: server.calls[0].left_after is not None)


def test_close_while_waiting_for_the_next_attempt(generator, server):
    stream = ask(generator(fails(500), says("too late"), backoff=8.0))
    reader = threading.Thread(target=stream.text)
    reader.start()
    assert becomes_true(lambda: server.calls)
    time.sleep(0.1)
    stream.close()
    reader.join(5)
    assert not reader.is_alive() and len(server.calls) == 1 and stream.received == ""


# ---- the key ----

def test_the_key_shows_nowhere(generator, caplog):
    caplog.set_level(logging.DEBUG)
    made = generator(fails(500, f"your key {KEY} made me fail"), says("yes"))
    stream = ask(made)
    stream.text()
    assert "http" in caplog.text  # the log was written
    seen = [caplog.text, repr(made), str(vars(made)), made.name, repr(stream), str(vars(stream)), str(stream.notes)]
    assert KEY not in "".join(seen)


def test_the_package_says_where_it_asks_but_not_with_what(generator):
    error = failure(generator(fails(500, f"{KEY} is not welcome"), retries=0), BackendUnavailable)
    assert "[key] is not welcome" in str(error)


@pytest.mark.parametrize("text", ["", "yes"])
def test_a_server_that_repeats_the_key_as_the_reason_of_the_end(generator, text):
    made = generator(says(text, end=f"stop, says\n{KEY} {'x' * 999}"))
    if not text:
        assert "[key]" in str(failure(made, EmptyAnswer))
        return
    stream = ask(made)
    (note,) = (stream.text(), stream.notes)[1]
    assert "[key]" in note and KEY not in note and "\n" not in note and len(note) < 400


def test_a_pickle_goes_without_the_key(bare):
    bare.setenv("OPENAI_API_KEY", "sk-of-the-loader")
    made = OpenAIGenerator("m", api_key=KEY, retries=7)
    kept = pickle.dumps(made)
    assert KEY.encode() not in kept
    again = pickle.loads(kept)
    assert (again.name, again.base_url, again.retries) == (made.name, made.base_url, 7)
    assert again._key.get_secret_value() == "sk-of-the-loader"
    without = pickle.loads(pickle.dumps(OpenAIGenerator("m", base_url="https://example.org/v1", api_key="")))
    assert without._key.get_secret_value() == "", "a server that was to get no key gets none"
    bare.delenv("OPENAI_API_KEY")
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        pickle.loads(kept)


# ---- at the door ----

@pytest.fixture
def bare(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RAGKIT_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_no_model(bare):
    with pytest.raises(ValueError, match="RAGKIT_LLM_MODEL"):
        OpenAIGenerator()


def test_another_machine_needs_a_key_or_a_word(bare):
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        OpenAIGenerator("m")
    assert OpenAIGenerator("m", base_url="http://192.168.1.5/v1", api_key="").base_url == "http://192.168.1.5/v1"


def test_the_key_of_the_environment_does_not_travel_unencrypted(bare):
    bare.setenv("OPENAI_API_KEY", KEY)
    for url in ("http://example.org/v1", "HTTP://example.org/v1"):
        with pytest.raises(ValueError, match="unencrypted") as caught:
            OpenAIGenerator("m", base_url=url)
        assert KEY not in str(caught.value)
    OpenAIGenerator("m", base_url="http://example.org/v1", api_key=KEY)
    OpenAIGenerator("m", base_url="http://localhost:11434/v1")


@pytest.mark.parametrize("key", ["sk-\u2019quote", "two words"])
def test_a_key_that_cannot_be_sent_is_told_without_showing_it(bare, key):
    with pytest.raises(ValueError, match="copy it again") as caught:
        OpenAIGenerator("m", api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://x/v1", "https://user:pass@example.org/v1",
                                 "https://x/v1?key=pass", "localhost:1/v1?key=pass", "pass@localhost:1/v1",
                                 "http://localhost:99999/v1", "http://[::1/v1", "http://local host/v1"])
def test_a_base_address_that_is_none(bare, url):
    with pytest.raises(ValueError, match="base_url") as caught:
        OpenAIGenerator("m", base_url=url, api_key=KEY)
    assert "pass" not in str(caught.value)
    assert "http" in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [
    ("retries", -1), ("retries", 1.5), ("retries", "2"), ("backoff", -0.1), ("backoff", float("nan")),
    ("backoff", None), ("max_tokens", 0), ("max_tokens", "many")])
def test_numbers_out_of_range(bare, name, value):
    with pytest.raises(ValueError) as caught:
        OpenAIGenerator("m", api_key=KEY, **{name: value})
    assert f"{name} ({value!r})" in str(caught.value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), None, "5"])
def test_a_time_limit_that_is_none(value):
    with pytest.raises(ValueError) as caught:
        Timeouts(first_token=value)
    assert f"first_token ({value!r})" in str(caught.value)


@pytest.mark.parametrize("name", ["model", "messages", "stream"])
def test_an_option_cannot_change_what_the_generator_stands_for(bare, name):
    with pytest.raises(ValueError, match=f"options may not hold '{name}'"):
        OpenAIGenerator("m", api_key=KEY, options={name: None})


