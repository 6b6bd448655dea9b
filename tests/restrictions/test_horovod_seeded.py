"""Faults that were put into scripts written for it, in forms that were missed at first, and what resembles them."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize

from .helpers import changed, codes

FIT = """\
import argparse
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--batch", type=int, default=32)
    return parser.parse_args()


def rows(name, batch, training):
    with np.load(name) as file:
        data = tf.data.Dataset.from_tensor_slices((file["x"], file["y"]))
        count = len(file["x"])
    if training:
        data = data.shard(hvd.size(), hvd.rank()).shuffle(1000).repeat()
    return data.batch(batch), count


def main():
    args = arguments()
    hvd.init()
    train, count = rows("train.npz", args.batch, True)
    steps = count // (args.batch * hvd.size())
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(args.lr * hvd.size()))
    model.compile(optimizer, "mse")
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
    model.fit(train, steps_per_epoch=steps, epochs=3, callbacks=callbacks, verbose=0)


main()
"""
CALLBACKS = "callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]"


def test_a_right_fit_has_no_finding() -> None:
    assert codes(FIT) <= {"HVD303"}


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ("callbacks = [] and [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]", True),
        ("callbacks = [*([] and [hvd.callbacks.BroadcastGlobalVariablesCallback(0)])]", True),
        ("callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)] if 0 else []", True),
        ("callbacks = [] or [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]", False),
        ("callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)] if args.batch else []", False),
        ("callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)] if hvd.size() > 1 else []", False),
    ],
)
def test_what_never_runs_broadcasts_nothing(given: str, missing: bool) -> None:
    assert ("HVD306" in codes(changed(FIT, (CALLBACKS, given)))) is missing


def test_an_arm_that_never_runs_broadcasts_nothing() -> None:
    """As in code that kept the example's branch for augmented data, which gets no callbacks."""
    fit = "    model.fit(train, steps_per_epoch=steps, epochs=3, callbacks=callbacks, verbose=0)\n"
    two = changed(
        FIT,
        (fit, f"    augmented = True\n    if not augmented:\n    {fit}    else:\n        model.fit(train)\n"),
    )
    assert "HVD306" in codes(two)
    assert "HVD306" not in codes(two.replace("augmented = True", "augmented = args.batch > 8"))
    both = two.replace("model.fit(train)", "model.fit(train, callbacks=callbacks)")
    assert "HVD306" not in codes(both)
    alone = changed(  # a switch by which Horovod is not used at all
        FIT,
        (
            "    optimizer = hvd.",
            "    distributed = False\n    optimizer = 0.1\n    if distributed:\n        optimizer = hvd.",
        ),
        ("    callbacks = [hvd", "    callbacks = [] if not distributed else [hvd"),
    )
    assert "HVD306" not in codes(alone)


@pytest.mark.parametrize(
    ("number", "found"),
    [
        ("    if hvd.rank() == 1:\n        steps -= 1\n", True),
        ("    steps = steps - (1 if hvd.rank() == 0 else 0)\n", True),
        ("    steps = steps - int(hvd.rank() == 0)\n", True),
        ("    if hvd.rank() == 0:\n        steps = 10\n", True),
        ("    if hvd.rank() == 0:\n        print(steps)\n", False),
        ("    if hvd.rank() == 0:\n        steps = 10\n    steps = hvd.broadcast_object(steps, 0)\n", False),
        ("    if hvd.size() == 1:\n        steps -= 1\n", False),
        ("    steps = steps - (1 if args.batch > 8 else 0)\n", False),
        ("    verbose = 1 if hvd.rank() == 0 else 0\n", False),
    ],
)
def test_steps_that_a_test_of_the_rank_changes(number: str, found: bool) -> None:
    model = "    model = tf.keras.Sequential"
    assert ("HVD323" in codes(changed(FIT, (model, number + model)))) is found


def test_steps_of_a_count_and_of_arguments_are_undivided() -> None:
    undivided = changed(FIT, ("count // (args.batch * hvd.size())", "count // args.batch"))
    assert "HVD321" in codes(undivided)
    assert "HVD321" not in codes(undivided.replace(".repeat()", ""))
    assert "HVD321" not in codes(undivided.replace("args.lr * hvd.size()", "args.lr"))


MONITORED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

