"""Networks that training looks at and does not train: rank 0's weights for all, where they are random."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
words = np.load("words.npy")
y = np.load("y.npy")
"""
TAIL = """\
model = keras.Sequential([layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.1), "mse")
model.fit(x, y)
"""


def said_of_untrained(source: str) -> list[str]:
    """The changes that broadcast what is not trained, with what they ask."""
    plan = distribute(summarize(Document(source)), Options())
    assert isinstance(plan, Plan)
    return [c.doubt or "sure" for c in plan.changes if "network that is not trained" in c.what]


@pytest.mark.parametrize(
    "layer",
    ["StringLookup()", "IntegerLookup()", "TextVectorization(100)", "Normalization()", "Discretization(4)",
     "Hashing(num_bins=8)", "CategoryEncoding(9)"],
)  # fmt: skip
def test_what_learns_from_data_alone_has_no_random_weights(layer: str) -> None:
    made = f"prepare = layers.{layer}\nprepare.adapt(words)\nx = prepare(words)\n"
    assert said_of_untrained(HEAD + made + TAIL) == []


@pytest.mark.parametrize(
    "layer", ["Embedding(100, 8)", "Dense(8)", "BatchNormalization()", "LayerNormalization()"]
)
def test_random_features_are_asked_about(layer: str) -> None:
    (doubt,) = said_of_untrained(f"{HEAD}prepare = layers.{layer}\nx = prepare(words)\n{TAIL}")
    assert "hvd.broadcast_variables(prepare.variables, root_rank=0)" in doubt


def test_a_built_network_gets_rank_0s_weights() -> None:
    made = "prepare = keras.Sequential([layers.Input((4,)), layers.Dense(8)])\nx = prepare.predict(words)\n"
    assert said_of_untrained(HEAD + made + TAIL) == ["sure"]


@pytest.mark.parametrize(("weights", "said"), [("None", ["sure"]), ('"imagenet"', [])])
def test_a_loss_that_looks_through_a_network_without_pretrained_weights(
    weights: str, said: list[str]
) -> None:
    looks = (
        f"vgg = keras.applications.VGG16(include_top=False, weights={weights}, input_shape=(32, 32, 3))\n"
        "def own(y, p):\n    return tf.reduce_mean(tf.square(vgg(y) - vgg(p)))\nx = words\n"
    )
    assert said_of_untrained(HEAD + looks + TAIL.replace('"mse"', "own")) == said


UNKNOWN = """\
import argparse
import numpy as np
import tensorflow as tf

args = argparse.Namespace(weights=None)
base = tf.keras.applications.MobileNetV2(include_top=False, {weights}pooling="avg")
head = tf.keras.Sequential([tf.keras.layers.Dense(1)])
x, y = np.load("x.npy"), np.load("y.npy")
opt = tf.keras.optimizers.SGD(0.01)
for a, b in tf.data.Dataset.from_tensor_slices((x, y)).batch(16):
    encoded = base(a, training=False)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((head(encoded) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, head.trainable_variables), head.trainable_variables))
"""


@pytest.mark.parametrize(
    ("weights", "sent"),
    [
        ("weights=None, ", True),
        ("weights=args.weights, ", True),
        ("weights='imagenet' if args.weights else None, ", True),
        ("weights='imagenet', ", False),
        ("", False),
        ("weights=f'{args.folder}/base.h5', ", False),
    ],
)
def test_weights_that_may_be_none_are_rank_0s(weights: str, sent: bool) -> None:
    """Each rank had other features, and a head for those of all."""
    plan = distribute(summarize(Document(UNKNOWN.format(weights=weights))))
    assert isinstance(plan, Plan)
    text = plan.text
    assert ("base.variables" in text) is sent
    assert "head.non_trainable_variables" not in text  # a stack of layers without statistics
