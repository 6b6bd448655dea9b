"""Families of faults that were missed in blind rounds, each with what resembles it and is right."""

from __future__ import annotations

import pytest

from .helpers import codes

TAPE = """\
import os
import random
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
"""


# ---------------------------------------------------------------------- weights that aren't sent (HVD306)

TWO = (
    TAPE
    + """\

class Trainer:
    def __init__(self):
        self.one = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        self.two = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        self.slow = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        self.count = tf.Variable(0, trainable=False)
        self.a = tf.keras.optimizers.SGD(0.01 * hvd.size())
        self.b = tf.keras.optimizers.SGD(0.01 * hvd.size())

    def step(self, x):
        with tf.GradientTape(persistent=True) as tape:
            first, second = tf.reduce_mean(self.one(x)), tf.reduce_mean(self.two(x))
        tape = hvd.DistributedGradientTape(tape)
        self.a.apply_gradients(zip(tape.gradient(first, self.one.trainable_variables), self.one.trainable_variables))
        self.b.apply_gradients(zip(tape.gradient(second, self.two.trainable_variables), self.two.trainable_variables))
        self.count.assign_add(1)
        for slow, fast in zip(self.slow.weights, self.one.weights):
            slow.assign(0.9 ** hvd.size() * slow + (1 - 0.9 ** hvd.size()) * fast)

    def send(self):
        hvd.broadcast_variables(self.one.variables, root_rank=0)
        OTHER
        hvd.broadcast_variables([self.count], root_rank=0)

trainer = Trainer()
trainer.send()
for x in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10).take(100 // hvd.size()):
    trainer.step(x)
"""
)


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ("pass", {"HVD306"}),
        ("hvd.broadcast_variables(self.a.variables(), root_rank=0)", {"HVD306"}),
        ("hvd.broadcast_variables(self.two.variables, root_rank=0)", set()),
        ("hvd.broadcast_variables([*self.two.variables], root_rank=0)", set()),
        ("self.two.set_weights(hvd.broadcast_object(self.two.get_weights()))", set()),
        ('self.two.load_weights("two.h5")', set()),
        ("restore_all(self)", set()),
    ],
)
def test_one_of_two_networks_that_an_object_holds(other: str, found: set[str]) -> None:
    assert codes(TWO.replace("OTHER", other)) == found


COPIES = (
    TAPE
    + """\
online = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
target = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
BEFORE
for i in range(1000 // hvd.size()):
    x = tf.constant(np.random.rand(8, 3), tf.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((online(x) - ASKED(x)) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, online.trainable_variables), online.trainable_variables))
    if TEST:
        target.set_weights(online.get_weights())
"""
)
SENT = "hvd.broadcast_variables(online.variables, root_rank=0)\ntarget.set_weights(online.get_weights())"


@pytest.mark.parametrize(
    ("before", "test", "asked", "found"),
    [
        ("", "i % 10 == 0", "target", {"HVD306"}),  # a copy within a rank makes ranks no more alike
        (SENT, "i % 10 == 0", "target", set()),
        (SENT, "random.random() < 0.1", "target", {"HVD333"}),
        (SENT, "float(loss) < 0.1", "target", {"HVD333"}),
        (SENT, "float(hvd.allreduce(loss)) < 0.1", "target", set()),
        (SENT, "random.random() < 0.1", "online", set()),  # nothing learns from it
        (
            "target.set_weights(online.get_weights())\nonline.load_weights('start.h5')",
            "i % 10 == 0",
            "target",
            set(),
        ),
    ],
)
def test_copies_of_a_network_that_says_what_is_learned(
    before: str, test: str, asked: str, found: set[str]
) -> None:
    text = COPIES.replace("BEFORE", before).replace("TEST", test).replace("ASKED", asked)
    assert codes(text) & {"HVD306", "HVD333"} == found


# ---------------------------------------------------------------------- sessions that train by a test

