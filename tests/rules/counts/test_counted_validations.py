"""G5: what layers and losses count with the batches of validation, too."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.load('x.npy'), np.load('y.npy')
"""
LAYER = """\
class Own(tf.keras.layers.Layer):
    def build(self, shape):
        self.seen = self.add_weight(name='seen', shape=(), initializer='zeros', trainable=False)
    def call(self, x, training=None):
{}
model = tf.keras.Sequential([Own(), tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
"""
LOSS = """\
class Own(tf.keras.losses.Loss):
    def __init__(self):
        super().__init__()
        self.seen = tf.Variable({}, trainable=False)
    def call(self, y_true, y_pred):
        {}
        weight = tf.minimum(1.0, tf.cast(self.seen, tf.float32) / 1000)
        return {} * tf.reduce_mean(tf.square(y_true - y_pred), axis=-1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('adam', Own())
"""
FIT = "model.fit(x, y, batch_size=10, epochs=30, validation_data=(x, y))\n"
COUNTS = "self.seen.assign_add(1.0)"
RAMP = f"{COUNTS}\nreturn x * tf.minimum(1.0, self.seen / 1000)"


def asked(code: str) -> list[str]:
    plan = plan_of(HEAD + code)
    found = [c for c in changes(plan, "G5") if c.what == "Count the batches that are trained on"]
    assert all(not c.sure for c in found)
    return [plan.document.text[c.span.start : c.span.end] for c in found]


def layer(body: str) -> str:
    return LAYER.format("".join(f"        {line}\n" for line in body.splitlines()))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (layer(RAMP) + FIT, COUNTS),
        (LOSS.format("0.0", COUNTS, "weight") + FIT, COUNTS),
        (LOSS.format("0", "self.seen.assign_add(1)", "weight") + FIT, "self.seen.assign_add(1)"),
        (
            LOSS.format("1.0", "self.seen.assign(self.seen * 0.999)", "weight") + FIT,
            "self.seen.assign(self.seen * 0.999)",
        ),
        (  # each round of a loop evaluates on all of them
            layer(RAMP)
            + "for i in range(9):\n    model.fit(x, y, batch_size=10)\n    model.evaluate(x, y)\n",
            COUNTS,
        ),
        (
            "seen = tf.Variable(0.0)\n"
            "def own(y_true, y_pred):\n"
            "    seen.assign_add(1.0)\n"
            "    return tf.minimum(1.0, seen / 1000) * tf.reduce_mean(tf.square(y_true - y_pred), axis=-1)\n"
            "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
            "model.compile('adam', loss=own)\n" + FIT,
            "seen.assign_add(1.0)",
        ),
    ],
)
def test_a_count_that_validation_goes_on_with_is_asked(code: str, said: str) -> None:
    assert asked(code) == [said]


@pytest.mark.parametrize(
    "code",
    [
        layer(RAMP) + FIT.replace(", validation_data=(x, y)", ""),  # no validation
        layer(RAMP) + FIT.replace("validation_data=(x, y)", "validation_data=None"),
        layer(RAMP) + FIT.replace("validation_data=(x, y)", "validation_split=0.2"),  # of a rank's own rows
        layer(RAMP) + "model.fit(x, y, batch_size=10, epochs=30)\nmodel.evaluate(x, y)\n",  # after training
        layer(f"if training:\n    {COUNTS}\nreturn x * tf.minimum(1.0, self.seen / 1000)") + FIT,
        layer(
            "self.seen.assign_add(tf.cast(training, tf.float32))\nreturn x * tf.minimum(1.0, self.seen / 1000)"
        )
        + FIT,
        layer(f"{COUNTS}\nreturn x") + FIT,  # looked at only
        layer("self.seen.assign(tf.norm(self.seen * 2.0))\nreturn x * self.seen") + FIT,  # a norm, no count
        layer("self.seen.assign(0.9 * self.seen + 0.1 * self.seen_last)\nreturn x * self.seen").replace(
            "    def call", "        self.seen_last = self.add_weight(name='last', shape=())\n    def call"
        )
        + FIT,  # by another weight
        LOSS.format("0.0", COUNTS, "2.0") + FIT,
        LOSS.format("0.0", "pass", "weight") + FIT,
    ],
)
def test_counts_that_validation_has_no_part_in(code: str) -> None:
    assert asked(code) == []


def test_validation_that_is_divided_alike_counts_as_alone() -> None:
    fit = (
        "ds = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(10)\n"
        "model.fit(ds, steps_per_epoch=100, epochs=3, validation_data=ds, validation_steps=20)\n"
    )
    assert asked(layer(RAMP) + fit) == []
