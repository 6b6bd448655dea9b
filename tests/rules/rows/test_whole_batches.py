"""D1: steps that are written for batches of one size get no smaller one."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf

BATCH = 32
x, y = np.load("x.npy"), np.load("y.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(288).batch({batch})
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)
for a, b in ds:
    with tf.GradientTape() as tape:
        {made}
        loss = tf.reduce_mean((net(a) - b) ** 2)
    w = net.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, w), w))
"""


@pytest.mark.parametrize(
    ("batch", "made"),
    [
        ("BATCH", "a = tf.reshape(a, (BATCH, 4))"),
        ("32", "a = tf.reshape(a, [32, 4])"),
        ("BATCH", "a = tf.ensure_shape(a, (BATCH, 4))"),
        ("BATCH", "eps = tf.random.uniform((BATCH, 1)); a = eps * a"),
        ("BATCH", "noise = tf.random.normal([BATCH, 4]); a = a + 0.1 * noise"),
        ("BATCH", "a = a + tf.zeros((BATCH, 4))"),
        ("batch_size=BATCH", "a = tf.reshape(a, (BATCH, 4))"),
    ],
)
def test_a_smaller_last_batch_is_left_out(batch: str, made: str) -> None:
    """60,000 rows are 1,875 batches of 32; of the half of them that a rank of two takes, the last one has 16, and failed."""
    text = plan_of(SOURCE.format(batch=batch, made=made)).text
    assert f".batch({batch}, drop_remainder=True)" in text


@pytest.mark.parametrize(
    ("batch", "made"),
    [
        ("BATCH", "a = tf.reshape(a, (-1, 4))"),
        ("BATCH", "noise = tf.random.normal([BATCH, 4]); fake = net(noise)"),  # of a size of its own
        ("32", "a = a + tf.zeros((32,))"),  # may be any other number
        ("BATCH", "a = tf.reshape(a, (tf.shape(a)[0], 4))"),
        ("BATCH, drop_remainder=True", "a = tf.reshape(a, (BATCH, 4))"),
    ],
)
def test_one_that_steps_can_take_stays(batch: str, made: str) -> None:
    assert f".batch({batch})" in plan_of(SOURCE.format(batch=batch, made=made)).text


def test_a_row_that_is_shaped_before_batches_are_made_is_none() -> None:
    text = SOURCE.format(batch="32", made="pass").replace(
        ".shuffle(288)", ".map(lambda a, b: (tf.reshape(a, (32, 32, 3)), b))"
    )
    assert ".batch(32)" in plan_of(text).text


TARGETS = """\
real, fake = tf.ones((BATCH, 1)), tf.zeros((BATCH, 1))
ones = tf.ones((BATCH, 1))
entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
net.compile(tf.keras.optimizers.SGD(0.01), "mse")
def noise():
    return tf.random.normal([BATCH, 4])
for a, b in ds:
    {step}
"""
UPDATE = """\
with tf.GradientTape() as tape:
        loss = tf.reduce_mean({loss})
    w = net.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, w), w))
"""


def with_targets(step: str) -> str:
    return plan_of(SOURCE[: SOURCE.index("for a, b")].format(batch="BATCH") + TARGETS.format(step=step)).text


@pytest.mark.parametrize(
    "step",
    [
        "net.train_on_batch(a, ones)",
        "net.train_on_batch(x=a, y=np.ones((BATCH, 1)))",
        UPDATE.format(loss="entropy(ones, net(a))"),
        UPDATE.format(loss="tf.keras.losses.mse(tf.zeros((BATCH, 1)), net(a))"),
        UPDATE.format(loss="tf.nn.sigmoid_cross_entropy_with_logits(labels=ones, logits=net(a))"),
    ],
)
def test_targets_of_one_size_for_the_rows_leave_it_out(step: str) -> None:
    assert ".batch(BATCH, drop_remainder=True)" in with_targets(step)


@pytest.mark.parametrize(
    "step",
    [
        "net.train_on_batch(a, b)",
        "net.train_on_batch(a, tf.ones_like(b))",
        "net.train_on_batch(a, b); net.train_on_batch(tf.random.normal([BATCH, 4]), ones)",
        UPDATE.format(loss="entropy(tf.ones_like(b), net(a))"),
    ],
)
def test_targets_of_noise_are_of_its_size(step: str) -> None:
    assert ".batch(BATCH)" in with_targets(step)
