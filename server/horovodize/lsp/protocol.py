"""pygls' protocol, with three things its way of doing would break: the text of documents, malformed messages,
and messages at the wrong time. Each is an error for that message only."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import JsonRPCNotification, LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

if TYPE_CHECKING:
    from pygls.protocol.json_rpc import RPCMessage

    from horovodize.lsp.connection import HorovodizeServer

_NOTHING = JsonRPCNotification(method="$/nothing", jsonrpc="2.0", params=None)


class Protocol(LanguageServerProtocol):
    """The protocol as this server speaks it."""

    # Not built in: the session keeps the texts (see there why), and its handlers get these messages directly.
    lsp_text_document__did_open = None  # type: ignore[assignment]
    lsp_text_document__did_change = None  # type: ignore[assignment]
    lsp_text_document__did_close = None  # type: ignore[assignment]

    lsp_notebook_document__did_open = None  # type: ignore[assignment]
    lsp_notebook_document__did_change = None  # type: ignore[assignment]
    lsp_notebook_document__did_close = None  # type: ignore[assignment]
    lsp_workspace__execute_command = None  # type: ignore[assignment]

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """The answer as pygls puts it together, less what this client is served in another way."""
        answer = yield from super().lsp_initialize(params)
        cast("HorovodizeServer", self._server).complete(answer.capabilities)
        return answer

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message from its JSON. One that is not as the protocol has it is answered with an error and then
        stands for nothing."""
        if not isinstance(data.get("method", ""), str):
            if "id" in data:
                error = JsonRpcInvalidRequest("the method has to be a string")
                self._send_response(data["id"], error=error.to_response_error())
            return _NOTHING
        if "method" in data and data["method"] not in types.METHOD_TO_TYPES:
            data = {
                "params": None,
                **data,
            }  # of a method that we do not know, pygls asks for parameters to say so
        try:
            message = super().structure_message(data)
        except JsonRpcException as e:
            message = None
            if "id" in data and "method" in data:
                wrong = JsonRpcInvalidParams(
                    f"{data['method']}: the parameters are not as the protocol has them"
                )
                self._send_response(data["id"], error=wrong.to_response_error())
            else:
                self._server.report_server_error(e, type(e))
        return _NOTHING if message is None or isinstance(message, dict) else message

    def handle_message(self, message: RPCMessage) -> None:
        method, number = getattr(message, "method", None), getattr(message, "id", None)
        if method is not None and number is not None:
            error: JsonRpcException | None = None
            if self._shutdown:
                error = JsonRpcInvalidRequest("the server has been shut down")
            elif self._workspace is None and method != types.INITIALIZE:
                error = JsonRpcServerNotInitialized("the first request has to be `initialize`")
            elif self._workspace is not None and method == types.INITIALIZE:
                error = JsonRpcInvalidRequest("the server is initialized already")
            if error is not None:
                self._send_response(number, error=error.to_response_error())
                return
        elif self._workspace is None and method not in (None, types.EXIT):
            return  # notifications before `initialize` are dropped, as the protocol asks
        start = time.perf_counter()
        super().handle_message(message)
        if method is not None and self.trace is not types.TraceValue.Off:
            self._trace(method, number, (time.perf_counter() - start) * 1000, message)

    def _trace(self, method: str, number: object, milliseconds: float, message: object) -> None:
        """Tells a client that traces what was handled, and how long it took; if it wants everything, with the parameters."""
        what = method if number is None else f"{method} ({number})"
        verbose = str(getattr(message, "params", None)) if self.trace is types.TraceValue.Verbose else None
        self.notify("$/logTrace", types.LogTraceParams(f"{what} handled in {milliseconds:.1f} ms", verbose))

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: str | int | None = None,
    ) -> Future[Any]:
        """Asks the client. Who asks hears of an answer, the log of an error, and nobody of what is taken back by `shutdown`."""
        future = super().send_request(method, params, None, msg_id)

        def answered(done: Future[Any]) -> None:
            if done.cancelled():
                return
            try:
                answer = done.result()
                if callback is not None:
                    callback(answer)
            except Exception as e:
                cast("HorovodizeServer", self._server).log_failure(f"what the client answers to {method}", e)

        future.add_done_callback(answered)
        return future

    def cancel(self, number: str | int) -> None:
        """Answers a request that was taken back before it was begun."""
        error = types.ResponseError(types.LSPErrorCodes.RequestCancelled, "cancelled")
        self._send_response(number, error=error)
