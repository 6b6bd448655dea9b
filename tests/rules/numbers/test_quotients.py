"""Numbers of steps that are no whole ones: a loop goes on to the next step, alone and on ranks."""

from __future__ import annotations

import pytest

from ..pairs import check, plan_of

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
    check(["G4", "G5"], HEAD, LOOP.format(before), LOOP.format(after))


def test_a_name_for_a_quotient_is_divided_where_it_is_compared() -> None:
    head = HEAD + "steps = len(x) / 32\n"
    check("G4", head, LOOP.format("batches >= steps"), LOOP.format("batches >= steps / hvd.size()"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("batches > 0.1 * len(x)", "batches > 0.1 * len(x) / hvd.size()"),
        ("batches >= share * STEPS", "batches >= share * STEPS / hvd.size()"),
        ("batches >= late", "batches >= late / hvd.size()"),
        ("batches >= args.late * STEPS", "batches >= args.late * STEPS / hvd.size()"),
        ("batches >= STEPS - args.late * STEPS", "batches >= (STEPS - args.late * STEPS) / hvd.size()"),
        # whole ones
        ("batches > 2 * len(x)", "batches > max(1, 2 * len(x) // hvd.size())"),
        ("batches > int(0.1 * len(x))", "batches > max(1, int(0.1 * len(x)) // hvd.size())"),
        ("batches > 2.0 * STEPS", "batches > max(1, 2.0 * STEPS // hvd.size())"),
    ],
)
def test_a_fraction_of_the_steps_is_no_whole_number(before: str, after: str) -> None:
    """On one rank it must happen in the step in which it did."""
    head = HEAD + (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--late', type=float, default=0.7)\n"
        "args = parser.parse_args()\nSTEPS, share = 85, 0.3\nlate = share * STEPS\n"
    )
    assert f"        if {after}:\n" in plan_of(head + LOOP.format(before)).text


TENSORS = """\
import numpy as np
import tensorflow as tf
class Hyper:
    def __init__(self):
        self.kept = {{}}
    def add(self, name, value):
        self.kept[name] = {}
    def __getitem__(self, name):
        return self.kept[name]
hyper = Hyper()
hyper.add("span", 100)
x = tf.placeholder(tf.float32, [None, 8])
step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2), global_step=step)
def due(span):
    return tf.equal(tf.mod(step, span), 0)
seen = due({})
rows = np.load("x.npy")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(10000):
        sess.run(train, {{x: rows[np.random.randint(0, 900, 32)]}})
        if sess.run(seen):
            keep(sess)
"""


@pytest.mark.parametrize(
    ("kept", "given", "after"),
    [
        ("tf.Variable(value, trainable=False)", 'hyper["span"]', "tf.maximum(span // hvd.size(), 1)"),
        ("tf.placeholder(tf.int64, [])", 'hyper["span"]', "tf.maximum(span // hvd.size(), 1)"),
        ("value", 'hyper["span"]', "max(1, span // hvd.size())"),
        ("tf.Variable(value)", 'dict(span=100)["span"]', "max(1, span // hvd.size())"),
    ],
)
def test_tensors_that_an_object_gives_by_name(kept: str, given: str, after: str) -> None:
    assert f"tf.mod(step, {after})" in plan_of(TENSORS.format(kept, given)).text
