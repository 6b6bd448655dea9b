"""D3: a run that keeps the state of its random numbers goes on with rank 0's order; what all set keeps the stream."""

from __future__ import annotations

from ..pairs import plan_of

PROGRAM = """\
import os
import pickle
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
epoch = 0
{before}
for epoch in range(epoch, 6):
    {order}
    for k in range(0, len(x), 16):
        a, b = x[p[k : k + 16]], y[p[k : k + 16]]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    {after}
"""
RESTORED = """if os.path.exists("run.pkl"):
    run = pickle.load(open("run.pkl", "rb"))
    epoch = run["epoch"]
    model.set_weights(run["weights"])
    np.random.set_state(run["state"])"""
KEPT = """with open("run.pkl", "wb") as f:
        run = dict(epoch=epoch + 1, weights=model.get_weights(), state=np.random.get_state())
        pickle.dump(run, f)"""


def test_a_state_that_a_file_gives_back_is_rank_0s_and_so_is_the_order() -> None:
    """It was refused: a rank without the file would not have drawn."""
    order = "p = np.random.permutation(len(x))"
    text = plan_of(PROGRAM.format(before=RESTORED, order=order, after=KEPT)).text
    assert "p = hvd.broadcast_object(np.random.permutation(len(x)))" in text
    assert '    np.random.set_state(run["state"])' in text


def test_a_state_that_all_ranks_set_is_that_of_the_common_stream() -> None:
    order = "state = np.random.get_state(); p = np.random.permutation(len(x)); np.random.set_state(state)"
    text = plan_of(PROGRAM.format(before="pass", order=order, after="pass")).text
    assert "alike(np.random.get_state)()" in text
    assert "alike(np.random.set_state)(state)" in text