v1 = tf.compat.v1
v1.disable_eager_execution()
FLAGS = v1.flags.FLAGS
v1.flags.DEFINE_string("model_dir", "model", "Where checkpoints go.")
v1.flags.DEFINE_integer("steps", 8000, "Steps of one process.")
v1.flags.DEFINE_float("rate", 0.05, "Rate of one process.")


def batches():
    rows = tf.data.TFRecordDataset("rows").shard(hvd.size(), hvd.rank())
    rows = rows.map(lambda r: tf.io.decode_raw(r, tf.float32)).shuffle(100).repeat().batch(32)
    return v1.data.make_one_shot_iterator(rows).get_next()


def rate(step):
    bounds = [FLAGS.steps // 2 // hvd.size(), FLAGS.steps * 3 // 4 // hvd.size()]
    first = FLAGS.rate * hvd.size()
    return v1.train.piecewise_constant(step, bounds, [first, first * 0.1, first * 0.01])


def main(_):
    hvd.init()
    loss = v1.reduce_mean(v1.layers.dense(batches(), 1) ** 2)
    step = v1.train.get_or_create_global_step()
    optimizer = hvd.DistributedOptimizer(v1.train.MomentumOptimizer(rate(step), 0.9))
    train_op = optimizer.minimize(loss, global_step=step)
    hooks = [
        hvd.BroadcastGlobalVariablesHook(0),
        v1.train.StopAtStepHook(last_step=FLAGS.steps // hvd.size()),
    ]
    folder = FLAGS.model_dir if hvd.rank() == 0 else None
    with v1.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks) as session:
        while not session.should_stop():
            session.run(train_op)


v1.app.run(main)
"""


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("first = FLAGS.rate * hvd.size()", "first = FLAGS.rate", "HVD308"),
        ("bounds = [FLAGS.steps // 2 // hvd.size(), FLAGS.steps * 3 // 4 // hvd.size()]",
         "bounds = [FLAGS.steps // 2, FLAGS.steps * 3 // 4]", "HVD325"),
        ("folder = FLAGS.model_dir if hvd.rank() == 0 else None", "folder = FLAGS.model_dir", "HVD314"),
        ("last_step=FLAGS.steps // hvd.size()", "last_step=FLAGS.steps", "HVD321"),
        ("last_step=FLAGS.steps // hvd.size()",
         "last_step=FLAGS.steps // hvd.size() - (1 if hvd.rank() == 1 else 0)", "HVD323"),
    ],
)  # fmt: skip
def test_flags_say_the_same_on_all_ranks(right: str, wrong: str, code: str) -> None:
    assert codes(MONITORED) <= {"HVD303"}
    assert code in codes(changed(MONITORED, (right, wrong)))


def test_a_monitored_session_is_told_of_its_hook() -> None:
    text = changed(MONITORED, ("        hvd.BroadcastGlobalVariablesHook(0),\n", ""))
    (found,) = [v for v in check(summarize(Document(text, "train.py"))) if v.code == "HVD306"]
    assert "the hook `hvd.BroadcastGlobalVariablesHook(0)`" in found.message
    assert "callbacks" not in found.message


SESSION = """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_v2_behavior()


class Reader:
    def __init__(self, path, batch, rank, size):
        images = np.load(path)
        rows = len(images) // size * size
        self.images = images[:rows][rank::size]
        self.batch = batch

    @property
    def steps(self):
        return len(self.images) // self.batch

    def epoch(self):
        for i in range(self.steps):
            yield self.images[i * self.batch : (i + 1) * self.batch]


def main():
    hvd.init()
    reader = Reader("images.npy", 64, hvd.rank(), hvd.size())
    x = tf.placeholder(tf.float32, [None, 784])
    loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
    train_op = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.001 * hvd.size())).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(hvd.broadcast_global_variables(0))
        for epoch in range(3):
            for images in reader.epoch():
                session.run(train_op, {x: images})


main()
"""


def test_shares_that_a_class_takes_by_the_rank_that_it_is_given() -> None:
    assert not {"HVD319", "HVD323"} & codes(SESSION)
    assert "HVD323" in codes(changed(SESSION, ("images[:rows][rank::size]", "images[rank::size]")))
    order = "        images = images[np.random.permutation(rows)]\n        self.images = images"
    shuffled = changed(SESSION, ("        self.images = images", order))
    assert "HVD319" in codes(shuffled)
    assert "HVD319" not in codes(
        shuffled.replace("        images = np.load", "        np.random.seed(1)\n        images = np.load")
    )


SEQUENCE = """\
import os
import keras
import numpy as np
import horovod.keras as hvd


