"""What hovers say, to each kind of client."""

from __future__ import annotations

import re

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.source import Document
from horovodize.summary import summarize

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_loop(editor, keras):
    uri = await editor.open(keras)
    hover = await editor.hover(uri, "model.f‸it(")
    assert "Keras training loop" in hover
    assert "Distributing with Horovod would do here:" in hover
    assert "K3: " in hover  # the broadcast callback
    assert "Adam" not in hover
    assert "Weak scaling: each rank trains on batches of its own: rate × size(), steps ÷ size()." in hover


async def test_a_gradient_tape_loop(editor, tape):
    uri = await editor.open(tape)
    hover = await editor.hover(uri, "f‸or x, y in dataset")
    assert "GradientTape training loop" in hover


@pytest.mark.parametrize(
    ("marked", "title", "rule"),
    [
        ("tf.keras.opti‸mizers.SGD(0.1)", "Optimizer", "C5: "),
        ("o‸pt = ", "Optimizer", "C5: "),
        ("o‸pt.apply_gradients", "Optimizer", "C5: "),
        ("mo‸del = tf", "Model", ""),
        ("as ta‸pe:", "Tape", "G1: "),
        ("grads = ta‸pe.gradient", "Tape", "G1: "),
        ("dataset = tf.data.Data‸set", "Dataset", ""),
    ],
)
async def test_a_role(vscode, tape, marked, title, rule):
    uri = await vscode.open(tape)
    hover = await vscode.hover(uri, marked)
    assert hover.startswith(f"**{title}")
    assert rule in hover


async def test_the_import(vscode, tape):
    uri = await vscode.open(tape)
    hover = await vscode.hover(uri, "import tensor‸flow as tf")
    assert hover.startswith("**TensorFlow `tf`**")
    assert "C1: " in hover


async def test_nothing_is_said_about_other_things(editor, keras):
    uri = await editor.open(f"import os\n\ndef helper():\n    return os.sep\n\n{keras}")
    assert await editor.hover(uri, "return o‸s.sep") is None


async def test_markdown_only_for_those_who_read_it(vscode, minimal, keras):
    assert "**" in await vscode.hover(await vscode.open(keras), "model.f‸it(")
    assert "**" not in await minimal.hover(await minimal.open(keras), "model.f‸it(")


async def test_the_reason_of_a_refusal(editor):
    uri = await editor.open(
        "import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        'model.compile("sgd", "mse")\nmodel.fit(tf.ones((8, 1)), tf.ones((8, 1)))\n'
    )
    hover = await editor.hover(uri, "model.f‸it(")
    assert "It can't be distributed as it stands:" in hover
    assert "HVD202" in hover


async def test_at_most_three_changes_each_with_a_link_to_its_reason(vscode, minimal, keras):
    hover = await vscode.hover(await vscode.open(keras), "model.f‸it(")
    changes = [line for line in hover.splitlines() if "[Why](" in line]
    assert 2 <= len(changes) <= 3
    assert all(re.fullmatch(r"- ([A-Z]\d+): .+ \[Why\]\(<file:.+/\1\.md>\)", line) for line in changes)
    assert re.search(r"and \d+ more changes in this file", hover)
    assert "Why" not in await minimal.hover(await minimal.open(keras), "model.f‸it(")


async def test_what_is_to_be_confirmed_is_always_shown(editor):
    """Rows that nothing is known of: dividing them is asked."""
    text = (
        "import tensorflow as tf\n\n\ndef train(x, y):\n"
        "    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        '    model.compile(optimizer=tf.keras.optimizers.Adam(0.001), loss="mse")\n'
        "    model.fit(x, y, batch_size=8, epochs=2)\n"
    )
    hover = await editor.hover(await editor.open(text), "model.f‸it(")
    plan = distribute(summarize(Document(text)), Options())
    doubts = {(change.rule, change.doubt) for change in plan.changes if not change.sure}
    assert doubts
    assert hover.count("To be confirmed:") == len(doubts)


async def test_what_one_should_know_of_the_result(editor, keras):
    stateful = keras.replace("tf.keras.layers.Dense(1)", "tf.keras.layers.LSTM(1, stateful=True)")
    hover = await editor.hover(await editor.open(stateful), "model.f‸it(")
    assert "Note: the model is stateful" in hover
    assert "Note: the model" not in await editor.hover(await editor.open(keras), "model.f‸it(")