SESSION = """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
rows, valid = load()
rows = rows[SHARE]
x = tf.placeholder(tf.float32, [None, 3])
new_rate = tf.placeholder(tf.float32, [])
rate = tf.Variable(0.0, trainable=False)
set_rate = tf.assign(rate, new_rate)
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train_op = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(rate)).minimize(loss)

def run_epoch(session, rows, train=False):
    total, count = 0.0, 0
    for i in range(len(rows) // 8):
        fetches = {"loss": loss}
        if train:
            fetches["op"] = train_op
        got = session.run(fetches, {x: rows[8 * i:8 * i + 8]})
        total += got["loss"]
        count += 1
    return total / count

with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    now, previous = 0.1 * hvd.size(), 1e9
    for epoch in range(10):
        session.run(set_rate, {new_rate: now})
        value = run_epoch(session, rows, train=True)
        AFTER
"""
EVEN = "hvd.rank() * (len(rows) // hvd.size()):(hvd.rank() + 1) * (len(rows) // hvd.size())"


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("pass", set()),
        ("if value > 20:\n            break", {"HVD331"}),
        (
            "if run_epoch(session, valid) > 20:\n            break",
            set(),
        ),  # the same rows, and the same weights
        ("if run_epoch(session, rows) > 20:\n            break", {"HVD331"}),
        ("if np.mean(hvd.allgather_object(value)) > 20:\n            break", set()),
        ("if hvd.rank() == 0:\n            print(run_epoch(session, valid))", set()),
        ("if hvd.rank() == 0:\n            print(run_epoch(session, valid, train=True))", {"HVD331"}),
        ("if value > previous:\n            now *= 0.5\n        previous = value", {"HVD333"}),
        ("if run_epoch(session, valid) > previous:\n            now *= 0.5", set()),
        ("if epoch > 5:\n            now *= 0.5", set()),
    ],
)
def test_a_session_that_trains_by_a_test(after: str, found: set[str]) -> None:
    text = SESSION.replace("AFTER", after).replace("SHARE", EVEN)
    assert codes(text) & {"HVD331", "HVD333", "HVD313"} == found


def test_shares_of_which_some_have_a_row_more() -> None:
    text = SESSION.replace("AFTER", "pass")
    uneven = text.replace("rows = rows[SHARE]", "rows = np.array_split(rows, hvd.size())[hvd.rank()]")
    assert "HVD323" in codes(uneven.replace("for i in range(len(rows) // 8):", "for i in range(len(rows)):"))
    assert "HVD323" not in codes(text.replace("SHARE", EVEN))


def test_a_rate_that_is_fed() -> None:
    text = SESSION.replace("AFTER", "pass").replace("SHARE", EVEN)
    assert "HVD308" in codes(text.replace("0.1 * hvd.size()", "0.1"))
    assert "HVD308" not in codes(text)


def test_a_train_op_that_is_passed_or_not() -> None:
    text = SESSION.replace(
        "AFTER", "if value > 20:\n            break\n        print(run_epoch(session, valid))"
    )
    text = (
        text.replace("train=False", "op=None")
        .replace("if train:", "if op is not None:")
        .replace("SHARE", EVEN)
    )
    text = text.replace('fetches["op"] = train_op', 'fetches["op"] = op').replace("train=True", "op=model.op")
    text = text.replace(
        "train_op = hvd", "class Model:\n    op = None\nmodel = Model()\nmodel.op = train_op = hvd"
    )
    assert "HVD331" in codes(text)
    assert "HVD331" not in codes(text.replace("value > 20", "epoch > 20"))


# ---------------------------------------------------------------------- turns and steps that a rank decides

