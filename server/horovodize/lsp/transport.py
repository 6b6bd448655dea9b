"""Messages in and out over a pair of streams.

A thread reads; everything else happens in the main thread, message after message. So what is already waiting can be looked at:
a request that was cancelled in the meantime is not begun, and work that the next message would make stale
(diagnostics while a person types) is done when nothing waits. No timer, no debounce, for anything that is answered.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Protocol

# What came before and was no message may stand on the same line; a number of more digits is no length.
_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,10})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_HEADER = 65536  # bytes; of more, the beginning is forgotten
_AT_ONCE = 1 << 20  # bytes asked for: a length that is a lie must not take the memory it promises

_log = logging.getLogger(__name__)


class Reader(Protocol):
    def __call__(self, size: int, /) -> bytes:
        """At most so many bytes, as soon as there are some; none at the end."""
        ...


class Receiver(Protocol):
    """Who understands the messages."""

    def structure_message(self, data: dict[str, Any], /) -> Any: ...

    def handle_message(self, message: Any, /) -> None: ...

    def cancel(self, number: str | int, /) -> None: ...


class Writer(Protocol):
    """Takes whole messages."""

    def write(self, data: bytes, /) -> None: ...

    def close(self) -> None: ...


class DescriptorWriter:
    """Writes to a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        os.close(self._descriptor)


class SocketWriter:
    """Writes to a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def write(self, data: bytes) -> None:
        self._connection.sendall(data)

    def close(self) -> None:
        self._connection.shutdown(socket.SHUT_WR)


def messages(read: Reader) -> Iterator[bytes]:
    """The bodies of the messages in a stream. Headers without a length are passed over, with all that is no header."""
    data = b""
    while True:
        searched = 0
        while (end := _HEADER_END.search(data, max(searched - 3, 0))) is None:
            data = data[-_LONGEST_HEADER:]
            searched = len(data)
            if not (more := read(65536)):
                return
            data += more
        length = _LENGTH.search(data, 0, end.start() + 1)
        data = data[end.end() :]
        if length is None:
            continue
        size, parts, have = int(length[1]), [data], len(data)
        while have < size:
            if not (more := read(min(max(65536, size - have), _AT_ONCE))):
                return
            parts.append(more)
            have += len(more)
        data = b"".join(parts)
        yield data[:size]
        data = data[size:]


class Loop:
    """Reads messages and has them handled, until the stream ends."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting: deque[dict[str, Any] | None] = deque()
        self._idle: dict[Hashable, Callable[[], None]] = {}
        self._later: dict[Hashable, tuple[float, Callable[[], None]]] = {}  # with the time when it is due
        self._current: str | int | None = None  # the number of the request that is being handled

    def when_idle(self, key: Hashable, work: Callable[[], None]) -> None:
        """Does work as soon as no message waits; once for all who ask for it under the same key in the
        meantime."""
        self._idle[key] = work

    def later(self, key: Hashable, seconds: float, work: Callable[[], None]) -> None:
        """Does work that nobody waits for, when no message waits and this was not asked for under the same key for so long."""
        self._later[key] = (time.monotonic() + seconds, work)

    def run(self, read: Reader, receiver: Receiver, failed: Callable[[str, Exception], None]) -> None:
        """Returns at the end of the stream. `failed` is told of work that raised; it stops nothing."""
        threading.Thread(target=self._read, args=(read,), name="reader", daemon=True).start()
        while True:
            while not self._waiting and self._inbox.empty() and (found := self._work()) is not None:
                key, work = found
                try:
                    work()
                except Exception as e:
                    failed(str(key), e)
            self._take(failed)
            if self._waiting:
                data = self._waiting.popleft()
                if data is None:
                    return
                self._handle(data, receiver, failed)

    def _work(self) -> tuple[Hashable, Callable[[], None]] | None:
        """What is to be done now that no message waits."""
        now = time.monotonic()
        for key, (due, work) in self._later.items():
            if due <= now:
                del self._later[key]
                return key, work
        if self._idle:
            key = next(iter(self._idle))
            return key, self._idle.pop(key)
        return None

    def _read(self, read: Reader) -> None:
        try:
            for message in messages(read):
                self._inbox.put(message)
        except OSError as e:
            _log.warning("the client's stream broke: %s", e)
        finally:
            self._inbox.put(None)

    def _take(self, failed: Callable[[str, Exception], None]) -> None:
        """Moves all that has arrived to where it can be looked at; if nothing has, waits until something does or there is
        work to do."""
        if not self._waiting:
            soonest = min((due for due, _ in self._later.values()), default=None)
            try:
                self._take_one(failed, None if soonest is None else max(0.0, soonest - time.monotonic()))
            except queue.Empty:
                return
        self._take_arrived(failed)

    def _take_arrived(self, failed: Callable[[str, Exception], None]) -> None:
        while not self._inbox.empty():
            self._take_one(failed)

    def _take_one(self, failed: Callable[[str, Exception], None], timeout: float | None = None) -> None:
        body = self._inbox.get(timeout=timeout)
        try:
            data = None if body is None else json.loads(body)
            if body is not None and not isinstance(data, dict):
                raise ValueError("a message has to be an object")
            self._waiting.append(data)
        except (ValueError, RecursionError) as e:
            failed("reading a message", e)

    def _handle(
        self, data: dict[str, Any], receiver: Receiver, failed: Callable[[str, Exception], None]
    ) -> None:
        method, number = data.get("method"), data.get("id")
        if method == "$/cancelRequest":
            return  # looked for below, before its request began; later it is too late
        if method is not None and number is not None and self._cancelled(number):
            receiver.cancel(number)
            return
        self._current = number if method is not None else None
        try:
            receiver.handle_message(receiver.structure_message(data))
        except Exception as e:
            failed(str(method), e)
        finally:
            self._current = None

    def is_taken_back(self, token: str | int | None, failed: Callable[[str, Exception], None]) -> bool:
        """Whether a message that has arrived by now cancels the request that is being handled, or the progress with a token."""
        self._take_arrived(failed)
        return (self._current is not None and self._cancelled(self._current)) or (
            token is not None and self._cancelled(token, "window/workDoneProgress/cancel", "token")
        )

    def _cancelled(self, number: str | int, method: str = "$/cancelRequest", key: str = "id") -> bool:
        return any(
            later is not None
            and later.get("method") == method
            and isinstance(later.get("params"), dict)
            and later["params"].get(key) == number
            for later in self._waiting
        )
