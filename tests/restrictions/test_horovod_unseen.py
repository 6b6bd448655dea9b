"""What a file does not show: neither is it taken for a fault, nor does it hide one that it has no part in."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize

from .helpers import codes

OTHERS_MODEL = """\
import tensorflow as tf
import horovod.tensorflow as hvd
from net import build, clip

hvd.init()
model = build()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in rows:
    with tf.GradientTape() as tape:
        loss = model(x)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def test_what_makes_the_model_does_not_average_its_gradients() -> None:
    assert "HVD304" in codes(OTHERS_MODEL)
    assert "HVD304" not in codes(OTHERS_MODEL.replace("zip(gradients", "zip(clip(gradients)"))
    assert "HVD304" not in codes(OTHERS_MODEL.replace("tf.keras.optimizers.SGD", "build"))


STEPS_OF_OTHERS = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from models import library

hvd.init()
optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size()))
config = tf.estimator.RunConfig(model_dir="out" if hvd.rank() == 0 else None)
made = library.create(run_config=config, train_steps=100)
made["estimator"].train(rows, hooks=[hvd.BroadcastGlobalVariablesHook(0)], steps=made["train_steps"])
"""


def test_a_call_that_is_not_seen_may_use_the_rank_for_something_else() -> None:
    assert "HVD323" not in codes(STEPS_OF_OTHERS)
    estimator = "tf.estimator.Estimator(model_fn, config=config)"
    seen = STEPS_OF_OTHERS.replace('made["estimator"]', estimator).replace(
        'made["train_steps"]', "100 + hvd.rank()"
    )
    assert "HVD323" in codes(seen)


TWO_WAYS = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()


def build(x, training):
    y = tf.layers.dense(x, 1)
    if not training:
        return tf.nn.top_k(y)
    loss = tf.reduce_mean(y**2)
    optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size()))
    return loss, optimizer.minimize(loss)


best = build(x, False)
loss, train_op = build(x, True)
with tf.train.MonitoredTrainingSession(hooks=[hvd.BroadcastGlobalVariablesHook(0)]) as session:
    for epoch in range(3):
        session.run(train_op)
        if hvd.rank() == 0:
            print(session.run(best))
"""


@pytest.mark.parametrize("fetched", ["best", "[best]"])
def test_a_function_that_gives_predictions_too_may_not_train(fetched: str) -> None:
    text = TWO_WAYS.replace("run(best)", f"run({fetched})")
    assert not {"HVD313", "HVD331"} & codes(text)
    part = text.replace("return tf.nn.top_k(y)", "_, which = tf.nn.top_k(y)\n        return which")
    assert not {"HVD313", "HVD331"} & codes(part)


@pytest.mark.parametrize(
    "fetched", ["train_op", "[best, train_op]", '{"step": train_op}', "tf.group(train_op)"]
)
def test_what_is_surely_a_train_op_waits_for_the_others(fetched: str) -> None:
    assert "HVD313" in codes(TWO_WAYS.replace("run(best)", f"run({fetched})"))


LOCKED = """\
import os
import tensorflow as tf
import horovod.tensorflow as hvd
from filelock import FileLock

hvd.init()
lock = FileLock("lock")
with lock:
    (x, y), _ = tf.keras.datasets.mnist.load_data()
"""


def test_a_lock_lets_ranks_download_one_after_the_other() -> None:
    assert "HVD332" not in codes(LOCKED)
    assert "HVD332" in codes(LOCKED.replace('FileLock("lock")', "tf.name_scope('rows')"))
    assert "HVD332" in codes(LOCKED.replace("with lock:\n    (x", "with lock:\n    pass\n(x"))


def test_a_test_that_all_ranks_answer_alike_is_no_test_of_the_rank() -> None:
    text = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nhvd.init()\nif {}:\n    hvd.allreduce(tf.ones(1))\n"
    assert "HVD313" not in codes(text.format("hvd.rank() >= 0"))
    assert "HVD313" in codes(text.format("hvd.rank() > 0"))


STEP = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())


def step(x, first):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)