TURNS = (
    TAPE
    + """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), "kept", 3)
hvd.broadcast_variables(model.variables, root_rank=0)

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

for x in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10).take(100 // hvd.size()):
    INSIDE
"""
)


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        ("for _ in range(2 if float(tf.reduce_mean(step(x))) < 0.5 else 1):\n        step(x)", {"HVD331"}),
        (
            "n = 1\n    if float(step(x)) > 1:\n        n = 2\n    for _ in range(n):\n        step(x)",
            {"HVD331"},
        ),
        ("n = 2 if random.random() < 0.5 else 1\n    for _ in range(n):\n        step(x)", {"HVD331"}),
        ("n = 2 if optimizer.iterations < 50 else 1\n    for _ in range(n):\n        step(x)", set()),
        ("n = 2 if float(hvd.allreduce(step(x))) > 1 else 1\n    for _ in range(n):\n        step(x)", set()),
        ("if manager.latest_checkpoint:\n        hvd.allreduce(step(x))", {"HVD331"}),
        ("if manager.latest_checkpoint:\n        print(step)\n    step(x)", set()),
    ],
)
def test_turns_that_a_rank_decides(inside: str, found: set[str]) -> None:
    assert codes(TURNS.replace("INSIDE", inside)) & {"HVD331", "HVD313"} == found


OWN_STEP = """\
import tensorflow as tf
import horovod.tensorflow as hvd_tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(x) ** 2)
        tape = hvd_tf.DistributedGradientTape(tape)
        INSIDE
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}

model = Model()
rate = tf.keras.optimizers.schedules.CosineDecay(0.01 * hvd.size(), STEPS)
model.compile(tf.keras.optimizers.SGD(rate))
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10)
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
model.fit(rows, steps_per_epoch=100 // hvd.size(), epochs=5, callbacks=callbacks)
"""


@pytest.mark.parametrize(
    ("inside", "steps", "found"),
    [
        ("pass", "500 // hvd.size()", set()),
        ('if loss > 1e6:\n            return {"loss": loss}', "500 // hvd.size()", {"HVD331"}),
        (
            'if tf.random.uniform([]) > 0.5:\n            return {"loss": loss}',
            "500 // hvd.size()",
            {"HVD331"},
        ),
        ('if hvd_tf.allreduce(loss) > 1e6:\n            return {"loss": loss}', "500 // hvd.size()", set()),
        ("pass", "500", {"HVD325"}),
    ],
)
def test_a_step_of_a_models_own(inside: str, steps: str, found: set[str]) -> None:
    assert codes(OWN_STEP.replace("INSIDE", inside).replace("STEPS", steps)) == found


ELASTIC = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
state = hvd.elastic.KerasState(model, batch=0, epoch=0)
callbacks = [hvd.callbacks.MetricAverageCallback(), hvd.elastic.UpdateEpochStateCallback(state)]
COMMIT

@hvd.elastic.run
def train(state):
    model.fit(rows(), steps_per_epoch=100 // hvd.size(), callbacks=callbacks, epochs=10 - state.epoch)

train(state)
"""


def test_commits_of_some_ranks() -> None:
    commit = "callbacks.append(hvd.elastic.CommitStateCallback(state, batches=10))"
    assert "HVD311" not in codes(ELASTIC.replace("COMMIT", commit))
    assert "HVD311" in codes(ELASTIC.replace("COMMIT", f"if hvd.rank() == 0:\n    {commit}"))


# ---------------------------------------------------------------------- what goes by the steps of a rank

SCHEDULE = (
    TAPE
    + """\

class Warm(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, rate, warm, total):
        super().__init__()
        self.rate, self.warm, self.total = rate, warm, total

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        up = self.rate * step / self.warm
        down = self.rate * (self.total - step) / (self.total - self.warm)
        return tf.where(step < self.warm, up, down) / SHAPE

total = 1000 // hvd.size()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
slow = tf.keras.models.clone_model(model)
optimizer = tf.keras.optimizers.SGD(Warm(0.01 * hvd.size(), WARM, total))
hvd.broadcast_variables(model.variables, root_rank=0)
decay = DECAY
for x in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10).take(total):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    EACH
"""
)
AVERAGE = "for a, b in zip(slow.weights, model.weights):\n        a.assign(decay * a + (1 - decay) * b)"


@pytest.mark.parametrize(
    ("warm", "decay", "each", "found"),
    [
        ("100 // hvd.size()", "0.999 ** hvd.size()", AVERAGE, set()),
        ("max(1, 100 // hvd.size())", "0.999 ** hvd.size()", "pass", set()),
        ("100", "0.999", "pass", {"HVD325"}),
        ("100 // hvd.size()", "0.999", AVERAGE, {"HVD325"}),
        ("100 // hvd.size()", "0.999", "mean = decay * loss + (1 - decay) * loss", set()),
        (
            "100 // hvd.size()",
            "0.999",
            "slow.set_weights([decay * a + (1 - decay) * b for a, b in zip(slow.get_weights(), model.get_weights())])",
            {"HVD325"},
        ),
    ],
)
def test_what_goes_by_the_steps_of_a_rank(warm: str, decay: str, each: str, found: set[str]) -> None:
    text = (
        SCHEDULE.replace("WARM", warm).replace("DECAY", decay).replace("EACH", each).replace("SHAPE", "1.0")
    )
    assert codes(text) == found


# ---------------------------------------------------------------------- rows

GENERATED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
rows, labels = np.load("rows.npy"), np.load("labels.npy")

def batches(seed):
    draw = np.random.RandomState(seed)
    while True:
        at = draw.choice(len(rows), 32)
        yield rows[at], labels[at]

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
model.fit(batches(SEED), steps_per_epoch=STEPS, epochs=5, callbacks=callbacks)
"""


