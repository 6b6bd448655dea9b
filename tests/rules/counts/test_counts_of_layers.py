"""G5: counts and numbers that layers of the script's own change with each batch, where Keras calls them."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

NOISE = """\
import numpy as np
import tensorflow as tf


class Noise(tf.keras.layers.Layer):
    def build(self, shape):
        self.step = {made}
        self.total = self.add_weight(name="total", shape=(), initializer="zeros", trainable=False)

    def call(self, x, training=None):
        if {when}:
            {does}
        return x


i = tf.keras.Input((8,))
model = tf.keras.Model(i, tf.keras.layers.Dense(1)(Noise()(i)))
{train}
"""
WEIGHT = 'self.add_weight(name="step", shape=(), initializer="zeros", trainable=False)'
FIT = 'model.compile("sgd", "mse")\nmodel.fit(np.load("x.npy"), np.load("y.npy"), batch_size=32)'
LOOP = """\
opt = tf.keras.optimizers.SGD(0.1)
for x, y in tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(8):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))"""
FALLS = (
    "x = x + tf.pow(0.95, self.step) * tf.random.normal(tf.shape(x))\n            self.step.assign_add(1.0)"
)


def text(does: str, made: str = WEIGHT, when: str = "training", train: str = FIT) -> str:
    return plan_of(NOISE.format(does=does, made=made, when=when, train=train)).text


@pytest.mark.parametrize(
    "train", [FIT, LOOP, FIT.replace("fit(", "train_on_batch(").replace(", batch_size=32", "")]
)
def test_noise_that_falls_with_each_batch(train: str) -> None:
    """It fell half as far on two ranks."""
    grows = "self.step.assign_add(1.0 * hvd.size())"
    assert (grows in text(FALLS, train=train)) is ("train_on_batch" not in train)  # which is one batch


@pytest.mark.parametrize("when", ["training", "training is None or training", "True"])
def test_the_same_under_other_tests(when: str) -> None:
    assert "self.step.assign_add(1.0 * hvd.size())" in text(FALLS, when=when)


def test_a_temperature_that_is_made_of_its_last_value() -> None:
    does = (
        "x = tf.nn.softmax(x / self.step)\n            self.step.assign(tf.maximum(0.5, self.step * 0.999))"
    )
    assert "self.step * 0.999 ** hvd.size()" in text(does, made="tf.Variable(1.0, trainable=False)")


def test_the_weight_of_what_is_added_to_the_loss() -> None:
    does = "self.step.assign_add(1.0)\n            self.add_loss(tf.minimum(1.0, self.step / 100) * tf.reduce_mean(x**2))"
    assert "self.step.assign_add(1.0 * hvd.size())" in text(does)


@pytest.mark.parametrize(
    "does",
    [
        # how much was added up, of a rank's own rows
        "self.total.assign_add(tf.reduce_mean(x))\n            self.step.assign_add(1.0)\n"
        "            x = x - self.total / self.step",
        "self.step.assign_add(1.0)",  # nothing is made of it
    ],
)
def test_what_is_no_schedule_stays(does: str) -> None:
    assert "self.step.assign_add(1.0)" in text(does)


def test_a_trained_weight_and_a_layer_of_metrics_stay() -> None:
    assert "self.step.assign_add(1.0)" in text(
        FALLS, made='self.add_weight(name="step", shape=(), initializer="zeros")'
    )
    metric = NOISE.replace("tf.keras.layers.Layer", "tf.keras.metrics.Metric")
    source = metric.format(does=FALLS, made=WEIGHT, when="training", train=FIT).replace("(Noise()(i))", "(i)")
    assert "self.step.assign_add(1.0)" in plan_of(source).text
