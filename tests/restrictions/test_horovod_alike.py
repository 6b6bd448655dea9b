"""HVD320 of what is no data set, and HVD304 of what averages and isn't used: with what resembles them."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.restrictions.violation import Severity
from horovodize.source import Document
from horovodize.summary import summarize

from .test_horovod_fresh import codes

FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
rows, labels = np.load("rows.npy"), np.load("labels.npy")
x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None])
loss = tf.reduce_mean((tf.layers.dense(x, 1)[:, 0] - y) ** 2)
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.001 * hvd.size())).minimize(loss)
show = hvd.rank() == 0
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for i in range(100):
        a, b = rows[i * 32 : i * 32 + 32], labels[i * 32 : i * 32 + 32]
        session.run(train, {x: a, y: b})
        if show:
            print("rank %d" % hvd.rank(), i)
"""


def test_arrays_that_a_session_is_fed_with() -> None:
    assert "HVD320" in codes(FED)
    alone = FED.replace("0.001 * hvd.size()", "0.001")
    found = [v for v in check(summarize(Document(alone, "train.py"))) if v.code == "HVD320"]
    assert [v.severity for v in found] == [Severity.INFORMATION]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("range(100)", "range(hvd.rank(), 100, hvd.size())"),
        ("rows[i * 32 : i * 32 + 32], labels", "rows[np.random.choice(len(rows), 32)], labels"),
        ('np.load("rows.npy"), np', "rows_of(hvd.rank()), np"),
        ('np.load("rows.npy")', 'np.load(f"rows-{hvd.rank()}.npy")'),
        ("{x: a, y: b}", "{x: a[hvd.rank() :: hvd.size()], y: b[hvd.rank() :: hvd.size()]}"),
        ("{x: a, y: b}", "share(a, b, hvd.rank())"),
        ("show = hvd", "np.random.seed(hvd.rank())\nshow = hvd"),
        ("x, y = tf", "mine = hvd.rank()\nrows = rows[mine * 100 : (mine + 1) * 100]\nx, y = tf"),
        (
            "a, b = rows",
            "if hvd.rank() == i % hvd.size():\n            rows = rows[::-1]\n        a, b = rows",
        ),
        ("loss = tf", "x = tf.split(x, 2)[hvd.rank()]\nloss = tf"),
        ("rows, labels =", "def rank():\n    return hvd.rank()\nrows, labels ="),
    ],
)
def test_ranks_may_be_fed_with_rows_of_their_own(old: str, new: str) -> None:
    assert old in FED
    assert "HVD320" not in codes(FED.replace(old, new))


