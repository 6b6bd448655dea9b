"""Documents that are no files: untitled ones, those of a version control or of a file system far away."""

from __future__ import annotations

import pytest
from lsprotocol import types

URIS = [
    "untitled:Untitled-7",
    "git:/project/train.py?%7B%22ref%22%3A%22HEAD%22%7D",
    "vscode-vfs://github/owner/repository/train.py",
    "jdt://contents/train.py?=a/b#c",
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOROVODIZE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("client", ["vscode", "neovim-new", "minimal"])
@pytest.mark.parametrize("uri", URIS)
async def test_every_feature(fresh, client_named, keras, client, uri):
    await fresh.begin(client_named(client), initialization_options={"inlayHints": True})
    assert await fresh.open(keras, uri) == uri
    assert [d.code for d in await fresh.diagnostics_of(uri)] == ["HVD001"]
    assert "Keras training loop" in await fresh.hover(uri, "model.f‸it(")
    assert [lens.command.title for lens in await fresh.lenses(uri)] == [
        "Keras training loop: runs in one process",
        "Distribute with Horovod",
    ]
    (action, *_) = await fresh.actions(uri, "model.‸fit(")
    (previewed,) = await fresh.command("horovodize.preview", uri)
    assert previewed["uri"] == uri
    assert fresh.edited(await fresh.edit_of(action)) == {uri: previewed["newText"]}
    (symbol,) = await fresh.workspace_symbol_async(types.WorkspaceSymbolParams(""))
    assert symbol.location.uri == uri


async def test_what_is_called_as_a_file_is_not_that_file(fresh, client_named, keras, tape, tmp_path):
    """An earlier version of a script beside it: neither takes the other's place."""
    path = tmp_path / "train.py"
    path.write_text(tape)
    await fresh.begin(
        client_named("vscode"), workspace_folders=[types.WorkspaceFolder(tmp_path.as_uri(), "work")]
    )
    await fresh.indexed()
    earlier = await fresh.open(keras, path.as_uri().replace("file://", "git:") + "?HEAD")
    assert "Keras" in await fresh.hover(earlier, "model.f‸it(")
    answer = await fresh.protocol.send_request_async("horovodize/workspaceSummary", {})
    (file,) = answer.folders[0].files
    assert (file.uri, file.loops[0].kind) == (path.as_uri(), "GradientTape")
