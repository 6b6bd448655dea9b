"""G2: lists of variables are sent in as few lines as they fit into, each once and in their order."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

NETWORKS = """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.G_A, self.G_B = tf.keras.layers.Dense(4), tf.keras.layers.Dense(4)
        self.D_A, self.D_B = tf.keras.layers.{layer}, tf.keras.layers.{layer}
        self.optimizer_G, self.optimizer_D = tf.keras.optimizers.Adam(1e-3), tf.keras.optimizers.Adam(1e-3)
    def train_step(self, x):
        with tf.GradientTape(persistent=True) as t:
            g = tf.reduce_mean(self.G_A(x) + self.G_B(x))
            d = tf.reduce_mean(self.D_A(x) + self.D_B(x))
        own = self.G_A.trainable_variables + self.G_B.trainable_variables
        others = self.D_A.trainable_variables + self.D_B.trainable_variables
        self.optimizer_G.apply_gradients(zip(t.gradient(g, own), own))
        self.optimizer_D.apply_gradients(zip(t.gradient(d, others), others))
model = Model()
ds = tf.data.Dataset.from_tensor_slices(tf.zeros([64, 4])).batch(4)
for x in ds:
    model.train_step(x)
"""


def test_as_many_as_fit_into_a_line() -> None:
    text = plan_of(NETWORKS.format(layer="Dense(4)")).text
    lines = [line for line in text.splitlines() if "broadcast_variables" in line]
    assert [line.strip() for line in lines] == [
        "hvd.broadcast_variables([*model.G_A.variables, *model.G_B.variables], root_rank=0)",
        "hvd.broadcast_variables([*model.D_A.variables, *model.D_B.variables], root_rank=0)",
        "hvd.broadcast_variables(model.optimizer_G.variables(), root_rank=0)",
        "hvd.broadcast_variables(model.optimizer_D.variables(), root_rank=0)",
    ]


@pytest.mark.parametrize("pair", ["G_A, G_B", "D_A, D_B"])
def test_statistics_likewise(pair: str) -> None:
    text = plan_of(NETWORKS.format(layer="BatchNormalization()")).text
    together = ", ".join(f"*model.{name}.non_trainable_variables" for name in pair.split(", "))
    assert f"hvd.broadcast_variables([{together}], root_rank=0)\n" in text
