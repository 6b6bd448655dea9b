"""Hooks of sessions, queues that run empty, windows of losses, files of a rank's own, orders of broadcasts."""

from __future__ import annotations

import pytest

from .helpers import changed, codes, violations

SESSION = """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()


class StopAtLoss(tf.train.SessionRunHook):
    def __init__(self, watched):
        self.watched = watched

    def before_run(self, context):
        return tf.train.SessionRunArgs(self.watched)

    def after_run(self, context, values):
        if values.results < 0.01:
            context.request_stop()


x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
count = tf.train.get_or_create_global_step()
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size())).minimize(loss, global_step=count)
hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(1000 // hvd.size())]
ADDED = 0
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train, {x: np.random.rand(8, 4)})
"""


def test_a_hook_stops_all_ranks_alike() -> None:
    assert "HVD331" in codes(changed(SESSION, ("ADDED = 0", "hooks.append(StopAtLoss(loss))")))
    assert "HVD331" not in codes(
        changed(SESSION, ("ADDED = 0", "hooks.append(StopAtLoss(hvd.allreduce(loss)))"))
    )
    assert "HVD331" not in codes(changed(SESSION, ("ADDED = 0", "hooks.append(StopAtLoss(count))")))
    assert "HVD331" not in codes(changed(SESSION, ("ADDED = 0", "")))
    added = ("ADDED = 0", "hooks.append(StopAtLoss(loss))")
    assert "HVD331" in codes(
        changed(SESSION, added, ("values.results < 0.01", "np.mean(values.results) < 0.01"))
    )
    for asked in ("any_rank(values.results < 0.01)", "self.mean_of_all(values.results) < 0.01"):
        assert "HVD331" not in codes(changed(SESSION, added, ("values.results < 0.01", asked)))


SAVER = "tf.train.CheckpointSaverHook('kept', save_steps=100)"
SUMMARY = "tf.train.SummarySaverHook(save_steps=9, output_dir='logs', summary_op=tf.summary.merge_all())"


@pytest.mark.parametrize("hook", [SAVER, SUMMARY])
def test_one_rank_gets_the_hook_that_writes(hook: str) -> None:
    def found(added: str) -> list[str]:
        return [v.code for v in violations(changed(SESSION, ("ADDED = 0", added)), "HVD314")]

    assert found(f"hooks.append({hook})") == found(f"hooks += [{hook}]") == ["HVD314"]
    assert not found(f"if hvd.rank() == 0:\n    hooks.append({hook})")
    assert not found(f"more = [{hook}]\nif hvd.rank() == 0:\n    hooks += more")
    assert not found(f"hook = {hook}\nif hvd.rank() == 0:\n    hooks.append(hook)")
    assert not found(f"hooks += [{hook}] if hvd.rank() == 0 else []")


EAGER = """\
import queue
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.Adam(0.01 * hvd.size())
kept = tf.train.Checkpoint(model=model)
accuracy = tf.keras.metrics.BinaryAccuracy()
rows = np.load("x.npy")[hvd.rank()::hvd.size()]
first = FIRST
for i in range(1000 // hvd.size()):
    x = rows[i * 8:(i + 1) * 8]
    BEFORE = 0
    with tf.GradientTape() as tape:
        made = model(x)
        loss = tf.reduce_mean(made ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
        first = False
    AFTER = 0
"""


def of_loop(before: str = "", after: str = "", first: str = "True") -> set[str]:
    text = changed(EAGER, ("BEFORE = 0", before), ("AFTER = 0", after), ("FIRST", first))
    return codes(text) & {"HVD313", "HVD331", "HVD333"}


@pytest.mark.parametrize("get", ["get(timeout=5)", "get_nowait()", "get(block=False)"])
def test_a_queue_runs_empty_on_one_rank(get: str) -> None:
    tried = f"try:\n        x = batches.{get}\n    except queue.Empty:\n        "
    assert of_loop(tried + "continue") == {"HVD331"}
    assert not of_loop(tried + "raise")
    assert not of_loop(tried + "x = rows[:8]")
    assert not of_loop(f"x = batches.{get}")


def test_what_a_list_of_losses_or_a_metric_says_is_one_ranks() -> None:
    window = "history.append(float(VALUE))\n    if np.mean(history[-9:]) > np.mean(history[-99:-9]):\n        break"
    assert of_loop("", window.replace("VALUE", "loss"), "True; history = []") == {"HVD331"}
    assert not of_loop("", window.replace("VALUE", "hvd.allreduce(loss)"), "True; history = []")
    metric = (
        "accuracy.update_state(x, made)\n    if VALUE > 0.9:\n        optimizer.learning_rate.assign(0.001)"
    )
    assert of_loop("", metric.replace("VALUE", "accuracy.result()")) == {"HVD333"}
    assert not of_loop("", metric.replace("VALUE", "hvd.allreduce(accuracy.result())"))


