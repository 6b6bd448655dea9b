"""workspace/symbol: training loops of open documents."""

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