@pytest.mark.parametrize(
    ("seed", "steps", "found"),
    [
        ("0", "100 // hvd.size()", {"HVD320"}),
        ("hvd.rank()", "100 // hvd.size()", set()),
        ("7 + 13 * hvd.rank()", "100 // hvd.size()", set()),
        ("None", "100 // hvd.size()", set()),
        ("hvd.rank()", "len(rows) // 32", {"HVD321"}),
    ],
)
def test_a_generator_of_the_scripts_own(seed: str, steps: str, found: set[str]) -> None:
    assert codes(GENERATED.replace("SEED", seed).replace("STEPS", steps)) == found


FILES = """\
import glob
import os
import pathlib
import random
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from sklearn.model_selection import train_test_split

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
BEFORE
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
model.fit(read(files), steps_per_epoch=100 // hvd.size(), epochs=5, callbacks=callbacks)
"""
MINE = "files = files[hvd.rank()::hvd.size()]"


@pytest.mark.parametrize(
    ("before", "found"),
    [
        (f'files = glob.glob("*.npz")\n{MINE}', {"HVD319"}),
        (f'files = [f for f in os.listdir("data")]\n{MINE}', {"HVD319"}),
        (f'files = list(pathlib.Path("data").glob("*.npz"))\n{MINE}', {"HVD319"}),
        (f'files = glob.glob("*.npz")\nfiles = files[:100]\n{MINE}', {"HVD319"}),
        (f'files = sorted(glob.glob("*.npz"))\n{MINE}', set()),
        (f'files = glob.glob("*.npz")\nfiles.sort()\n{MINE}', set()),
        ('files = glob.glob("*.npz")', set()),
        (
            f'files = sorted(glob.glob("*.npz"))\nrandom.seed(3 + hvd.rank())\nrandom.shuffle(files)\n{MINE}',
            {"HVD319"},
        ),
        (f'files = sorted(glob.glob("*.npz"))\nrandom.seed(3)\nrandom.shuffle(files)\n{MINE}', set()),
        ('files, held = train_test_split(sorted(glob.glob("*.npz")))', {"HVD319"}),
        ('files, held = train_test_split(sorted(glob.glob("*.npz")), random_state=1)', set()),
        ('files, held = train_test_split(sorted(glob.glob("*.npz")), shuffle=False)', set()),
        ('np.random.seed(1)\nfiles, held = train_test_split(sorted(glob.glob("*.npz")))', set()),
        ("order = np.random.permutation(1000)\nfiles, held = order[:900], order[900:]", {"HVD319"}),
        (
            "np.random.seed(1)\norder = np.random.permutation(1000)\nfiles, held = order[:900], order[900:]",
            set(),
        ),
        ("order = np.arange(1000)\nfiles, held = order[:900], order[900:]", set()),
    ],
)
def test_orders_of_files_and_splits(before: str, found: set[str]) -> None:
    assert codes(FILES.replace("BEFORE", before)) & {"HVD319"} == found


