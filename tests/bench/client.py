"""A language client that waits for one thing at a time, so that it can tell how long that took.

It reads in the thread that waits: no other thread has to be woken before a time is taken. What a server asks is answered
while something is waited for, or by `drain`."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_PATIENCE = 180.0  # seconds that a server may take for one answer

Message = dict[str, Any]


class ServerGone(Exception):
    """The server ended, or did not answer in time."""


class Client:
    """One server's process and its client. `started` is when the process was (`time.perf_counter`, seconds); `cache`: where
    ours may keep what it wants to find again."""

    def __init__(self, command: Sequence[str], folder: Path, cache: Path) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        # As installed: with compiled modules.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"HOROVODIZE_CACHE_DIR": os.fspath(cache), "PYTHONPATH": os.getcwd()}
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=folder,
            env=environment,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._data = b""
        self._number = 0
        self._folder = folder
        self._results: dict[str, str] = {}
        self._under_way: dict[str | int, str] = {}
        self.finished: set[str] = set()  # titles of work that the server said it has ended
        self.capabilities: Message = {}

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(Exception):
            self.request("shutdown", None, patience=10)
            self.notify("exit", None)
            self._process.wait(5)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    # ------------------------------------------------------------------ messages

    def initialize(self, capabilities: Message, options: object = None) -> float:
        """Starts the session; ms from the process's start to the answer. What the server can is in `capabilities`."""
        uri = self._folder.as_uri()
        answer = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "rootPath": os.fspath(self._folder),
                "workspaceFolders": [{"uri": uri, "name": "bench"}],
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        took = (time.perf_counter() - self.started) * 1000
        self.capabilities = answer["capabilities"]
        self.notify("initialized", {})
        return took

    @property
    def pulls(self) -> bool:
        """Whether the server wants to be asked for diagnostics."""
        return bool(self.capabilities.get("diagnosticProvider"))

    def notify(self, method: str, params: object) -> None:
        self._send([{"method": method, "params": params}])

    def request(self, method: str, params: object, patience: float = _PATIENCE) -> Any:
        """The answer's result. Raises ServerGone; RuntimeError for an answer that is an error."""
        return self._answer(self._ask(method, params), patience)

    def timed(self, method: str, params: object) -> tuple[float, Any]:
        """How long a request takes, in ms, and its result."""
        start = time.perf_counter()
        result = self.request(method, params)
        return (time.perf_counter() - start) * 1000, result

    def timed_diagnostics(
        self, method: str, params: object, uri: str, version: int
    ) -> tuple[float, list[Message]]:
        """How long it takes from a notification until the diagnostics of the version that it makes are here, in ms, and those
        diagnostics. A server that wants to be asked is asked at once; others may send them without saying for which version:
        nothing must be under way then."""
        self.drain()
        start = time.perf_counter()
        if self.pulls:
            question: Message = {"textDocument": {"uri": uri}}
            if uri in self._results:
                question["previousResultId"] = self._results[uri]
            self._number += 1
            ask = {"id": self._number, "method": "textDocument/diagnostic", "params": question}
            self._send([{"method": method, "params": params}, ask])
            report = self._answer(self._number, _PATIENCE)
            took = (time.perf_counter() - start) * 1000
            if report.get("resultId"):
                self._results[uri] = report["resultId"]
            return took, report.get("items", [])
        self.notify(method, params)
        found = self.wait(
            lambda m: (
                m.get("method") == "textDocument/publishDiagnostics"
                and m["params"]["uri"] == uri
                and m["params"].get("version") in (None, version)
            )
        )
        return (time.perf_counter() - start) * 1000, found["params"]["diagnostics"]

    def wait(self, wanted: Callable[[Message], bool], patience: float = _PATIENCE) -> Message:
        """The next message that is wanted; others are passed over. Raises ServerGone."""
        until = time.perf_counter() + patience
        while True:
            message = self._receive(max(0.0, until - time.perf_counter()))
            if message is None:
                raise ServerGone(f"no answer in {patience:.0f} s")
            if wanted(message):
                return message

    def drain(self, quiet: float = 0.0) -> None:
        """Takes in what has arrived, until nothing did for so many seconds."""
        while self._receive(quiet) is not None:
            pass

    # ------------------------------------------------------------------ the stream

    def _ask(self, method: str, params: object) -> int:
        self._number += 1
        self._send([{"id": self._number, "method": method, "params": params}])
        return self._number

    def _answer(self, number: int, patience: float) -> Any:
        answer = self.wait(lambda m: m.get("id") == number and "method" not in m, patience)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def _send(self, messages: Sequence[Message]) -> None:
        data = b""
        for message in messages:
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            data += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._in, rest) :]
        except OSError as e:
            raise ServerGone(self._last_words()) from e

    def _receive(self, seconds: float) -> Message | None:
        """The next message, waiting at most so long for it; questions of the server are answered and returned as well."""
        until = time.perf_counter() + seconds
        while (message := self._parsed()) is None:
            ready, _, _ = select.select([self._out], [], [], max(0.0, until - time.perf_counter()))
            if not ready:
                return None
            more = os.read(self._out, 1 << 20)
            if not more:
                raise ServerGone(self._last_words())
            self._data += more
        if "id" in message and "method" in message:
            self._send([{"id": message["id"], "result": self._reply(message)}])
        elif message.get("method") == "$/progress":
            self._note(message["params"]["token"], message["params"]["value"])
        return message

    def _note(self, token: str | int, value: Message) -> None:
        """Remembers how far the server's work is."""
        if value.get("kind") == "begin":
            self._under_way[token] = value["title"]
        elif value.get("kind") == "end":
            self.finished.add(self._under_way.pop(token, ""))

    def _parsed(self) -> Message | None:
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return None
        length = _LENGTH.search(self._data, 0, end)
        assert length is not None, self._data[:end]
        stop = end + 4 + int(length[1])
        if len(self._data) < stop:
            return None
        message: Message = json.loads(self._data[end + 4 : stop])
        self._data = self._data[stop:]
        return message

    def _reply(self, message: Message) -> object:
        if message["method"] == "workspace/configuration":
            return [None for _ in message["params"]["items"]]
        return None

    def _last_words(self) -> str:
        self._log.seek(0)
        return "the server ended: " + self._log.read().decode(errors="replace")[-2000:]


def memory(pid: int, *, alone: bool = False) -> float:
    """What a process and those it started, or it alone, hold in memory, in MiB (resident; pages that they share are counted in
    each)."""
    table = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=True
    ).stdout
    rows = [tuple(map(int, line.split())) for line in table.splitlines()]
    family, grown = {pid}, not alone
    while grown:
        more = {child for child, parent, _ in rows if parent in family} - family
        family |= more
        grown = bool(more)
    return sum(rss for process, _, rss in rows if process in family) / 1024


def cpu(pid: int) -> float:
    """How long a process has computed so far, in seconds; to the full second where there is no `/proc`."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        told = subprocess.run(
            ["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=True
        )
        parts = re.split("[-:]", told.stdout.strip())
        return float(sum(int(part) * 60**place for place, part in enumerate(reversed(parts))))
