"""A client of the real server process that talks in bytes: it can say what no library would let it say."""

from __future__ import annotations

import itertools
import json
import os
import queue
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SERVER = (sys.executable, "-m", "horovodize", "server")
PATIENCE = 60.0  # seconds until an answer counts as missing; the machine may be busy

Json = Any


class ServerDied(AssertionError):
    """The process ended although nobody asked it to."""


class Wire:
    """A server process and the stream to it. Requests of the server are answered with null unless `replies` says otherwise
    by method."""

    def __init__(
        self,
        command: tuple[str, ...] = SERVER,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        largest_file: int | None = None,
    ) -> None:
        """`env` is added to this process's; `largest_file`: bytes that the server may write to one file (RLIMIT_FSIZE)."""

        def limit() -> None:
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            preexec_fn=limit if largest_file is not None else None,  # noqa: PLW1509 - no threads of ours hold locks here
        )
        self.replies: dict[str, Callable[[Json], Json]] = {}
        self.logged_errors: list[str] = []  # what the server told the client's log as an error so far
        self.stderr = b""
        self._incoming: queue.SimpleQueue[dict[str, Json] | None] = queue.SimpleQueue()
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._read_messages, self._read_errors)
        ]
        for thread in self._threads:
            thread.start()

    # ------------------------------------------------------------------ saying

    def bytes(self, data: bytes) -> None:
        """Sends bytes as they are."""
        assert self.process.stdin is not None
        with self._writing:
            try:
                self.process.stdin.write(data)
                self.process.stdin.flush()
            except BrokenPipeError:
                raise ServerDied(self._epitaph()) from None

    def body(self, body: bytes) -> None:
        """Sends a message with a right header and any body."""
        self.bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def message(self, message: Json) -> None:
        """Sends any JSON as a message."""
        self.body(json.dumps(message).encode())

    def notify(self, method: str, params: Json = None) -> None:
        self.message({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Json = None) -> str:
        """Sends a request; its number."""
        number = f"wire-{next(self._numbers)}"
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        self.message(message if params is None else {**message, "params": params})
        return number

    def request(self, method: str, params: Json = None, patience: float = PATIENCE) -> dict[str, Json]:
        """Sends a request and waits for the whole answer, which may be an error."""
        return self.answer(self.ask(method, params), patience)

    def result(self, method: str, params: Json = None, patience: float = PATIENCE) -> Json:
        """What a request gives; it must not fail."""
        answer = self.request(method, params, patience)
        assert "error" not in answer, answer
        return answer.get("result")

    # ------------------------------------------------------------------ hearing

    def answer(self, number: Json, patience: float = PATIENCE) -> dict[str, Json]:
        """The next answer with a number."""
        return self.until(lambda m: "method" not in m and m.get("id") == number, patience)

    def notification(self, method: str, patience: float = PATIENCE) -> Json:
        """The parameters of the next notification or request of a method."""
        return self.until(lambda m: m.get("method") == method, patience).get("params")

    def until(self, wanted: Callable[[dict[str, Json]], bool], patience: float = PATIENCE) -> dict[str, Json]:
        """Takes in messages up to one that is wanted."""
        end = time.monotonic() + patience
        while True:
            try:
                message = self._incoming.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise TimeoutError(f"the server said nothing that was waited for in {patience:g} s") from None
            if message is None:
                raise ServerDied(self._epitaph())
            if message.get("method") == "window/logMessage" and message["params"]["type"] == 1:
                self.logged_errors.append(message["params"]["message"])
            if "method" in message and "id" in message:
                reply = self.replies.get(message["method"], lambda params: None)(message.get("params"))
                self.message({"jsonrpc": "2.0", "id": message["id"], "result": reply})
            if wanted(message):
                return message

    def errors(self) -> bytes:
        """All that an ended server wrote to standard error."""
        self._threads[1].join(PATIENCE)
        return self.stderr

    def check_alive(self) -> None:
        """Fails unless the server answers."""
        assert self.request("horovodize/areYouThere")["error"]["code"] == -32601

    # ------------------------------------------------------------------ a session

    def initialize(self, folder: Path | None = None, **params: Json) -> dict[str, Json]:
        """Opens a session, on a folder if there is one; what the server says it can."""
        folders = [{"uri": folder.as_uri(), "name": folder.name}] if folder is not None else None
        given = {
            "processId": None,
            "rootUri": None,
            "workspaceFolders": folders,
            "capabilities": {"workspace": {"workspaceFolders": True}},
            **params,
        }
        found: dict[str, Json] = self.result("initialize", given)
        self.notify("initialized", {})
        return found

    def open(self, uri: str, text: str, version: int = 1) -> None:
        item = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int, *changes: Json) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str, version: int, patience: float = PATIENCE) -> list[dict[str, Json]]:
        """The published diagnostics of a version of a document."""
        message = self.until(
            lambda m: (
                m.get("method") == "textDocument/publishDiagnostics"
                and m["params"]["uri"] == uri
                and m["params"].get("version") == version
            ),
            patience,
        )
        found: list[dict[str, Json]] = message["params"]["diagnostics"]
        return found

    def hover(self, uri: str, line: int = 0, character: int = 0, patience: float = PATIENCE) -> Json:
        return self.result("textDocument/hover", at(uri, line, character), patience)

    def indexed(self, patience: float = PATIENCE) -> dict[str, dict[str, Json]]:
        """What is known of the workspace as soon as all of it has been read: the files that train or can't be read, by URI."""
        end = time.monotonic() + patience
        while True:
            summary = self.result("horovodize/workspaceSummary", {})
            if summary["complete"]:
                return {file["uri"]: file for folder in summary["folders"] for file in folder["files"]}
            if time.monotonic() > end:
                raise TimeoutError("the workspace was not read in time")
            time.sleep(0.02)  # the server has something else to do than to answer

    def exit(self) -> int:
        """Ends the session as the protocol says; the exit status."""
        self.result("shutdown")
        self.notify("exit")
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Ends the process at once, and gives everything back."""
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):  # of what was still to be sent
                stream.close()

    def resident(self) -> int:
        """The server's resident memory in bytes (Linux)."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    # ------------------------------------------------------------------ the stream

    def _read_messages(self) -> None:
        assert self.process.stdout is not None
        out = self.process.stdout
        try:
            while header := out.readline():
                length = None
                while header.strip():
                    name, _, value = header.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                    header = out.readline()
                assert length is not None, "the server sent a header without a length"
                self._incoming.put(json.loads(out.read(length)))
        finally:
            self._incoming.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr += line

    def _epitaph(self) -> str:
        self.process.wait(PATIENCE)
        self._threads[1].join(PATIENCE)
        return f"exit status {self.process.returncode}: {self.stderr.decode(errors='replace')}"


def at(uri: str, line: int, character: int) -> Json:
    """The parameters of a request about a place."""
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


@contextmanager
def served(*args: Any, **kwargs: Any) -> Iterator[Wire]:
    """A server for a while."""
    wire = Wire(*args, **kwargs)
    try:
        yield wire
    finally:
        wire.kill()
