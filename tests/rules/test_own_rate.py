"""C5, K5: rates that stand beside the optimizer's own, which is multiplied already."""

from __future__ import annotations

import pytest

from .pairs import only, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
x = np.load('x.npy')
class Own(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        {callback}
def rate(epoch, lr):
    {function}
model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
model.compile(tf.keras.optimizers.SGD(0.1), 'mse')
model.fit(x, x, batch_size=10, epochs=30, callbacks=[Own(), tf.keras.callbacks.LearningRateScheduler(rate)])
"""
SET = "K.set_value(self.model.optimizer.lr, {})"


def scaled(callback: str = "pass", function: str = "return lr") -> str:
    text = HEAD.format(
        callback=callback.replace("\n", "\n        "), function=function.replace("\n", "\n    ")
    )
    return only(plan_of(text), "C5", "K5").replace("0.1 * hvd.size()", "0.1")


def same(callback: str = "pass", function: str = "return lr") -> str:
    return HEAD.format(
        callback=callback.replace("\n", "\n        "), function=function.replace("\n", "\n    ")
    )


@pytest.mark.parametrize(
    "callback",
    [
        SET.format("K.get_value(self.model.optimizer.lr) * 0.5"),
        "lr = K.get_value(self.model.optimizer.lr)\n" + SET.format("lr * (1 - 0.5 * epoch / 30)"),
        "lr = K.get_value(self.model.optimizer.lr)\nif epoch > 9:\n    lr = lr / 2\n" + SET.format("lr"),
        "lr = K.get_value(self.model.optimizer.lr)\nif logs['loss'] < 9:\n    lr *= 0.5\n" + SET.format("lr"),
        "lr = max(K.get_value(self.model.optimizer.lr) * 0.5, 0)\n" + SET.format("lr"),
    ],
)
def test_what_is_made_of_the_own_rate_alone_is_left(callback: str) -> None:
    assert scaled(callback) == same(callback)


@pytest.mark.parametrize(
    "function",
    [
        "return lr * 0.9 if epoch > 3 else lr",
        "if epoch < 10:\n    return lr\nreturn lr * np.exp(-0.5)",
        "drop = 0.5\nlr = lr * drop ** (epoch // 10)\nreturn float(lr)",
    ],
)
def test_what_is_made_of_the_given_rate_alone_is_left(function: str) -> None:
    assert scaled(function=function) == same(function=function)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "lr = K.get_value(self.model.optimizer.lr) * 0.5\nif lr < 1e-6:\n    lr = 1e-6\n"
            + SET.format("lr"),
            "lr = K.get_value(self.model.optimizer.lr) * 0.5\nif lr < 1e-6 * hvd.size():\n    lr = 1e-6 * hvd.size()\n"
            + SET.format("lr"),
        ),
        (
            SET.format("max(K.get_value(self.model.optimizer.lr) * 0.5, 1e-6)"),
            SET.format("max(K.get_value(self.model.optimizer.lr) * 0.5, 1e-6 * hvd.size())"),
        ),
        (
            SET.format("np.clip(self.model.optimizer.lr.numpy() - 1e-4, 1e-6, 1.0)"),
            SET.format(
                "np.clip(self.model.optimizer.lr.numpy() - 1e-4 * hvd.size(), 1e-6 * hvd.size(), 1.0 * hvd.size())"
            ),
        ),
    ],
)
def test_what_bounds_the_own_rate_is_multiplied(before: str, after: str) -> None:
    assert scaled(before) == same(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return max(lr * 0.9, 1e-6)", "return max(lr * 0.9, 1e-6 * hvd.size())"),
        (
            "if epoch > 10:\n    lr = 1e-4\nreturn lr",
            "if epoch > 10:\n    lr = 1e-4 * hvd.size()\nreturn lr",
        ),
        (
            "lr = lr * 0.9\nif 1e-6 > lr:\n    lr = 1e-6\nreturn lr",
            "lr = lr * 0.9\nif 1e-6 * hvd.size() > lr:\n    lr = 1e-6 * hvd.size()\nreturn lr",
        ),
    ],
)
def test_what_bounds_the_given_rate_is_multiplied(before: str, after: str) -> None:
    assert scaled(function=before) == same(function=after)


@pytest.mark.parametrize(
    "value", ["lr * 0.5", "max(lr * 0.5, 1e-5)", "tf.maximum(lr * 0.5, 1e-5)", "lr - 1e-5"]
)
def test_a_variable_that_is_the_rate_is_multiplied_where_it_begins_and_once(value: str) -> None:
    text = plan_of(
        "import tensorflow as tf\nmodel = tf.keras.layers.Dense(1)\nlr = tf.Variable(0.01, trainable=False)\n"
        "opt = tf.keras.optimizers.Adam(lr)\nds = tf.data.Dataset.from_tensor_slices(tf.zeros([64, 2])).batch(4)\n"
        "for epoch in range(4):\n    for x in ds:\n        with tf.GradientTape() as t:\n"
        "            loss = tf.reduce_mean(model(x))\n"
        "        opt.apply_gradients(zip(t.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
        f"    lr.assign({value})\n"
    ).text
    assert "lr = tf.Variable(0.01 * hvd.size(), trainable=False)\n" in text
    assert "lr.assign(lr * 0.5 * hvd.size())" not in text
    assert text.count("1e-5 * hvd.size()") == ("1e-5" in value)
