"""Steps that train parts of a model by their names are taken for steps of the whole: divided, and broadcast in the loop."""

from __future__ import annotations

import pytest

from .pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf

x = np.load("x.npy")


class Trainer:
    def __init__(self):
        layers = [tf.keras.layers.Dense(8, name="body"), tf.keras.layers.Dense(1, name="head")]
        self.net = tf.keras.Sequential(layers)
        self.slow, self.fast = tf.keras.optimizers.Adam(1e-3), tf.keras.optimizers.SGD(0.01)

    {traced}
    def step(self, rows):
        {named}
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean((self.net(rows) - rows[:, :1]) ** 2)
        self.slow.apply_gradients(zip(tape.gradient(loss, {body}), {body}))
        self.fast.apply_gradients(zip(tape.gradient(loss, {head}), {head}))


trainer = Trainer()
for i in range(400):
    trainer.step(x[np.random.randint(0, len(x), 16)])
"""
BODY, HEAD = (f'self.net.get_layer("{name}").trainable_variables' for name in ("body", "head"))
SLICES = "self.net.trainable_variables[:2]", "self.net.trainable_variables[-2:]"


@pytest.mark.parametrize("traced", ["@tf.function", ""])
@pytest.mark.parametrize(("body", "head"), [(BODY, HEAD), SLICES])
def test_parts_that_have_names_and_parts_that_have_none(body: str, head: str, traced: str) -> None:
    """A layer that a step looks up was taken for one that each turn makes: nothing was divided."""
    by_names = PROGRAM.format(
        traced=traced, named=f"body = {body}\n        head = {head}", body="body", head="head"
    )
    for source in (by_names, PROGRAM.format(traced=traced, named="pass", body=body, head=head)):
        text = plan_of(source).text
        assert "for i in range(400 // hvd.size()):" in text
        assert "trainer.step(x[np.random.randint(0, len(x), 16)])" in text
        assert "trainer.net.variables" in text
