"""G4: networks that only some steps go through are the same on all ranks."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import plan_of

PROGRAM = """\
import random
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640).batch(16)
body, head = tf.keras.Sequential([tf.keras.layers.Dense(4)]), tf.keras.layers.Dense(1)
turned = tf.keras.Sequential([tf.keras.layers.RandomFlip(), tf.keras.layers.GaussianNoise(0.1)])
blocks = [tf.keras.layers.Dense(4, activation="tanh") for _ in range(3)]
kept = body.trainable_variables + head.trainable_variables + [v for b in blocks for v in b.trainable_variables]
opt = tf.keras.optimizers.SGD(0.1)
for epoch in range(9):
    for a, b in data:
        with tf.GradientTape() as tape:
            h = body(a)
            loss = tf.reduce_mean((h - b) ** 2)
{loss}
        grads = tape.gradient(loss, kept)
        opt.apply_gradients([(g, v) for g, v in zip(grads, kept) if g is not None])
"""


def text_of(loss: str) -> str:
    lines = "\n".join("            " + line for line in loss.splitlines())
    return plan_of(PROGRAM.format(loss=lines)).text


@pytest.mark.parametrize(
    ("loss", "drawn"),
    [
        (
            "if random.random() < 0.5:\n    loss += tf.reduce_mean(head(h))",
            "if alike(random.random)() < 0.5:",
        ),
        (
            "for block in blocks:\n    if np.random.rand() > 0.2:\n        h = block(h)\nloss = tf.reduce_mean((h - b) ** 2)",
            "if alike(np.random.rand)() > 0.2:",
        ),
        (
            "for block in blocks:\n    if np.random.rand() < 0.2:\n        continue\n    h = block(h)\n"
            "loss = tf.reduce_mean((h - b) ** 2)",
            "if alike(np.random.rand)() < 0.2:",
        ),
        (
            "h = blocks[0](h) if random.random() < 0.5 else h\nloss = tf.reduce_mean((h - b) ** 2)",
            "h = blocks[0](h) if alike(random.random)() < 0.5 else h",
        ),
    ],
)
def test_what_is_drawn_is_drawn_alike(loss: str, drawn: str) -> None:
    """A rank had no gradient for what it left out, and got that of other variables instead, or waited for ever."""
    assert drawn in text_of(loss)


def test_what_goes_by_a_ranks_rows_goes_by_the_mean() -> None:
    assert "if mean_over_ranks(loss) < 0.5:" in text_of("if loss < 0.5:\n    loss += tf.reduce_mean(head(h))")


@pytest.mark.parametrize(
    "loss",
    [
        "if random.random() < 0.5:\n    loss += tf.reduce_mean(tf.abs(h))",  # no network
        "if random.random() < 0.5:\n    loss = tf.reduce_mean((body(turned(a)) - b) ** 2)\nelse:\n"
        "    loss = tf.reduce_mean((body(a) - b) ** 2)",  # one that has no weights
        "if random.random() < 0.5:\n    h = head(a)\nelse:\n    h = head(2 * a)\nloss += tf.reduce_mean(h)",  # both do
        "if epoch > 3:\n    loss += tf.reduce_mean(head(h))",
        "if random.random() < 0.1:\n    print(float(tf.reduce_mean(head(h))))",  # it is only looked at
    ],
)
def test_where_all_ranks_go_through_the_same_each_draws_its_own(loss: str) -> None:
    text = text_of(loss)
    assert "alike(" not in text
    assert "any_rank(" not in text


def test_what_no_tape_follows_each_draws_its_own() -> None:
    """A target by the network itself: no gradient goes through it."""
    source = PROGRAM.format(loss="            loss += tf.reduce_mean(head(h))").replace(
        "        with tf", "        if random.random() < 0.5:\n            b = head(body(a))\n        with tf"
    )
    assert "        if random.random() < 0.5:\n" in plan_of(source).text


TRACED = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640).batch(16)
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = [tf.keras.layers.Dense(4, activation="relu") for _ in range(4)]
    def call(self, h):
        for block in self.blocks:
            if {test}:
                h = h + block(h)
        return h
net, opt = Net(), tf.keras.optimizers.SGD(0.1)
{traced}
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(a) - b))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
for epoch in range(4):
    for a, b in data:
        step(a, b)
"""


def test_a_layer_that_python_runs_in_each_step() -> None:
    text = plan_of(TRACED.format(test="np.random.rand() < 0.8", traced="")).text
    assert "if alike(np.random.rand)() < 0.8:" in text


def test_a_graph_that_is_made_with_what_a_rank_drew_is_refused() -> None:
    source = TRACED.format(test="np.random.rand() < 0.8", traced="@tf.function")
    result = distribute(summarize(Document(source)))
    assert isinstance(result, Refusal)
    assert any(reason.code == "HVD205" for reason in result.reasons)


def test_a_graph_that_goes_by_a_tensor_has_a_gradient_for_both() -> None:
    source = TRACED.format(test="tf.random.uniform([]) < 0.8", traced="@tf.function")
    assert "            if tf.random.uniform([]) < 0.8:\n" in plan_of(source).text


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ("h.shape[-1] != 8", False),
        ("not h.get_shape().as_list()[-1] == a.shape[3]", False),
        ("h.shape[1] > 8", True),  # how long this batch is
        ("h.shape[-1] != 8 and len(h) < 16", True),
    ],
)
def test_rows_have_as_many_features_on_all_ranks(test: str, asked: bool) -> None:
    loss = f"if {test}:\n    h = blocks[0](h)\nloss = tf.reduce_mean((h - b) ** 2)"
    assert ("any_rank" in text_of(loss)) is asked
