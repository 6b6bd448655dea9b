"""What ends a step or the training of one rank alone: exceptions that are taken, files that tell to stop, losses that are no
numbers."""

from __future__ import annotations

import pytest

from .helpers import codes

STEP = """\
import tensorflow as tf
import horovod.tensorflow as hvd
from reading import batches, network

hvd.init()
model = network()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for x in batches():
    try:
        step(x)
    except TAKEN:
        AFTER
"""


@pytest.mark.parametrize(
    "taken",
    [
        "tf.errors.ResourceExhaustedError",
        "Exception",
        "(tf.errors.InvalidArgumentError, KeyError)",
        "MemoryError as e",
    ],
)
@pytest.mark.parametrize("after", ["continue", "pass", "print('skipped')", "break"])
def test_a_step_that_fails_on_one_rank_keeps_the_others_waiting(taken: str, after: str) -> None:
    assert "HVD331" in codes(STEP.replace("TAKEN", taken).replace("AFTER", after))


@pytest.mark.parametrize(
    ("taken", "after"),
    [
        ("tf.errors.OutOfRangeError", "break"),
        ("KeyboardInterrupt", "break"),
        ("hvd.elastic.HorovodInternalError", "continue"),
        ("tf.errors.ResourceExhaustedError", "raise"),
        ("Exception as e", "raise RuntimeError('step') from e"),
        ("Exception", "sys.exit(1)"),
    ],
)
def test_what_all_meet_or_what_ends_the_job_keeps_nobody(taken: str, after: str) -> None:
    assert "HVD331" not in codes("import sys\n" + STEP.replace("TAKEN", taken).replace("AFTER", after))


def test_a_training_that_fails_as_a_whole_is_the_end_of_the_process() -> None:
    whole = STEP.replace("TAKEN", "Exception as e").replace("AFTER", "print(e)")
    loop = whole[whole.index("for x in") :]
    around = "try:\n    for x in batches():\n        step(x)\nexcept Exception as e:\n    print(e)\n"
    assert "HVD331" not in codes(whole.replace(loop, around))


ENDING = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
score = hvd.allreduce(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for epoch in range(9):
        while True:
            try:
                session.run(train, {x: rows})
            except tf.errors.OutOfRangeError:
                ENDED
                break
"""


def test_what_ranks_do_together_at_the_end_of_their_rows_is_seen() -> None:
    alone = ENDING.replace("ENDED", "if hvd.rank() == 0:\n                    print(session.run(score))")
    assert "HVD331" in codes(alone)
    together = ENDING.replace(
        "ENDED", "value = session.run(score)\n                if hvd.rank() == 0: print(value)"
    )
    assert "HVD331" not in codes(together)


KERAS = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
MORE
model.fit(x, y, epochs=9, callbacks=callbacks, validation_data=(u, v))
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("loss, fail_on_nan_loss=False", True),
        ("loss, False", True),
        ("loss", False),
        ("loss, fail_on_nan_loss=True", False),
        ("hvd.allreduce(loss), fail_on_nan_loss=False", False),
    ],
)
def test_a_hook_that_stops_at_such_a_loss(given: str, found: bool) -> None:
    text = ENDING[: ENDING.index("with tf.Session")] + (
        f"hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.NanTensorHook({given})]\n"
        "with tf.train.MonitoredTrainingSession(hooks=hooks) as session:\n"
        "    while not session.should_stop():\n"
        "        session.run(train, {x: rows})\n"
    )
    assert ("HVD312" in codes(text)) == found


def test_setattr_stops_training_too() -> None:
    stop = "callbacks.append(tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: WHAT))"
    by_time = stop.replace("WHAT", "setattr(model, 'stop_training', time.time() > end)")
    assert "HVD331" in codes("import time\nend = time.time() + 60\n" + KERAS.replace("MORE", by_time))
    by_epoch = stop.replace("WHAT", "setattr(model, 'stop_training', epoch > 5)")
    assert "HVD331" not in codes(KERAS.replace("MORE", by_epoch))
    other = stop.replace("WHAT", "setattr(model, 'last', time.time())")
    assert "HVD331" not in codes("import time\n" + KERAS.replace("MORE", other))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("(u, v) if hvd.rank() == 0 else None", True),
        ("None if hvd.rank() else (u, v)", True),
        ("(u, v) if hvd.rank() == 0 else (a, b)", False),
        ("(u, v) if args.validate else None", False),
        ("(u, v)", False),
    ],
)
def test_ranks_that_validate_alone_have_more_metrics_to_average(given: str, found: bool) -> None:
    text = KERAS.replace("MORE", "").replace("validation_data=(u, v)", f"validation_data={given}")
    assert ("HVD313" in codes(text)) == found
    named = text.replace("model.fit(", f"held = {given}\nmodel.fit(").replace(
        f"validation_data={given}", "validation_data=held"
    )
    assert ("HVD313" in codes(named)) == found
    assert "HVD313" not in codes(text.replace(", hvd.callbacks.MetricAverageCallback()", ""))


def test_rows_that_a_test_sets() -> None:
    text = KERAS.replace("MORE", "held = None\nif hvd.rank() == 0:\n    held = read()").replace(
        "(u, v)", "held"
    )
    assert "HVD313" in codes(text)
    assert "HVD313" not in codes(text.replace("if hvd.rank() == 0", "if args.validate"))


RESUMED = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from project import network, last_epoch

hvd.init()
model = network()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
first = last_epoch()
if first > 0 and hvd.rank() == 0:
    model.load_weights("last.h5")
if SENT:
    hvd.broadcast_variables(model.variables, root_rank=0)
model.fit(x, y, epochs=9, initial_epoch=first)
"""


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ("first == 0", True),
        ("first < 1", True),
        ("first > 0", False),
        ("first >= 1", False),
        ("first != 0", False),
    ],
)
def test_what_is_sent_where_nothing_was_loaded_mends_nothing(sent: str, found: bool) -> None:
    text = RESUMED.replace("SENT", sent).replace("hvd.broadcast", "horovod.tensorflow.broadcast")
    assert ("HVD333" in codes("import horovod.tensorflow\n" + text)) == found


POLLED = """\
import os
import tensorflow as tf
import horovod.tensorflow as hvd
from reading import batches, network

hvd.init()
model = network()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
for number, x in enumerate(batches()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    ASKED
"""


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("if os.path.exists('STOP'): break", True),
        ("if number % 10 == 0 and os.path.isfile('STOP'): break", True),
        ("if os.path.exists('STOP'): print('asked to stop')", False),
        ("if hvd.broadcast_object(os.path.exists('STOP'), root_rank=0): break", False),
        ("if not os.path.exists(f'part-{number}'): break", False),
    ],
)
def test_a_file_that_tells_to_stop_may_come_between_two_ranks(asked: str, found: bool) -> None:
    assert ("HVD331" in codes(POLLED.replace("ASKED", asked))) == found