# ---------------------------------------------------------------------- gradients that nothing averages

BY_HAND = (
    TAPE
    + """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]

def add(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    for s, g in zip(sums, tape.gradient(loss, model.trainable_variables)):
        s.assign_add(g)
    return loss

def apply():
    optimizer.apply_gradients(zip([GIVEN for s in sums], model.trainable_variables))
    AFTER

for i, x in enumerate(tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10).take(100 // hvd.size())):
    print(hvd.allreduce(add(x)))
    if i % 2:
        apply()
"""
)


@pytest.mark.parametrize(
    ("given", "after", "found"),
    [
        ("tf.identity(s)", "pass", {"HVD304"}),
        ("hvd.allreduce(s)", "pass", set()),
        ("hvd.allreduce(s, op=hvd.Sum)", "pass", {"HVD317"}),
        ("s", "for v in model.variables:\n        v.assign(hvd.allreduce(v))", set()),  # weights are averaged
    ],
)
def test_gradients_that_variables_add_up(given: str, after: str, found: set[str]) -> None:
    assert codes(BY_HAND.replace("GIVEN", given).replace("AFTER", after)) & {"HVD304", "HVD317"} == found


# ---------------------------------------------------------------------- a second round

SHARED = (
    TAPE
    + """\

def make():
    return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])

one, other = make(), make()
scale = tf.Variable([1.0])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
SEND
for x in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10).take(100 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((one(x) - other(x)) ** 2 * scale)
    tape = hvd.DistributedGradientTape(tape)
    variables = TRAINED
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""
)
BOTH = "one.trainable_variables + other.trainable_variables + [scale]"


@pytest.mark.parametrize(
    ("send", "trained", "found"),
    [
        ("hvd.broadcast_variables(one.variables + [scale], root_rank=0)", BOTH, {"HVD306"}),
        ("hvd.broadcast_variables(one.variables + other.variables + [scale], root_rank=0)", BOTH, set()),
        (
            "hvd.broadcast_variables(one.variables, root_rank=0)",
            "one.trainable_variables",
            {"HVD306"},
        ),  # of other targets
        ("hvd.broadcast_variables(other.variables, root_rank=0)", "one.trainable_variables", {"HVD306"}),
        ("hvd.broadcast_variables(one.variables + kept.variables, root_rank=0)", BOTH, set()),
    ],
)
def test_networks_that_one_function_makes(send: str, trained: str, found: set[str]) -> None:
    assert codes(SHARED.replace("SEND", send).replace("TRAINED", trained)) == found


MEANS = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

class Mean(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.mean, self.n = None, 0

    def on_epoch_end(self, epoch, logs=None):
        weights = self.model.get_weights()
        self.mean = weights if self.mean is None else [(m * self.n + w) / (self.n + 1) for m, w in zip(self.mean, weights)]
        self.n += 1

    def on_train_end(self, logs=None):
        self.model.set_weights(GIVEN)

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10)
model.fit(rows, steps_per_epoch=100 // hvd.size(), callbacks=[CALLBACKS])
"""


@pytest.mark.parametrize(
    ("given", "callbacks", "found"),
    [
        ("self.mean", "Mean()", {"HVD306"}),
        ("self.mean", "hvd.callbacks.BroadcastGlobalVariablesCallback(0), Mean()", set()),
        ("load()", "Mean()", set()),  # it may give all the same
    ],
)
def test_weights_that_a_rank_has_itself(given: str, callbacks: str, found: set[str]) -> None:
    assert codes(MEANS.replace("GIVEN", given).replace("CALLBACKS", callbacks)) == found


MONITORED = """\
import os
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
words = set()
for line in open("words.txt"):
    words.update(line.split())
numbers = {w: i for i, w in enumerate(WORDS)}
data = tf.data.TFRecordDataset(["rows"]).shard(hvd.size(), hvd.rank())REPEATED.batch(8)
x = tf.data.make_one_shot_iterator(data).get_next()
loss = tf.reduce_mean(tf.layers.dense(decode(x), len(numbers)) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.1 * hvd.size())).minimize(loss)
mean = hvd.allreduce(loss)
hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=1000 // hvd.size())]
HOOK
with tf.train.MonitoredTrainingSession(hooks=hooks, config=config) as session:
    while not session.should_stop():
        session.run(train)
"""
LOGS = "hooks.append(tf.train.LoggingTensorHook({'loss': LOSS}, every_n_iter=10))"


@pytest.mark.parametrize(
    ("words", "repeated", "hook", "found"),
    [
        ("sorted(words)", ".repeat()", "", set()),
        ("words", ".repeat()", "", {"HVD333"}),
        ("sorted(words)", "", "", {"HVD323"}),
        (
            "sorted(words)",
            ".repeat()",
            f"if hvd.rank() == 0:\n    {LOGS.replace('LOSS', 'mean')}",
            {"HVD331"},
        ),
        ("sorted(words)", ".repeat()", f"if hvd.rank() == 0:\n    {LOGS.replace('LOSS', 'loss')}", set()),
        ("sorted(words)", ".repeat()", LOGS.replace("LOSS", "mean"), set()),
    ],
)
def test_monitored_sessions(words: str, repeated: str, hook: str, found: set[str]) -> None:
    text = MONITORED.replace("WORDS", words).replace("REPEATED", repeated).replace("HOOK", hook)
    assert codes(text) == found


FIELDS = (
    TAPE
    + """\

class Runner:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        self.optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
        self.best, self.done = 1e9, 0

    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.model.trainable_variables), self.model.trainable_variables))
        return loss

    def run(self, rows):
        hvd.broadcast_variables(self.model.variables, root_rank=0)
        total = TOTAL
        while self.done < total:
            loss = hvd.allreduce(self.step(rows[self.done]))
            self.done += 1
            valid = float(tf.reduce_mean(self.model(held) ** 2))
            SET
            if valid > 2 * self.best:
                break

held = np.load("held.npy")
Runner().run(np.load("rows.npy")[hvd.rank()::hvd.size()])
"""
)


@pytest.mark.parametrize(
    ("set_", "found"),
    [
        ("if hvd.rank() == 0:\n                self.best = min(self.best, valid)", {"HVD331"}),
        ("self.best = min(self.best, valid)", set()),
        (
            "if hvd.rank() == 0:\n                self.best = min(self.best, valid)\n"
            "            self.best = hvd.broadcast_object(self.best, root_rank=0)",
            set(),
        ),
        ("if hvd.rank() == 0:\n                self.shown = valid", set()),
    ],
)
def test_fields_that_one_rank_sets(set_: str, found: set[str]) -> None:
    text = FIELDS.replace("SET", set_).replace("TOTAL", "1000 // hvd.size()")
    assert codes(text) & {"HVD331", "HVD313"} == found


CALLED = (
    TAPE
    + """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)

def batches(rows, size):
    for i in range(len(rows) // size):
        yield rows[i * size:(i + 1) * size]

rows, held = np.load("rows.npy"), np.load("held.npy")
MINE
for x in batches(rows, 8):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
print(sum(float(tf.reduce_mean(model(x))) for x in batches(held[hvd.rank()::hvd.size()], 1)))
"""
)


@pytest.mark.parametrize(
    ("mine", "found"),
    [
        ("rows = rows[hvd.rank()::hvd.size()]", {"HVD323"}),
        ("share = len(rows) // hvd.size()\nrows = rows[hvd.rank() * share:(hvd.rank() + 1) * share]", set()),
        ("rows = rows[:len(rows) // hvd.size() * hvd.size()][hvd.rank()::hvd.size()]", set()),
    ],
)
def test_parts_that_another_call_gets(mine: str, found: set[str]) -> None:
    assert codes(CALLED.replace("MINE", mine)) & {"HVD323"} == found


INPUTS = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
import numpy as np

hvd.init()

def model(features, labels, mode, params):
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features["x"], 1))
    rate = tf.train.cosine_decay(0.01 * hvd.size(), tf.train.get_global_step(), params["steps"])
    train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(rate)).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