def test_each_rank_loads_a_file_of_its_own() -> None:
    load = "{}; kept.restore(tf.train.latest_checkpoint(f'kept/{}'))"
    assert of_loop("", "", load.format("False", "{hvd.rank()}")) == {"HVD333"}
    assert not of_loop("", "", load.format("True", "{hvd.rank()}"))
    assert not of_loop("", "", load.format("False", "last"))


def test_ranks_send_in_one_order() -> None:
    one = "hvd.broadcast_variables({}, root_rank=0)"
    both = "if hvd.rank() == 0:\n        {}\n        {}\n    else:\n        {}\n        {}"
    model, other = one.format("model.variables"), one.format("optimizer.variables()")
    assert of_loop("", both.format(model, other, other, model)) == {"HVD331"}
    assert not of_loop("", both.format(model, other, model, other))


RESTORED = """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size())).minimize(loss)
saver = tf.train.Saver()
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    saver.restore(session, PATH)
    for i in range(1000 // hvd.size()):
        _, value = session.run([train, loss], {x: np.random.rand(8, 4)})
        AFTER = 0
"""


def test_all_ranks_may_restore_one_file() -> None:
    one = changed(RESTORED, ("PATH", "'kept/best'"), ("AFTER = 0", ""))
    assert "HVD333" not in codes(one)
    assert "HVD333" in codes(changed(RESTORED, ("PATH", "'kept/%d' % hvd.rank()"), ("AFTER = 0", "")))
    again = "if np.isnan(value):\n            saver.restore(session, 'kept/best')"
    (drift,) = violations(changed(RESTORED, ("PATH", "'kept/best'"), ("AFTER = 0", again)), "HVD333")
    assert "of its own" not in drift.message


def test_rows_are_kept_in_a_file_of_each_rank() -> None:
    text = (
        "import tensorflow as tf\nimport horovod.tensorflow.keras as hvd\n\nhvd.init()\n"
        "rows = tf.data.Dataset.from_tensor_slices(load())\nrows = rows.take(len(rows) // hvd.size())\n"
        "rows = rows.map(read).cache('rows').batch(8)\n"
    )
    assert "HVD314" in codes(text)
    assert "HVD314" not in codes(changed(text, ("'rows'", "f'rows-{hvd.rank()}'")))
    assert "HVD314" not in codes(changed(text, ("'rows'", "")))


ESTIMATOR = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd


class Together(tf.train.SessionRunHook):
    def __init__(self, hook):
        self.hook = hook


def model_fn(features, labels, mode):
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(features["x"], 2))
    optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size()))
    train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


hvd.init()
estimator = tf.estimator.Estimator(model_fn, model_dir="kept" if hvd.rank() == 0 else None)
hooks = [hvd.BroadcastGlobalVariablesHook(0)]
ADDED = 0
estimator.train(rows, steps=400 // hvd.size(), hooks=hooks)
"""


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ("hooks.append(tf.estimator.experimental.stop_if_no_decrease_hook(estimator, 'loss', 100))", True),
        ("hooks.append(tf.estimator.experimental.stop_if_higher_hook(estimator, 'accuracy', 0.9))", True),
        ("hooks += [tf.estimator.experimental.make_early_stopping_hook(estimator, is_good_enough)]", True),
        ("hooks.append(tf.train.StopAtStepHook(100 // hvd.size()))", False),
        (
            "hooks.append(Together(tf.estimator.experimental.stop_if_higher_hook(estimator, 'accuracy', 0.9)))",
            False,
        ),
        ("hooks.append(project.stop_if_higher_hook(estimator, 'accuracy', 0.9))", False),
    ],
)
def test_estimators_stop_by_what_each_rank_finds_in_its_own_folder(added: str, told: bool) -> None:
    assert ("HVD331" in codes(changed(ESTIMATOR, ("ADDED = 0", added)))) is told


REDUCED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd
from mpi4py import MPI

hvd.init()
comm = MPI.COMM_WORLD
for epoch in range(9):
    mine, total = np.ones(1), np.ones(1)
    comm.Reduce(mine, total)
    places = comm.gather(epoch, root=0)
    if hvd.rank() == 0 and total[0] > 0.9:
        ENDS
"""


def test_what_mpi_adds_up_or_gathers_is_done_by_all_ranks() -> None:
    assert "HVD331" in codes(changed(REDUCED, ("ENDS", "break")))
    assert "HVD331" not in codes(changed(REDUCED, ("ENDS", "print(total, places)")))
