"""A chat completions server in the test process that answers, and fails, as a test has written down."""

import json
import select
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Call:
    """One request: what was asked, and how to answer it. A reply is a function of this."""

    def __init__(self, handler: BaseHTTPRequestHandler):
        self._handler = handler
        self.headers = handler.headers  # names in any case
        self.body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.at = time.monotonic()
        self.left_after: float | None = None  # seconds from the request until the client closed the connection

    def start(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        self._handler.send_response(status)
        for name, value in {"Content-Type": kind, "Connection": "close", **headers}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()

    def send(self, *parts: bytes) -> None:
        for part in parts:
            try:
                self._handler.wfile.write(part)
            except ConnectionError:
                self._left()
                raise

    def fail(self, status: int, message: str = "no", code: str | None = None, **headers: str) -> None:
        body = json.dumps({"error": {"message": message, "code": code}}).encode()
        self.start(status, "application/json", **headers)
        self.send(body)

    def wait_for_the_client_to_leave(self, longest: float = 5.0) -> None:
        readable, _, _ = select.select([self._handler.connection], [], [], longest)
        try:
            if readable and self._handler.connection.recv(1) == b"":
                self._left()
        except ConnectionError:  # it left with something unread
            self._left()

    def _left(self) -> None:
        self.left_after = time.monotonic() - self.at


Reply = Callable[[Call], None]


class ChatServer(ThreadingHTTPServer):
    """Answers the n-th request with the n-th reply, and all further ones with the last."""

    daemon_threads = True

    def __init__(self):
        self.replies: tuple[Reply, ...] = ()
        self.calls: list[Call] = []
        self.open_connections = 0
        self._count = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def process_request_thread(self, request, client_address) -> None:
        with self._count:
            self.open_connections += 1
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._count:
                self.open_connections -= 1

    def handle_error(self, request, client_address) -> None:
        """A client that leaves while something is sent to it is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        assert self.path == "/v1/chat/completions", self.path
        call = Call(self)
        self.server.calls.append(call)
        replies = self.server.replies
        replies[min(len(self.server.calls), len(replies)) - 1](call)

    def log_message(self, *_) -> None:
        pass


def event(text: str | None = None, end: str | None = None, **more) -> bytes:
    """An event of the stream as it is sent."""
    delta = {} if text is None else {"content": text}
    data = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} | more
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def says(*texts: str, end: str = "stop") -> Reply:
    """An answer in order."""
    def reply(call: Call) -> None:
        call.start()
        call.send(*(event(text) for text in texts), event(end=end), DONE)
    return reply


def sends(*parts: bytes) -> Reply:
    """These bytes as the body of a stream, then the connection is closed."""
    def reply(call: Call) -> None:
        call.start()
        call.send(*parts)
    return reply


def fails(status: int, message: str = "no", code: str | None = None, **headers: str) -> Reply:
    return lambda call: call.fail(status, message, code, **headers)


def then_waits(*parts: bytes) -> Reply:
    """These bytes (none: not even the status line), then silence until the client leaves."""
    def reply(call: Call) -> None:
        if parts:
            call.start()
            call.send(*parts)
        call.wait_for_the_client_to_leave()
    return reply


def unused_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
