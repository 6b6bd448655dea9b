"""codeLens/resolve: the text and the command of a lens, for the version that it was made for and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from horovodize.lsp import distribution
from horovodize.lsp.analysis import NOT_DISTRIBUTED, Analysis
from horovodize.lsp.commands import DISTRIBUTE
from horovodize.lsp.diagnostics import reported
from horovodize.lsp.session import OpenDocument, Session
from horovodize.plan import Refusal, Unchanged

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.CODE_LENS_RESOLVE
OPTIONS = None
_LONGEST = 80  # characters of a reason; a lens is one line above the code
_NO_COMMAND = ""  # a text that does nothing


def handle(server: HorovodizeServer, params: types.CodeLens) -> types.CodeLens:
    match params.data:
        case {"uri": str(uri), "version": int(version), "loop": int(index), "lens": str(lens)}:
            opened = server.session.get(uri)
        case _:
            raise JsonRpcInvalidParams("not a lens of this server")
    if opened is None or opened.version != version:
        raise JsonRpcContentModified("the document has changed since")
    shown = opened.shown(opened.settings.options)
    if shown is None or not 0 <= index < len(shown[0].summary.loops):
        raise JsonRpcContentModified("the loop is gone")
    analysis, drift = shown
    if lens == "distribute":
        params.command = types.Command(
            distribution.TITLE, DISTRIBUTE, arguments=[{"uri": uri, "version": version}]
        )
    else:
        kind = analysis.summary.loops[index].kind.label
        state = "the file does not parse" if drift is not None else _state(server.session, opened, analysis)
        params.command = types.Command(f"{kind} training loop: {state}", _NO_COMMAND)
    return params


def _state(session: Session, opened: OpenDocument, analysis: Analysis) -> str:
    """Whether it is or can be distributed, and how many findings there are in the file."""
    outcome = distribution.outcome_of(session, opened)
    if isinstance(outcome, Unchanged):
        state = "distributed already"
    elif isinstance(outcome, Refusal):
        state = f"can't be distributed: {_short(distribution.obstacle(session, opened) or '')}"
    else:
        state = "runs in one process"
    findings = len([v for v in reported(session, opened) if v.code != NOT_DISTRIBUTED])
    return f"{state}, {findings} finding{'s' if findings > 1 else ''}" if findings else state


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
