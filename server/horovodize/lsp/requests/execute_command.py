"""workspace/executeCommand: runs one of the server's commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from horovodize.lsp.commands import NAMES, command
from horovodize.lsp.progress import Work

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.WORKSPACE_EXECUTE_COMMAND
OPTIONS = types.ExecuteCommandOptions(commands=NAMES, work_done_progress=True)


def handle(server: HorovodizeServer, params: types.ExecuteCommandParams) -> Any:
    named = command(params.command)
    if named is None:
        raise JsonRpcInvalidParams(f"there is no command {params.command!r}")
    return named.run(server, params.arguments or [], Work(server, params.work_done_token))
