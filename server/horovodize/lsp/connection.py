"""A connection: pygls' protocol, our loop, and a handler a request."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Hashable
from types import ModuleType
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from horovodize import __version__
from horovodize.lsp.configuration import Configuration
from horovodize.lsp.protocol import Protocol
from horovodize.lsp.requests import REQUESTS
from horovodize.lsp.session import Session
from horovodize.lsp.transport import Loop, Reader, Writer


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


_WITH_ANSWER = frozenset(
    request.METHOD for request in REQUESTS if types.METHOD_TO_TYPES[request.METHOD][1] is not None
)
