"""What gathers results beside training on rows is no game: the rows are divided."""

from __future__ import annotations

import pytest

from .pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
pool, labeled, results = list(range(200, len(x))), list(range(200)), []


def train(model, rows):
    opt = tf.keras.optimizers.SGD(0.05)
    for i in range(0, len(rows), 16):
        b = rows[i : i + 16]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x[b]) - y[b]) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for turn in range(4):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    train(model, labeled)
    {gathered}
    least_sure = np.argsort(-np.abs(model(x[pool])[:, 0]))[:200]
    chosen = [pool[t] for t in least_sure]
    labeled += chosen
    pool = [p for p in pool if p not in set(chosen)]
np.savetxt("curve.csv", results)
"""


@pytest.mark.parametrize("gathered", ["results.append((turn, len(labeled)))", "pass"])
def test_active_learning_is_no_game(gathered: str) -> None:
    """It was taken for one, as what is shown of it goes on by what the model says: nothing was divided."""
    text = plan_of(PROGRAM.format(gathered=gathered)).text
    assert "for i in shard(range(0, " in text
    assert "pool * hvd.size()" not in text
