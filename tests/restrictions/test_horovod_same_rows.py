"""Rows that are the same on all ranks in graphs, data sets that one rank prepares, and what else ranks answer by themselves."""

from __future__ import annotations

import pytest

from .helpers import changed, codes

SESSION = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()


def inputs():
    rows = tf.data.FixedLengthRecordDataset(["a.bin", "b.bin"], 4)
    rows = rows.SPLIT
    return rows.map(lambda r: tf.cast(tf.decode_raw(r, tf.uint8), tf.float32)).batch(8).make_one_shot_iterator().get_next()


loss = tf.reduce_mean(tf.layers.dense(inputs(), 1) ** 2)
step = tf.train.get_or_create_global_step()
train_op = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size())).minimize(loss, step)
hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=1000 // hvd.size())]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train_op)
"""


@pytest.mark.parametrize(
    ("split", "found"),
    [
        ("repeat()", True),
        ("shuffle(99, seed=1).repeat()", True),
        ("shuffle(99).repeat()", False),
        ("shard(hvd.size(), hvd.rank()).repeat()", False),
        ("shuffle(99, seed=hvd.rank()).repeat()", False),
        ("skip(hvd.rank() * 99).repeat()", False),
    ],
)
def test_rows_that_a_session_takes_of_a_one_shot_iterator(split: str, found: bool) -> None:
    assert ("HVD320" in codes(changed(SESSION, ("SPLIT", split)))) == found


def test_two_data_sets_of_one_session_are_not_told_apart() -> None:
    text = changed(SESSION, ("SPLIT", "repeat()"), ("inputs(), 1)", "inputs() + inputs(), 1)"))
    more = changed(text, ('"b.bin"], 4)\n', '"b.bin"], 4) if hvd.rank() else tf.data.Dataset.range(9)\n'))
    assert "HVD320" not in codes(more)


ESTIMATOR = """\
import functools
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd


def input_fn(path, training):
    rows = tf.data.TextLineDataset(path)
    if training:
        rows = rows.SPLIT
    return rows.map(lambda line: (tf.strings.length(line), 1)).batch(8)


def model_fn(features, labels, mode):
    loss = tf.reduce_mean(tf.layers.dense(tf.cast(features, tf.float32)[:, None], 1) ** 2)
    optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size()))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


