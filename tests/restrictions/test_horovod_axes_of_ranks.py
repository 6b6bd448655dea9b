"""Orders that are laid out with an axis for the ranks, of which each takes its place."""

from __future__ import annotations

import pytest

from .helpers import codes

TEXT = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
order = DRAWN
mine = TAKEN
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
for part in mine:
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean((model(x[part]) - y[part]) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
OWN, ALIKE = "np.random.permutation(4096)", "np.random.RandomState(0).permutation(4096)"


@pytest.mark.parametrize(
    "taken",
    [
        "order.reshape(-1, hvd.size(), 8)[:, hvd.rank()]",
        "order[: 4096 // hvd.size() * hvd.size()].reshape((hvd.size(), -1))[hvd.rank()]",
        "np.reshape(order, (-1, hvd.size(), 8))[:, hvd.rank(), :]",
    ],
)
def test_an_order_of_the_rank_of_which_it_takes_its_place(taken: str) -> None:
    assert "HVD319" in codes(TEXT.replace("DRAWN", OWN).replace("TAKEN", taken))
    assert "HVD319" not in codes(TEXT.replace("DRAWN", ALIKE).replace("TAKEN", taken))


@pytest.mark.parametrize(
    "taken", ["order.reshape(-1, 8)", "order.reshape(-1, hvd.size(), 8)[:, 0]", "order.reshape(2, -1)[0]"]
)
def test_what_is_no_place_of_a_rank(taken: str) -> None:
    assert "HVD319" not in codes(TEXT.replace("DRAWN", OWN).replace("TAKEN", taken))
