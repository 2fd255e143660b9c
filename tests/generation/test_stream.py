"""The stream of text: read by one thread, closed by any, at any time; what is behind it always ends, once."""

import sys
import threading

import pytest

from ragkit.embedding import HashingEmbedder
from ragkit.generation import ExtractiveGenerator, GenerationError, OpenAIGenerator, TextStream, make_generator
from ragkit.generation.background import read_in_background


class Producer:
    """Gives pieces; waits before the piece of index ``waits_at`` until it is woken; counts how often it ended."""

    def __init__(self, *pieces, waits_at=None):
        self.pieces, self.waits_at = pieces, waits_at
        self.waiting, self.woken = threading.Event(), threading.Event()
        self.wakes = self.ends = 0

    def wake(self):
        self.wakes += 1
        self.woken.set()

    def __call__(self, stream):
        stream.on_close(self.wake)
        try:
            for index, piece in enumerate(self.pieces):
                if index == self.waits_at:
                    self.waiting.set()
                    assert self.woken.wait(5)
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            self.ends += 1


def reading(stream):
    """A thread that reads the stream, and the list of what it got: pieces, or an error."""
    got = []

    def read():
        try:
            got.extend(stream)
        except BaseException as error:
            got.append(error)
    thread = threading.Thread(target=read)
    thread.start()
    return thread, got


def test_pieces_then_the_whole_text():
    producer = Producer("In ", "Berlin ", "150.")
    stream = TextStream(producer)
    assert next(stream) == "In "
    assert stream.received == "In "
    assert stream.text() == "In Berlin 150."
    assert stream.closed and (producer.wakes, producer.ends) == (1, 1)
    assert list(stream) == [] and stream.text() == "In Berlin 150."


def test_nothing_is_done_before_it_is_read():
    producer = Producer("x")
    with TextStream(producer) as stream:
        pass
    assert producer.wakes == producer.ends == 0
    assert stream.closed and list(stream) == [] and stream.received == ""


def test_leaving_in_the_middle_ends_the_producer():
    producer = Producer("a", "b", "c")
    with TextStream(producer) as stream:
        for piece in stream:
            break
    assert piece == "a" and producer.ends == 1 and list(stream) == []


def test_closing_again_does_nothing():
    producer = Producer("a", "b")
    stream = TextStream(producer)
    next(stream)
    for _ in range(3):
        stream.close()
    assert (producer.wakes, producer.ends) == (1, 1)


def test_close_wakes_a_reader_that_waits_in_another_thread():
    producer = Producer("a", "never given", waits_at=1)
    stream = TextStream(producer)
    thread, got = reading(stream)
    assert producer.waiting.wait(5)
    stream.close()
    thread.join(5)
    assert not thread.is_alive() and got == ["a"]
    assert stream.received == "a" and (producer.wakes, producer.ends) == (1, 1)


def test_what_a_woken_producer_fails_with_is_no_error():
    producer = Producer("a", ConnectionError("the socket was shut"), waits_at=1)
    stream = TextStream(producer)
    thread, got = reading(stream)
    assert producer.waiting.wait(5)
    stream.close()
    thread.join(5)
    assert got == ["a"] and producer.ends == 1


@pytest.mark.parametrize("error", [GenerationError("broken", "a"), KeyboardInterrupt()])
def test_an_error_reaches_the_reader_and_closes(error):
    producer = Producer("a", error)
    stream = TextStream(producer)
    with pytest.raises(type(error)) as caught:
        stream.text()
    assert caught.value is error
    assert stream.closed and stream.received == "a" and (producer.wakes, producer.ends) == (1, 1)
    assert list(stream) == []


@pytest.mark.parametrize("piece", [b"x", None, 5])
def test_a_piece_that_is_no_text_is_named(piece):
    producer = Producer("a", piece)
    stream = TextStream(producer)
    with pytest.raises(TypeError) as caught:
        stream.text()
    assert repr(piece) in str(caught.value) and (stream.received, producer.ends) == ("a", 1)


def test_whatever_ends_the_source_in_the_background_the_reader_is_told():
    async def source():
        yield "a"
        raise SystemExit(3)

    stream = TextStream(lambda stream: read_in_background(source, stream))
    thread, got = reading(stream)
    thread.join(5)
    alive = thread.is_alive()
    stream.close()
    assert not alive and got[0] == "a" and isinstance(got[1], SystemExit)


def test_an_interrupt_is_not_swallowed_by_a_close():
    stream = TextStream(Producer("a", KeyboardInterrupt(), waits_at=1))
    thread, got = reading(stream)
    while "a" not in got and thread.is_alive():
        thread.join(0.01)
    stream.close()
    thread.join(5)
    assert isinstance(got[-1], KeyboardInterrupt)


def test_whoever_asks_to_be_woken_too_late_is_woken_at_once():
    stream = TextStream(Producer())
    stream.close()
    calls = []
    stream.on_close(lambda: calls.append(1))
    assert calls == [1]


def test_the_producer_may_close_its_own_stream():
    def produce(stream):
        yield "a"
        stream.close()
        yield "b"
    assert TextStream(produce).text() == "a"


def test_closes_that_race_with_the_reader():
    """Whenever the closes fall, the producer ends once and the reader gets a beginning of the text."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # let the threads interrupt each other everywhere
    try:
        for _ in range(300):
            producer = Producer(*"abcdefghij")
            stream = TextStream(producer)
            thread, got = reading(stream)
            closers = [threading.Thread(target=stream.close) for _ in range(3)]
            for closer in closers:
                closer.start()
            for other in (thread, *closers):
                other.join(5)
                assert not other.is_alive()
            assert "abcdefghij".startswith("".join(got)) and stream.closed
            assert (producer.wakes, producer.ends) in {(1, 1), (0, 0)}  # (0, 0): closed before it began
    finally:
        sys.setswitchinterval(interval)


def test_generators_by_name(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    embedder = HashingEmbedder(64)
    extractive = make_generator("extractive", embedder)
    assert isinstance(extractive, ExtractiveGenerator) and extractive.embedder is embedder
    openai = make_generator("openai:some/model:7b")
    assert isinstance(openai, OpenAIGenerator) and openai.model == "some/model:7b"
    monkeypatch.setenv("RAGKIT_LLM_MODEL", "other")
    assert make_generator("openai").model == "other"


@pytest.mark.parametrize("name", ["", "gpt-4o", "extractive:x"])
def test_an_unknown_generator_is_told(name):
    with pytest.raises(ValueError, match="'openai:MODEL'") as caught:
        make_generator(name)
    assert repr(name) in str(caught.value)
