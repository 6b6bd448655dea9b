"""Broadcasts that are left out just where one rank has changed its weights, or send a part of them."""

from __future__ import annotations

import pytest

from .helpers import changed, codes, violations

STEP = """\
import argparse
import timeit

import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
parser.add_argument("--steps", type=int)
args = parser.parse_args()
hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
kept = tf.train.Checkpoint(model=model, optimizer=optimizer)
manager = tf.train.CheckpointManager(kept, "kept", max_to_keep=3)
rows = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).shard(hvd.size(), hvd.rank()).batch(8)


@tf.function
def step(x, first):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
    return loss


"""
ON_RANK_0 = "if args.resume and hvd.rank() == 0:\n    kept.restore(manager.latest_checkpoint)\n"
TRAIN = "for i, x in enumerate(rows.take(100)):\n    step(x, FIRST)\n"
BY_EPOCH = """\
start = 0
if hvd.rank() == 0 and manager.latest_checkpoint:
    kept.restore(manager.latest_checkpoint)
    start = int(manager.latest_checkpoint.split("-")[-1])
start = int(hvd.broadcast(start, 0, name="start"))
for epoch in range(start, 10):
    for i, x in enumerate(rows.take(100)):
        step(x, FIRST)
"""


@pytest.mark.parametrize(
    "train",
    [
        ON_RANK_0 + TRAIN.replace("FIRST", "i == 0 and not args.resume"),
        ON_RANK_0 + "first = not args.resume\n" + TRAIN.replace("FIRST", "first") + "    first = False\n",
        ON_RANK_0
        + "if not args.resume:\n    hvd.broadcast_variables(model.variables, root_rank=0)\n"
        + TRAIN.replace("FIRST", "False"),
        BY_EPOCH.replace("FIRST", "epoch == 0 and i == 0"),
        "if hvd.rank() == 0:\n    kept.restore(manager.latest_checkpoint)\nfirst = manager.latest_checkpoint is None\n"
        + TRAIN.replace("FIRST", "first"),
    ],
)
def test_what_rank_0_restores_is_sent(train: str) -> None:
    assert "HVD333" in codes(STEP + train)


@pytest.mark.parametrize(
    "train",
    [
        ON_RANK_0 + TRAIN.replace("FIRST", "i == 0"),
        ON_RANK_0.replace(" and hvd.rank() == 0", "") + TRAIN.replace("FIRST", "i == 0 and not args.resume"),
        ON_RANK_0
        + "hvd.broadcast_variables(model.variables, root_rank=0)\n"
        + TRAIN.replace("FIRST", "i == 0 and not args.resume"),
        BY_EPOCH.replace("FIRST", "epoch == start and i == 0"),
        BY_EPOCH.replace("hvd.rank() == 0 and ", "").replace("FIRST", "epoch == 0 and i == 0"),
        ON_RANK_0 + TRAIN.replace("FIRST", "i == 0 and args.resume"),
    ],
)
def test_what_all_restore_or_is_sent_is_no_fault(train: str) -> None:
    assert not codes(STEP + train) & {"HVD331", "HVD333"}


LOADED = """\
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd
import horovod.tensorflow

hvd.init()
epoch = int(hvd.broadcast(find_epoch(), 0, name="epoch"))
if epoch > 0 and hvd.rank() == 0:
    model = hvd.load_model(f"model-{epoch}.h5")
else:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
if epoch == 0:
    horovod.tensorflow.broadcast_variables(model.variables, root_rank=0)
model.fit(x, y, initial_epoch=epoch)
"""


def test_a_model_that_rank_0_loads_is_sent() -> None:
    assert "HVD333" in codes(LOADED)
    assert "HVD333" not in codes(changed(LOADED, ("if epoch == 0:", "if True:")))
    assert "HVD333" not in codes(changed(LOADED, ("epoch > 0 and hvd.rank() == 0", "epoch > 0")))


