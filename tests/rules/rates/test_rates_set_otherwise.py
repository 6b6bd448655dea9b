"""C5: the rate of an optimizer that is set by its name, by other functions of Keras, or under a private name."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

CALLBACK = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K


class Falling(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        lr = 0.05 * 0.9**epoch
        {}


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(8,))])
model.compile(tf.keras.optimizers.SGD(0.05), "mse")
model.fit(np.load("x.npy"), np.load("y.npy"), epochs=5, batch_size=32, callbacks=[Falling()])
"""
SETTINGS = [
    'K.set_value(getattr(self.model.optimizer, "lr"), {})',
    'setattr(self.model.optimizer, "lr", {})',
    'setattr(self.model.optimizer, "learning_rate", {})',
    'self.model.optimizer.__setattr__("lr", {})',
    "self.model.optimizer._learning_rate.assign({})",
    'self.model.optimizer._set_hyper("learning_rate", {})',
    'self.model.optimizer._hyper["learning_rate"].assign({})',
    "K.update(self.model.optimizer.lr, {})",
    "tf.compat.v1.assign(self.model.optimizer.lr, {})",
    'getattr(self.model.optimizer, "learning_rate").assign({})',
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_rate_is_scaled_however_it_is_set(setting: str) -> None:
    text = plan_of(CALLBACK.format(setting.format("lr"))).text
    assert setting.format("lr * hvd.size()") in text


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "own",
    [
        'float(getattr(self.model.optimizer, "lr"))',
        'K.get_value(getattr(self.model.optimizer, "learning_rate"))',
        'K.get_value(self.model.optimizer._get_hyper("learning_rate"))',
        'float(self.model.optimizer._hyper["learning_rate"])',
        "K.get_value(self.model.optimizer._decayed_lr(tf.float32))",
        'self.model.optimizer.get_config()["learning_rate"]',
        "float(self.model.optimizer._learning_rate)",
    ],
)
def test_a_rate_made_of_the_optimizers_own_is_scaled_already(setting: str, own: str) -> None:
    line = setting.format(f"0.9 * {own}")
    assert line in plan_of(CALLBACK.format(line)).text


@pytest.mark.parametrize(
    "line",
    [
        'setattr(self.model.optimizer, "momentum", lr)',
        'setattr(self, "lr", lr)',
        'K.set_value(getattr(self.model.optimizer, "momentum"), lr)',
        "K.update(self.model.optimizer.iterations, lr)",
        'self.model.optimizer._set_hyper("momentum", lr)',
        'self.model.optimizer._hyper["momentum"].assign(lr)',
        "self._learning_rate = lr",
    ],
)
def test_what_is_no_rate_of_an_optimizer_stays(line: str) -> None:
    assert line in plan_of(CALLBACK.format(line)).text


def test_a_name_for_either_version_is_a_rate() -> None:
    choice = 'name = "lr" if hasattr(self.model.optimizer, "lr") else "learning_rate"\n        '
    text = plan_of(CALLBACK.format(choice + "setattr(self.model.optimizer, name, lr)")).text
    assert "setattr(self.model.optimizer, name, lr * hvd.size())" in text


def test_a_callback_that_sets_a_rate_by_its_name_is_on_all_ranks() -> None:
    """One that also writes a file would be rank 0's alone."""
    source = CALLBACK.format('setattr(self.model.optimizer, "lr", lr); open("rates.txt", "a").write(str(lr))')
    text = plan_of(source).text
    assert "Falling()" in text
    assert "[Falling()] if hvd.rank()" not in text
    lambda_ = CALLBACK.split("class Falling", maxsplit=1)[0] + (
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(8,))])\n"
        'model.compile(tf.keras.optimizers.SGD(0.05), "mse")\n'
        "def fall(epoch, logs):\n"
        '    setattr(model.optimizer, "lr", 0.05 * 0.9**epoch)\n'
        '    open("rates.txt", "a").write(str(epoch))\n'
        "cb = tf.keras.callbacks.LambdaCallback(on_epoch_begin=fall)\n"
        'model.fit(np.load("x.npy"), np.load("y.npy"), epochs=5, batch_size=32, callbacks=[cb])\n'
    )
    text = plan_of(lambda_).text
    assert "0.05 * 0.9**epoch * hvd.size())" in text
    assert "[cb] if hvd.rank()" not in text


def test_a_loop_that_sets_the_rate_by_its_name() -> None:
    source = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
data = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(8)
step = 0
for epoch in range(3):
    for x, y in data:
        setattr(opt, "learning_rate", 0.1 * 0.99**step)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        step += 1
"""
    assert '"learning_rate", 0.1 * 0.99**(step * hvd.size()) * hvd.size())' in plan_of(source).text


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_rate_that_goes_on_with_each_batch(setting: str) -> None:
    line = setting.format('0.99 * K.get_value(getattr(self.model.optimizer, "lr"))')
    source = CALLBACK.replace("on_epoch_begin(self, epoch", "on_train_batch_end(self, epoch")
    assert line.replace("0.99", "0.99 ** hvd.size()") in plan_of(source.format(line)).text