class Scans(keras.utils.Sequence):
    def __init__(self, names, batch):
        self.names, self.batch = names, batch

    def __len__(self):
        return len(self.names) // self.batch

    def __getitem__(self, index):
        return np.stack([np.load(n) for n in self.names[index * self.batch : (index + 1) * self.batch]])


class Schedule:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, epoch):
        scaled = self.rate * hvd.size()
        return scaled if epoch < 10 else scaled * 0.1


def main(rate=0.001):
    hvd.init()
    names = sorted(os.listdir("scans"))
    names = names[: len(names) // hvd.size() * hvd.size()]
    mine = names[hvd.rank() :: hvd.size()]
    model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(4,))])
    model.compile(hvd.DistributedOptimizer(keras.optimizers.Adam(rate * hvd.size())), "mse")
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), keras.callbacks.LearningRateScheduler(Schedule(rate))]
    model.fit_generator(Scans(mine, 4), epochs=20, callbacks=callbacks)


main()
"""


def test_a_sequence_of_a_share_and_an_object_that_gives_rates() -> None:
    assert not {"HVD310", "HVD323"} & codes(SEQUENCE)
    cut = "    names = names[: len(names) // hvd.size() * hvd.size()]\n"
    assert "HVD323" in codes(changed(SEQUENCE, (cut, "")))
    assert "HVD310" in codes(changed(SEQUENCE, ("self.rate * hvd.size()", "self.rate")))
    assert "HVD310" not in codes(changed(SEQUENCE, ("self.rate * hvd.size()", "self.rate * scale(epoch)")))


BY_HAND = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
settings = {"rate": 0.1, "steps": 5000}
rows = tf.data.TFRecordDataset("rows").shard(hvd.size(), hvd.rank()).shuffle(100).repeat().batch(8)
rows = rows.map(lambda r: tf.io.decode_raw(r, tf.float32))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
schedule = tf.keras.optimizers.schedules.CosineDecay(settings["rate"] * hvd.size(), settings["steps"] // hvd.size())
optimizer = tf.keras.optimizers.SGD(schedule)
for step, x in enumerate(rows.take(settings["steps"] // hvd.size())):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = [hvd.allreduce(g, op=hvd.Average) for g in gradients]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if step == 0:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    if step % 500 == 0 and hvd.rank() == 0:
        model.save_weights("model.h5")
"""


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("op=hvd.Average", "op=hvd.Sum", "HVD317"),
        (
            'hvd.size(), settings["steps"] // hvd.size())\noptimizer',
            'hvd.size(), settings["steps"])\noptimizer',
            "HVD325",
        ),
        ('model.save_weights("model.h5")', 'model.load_weights("model.h5")', "HVD333"),
    ],
)
def test_gradients_that_are_averaged_by_hand_train_all_ranks(right: str, wrong: str, code: str) -> None:
    assert codes(BY_HAND) <= {"HVD303"}
    assert code in codes(changed(BY_HAND, (right, wrong)))


STEP = """\
import tensorflow as tf
import horovod.tensorflow as hvd


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.Adam(0.001 * hvd.size())

    @tf.function
    def step(self, x, first):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        if first:
            hvd.broadcast_variables(self.model.variables, root_rank=0)

    def fit(self, rows):
        for i, x in enumerate(rows):
            self.step(x, i == 0)


def make(seed=None):
    rows = tf.data.TFRecordDataset("rows").shard(hvd.size(), hvd.rank())
    if seed is not None:
        rows = rows.shuffle(100, seed=seed)
    return rows.map(lambda r: tf.io.decode_raw(r, tf.float32)).take(100).batch(4)


hvd.init()
Trainer().fit(make(seed=hvd.rank()))
"""


def test_a_broadcast_that_no_call_asks_for_is_none() -> None:
    assert "HVD306" not in codes(STEP)
    assert "HVD306" in codes(changed(STEP, ("i == 0", "False")))
    assert "HVD306" not in codes(changed(STEP, ("i == 0", "args.first")))
    asked = changed(
        STEP,
        (
            "            self.step(x, i == 0)\n",
            "            self.step(x, False)\n        self.step(x, True)\n",
        ),
    )
    assert "HVD306" not in codes(asked)
    assert "HVD306" not in codes(
        changed(STEP, ("i == 0", "False"), ("hvd.init()\n", "hvd.init()\ntf.random.set_seed(1)\n"))
    )


