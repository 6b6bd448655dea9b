"""initialize: who the client is and what it can do. The answer itself is put together by pygls from what is
registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp import protocol_types
from horovodize.lsp.analysis import load_for_actions, load_for_diagnostics
from horovodize.lsp.capabilities import Capabilities
from horovodize.lsp.closed_files import ClosedFiles
from horovodize.lsp.configuration import Configuration
from horovodize.lsp.garbage import keep_what_is_loaded
from horovodize.lsp.parent import exit_with
from horovodize.lsp.project_files import folders_of
from horovodize.lsp.session import Session
from horovodize.lsp.summary_news import SummaryNews
from horovodize.source import PositionEncoding

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.INITIALIZE
OPTIONS = None


def handle(server: HorovodizeServer, params: types.InitializeParams) -> None:
    server.session = Session(
        Capabilities.of(params.capabilities), PositionEncoding(server.workspace.position_encoding or "utf-16")
    )
    server.session.runners, server.session.may_run = server.index.runners, server.index.may_run_others
    folders = folders_of(server.workspace)
    server.session.disk.serve(folders)
    server.configuration = Configuration(params.initialization_options)
    server.configuration.follow(folders)
    server.closed_files = ClosedFiles(server)
    server.news = SummaryNews(server, params.initialization_options)
    if (info := params.client_info) is not None:
        server.client_name = f"{info.name} {info.version or ''}".rstrip()
    if params.trace is not None:
        server.protocol.trace = types.TraceValue(params.trace)
    if params.process_id is not None:
        exit_with(params.process_id)
    # While the client reads the answer, what the first document needs is loaded, in steps: a message waits for one at most.
    # What is given up first makes room for that.
    for step in (_give_up, load_for_diagnostics, load_for_actions, keep_what_is_loaded):
        server.when_idle(step, step)


def _give_up() -> None:
    protocol_types.drop_leftovers()
