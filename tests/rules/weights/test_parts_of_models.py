"""G2: layers and models that are called on a `keras.Input` are put together, and asked nothing."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
body = tf.keras.Sequential([tf.keras.layers.Dense(8)])
head = tf.keras.layers.Dense(1)
opt = tf.keras.optimizers.Adam(0.01)
{made}
ds = tf.data.Dataset.from_tensor_slices({rows}).batch(16)
for a in ds:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(a) ** 2)
    parts = {trained}
    opt.apply_gradients(zip(tape.gradient(loss, parts), parts))
"""
MADE = [
    "inp = tf.keras.Input((6,))\nmodel = tf.keras.Model(inp, head(body(inp)))",
    "inp = tf.keras.layers.Input((6,))\nh = body(inp)\nmodel = tf.keras.Model(inp, head(h * 2 + 1))",
    "inp = tf.keras.Input((6,))\nmodel = tf.keras.Model(inp, head(tf.concat([body(inp), inp], 1)))",
    "def make():\n    inp = tf.keras.Input((6,))\n    return tf.keras.Model(inp, head(body(inp)))\nmodel = make()",
]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    "trained", ["head.trainable_variables", "body.trainable_variables + head.trainable_variables"]
)
def test_what_is_put_together_is_not_sent(made: str, trained: str) -> None:
    """What stands for a layer's values was broadcast as numbers: each run failed."""
    plan = plan_of(SOURCE.format(made=made, rows="x", trained=trained))
    assert "broadcast_object" not in plan.text
    assert "hvd.broadcast_variables(" in plan.text


def test_what_rows_are_picked_by_is_asked_with_rank_0s_weights() -> None:
    made = "model = tf.keras.Sequential([tf.keras.Input((6,)), body, head])\n"
    plan = plan_of(
        SOURCE.format(made=made, rows="x[model(x)[:, 0] > 0]", trained="model.trainable_variables")
    )
    assert "broadcast" in plan.text.split("ds =")[0]


AGENT = """\
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.memory, self.model = [], tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(2,))])
        self.model.compile("sgd", "mse")

    def remember(self, state):
        self.memory.append((state, self.model.predict(state[None])[0]))

    def learn(self):
        states, wants = zip(*self.memory[-32:])
        self.model.fit(np.array(states), np.array(wants))
"""
PLAYED = "agent = Agent()\nfor k in range(64):\n    agent.remember(np.ones(2))\nagent.learn()\n"


def test_what_another_file_calls_waits_for_no_rank() -> None:
    """Each move of a game waited for the other ranks, whose games were over."""
    plan = plan_of(AGENT)
    method = plan.text[plan.text.index("def remember") : plan.text.index("def learn")]
    assert "broadcast" not in method
    assert any("before its first step" in c.doubt for c in plan.to_confirm)


def test_what_this_file_calls_is_asked_with_rank_0s_weights() -> None:
    assert not any("before its first step" in c.doubt for c in plan_of(AGENT + PLAYED).to_confirm)
