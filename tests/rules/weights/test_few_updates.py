"""K3, G2: batch-norm statistics that a rank's steps are too few for."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf

x = np.random.rand({rows}, 8)
y = np.zeros({rows})
layer = {layer}
model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1)])
"""
FIT = 'model.compile("sgd", "mse")\nmodel.fit(x, y, batch_size=16, epochs={epochs})\n'
TAPE = """\
opt = tf.keras.optimizers.SGD(0.02)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(99).batch(16)
for epoch in range({epochs}):
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a, training=True)[:, 0] - b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
NORM = "tf.keras.layers.BatchNormalization({})"


@pytest.mark.parametrize("train", [FIT, TAPE])
@pytest.mark.parametrize(
    ("rows", "epochs", "layer", "said"),
    [
        (3200, "2", NORM.format(""), True),  # 400 steps: a hundred on each of four ranks
        (3200, "20", NORM.format(""), False),
        (3200, "2", NORM.format("momentum=0.9"), False),
        (3200, "20", NORM.format("-1, 0.999"), True),
        (3200, "2", "tf.keras.layers.LayerNormalization()", False),
        (3200, "settings.epochs", NORM.format(""), False),
    ],
)
def test_few_steps_are_told(train: str, rows: int, epochs: str, layer: str, said: bool) -> None:
    """Four ranks evaluated at chance what one process had learnt, and no word was said."""
    plan = plan_of("import settings\n" + HEAD.format(rows=rows, layer=layer) + train.format(epochs=epochs))
    assert any("batch-norm statistics move a little" in n.message for n in plan.notes) is said
