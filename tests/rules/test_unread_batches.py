"""Batches that a function of a module gives which isn't read: whether ranks get others is asked, not taken for granted."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

HEAD = TAPE + "import cv2, helpers\nx, y = np.load('x.npy'), np.load('y.npy')\n"
LOOP = "for i in range(1000):\n    {}\n    step(a, b)\n"
SESSION = """\
import tensorflow.compat.v1 as tf, numpy as np, helpers
x = tf.placeholder(tf.float32, [None, 4])
train = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.layers.dense(x, 1)))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range(1000):
        session.run(train, {x: helpers.make_batch(rows, 16)})
"""


def is_asked(text: str) -> bool:
    return any("can't be seen what gives these steps their data" in c.doubt for c in plan_of(text).to_confirm)


@pytest.mark.parametrize(
    "drawn",
    [
        "a, b = helpers.make_batch(16)",
        "a, b = helpers.generate_batch_data(x, 16)",
        "batch = helpers.make_batch(x, 16)\n    a, b = batch['x'], batch['y']",
    ],
)
def test_what_is_not_read_is_asked_about(drawn: str) -> None:
    assert is_asked(HEAD + LOOP.format(drawn))
    assert is_asked(SESSION)


def test_a_name_that_says_that_it_draws_is_believed_where_nothing_is_seeded() -> None:
    drawn = LOOP.format("a, b = helpers.sample(16)")
    assert not is_asked(HEAD + drawn)
    assert is_asked(HEAD + "np.random.seed(1)\n" + drawn)


@pytest.mark.parametrize(
    "drawn",
    [
        "k = np.random.randint(0, 9, 16)\n    a, b = helpers.prepare_batch(x[k], y[k])",
        "a = b = np.stack([cv2.imread(f'{k}.png') for k in np.random.choice(100, 8)])",
        "a, b = helpers.load_batch(i)",
        "a, b = x[i * 8:i * 8 + 8], y[i * 8:i * 8 + 8]",
        "a, b = helpers.next_batch(8)",
    ],
)
def test_what_is_drawn_or_dealt_out_here_is_not(drawn: str) -> None:
    assert not is_asked(HEAD + LOOP.format(drawn))