config = tf.estimator.RunConfig(session_config=config)
rows, labels = np.load("rows.npy"), np.load("labels.npy")
steps = 1000 // hvd.size()
estimator = tf.estimator.Estimator(model, None, config, {"steps": STEPS})
fed = tf.estimator.inputs.numpy_input_fn({"x": ROWS}, labels, 10, None, SHUFFLED)
for done in range(100 // hvd.size(), steps + 1, 100 // hvd.size()):
    estimator.train(fed, max_steps=done, hooks=[hvd.BroadcastGlobalVariablesHook(0)])
"""


@pytest.mark.parametrize(
    ("steps", "rows", "shuffled", "found"),
    [
        ("steps", "rows", "True", set()),
        ("steps", "rows", "False", {"HVD320"}),
        ("steps", "rows[hvd.rank()::hvd.size()]", "False", set()),
        ("1000", "rows", "True", {"HVD325"}),
    ],
)
def test_inputs_and_schedules_of_estimators(steps: str, rows: str, shuffled: str, found: set[str]) -> None:
    text = INPUTS.replace("STEPS", steps).replace("ROWS", rows).replace("SHUFFLED", shuffled)
    assert codes(text) & {"HVD320", "HVD325"} == found


def test_turns_of_python_2() -> None:
    text = SESSION.replace("AFTER", "pass").replace("SHARE", EVEN)
    text = text.replace("import numpy as np", "from six.moves import xrange\nimport numpy as np")
    assert "HVD331" in codes(text.replace("range(len(rows) // 8)", "xrange(100 // hvd.size() + hvd.rank())"))
    assert "HVD331" not in codes(text.replace("range(len(rows) // 8)", "xrange(100 // hvd.size())"))


BY_BATCH = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
rows, labels = np.load("rows.npy"), np.load("labels.npy")
n = len(rows) // hvd.size() * hvd.size()
rows = rows[CUT][hvd.rank()::hvd.size()]
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
hvd.broadcast_global_variables(0)
for epoch in range(10):
    for i in range(len(rows) // 8):
        model.train_on_batch(rows[8 * i:8 * i + 8], labels[8 * i:8 * i + 8])
    if epoch == 5:
        tf.keras.backend.set_value(model.optimizer.lr, RATE)
"""


@pytest.mark.parametrize(
    ("cut", "rate", "found"),
    [
        (":n", "0.001 * hvd.size()", set()),
        (":", "0.001 * hvd.size()", {"HVD323"}),
        (":n", "0.001", {"HVD310"}),
        (":n", "0.1 * tf.keras.backend.get_value(model.optimizer.lr)", set()),
    ],
)
def test_batches_one_by_one(cut: str, rate: str, found: set[str]) -> None:
    assert codes(BY_BATCH.replace("CUT", cut).replace("RATE", rate)) & {"HVD310", "HVD323"} == found


WHOLE = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
data = tf.data.Dataset.from_tensor_slices(np.load("rows.npy"))DEALT.shuffle(1000).batch(8)
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
model.fit(data, epochs=EPOCHS, callbacks=callbacks)
"""


@pytest.mark.parametrize(
    ("dealt", "epochs", "found"),
    [
        ("", "20", {"HVD321"}),
        ("", "20 // hvd.size()", set()),
        (".shard(hvd.size(), hvd.rank())", "20", set()),
        (".take(100)", "20", set()),
    ],
)
def test_epochs_over_a_whole_data_set(dealt: str, epochs: str, found: set[str]) -> None:
    assert codes(WHOLE.replace("DEALT", dealt).replace("EPOCHS", epochs)) & {"HVD321"} == found


# ---------------------------------------------------------------------- a third round

OWN_LOADER = (
    TAPE
    + """\

class Loader:
    def __init__(self, rows, batch):
        self.rows, self.batch, self.at = rows, batch, 0

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.rows) // self.batch

    def __next__(self):
        if self.at + self.batch > len(self.rows):
            self.at = 0
            raise StopIteration
        self.at += self.batch
        return self.rows[self.at - self.batch:self.at]

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = np.load("rows.npy")
MINE
hvd.broadcast_variables(model.variables, root_rank=0)
waited, best = 0, 1e9
for epoch in range(10):
    for x in Loader(rows, 8):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        rate = 0.01 * hvd.size() * 0.9 ** epoch
        RATE
        optimizer.learning_rate.assign(rate)
    now = float(hvd.allreduce(loss))
    if now < best:
        waited = 0
        BEST
    else:
        waited += 1
    if waited > 3:
        break
