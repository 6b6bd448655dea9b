"""The process: starts, talks nothing but the protocol, survives nonsense, and ends when it should."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from lsprotocol import types

from horovodize.lsp.connection import HorovodizeServer
from horovodize.lsp.parent import is_alive
from horovodize.lsp.settings import read
from horovodize.lsp.transport import messages

SERVER = [sys.executable, "-m", "horovodize", "server"]


class Connection:
    """Raw messages to and from a server."""

    def __init__(self, process: subprocess.Popen[bytes], send: Any, receive: Any) -> None:
        self.process = process
        self._send, self._bodies = send, messages(receive)
        self.received: list[dict[str, Any]] = []
        self._number = 0

    def raw(self, body: bytes) -> None:
        self._send(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: object = None) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def ask(self, method: str, params: object = None) -> int:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method}
        self.raw(json.dumps(message if params is None else {**message, "params": params}).encode())
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        while True:
            message = self.next()
            if message.get("id") == number and "method" not in message:
                return message

    def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(next(self._bodies))
        self.received.append(message)
        return message

    def initialize(self, **params: object) -> dict[str, Any]:
        number = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}, **params})
        answer = self.answer(number)
        self.notify("initialized", {})
        return answer

    def exit(self) -> int:
        assert "result" in self.answer(self.ask("shutdown"))
        self.notify("exit")
        return self.process.wait(10)


@pytest.fixture
def server() -> Iterator[Connection]:
    process = subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    out = process.stdout.fileno()

    def send(data: bytes) -> None:
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.flush()

    yield Connection(process, send, lambda size: os.read(out, size))
    process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    process.wait()


def test_shut_down_and_exit(server: Connection) -> None:
    server.initialize()
    assert server.exit() == 0


def _asked(server: Connection, method: str) -> dict[str, Any]:
    """What the server asks its client."""
    while True:
        message = server.next()
        if message.get("method") == method:
            return message


def test_questions_that_nobody_answered_end_in_silence(server: Connection) -> None:
    server.initialize(capabilities={"workspace": {"configuration": True}})
    _asked(server, "workspace/configuration")
    assert server.exit() == 0
    assert server.process.stderr is not None
    assert server.process.stderr.read() == b""


def test_a_client_that_answers_with_an_error_is_served_on(server: Connection) -> None:
    server.initialize(capabilities={"workspace": {"configuration": True}})
    number = _asked(server, "workspace/configuration")["id"]
    error = {"code": -32603, "message": "no settings here"}
    server.raw(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode())
    assert "no settings here" in _asked(server, "window/logMessage")["params"]["message"]
    assert server.exit() == 0
    assert server.process.stderr is not None
    assert server.process.stderr.read() == b""


def test_exit_without_shutdown(server: Connection) -> None:
    server.initialize()
    server.notify("exit")
    assert server.process.wait(10) == 1


def test_exit_before_anything(server: Connection) -> None:
    server.notify("exit")
    assert server.process.wait(10) == 1


def test_the_stream_ends(server: Connection) -> None:
    server.initialize()
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.process.wait(10) == 1


def test_the_editor_is_gone(server: Connection) -> None:
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    server.initialize(processId=editor.pid)
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(2.5)
    editor.kill()
    editor.communicate()
    assert server.process.wait(10) == 1


def test_an_editor_in_another_container_is_not_watched(server: Connection) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not is_alive(gone.pid)
    server.initialize(processId=gone.pid)
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(2.5)
    assert server.exit() == 0


def test_this_process_is_alive() -> None:
    assert is_alive(os.getpid())
    assert is_alive(1)
    assert not is_alive(0)


@pytest.mark.parametrize(
    ("offered", "taken"),
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-7", "utf-16"], "utf-16"),
        (["utf-7"], "utf-16"),
    ],
)
def test_position_encoding(server: Connection, offered: list[str] | None, taken: str) -> None:
    answer = server.initialize(
        capabilities={"general": {"positionEncodings": offered}} if offered is not None else {}
    )
    assert answer["result"]["capabilities"]["positionEncoding"] == taken
    # and it is meant: the second character's place after one of 4 bytes, 2 units, 1 code point
    column = {"utf-8": 5, "utf-16": 3, "utf-32": 2}[taken]
    text, uri = "🐍= (\n", "file:///a.py"
    server.notify(
        "textDocument/didOpen",
        {
            "textDocument": {
                "uri": uri,
                "languageId": "python",
                "version": 1,
                "text": text.replace("🐍", "'🐍'; "),
            }
        },
    )
    place = {"line": 0, "character": column + 8}
    hover = server.answer(server.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": place}))
    assert hover["result"]["range"]["start"]["character"] == column + 1 + len("; ")


def test_what_it_says_it_can(server: Connection) -> None:
    result = server.initialize()["result"]
    assert result["serverInfo"]["name"] == "horovodize"
    capabilities = result["capabilities"]
    assert capabilities["textDocumentSync"]["openClose"] is True
    assert capabilities["textDocumentSync"]["change"] == 2
    assert capabilities["textDocumentSync"]["save"] == {"includeText": False}
    assert capabilities["hoverProvider"] is True
    assert capabilities["codeActionProvider"] == {
        "codeActionKinds": ["quickfix", "refactor.rewrite.horovodize.distribute", "source.fixAll.horovodize"],
        "resolveProvider": True,
    }
    assert capabilities["codeLensProvider"] == {"resolveProvider": False}  # they come with their texts
    assert "horovodize.distribute" in capabilities["executeCommandProvider"]["commands"]
    assert "diagnosticProvider" not in capabilities  # this client does not ask


def test_nonsense_is_an_error_for_that_message_only(server: Connection) -> None:
    where = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 10**6, "character": 10**6}}
    assert (
        server.answer(server.ask("textDocument/hover", where))["error"]["code"] == -32002
    )  # not initialized yet
    server.notify("textDocument/didOpen", {"textDocument": 1})
    server.initialize()
    server.raw(b"{not json")
    server.raw(b"[1, 2]")
    server.raw(b'{"jsonrpc": "2.0"}')
    server.raw(b'{"jsonrpc": "1.0", "id": 5, "method": "shutdown"}')
    server.notify("no/suchNotification", {"jsonrpc": "2.0"})
    server.notify("textDocument/didOpen", {"wrong": True})
    server.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": "file:///a.py", "version": 2}, "contentChanges": [{"text": ""}]},
    )
    server.notify("textDocument/didClose", {"textDocument": {"uri": "file:///a.py"}})
    server.notify("$/cancelRequest", {"id": 99})
    assert server.answer(server.ask("no/suchRequest"))["error"]["code"] == -32601
    assert server.answer(server.ask("initialize", {"capabilities": {}}))["error"]["code"] == -32600
    wrong = server.ask("textDocument/hover", {"textDocument": {"uri": 5}, "position": {"line": -1}})
    assert server.answer(wrong)["error"]["code"] == -32602
    assert server.answer(server.ask("textDocument/hover", where))["result"] is None
    assert server.answer(server.ask("shutdown"))["result"] is None
    assert server.answer(server.ask("textDocument/hover", where))["error"]["code"] == -32600
    server.notify("exit")
    assert server.process.wait(10) == 0


def test_nothing_but_the_protocol_on_standard_output() -> None:
    """Also when something in the process prints: a library, a warning, a child."""
    code = (
        "import os, horovodize.lsp.requests.hover as hover\n"
        "from horovodize.lsp.server import run_stdio\n"
        "def handle(server, params): print('stray'); os.system('echo stray child')\n"
        "hover.handle = handle\n"
        "run_stdio()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # fmt: skip  # noqa: E501
        requests = [
            {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
            {
                "id": 2,
                "method": "textDocument/hover",
                "params": {"textDocument": {"uri": "a:b"}, "position": {"line": 0, "character": 0}},
            },
            {"id": 3, "method": "shutdown"},
            {"method": "exit"},
        ]
        bodies = [json.dumps({"jsonrpc": "2.0", **request}).encode() for request in requests]
        out, err = process.communicate(
            b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(b), b) for b in bodies), 30
        )
    assert err.count(b"stray") == 2
    rest = re.sub(
        rb"Content-Length: \d+\r\n(Content-Type: [^\r]*\r\n)?\r\n\{[^\r]*?\}(?=Content-Length|$)", b"", out
    )
    assert rest == b""
    assert process.returncode == 0


def test_a_handler_that_fails_is_logged_and_the_server_goes_on() -> None:
    code = (
        "import horovodize.lsp.requests.hover as hover, horovodize.lsp.requests.did_save as did_save\n"
        "from horovodize.lsp.server import run_stdio\n"
        "def handle(server, params): raise KeyError('broken on purpose')\n"
        "hover.handle = did_save.handle = handle\n"
        "run_stdio()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, out = process.stdin, process.stdout.fileno()

    def send(data: bytes) -> None:
        stdin.write(data)
        stdin.flush()

    server = Connection(process, send, lambda size: os.read(out, size))
    server.initialize()
    where = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}}
    server.notify("textDocument/didSave", {"textDocument": {"uri": "file:///a.py"}})
    error = server.answer(server.ask("textDocument/hover", where))["error"]
    assert error["code"] == -32603
    assert "broken on purpose" in error["message"]
    logged = [m["params"]["message"] for m in server.received if m.get("method") == "window/logMessage"]
    assert len(logged) == 2
    assert all("broken on purpose" in message and "Traceback" in message for message in logged)
    assert server.exit() == 0
    process.communicate()


@pytest.mark.parametrize("value", ["off", "messages", "verbose"])
def test_trace(server: Connection, value: str) -> None:
    server.initialize(trace="messages")
    server.notify("$/setTrace", {"value": value})
    where = {"textDocument": {"uri": "file:///secret.py"}, "position": {"line": 0, "character": 0}}
    number = server.ask("textDocument/hover", where)
    server.answer(number)
    server.answer(server.ask("textDocument/hover", where))
    traced = [m["params"] for m in server.received if m.get("method") == "$/logTrace"]
    assert any("initialize" in trace["message"] for trace in traced)
    hovers = [trace for trace in traced if f"textDocument/hover ({number})" in trace["message"]]
    assert len(hovers) == (value != "off")
    for trace in hovers:
        assert "handled in" in trace["message"]
        assert ("secret.py" in str(trace.get("verbose"))) == (value == "verbose")
    assert server.exit() == 0


@pytest.mark.parametrize(("level", "logged"), [("error", 0), ("info", 0), ("debug", 1)])
def test_log_levels(server: Connection, level: str, logged: int) -> None:
    server.initialize(initializationOptions={"logLevel": level, "someoneElses": 1})
    server.answer(
        server.ask(
            "textDocument/hover", {"textDocument": {"uri": "a:b"}, "position": {"line": 0, "character": 0}}
        )
    )
    found = [m for m in server.received if m.get("method") == "window/logMessage"]
    assert len(found) == logged
    assert all("someoneElses" in m["params"]["message"] for m in found)


def test_what_each_log_level_lets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    server, said = HorovodizeServer(), list[types.MessageType]()
    monkeypatch.setattr(server, "window_log_message", lambda params: said.append(params.type))
    kinds = [
        types.MessageType.Error,
        types.MessageType.Warning,
        types.MessageType.Info,
        types.MessageType.Log,
    ]
    for number, level in enumerate(("error", "warning", "info", "debug"), 1):
        said.clear()
        server.session.settings = read({"logLevel": level}).settings
        for kind in kinds:
            server.log("something", kind)
        assert said == kinds[:number]


def test_tcp() -> None:
    process = subprocess.Popen(
        [*SERVER, "--tcp", "127.0.0.1:0"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stderr is not None
    address = re.search(rb"listens at 127\.0\.0\.1:(\d+)", process.stderr.readline())
    assert address is not None
    with socket.create_connection(("127.0.0.1", int(address[1])), 10) as client:
        server = Connection(process, client.sendall, client.recv)
        assert server.initialize()["result"]["serverInfo"]["name"] == "horovodize"
        assert server.exit() == 0
    out, _ = process.communicate()
    assert out == b""


def test_starting_imports_no_engine_that_the_first_answer_does_not_need() -> None:
    code = "import sys, horovodize.lsp.connection; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    late = (
        "summary",
        "rules",
        "catalogue",
        "distribute",
        "restrictions.restrictions",
        "lsp.commands.preview",
    )
    assert "horovodize.lsp.session" in out
    assert not [name for name in late if f"horovodize.{name}" in out]
    assert "tensorflow" not in out


def test_what_the_first_document_needs_is_loaded_before_it_comes() -> None:
    code = (
        "import sys\n"
        "from horovodize.lsp.analysis import load_for_actions, load_for_diagnostics\n"
        "from horovodize.lsp.session import OpenDocument\n"
        "from horovodize.options import Options\n"
        "load_for_diagnostics(); load_for_actions(); before = set(sys.modules)\n"
        "analysis = OpenDocument('file:///a.py', 1, sys.stdin.read()).analysis(Options())\n"
        "assert analysis.violations and analysis.outcome.changes\n"
        "print(*[m for m in set(sys.modules) - before if m.startswith('horovodize')])\n"
    )
    script = "import keras\nm = keras.Sequential()\nm.compile('sgd', 'mse')\nm.fit(x, y)\n"
    run = subprocess.run(
        [sys.executable, "-c", code], input=script, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""
