"""Faults that were put into scripts and missed at first, with what resembles them."""

from __future__ import annotations

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


TWO_NETWORKS = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
a, b = [], []
one = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
other = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(0.1 * hvd.size())
kept = tf.train.Checkpoint(one=one, other=other)
first = True
for x in rows:
    with tf.GradientTape() as tape, tf.GradientTape() as second:
        loss = tf.reduce_mean(one(x))
        lost = tf.reduce_mean(other(x))
    tape = hvd.DistributedGradientTape(tape)
    second = hvd.DistributedGradientTape(second)
    optimizer.apply_gradients(zip(tape.gradient(loss, one.trainable_variables), one.trainable_variables))
    optimizer.apply_gradients(zip(second.gradient(lost, other.trainable_variables), other.trainable_variables))
    if first:
        for weights in (one.variables, other.variables, optimizer.variables()):
            hvd.broadcast_variables(weights, root_rank=0)
        first = False
hvd.broadcast_variables(other.non_trainable_variables, root_rank=0)
kept.restore(tf.train.latest_checkpoint("kept"))
"""


def test_networks_are_sent_in_a_loop_over_them_or_left_out_of_it() -> None:
    assert "HVD306" not in codes(TWO_NETWORKS)
    left_out = TWO_NETWORKS.replace("one.variables, other.variables,", "one.variables,")
    assert "HVD306" in codes(left_out)
    restore = 'kept.restore(tf.train.latest_checkpoint("kept"))\n'
    before = left_out.replace(restore, "").replace("first = True", f"first = True\n{restore}")
    assert "HVD306" not in codes(before)  # all begin with what was kept


def test_a_checkpoint_that_all_write_is_one_by_write_too() -> None:
    text = TWO_NETWORKS.replace('kept.restore(tf.train.latest_checkpoint("kept"))', 'kept.write("last")')
    assert "HVD314" in codes(text)
    alone = text.replace("kept.write", "if hvd.rank() == 0:\n    kept.write")
    assert "HVD314" not in codes(alone)
    assert "HVD314" not in codes(TWO_NETWORKS + "writer = open_writer()\nwriter.write('kept')\n")


STOPPED = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


class Stop(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = hvd.rank() == 0


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback(), Stop()]
model.fit(x, y, epochs=9, callbacks=callbacks)
"""


def test_what_stops_training_may_be_a_test() -> None:
    assert "HVD331" in codes(STOPPED)
    assert "HVD331" not in codes(STOPPED.replace("= hvd.rank() == 0", "= epoch > 5"))
    assert "HVD331" not in codes(STOPPED.replace("= hvd.rank() == 0", "= logs['loss'] < 0.1"))


MADE = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


