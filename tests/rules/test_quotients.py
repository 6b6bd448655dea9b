"""Numbers of steps that are no whole ones: a loop goes on to the next step, alone and on ranks."""

from __future__ import annotations

import pytest

from .pairs import check

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
flow = tf.keras.preprocessing.image.ImageDataGenerator().flow(x, y, batch_size=32)
"""
LOOP = """\
for epoch in range(5):
    batches = 0
    for bx, by in flow:
        model.train_on_batch(bx, by)
        batches += 1
        if {}:
            break
"""
DEALT = LOOP.replace("in flow:", "in shard_batches(flow):")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("batches >= len(x) / 32", "batches >= len(x) / 32 / hvd.size()"),
        ("batches > x.shape[0] / 32", "batches > x.shape[0] / 32 / hvd.size()"),
        ("len(x) / 32 <= batches", "len(x) / 32 / hvd.size() <= batches"),
        # whole numbers, and what is compared for being equal
        ("batches >= len(x) // 32", "batches >= max(1, len(x) // 32 // hvd.size())"),
        ("batches >= int(len(x) / 32)", "batches >= max(1, int(len(x) / 32) // hvd.size())"),
        ("batches == len(x) / 32", "batches == max(1, len(x) / 32 // hvd.size())"),
    ],
)
def test_a_loop_that_ends_after_a_quotient_is_not_cut_short(before: str, after: str) -> None:
    check(["G4", "G5"], HEAD, LOOP.format(before), DEALT.format(after))


def test_a_name_for_a_quotient_is_divided_where_it_is_compared() -> None:
    head = HEAD + "steps = len(x) / 32\n"
    check("G4", head, LOOP.format("batches >= steps"), DEALT.format("batches >= steps / hvd.size()"))
