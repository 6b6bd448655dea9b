"""horovodize/workspaceSummary: what trains in the workspace, folder by folder, file by file: `{"complete", "folders": [{"uri",
"name", "files"}]}`, files as `summaries` has them, by path. Open documents are as they are in the editor, others as they are on
disk; files that train nothing are left out. `complete` is false while folders are still being read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from horovodize.lsp.summaries import file_json, summary_of, uri_of, wanted

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = "horovodize/workspaceSummary"
OPTIONS = None


def handle(server: HorovodizeServer, params: Any) -> dict[str, Any]:
    session, background = server.session, server.index
    folders = []
    for folder in background.folders:
        files = {
            uri_of(session, path): wanted(summary, background.settings_of(path))
            for path, summary in background.summaries(folder.path)
        }
        for opened in session.documents:
            if background.holds(folder.path, opened):
                files[opened.uri] = wanted(summary_of(session, opened), opened.settings)
        shown = [file_json(session, files[uri], uri) for uri in sorted(files) if files[uri].counts]
        folders.append({"uri": folder.uri, "name": folder.name, "files": shown})
    return {"complete": background.complete, "folders": folders}
