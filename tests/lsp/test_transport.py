"""Messages on a stream: found however they are cut, cancelled before they are begun, newest state first."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from horovodize.lsp.transport import Loop, messages


def frame(body: bytes, *headers: bytes) -> bytes:
    return b"".join(h + b"\r\n" for h in (*headers, b"Content-Length: %d" % len(body))) + b"\r\n" + body


@given(st.lists(st.binary(max_size=40), max_size=5), st.lists(st.integers(1, 7), min_size=1))
def test_messages_are_found_however_the_stream_is_cut(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(
        frame(body, b"Content-Type: application/vscode-jsonrpc; charset=utf-8") for body in bodies
    )
    at, turn = 0, 0

    def read(size: int) -> bytes:
        nonlocal at, turn
        length = min(size, cuts[turn % len(cuts)])
        turn += 1
        at += length
        return stream[at - length : at]

    assert list(messages(read)) == bodies


def test_headers_are_read_as_liberally_as_they_are_written() -> None:
    stream = [b"content-LENGTH:2\r\nX: y\r\n\r\n{}", b"Foo: bar\r\n\r\n", b"Content-Length: 2\n\n[]", b""]
    assert list(messages(lambda size: stream.pop(0))) == [b"{}", b"[]"]


def test_a_message_cut_off_at_the_end_is_none() -> None:
    stream = [b"Content-Length: 9\r\n\r\n{", b""]
    assert list(messages(lambda size: stream.pop(0))) == []


class Receiver:
    """Notes what it is given. The first message is not done with before all others have arrived."""

    def __init__(self, loop: Loop, work_on: str) -> None:
        self.log: list[Any] = []
        self.all_arrived = threading.Event()
        self.worked = threading.Event()
        self._loop, self._work_on = loop, work_on

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        return data

    def handle_message(self, message: dict[str, Any]) -> None:
        assert self.all_arrived.wait(10)
        if message["method"] == "fail":
            raise ValueError("no")
        self.log.append(message["method"])
        if message["method"] == self._work_on:
            self._loop.when_idle("work", self._work)

    def _work(self) -> None:
        self.log.append("worked")
        self.worked.set()

    def cancel(self, number: str | int) -> None:
        self.log.append(("cancelled", number))


def run(*sent: object, work_on: str = "") -> list[Any]:
    """Runs a loop over messages that arrive at once; handling `work_on` asks for idle work."""
    loop = Loop()
    receiver = Receiver(loop, work_on)
    stream = [b"".join(frame(m if isinstance(m, bytes) else json.dumps(m).encode()) for m in sent)]

    def read(size: int) -> bytes:
        if stream:
            return stream.pop()
        receiver.all_arrived.set()
        if work_on:
            assert receiver.worked.wait(10)
        return b""

    loop.run(read, receiver, lambda what, error: receiver.log.append((what, type(error).__name__)))
    return receiver.log


def test_a_request_cancelled_while_it_waits_is_not_begun() -> None:
    log = run(
        {"method": "a"},
        {"id": 1, "method": "slow"},
        {"id": 2, "method": "other"},
        {"method": "$/cancelRequest", "params": {"id": 1}},
        {"method": "$/cancelRequest", "params": {"id": 77}},
        {"method": "$/cancelRequest"},
    )
    assert log == ["a", ("cancelled", 1), "other"]


def test_work_is_done_once_when_nothing_waits() -> None:
    log = run({"method": "change"}, {"method": "change"}, {"method": "hover", "id": 1}, work_on="change")
    assert log == ["change", "change", "hover", "worked"]


def test_later_work_is_done_after_idle_work_and_once() -> None:
    """It is put off whenever it is asked for again; a message that comes before it is due is answered first."""
    loop = Loop()
    log: list[str] = []
    done, stream = threading.Event(), [frame(b'{"method": "change"}') * 2]

    def read(size: int) -> bytes:
        if stream:
            return stream.pop()
        assert done.wait(10)
        return b""

    class Asking:
        def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
            return data

        def handle_message(self, message: dict[str, Any]) -> None:
            log.append(message["method"])
            loop.later("work", 0.05, work)
            loop.when_idle("idle", lambda: log.append("idle"))

        def cancel(self, number: str | int) -> None: ...

    def work() -> None:
        log.append("later")
        done.set()

    loop.run(read, Asking(), lambda what, error: log.append(f"{what}: {error}"))
    assert log[0] == "change"
    assert log.count("change") == 2
    assert log[-1] == "later"
    assert log.count("later") == 1


def test_a_failure_stops_nothing() -> None:
    log = run({"method": "fail"}, b"{not json", b"[]", {"method": "after"})
    assert log[-1] == "after"
    assert set(log[:-1]) == {
        ("fail", "ValueError"),
        ("reading a message", "JSONDecodeError"),
        ("reading a message", "ValueError"),
    }


def test_a_request_is_taken_back_while_it_is_worked_on() -> None:
    """By its number, or by the token of its progress; what else arrives meanwhile is kept for later."""
    loop = Loop()
    arrived = [
        {"id": 1, "method": "long"},
        {"id": 2, "method": "long"},
        {"id": 3, "method": "long"},
        {"method": "window/workDoneProgress/cancel", "params": {"token": "t3"}},
    ]
    later = {"method": "$/cancelRequest", "params": {"id": 2}}
    log: list[Any] = []
    second = threading.Event()
    stream = [frame(json.dumps(later).encode()), b"".join(frame(json.dumps(m).encode()) for m in arrived)]

    def read(size: int) -> bytes:
        if len(stream) == 1:
            assert second.wait(10)  # the cancellation comes when the second request is being worked on
        return stream.pop() if stream else b""

    class Working:
        def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
            return data

        def handle_message(self, message: dict[str, Any]) -> None:
            number = message.get("id")
            if message["method"] != "long":
                log.append(message["method"])
                return
            before = loop.is_taken_back(f"t{number}", failed)
            if number == 2:
                second.set()
                for _ in range(1000):
                    if loop.is_taken_back(None, failed):
                        break
                    time.sleep(0.01)
            log.append((number, before, loop.is_taken_back(f"t{number}", failed)))

        def cancel(self, number: str | int) -> None:
            log.append(("not begun", number))

    def failed(what: str, error: Exception) -> None:
        raise AssertionError(what) from error

    loop.run(read, Working(), failed)
    assert log == [
        (1, False, False),
        (2, False, True),
        (3, True, True),
        "window/workDoneProgress/cancel",
    ]