ESTIMATOR = """\
import tensorflow as tf
import horovod.tensorflow as hvd


def train_input(x, y):
    def input_fn():
        rows = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank())
        return rows.shuffle(100).repeat().batch(128)

    return input_fn


def model_fn(features, labels, mode, params):
    loss = tf.compat.v1.losses.mean_squared_error(labels, tf.compat.v1.layers.dense(features, 1))
    optimizer = tf.compat.v1.train.AdagradOptimizer(params["rate"])
    train_op = hvd.DistributedOptimizer(optimizer).minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


hvd.init()
x, y = tf.keras.utils.load("rows")
run = tf.estimator.RunConfig(
    model_dir="clicks" if hvd.rank() == 0 else None,
    save_checkpoints_steps=500 if hvd.rank() == 0 else None,
)
estimator = tf.estimator.Estimator(model_fn, config=run, params={"rate": 0.01 * hvd.size()})
estimator.train(train_input(x, y), steps=len(x) // (128 * hvd.size()), hooks=[hvd.BroadcastGlobalVariablesHook(0)])
"""
_FOLDER = '"clicks" if hvd.rank() == 0 else None'
_SAVED = "save_checkpoints_steps=500 if hvd.rank() == 0 else None"


def test_what_an_estimator_is_given_by_its_configuration_and_parameters() -> None:
    assert not {"HVD309", "HVD314", "HVD321"} & codes(ESTIMATOR)
    assert "HVD314" in codes(
        changed(ESTIMATOR, (_FOLDER, '"clicks"'), (_SAVED, "save_checkpoints_steps=500"))
    )
    assert "HVD314" not in codes(changed(ESTIMATOR, (_FOLDER, '"clicks"')))  # rank 0 alone saves
    assert "HVD321" in codes(changed(ESTIMATOR, ("128 * hvd.size()", "128")))
    assert "HVD309" in codes(changed(ESTIMATOR, ('params["rate"]', 'params["rate"] * hvd.size()')))


def test_a_gpu_that_is_chosen_again_by_the_local_rank() -> None:
    text = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.rank())
"""
    assert "HVD302" in codes(text)
    assert "HVD302" not in codes(text + "config.gpu_options.visible_device_list = str(hvd.local_rank())\n")
    made = "params = tf.contrib.training.HParams(device=0, logs=None if hvd.rank() else 'logs')\nconfig = tf"
    given = changed(text, ("str(hvd.rank())", "str(params.device)"), ("config = tf", made))
    assert "HVD302" not in codes(given)


def test_a_class_that_is_not_seen_may_average_itself() -> None:
    text = changed(FIT, ("hvd.DistributedOptimizer(tf.keras.optimizers.SGD(args.lr * hvd.size()))",
        "tf.keras.optimizers.SGD(args.lr * hvd.size())"))  # fmt: skip
    (plain,) = [v for v in check(summarize(Document(text, "train.py"))) if v.code == "HVD304"]
    assert plain.severity.value == "warning"
    unseen = changed(text, ("tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])", "Conformer(4)"), (
        "import numpy", "from models import Conformer\nimport numpy"))  # fmt: skip
    (found,) = [v for v in check(summarize(Document(unseen, "train.py"))) if v.code == "HVD304"]
    assert found.severity.value == "information"


def test_a_seed_of_the_rank_makes_no_weights_alike() -> None:
    no_broadcast = changed(STEP, ("i == 0", "False"))
    seeded = "hvd.init()\nimport random, numpy as np\n{}\n"
    for seed, found in (
        ("tf.random.set_seed(3 + hvd.rank())", True),
        ("np.random.seed(hvd.rank())", True),
        ("random.seed(1)", True),
        ("tf.random.set_seed(3)", False),
        ("np.random.seed(7)", False),  # weights may be made by NumPy
        ("tf.random.set_seed(3 + hvd.size())", False),
    ):
        text = changed(no_broadcast, ("hvd.init()\n", seeded.format(seed)))
        assert ("HVD306" in codes(text)) is found, seed


@pytest.mark.parametrize(
    ("added", "found"),
    [("+ hvd.rank()", True), ("- hvd.rank()", True), ("* 2", False), ("+ hvd.size()", False)],
)
def test_steps_to_which_the_rank_is_added(added: str, found: bool) -> None:
    text = changed(
        MONITORED, ("last_step=FLAGS.steps // hvd.size()", f"last_step=FLAGS.steps // hvd.size() {added}")
    )
    assert ("HVD323" in codes(text)) is found


def test_a_fit_goes_by_the_compile_before_it() -> None:
    fit = "    model.fit(train, steps_per_epoch=steps, epochs=3, callbacks=callbacks, verbose=0)\n"
    again = changed(FIT, (fit, fit + "    model.compile(tf.keras.optimizers.SGD(0.01), 'mse')\n" + fit))
    (found,) = [v for v in check(summarize(Document(again, "train.py"))) if v.code == "HVD304"]
    assert found.span.start > again.index("'mse'")
    right = again.replace("tf.keras.optimizers.SGD(0.01), 'mse'", "optimizer, 'mse'")
    assert "HVD304" not in codes(right)


def test_gradients_that_are_clipped_by_an_argument() -> None:
    text = """\
