"""Code lenses: what stands above a training loop."""

from __future__ import annotations

import pytest
from lsprotocol import types

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

pytestmark = pytest.mark.asyncio(loop_scope="session")

REFUSED = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
"""

OPTIMISED = """\
import numpy as np
import tensorflow as tf

rows = np.load("rows.npy")
image = tf.Variable(tf.ones((64, 4)))
opt = tf.keras.optimizers.SGD(0.1)
for step in range(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((image - 3.0) ** 2)
    opt.apply_gradients([(tape.gradient(loss, image), image)])
"""


def titles(lenses: list[types.CodeLens]) -> list[str]:
    return [lens.command.title for lens in lenses if lens.command]


async def test_kind_and_command_above_a_loop(editor, keras):
    uri = await editor.open(keras)
    loop, command = await editor.lenses(uri)
    assert loop.range == command.range
    assert editor.text_at(uri, loop.range).startswith("model.fit(")
    assert (loop.command.title, loop.command.command) == ("Keras training loop: runs in one process", "")
    assert (command.command.title, command.command.command) == (
        "Distribute with Horovod",
        "horovodize.distribute",
    )
    assert list(command.command.arguments) == [{"uri": uri, "version": 1}]


async def test_the_command_of_a_lens_distributes(vscode, tape):
    uri = await vscode.open(tape)
    _, lens = await vscode.lenses(uri)
    vscode.asked_to_apply.clear()
    assert await vscode.command(lens.command.command, *lens.command.arguments) is None
    (asked,) = vscode.asked_to_apply
    plan = distribute(summarize(Document(tape)), Options())
    assert isinstance(plan, Plan)
    assert vscode.edited(asked.edit) == {uri: plan.text}


async def test_findings_are_counted(editor, chosen, printed):
    assert titles(await editor.lenses(await editor.open(chosen.text))) == [
        "Keras training loop: runs in one process, 1 finding",
        "Distribute with Horovod",
    ]
    assert titles(await editor.lenses(await editor.open(printed.text)))[0].endswith(", 1 finding")


async def test_distributed_loops_say_so(editor, keras):
    plan = distribute(summarize(Document(keras)), Options())
    assert isinstance(plan, Plan)
    uri = await editor.open(plan.text)
    assert titles(await editor.lenses(uri)) == ["Keras training loop: distributed already"]


async def test_refused_loops_say_why(editor):
    (title,) = titles(await editor.lenses(await editor.open(REFUSED)))
    assert title.startswith("Keras training loop: can't be distributed: ")
    assert "MirroredStrategy" in title


async def test_while_the_file_does_not_parse_nothing_is_offered(editor, keras):
    uri = await editor.open(keras)
    editor.type(uri, "import tensorflow as tf", "import tensorflow as tf\nx = (")
    (lens,) = await editor.lenses(uri)
    assert editor.text_at(uri, lens.range).startswith("model.fit(")
    assert lens.command.title == "Keras training loop: the file does not parse"


async def test_lenses_come_with_their_texts(editor, keras, printed):
    """What has to be asked for later stays empty in an editor whose question came too late."""
    for text in (keras, REFUSED, printed.text):
        uri = await editor.open(text)
        params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
        lenses = await editor.text_document_code_lens_async(params)
        assert lenses
        assert all(lens.command.title for lens in lenses)
    assert not editor.server_capabilities_.code_lens_provider.resolve_provider


async def test_while_somebody_types_lenses_say_what_they_said_and_are_asked_for_again(vscode):
    uri = await vscode.open(OPTIMISED)
    before = titles(await vscode.lenses(uri))
    assert "no rows come" in before[0]
    vscode.refreshed.clear()
    vscode.type(uri, "image - 3.0", "image - rows")
    assert titles(await vscode.lenses(uri))[0] == before[0]
    await vscode.until(lambda: types.WORKSPACE_CODE_LENS_REFRESH in vscode.refreshed)
    assert "sees the same data" in titles(await vscode.lenses(uri))[0]


async def test_a_client_that_is_not_asked_again_is_told_at_once(minimal):
    uri = await minimal.open(OPTIMISED)
    assert "no rows come" in titles(await minimal.lenses(uri))[0]
    minimal.type(uri, "image - 3.0", "image - rows")
    assert "sees the same data" in titles(await minimal.lenses(uri))[0]


async def test_no_loop_no_lens(editor):
    assert await editor.lenses(await editor.open("import tensorflow as tf\n")) == []
    assert await editor.lenses("file:///project/never_opened.py") == []