@hvd.elastic.run
def train(state):
    for i, x in enumerate(batches):
        step(x, i == 0)


train(state)
"""


@pytest.mark.parametrize(
    ("test", "found"), [("i == 0", False), ("i >= 0", True), ("i > 0", True), ("i % 9 == 0", False)]
)
def test_a_flag_that_is_given_is_what_the_caller_asks(test: str, found: bool) -> None:
    assert ("HVD307" in codes(STEP.replace("i == 0", test))) is found


def test_all_ranks_run_what_is_elastic() -> None:
    assert "HVD304" not in codes(STEP)
    assert "HVD304" in codes(STEP.replace("    tape = hvd.DistributedGradientTape(tape)\n", ""))


FILES_ALONE = """\
import tensorflow as tf
import horovod.tensorflow as hvd


@hvd.elastic.run
def run(state):
    for name in sorted(tf.io.gfile.glob("rows/*"))[hvd.rank() :: hvd.size()]:
        print(name, len(tf.io.read_file(name).numpy()))


hvd.init()
run(hvd.elastic.TensorFlowState([tf.Variable(0.0)], batch=0))
"""


def test_nothing_is_lost_where_nothing_trains() -> None:
    assert "HVD324" not in codes(FILES_ALONE)
    assert "HVD324" in codes(
        STEP.replace("train(state)\n", "train(hvd.elastic.TensorFlowState(model.variables))\n")
    )


MONITORED = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from datetime import datetime

tf.disable_eager_execution()
hvd.init()
loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.random.normal((16, 4)), 1)))
step = tf.train.get_or_create_global_step()
opt = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.001 * hvd.size()))
train_op = opt.minimize(loss, global_step=step)
now = datetime.now()
hooks = [
    hvd.BroadcastGlobalVariablesHook(0),
    tf.train.StopAtStepHook(last_step=20000 // hvd.size()),
    tf.keras.callbacks.TensorBoard(log_dir=f"logs/{now}"),
]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train_op)
"""


def test_a_folder_of_logs_does_not_say_when_training_ends() -> None:
    assert "HVD331" not in codes(MONITORED)
    by_clock = MONITORED.replace("20000 // hvd.size()", "now.minute")
    assert "HVD331" in codes(by_clock)


LIBRARY_STEP = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd


class Net(tf.keras.Model):
    def train_step(self, rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(rows) ** 2)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": hvd.allreduce(loss)}
"""


def test_an_optimizer_that_is_not_seen_is_not_said_to_be_plain() -> None:
    (found,) = [v for v in check(summarize(Document(LIBRARY_STEP, "net.py"))) if v.code == "HVD304"]
    assert "neither" not in found.message
    assert "`DistributedOptimizer` averages in `fit`" in found.message


def test_the_rate_of_a_session_grows_with_what_divides_its_steps() -> None:
    plain = MONITORED.replace("0.001 * hvd.size()", "0.001")
    assert "HVD308" in codes(plain)
    assert "HVD308" not in codes(MONITORED)
    assert "HVD308" not in codes(plain.replace("20000 // hvd.size()", "20000"))
    assert "HVD308" not in codes(plain.replace("0.001", "0.001 if hvd.size() == 1 else 0.002"))


def test_a_hook_stops_all_ranks_at_one_step() -> None:
    assert "HVD323" not in codes(MONITORED)
    assert "HVD323" in codes(MONITORED.replace("20000 // hvd.size()", "20000 // (1 + hvd.rank())"))


ADDED_UP = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = read("rows.csv")[hvd.rank()::hvd.size()]


def mean_of(rows):
    total = 0.0
    for row in rows:
        total += float(row)
    return total


for step in range(100):
    total = mean_of(rows)
    if total < 0.1:
        break
    hvd.allreduce(tf.ones(3))
"""


def test_what_a_function_adds_up_is_not_what_it_begins_with() -> None:
    assert "HVD331" in codes(ADDED_UP)
    assert "HVD331" not in codes(ADDED_UP.replace("= mean_of(rows)", "= float(hvd.allreduce(mean_of(rows)))"))
