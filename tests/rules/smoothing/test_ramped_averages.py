"""G7: averages whose decay grows with their updates, which a variable counts, count those of all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import tensorflow as tf

x = tf.random.stateless_normal((1600, 4), (0, 0))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.SGD(0.1)


class Average:
    def __init__(self):
        self.shadow = [tf.Variable(v, trainable=False) for v in model.trainable_variables]
        self.n = tf.Variable({first}, trainable=False)

    def update(self):
        self.n.assign_add({one})
        d = tf.minimum(0.99, {ramp})
        for s, v in zip(self.shadow, model.trainable_variables):
            s.assign_sub((1.0 - d) * (s - v))


average = Average()
for row in tf.data.Dataset.from_tensor_slices(x).batch(20):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(row) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    average.update()
"""


@pytest.mark.parametrize(
    ("first", "one", "ramp", "told"),
    [
        (
            "0.0",
            "1.0",
            "(1.0 + self.n) / (10.0 + self.n)",
            "(1.0 + self.n * hvd.size()) / (10.0 + self.n * hvd.size())",
        ),
        ("0.5", "0.5", "self.n / (2.0 + self.n)", "self.n / (2.0 + self.n)"),  # a weight that grows
    ],
)
def test_a_ramp_goes_by_the_updates_of_all_ranks(first: str, one: str, ramp: str, told: str) -> None:
    text = plan_of(PROGRAM.format(first=first, one=one, ramp=ramp)).text
    assert f"d = tf.minimum(0.99, {told})" in text
    assert "(1.0 - d ** hvd.size()) * (s - v)" in text