import argparse
import tensorflow as tf
import horovod.tensorflow as hvd

parser = argparse.ArgumentParser()
args = parser.parse_args()
hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1 * hvd.size())
for x in tf.data.TFRecordDataset("rows").shard(hvd.size(), hvd.rank()).repeat().take(100 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients, _ = tf.clip_by_global_norm(gradients, args.clip)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
    assert "HVD304" not in codes(text)
    wrap = "    tape = hvd.DistributedGradientTape(tape)\n"
    take = "    gradients = tape.gradient(loss, model.trainable_variables)\n"
    assert "HVD304" in codes(changed(text, (wrap + take, take + wrap)))  # wrapped when they are taken already


def test_what_trains_beside_a_function_that_spark_runs_is_no_rank() -> None:
    text = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from sparkdl import HorovodRunner

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.Adam(0.001), "mse")
model.fit(x, y)


def on_ranks():
    hvd.init()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.001 * hvd.size())), "mse")
    model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])


HorovodRunner(np=2).run(on_ranks)
"""
    assert "HVD304" not in codes(text)
    assert "HVD304" in codes(
        text.replace("HorovodRunner(np=2).run(on_ranks)", "hvd.init()").replace(
            "from sparkdl import HorovodRunner\n", ""
        )
    )


def test_what_an_optimizer_keeps_is_no_model() -> None:
    text = changed(
        STEP,
        ("hvd.broadcast_variables(self.model.variables", "hvd.broadcast_variables(self.optimizer.variables"),
    )
    assert "HVD306" in codes(text)


def test_an_estimator_waits_for_all_ranks() -> None:
    train = "estimator.train(train_input"
    assert "HVD313" not in codes(ESTIMATOR)
    assert "HVD313" in codes(changed(ESTIMATOR, (train, f"if hvd.rank() == 0:\n    {train}")))
    assert "HVD313" not in codes(
        ESTIMATOR + "if hvd.rank() == 0:\n    estimator.evaluate(train_input(x, y), steps=1)\n"
    )


def test_the_same_rows_through_a_lambda() -> None:
    rows = "rows = rows.map(lambda r: tf.io.decode_raw(r, tf.float32))"
    same = changed(
        BY_HAND,
        (".shard(hvd.size(), hvd.rank()).shuffle(100)", ".shuffle(100, seed=1)"),
        ("hvd.allreduce(g, op=hvd.Average) for g in gradients]", "g for g in gradients]"),
        (
            "    gradients = tape.gradient",
            "    tape = hvd.DistributedGradientTape(tape)\n    gradients = tape.gradient",
        ),
    )
    assert rows in same
    assert "HVD320" in codes(same)
    assert "HVD320" not in codes(same.replace(", seed=1", ""))


TWICE = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd


def train(rate):
    return hvd.DistributedOptimizer(tf.train.AdamOptimizer(rate * hvd.size()))


hvd.init()
train(0.1)
train(0.2)
"""


def test_a_rate_that_has_grown_before_it_is_passed_or_in_its_schedule() -> None:
    assert "HVD309" not in codes(TWICE)
    assert "HVD309" in codes(changed(TWICE, ("train(0.2)", "train(0.2 * hvd.size())")))
    decayed = changed(
        TWICE,
        ("    return hvd", "    rate = tf.train.exponential_decay(rate, step, 100, 0.9)\n    return hvd"),
    )
    assert "HVD309" not in codes(decayed)
    assert "HVD309" in codes(changed(decayed, ("decay(rate,", "decay(0.1 * hvd.size(),")))
