"""What size() does to the numbers of a script, as a plan has it."""

from __future__ import annotations

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.scaling import scaled
from horovodize.source import Document
from horovodize.summary import summarize

KERAS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD({rate}), "mse")
model.fit({data})
"""


def shown(text: str, **options: bool) -> list[tuple[str, str]]:
    """The texts, each with what stands before it in its line."""
    plan = distribute(summarize(Document(text)), Options(**options))
    assert isinstance(plan, Plan)
    return [(text[: s.offset].rsplit("\n", 1)[-1], s.text) for s in scaled(plan)]


def test_a_rate_grows_and_steps_are_divided() -> None:
    text = KERAS.format(rate="0.1", data="data.repeat(), steps_per_epoch=100, epochs=3")
    text = text.replace("model.fit", "data = tf.data.Dataset.range(9).batch(2)\nmodel.fit")
    assert shown(text) == [
        ("model.compile(tf.keras.optimizers.SGD(0.1", "× size()"),
        ("data = tf.data.Dataset.range(9)", "÷ size()"),
        ("data = tf.data.Dataset.range(9).batch(2", "× size()"),
        ("model.fit(data.repeat(), steps_per_epoch=100", "÷ size()"),
    ]


def test_a_rate_that_is_not_written_is_shown_where_it_would_be() -> None:
    text = KERAS.format(rate="", data="data.repeat(), steps_per_epoch=100")
    text = text.replace("model.fit", "data = tf.data.Dataset.range(9).batch(2)\nmodel.fit")
    assert ("model.compile(tf.keras.optimizers.SGD()", "learning_rate=0.01 × size()") in shown(text)


def test_batches_of_divided_data_add_up() -> None:
    text = (
        "import tensorflow as tf\n"
        "x, y = load()\n"
        "train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10).batch(32)\n"
        "test = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        'model.compile(tf.keras.optimizers.SGD(0.1), "mse")\n'
        "model.fit(train)\n"
        "model.evaluate(test)\n"
    )
    assert shown(text) == [
        ("train = tf.data.Dataset.from_tensor_slices((x, y))", "÷ size()"),
        ("train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10).batch(32", "× size()"),
        ("model.compile(tf.keras.optimizers.SGD(0.1", "× size()"),
    ]
    assert [text for _, text in shown(text, split_data=False)] == ["× size()"]


def test_arrays_of_fit() -> None:
    text = KERAS.format(rate="0.1", data="x, y, batch_size=32, epochs=2")
    text = text.replace("model.fit", "x, y = load()\nmodel.fit")
    assert ("model.fit(x, y, batch_size=32", "× size()") in shown(text)
    assert ("model.fit(x", "÷ size()") in shown(text)
