"""Messages that are not as the protocol has them: an error for that message only, and the next one is answered."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.robustness.cases import cases
from tests.robustness.wire import Wire, at, served

URI = "file:///nowhere/train.py"
TEXT = "import tensorflow as tf\nm = tf.keras.Sequential()\nm.compile('sgd', 'mse')\nm.fit(tf.ones((4, 1)))\n"
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server with a document, for all tests here: none of them may break it."""
    with served(env={"HOROVODIZE_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}) as wire:
        wire.initialize()
        yield wire


def check_right(wire: Wire) -> None:
    """The next request is answered, and rightly."""
    wire.open(URI, TEXT)
    assert "Keras training loop" in wire.hover(URI, 3, 3)["contents"]["value"]


# ---------------------------------------------------------------------- by hand


@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Length: 3\r\n\r\n\xff\xfe\xfd",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: 4\r\n\r\nnull",
        b'Content-Length: 7\r\n\r\n"exit"\n',
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n{}",
        b"content-length:2\r\nContent-Type: text/plain; charset=utf-7\r\n\r\n{}",
        b"Content-Length: 2\n\n{}",
        b"\r\n\r\n\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b'Content-Length: -5\r\n\r\n{"jsonrpc": "2.0"}',
        b'Content-Length: \r\n\r\n{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}',
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x00" * 100 + b"\r\n\r\n",
        b"Content-Length: 12" + b"0" * 5000 + b"\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 2\r\n\r\n[[[]]",
        b"x" * 1_000_000 + b"\r\n\r\n",
    ],
    ids=lambda sent: sent[:40].decode("latin-1"),
)
def test_what_is_no_message(open_server: Wire, sent: bytes) -> None:
    open_server.bytes(sent)
    open_server.check_alive()
    check_right(open_server)


@pytest.mark.parametrize(
    "body",
    [
        b"{not json",
        b'{"jsonrpc": "2.0", "id": 1, "method": "textDoc',
        b'[{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}]',
        b'{"jsonrpc": "2.0", "id": 1' + b"0" * 5000 + b', "method": "textDocument/hover"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"jsonrpc": "2.0", "id": 7}',
        b'{"jsonrpc": "2.0", "id": 7, "result": NaN}',
        b'{"jsonrpc": "2.0", "id": null, "error": {}}',
        b'{"jsonrpc": "2.0", "id": [], "result": null}',
        b'{"jsonrpc": "2.0", "id": 7, "error": "no"}',
        b'{"jsonrpc": "2.0", "method": null}',
        b'{"jsonrpc": "2.0", "method": ["exit"]}',
        b'{"jsonrpc": "2.0", "method": {"a": 1}, "params": []}',
        b'{"jsonrpc": null, "method": "exit"}',
        b'{"method": "exit"}',
        b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": []}}',
        b'{"jsonrpc": "2.0", "method": "$/progress", "params": {"token": {}, "value": 1}}',
        b'{"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "loud"}}',
        '{"jsonrpc": "2.0", "method": "é"}'.encode("latin-1"),
    ],
    ids=lambda body: body[:60].decode("latin-1"),
)
def test_a_body_that_means_nothing(open_server: Wire, body: bytes) -> None:
    open_server.body(body)
    open_server.check_alive()
    check_right(open_server)


@pytest.mark.parametrize("number", [0, -1, 2**31, 2**63, 10**300, "", "a" * 100_000, "\ud800", "\u2028"])
def test_a_request_may_have_any_number(open_server: Wire, number: object) -> None:
    open_server.message(
        {"jsonrpc": "2.0", "id": number, "method": "textDocument/hover", "params": at(URI, 0, 0)}
    )
    assert "error" not in open_server.answer(number)


