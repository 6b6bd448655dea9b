"""The rank where objects, tuples and functions hold it: what is made of it there, and the rows that are taken by it."""

from __future__ import annotations

import pytest

from .helpers import codes, violations

PROGRAM = """\
import collections
import dataclasses
import functools
import time
from typing import NamedTuple

import tensorflow as tf
import horovod.tensorflow as hvd


class Comm:
    def __init__(self):
        self.rank, self.size = hvd.rank(), hvd.size()

    @property
    def chief(self):
        return self.rank == 0


@dataclasses.dataclass
class Place:
    rank: int
    size: int = 1


class Where(NamedTuple):
    rank: int
    size: int


Spot = collections.namedtuple("Spot", "rank size")


def setup():
    return hvd.rank(), hvd.size()


def first_rank_only(function):
    @functools.wraps(function)
    def inner(*args):
        if hvd.rank() == 0:
            return function(*args)

    return inner


hvd.init()
{top}
model = tf.keras.Sequential([{layer}])
optimizer = {optimizer}
hvd.broadcast_variables(model.variables, root_rank=0)


{decorators}def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for x in {rows}:
    loss = step(x)
    {after}
"""
ROWS = "read('rows.csv').repeat().take(100 // hvd.size())"


def program(
    top: str = "",
    layer: str = "tf.keras.layers.Dense(1)",
    optimizer: str = "tf.keras.optimizers.SGD(0.01 * hvd.size())",
    decorators: str = "",
    rows: str = ROWS,
    after: str = "pass",
) -> str:
    return PROGRAM.format(
        top=top, layer=layer, optimizer=optimizer, decorators=decorators, rows=rows, after=after
    )


MAKERS = [
    "Place(hvd.rank(), hvd.size())",
    "Place(size=2, rank=hvd.rank())",
    "Where(hvd.rank(), 4)",
    "Spot(hvd.rank(), 4)",
]


@pytest.mark.parametrize("made", MAKERS)
def test_a_rank_is_known_by_the_field_of_a_record(made: str) -> None:
    waits = "if place.rank == 0:\n        print(float(hvd.allreduce(loss)))"
    assert "HVD313" in codes(program(f"place = {made}", after=waits))
    other = waits.replace("place.rank == 0", "place.size > 1")
    assert "HVD313" not in codes(program(f"place = {made}", after=other))


@pytest.mark.parametrize(
    ("top", "layer", "optimizer"),
    [
        ("comm = Comm()", "tf.keras.layers.Dense(8 if comm.chief else 16)", ""),
        ("rank, size = setup()", "tf.keras.layers.Dense(8, use_bias=rank == 0)", ""),
        ("comm = Comm()", "", "tf.keras.optimizers.SGD(0.01, momentum=0.9 if comm.chief else 0.0)"),
        (
            "def make(comm):\n    return tf.keras.optimizers.SGD(0.01, momentum=0.9 if comm.chief else 0.0)\n",
            "",
            "make(Comm())",
        ),
        (
            "momentum = 0.9 if hvd.rank() == 0 else 0.5",
            "",
            "tf.keras.optimizers.SGD(0.01, momentum=momentum)",
        ),
    ],
)
def test_what_is_made_by_the_rank_drifts_apart(top: str, layer: str, optimizer: str) -> None:
    given = {k: v for k, v in (("layer", layer), ("optimizer", optimizer)) if v}
    assert "HVD333" in codes(program(top, **given))


@pytest.mark.parametrize(
    ("top", "layer", "optimizer"),
    [
        ("comm = Comm()", "tf.keras.layers.Dense(8 if comm.size > 1 else 16)", ""),
        ("comm = Comm()", "tf.keras.layers.Dropout(0.5, seed=comm.rank)", ""),
        ("comm = Comm()", "tf.keras.layers.Dense(8, name=f'dense_{comm.rank}')", ""),
        (
            "comm = Comm()",
            "",
            "tf.keras.optimizers.SGD(0.01 * comm.size, momentum=0.9 if comm.chief else 0.9)",
        ),
    ],
)
def test_what_is_the_same_on_all_ranks_or_may_differ_does_not(top: str, layer: str, optimizer: str) -> None:
    given = {k: v for k, v in (("layer", layer), ("optimizer", optimizer)) if v}
    assert "HVD333" not in codes(program(top, **given))


@pytest.mark.parametrize(
    "top",
    [
        "rank, size = setup()",
        "rank, size = hvd.rank(), hvd.size()",
        "comm = Comm()\nrank, size = comm.rank, comm.size",
        "where = {'rank': hvd.rank(), 'size': hvd.size()}\nrank, size = where['rank'], where['size']",
    ],
)
def test_shares_by_a_rank_that_has_a_name_may_be_uneven(top: str) -> None:
    uneven = program(f"{top}\nwhole = read('rows.csv')", rows="whole[rank::size]")
    assert violations(uneven, "HVD323")
    cut = program(f"{top}\nwhole = read('rows.csv')", rows="whole[:len(whole) // size * size][rank::size]")
    assert not violations(cut, "HVD323")


def test_a_decorator_above_one_that_has_the_function_traced_keeps_ranks_from_it() -> None:
    assert "HVD331" in codes(program(decorators="@first_rank_only\n@tf.function\n"))
    assert "HVD331" in codes(program(decorators="@first_rank_only\n@tf.function(jit_compile=False)\n"))
    assert "HVD331" not in codes(program(decorators="@tf.function\n"))


FIT = """\
import time
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
end = time.time() + 3600
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, {given}, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("epochs=int((end - time.time()) // 60)", True),
        ("epochs=int(time.time()) % 7", True),
        ("epochs=hvd.broadcast_object(int((end - time.time()) // 60), root_rank=0)", False),
        ("epochs=args.epochs", False),
        ("steps_per_epoch=len(np.random.rand(90, 4)) // 10", False),
        ("steps_per_epoch=np.random.rand(90, 4).shape[0] // 10", False),
    ],
)
def test_a_fit_that_each_rank_times_for_itself_is_uneven(given: str, told: bool) -> None:
    assert bool(violations(FIT.format(given=given), "HVD323")) is told
