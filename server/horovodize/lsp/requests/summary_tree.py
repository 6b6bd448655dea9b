"""horovodize/summaryTree: what trains in the workspace, folder by folder, module by module, loop by loop. Open documents are as
they are in the editor, others as they are on disk.

The answer: `[{"uri", "indexed", "modules": [{"uri", "path", "distributed", "problem", "loops": [{"kind", "line", "function",
"model", "optimizer"}], "restrictions": [{"code", "message", "line"}]}]}]`. `indexed` is false while the folder is still being
read; lines count from 0, as everywhere in the protocol."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pygls.uris import from_fs_path

from horovodize.source import Document

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer
    from horovodize.workspace import FileSummary

METHOD = "horovodize/summaryTree"
OPTIONS = None


def handle(server: HorovodizeServer, params: Any) -> list[dict[str, Any]]:
    background = server.index
    if background.index is None:
        return []
    from horovodize.workspace.file_summary import summarize_document

    buffers: dict[str, FileSummary] = {
        opened.document.path: summarize_document(opened.document, opened.settings.options)
        for opened in server.session.documents
        if type(opened.document) is Document
    }
    answer = []
    for folder in background.index.folders:
        modules = dict(background.index.modules(folder))
        inside = folder.rstrip(os.sep) + os.sep
        modules |= {path: summary for path, summary in buffers.items() if path.startswith(inside)}
        shown = sorted((path, s) for path, s in modules.items() if s.trains or s.problem)
        answer.append(
            {
                "uri": from_fs_path(folder),
                "indexed": background.complete,
                "modules": [_module(path, folder, summary) for path, summary in shown],
            }
        )
    return answer


def _module(path: str, folder: str, summary: FileSummary) -> dict[str, Any]:
    data = summary.to_json()
    for entry in (*data["loops"], *data["restrictions"]):
        entry["line"] -= 1
    return {"uri": from_fs_path(path), "path": os.path.relpath(path, folder).replace(os.sep, "/"), **data}
