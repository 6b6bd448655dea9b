"""Faults that are spread over a script: parts that have names, calls that pass what decides, methods that nothing names."""

from __future__ import annotations

import pytest

from .helpers import changed, codes

EPOCHS = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from reading import batches, network

hvd.init()
x, loss = network()
train_op = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size())).minimize(loss)
send = hvd.broadcast_global_variables(0)


def run_epoch(session, rows, train):
    total = 0.0
    for batch in rows:
        if train:
            value, _ = session.run([loss, train_op], {x: batch})
        else:
            value = session.run(loss, {x: batch})
        total += value
    return total


with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(send)
    for epoch in range(9):
        run_epoch(session, batches("train"), True)
        if hvd.rank() == 0:
            print(run_epoch(session, batches("valid"), False))
"""


@pytest.mark.parametrize(
    ("told", "stalls"),
    [
        ("False", False),
        ("train=False", False),
        ("True", True),
        ("epoch == 8", True),
        ("train=True", True),
    ],
)
def test_a_call_on_rank_0_that_says_whether_it_trains(told: str, stalls: bool) -> None:
    text = changed(EPOCHS, ('batches("valid"), False', f'batches("valid"), {told}'))
    assert bool(codes(text) & {"HVD313", "HVD331"}) == stalls


def test_a_parameter_that_is_set_again_is_not_what_was_passed() -> None:
    text = changed(EPOCHS, ("    total = 0.0\n", "    total = 0.0\n    train = train or not total\n"))
    assert codes(text) & {"HVD313", "HVD331"}


TRAINER = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


class Trainer(BASE):
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
        self.optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())

    def share(self):
        hvd.broadcast_variables(self.model.variables, root_rank=0)

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x) - y) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

    def train(self, rows):
        CALL
        for x, y in rows.take(1000 // hvd.size()):
            self.step(x, y)


x, y = tf.random.normal([99, 4]), tf.random.normal([99, 1])
trainer = Trainer()
trainer.train(tf.data.Dataset.from_tensor_slices((x, y)).shuffle(99).repeat().batch(8))
"""


@pytest.mark.parametrize(
    ("base", "call", "found"),
    [
        ("object", "pass", True),
        ("object", "self.share()", False),
        ("object", "getattr(self, 'share')()", False),
        ("object", "each = self.share", False),
        ("tf.Module", "pass", False),  # what a library's class calls itself isn't seen
    ],
)
def test_a_broadcast_in_a_method_that_nothing_names(base: str, call: str, found: bool) -> None:
    text = changed(TRAINER, ("BASE", base), ("CALL", call))
    assert ("HVD306" in codes(text)) == found


def test_main_is_run_without_being_named() -> None:
    text = changed(
        EPOCHS, ("hvd.init()\n", ""), ("with tf.Session", "def main(_):\n    hvd.init()\nwith tf.Session")
    )
    head, tail = text.split("with tf.Session")
    tail = "".join(f"    {line}\n" for line in ("with tf.Session" + tail).splitlines())
    assert "HVD306" not in codes(head + tail + "\n\nif __name__ == '__main__':\n    tf.app.run()\n")


GAN = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
maker = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(3,))])
critic = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
one, two = tf.keras.optimizers.Adam(1e-4 * hvd.size()), tf.keras.optimizers.Adam(1e-4 * hvd.size())
seed = SEED


def step(real):
    with tf.GradientTape() as a, tf.GradientTape() as b:
        fake = maker(tf.random.normal([8, 3]))
        first, second = tf.reduce_mean(critic(fake)), tf.reduce_mean(critic(real))
    a, b = hvd.DistributedGradientTape(a), hvd.DistributedGradientTape(b)
    one.apply_gradients(zip(a.gradient(first, maker.trainable_variables), maker.trainable_variables))
    two.apply_gradients(zip(b.gradient(second, critic.trainable_variables), critic.trainable_variables))


