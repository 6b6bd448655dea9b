"""D1: batches of a dataset that a program hands on one for one: the dataset is divided where it is made (P6)."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

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


DRAWN = "import itertools\n" + SCRIPT.replace("{before}", "{before}\nit = {batches}").replace(
    "for i, (a, b) in enumerate({batches}):", "for i in range(1000):\n    a, b = next(it)"
).replace("    if i % 100 == 0:\n        print(loss)\n", "")
FOR_EVER = "def again(data):\n    while True:\n{}"


@pytest.mark.parametrize(
    ("before", "batches"),
    [
        ("", "itertools.cycle(ds)"),
        (FOR_EVER.format("        for batch in data:\n            yield batch"), "again(ds)"),
        (FOR_EVER.format("        yield from data"), "again(ds)"),
        (FOR_EVER.format("        for a, b in ds:\n            yield 2 * a, b"), "again(None)"),
        ("", "map(lambda batch: (batch[0] * 2, batch[1]), ds)"),
    ],
)
def test_a_dataset_that_is_drawn_from_again_and_again_is_divided(before: str, batches: str) -> None:
    """Each rank drew the batches of all, and took its own of them."""
    text = plan_of(DRAWN.format(before=before, batches=batches)).text
    assert DIVIDED in text
    assert f"it = {batches}\n" in text
    assert "a, b = next(it)\n" in text


@pytest.mark.parametrize(
    "before",
    [
        "def again(data):\n    for _ in range(3):\n        for batch in data:\n            yield batch",  # three times
        FOR_EVER.format("        for batch in data:\n            yield batch\n        yield first"),
        FOR_EVER.format("        n = len(calls)\n        for a, b in data:\n            yield a * n, b"),
    ],
)
def test_what_goes_through_it_otherwise_is_drawn_for_each_rank(before: str) -> None:
    text = plan_of(DRAWN.format(before=f"first = None\n{before}", batches="again(ds)")).text
    assert DIVIDED not in text
    assert "[next(it) for _ in range(hvd.size())][hvd.rank()]" in text
