"""The server: made of pygls' protocol, our loop, and a handler a request. `run_stdio` and `run_tcp` start
it."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import traceback
from collections.abc import Callable, Hashable
from types import ModuleType
from typing import Any, NoReturn, cast

from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from horovodize import __version__
from horovodize.lsp.configuration import Configuration
from horovodize.lsp.protocol import Protocol
from horovodize.lsp.requests import REQUESTS
from horovodize.lsp.session import Session
from horovodize.lsp.transport import DescriptorWriter, Loop, Reader, SocketWriter, Writer


class HorovodizeServer(LanguageServer):
    """One connection to one client."""

    def __init__(self) -> None:
        super().__init__(
            "horovodize",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            protocol_cls=Protocol,
        )
        logging.getLogger("pygls").setLevel(logging.CRITICAL)  # every fault is in the client's log already
        self.session = Session()
        self.configuration = Configuration()
        self._loop = Loop()
        for request in REQUESTS:
            self._register(request)

    def _register(self, request: ModuleType) -> None:
        method, handle = request.METHOD, request.handle
        answers = method in _WITH_ANSWER

        def guarded(params: Any) -> Any:
            try:
                return handle(self, params)
            except JsonRpcException:
                raise  # meant for the client
            except Exception as e:
                self.log_failure(method, e)
                if answers:
                    raise JsonRpcInternalError(f"{method} failed: {type(e).__name__}: {e}") from None
                return None

        self.feature(method, request.OPTIONS)(guarded)

    def when_idle(self, key: Hashable, work: Callable[[], None]) -> None:
        """Does work when no message waits; asked for again under the same key before that, the latest asking
        counts."""
        self._loop.when_idle(key, work)

    def serve(self, read: Reader, writer: Writer) -> None:
        """Answers messages until the client says `exit` (then SystemExit with the code that the protocol asks
        for) or its stream ends."""
        self.protocol.set_writer(writer)
        self._loop.run(read, cast("Protocol", self.protocol), self.log_failure)

    # ------------------------------------------------------------- what the user and the log are told

    def log(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        self.window_log_message(types.LogMessageParams(kind, message))

    def show(self, message: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        self.window_show_message(types.ShowMessageParams(kind, message))

    def log_failure(self, what: str, error: Exception) -> None:
        """Logs a fault of ours, with where it happened."""
        trace = "".join(traceback.format_exception(error))
        self.log(f"{what} failed: {error}\n{trace}", types.MessageType.Error)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """pygls' faults go to the log: a dialog would stand in the way of work that goes on. Those of a request are
        its answer."""
        if source is not FeatureRequestError:
            self.log(f"{getattr(source, '__name__', source)}: {error}", types.MessageType.Error)


def run_stdio() -> NoReturn:
    """Serves the client at standard input and output, and nothing else: whatever else is printed goes to standard
    error. Raises SystemExit with the code that the protocol asks for."""
    sys.stdout.flush()
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _serve(lambda size: os.read(0, size), DescriptorWriter(out))


def run_tcp(host: str, port: int) -> NoReturn:
    """Listens for one client and serves it. Port 0 takes a free one; the address is told on standard error. Raises OSError
    when it can't listen, SystemExit as `run_stdio` does."""
    with socket.create_server((host, port)) as listener:
        address = listener.getsockname()
        print(f"horovodize listens at {address[0]}:{address[1]}", file=sys.stderr, flush=True)
        connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _serve(connection.recv, SocketWriter(connection))


def _serve(read: Reader, writer: Writer) -> NoReturn:
    with contextlib.suppress(ConnectionError):
        HorovodizeServer().serve(read, writer)
    sys.exit(1)  # the stream ended without `exit`


_WITH_ANSWER = frozenset(
    request.METHOD for request in REQUESTS if types.METHOD_TO_TYPES[request.METHOD][1] is not None
)
