"""Text that an asynchronous source gives, read from ordinary code (chapter 07).

Ordinary sockets cannot be woken from another thread: a reader that waits for a slow server would wait on. A task of
an event loop can be cancelled at any point, and its time limits are exact, so the request runs in a loop of its
own, in a thread of its own (a notebook's thread has a loop that is busy already). The reader takes the pieces
from a queue.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import NamedTuple

from ragkit.generation.base import TextStream

_LOOK_UP_SECONDS = 0.5  # on Windows an interrupt does not end a wait for a queue: look up now and then
_JOIN_SECONDS = 2.0  # a cancelled request ends within milliseconds, save while a name is being looked up


class Note(NamedTuple):
    """Something for ``TextStream.notes``, among the pieces of text."""

    text: str


def read_in_background(source: Callable[[], AsyncIterator[str | Note]], stream: TextStream) -> Iterator[str]:
    """The pieces of ``source()`` as they come; its notes go to the stream, its error is raised here.

    When the stream is closed or this iterator is, the source is cancelled and its thread ends.
    """
    job = _Job(source)
    # The job does not know the stream: one that is dropped unread is collected, and the job with it cancelled.
    stream.on_close(job.cancel)
    job.start()
    try:
        for item in job:
            if isinstance(item, Note):
                stream.notes += (item.text,)
            else:
                yield item
    finally:
        job.cancel()
        job.join(_JOIN_SECONDS)


class _Job(threading.Thread):
    """Runs the source in an event loop; iterating gives its items, and raises what it raised."""

    def __init__(self, source: Callable[[], AsyncIterator[str | Note]]):
        super().__init__(name="ragkit-generation", daemon=True)
        self._source = source
        self._items: queue.SimpleQueue[str | Note | BaseException | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._cancelled = False
        self._cancel_task: Callable[[], object] | None = None

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._cancel_task is not None:
                self._cancel_task()

    def __iter__(self) -> Iterator[str | Note]:
        while True:
            try:
                item = self._items.get(timeout=_LOOK_UP_SECONDS)
            except queue.Empty:
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def run(self) -> None:
        error: BaseException | None = None
        try:
            asyncio.run(self._read())
        except asyncio.CancelledError:
            pass
        except BaseException as caught:  # whatever it is: a reader who was told nothing would wait for ever
            error = caught
        self._items.put(error)

    async def _read(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with self._lock:
            if self._cancelled:
                return
            self._cancel_task = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            async with contextlib.aclosing(self._source()) as items:
                async for item in items:
                    self._items.put(item)
        finally:
            with self._lock:  # from here on the loop may be gone
                self._cancel_task = None
