"""What loops, callbacks and Estimators are told: numbers of turns, rates, rows that end; and what is not trained."""

from __future__ import annotations

import pytest

from .helpers import changed, codes

STEP = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = tf.data.Dataset.from_tensor_slices((tf.ones([99, 4]), tf.ones([99, 1]))).shard(hvd.size(), hvd.rank())
batches = iter(rows.shuffle(9).repeat().batch(8))


@tf.function
def step(PARAMETERS):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables(), root_rank=0)


for epoch in range(9):
    for i in range(100 // hvd.size()):
        step(GIVEN)
"""


@pytest.mark.parametrize(
    ("parameters", "given", "stalls"),
    [
        ("x, y, first", "*next(batches), epoch == 0 and i == 0", False),
        ("x, y, first", "*next(batches), tf.random.uniform([]) > 0.5", True),
        ("x, y, other, first", "*next(batches), 3, epoch == 0 and i == 0", False),
    ],
)
def test_what_stands_behind_an_unpacked_batch(parameters: str, given: str, stalls: bool) -> None:
    text = changed(STEP, ("PARAMETERS", parameters), ("GIVEN", given))
    assert ("HVD331" in codes(text)) == stalls


ELASTIC = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())


@hvd.elastic.run
def train(state):
    for state.epoch in range(state.epoch, 9):
        order = np.random.RandomState(state.epoch).permutation(len(x))
        mine = order[CUT][hvd.rank()::hvd.size()]
        for i in range(state.batch, len(mine) // 8):
            take = mine[i * 8:(i + 1) * 8]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x[take]) ** 2)
            tape = hvd.DistributedGradientTape(tape)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            state.batch = i + 1
            if TEST:
                state.commit()
        state.batch = 0


state = hvd.elastic.TensorFlowKerasState(model, optimizer, epoch=0, batch=0)
state.register_reset_callbacks([lambda: optimizer.lr.assign(0.01 * hvd.size())])
train(state)
"""
EVEN = ":len(order) // hvd.size() * hvd.size()"


@pytest.mark.parametrize(
    ("cut", "test", "found"),
    [
        (EVEN, "i % 20 == 0", set()),
        (EVEN, "state.batch % 20 == 0", set()),
        (EVEN, "i % 20 == hvd.rank()", {"HVD313"}),
        (EVEN, "i % 20 == 0 and float(loss) > 1", {"HVD331"}),
        (":", "i % 20 == 0", {"HVD323"}),
    ],
)
def test_in_which_turn_a_loop_is_doesnt_say_how_many_there_are(cut: str, test: str, found: set[str]) -> None:
    text = changed(ELASTIC, ("CUT", cut), ("TEST", test))
    assert codes(text) & {"HVD313", "HVD331", "HVD323"} == found


CALLBACK = """\
import tensorflow as tf
from tensorflow import keras
import horovod.tensorflow.keras as hvd


class Steps(keras.callbacks.Callback):
    def __init__(self, base):
        super().__init__()
        self.base = base

    def on_epoch_begin(self, epoch, logs=None):
        SET


hvd.init()
model = keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.1 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), Steps(BASE)]
model.fit(tf.ones([99, 4]), tf.ones([99, 1]), epochs=3 // hvd.size(), callbacks=callbacks)
"""
SET = "keras.backend.set_value(self.model.optimizer.lr, "


@pytest.mark.parametrize(
    ("base", "put", "found"),
    [
        ("0.1", SET + "self.base * 0.5 ** (epoch // 10))", True),
        ("0.1", "self.model.optimizer.lr = self.base * 0.5 ** (epoch // 10)", True),
        ("0.1", "self.model.optimizer.learning_rate.assign(self.base * 0.5)", True),
        ("0.1 * hvd.size()", SET + "self.base * 0.5 ** (epoch // 10))", False),
        ("0.5", SET + "keras.backend.get_value(self.model.optimizer.lr) * self.base)", False),
        ("0.1", SET + "self.base * hvd.size())", False),
    ],
)
def test_a_callback_of_the_scripts_own_that_sets_the_rate(base: str, put: str, found: bool) -> None:
    assert ("HVD310" in codes(changed(CALLBACK, ("BASE", base), ("SET", put)))) == found


ESTIMATOR = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd


def input_fn():
    rows = tf.data.TextLineDataset("rows.txt")
    rows = rows.shard(hvd.size(), hvd.rank()).shuffle(99)MORE
    return rows.map(lambda line: (tf.strings.length(line), 1)).batch(8)


def model_fn(features, labels, mode):
    loss = tf.reduce_mean(tf.layers.dense(tf.cast(features, tf.float32)[:, None], 1) ** 2)
    rate = tf.train.cosine_decay(0.01 * hvd.size(), tf.train.get_global_step(), DECAY)
    train_op = hvd.DistributedOptimizer(tf.train.AdamOptimizer(rate)).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


hvd.init()
estimator = tf.estimator.Estimator(model_fn, model_dir="kept" if hvd.rank() == 0 else None)
estimator.train(input_fn, hooks=[hvd.BroadcastGlobalVariablesHook(0)]STEPS)
"""


@pytest.mark.parametrize(
    ("more", "steps", "decay", "found"),
    [
        ("", "", "500", {"HVD323"}),
        (".repeat(3)", "", "500", {"HVD323"}),
        (".repeat(3).take(99)", "", "500", set()),
        (".repeat()", ", steps=1000 // hvd.size()", "1000", {"HVD325"}),
        (".repeat()", ", steps=1000 // hvd.size()", "1000 // hvd.size()", set()),
        (".repeat()", ", max_steps=1000 // hvd.size()", "1000", {"HVD325"}),
    ],
)
def test_an_estimator_that_trains_to_the_end_of_its_rows(
    more: str, steps: str, decay: str, found: set[str]
) -> None:
    text = changed(ESTIMATOR, ("MORE", more), ("STEPS", steps), ("DECAY", decay))
    assert codes(text) & {"HVD323", "HVD325"} == found


SESSION = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from reading import batches

hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
rate = tf.Variable(0.01 * hvd.size()TRAINABLE)
lower = rate.assign(rate * 0.5)
train_op = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(rate)).minimize(loss)
send = hvd.broadcast_global_variables(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    RUN
    for rows in batches():
        session.run(train_op, {x: rows})
    session.run(lower)
"""


@pytest.mark.parametrize(
    ("trainable", "run", "found"),
    [
        (", trainable=False", "pass", True),
        (", trainable=False", "session.run(send)", False),
        ("", "pass", False),  # it may be a weight
    ],
)
def test_an_assignment_to_what_isnt_trained_makes_no_weights_alike(
    trainable: str, run: str, found: bool
) -> None:
    text = changed(SESSION, ("TRAINABLE", trainable), ("RUN", run), ("from reading import batches\n", ""),
                   ("batches()", "tf.ones([9, 8, 4]).eval()"))  # fmt: skip
    assert ("HVD306" in codes(text)) == found


BATCHES = """\
import random
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
x, y = np.load("x.npy"), np.load("y.npy")
rng = np.random.default_rng(SEED)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
hvd.broadcast_global_variables(0)
for _ in range(1000 // hvd.size()):
    rows = rng.choice(len(x), 8)
    model.train_on_batch(x[rows], y[rows])
"""


@pytest.mark.parametrize(("seed", "found"), [("100", True), ("100 + hvd.rank()", False), ("", False)])
def test_batches_that_are_drawn_alike_for_train_on_batch(seed: str, found: bool) -> None:
    assert ("HVD320" in codes(changed(BATCHES, ("SEED", seed)))) == found


NAMES = """\
import dataclasses
import glob
import json
import pathlib
import random
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd


@dataclasses.dataclass
class Settings:
    folder: str = "data"
    batch: int = 8


def read(settings):
    names = json.loads(pathlib.Path(settings.folder, "names.json").read_text())
    MIX
    TAKE
    return tf.data.Dataset.from_tensor_slices(names).repeat().map(tf.io.read_file).map(parse).batch(settings.batch)


hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
batches = iter(read(Settings()))
for i in range(1000 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(next(batches)) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("mix", "take", "found"),
    [
        ("pass", "pass", "HVD320"),
        ("random.Random(13).shuffle(names)", "pass", "HVD320"),
        ("np.random.RandomState(13).shuffle(names)", "pass", "HVD320"),
        ("random.shuffle(names)", "pass", ""),
        ("np.random.default_rng().shuffle(names)", "pass", ""),
        ("random.Random(hvd.rank()).shuffle(names)", "pass", ""),
        ("pass", "names = names[hvd.rank()::hvd.size()]", ""),
        (
            "pass",
            "n = len(names) // hvd.size(); names = names[hvd.local_rank() * n:(hvd.local_rank() + 1) * n]",
            "HVD320",
        ),
        ("pass", "n = len(names) // hvd.size(); names = names[hvd.rank() * n:(hvd.rank() + 1) * n]", ""),
        (
            "pass",
            "n = len(names) // hvd.local_size(); names = names[hvd.local_rank() * n:(hvd.local_rank() + 1) * n]",
            "",
        ),
    ],
)
def test_names_that_are_read_and_mixed_in_their_place(mix: str, take: str, found: str) -> None:
    assert codes(changed(NAMES, ("MIX", mix), ("TAKE", take))) & {"HVD320"} == ({found} if found else set())


PIPELINE = """\
import signal
import tensorflow as tf
import horovod.tensorflow.keras as hvd


class Ranks:
    def __init__(self):
        hvd.init()
        self.rank, self.size = hvd.rank(), hvd.size()


ranks = Ranks()


def rows(training):
    data = tf.data.Dataset.from_tensor_slices(tf.ones([99, 4]))
    if TEST:
        data = data.shuffle(99)
    data = data.map(lambda x: (x, x[:1]))
    return data.shard(ranks.size, hvd.rank()).repeat().batch(8)


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows(True), steps_per_epoch=100 // hvd.size(), callbacks=callbacks)
print(model.evaluate(rows(OTHER), steps=9))
"""


@pytest.mark.parametrize(
    ("test", "other", "found"),
    [
        ("training", "False", True),
        ("not training", "True", False),  # never
        ("hvd.size() == 1", "False", False),
    ],
)
def test_rows_that_are_shuffled_before_they_are_divided_where_they_train(
    test: str, other: str, found: bool
) -> None:
    assert ("HVD319" in codes(changed(PIPELINE, ("TEST", test), ("OTHER", other)))) == found


KEPT = """\
import datetime
import json
import os
import signal
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd


class Ranks:
    def __init__(self):
        hvd.init()
        self.rank, self.size = hvd.rank(), hvd.size()


ranks = Ranks()
stopped = False


def stop(*_):
    global stopped
    stopped = True


signal.signal(signal.SIGTERM, stop)
x = np.load("x.npy")
PART
rows = tf.data.Dataset.from_tensor_slices((x, x)).shuffle(99).batch(8, drop_remainder=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
name = NAME
for epoch in range(9):
    for a, b in rows:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if STOP:
        break
with open(os.path.join(name, "loss.json"), "w") as file:
    json.dump(float(loss), file)
"""
EVEN_PART = "x = x[: len(x) // ranks.size * ranks.size][ranks.rank :: ranks.size]"
NOW = "datetime.datetime.now().strftime('%d')"


@pytest.mark.parametrize(
    ("part", "name", "stop", "found"),
    [
        (EVEN_PART, "str(hvd.rank())", "any(hvd.allgather_object(stopped))", set()),
        (
            EVEN_PART,
            f"hvd.broadcast_object({NOW}, root_rank=0)",
            "any(hvd.allgather_object(stopped))",
            {"HVD314"},
        ),
        (EVEN_PART, NOW, "any(hvd.allgather_object(stopped))", set()),
        (EVEN_PART, "str(hvd.rank())", "stopped", {"HVD331"}),
        ("x = x[ranks.rank :: ranks.size]", "str(hvd.rank())", "False", {"HVD323"}),
    ],
)
def test_ranks_that_an_object_keeps_and_names_that_rank_0_sends(
    part: str, name: str, stop: str, found: set[str]
) -> None:
    text = changed(KEPT, ("PART", part), ("NAME", name), ("STOP", stop))
    assert codes(text) & {"HVD314", "HVD331", "HVD323"} == found


SPLIT = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
x = np.load("x.npy")
mine = np.split(x, NUMBER)[INDEX]
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(mine, mine, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("number", "index", "found"),
    [
        ("hvd.size()", "hvd.local_rank()", True),
        ("hvd.size()", "hvd.rank()", False),
        ("hvd.local_size()", "hvd.local_rank()", False),
    ],
)
def test_parts_that_are_taken_by_the_local_rank(number: str, index: str, found: bool) -> None:
    assert ("HVD320" in codes(changed(SPLIT, ("NUMBER", number), ("INDEX", index)))) == found


HOOK = """\
import time
import random
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

BEGAN = time.time()


class Stop(tf.train.SessionRunHook):
    def __init__(self):
        self.steps = 0

    def after_run(self, context, values):
        self.steps += 1
        if TEST:
            context.request_stop()


def model_fn(features, labels, mode):
    loss = tf.reduce_mean(tf.layers.dense(features, 1) ** 2)
    train_op = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01)).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