hvd.broadcast_variables(maker.variables, root_rank=0)
for rows in tf.data.Dataset.from_tensor_slices(tf.ones([800, 4])).shuffle(99).repeat().batch(8).take(900 // hvd.size()):
    step(rows)
USE
"""


@pytest.mark.parametrize(
    ("seed", "use", "found"),
    [
        ("tf.random.normal([16, 3])", "print(maker(seed))", True),
        ("tf.random.uniform(shape=(16, 3))", "print(maker(seed))", True),
        ("tf.random.uniform([], 0, 99, tf.int32)", "show(seed)", False),
        ("7", "begin(seed)", False),
    ],
)
def test_noise_that_is_called_a_seed_seeds_nothing(seed: str, use: str, found: bool) -> None:
    assert ("HVD306" in codes(changed(GAN, ("SEED", seed), ("USE", use)))) == found


PARTS = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x, y = np.load("x.npy"), np.load("y.npy")
ORDER
mine = PART
rows = tf.data.Dataset.from_tensor_slices(GIVEN).shuffle(99).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
for a, b in rows:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    gradients = [hvd.allreduce(g) for g in tape.gradient(loss, model.trainable_variables)]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(
    "given", ["(x[mine], y[mine])", "{'x': x[mine], 'y': y[mine]}", "((x[mine], x[mine]), y[mine])"]
)
@pytest.mark.parametrize(
    ("part", "order", "found"),
    [
        ("slice(hvd.rank(), None, hvd.size())", "", {"HVD323"}),
        ("slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())", "", set()),
        ("slice(hvd.rank() * 9, (hvd.rank() + 1) * 9)", "", set()),
        ("slice(1000)", "", set()),
        (
            "slice(hvd.rank() * 9, (hvd.rank() + 1) * 9)",
            "order = np.random.permutation(len(x))\nx, y = x[order], y[order]",
            {"HVD319"},
        ),
        (
            "slice(hvd.rank() * 9, (hvd.rank() + 1) * 9)",
            "order = np.random.RandomState(0).permutation(len(x))\nx, y = x[order], y[order]",
            set(),
        ),
    ],
)
def test_a_part_that_has_a_name(part: str, order: str, found: set[str], given: str) -> None:
    text = changed(PARTS, ("PART", part), ("ORDER", order), ("GIVEN", given))
    assert codes(text) & {"HVD323", "HVD319"} == found


def test_a_slice_of_the_scripts_own() -> None:
    text = changed(PARTS, ("PART", "slice(hvd.rank(), None, hvd.size())"), ("ORDER", "from cutting import slice"),
                   ("GIVEN", "(x[mine], y[mine])"))  # fmt: skip
    assert "HVD323" not in codes(text)


TABLE = """\
import pandas as pd
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from sklearn.preprocessing import StandardScaler


def load():
    frame = pd.read_csv("rows.csv")
    frame = SHUFFLED
    labels = frame.pop("y").values.astype("float32")
    rows = StandardScaler().fit_transform(frame.values).astype("float32")
    return (rows[:900], labels[:900]), (rows[900:], labels[900:])


hvd.init()
(x, y), valid = load()
n = len(x) // hvd.size()
x, y = x[hvd.rank() * n : (hvd.rank() + 1) * n], y[hvd.rank() * n : (hvd.rank() + 1) * n]
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)], validation_data=valid)
"""


@pytest.mark.parametrize(
    ("shuffled", "found"),
    [
        ("frame.sample(frac=1.0)", True),
        ("frame.sample(frac=1.0).reset_index(drop=True)", True),
        ("frame.sample(frac=1.0, random_state=17)", False),
        ('frame.sample(frac=1.0).sort_values("id")', False),
        ("frame.dropna()", False),
    ],
)
def test_a_table_that_a_function_shuffles_and_gives_back(shuffled: str, found: bool) -> None:
    assert ("HVD319" in codes(changed(TABLE, ("SHUFFLED", shuffled)))) == found
