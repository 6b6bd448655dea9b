"""workspace/symbol: training loops of open documents, and of the files of the workspace."""

from __future__ import annotations

import pytest
from lsprotocol import types


async def symbols(editor, query: str) -> list[types.WorkspaceSymbol]:
    answer = await editor.workspace_symbol_async(types.WorkspaceSymbolParams(query))
    return list(answer or [])


@pytest.mark.parametrize("client", ["vscode", "neovim-new", "minimal"])
async def test_loops_of_open_documents(fresh, client_named, keras, tape, client):
    await fresh.begin(client_named(client))
    uris = [await fresh.open(text) for text in (keras, tape)]
    function = (
        "import tensorflow as tf\ndef train(model):\n    model = tf.keras.Model()\n    model.fit(x, y)\n"
    )
    uris.append(await fresh.open(function))
    found = await symbols(fresh, "")
    assert [(s.name, s.location.uri, s.container_name) for s in found] == [
        ("Keras training loop", uris[0], None),
        ("GradientTape training loop", uris[1], None),
        ("Keras training loop", uris[2], "train"),
    ]
    assert fresh.text_at(uris[1], found[1].location.range) == "for x, y in dataset"
    assert [s.location.uri for s in await symbols(fresh, "grad")] == [uris[1]]
    assert [s.location.uri for s in await symbols(fresh, "KTL train")] == [uris[2]]
    assert await symbols(fresh, "pytorch") == []
    fresh.close(uris[0])
    assert [s.location.uri for s in await symbols(fresh, "keras")] == [uris[2]]


@pytest.mark.parametrize("client", ["vscode", "neovim-new", "minimal"])
async def test_loops_of_files(fresh, client_named, keras, tape, client, tmp_path):
    (tmp_path / "train.py").write_text(keras)
    (tmp_path / "tape.py").write_text(tape)
    await fresh.begin(
        client_named(client), workspace_folders=[types.WorkspaceFolder(tmp_path.as_uri(), "workspace")]
    )
    await fresh.indexed()
    uri = await fresh.open(keras, (tmp_path / "train.py").as_uri())
    fresh.type(uri, "import tensorflow as tf\n", "import tensorflow as tf\n\n\n")
    found = await symbols(fresh, "")
    assert [(s.name, s.location.uri, s.location.range.start.line) for s in found] == [
        ("GradientTape training loop", (tmp_path / "tape.py").as_uri(), 5),
        ("Keras training loop", uri, 8),
    ]