hvd.init()
estimator = tf.estimator.Estimator(model_fn)
hooks = [hvd.BroadcastGlobalVariablesHook(0)]
GIVEN
estimator.train(lambda: tf.data.Dataset.from_tensors(tf.ones([8, 4])).repeat(), hooks=hooks, steps=900 // hvd.size())
"""


@pytest.mark.parametrize(
    ("test", "given", "found"),
    [
        ("time.time() - BEGAN > 3600", "hooks.append(Stop())", True),
        ("self.steps > 9 and time.time() - BEGAN > 3600", "hooks.append(Stop())", True),
        ("random.random() > 0.9", "hooks.append(Stop())", True),
        ("self.steps > 9", "hooks.append(Stop())", False),
        (
            "time.time() - BEGAN > 3600",
            "hooks += [Stop()] if hvd.rank() == 9 else []",
            False,
        ),  # another finding
    ],
)
def test_a_hook_that_stops_one_rank(test: str, given: str, found: bool) -> None:
    text = changed(HOOK, ("TEST", test), ("GIVEN", given))
    assert ("HVD331" in codes(text)) == found


COMMAND = """\
import click
import tensorflow as tf
import horovod.tensorflow.keras as hvd


@click.command()
@click.option("--lr", default=0.05)
def main(lr):
    hvd.init()
    MORE
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(lr * hvd.size())), "mse")
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.LearningRateWarmupCallback(INITIAL, warmup_epochs=5),
    ]
    rows = tf.ones([99, 4])
    model.fit(rows, rows[:, :1], epochs=9 // hvd.size(), callbacks=callbacks)


main()
"""


@pytest.mark.parametrize(
    ("initial", "more", "found"),
    [
        ("lr", "pass", True),
        ("lr * hvd.size()", "pass", False),
        ("rate", "rate = lr * hvd.size()", False),
        ("rate", "rate = lr / 2", False),
    ],
)
def test_a_warm_up_to_the_rate_that_the_command_gives(initial: str, more: str, found: bool) -> None:
    assert ("HVD310" in codes(changed(COMMAND, ("INITIAL", initial), ("MORE", more)))) == found


FOLDER = """\
import os
import click
import horovod.tensorflow as hvd
from ranks import only_on_root


@DECORATED
@click.option("--root")
def main(root):
    hvd.init()
    if not os.path.exists("runs"):
        os.makedirs("runs")


main()
"""


@pytest.mark.parametrize(("decorated", "found"), [("click.command()", True), ("only_on_root", False)])
def test_an_option_that_is_called_like_a_rank(decorated: str, found: bool) -> None:
    assert ("HVD332" in codes(changed(FOLDER, ("DECORATED", decorated)))) == found
