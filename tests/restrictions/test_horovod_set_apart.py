"""What some ranks alone have set: where they are told their number, counters that one of them restores, orders of sets."""

from __future__ import annotations

from .helpers import codes

TOLD_BY_AN_OBJECT = """\
import os
from types import SimpleNamespace

import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd


def start(distributed):
    if distributed:
        hvd.init()
        return SimpleNamespace(rank=hvd.rank(), size=hvd.size())
    return SimpleNamespace(rank=0, size=1)


where = start(args.distributed)
path = os.path.join(args.folder, "mean.npy")
if where.rank == 0:
    np.save(path, np.zeros(3))
mean = np.load(path)
"""


def test_a_rank_is_followed_through_a_plain_object() -> None:
    assert "HVD332" in codes(TOLD_BY_AN_OBJECT)
    waits = TOLD_BY_AN_OBJECT.replace("mean = np", "hvd.broadcast_object(None, root_rank=0)\nmean = np")
    assert "HVD332" not in codes(waits)
    by_rank = TOLD_BY_AN_OBJECT.replace('"mean.npy"', 'f"mean-{where.rank}.npy"')
    assert "HVD332" not in codes(by_rank)


RESUMED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
done = tf.Variable(0)
kept = tf.train.Checkpoint(done=done, model=model)
if hvd.rank() == 0:
    kept.restore(tf.train.latest_checkpoint("run"))
hvd.broadcast_variables(model.variables, root_rank=0)
for epoch in range(int(done), 10):
    for x in rows.take(100 // hvd.size()):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    done.assign_add(1)
"""


def test_a_counter_that_one_rank_restores_gives_it_other_turns() -> None:
    assert "HVD331" in codes(RESUMED)
    sent = RESUMED.replace("(model.variables, root", "([done, *model.variables], root")
    assert "HVD331" not in codes(sent)
    assert "HVD331" not in codes(RESUMED.replace("if hvd.rank() == 0:\n    kept", "kept"))
    by_a_name = RESUMED.replace("for epoch in range(int(done)", "first = int(done)\nfor epoch in range(first")
    assert "HVD331" in codes(by_a_name)
    exchanged = by_a_name.replace("first = int(done)", "first = hvd.broadcast_object(int(done), root_rank=0)")
    assert "HVD331" not in codes(exchanged)
    by_mpi = by_a_name.replace("first = int(done)", "first = comm.bcast(int(done), root=0)")
    assert "HVD331" not in codes(by_mpi)
    in_a_function = RESUMED.replace(
        "if hvd.rank() == 0:\n    kept.restore",
        "def resume():\n    kept.restore",
    ).replace("hvd.broadcast_variables(", "if hvd.rank() == 0:\n    resume()\nhvd.broadcast_variables(")
    assert "HVD331" in codes(in_a_function)


STEPS = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
loaded = None
if hvd.rank() == 0:
    model.load_weights("best.h5")
    loaded = np.load("optimizer.npy", allow_pickle=True)
step = 1
for x in tf.data.Dataset.from_tensor_slices(rows).shard(hvd.size(), hvd.rank()).repeat().batch(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if step == 1:
        if hvd.rank() == 0:
            optimizer.set_weights(loaded)
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables(), root_rank=0)
    last = step >= 1000
    step += 1
    if last:
        break
"""


def test_a_step_that_one_rank_loads_ends_its_loop_sooner() -> None:
    assert not codes(STEPS) & {"HVD331", "HVD333"}
    own = STEPS.replace(
        "    last = step",
        "        if loaded is not None:\n            step = int(loaded[0])\n    last = step",
    )
    assert "HVD331" in codes(own)
    of_all = own.replace("int(loaded[0])", "hvd.broadcast_object(int(loaded[0]), root_rank=0)")
    assert not codes(of_all) & {"HVD333"}
    printed = STEPS.replace("    if last:", "    if hvd.rank() == 0:\n        shown = step\n    if last:")
    assert "HVD331" not in codes(printed)


def test_what_an_optimizer_is_given_must_be_sent_after_that() -> None:
    late = STEPS.replace(
        "        if hvd.rank() == 0:\n            optimizer.set_weights(loaded)\n", ""
    ).replace(
        "    last = ", "        if hvd.rank() == 0:\n            optimizer.set_weights(loaded)\n    last = "
    )
    assert "HVD333" in codes(late)
    assert "HVD333" not in codes(
        late.replace("if hvd.rank() == 0:\n            opt", "if args.load:\n            opt")
    )


SET = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
for name in {"loss", "accuracy"}:
    print(name, hvd.allreduce(results[name]))
"""


def test_sets_of_texts_and_objects_have_another_order_on_each_rank() -> None:
    assert "HVD331" in codes(SET)
    for elements in (
        'sorted({"loss", "accuracy"})',
        '["loss", "accuracy"]',
        "{1, 2}",
        '{"loss"}',
        "set(names)",
    ):
        assert "HVD331" not in codes(SET.replace('{"loss", "accuracy"}', elements)), elements
    assert "HVD331" in codes(SET.replace('{"loss", "accuracy"}', 'list(set(["loss", "accuracy"]))'))
    beside = SET.replace("hvd.allreduce(results[name])", "results[name]") + "    hvd.allreduce(total)\n"
    assert "HVD331" not in codes(beside)  # the same in each turn


OF_ANOTHER_LIBRARY = """\
import tensorflow as tf
import horovod.tensorflow as hvd
from transformers import TFBertModel

hvd.init()
model = TFBertModel(settings)
if hvd.rank() == 0:
    model.save_weights("last.ckpt")
model.load_weights("last.ckpt")
"""


def test_models_of_other_libraries_write_and_read_weights() -> None:
    assert "HVD332" in codes(OF_ANOTHER_LIBRARY)
    alone = OF_ANOTHER_LIBRARY.replace("model.load", "hvd.allreduce(tf.ones(1))\nmodel.load")
    assert "HVD332" not in codes(alone)
    assert "HVD332" not in codes(
        OF_ANOTHER_LIBRARY.replace("if hvd.rank() == 0:\n    model.save", "model.save")
    )


KEPT_BY_CALLBACKS = """\
import os
import pandas as pd
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.CSVLogger(os.path.join(args.out, "history.csv")))
model.fit(x, y, epochs=9, callbacks=callbacks)
history = pd.read_csv(os.path.join(args.out, "history.csv"))
"""


def test_what_a_callback_of_one_rank_keeps_is_read_after_it_is_written() -> None:
    assert "HVD332" in codes(KEPT_BY_CALLBACKS)
    waits = KEPT_BY_CALLBACKS.replace("history = pd", "hvd.broadcast_object(None, root_rank=0)\nhistory = pd")
    assert "HVD332" not in codes(waits)
    by_one = KEPT_BY_CALLBACKS.replace("history = pd", "if hvd.rank() == 0:\n    history = pd")
    assert "HVD332" not in codes(by_one)
    other = KEPT_BY_CALLBACKS.replace(
        'read_csv(os.path.join(args.out, "history.csv"))', 'read_csv("old.csv")'
    )
    assert "HVD332" not in codes(other)
    saved = KEPT_BY_CALLBACKS.replace(
        'CSVLogger(os.path.join(args.out, "history.csv"))', 'ModelCheckpoint("best-{epoch}.h5")'
    ).replace('pd.read_csv(os.path.join(args.out, "history.csv"))', 'model.load_weights("best-9.h5")')
    assert "HVD332" not in codes(saved)


FOR_OTHERS = """\
import os
import tensorflow as tf
import horovod.tensorflow as hvd