PICTURES = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
made = tf.keras.preprocessing.image.ImageDataGenerator()
given = made.flow_from_directory("train", seed=1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(given, steps_per_epoch=len(given) // hvd.size(), callbacks=callbacks)
"""


def test_pictures_in_one_order() -> None:
    assert "HVD320" in codes(PICTURES)
    assert "HVD320" in codes(PICTURES.replace("seed=1", "shuffle=False"))
    assert "HVD320" in codes(PICTURES.replace("given =", "seed = 3\ngiven =").replace("seed=1", "seed=seed"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (", seed=1", ""),
        ("seed=1", "seed=None"),
        ("seed=1", "seed=1 + hvd.rank()"),
        ("seed=1", "seed=chosen()"),
        ('"train", seed', 'f"train/{hvd.rank()}", seed'),
        ("fit(given", "fit(share(given)"),
        ("model.fit", "if hvd.rank() == 0:\n    model.fit"),
    ],
)
def test_pictures_may_come_in_orders_of_their_own(old: str, new: str) -> None:
    assert old in PICTURES
    assert "HVD320" not in codes(PICTURES.replace(old, new))


MODULE = """\
import tensorflow as tf
import horovod.tensorflow as hvd

def made(rate, several):
    optimizer = tf.keras.optimizers.get({"class_name": "sgd", "config": {"learning_rate": rate}})
    if several:
        hvd.DistributedOptimizer(optimizer)
    return optimizer
"""


def test_what_averages_and_is_not_used() -> None:
    assert "HVD304" in codes(MODULE)
    assert "HVD304" in codes(MODULE.replace("hvd.Dist", "better = hvd.Dist"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hvd.Dist", "optimizer = hvd.Dist"),
        ("hvd.Dist", "return hvd.Dist"),
        ("hvd.Dist", "made.last = hvd.Dist"),
        ("hvd.Dist", "global last\n        last = hvd.Dist"),
        ("hvd.Dist", "with raises(ValueError):\n            hvd.Dist"),
        ("return optimizer", "better = hvd.DistributedOptimizer(optimizer)\n    return better"),
        ("        hvd.Dist", "        def used():\n            return better\n        better = hvd.Dist"),
    ],
)
def test_what_averages_may_be_used(old: str, new: str) -> None:
    assert old in MODULE
    assert "HVD304" not in codes(MODULE.replace(old, new))


LATE = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()

def callbacks_of(several):
    if several:
        return [
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
            tf.keras.callbacks.ReduceLROnPlateau(monitor="loss"),
            hvd.callbacks.MetricAverageCallback(),
        ]
    return []

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=callbacks_of(hvd.size() > 1))
"""


def test_metrics_are_averaged_late_in_a_list_that_a_branch_gives() -> None:
    assert "HVD312" in codes(LATE)
    plateau = '            tf.keras.callbacks.ReduceLROnPlateau(monitor="loss"),\n'
    average = "            hvd.callbacks.MetricAverageCallback(),\n"
    assert "HVD312" not in codes(LATE.replace(plateau + average, average + plateau))
    apart = (
        LATE.replace(average, "")
        .replace("return [\n", "found = [\n")
        .replace(
            "        ]\n",
            "        ]\n        if checked:\n            found.append(hvd.callbacks.MetricAverageCallback())\n"
            "        return found\n",
        )
    )
    assert "HVD312" not in codes(apart)  # unsure


def test_shares_of_all_ranks_by_a_number_of_one_host() -> None:
    text = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
mine = hvd.local_rank()
rows = rows[mine :: hvd.size()]
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""
    assert "HVD320" in codes(text)
    for index in (
        "hvd.rank()",
        "hvd.local_rank() + hvd.cross_rank() * hvd.local_size()",
        "place(hvd.local_rank())",
    ):
        assert "HVD320" not in codes(text.replace("mine = hvd.local_rank()", f"mine = {index}"))
    assert "HVD320" not in codes(text.replace(":: hvd.size()", ":: hvd.local_size()"))


APPLIED = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

def train_op(loss, kind, several):
    optimizer = tf.train.AdamOptimizer(0.01 * hvd.size())
    if kind == "plain":
        return hvd.DistributedOptimizer(optimizer).minimize(loss)
    pairs = optimizer.compute_gradients(loss)
    for i, (gradient, weights) in enumerate(pairs):
        if several:
            gradient = hvd.allreduce(gradient)
        pairs[i] = (tf.clip_by_norm(gradient, 1.0), weights)
    return optimizer.apply_gradients(pairs)

hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = train_op(loss, chosen, hvd.size() > 1)
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    if hvd.rank() == 0:
        saver.restore(session, "kept/model")
    for rows in given:
        session.run(train, {x: rows})
"""


def test_gradients_that_a_script_puts_back_averaged_train_together() -> None:
    assert "HVD333" in codes(APPLIED)
    sent = "    session.run(hvd.broadcast_global_variables(0))\n"
    restored = '    if hvd.rank() == 0:\n        saver.restore(session, "kept/model")\n'
    assert "HVD333" not in codes(APPLIED.replace(sent + restored, restored + sent))
    assert "HVD333" not in codes(
        APPLIED.replace("            gradient = hvd.allreduce(gradient)\n", "            pass\n")
    )
    assert "HVD333" not in codes(APPLIED.replace("pairs[i] =", "others[i] ="))


GENERATED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
x, y = np.load("x.npy"), np.load("y.npy")

def generator():
    for i in range(len(x)):
        yield x[i], y[i]

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
rows = tf.data.Dataset.from_generator(generator, (tf.float32, tf.float32)).batch(32)
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


def test_rows_that_a_generator_gives_in_order() -> None:
    assert "HVD320" in codes(GENERATED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("range(len(x))", "range(hvd.rank(), len(x), hvd.size())"),
        ("range(len(x))", "np.random.permutation(len(x))"),
        ("yield x[i], y[i]", "j = np.random.randint(len(x))\n        yield x[j], y[j]"),
        ("yield x[i], y[i]", "if i % hvd.size() == hvd.rank():\n            yield x[i], y[i]"),
        ("yield x[i], y[i]", "yield from part(i)"),
        ("yield x[i], y[i]", "yield read(i)"),
        ("from_generator(generator,", "from_generator(lambda: generator(),"),
        ("from_generator(generator,", "from_generator(Rows(),"),
        (".batch(32)", ".shard(hvd.size(), hvd.rank()).batch(32)"),
        (".batch(32)", ".shuffle(1000).batch(32)"),
    ],
)
def test_rows_that_a_generator_gives_may_differ(old: str, new: str) -> None:
    assert old in GENERATED
    assert "HVD320" not in codes(GENERATED.replace(old, new))


SHARED = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
size, rank = hvd.size(), hvd.rank()

def rows_of(files, shares, share, shuffled=False):
    rows = tf.data.TFRecordDataset(files)
    if shares > 1:
        rows = rows.shard(shares, share)
    return rows.batch(32)

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * size)), "mse")
held = rows_of(others, size, rank)
given = rows_of(files, size, rank, shuffled=True)
model.fit(given.repeat(), steps_per_epoch=9, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


def test_one_share_for_all() -> None:
    assert "HVD320" not in codes(SHARED)
    assert "HVD320" in codes(SHARED.replace("files, size, rank,", "files, size, 0,"))
    assert "HVD320" in codes(SHARED.replace("files, size, rank,", "files, shares=size, share=1,"))
    assert "HVD320" in codes(SHARED.replace("shard(shares, share)", "shard(hvd.size(), 0)"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("files, size, rank,", "files, 1, 0,"),
        ("files, size, rank,", "files, 4, 0,"),
        ("files, size, rank,", "*kept,"),
        ("files, size, rank,", "files, size, chosen(0),"),
        ("held = rows_of(others, size, rank)", "if rank == 0:\n    held = rows_of(others, size, 0)"),
        (
            "held = rows_of(others, size, rank)",
            "held = rows_of(others, size, 0) if rank == 0 else rows_of(others, size, rank)",
        ),
        ("    if shares", "    share += hvd.rank()\n    if shares"),
    ],
)
def test_shares_may_differ(old: str, new: str) -> None:
    assert old in SHARED
    assert "HVD320" not in codes(SHARED.replace(old, new))


def test_an_optimizer_around_another_has_no_numbers_of_its_own() -> None:
    text = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
kept = [tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1)]  # alike, whichever is drawn
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(kept[np.random.randint(2)])
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""
    around = "`kept[np.random.randint(2)]` is another"
    assert not any(v.message.startswith(around) for v in check(summarize(Document(text, "train.py"))))
    inner = text.replace("SGD(0.1),", "SGD(np.random.random_sample()),")
    drawn = "`np.random.random_sample()` is another"
    assert any(v.message.startswith(drawn) for v in check(summarize(Document(inner, "train.py"))))