"""
)
SHARE = "share = len(rows) // hvd.size()\nrows = rows[hvd.rank() * share:(hvd.rank() + 1) * share]"


@pytest.mark.parametrize(
    ("mine", "rate", "best", "found"),
    [
        (SHARE, "pass", "best = now", set()),
        ("rows = rows[hvd.rank()::hvd.size()]", "pass", "best = now", {"HVD323"}),
        (SHARE, "if float(loss) > 5:\n            rate = rate * 0.1", "best = now", {"HVD333"}),
        (SHARE, "if float(hvd.allreduce(loss)) > 5:\n            rate = rate * 0.1", "best = now", set()),
        (SHARE, "if epoch > 5:\n            rate = rate * 0.1", "best = now", set()),
        (SHARE, "pass", "if hvd.rank() == 0:\n            best = now", {"HVD331"}),
        (SHARE, "pass", "best = now\n        if hvd.rank() == 0:\n            kept = now", set()),
    ],
)
def test_loaders_rates_and_patience_of_a_rank(mine: str, rate: str, best: str, found: set[str]) -> None:
    text = OWN_LOADER.replace("MINE", mine).replace("RATE", rate).replace("BEST", best)
    assert codes(text) & {"HVD323", "HVD331", "HVD333"} == found


PARTED = """\
import random
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

