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
from horovodize.lsp.closed_files import ClosedFiles
from horovodize.lsp.configuration import Configuration
from horovodize.lsp.garbage import Garbage
from horovodize.lsp.index import BackgroundIndex
from horovodize.lsp.protocol import Protocol
from horovodize.lsp.requests import REQUESTS, execute_command
from horovodize.lsp.session import Session
from horovodize.lsp.settings import LogLevel
from horovodize.lsp.summary_news import SummaryNews
from horovodize.lsp.transport import Loop, Reader, Writer


class HorovodizeServer(LanguageServer):
    """One connection to one client."""

    def __init__(self) -> None:
        super().__init__(
            "horovodize",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=NOTEBOOKS,
            protocol_cls=Protocol,
        )
        logging.getLogger("pygls").setLevel(logging.CRITICAL)  # every fault is in the client's log already
        self.session = Session()
        self.client_name = ""
        self.configuration = Configuration()
        self.index = BackgroundIndex(self)
        self.news = SummaryNews(self)
        self.closed_files = ClosedFiles(self)
        self._loop = Loop()
        self.garbage = Garbage(self)
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
            finally:
                self.garbage.collect_later()

        self.feature(method, request.OPTIONS)(guarded)

    def complete(self, capabilities: types.ServerCapabilities) -> None:
        """What the client is told that the server can, as it depends on what the client can."""
        capabilities.execute_command_provider = execute_command.OPTIONS
        if not self.session.client.pulls_diagnostics:  # it would get them twice
            capabilities.diagnostic_provider = None

    def is_taken_back(self, token: int | str | None = None) -> bool:
        """Whether the client has cancelled the request that is being handled, or the progress with a token."""
        return self._loop.is_taken_back(token, self.log_failure)

    def when_idle(self, key: Hashable, work: Callable[[], None]) -> None:
        """Does work when no message waits; asked for again under the same key before that, the latest asking
        counts."""
        self._loop.when_idle(key, work)

    def apply_edit(self, edit: types.WorkspaceEdit, title: str) -> None:
        """Has the client make an edit; the user is told if it does not."""

        def answered(answer: types.ApplyWorkspaceEditResult) -> None:
            if not answer.applied:
                self.show(f"{title}: not applied: {answer.failure_reason or 'the client gave no reason'}")

        self.workspace_apply_edit(types.ApplyWorkspaceEditParams(edit, title), answered)

    def later(self, key: Hashable, seconds: float, work: Callable[[], None]) -> None:
        """Does work that nobody waits for, when it was not asked for under the same key for so long."""
        self._loop.later(key, seconds, work)

    def serve(self, read: Reader, writer: Writer) -> None:
        """Answers messages until the client says `exit` (then SystemExit with the code that the protocol asks
        for) or its stream ends."""
        self.protocol.set_writer(writer)
        try:
            self._loop.run(read, cast("Protocol", self.protocol), self.log_failure)
        finally:
            self.index.close()

    # ------------------------------------------------------------- what the user and the log are told

    def log(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Says something in the client's log, if the user wants to read that much."""
        if kind <= _LEVELS[self.session.settings.log_level]:
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


# Notebooks of Python, and of them the code.
NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithCells(
            cells=[types.NotebookCellLanguage("python")],
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"),
        )
    ],
    save=True,
)
_LEVELS = {
    LogLevel.ERROR: types.MessageType.Error,
    LogLevel.WARNING: types.MessageType.Warning,
    LogLevel.INFO: types.MessageType.Info,
    LogLevel.DEBUG: types.MessageType.Log,
}
_WITH_ANSWER = frozenset(
    request.METHOD
    for request in REQUESTS
    if request.METHOD not in types.METHOD_TO_TYPES  # our own are all requests
    or types.METHOD_TO_TYPES[request.METHOD][1] is not None
)