class Trainer:
    def __init__(self):
        self.optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))
        self.model = self.build()

    def build(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(self.optimizer, "mse")
        return model

    def train(self):
        if hvd.rank() == 0:
            self.model.fit(x, y)


Trainer().train()
"""


def test_a_model_is_known_by_what_made_it() -> None:
    assert "HVD313" in codes(MADE)
    plain = MADE.replace("hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))", '"sgd"')
    assert "HVD313" not in codes(plain)


RATES = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size() ** 2)), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


def test_a_power_of_size_scales_more_than_once() -> None:
    assert "HVD309" in codes(RATES)
    assert "HVD309" not in codes(RATES.replace("hvd.size() ** 2", "hvd.size() ** 0.5"))
    assert "HVD309" not in codes(RATES.replace("hvd.size() ** 2", "hvd.size() ** 1"))
    assert "HVD309" not in codes(RATES.replace("0.1 * hvd.size() ** 2", "10 ** -3 * hvd.size()"))


STRIDES = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
loss = tf.reduce_mean(tf.get_variable("w", (3,)) ** 2)
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.1 * hvd.size(), step, 1000, 0.5)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(rate)).minimize(loss, global_step=step)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for start in range(0, 4000, 10)[hvd.rank()::hvd.size()]:
        session.run(train)
"""


def test_steps_are_divided_by_a_stride_too() -> None:
    assert "HVD325" in codes(STRIDES)
    assert "HVD325" not in codes(STRIDES.replace("1000,", "1000 // hvd.size(),"))
    assert "HVD325" not in codes(STRIDES.replace("[hvd.rank()::hvd.size()]", ""))


EMBEDDED = """\
import sparse_operation_kit as sok
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.1 * hvd.size())
for indices in rows:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(sok.lookup_sparse(tables, indices))
    optimizer.apply_gradients(zip(tape.gradient(loss, tables), tables))
    print(hvd.allreduce(loss))
"""


def test_tables_that_lie_on_several_ranks_exchange_their_gradients() -> None:
    assert "HVD304" not in codes(EMBEDDED)
    assert "HVD304" in codes(EMBEDDED.replace("sparse_operation_kit", "tables"))


MEASURED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = read("rows.csv")[hvd.rank()::hvd.size()]


def measure():
    right = tf.keras.metrics.AUC()
    right.update_state(rows[:, 0], rows[:, 1])
    right.true_positives.assign(hvd.allreduce(right.true_positives, op=hvd.Sum))
    right.false_positives.assign(hvd.allreduce(right.false_positives, op=hvd.Sum))
    return right.result().numpy()


for step in range(100):
    if measure() > 0.8:
        break
    hvd.allreduce(tf.ones(3))
"""


def test_a_metric_whose_counts_were_exchanged_is_the_same_on_all_ranks() -> None:
    assert "HVD331" not in codes(MEASURED)
    flag = "    done = False\n    if measure() > 0.8:\n        done = True\n    if done:\n        break\n"
    flagged = MEASURED.replace("    if measure() > 0.8:\n        break\n", flag)
    assert "done = True" in flagged
    assert "HVD331" not in codes(flagged)
    own = MEASURED.replace("hvd.allreduce(right.true_positives, op=hvd.Sum)", "right.true_positives + 0.0")
    own = own.replace("hvd.allreduce(right.false_positives, op=hvd.Sum)", "right.false_positives + 0.0")
    assert "HVD331" in codes(own)


HEAD = "import tensorflow as tf\nimport horovod.tensorflow.keras as hvd\n\nhvd.init()\n"
FITTED = (
    HEAD
    + """\
values = [0.1, 0.01]
schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay([100], [v * hvd.size() for v in values])
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(schedule)), "mse")
data = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank()).take(1000).batch(10)
model.fit(data, epochs=9, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""
)


def test_a_schedule_beside_shares_of_a_data_set() -> None:
    assert "HVD325" in codes(FITTED)
    assert "HVD325" not in codes(FITTED.replace("[100]", "[100 // hvd.size()]"))
    assert "HVD325" not in codes(FITTED.replace(".batch(10)", ".repeat().batch(10)"))
    assert "HVD325" not in codes(FITTED.replace("epochs=9", "epochs=9 * hvd.size()"))


def test_rates_of_a_comprehension_are_scaled_once() -> None:
    assert "HVD309" not in codes(FITTED)
    assert "HVD309" in codes(FITTED.replace("v * hvd.size()", "v * hvd.size() * hvd.size()"))


EVENTS = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
kept = tf.train.CheckpointManager(tf.train.Checkpoint(), "kept", 3)
for step in range(0, 100, hvd.size()):
    hvd.allreduce(tf.ones(3))
    if step % 10 < hvd.size():
        kept.save()
"""


def test_a_step_that_is_compared_with_size_is_no_rank() -> None:
    assert "HVD314" in codes(EVENTS)
    assert "HVD314" not in codes(EVENTS.replace("< hvd.size():", "< hvd.size() and hvd.rank() == 0:"))
    assert "HVD314" not in codes(EVENTS.replace("step % 10 < hvd.size()", "hvd.size() == 1"))


DOWNLOADED = """\
import tensorflow as tf
import horovod.tensorflow as hvd
from tensorflow.examples.tutorials.mnist import input_data

hvd.init()
digits = input_data.read_data_sets("digits", one_hot=True)
"""


def test_digits_of_the_tutorials_are_downloaded_by_all() -> None:
    assert "HVD332" in codes(DOWNLOADED)
    assert "HVD332" not in codes(DOWNLOADED.replace('"digits"', 'f"digits-{hvd.rank()}"'))
