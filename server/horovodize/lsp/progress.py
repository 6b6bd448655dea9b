"""A request's work that takes a while: how far it is, and whether it is still wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

_T = TypeVar("_T")


class Work:
    """The work on the message that is being handled. `token`: where the client wants to hear how far it is; None: nowhere."""

    def __init__(self, server: HorovodizeServer, token: int | str | None = None) -> None:
        self._server = server
        self._token = token if server.session.client.shows_progress else None

    def check(self) -> None:
        """Raises JsonRpcRequestCancelled when the client has taken the request back."""
        if self._server.is_taken_back(self._token):
            raise JsonRpcRequestCancelled("cancelled")

    def each(self, title: str, things: Sequence[_T]) -> Iterator[_T]:
        """The things, one after another, as long as the client wants them. Raises JsonRpcRequestCancelled."""
        self._tell(types.WorkDoneProgressBegin(title, cancellable=True, percentage=0))
        try:
            for done, thing in enumerate(things):
                self.check()
                yield thing
                self._tell(types.WorkDoneProgressReport(percentage=100 * (done + 1) // len(things)))
        finally:
            self._tell(types.WorkDoneProgressEnd())

    def _tell(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        if self._token is not None:
            self._server.progress(types.ProgressParams(self._token, value))
