"""G4: layers that are drawn to be frozen are the same on all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import random
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
{frozen}
opt = tf.keras.optimizers.SGD(0.1)
for a in tf.data.Dataset.from_tensor_slices(x).batch(16):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(a) ** 2)
    w = model.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, w), w))
"""


@pytest.mark.parametrize(
    ("frozen", "alike"),
    [
        ("random.choice(model.layers).trainable = False", "alike(random.choice)(model.layers).trainable"),
        (
            "layer = random.choice(model.layers)\nlayer.trainable = False",
            "alike(random.choice)(model.layers)",
        ),
        (
            "model.layers[np.random.randint(3)].trainable = False",
            "model.layers[hvd.broadcast_object(np.random.randint(3))]",
        ),
        ("k = np.random.choice(3)\nmodel.layers[k].trainable = False", "hvd.broadcast_object("),
    ],
)
def test_a_layer_that_is_drawn_is_the_same_on_all_ranks(frozen: str, alike: str) -> None:
    """Each rank averaged gradients of other layers, in silence, or waited for one that another had frozen."""
    assert alike in plan_of(SOURCE.format(frozen=frozen)).text


@pytest.mark.parametrize(
    "frozen",
    [
        "model.layers[0].trainable = False",
        "model.get_layer('body').trainable = False",
        "model.trainable = True",
    ],
)
def test_a_layer_that_is_named_is(frozen: str) -> None:
    text = plan_of(SOURCE.format(frozen=frozen)).text
    assert f"{frozen}\n" in text
    assert "alike" not in text


def test_a_part_of_a_model_that_a_file_gives_is_sent_by_its_weights_alone() -> None:
    frozen = (
        "old = tf.keras.models.load_model('old.keras')\n"
        "part = tf.keras.Model(old.inputs, old.get_layer('body').output)\n"
        "part.trainable = False"
    )
    text = plan_of(SOURCE.format(frozen=frozen)).text
    assert "part = tf.keras.Model(old.inputs, old.get_layer('body').output)\n" in text
