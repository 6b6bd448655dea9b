"""K1, C5: an optimizer that is made with the settings of one that trains has its rate, which is multiplied once."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.load('x.npy'), np.load('y.npy')
first = tf.keras.optimizers.Adam(0.01)
a = tf.keras.Sequential([tf.keras.layers.Dense(1)])
b = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
FIRST = "a.compile(first, 'mse')\na.fit(x, y, batch_size=16)\n"
SECOND = "b.compile({}, 'mse')\nb.fit(x, y, batch_size=16)\n"
AGAIN = "optimizer.learning_rate = optimizer.learning_rate * hvd.size()"


def text_of(code: str) -> str:
    plan = plan_of(HEAD + code)
    assert bool(plan.to_confirm) is (AGAIN in plan.text)
    return plan.text


@pytest.mark.parametrize(
    "code",
    [
        FIRST + SECOND.format("tf.keras.optimizers.Adam.from_config(first.get_config())"),
        FIRST + SECOND.format("tf.keras.optimizers.Adam(**first.get_config())"),
        FIRST
        + "settings = first.get_config()\n"
        + SECOND.format("tf.keras.optimizers.Adam.from_config(settings)"),
        FIRST + SECOND.format("tf.keras.optimizers.Adam.from_config(a.optimizer.get_config())"),
        "second = tf.keras.optimizers.Adam.from_config(first.get_config())\n"
        + FIRST
        + SECOND.format("second"),
    ],
)
def test_the_rate_of_a_copy_is_scaled_once(code: str) -> None:
    text = text_of(code)
    assert AGAIN not in text
    assert text.count("Adam(0.01 * hvd.size())") == 1
    assert text.count("hvd.DistributedOptimizer(") == 2


@pytest.mark.parametrize(
    "code",
    [
        SECOND.format("tf.keras.optimizers.Adam.from_config(first.get_config())"),  # the first trains nothing
        FIRST
        + "settings = first.get_config()\nsettings['learning_rate'] = 0.1\n"
        + SECOND.format("tf.keras.optimizers.Adam.from_config(settings)"),
        FIRST
        + "settings = first.get_config()\nsettings.update(learning_rate=0.1)\n"
        + SECOND.format("tf.keras.optimizers.Adam.from_config(settings)"),
        FIRST + SECOND.format("tf.keras.optimizers.Adam.from_config({'learning_rate': 0.1})"),
        # all rows in each step: that rate stays, and the copy's doesn't
        FIRST.replace("batch_size=16", "batch_size=len(x)")
        + SECOND.format("tf.keras.optimizers.Adam.from_config(first.get_config())"),
    ],
)
def test_near_misses_are_scaled_and_asked(code: str) -> None:
    assert AGAIN in text_of(code)


@pytest.mark.parametrize("cls", ["type(first)", "first.__class__"])
def test_a_copy_by_the_class_of_the_first_is_wrapped_already(cls: str) -> None:
    code = FIRST + SECOND.format(f"{cls}.from_config(first.get_config())")
    assert f"b.compile({cls}.from_config(first.get_config()), 'mse')" in text_of(code)
    plan = distribute(summarize(Document(HEAD + code)), Options(tensorflow="2.17", comments=False))
    assert isinstance(plan, Plan)
    assert AGAIN not in plan.text
    assert plan.text.count("hvd.DistributedOptimizer(") == 2  # Keras 3 changes an object, not its class


def test_a_copy_whose_gradients_a_tape_gives() -> None:
    loop = """\
second = tf.keras.optimizers.Adam.from_config(first.get_config())
for rows in tf.data.Dataset.from_tensor_slices(x).batch(16):
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean(a(rows) ** 2) + tf.reduce_mean(b(rows) ** 2)
    first.apply_gradients(zip(tape.gradient(loss, a.trainable_variables), a.trainable_variables))
    second.apply_gradients(zip(tape.gradient(loss, b.trainable_variables), b.trainable_variables))
"""
    text = plan_of(HEAD + loop).text
    assert text.count("* hvd.size()") - text.count("// hvd.size() * hvd.size()") == 1
