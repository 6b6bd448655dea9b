"""C5: rates that one call sets together with other variables: `K.batch_set_value([(optimizer.lr, rate)])`."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

CALLBACK = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K


class Falling(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        rate = 0.05 * 0.9**epoch
        {}


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(8,))])
model.compile(tf.keras.optimizers.SGD(0.05), "mse")
model.fit(np.load("x.npy"), np.load("y.npy"), epochs=5, batch_size=32, callbacks=[Falling()])
"""
SCALED = "(self.model.optimizer.lr, rate * hvd.size())"


@pytest.mark.parametrize(
    "setting",
    [
        "K.batch_set_value([(self.model.optimizer.lr, rate)])",
        "K.batch_set_value(((self.model.optimizer.lr, rate), (self.model.beta, 0.5)))",
        "tf.keras.backend.batch_set_value(tuples=[(self.model.optimizer.lr, rate)])",
        "pairs = [(self.model.optimizer.lr, rate)]; K.batch_set_value(pairs)",
        "pairs = []; pairs.append((self.model.optimizer.lr, rate)); K.batch_set_value(pairs)",
        "pairs = [(self.model.beta, 0.5)]; pairs += [(self.model.optimizer.lr, rate)]; K.batch_set_value(pairs)",
    ],
)
def test_a_rate_that_is_set_in_a_pair_is_scaled(setting: str) -> None:
    text = plan_of(CALLBACK.format(setting)).text
    assert SCALED in text
    assert text.count("rate * hvd.size()") == 1


def test_a_list_comprehension_of_pairs() -> None:
    made = "K.batch_set_value([(o.lr, rate) for o in [self.model.optimizer]])"
    assert "(o.lr, rate * hvd.size())" in plan_of(CALLBACK.format(made)).text


def test_by_whose_pairs_can_not_be_seen_is_asked() -> None:
    plan = plan_of(CALLBACK.format("K.batch_set_value(zip([self.model.optimizer.lr], [rate]))"))
    assert any(c.rule == "C5" and c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    "setting",
    [
        "K.batch_set_value([(self.model.optimizer.lr, 0.9 * K.get_value(self.model.optimizer.lr))])",
        "K.batch_set_value([(self.model.beta, rate)])",
        "K.batch_set_value(zip(self.model.weights, self.model.best))",
        "self.history.append((self.model.optimizer.lr, rate))",
    ],
)
def test_near_misses(setting: str) -> None:
    plan = plan_of(CALLBACK.format(setting))
    assert setting in plan.text
    assert not any(c.rule == "C5" and c.doubt for c in plan.changes)


def test_in_a_loop_of_ones_own() -> None:
    text = plan_of(
        """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
data = tf.data.Dataset.from_tensor_slices(tf.random.normal((64, 3))).batch(8)
step = 0
for epoch in range(9):
    for x in data:
        tf.keras.backend.batch_set_value([(opt.learning_rate, 0.1 * 0.99**step)])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        step += 1
"""
    ).text
    assert "(opt.learning_rate, 0.1 * 0.99**(step * hvd.size()) * hvd.size())" in text