@pytest.mark.parametrize("number", [[], {}, [1], {"a": 1}, 1.5, True])
def test_a_number_that_is_none(open_server: Wire, number: object) -> None:
    """It can't be told whether whoever asks would understand the answer: it may come or not."""
    open_server.message(
        {"jsonrpc": "2.0", "id": number, "method": "textDocument/hover", "params": at(URI, 0, 0)}
    )
    open_server.check_alive()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"method": "no/such"}, METHOD_NOT_FOUND),
        ({"method": ""}, METHOD_NOT_FOUND),
        ({"method": "no/such", "params": 5}, METHOD_NOT_FOUND),
        ({"method": ["textDocument/hover"]}, INVALID_REQUEST),
        ({"method": {}}, INVALID_REQUEST),
        ({"method": 5}, INVALID_REQUEST),
        ({"method": "textDocument/hover"}, INVALID_PARAMS),
        ({"method": "textDocument/hover", "params": None}, INVALID_PARAMS),
        ({"method": "textDocument/hover", "params": []}, INVALID_PARAMS),
        ({"method": "textDocument/hover", "params": "x"}, INVALID_PARAMS),
        ({"method": "textDocument/hover", "params": {}}, INVALID_PARAMS),
        ({"method": "textDocument/hover", "params": {"textDocument": None}}, INVALID_PARAMS),
        ({"method": "workspace/executeCommand", "params": {"command": 5}}, INVALID_PARAMS),
        ({"method": "workspace/executeCommand", "params": {"command": "no.such"}}, INVALID_PARAMS),
        (
            {
                "method": "workspace/executeCommand",
                "params": {"command": "horovodize.distribute", "arguments": [[]]},
            },
            INVALID_PARAMS,
        ),
        (
            {
                "method": "workspace/executeCommand",
                "params": {"command": "horovodize.explain", "arguments": [{}]},
            },
            INVALID_PARAMS,
        ),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_a_request_that_is_wrong_gets_an_error(open_server: Wire, message: dict[str, Any], code: int) -> None:
    open_server.message({"jsonrpc": "2.0", "id": "wrong", **message})
    assert open_server.answer("wrong")["error"]["code"] == code
    check_right(open_server)


@pytest.mark.parametrize("line", [-(10**9), -1, 0, 3, 4, 5, 2**31 - 1, 2**31, 10**30])
@pytest.mark.parametrize("character", [-1, 0, 10**6, 2**31 - 1, 10**30])
def test_places_outside_the_text(open_server: Wire, line: int, character: int) -> None:
    """They are brought into it, or the request is refused: as long as the next is answered."""
    open_server.open(URI, TEXT)
    place = {"line": line, "character": character}
    document = {"textDocument": {"uri": URI}}
    for method, params in {
        "textDocument/hover": {**document, "position": place},
        "textDocument/codeAction": {
            **document,
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        },
        "textDocument/inlayHint": {**document, "range": {"start": {"line": 0, "character": 0}, "end": place}},
    }.items():
        answer = open_server.request(method, params)
        assert "result" in answer or answer["error"]["code"] == INVALID_PARAMS, answer
    open_server.change(URI, 2, {"range": {"start": place, "end": place}, "text": ""})
    assert "Keras training loop" in open_server.hover(URI, 3, 3)["contents"]["value"]


# ---------------------------------------------------------------------- by chance

