"""D1: batches of a dataset that a program hands on one for one: the dataset is divided where it is made (P6)."""

from __future__ import annotations

import pytest

from .pairs import plan_of

SCRIPT = """\
import tensorflow as tf
x, y = tf.ones((800, 4)), tf.ones((800, 1))
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
calls = []
def noted(batch):
    global calls
    calls = [batch]
    return batch
{before}
for i, (a, b) in enumerate({batches}):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if i % 100 == 0:
        print(loss)
"""
DIVIDED = "from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank())"
YIELDING = "def prepared(data):\n    for a, b in data:\n{}"


@pytest.mark.parametrize(
    ("before", "batches"),
    [
        ("", "map(lambda batch: (batch[0] * 2, batch[1]), ds)"),
        ("def twice(batch):\n    return batch[0] * 2, batch[1]", "map(twice, ds)"),
        ("", "((a * 2, b) for a, b in ds)"),
        (YIELDING.format("        c = a * 2\n        yield c, b"), "prepared(ds)"),
        (YIELDING.format("        yield a * 2, b"), "prepared(data=ds)"),
    ],
)
def test_the_dataset_is_divided(before: str, batches: str) -> None:
    """Each rank read and prepared all batches, and took its own of them."""
    text = plan_of(SCRIPT.format(before=before, batches=batches)).text
    assert DIVIDED in text
    assert f"for i, (a, b) in enumerate({batches}):\n" in text
    assert "if i % max(1, 100 // hvd.size()) == 0" in text


@pytest.mark.parametrize(
    ("before", "batches"),
    [
        ("", "map(noted, ds)"),  # keeps something
        ("", "((a * 2, b) for a, b in ds if a[0, 0] > 0)"),  # not each of them
        (YIELDING.format("        if a[0, 0] > 0:\n            yield a, b"), "prepared(ds)"),
        (YIELDING.format("        yield a, b\n        yield -a, b"), "prepared(ds)"),
        (
            "def prepared(data):\n    kept = 0.0\n    for a, b in data:\n"
            "        kept = 0.9 * kept + a\n        yield kept, b",
            "prepared(ds)",
        ),
        (
            "def prepared(data):\n    n = 0\n    for a, b in data:\n        n += 1\n        yield a * n, b",
            "prepared(ds)",
        ),
    ],
)
def test_what_is_more_than_each_batch_by_itself_is_dealt_out(before: str, batches: str) -> None:
    text = plan_of(SCRIPT.format(before=before, batches=batches)).text
    assert DIVIDED not in text
    assert f"shard_batches({batches})" in text