class Solver:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.stopped = False
        self.verbose = False

    def step(self, samples):
        with tf.GradientTape() as tape:
            loss = self.model.loss(samples)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    def train(self, rows):
        for number, samples in enumerate(rows.take(100)):
            loss = self.step(samples)
            if number == 0:
                hvd.broadcast_variables(self.model.trainable_variables, root_rank=0)
                hvd.broadcast_variables(self.optimizer.variables(), root_rank=0)
            if hvd.rank() == 0:
                if self.stopped:
                    break
"""


def test_what_trains_in_a_module_for_others_is_run_by_all_ranks() -> None:
    assert "HVD331" in codes(FOR_OTHERS)
    shown = FOR_OTHERS.replace("if self.stopped:\n                    break", "print(loss)")
    assert "HVD331" not in codes(shown)
    of_all = FOR_OTHERS.replace(
        "if hvd.rank() == 0:\n                if self.stopped", "if True:\n                if self.stopped"
    )
    assert "HVD331" not in codes(of_all)
    no_training = FOR_OTHERS.replace("hvd.DistributedGradientTape(tape)", "tape").replace(
        "loss = self.step(samples)", "loss = hvd.allreduce(self.model.loss(samples))"
    )
    assert "HVD331" not in codes(no_training)  # a function that some ranks alone may run


SET_UP_ELSEWHERE = """\
import os
import horovod.tensorflow.keras as hvd
import tensorflow as tf


class Training:
    def __init__(self):
        self.distributed = False
        self.debug = False

    def start(self):
        if self.distributed is True:
            hvd.init()
            if self.debug is True:
                if not os.path.isdir("logs"):
                    os.mkdir("logs")
