"""G4: loops over batches that take one turn, whose batch holds all rows."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

TAPE = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
{kept}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for epoch in range(30):
    for i in range(0, {end}, {size}):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x[i:i + {size}]) - y[i:i + {size}]) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
FEW = "x, y = np.arange(96.0).reshape(24, 4), np.arange(24.0).reshape(24, 1)"
SESSION = """\
import numpy as np
import tensorflow.compat.v1 as tf
rows = np.arange(96.0).reshape(24, 4)
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - 1.0))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range(0, len(rows), {size}):
        session.run(train, {{x: rows[i:i + {size}]}})
"""
GIVEN = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
def batches():
    while True:
        yield x, y
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches(), steps_per_epoch={}, epochs=20)
"""


@pytest.mark.parametrize("end", ["24", "len(x)", "x.shape[0]"])
@pytest.mark.parametrize("size", [24, 32])
def test_all_rows_in_one_turn_come_into_every_step(end: str, size: int) -> None:
    """Every rank trained on all of them, at size() times the rate."""
    text = plan_of(TAPE.format(kept=FEW, end=end, size=size)).text
    assert f"for i in range(0, {end}, {size}):\n" in text
    assert "SGD(0.1)" in text
    assert f"share_rows(x[i:i + {size}])" in text


def test_likewise_in_a_session() -> None:
    text = plan_of(SESSION.format(size=32)).text
    assert "for i in range(0, len(rows), 32):\n" in text
    assert "GradientDescentOptimizer(0.1)" in text


@pytest.mark.parametrize(
    ("kept", "end", "size"),
    [(FEW, "len(x)", 8), (FEW, "2 * len(x)", 32), (FEW, "400", 32), ("", "len(x)", 32)],
)
def test_several_turns_or_unseen_rows_are_divided(kept: str, end: str, size: int) -> None:
    assert "SGD(0.1 * hvd.size())" in plan_of(TAPE.format(kept=kept, end=end, size=size)).text


def test_a_generator_that_gives_one_batch_an_epoch_is_asked_about() -> None:
    """It may give all rows: each rank trained on them, at size() times the rate."""
    assert any("all of the data" in change.doubt for change in plan_of(GIVEN.format(1)).to_confirm)
    assert not plan_of(GIVEN.format(50)).to_confirm