PARTS = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
FIRST = 0
for i, x in enumerate(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if i == 0:
        SEND
"""


def sent(what: str, first: str = "") -> bool:
    return not violations(changed(PARTS, ("FIRST = 0", first), ("SEND", what)), "HVD306")


@pytest.mark.parametrize("part", ["layers[-1].variables", "get_layer('head').weights", "variables[:2]"])
def test_a_part_of_the_weights_is_not_enough(part: str) -> None:
    send = f"hvd.broadcast_variables(model.{part}, root_rank=0)"
    assert not sent(send)
    assert not sent(f"{send}; hvd.broadcast_variables(optimizer.variables(), root_rank=0)")
    assert sent(f"{send}; hvd.broadcast_variables(model.variables, root_rank=0)")
    assert sent(send, "model.layers[0].trainable = False")
    assert sent(send, "model.load_weights('begin.h5')")
    assert sent(send, "tf.random.set_seed(1)")


def test_several_parts_may_be_all() -> None:
    assert sent("[hvd.broadcast_variables(layer.variables, root_rank=0) for layer in model.layers]")
    both = "hvd.broadcast_variables(model.layers[{}].variables, root_rank=0)"
    assert sent(f"{both.format(0)}; {both.format(1)}")
    assert sent("hvd.broadcast_variables(model.variables[k:], root_rank=0)")


def test_what_is_measured_is_run() -> None:
    late = "    if timeit.default_timer() - began > 9:\n        break\n"
    began = f"began = timeit.default_timer()\nfor epoch in range(3):\n{late}"
    run = "    for x in rows:\n        timeit.timeit(lambda: step(x, False), number=1)\n"
    assert "HVD331" in codes(STEP + began + run)
    assert "HVD331" not in codes(
        STEP + began + run.replace("timeit.timeit(lambda: step(x, False), number=1)", "pass")
    )


ONE_MORE = "steps = args.steps // hvd.size()\nif hvd.rank() < args.steps % hvd.size():\n    steps += 1\n"
ENDED = (
    "i = 0\nwhile True:\n    step(next(iter(rows)), i == 0)\n    i += 1\n    if i == steps:\n        break\n"
)
COUNTED = "i = 0\nwhile i < steps:\n    step(next(iter(rows)), i == 0)\n    i += 1\n"


@pytest.mark.parametrize("loop", [ENDED, COUNTED])
@pytest.mark.parametrize(
    "number",
    [
        ONE_MORE,
        ONE_MORE.replace("args.steps % hvd.size()", "left").replace(
            "steps =", "left = args.steps % hvd.size()\nsteps =", 1
        ),
        "steps, left = divmod(args.steps, hvd.size())\nif hvd.rank() < left:\n    steps += 1\n",
        "steps = args.steps // hvd.size() + (1 if hvd.rank() < args.steps % hvd.size() else 0)\n",
        "steps = args.steps // hvd.size() + hvd.rank()\n",
    ],
)
def test_no_rank_takes_a_step_more(loop: str, number: str) -> None:
    assert codes(STEP + number + loop) & {"HVD323", "HVD331"}
    agreed = "steps = int(hvd.allreduce(steps, op=hvd.Min))\n"
    assert not codes(STEP + number + agreed + loop) & {"HVD313", "HVD323", "HVD331"}


def test_what_is_left_decides_nothing_else() -> None:
    assert not codes(
        STEP
        + ONE_MORE.replace("steps", "shown").replace("args.shown", "args.steps")
        + COUNTED.replace("steps", "100")
        + "print(shown)\n"
    ) & {"HVD313", "HVD323", "HVD331"}
    whole = "if args.steps % hvd.size() != 0:\n    raise ValueError(args.steps)\nsteps = args.steps // hvd.size()\n"
    assert not codes(STEP + whole + COUNTED) & {"HVD313", "HVD323", "HVD331"}


def test_ranks_may_count_from_their_own_number() -> None:
    dealt = "i = hvd.rank()\nwhile i < 1000:\n    step(next(iter(rows)), False)\n    i += hvd.size()\n"
    assert not codes(STEP + dealt) & {"HVD313", "HVD323", "HVD331"}
    alone = "i = hvd.rank()\nwhile i < 1:\n    step(next(iter(rows)), False)\n    time.sleep(9)\n"
    assert "HVD313" in codes(STEP + alone)


RESUMED = """\
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
if os.path.exists("kept.h5"):
    model = tf.keras.models.load_model("kept.h5")
if TEST:
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


def test_a_model_that_is_compiled_unless_it_was_loaded() -> None:
    assert "HVD316" in codes(changed(RESUMED, ("TEST", 'not os.path.exists("kept.h5")')))
    for test in ("True", 'os.path.exists("kept.h5")', "not args.resume"):
        assert "HVD316" not in codes(changed(RESUMED, ("TEST", test)))
