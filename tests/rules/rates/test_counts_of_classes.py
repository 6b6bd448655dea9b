"""C5, G5: a count of steps that a class has is one number, by whatever its methods and objects call the class."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
opt = tf.keras.optimizers.SGD(0.1)
data = tf.data.Dataset.range(64).map(lambda i: tf.cast([i], tf.float32)).batch(4)
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
CLASS = """\
class Run:
    done = 0
    {decorator}def rate({first}):
        return 0.1 / (1 + {read} / 20)
class Other:
    done = 0
run = Run()
for epoch in range(3):
    for x in data:
        opt.learning_rate = {asked}.rate()
        train(x)
        {counted} += 1
"""
READ = [
    ("@classmethod\n    ", "cls", "cls.done", "Run"),
    ("", "self", "self.done", "run"),
    ("", "self", "type(self).done", "run"),
    ("", "self", "self.__class__.done", "run"),
    ("@staticmethod\n    ", "", "Run.done", "run"),
]


@pytest.mark.parametrize(("decorator", "first", "read", "asked"), READ)
def test_a_count_by_the_name_of_the_class(decorator: str, first: str, read: str, asked: str) -> None:
    source = CLASS.format(decorator=decorator, first=first, read=read, asked=asked, counted="Run.done")
    assert f"return 0.1 / (1 + {read} * hvd.size() / 20)" in plan_of(HEAD + source).text


@pytest.mark.parametrize(("decorator", "first", "read", "asked"), READ)
def test_a_count_of_another_class(decorator: str, first: str, read: str, asked: str) -> None:
    source = CLASS.format(decorator=decorator, first=first, read=read, asked=asked, counted="Other.done")
    assert f"return 0.1 / (1 + {read} / 20)" in plan_of(HEAD + source).text