"""


def test_what_other_modules_set_up_may_be_anything() -> None:
    assert "HVD332" in codes(SET_UP_ELSEWHERE)
    assert "HVD332" not in codes(SET_UP_ELSEWHERE + "\n\nTraining().start()\n")
    guarded = SET_UP_ELSEWHERE.replace(
        "            hvd.init()", "          if HVD_THERE:\n            hvd.init()"
    ).replace(
        "import tensorflow as tf\n",
        "import tensorflow as tf\n\nHVD_THERE = False\ntry:\n    HVD_THERE = True\nexcept ImportError:\n    pass\n",
    )
    assert "HVD332" in codes(guarded)
    by_name = guarded.replace(
        "except ImportError:\n    pass", "except ImportError:\n    HVD_THERE = lookup()"
    )
    assert "HVD332" not in codes(by_name)
    by_one = SET_UP_ELSEWHERE.replace(
        'if not os.path.isdir("logs")', 'if hvd.rank() == 0 and not os.path.isdir("logs")'
    )
    assert "HVD332" not in codes(by_one)


KEPT_BY_RANK_0 = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
        self.optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
        self.kept = tf.train.Checkpoint(model=self.model)
        self.manager = MADE
        hvd.broadcast_variables(self.model.variables, root_rank=0)

    def fit(self):
        if ASKED:
            self.kept.restore(self.manager.latest_checkpoint)
        SENT
        for x in rows:
            with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
                loss = tf.reduce_mean(self.model(x) ** 2)
            weights = self.model.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


Trainer().fit()
"""


def test_a_field_that_rank_0_alone_fills() -> None:
    def found(made: str, asked: str, sent: str = "pass") -> bool:
        text = KEPT_BY_RANK_0.replace("MADE", made).replace("ASKED", asked).replace("SENT", sent)
        return "HVD333" in codes(text)

    manager = 'tf.train.CheckpointManager(self.kept, "run", 3)'
    by_rank = f"{manager} if hvd.rank() == 0 else None"
    assert found(by_rank, "self.manager")
    assert found(f"None if hvd.rank() else {manager}", "self.manager is not None")
    assert not found(by_rank, "self.manager", "hvd.broadcast_variables(self.model.variables, root_rank=0)")
    assert not found(manager, "self.manager")
    assert not found(f"{manager} if resume else None", "self.manager")


SENT_ALREADY = (
    KEPT_BY_RANK_0.replace("MADE", "None")
    .replace("ASKED", "hvd.rank() == 0")
    .replace("self.kept.restore(self.manager.latest_checkpoint)", 'self.model.load_weights("weights.h5")')
)


def test_a_flag_that_is_set_before_the_weights_change() -> None:
    again = """            if not self.sent:
                hvd.broadcast_variables(self.model.variables, root_rank=0)
                self.sent = True
"""
    applied = "            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))\n"
    text = SENT_ALREADY.replace(applied, applied + again).replace("SENT", "pass")
    assert applied + again in text
    assert "HVD333" in codes(text.replace("self.manager = None", "self.sent = True"))
    assert "HVD333" not in codes(text.replace("self.manager = None", "self.sent = False"))


COPIED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def make():
    return tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(4,))])


class Agent:
    def __init__(self):
        self.online, self.optimizer = make(), tf.keras.optimizers.SGD(0.01)
        self.target, self.shown = make(), make()
        hvd.broadcast_variables(self.online.variables, root_rank=0)
        self.target.set_weights(self.online.get_weights())

    def learn(self, x):
        goal = self.target(x)
        with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean((self.online(x) - goal) ** 2)
        weights = self.online.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


agent = Agent()
for step, x in enumerate(rows):
    agent.learn(x)
    if TEST:
        agent.COPY.set_weights(agent.online.get_weights())
"""


def test_a_copy_of_weights_by_another_name_of_the_object() -> None:
    by_rank = COPIED.replace("TEST", "step % 100 == 0 and hvd.rank() == 0")
    assert "HVD333" in codes(by_rank.replace("COPY", "target"))
    assert "HVD333" not in codes(by_rank.replace("COPY", "shown"))
    assert "HVD333" not in codes(COPIED.replace("TEST", "step % 100 == 0").replace("COPY", "target"))


SEEDED_APART = """\
import os
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
seed = int(os.environ.get("SEED", "0"))
tf.random.set_seed(SEED)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in rows:
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def test_a_seed_with_the_rank_in_it_gives_no_rank_the_same_weights() -> None:
    assert "HVD306" in codes(SEEDED_APART.replace("SEED)", "seed + hvd.rank())"))
    assert "HVD306" not in codes(SEEDED_APART.replace("SEED)", "seed + 1)"))