async def test_a_change_that_is_made_twice_in_a_line_is_said_once(editor, keras):
    hover = await editor.hover(await editor.open(keras), "model.f‸it(")
    said = [line for line in hover.splitlines() if line.startswith("- ")]
    assert [line for line in said if line.startswith("- D2: ")]
    assert len(said) == len(set(said))


async def test_already_on_horovod(editor, keras):
    uri = await editor.open(
        keras.replace("tf\n", "tf\nimport horovod.tensorflow.keras as hvd\nhvd.init()\n", 1)
    )
    assert "it uses Horovod already" in await editor.hover(uri, "model.f‸it(")


async def test_the_last_version_that_parses(editor, keras):
    uri = await editor.open(f"a = 1\n{keras}")
    before = await editor.hover(uri, "model.f‸it(")
    editor.type(uri, "a = 1\n", "a = (1\nmore and more\n")
    during = await editor.hover(uri, "model.f‸it(")
    assert during.startswith(before)
    assert "as of the last version that parses" in during
    editor.type(uri, "(1\nmore and more", "1")
    assert await editor.hover(uri, "model.f‸it(") == before


async def test_a_file_that_never_parsed_says_why(editor):
    uri = await editor.open("import tensorflow as tf\nx = )\n")
    assert "can't be analysed" in await editor.hover(uri, "x = ‸)")
    assert await editor.hover(uri, "import tensor‸flow") is None


async def test_source_text_is_not_rendered(vscode):
    uri = await vscode.open(
        "import tensorflow as tf\nopts = {'![x](http://y)': tf.keras.optimizers.Adam()}\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "model.compile(opts['![x](http://y)'], 'mse')\nmodel.fit(tf.ones((8, 1)), tf.ones((8, 1)))\n"
    )
    for marked in ("tf.keras.optimizers.A‸dam", "model.f‸it("):
        hover = await vscode.hover(uri, marked)
        assert "![x]" not in hover.replace("`opts['![x](http://y)']`", "")


async def test_the_place_that_is_meant(editor, tape):
    text = tape.replace("import tensorflow as tf\n\n", "import tensorflow as tf\ns = '\u2028🐍é'; ", 1)
    uri = await editor.open(text)
    assert (await editor.hover(uri, "'; mo‸del = tf")).lstrip("*").startswith("Model")


DISTRIBUTED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = tf.range(8.0)[hvd.rank() :: hvd.size()]
if hvd.rank() == 0:
    hvd.broadcast_object(1, root_rank=0)
for step in range(9):
    total = hvd.allreduce(rows)
    if float(tf.reduce_sum(rows)) > 12.5:
        break
"""


async def test_a_collective_says_what_is_exchanged_and_who_comes(vscode):
    uri = await vscode.open(DISTRIBUTED)
    hover = await vscode.hover(uri, "total = hvd.all‸reduce(rows)")
    assert hover.startswith("**Collective `allreduce`**")
    assert "all get the average" in hover
    assert "All ranks come here, and each waits until all of them are in it." in hover
    assert "HVD331: a rank may wait here forever" in hover
    hover = await vscode.hover(uri, "hvd.broad‸cast_object(1")
    assert "All ranks get the object that the root gives." in hover
    assert "Of 3 ranks, only rank 0 comes here" in hover


async def test_a_collective_that_is_left_out_in_one_way_is_come_to_in_another(vscode):
    text = DISTRIBUTED.partition("    total = ")[0]
    later = "    if float(tf.reduce_sum(rows)) > 12.5:\n        break\n    total = hvd.allreduce(rows)\n"
    uri = await vscode.open(text + later)
    hover = await vscode.hover(uri, "total = hvd.all‸reduce(rows)")
    assert "All ranks come here, and each waits until all of them are in it." in hover


async def test_what_is_no_collective_says_nothing_of_ranks(vscode):
    uri = await vscode.open(DISTRIBUTED)
    assert "Collective" not in (await vscode.hover(uri, "rows = tf.ra‸nge") or "")
    assert "Collective" not in (await vscode.hover(uri, "hvd.si‸ze()") or "")
