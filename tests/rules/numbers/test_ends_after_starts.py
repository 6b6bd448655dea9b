"""Ends that are so many steps after where a run begins: only what is added is divided."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4)\n"
KEPT = "ck = tf.train.Checkpoint(opt=opt, model=model)\nck.restore(tf.train.latest_checkpoint('d'))\n"
WHILE = "batches = iter(ds)\n{}while opt.iterations < {}:\n    step(*next(batches))\n"
BREAK = "{}for x, y in ds:\n    step(x, y)\n    if opt.iterations >= {}:\n        break\n"
GRAPH = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32)
count = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(x - tf.Variable(1.0)), global_step=count)
with tf.Session() as sess:
    tf.train.Saver().restore(sess, tf.train.latest_checkpoint('d'))
    start = sess.run(count)
    now = start
    while now < start + 1000:
        _, now = sess.run([train, count], {x: data.next_batch(8)})
"""


@pytest.mark.parametrize("loop", [WHILE, BREAK])
@pytest.mark.parametrize(
    ("begin", "end", "divided"),
    [
        ("first = int(opt.iterations)\n", "first + 1000", "first + 1000 // hvd.size()"),
        ("first = opt.iterations.numpy()\n", "1000 + first", "1000 // hvd.size() + first"),
        ("n, first = 1000, int(opt.iterations)\n", "first + n", "first + n // hvd.size()"),
        ("last = int(opt.iterations) + 1000\n", "last", "last = int(opt.iterations) + 1000 // hvd.size()"),
        ("first = int(opt.iterations)\nlast = first + 1000\n", "last", "last = first + 1000 // hvd.size()"),
    ],
)
def test_only_what_is_added_to_a_start_is_divided(loop: str, begin: str, end: str, divided: str) -> None:
    text = plan_of(HEAD + KEPT + loop.format(begin, end)).text
    for n in ("n", "1000"):
        text = text.replace(f"max(1, {n} // hvd.size())", f"{n} // hvd.size()")
    assert divided in text
    assert text.count("// hvd.size()") == 1


def test_a_graphs_steps_after_its_start() -> None:
    text = plan_of(GRAPH).text
    assert "now < start + 1000 // hvd.size()" in text


def test_each_phase_after_what_was_counted_before() -> None:
    phases = """\
n, batches = 0, iter(ds)
for phase in range(3):
    end = n + 1000
    while n < end:
        step(*next(batches))
        n += 1
"""
    text = plan_of(HEAD + phases).text
    assert "end = n + 1000 // hvd.size()\n" in text or "end = n + max(1, 1000 // hvd.size())\n" in text
    assert "while n < end:\n" in text


@pytest.mark.parametrize(
    ("begin", "end", "divided"),
    [
        ("", "1000", "max(1, 1000 // hvd.size())"),
        ("warm = 100\n", "warm + 1000", "max(1, (warm + 1000) // hvd.size())"),  # both are numbers of steps
        ("rows = len(a)\n", "rows + 1000", "max(1, (rows + 1000) // hvd.size())"),
    ],
)
def test_what_is_no_start_is_divided_with_it(begin: str, end: str, divided: str) -> None:
    text = plan_of(HEAD + KEPT + WHILE.format(begin, end)).text
    assert f"opt.iterations < {divided}" in text or f"opt.iterations < {divided[7:-1]}" in text