hvd.init()
estimator = tf.estimator.Estimator(model_fn, model_dir="kept" if hvd.rank() == 0 else None)
hooks = [hvd.BroadcastGlobalVariablesHook(0)]
estimator.train(GIVEN, hooks=hooks, steps=1000 // hvd.size())
"""


@pytest.mark.parametrize(
    ("given", "split", "found"),
    [
        ('functools.partial(input_fn, "rows.txt", True)', "repeat()", True),
        ('functools.partial(input_fn, "rows.txt", training=True)', "repeat()", True),
        ('lambda: input_fn("rows.txt", True)', "repeat()", True),
        ('functools.partial(input_fn, "rows.txt", True)', "shuffle(99).repeat()", False),
        ('functools.partial(input_fn, "rows.txt", True)', "shard(hvd.size(), hvd.rank()).repeat()", False),
        ('functools.partial(input_fn, f"rows-{hvd.rank()}.txt", True)', "repeat()", False),
        ("functools.partial(input_fn, *given)", "repeat()", False),
    ],
)
def test_rows_of_an_estimators_input_function(given: str, split: str, found: bool) -> None:
    assert ("HVD320" in codes(changed(ESTIMATOR, ("GIVEN", given), ("SPLIT", split)))) == found


BY_HAND = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
np.random.seed(SEED)
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
for _ in range(1000 // hvd.size()):
    rows = np.random.choice(len(x), 8)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x[rows]) - y[rows]) ** 2)
    gradients = [hvd.allreduce(g) for g in tape.gradient(loss, model.trainable_variables)]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(("seed", "found"), [("3", True), ("3 + hvd.rank()", False)])
def test_rows_drawn_by_one_seed_where_gradients_are_averaged_by_hand(seed: str, found: bool) -> None:
    assert ("HVD320" in codes(changed(BY_HAND, ("SEED", seed)))) == found


PREPARED = """\
import tensorflow as tf
import tensorflow_datasets as tfds
import horovod.tensorflow.keras as hvd

hvd.init()
if hvd.local_rank() == 0:
    PREPARE
WAIT
rows = tfds.load("mnist", split="train", as_supervised=True).shard(hvd.size(), hvd.rank()).repeat().batch(8)
model = tf.keras.Sequential([tf.keras.layers.Flatten(input_shape=(28, 28, 1)), tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, steps_per_epoch=100 // hvd.size(), callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("prepare", "wait", "found"),
    [
        ('tfds.builder("mnist").download_and_prepare()', "", True),
        ('tfds.load("mnist")', "", True),
        ('builder = tfds.builder("mnist")\n    builder.download_and_prepare()', "", True),
        ('tfds.builder("mnist").download_and_prepare()', "hvd.broadcast(0, 0)", False),
        ('tfds.builder("cifar10").download_and_prepare()', "", False),
        ('print("mnist")', "", False),
    ],
)
def test_a_data_set_that_one_rank_prepares_for_the_others(prepare: str, wait: str, found: bool) -> None:
    assert ("HVD332" in codes(changed(PREPARED, ("PREPARE", prepare), ("WAIT", wait)))) == found


WORDS = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
lines = open("lines.txt").read().split("\\n")
words = MADE
numbers = {word: i for i, word in enumerate(words)}
rows = tf.data.Dataset.from_tensor_slices([numbers[line.split()[0]] for line in lines])
rows = rows.shard(hvd.size(), hvd.rank()).repeat().batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, steps_per_epoch=100 // hvd.size(), callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("set(w for line in lines for w in line.split())", True),
        ("{w for line in lines for w in line.split()}", True),
        ('list({w for line in lines for w in line.split(" ")})', True),
        ("sorted(set(w for line in lines for w in line.split()))", False),
        ("[w for line in lines for w in line.split()]", False),
        ("dict.fromkeys(w for line in lines for w in line.split())", False),
        ("set(len(w) for line in lines for w in line.split())", False),
        ("set(fold for fold in folds.split(lines))", False),
    ],
)
def test_words_that_a_set_of_what_lines_hold_numbers(made: str, found: bool) -> None:
    assert ("HVD333" in codes(changed(WORDS, ("MADE", made)))) == found


ELASTIC = """\
import os
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())


@hvd.elastic.run
def train(state):
    while state.epoch < 9:
        for x in tf.data.Dataset.from_tensor_slices(tf.ones([99, 4])).shard(hvd.size(), hvd.rank()).repeat().batch(8).take(9):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            tape = hvd.DistributedGradientTape(tape)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        SAVE
        state.epoch += 1
        state.commit()


state = hvd.elastic.TensorFlowKerasState(model, optimizer, epoch=0)
state.register_reset_callbacks([lambda: optimizer.lr.assign(0.01 * hvd.size())])
train(state)
"""


@pytest.mark.parametrize(
    ("save", "found"),
    [
        ("model.save_weights(f'kept-{state.epoch}.h5')", True),
        ("model.save_weights(f'kept-{state.epoch}-{hvd.rank()}.h5')", False),
        ("model.save_weights(f'kept-{os.getpid()}-{state.epoch}.h5')", False),
        ("hvd.rank() == 0 and model.save_weights(f'kept-{state.epoch}.h5')", False),
    ],
)
def test_weights_that_all_ranks_of_elastic_training_write(save: str, found: bool) -> None:
    assert ("HVD314" in codes(changed(ELASTIC, ("SAVE", save)))) == found


RESUME = """\
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
first = 0
FIND
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint(os.path.join("kept", "e{epoch}.h5")))
model.fit(tf.ones([99, 4]), tf.ones([99, 1]), epochs=9, initial_epoch=first, callbacks=callbacks)
"""
LISTED = "    first = max((int(name[1:-3]) for name in os.listdir('kept')), default=0)"


@pytest.mark.parametrize(
    ("find", "found"),
    [
        (f"if os.path.isdir('kept'):\n{LISTED}", True),
        (f"if os.path.isdir('kept'):\n{LISTED}\nfirst = hvd.broadcast(first, 0)", False),
        ("first = len(os.listdir('kept'))", True),
        ("first = len(os.listdir('rows'))", False),  # the data may lie there
    ],
)
def test_a_first_epoch_of_a_folder_that_is_there(find: str, found: bool) -> None:
    assert ("HVD323" in codes(changed(RESUME, ("FIND", find)))) == found
