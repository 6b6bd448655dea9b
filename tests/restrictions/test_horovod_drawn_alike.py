"""Rows that each step draws, by a seed that all ranks have."""

from __future__ import annotations

import pytest

from .helpers import codes

TEXT = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
generator = MADE
for step in range(100 // hvd.size()):
    rows = DRAWN
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("made", "drawn", "alike"),
    [
        ("tf.random.Generator.from_seed(1)", "generator.normal((8, 4))", True),
        ("np.random.default_rng(1)", "generator.random((8, 4)).astype('float32')", True),
        ("np.random.RandomState(seed=1)", "generator.rand(8, 4)", True),
        ("tf.random.Generator.from_seed(1 + hvd.rank())", "generator.normal((8, 4))", False),
        ("np.random.default_rng(hvd.rank())", "generator.random((8, 4))", False),
        ("np.random.default_rng()", "generator.random((8, 4))", False),
        ("tf.random.Generator.from_non_deterministic_state()", "generator.normal((8, 4))", False),
        ("None", "np.random.rand(8, 4)", False),
    ],
)
def test_rows_that_each_step_draws(made: str, drawn: str, alike: bool) -> None:
    assert ("HVD320" in codes(TEXT.replace("MADE", made).replace("DRAWN", drawn))) == alike
