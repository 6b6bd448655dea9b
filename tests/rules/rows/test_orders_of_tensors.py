"""Orders of rows that TensorFlow, Keras 3 or another library draws are the same on all ranks where a loop deals by them."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

TEXT = """\
import os, time, numpy as np, tensorflow as tf, keras, scipy.stats, torch

x, y = np.ones((640, 4), "float32"), np.ones((640, 1), "float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
numbers, seeded = keras.random.SeedGenerator(), keras.random.SeedGenerator(0)
for epoch in range(3):
    order = {}
    for i in range(0, 640, 16):
        model.train_on_batch(x[order[i:i + 16]], y[order[i:i + 16]])
"""


def plan_of(order: str) -> Plan:
    plan = distribute(summarize(Document(TEXT.format(order))))
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize(
    "order",
    [
        "keras.random.shuffle(np.arange(640))",
        "keras.random.shuffle(np.arange(640), seed=numbers)",
        "keras.ops.convert_to_numpy(keras.random.shuffle(keras.ops.arange(640)))",
        "keras.ops.argsort(keras.random.uniform((640,)))",
        "tf.argsort(tf.random.uniform([640])).numpy()",
        "tf.random.Generator.from_non_deterministic_state().uniform([640]).numpy().argsort()",
        "scipy.stats.uniform.rvs(size=640).argsort()",
        "torch.randperm(640)",
        "tf.random.experimental.stateless_shuffle(tf.range(640), seed=tf.random.uniform([2], 0, 99, tf.int32)).numpy()",
        "tf.random.experimental.stateless_shuffle(tf.range(640), [np.random.randint(99), epoch]).numpy()",
        "tf.argsort(tf.random.stateless_uniform([640], seed=[os.getpid(), epoch])).numpy()",
        "tf.argsort(tf.random.stateless_uniform([640], [time.time_ns() % 99, epoch])).numpy()",
    ],
)
def test_all_ranks_take_rank_0s(order: str) -> None:
    assert f"    order = hvd.broadcast_object({order})\n" in plan_of(order).text


@pytest.mark.parametrize(
    "order",
    [
        "keras.random.shuffle(np.arange(640), seed=epoch)",
        "keras.random.shuffle(np.arange(640), seed=seeded)",
        "tf.argsort(tf.random.stateless_uniform([640], [1, epoch])).numpy()",
        "tf.random.experimental.stateless_shuffle(tf.range(640), seed=(1, epoch)).numpy()",
        "np.arange(640)",
    ],
)
def test_one_that_is_the_same_stays(order: str) -> None:
    assert f"    order = {order}\n" in plan_of(order).text


def test_a_seed_for_the_whole_program_is_one() -> None:
    text = TEXT.replace("x, y", "tf.random.set_seed(7)\nx, y").format("tf.argsort(tf.random.uniform([640]))")
    plan = distribute(summarize(Document(text)))
    assert isinstance(plan, Plan)
    assert "broadcast_object" not in plan.text


def test_rows_of_a_batch_that_each_rank_draws_are_its_own() -> None:
    text = TEXT.format("None").replace("order[i:i + 16]", "tf.argsort(tf.random.uniform([640]))[:16]")
    plan = distribute(summarize(Document(text)))
    assert isinstance(plan, Plan)
    assert "broadcast_object" not in plan.text


SEQUENCE = """\
import numpy as np, keras

class Rows(keras.utils.{}):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
        self.on_epoch_end()

    def __len__(self):
        return 40

    {}
    def __getitem__(self, i):
        rows = self.order[i * 16:(i + 1) * 16]
        return self.x[rows], self.y[rows]

x, y = np.ones((640, 4), "float32"), np.ones((640, 1), "float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.01), "mse")
model.fit(Rows(x, y), epochs=2)
"""
ORDER = "keras.random.shuffle(np.arange(640))"
AT_ENDS = f"def on_epoch_end(self):\n        self.order = {ORDER}\n"
BY_HELPER = (
    f"def on_epoch_end(self):\n        self.deal()\n\n    def deal(self):\n        self.order = {ORDER}\n"
)
ONCE = (
    f"def on_epoch_end(self):\n        pass\n\n    @property\n    def order(self):\n        return {ORDER}\n"
)


@pytest.mark.parametrize("methods", [AT_ENDS, BY_HELPER])
@pytest.mark.parametrize("base", ["PyDataset", "Sequence"])
def test_a_sequence_takes_rank_0s_when_an_epoch_ends(base: str, methods: str) -> None:
    plan = distribute(summarize(Document(SEQUENCE.format(base, methods))))
    assert isinstance(plan, Plan)
    assert f"        self.order = hvd.broadcast_object({ORDER})\n" in plan.text
    assert not any("for itself here" in n.message for n in plan.notes)


def test_one_that_is_drawn_for_each_batch_is_told_by_no_rank() -> None:
    plan = distribute(summarize(Document(SEQUENCE.format("PyDataset", ONCE))))
    assert not isinstance(plan, Plan) or "broadcast_object" not in plan.text
