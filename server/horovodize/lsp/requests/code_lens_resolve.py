"""codeLens/resolve: the text and the command of a lens, for the version that it was made for and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from horovodize.lsp import distribution
from horovodize.lsp.analysis import NOT_DISTRIBUTED
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
    session = server.session
    match params.data:
        case {"uri": str(uri), "version": int(version), "kind": str(kind), "lens": str(lens)}:
            opened = session.get(uri)
        case _:
            raise JsonRpcInvalidParams("not a lens of this server")
    if opened is None or opened.version != version:
        raise JsonRpcContentModified("the document has changed since")
    if lens == "distribute":
        title = distribution.subject_of(session, opened).title
        params.command = types.Command(title, DISTRIBUTE, arguments=[{"uri": uri, "version": version}])
    elif opened.document.problem is not None:
        params.command = types.Command(f"{kind} training loop: the file does not parse", _NO_COMMAND)
    else:
        params.command = types.Command(_title(session, opened, kind), _NO_COMMAND)
    return params


def _title(session: Session, opened: OpenDocument, kind: str) -> str:
    """Of what kind a loop is, in which script, whether it is or can be distributed, and how many findings the file has."""
    subject = distribution.subject_of(session, opened)
    outcome = subject.outcome
    if isinstance(outcome, Unchanged):
        state = "distributed already"
    elif isinstance(outcome, Refusal):
        state = f"can't be distributed: {_short(subject.obstacle or '')}"
    else:
        state = f"runs in one process, in {subject.name}" if subject.runner else "runs in one process"
    findings = len([v for v in reported(session, opened) if v.code != NOT_DISTRIBUTED])
    counted = f", {findings} finding{'s' if findings > 1 else ''}" if findings else ""
    return f"{kind} training loop: {state}{counted}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
