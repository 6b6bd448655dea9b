"""horovodize.distributeWorkspace: distributes every script of the workspace, or of the folders whose URIs are given, or the
scripts whose URIs are given, by one edit. Tells how far it is, can be cancelled.

The answer: `{"scripts": [uri], "distributed": [uri], "toConfirm": [reason], "refused": [reason], "unchanged": [uri]}`: the
scripts that have changes, and all files that are changed; a reason is `{"uri", "code", "message", "location"}`, of changes that
were made and are to be looked at, or of what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.uris import to_fs_path

from horovodize.lsp.convert import to_range
from horovodize.lsp.progress import Work
from horovodize.lsp.session import OpenDocument
from horovodize.lsp.summaries import uri_of
from horovodize.lsp.workspace_distribution import Distribution, Script, distribute_all, read_script
from horovodize.lsp.workspace_edit import plans_edit
from horovodize.paths import is_below, is_same
from horovodize.plan import Reason
from horovodize.source import Document

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

_TITLE = "Distribute the workspace with Horovod"


def run(server: HorovodizeServer, arguments: Sequence[Any], work: Work) -> dict[str, Any]:
    """Raises JsonRpcException for a client that applies no edits."""
    session = server.session
    if not session.client.applies_edits:
        raise JsonRpcException("the client applies no edits of the server", types.LSPErrorCodes.RequestFailed)
    server.index.finish(work)
    found: list[Script] = []
    for path, opened in work.each(_TITLE, list(_files(server, _folders(server, arguments)))):
        options = (
            server.configuration.settings_at(path).options if opened is None else opened.settings.options
        )
        script = read_script(session, path, opened, options)
        if script is not None:
            _ = script.examined.outcome  # all that takes long
            found.append(script)
    result = distribute_all(found)
    work.check()
    if result.plans:
        from horovodize.rules import RULES

        titles = {rule.id: rule.title for rule in RULES.values()}
        plans = [(script.opened, plan) for script, plan in result.plans]
        edit = plans_edit(plans, titles, session.encoding, session.client, session.files.open_as)
        server.apply_edit(edit, _TITLE)
    return _answer(server, result)


def _folders(server: HorovodizeServer, arguments: Sequence[Any]) -> list[str]:
    known = {folder.uri: folder.path for folder in server.index.folders}
    if not arguments:
        return list(known.values())
    paths = [to_fs_path(uri) if isinstance(uri, str) else None for uri in arguments]
    if not all(path and any(_within(path, folder) for folder in known.values()) for path in paths):
        raise JsonRpcInvalidParams(
            "horovodize.distributeWorkspace takes URIs of folders and scripts in the workspace"
        )
    return [path for path in paths if path]


def _within(path: str, folder: str) -> bool:
    return is_same(path, folder) or is_below(path, folder)


def _files(server: HorovodizeServer, folders: Sequence[str]) -> Iterator[tuple[str, OpenDocument | None]]:
    """The scripts to look at: what is known to train, and all open documents."""
    buffers = {
        opened.path: opened for opened in server.session.documents if type(opened.document) is Document
    }
    paths = {path for folder in server.index.folders for path, _ in server.index.summaries(folder.path)}
    for folder in server.index.folders:
        paths |= {
            path for path, opened in buffers.items() if path and server.index.holds(folder.path, opened)
        }
    for path in sorted(paths):
        if any(_within(path, folder) for folder in folders):
            yield path, buffers.get(path)


def _answer(server: HorovodizeServer, result: Distribution) -> dict[str, Any]:
    return {
        "scripts": [uri_of(server.session, script.path) for script, _ in result.plans],
        "distributed": [uri_of(server.session, path) for path in result.distributed],
        "toConfirm": [
            _reason(server, script, Reason(change.rule, change.doubt, change.span), plan.document)
            for script, plan in result.plans
            for change in plan.changes
            if not change.sure
        ],
        "refused": [_reason(server, script, reason, document) for script, reason, document in result.refused],
        "unchanged": [uri_of(server.session, path) for path in result.unchanged],
    }


def _reason(server: HorovodizeServer, script: Script, reason: Reason, document: Document) -> dict[str, Any]:
    return {
        "uri": uri_of(server.session, script.path),
        "code": reason.code,
        "message": reason.message,
        "location": _location(server, script, reason, document),
    }


def _location(server: HorovodizeServer, script: Script, reason: Reason, document: Document) -> dict[str, Any]:
    from horovodize.distribute_project import in_file

    member, span = in_file(document, reason.span)
    range_ = to_range(member, span, server.session.encoding)
    start, end = range_.start, range_.end
    return {
        "uri": uri_of(server.session, member.path if member.path != document.path else script.path),
        "range": {
            "start": {"line": start.line, "character": start.character},
            "end": {"line": end.line, "character": end.character},
        },
    }
