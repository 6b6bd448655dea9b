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


GAN = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
tf.config.set_visible_devices([], "GPU")
opt = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
d = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
g = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(4,))])
d.compile(opt, "mse")
z = tf.keras.layers.Input((4,))
gan = tf.keras.models.Model(z, d(g(z)))
gan.compile(opt, "mse")
for model in ({sent}):
    for v in model.variables:
        v.assign({value})
for step in range(100):
    x = np.random.rand(8, 4)
    gan.train_on_batch(x, np.ones((8, 1)))
    d.train_on_batch(x, np.ones((8, 1)))
"""


def test_weights_that_a_loop_over_networks_sends_are_sent() -> None:
    assert "HVD306" not in codes(GAN.format(sent="g, d", value="hvd.broadcast(v, 0)"))


PARTS = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
tf.config.set_visible_devices([], "GPU")
np.random.seed(1 + hvd.rank())
encoder = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(4,))])
decoder = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables({sent}, root_rank=0)
for step in range(1000 // hvd.size()):
    x = np.random.rand(16, 4)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean(decoder(encoder(x)) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    for model in (encoder, decoder):
        w = model.trainable_variables
        opt.apply_gradients(zip(tape.gradient(loss, w), w))
"""


@pytest.mark.parametrize(
    ("sent", "whole"), [("encoder.variables", False), ("encoder.variables + decoder.variables", True)]
)
def test_of_models_that_a_loop_trains_each_is_sent(sent: str, whole: bool) -> None:
    assert ("HVD306" not in codes(PARTS.format(sent=sent))) is whole


@pytest.mark.parametrize(
    ("frozen", "drifts"),
    [
        ("random.choice(model.layers).trainable = False", True),
        ("for layer in random.sample(model.layers, 1):\n    layer.trainable = False", True),
        ("model.layers[np.random.randint(3)].trainable = False", True),
        ("layer = random.choice(model.layers)\nlayer.trainable = False", True),
        ("model.layers[hvd.broadcast_object(np.random.randint(3))].trainable = False", False),
        ("for layer in model.layers[:1]:\n    layer.trainable = False", False),
        ("random.seed(3)\nrandom.choice(model.layers).trainable = False", False),
    ],
)
def test_layers_that_each_rank_draws_to_be_frozen(frozen: str, drifts: bool) -> None:
    program = STEPS.replace("rate = {rate}", f"{frozen}\nrate = {{rate}}")
    text = program.format(
        rate="0.01 * hvd.size()",
        game="    pass\n",
        begin="pass",
        loss="model(tf.random.normal((8, 1)))",
        after="",
    )
    assert ("HVD333" in codes(text)) is drifts


ASKED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
tf.config.set_visible_devices([], "GPU")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
for v in model.variables:
    v.assign(hvd.broadcast(v, 0))
for step in range(100):
    x = {drawn}
    loss = model.train_on_batch(x, np.ones((8, 1)))
    if {test}:
        break
"""


@pytest.mark.parametrize(
    ("drawn", "test", "waits"),
    [
        ("np.random.rand(8, 4)", "loss < 0.05", True),
        ("np.random.rand(8, 4)", "float(hvd.allreduce(loss)) < 0.05", False),
        ("np.ones((8, 4))", "loss < 0.05", False),
    ],
)
def test_a_loss_of_rows_that_each_rank_draws_beside_the_same_targets(
    drawn: str, test: str, waits: bool
) -> None:
    """The rows come first, and were passed over; the targets are the same on all ranks."""
    assert ("HVD331" in codes(ASKED.format(drawn=drawn, test=test))) is waits


UNBUILT = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
tf.config.set_visible_devices([], "GPU")
np.random.seed(1 + hvd.rank())
model = tf.keras.Sequential([tf.keras.layers.Dense(1{shape})])
opt = tf.keras.optimizers.SGD(0.01 * hvd.size())


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    w = model.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, w), w))


{between}
hvd.broadcast_variables(model.variables, root_rank=0)
for i in range(1000 // hvd.size()):
    step(np.random.rand(16, 4))
"""


@pytest.mark.parametrize(
    ("shape", "between", "late"),
    [
        ("", "", True),
        (", input_shape=(4,)", "", False),
        ("", "step(np.zeros((1, 4)))", False),
        ("", "model.build((None, 4))", False),
    ],
)
def test_a_function_that_stands_before_a_broadcast_makes_no_weights(
    shape: str, between: str, late: bool
) -> None:
    assert ("HVD306" in codes(UNBUILT.format(shape=shape, between=between))) is late
