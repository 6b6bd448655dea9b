"""G5: variables that count steps in floats."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
class Own(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.net, self.slow = tf.keras.layers.Dense(1), tf.keras.layers.Dense(1)
        self.n = tf.Variable({begin}, trainable=False)
        self.sums = [tf.Variable(tf.zeros((4, 1)), trainable=False)]
    def call(self, x):
        return self.net(x)
    def sync(self):
        for a, b in zip(self.slow.variables, self.net.variables):
            a.assign(b)
    def apply(self):
        self.optimizer.apply_gradients(zip([s / 4.0 for s in self.sums], self.net.trainable_variables))
        for s in self.sums:
            s.assign(tf.zeros_like(s))
    def train_step(self, data):
        a, b = data
        self.n.assign_add({by})
        weight = tf.minimum(1.0, {weight})
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(a) - b - self.slow(a))) * weight
        g = tape.gradient(loss, self.net.trainable_variables)
        for s, k in zip(self.sums, g):
            s.assign_add(k)
        {then}
        return {{"loss": loss}}
model = Own()
model.compile(tf.keras.optimizers.SGD(0.1))
model.fit(x, y, batch_size=16, epochs=5)
"""
DUE = "tf.cond(tf.equal(self.n % 4.0, 0.0), self.apply, lambda: None)"
STEP = "self.optimizer.apply_gradients(zip(g, self.net.trainable_variables))\n        "


def distributed(then: str, begin: str = "0.0", by: str = "1.0", weight: str = "self.n / 900.0") -> str:
    return plan_of(PROGRAM.format(then=then, begin=begin, by=by, weight=weight)).text


def test_batches_that_are_added_up_stay_as_many() -> None:
    """On two ranks a step was taken with every second of them, by half of the gradients."""
    text = distributed(DUE)
    assert "self.n.assign_add(1.0)" in text
    assert DUE in text
    assert "tf.minimum(1.0, self.n * hvd.size() / 900.0)" in text


@pytest.mark.parametrize(
    ("event", "after"),
    [
        ("tf.cond(tf.equal(self.n % 100.0, 0.0), self.sync, lambda: None)", "self.n % max(1, 100.0 // hvd.size())"),
        ("if self.n % 100 == 0:\n            self.sync()", "if self.n % max(1, 100 // hvd.size()) == 0:"),
        ("tf.cond(tf.equal(tf.math.floormod(self.n, 100.0), 0.0), self.sync, lambda: None)", "max(1, 100.0 // hvd.size())"),
    ],
)  # fmt: skip
def test_what_comes_every_so_many_steps_comes_as_often_for_the_rows(event: str, after: str) -> None:
    assert after in distributed(STEP + event)


def test_a_number_that_nothing_asks_for_its_steps_goes_on_as_fast() -> None:
    text = distributed(STEP + "pass")
    assert "self.n.assign_add(1.0 * hvd.size())" in text
    assert "self.n / 900.0" in text


def test_what_goes_on_by_another_number_is_no_count() -> None:
    text = distributed(STEP + "if self.n % 100 == 0:\n            self.sync()", by="0.5")
    assert "self.n.assign_add(0.5 * hvd.size())" in text


def test_whole_numbers_count_likewise() -> None:
    text = distributed(DUE.replace("4.0, 0.0", "4, 0"), "0", "1", "tf.cast(self.n, tf.float32) / 900.0")
    assert "self.n.assign_add(1)" in text
    assert "tf.cast(self.n, tf.float32) * hvd.size() / 900.0" in text


HELD = """\
import keras
import numpy as np
import tensorflow as tf
from keras import ops
x, y = np.load("x.npy"), np.load("y.npy")
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.layers.Dense(1)
        self.n = {made}
        self.weight = keras.Variable(0.0, trainable=False)
    def ramp(self):
        self.weight.assign(ops.minimum(1.0, ops.cast(self.n, "float32") / 900.0))
        return self.weight
    def train_step(self, data):
        a, b = data
        {by}
        {then}
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.square(self.net(a) - b)) * {weight}
        self.optimizer.apply(tape.gradient(loss, self.net.trainable_variables), self.net.trainable_variables)
        return {{"loss": loss}}
model = Own()
model.compile(keras.optimizers.SGD(0.1))
model.fit(x, y, batch_size=16, epochs=5)
"""
ROWS = "ops.cast(ops.shape(a)[0], 'int64')"
FLOAT, WHOLE = (
    "keras.Variable(0.0, trainable=False)",
    "self.add_weight(shape=(), initializer='zeros', dtype='int64', trainable=False)",
)
SET = "self.weight.assign(ops.minimum(1.0, ops.cast(self.n, 'float32') / 900.0))"


@pytest.mark.parametrize(
    ("made", "by", "then", "weight", "after"),
    [
        (FLOAT, "self.n.assign_add(1.0)", SET, "self.weight", "self.n.assign_add(1.0 * hvd.size())"),
        (
            FLOAT,
            "self.n.assign(self.n + 1.0)",
            SET,
            "self.weight",
            "self.n.assign(self.n + 1.0 * hvd.size())",
        ),
        (FLOAT, "self.n.assign_add(1.0)", "pass", "self.ramp()", "self.n.assign_add(1.0 * hvd.size())"),
        (
            FLOAT,
            "self.n.assign_add(1.0)",
            "self.ramp()",
            "self.weight",
            "self.n.assign_add(1.0 * hvd.size())",
        ),
        (WHOLE, f"self.n.assign_add({ROWS})", SET, "self.weight", f"self.n.assign_add({ROWS} * hvd.size())"),
    ],
)
def test_what_sets_a_weight_of_the_loss_goes_on_as_fast(
    made: str, by: str, then: str, weight: str, after: str
) -> None:
    """The weight is kept in a variable of its own: on two ranks it grew half as fast for the rows."""
    text = plan_of(HELD.format(made=made, by=by, then=then, weight=weight)).text
    assert f"        {after}\n" in text
    assert "* hvd.size() / 900.0" not in text


def test_a_whole_count_is_told_where_it_is_read() -> None:
    text = plan_of(HELD.format(made=WHOLE, by="self.n.assign_add(1)", then=SET, weight="self.weight")).text
    assert "self.n.assign_add(1)\n" in text
    assert "ops.cast(self.n, 'float32') * hvd.size() / 900.0" in text


@pytest.mark.parametrize("then", [SET, "self.ramp()"])
def test_what_no_loss_goes_by_stays(then: str) -> None:
    text = plan_of(HELD.format(made=FLOAT, by="self.n.assign_add(1.0)", then=then, weight="1.0")).text
    assert "self.n.assign_add(1.0)\n" in text