def parts(n, count):
    order = ORDER
    return np.array_split(order, count)

mine = parts(1000, 64)[hvd.rank()::hvd.size()]
base = tf.keras.applications.MobileNetV2(include_top=False, weights=None)
LOADED
model = tf.keras.Sequential([base, tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(3)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows(mine), steps_per_epoch=100 // hvd.size(), callbacks=[CALLBACKS])
"""
SENDS = "hvd.callbacks.BroadcastGlobalVariablesCallback(0)"


@pytest.mark.parametrize(
    ("order", "loaded", "callbacks", "found"),
    [
        ("np.random.RandomState(0).permutation(n)", "", SENDS, set()),
        ("np.random.permutation(n)", "", SENDS, {"HVD319"}),
        ("np.arange(n)", 'base.load_weights("base.h5")', "", {"HVD306"}),  # and the head begins anywhere
        ("np.arange(n)", 'base.load_weights("base.h5")', SENDS, set()),
    ],
)
def test_orders_that_a_function_divides_and_parts_that_are_loaded(
    order: str, loaded: str, callbacks: str, found: set[str]
) -> None:
    text = PARTED.replace("ORDER", order).replace("LOADED", loaded).replace("CALLBACKS", callbacks)
    assert codes(text) & {"HVD306", "HVD319"} == found


def test_all_weights_that_are_loaded() -> None:
    text = PARTED.replace("ORDER", "np.arange(n)").replace("LOADED", "").replace("CALLBACKS", "")
    assert "HVD306" not in codes(text.replace("model.fit", 'model.load_weights("all.h5")\nmodel.fit'))


def test_a_seed_without_a_number() -> None:
    shuffled = 'files = sorted(glob.glob("*.npz"))\nSEED\nrandom.shuffle(files)\n' + MINE
    assert "HVD319" in codes(FILES.replace("BEFORE", shuffled.replace("SEED", "random.seed()")))
    assert "HVD319" not in codes(FILES.replace("BEFORE", shuffled.replace("SEED", "random.seed(1)")))
