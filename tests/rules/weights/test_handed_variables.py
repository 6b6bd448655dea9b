"""A function that is handed the variables to train: all of their models' are broadcast, frozen ones, too."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.ones((480, 6), "float32"), np.ones((480, 3), "float32")
base, head = tf.keras.Sequential([tf.keras.layers.Dense(8)]), tf.keras.layers.Dense(3)
model = tf.keras.Sequential([base, head])
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(480).batch(16)
opt = tf.keras.optimizers.Adam(0.01)
base.trainable = False
"""
PHASE = """\
def phase({parameter}):
    for epoch in range(2):
        for a, b in ds:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(a, training=True) - b) ** 2)
            grads = tape.gradient(loss, {variables})
            opt.apply_gradients(zip(grads, {variables}))
"""
FIELD = """\
class Trainer:
    def __init__(self, net):
        self.variables = net.trainable_variables
    def run(self):
        for a, b in ds:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(a, training=True) - b) ** 2)
            opt.apply_gradients(zip(tape.gradient(loss, self.variables), self.variables))
Trainer(model).run()
"""
ALL = "hvd.broadcast_variables([*model.variables, *opt.variables()], root_rank=0)"


def handed(parameter: str, variables: str, *calls: str) -> str:
    text = HEAD + PHASE.format(parameter=parameter, variables=variables) + "\n".join(calls) + "\n"
    return plan_of(text).text


@pytest.mark.parametrize(
    ("variables", "call"),
    [
        ("variables", "phase(model.trainable_variables)"),
        ("variables", "phase(list(model.trainable_weights))"),
        ("variables", "phase(variables=model.trainable_variables + [])"),
        ("variables()", "phase(lambda: model.trainable_variables)"),
        ("variables()", "def all_of_it():\n    return model.trainable_variables\nphase(all_of_it)"),
    ],
)
def test_what_is_frozen_meanwhile_is_broadcast(variables: str, call: str) -> None:
    """Only what was trainable was: each rank computed with random frozen weights of its own."""
    assert ALL in handed("variables", variables, call)


def test_so_it_is_of_a_field() -> None:
    assert ALL in plan_of(HEAD + FIELD).text


def test_of_two_phases_both_models_are() -> None:
    text = handed(
        "variables",
        "variables()",
        "phase(lambda: head.trainable_variables)",
        "phase(lambda: model.trainable_variables)",
    )
    assert "[*head.variables, *model.variables, *opt.variables()]" in text


@pytest.mark.parametrize(
    "call",
    [
        "phase([v for v in model.trainable_variables if v.trainable])",  # made as it is handed over
        "from elsewhere import some\nphase(some.trainable_variables)",
    ],
)
def test_a_list_of_models_that_are_not_seen_stays_as_it_is(call: str) -> None:
    assert "broadcast_variables([*variables, " in handed("variables", "variables", call)


def test_a_model_that_has_no_name_everywhere_is_broadcast_as_the_step_calls_it() -> None:
    text = handed(
        "model, variables",
        "variables",
        "def main():\n    net = tf.keras.Sequential([base, head])\n    phase(net, net.trainable_variables)\nmain()",
    )
    assert "[*variables, *opt.variables(), *model.variables]" in text
