"""HVD333, HVD314: what ranks validate on, draw with each turn, or tell functions that aren't seen."""

from __future__ import annotations

import pytest

from .helpers import codes

FITTED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
tf.config.set_visible_devices([], "GPU")
x = np.load("x.npy")[: 320 // hvd.size() * hvd.size()][hvd.rank() :: hvd.size()]
held = np.load("held.npy")
y = x.sum(1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")


class Drop(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if logs["val_loss"] > 0.1:
            self.model.optimizer.lr.assign(self.model.optimizer.lr * 0.5)


callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), {more}Drop()]
model.fit(x, y, epochs=5, steps_per_epoch=40 // hvd.size(), callbacks=callbacks, verbose=0, {validated})
"""
AVERAGED = "hvd.callbacks.MetricAverageCallback(), "


@pytest.mark.parametrize(
    ("validated", "more", "drifts"),
    [
        ("validation_data=(x[:80], y[:80])", "", True),
        ("validation_split=0.2", "", True),
        ("validation_data=(held, held.sum(1))", "", False),
        ("validation_data=(x[:80], y[:80])", AVERAGED, False),
    ],
)
def test_a_rate_by_what_each_rank_validates_on(validated: str, more: str, drifts: bool) -> None:
    """What is called `val_loss` was taken for the same on all ranks, though each validates on rows of its own."""
    assert ("HVD333" in codes(FITTED.format(validated=validated, more=more))) is drifts


STEPS = """\
import random, uuid
import numpy as np
import tensorflow as tf
import matplotlib.pylab as plt
import horovod.tensorflow as hvd
from elsewhere import log

hvd.init()
tf.config.set_visible_devices([], "GPU")
np.random.seed(1 + hvd.rank())
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
rate = {rate}
optimizer = tf.keras.optimizers.SGD(rate)
hvd.broadcast_variables(model.variables, root_rank=0)


class Game:
{game}

game = Game()
for episode in range(100 // hvd.size()):
    {begin}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean({loss})
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))
{after}
"""
AGAIN = "    def reset(self):\n        self.x = np.random.uniform(-1, 1)\n"
ONCE = "    def __init__(self):\n        self.x = np.random.uniform(-1, 1)\n"
OF_GAME = "game.x * model(tf.ones((1, 1)))"


def found(
    rate: str = "0.01 * hvd.size()",
    game: str = "    pass\n",
    begin: str = "pass",
    loss: str = "model(tf.random.normal((8, 1)))",
    after: str = "",
) -> set[str]:
    return codes(STEPS.format(rate=rate, game=game, begin=begin, loss=loss, after=after))


def test_where_a_game_begins_is_drawn_with_each() -> None:
    """It was taken for a number that is drawn once: what is distributed of such a game was refused."""
    assert "HVD333" not in found(game=AGAIN, begin="game.reset()", loss=OF_GAME)
    assert "HVD333" in found(game=ONCE, loss=OF_GAME)


@pytest.mark.parametrize(
    ("rate", "drifts"),
    [
        ("log.deferred(0.01 * hvd.size(), name=str(uuid.uuid4()))", False),
        ("0.01 * hvd.size() * random.random()", True),
    ],
)
def test_what_an_unseen_function_is_told_may_not_be_what_it_gives(rate: str, drifts: bool) -> None:
    assert ("HVD333" in found(rate=rate)) is drifts


@pytest.mark.parametrize(
    ("after", "written"),
    [
        ("plt.savefig('loss.png')", True),
        ("if hvd.rank() == 0:\n    plt.savefig('loss.png')", False),
    ],
)
def test_pylab_is_pyplot(after: str, written: bool) -> None:
    assert ("HVD314" in found(after=after)) is written