_DOCUMENT = {"uri": URI}
_PLACE = {"line": 3, "character": 3}
_RANGE = {"start": {"line": 0, "character": 0}, "end": _PLACE}
GOOD: dict[str, Any] = {
    "textDocument/hover": {"textDocument": _DOCUMENT, "position": _PLACE},
    "textDocument/codeAction": {
        "textDocument": _DOCUMENT,
        "range": _RANGE,
        "context": {
            "diagnostics": [{"range": _RANGE, "message": "m", "code": "HVD001"}],
            "only": ["quickfix"],
        },
    },
    "codeAction/resolve": {"title": "Distribute", "data": {"uri": URI, "version": 1}},
    "textDocument/codeLens": {"textDocument": _DOCUMENT},
    "textDocument/inlayHint": {"textDocument": _DOCUMENT, "range": _RANGE},
    "textDocument/diagnostic": {"textDocument": _DOCUMENT},
    "workspace/symbol": {"query": "fit"},
    "workspace/executeCommand": {"command": "horovodize.preview", "arguments": [{"uri": URI, "version": 1}]},
    "horovodize/workspaceSummary": {},
    "horovodize/documentSummary": {"textDocument": _DOCUMENT},
    "textDocument/didOpen": {
        "textDocument": {"uri": URI, "languageId": "python", "version": 1, "text": TEXT}
    },
    "textDocument/didChange": {
        "textDocument": {"uri": URI, "version": 2},
        "contentChanges": [{"range": _RANGE, "rangeLength": 5, "text": "x"}, {"text": TEXT}],
    },
    "textDocument/didSave": {"textDocument": _DOCUMENT},
    "textDocument/didClose": {"textDocument": _DOCUMENT},
    "workspace/didChangeConfiguration": {"settings": {"horovodize": {"strict": True, "select": ["HVD1"]}}},
    "workspace/didChangeWatchedFiles": {"changes": [{"uri": URI, "type": 1}]},
    "workspace/didChangeWorkspaceFolders": {"event": {"added": [], "removed": [{"uri": URI, "name": "n"}]}},
    "notebookDocument/didOpen": {
        "notebookDocument": {
            "uri": "file:///nowhere/n.ipynb",
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 2, "document": "vscode-notebook-cell:/n.ipynb#1"}],
        },
        "cellTextDocuments": [
            {"uri": "vscode-notebook-cell:/n.ipynb#1", "languageId": "python", "version": 1, "text": TEXT}
        ],
    },
    "notebookDocument/didChange": {
        "notebookDocument": {"uri": "file:///nowhere/n.ipynb", "version": 2},
        "change": {
            "cells": {
                "structure": {"array": {"start": 0, "deleteCount": 1, "cells": []}},
                "textContent": [
                    {
                        "document": {"uri": "vscode-notebook-cell:/n.ipynb#1", "version": 2},
                        "changes": [{"text": "y"}],
                    }
                ],
            }
        },
    },
    "notebookDocument/didClose": {
        "notebookDocument": {"uri": "file:///nowhere/n.ipynb"},
        "cellTextDocuments": [{"uri": "vscode-notebook-cell:/n.ipynb#1"}],
    },
    "$/setTrace": {"value": "off"},
    "$/cancelRequest": {"id": 3},
    "window/workDoneProgress/cancel": {"token": "t"},
}

_ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(
        [URI, "", -1, 2**31, 2**64, "\ud800", "python", "file:///%00", "file://host/x", "::", "a\0b"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def almost_right(draw: st.DrawFn) -> tuple[str, Any]:
    """A method, and parameters of which something was replaced, taken out or put in twice."""
    method = draw(st.sampled_from(list(GOOD)))
    params = {"": copy.deepcopy(GOOD[method])}
    for _ in range(draw(st.integers(0, 3))):
        node: Any = params
        key: Any = ""
        while isinstance(node[key], dict | list) and node[key] and draw(st.integers(0, 3)):
            node = node[key]
            key = (
                draw(st.sampled_from(sorted(node)))
                if isinstance(node, dict)
                else draw(st.integers(0, len(node) - 1))
            )
        match draw(st.sampled_from(["replaced", "replaced", "without", "twice"])):
            case "without" if node is not params:
                del node[key]
            case "twice" if isinstance(node, list):
                node.append(copy.deepcopy(node[key]))
            case _:
                node[key] = draw(_ANY)
    return method, params[""]


@cases(150, st.lists(almost_right(), min_size=1, max_size=8))
def test_no_message_breaks_the_server(open_server: Wire, messages: list[tuple[str, Any]]) -> None:
    """What asks for an answer gets one; no fault of the server's is behind it."""
    open_server.logged_errors.clear()
    for method, params in messages:
        if "did" in method or method.startswith(("$/", "window/")):
            open_server.notify(method, params)
        else:
            answer = open_server.request(method, params)
            assert answer.get("error", {}).get("code") != -32603, answer
    check_right(open_server)
    faults = [error for error in open_server.logged_errors if "Traceback" in error]
    assert not faults, faults[0]
