"""G4: metrics that a loop of one's own tells callbacks that steer are those of all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(480).batch(24)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(5,))])
loss_fn = tf.keras.losses.MeanSquaredError()
opt = tf.keras.optimizers.SGD(0.01)
mean, error = tf.keras.metrics.Mean(name="loss"), tf.keras.metrics.Mean(name="error")
{made}
for epoch in range(10):
    mean.reset_state()
    for a, b in train:
        with tf.GradientTape() as tape:
            loss = loss_fn(b, model(a, training=True))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        mean.update_state(loss)
    {told}
"""
PLATEAU = 'told = tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=2)\ntold.set_model(model)'
STOPPING = "told = tf.keras.callbacks.CallbackList([tf.keras.callbacks.EarlyStopping('loss')], model=model)"
SCHEDULER = "told = tf.keras.callbacks.LearningRateScheduler(lambda e: 0.01 if e < 3 else 0.001)\ntold.set_model(model)"
OWN = """\
class Shows(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(epoch, logs)
told = Shows()"""


@pytest.mark.parametrize("made", [PLATEAU, STOPPING])
@pytest.mark.parametrize(
    ("told", "averaged"),
    [
        (
            'told.on_epoch_end(epoch, {"loss": mean.result()})',
            'told.on_epoch_end(epoch, {"loss": mean_over_ranks(mean.result())})',
        ),
        (
            "told.on_epoch_end(epoch, logs=dict(loss=float(mean.result())))",
            "logs=dict(loss=float(mean_over_ranks(mean.result())))",
        ),
        (
            "told.on_epoch_end(epoch, {m.name: m.result().numpy() for m in (mean, error)})",
            "{m.name: mean_over_ranks(m.result()).numpy() for m in (mean, error)}",
        ),
        (
            'logs = {}\n    logs["loss"] = mean.result()\n    told.on_epoch_end(epoch, logs)',
            'logs["loss"] = mean_over_ranks(mean.result())\n    told.on_epoch_end(epoch, logs)',
        ),
        (
            'logs = {"loss": float(mean.result())}\n    told.on_epoch_end(epoch, logs)\n    print(logs)',
            'logs = {"loss": float(mean_over_ranks(mean.result()))}\n    told.on_epoch_end(epoch, logs)',
        ),
        (
            'for each in [told]:\n        each.on_epoch_end(epoch, {"loss": mean.result()})',
            'each.on_epoch_end(epoch, {"loss": mean_over_ranks(mean.result())})',
        ),
    ],
)
def test_callbacks_that_steer_are_told_the_mean(made: str, told: str, averaged: str) -> None:
    """Ranks lowered their rates at different epochs, or some stopped and the others waited for them."""
    plan = plan_of(SOURCE.format(made=made, told=told))
    assert averaged in plan.text
    assert plan.sure


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (OWN, 'told.on_epoch_end(epoch, {"loss": mean.result()})'),
        (SCHEDULER, 'told.on_epoch_end(epoch, {"loss": mean.result()})'),
        (PLATEAU, 'told.on_epoch_end(epoch, {"loss": 1 / (epoch + 1)})'),
        (PLATEAU, 'told.on_epoch_begin(epoch, {"loss": mean.result()})'),
    ],
)
def test_what_does_not_go_by_them_is_left(made: str, told: str) -> None:
    plan = plan_of(SOURCE.format(made=made, told=told))
    assert told in plan.text
    assert plan.sure


def test_metrics_that_are_not_seen_are_asked_about() -> None:
    told = "told.on_epoch_end(epoch, collect(mean))"
    made = f"{PLATEAU}\nfrom elsewhere import collect"
    assert not plan_of(SOURCE.format(made=made, told=told)).sure
