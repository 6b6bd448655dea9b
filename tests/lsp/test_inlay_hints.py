"""Inlay hints: off by default; what size() changes, in the range that is asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

from lsprotocol import types

PROJECTS = Path(__file__).parent.parent / "golden" / "projects"


async def hints(editor, uri: str, marked: str) -> list[tuple[str, str]]:
    """The hints in a piece of the text, each with what stands before it in its line."""
    answer = await editor.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(uri), editor.place(uri, marked))
    )
    text = editor.texts[uri]
    ends = [editor.offset(uri, hint.position) for hint in answer or []]
    return [(text[:end].rsplit("\n", 1)[-1], h.label) for end, h in zip(ends, answer or [], strict=True)]


async def test_off_unless_asked_for(fresh, client_named, keras):
    await fresh.begin(client_named("vscode-new"))
    assert fresh.server_capabilities_.inlay_hint_provider is not None
    uri = await fresh.open(keras)
    assert await hints(fresh, uri, keras) == []
    fresh.set_configuration({"inlayHints": True}, section="horovodize")
    fresh.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    while types.WORKSPACE_INLAY_HINT_REFRESH not in fresh.refreshed:
        await fresh.diagnostics_of(uri)
    assert ("opt = tf.keras.optimizers.Adam(0.001", "× size()") in await hints(fresh, uri, keras)


async def test_in_the_range_only_and_not_where_nothing_is_distributed(fresh, client_named, keras):
    await fresh.begin(client_named("neovim-new"), initialization_options={"inlayHints": True})
    uri = await fresh.open(f"s = '🐍é'\n{keras}")
    whole = await hints(fresh, uri, keras)
    assert {label for _, label in whole} == {"× size()", "÷ size()"}
    assert await hints(fresh, uri, "optimizers.Adam(0.001)") == [
        ("opt = tf.keras.optimizers.Adam(0.001", "× size()")
    ]
    fresh.type(uri, "model =", "model = =")
    assert await hints(fresh, uri, "import tensorflow") == []
    assert await hints(fresh, uri, fresh.texts[uri]) == []


async def test_a_tooltip_says_the_rule_and_why(fresh, client_named, keras):
    await fresh.begin(client_named("neovim-new"), initialization_options={"inlayHints": True})
    uri = await fresh.open(keras)
    (hint,) = await fresh.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(uri), fresh.place(uri, "Adam(0.001)"))
    )
    assert hint.tooltip.startswith("C5: ")


async def test_what_several_files_are_scaled_by(fresh, client_named, tmp_path, monkeypatch):
    """In a module, what the script that runs it needs there."""
    monkeypatch.setenv("HOROVODIZE_CACHE_DIR", str(tmp_path / "cache"))
    top = Path(shutil.copytree(PROJECTS / "script_in_subfolder", tmp_path / "top"))
    await fresh.begin(
        client_named("neovim-new"),
        workspace_folders=[types.WorkspaceFolder(top.as_uri(), "top")],
        initialization_options={"inlayHints": True, "exclude": ["*.expected.py"]},
    )
    await fresh.indexed()
    model = top / "src" / "model.py"
    uri = await fresh.open(model.read_text(), model.as_uri())
    found = await hints(fresh, uri, fresh.texts[uri])
    assert {label for _, label in found} == {"learning_rate=0.01 × size()"}
    train = top / "tools" / "train.py"
    uri = await fresh.open(train.read_text(), train.as_uri())
    assert "÷ size()" in {label for _, label in await hints(fresh, uri, fresh.texts[uri])}
