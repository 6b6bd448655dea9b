"""C4, C5, K1: optimizers that other packages make with their schedule, and those whose configuration leaves settings out."""

from __future__ import annotations

import ast

import pytest

from horovodize import catalogue

from ..pairs import doubts, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from official.nlp import optimization
from transformers import AdamWeightDecay, create_optimizer
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
{made}
model.compile(optimizer, "mse")
model.fit(x, y, batch_size=16, epochs=3)
"""


def test_of_the_model_garden() -> None:
    plan = plan_of(
        HEAD.format(made="optimizer = optimization.create_optimizer(3e-5, 1000, 100, 1e-7, 'adamw')")
    )
    made = "optimization.create_optimizer(3e-5 * hvd.size(), 1000 / hvd.size(), 100 / hvd.size(), 1e-7 * hvd.size(), 'adamw')"
    assert made in plan.text
    assert f"distributed_as_made({made})" in plan.text
    assert not [c for c in plan.changes if not c.sure]


def test_of_transformers_it_is_wrapped_where_it_is_used() -> None:
    made = "optimizer, schedule = create_optimizer(init_lr=3e-5, num_train_steps=1000, num_warmup_steps=0)"
    plan = plan_of(HEAD.format(made=made))
    assert "init_lr=3e-5 * hvd.size(), num_train_steps=1000 / hvd.size(), num_warmup_steps=0)" in plan.text
    assert 'model.compile(distributed_as_made(optimizer), "mse")' in plan.text
    assert not doubts(plan, "K1")


def test_an_optimizer_that_forgets_what_decays_is_made_whole_again() -> None:
    made = "optimizer = AdamWeightDecay(1e-4, weight_decay_rate=0.01, exclude_from_weight_decay=['bias'])"
    text = plan_of(HEAD.format(made=made)).text
    assert "AdamWeightDecay(1e-4 * hvd.size(), weight_decay_rate=0.01" in text
    assert "optimizer = distributed_as_made(optimizer)\n" in text


@pytest.mark.parametrize(
    "made",
    [
        "optimizer = tf.keras.optimizers.Adam(1e-4)",
        "optimizer = tf.keras.optimizers.experimental.AdamW(1e-4, weight_decay=0.01)",
    ],
)
def test_keras_own_are_wrapped_by_horovod_alone(made: str) -> None:
    """Near miss: their configuration says all."""
    text = plan_of(HEAD.format(made=made)).text
    assert "distributed_as_made" not in text
    assert "hvd.DistributedOptimizer(tf.keras" in text


def test_a_tape_wraps_nothing_but_itself() -> None:
    loop = """\
optimizer, schedule = create_optimizer(3e-5, 1000, 100)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
for a, b in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
    source = HEAD.partition("{made}")[0] + loop
    text = plan_of(source).text
    assert "create_optimizer(3e-5 * hvd.size(), 1000 / hvd.size(), 100 / hvd.size())" in text
    assert "DistributedOptimizer" not in text


def test_a_function_of_the_program_of_that_name_is_read() -> None:
    """Near miss: what `create_optimizer` of this file does is seen."""
    own = "def create_optimizer(rate):\n    return tf.keras.optimizers.SGD(rate)\noptimizer = create_optimizer(0.1)"
    text = plan_of(HEAD.format(made=own)).text
    assert "distributed_as_made" not in text


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("transformers.PushToHubCallback", "writes"),
        ("transformers.keras_callbacks.PushToHubCallback", "writes"),
        ("transformers.KerasMetricCallback", "neutral"),
    ],
)
def test_callbacks_of_transformers(name: str, role: str) -> None:
    assert catalogue.callback_role(name) == role


def test_the_helper_carries_over_what_is_left_out() -> None:
    """Run by itself: a wrapper that makes an optimizer anew from its configuration, as Horovod's does."""
    text = plan_of(HEAD.format(made="optimizer = optimization.create_optimizer(3e-5, 1000, 100)")).text
    helper = next(
        n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "distributed_as_made"
    )

    class Made:
        def __init__(self, learning_rate: object, decays: object = None) -> None:
            self.learning_rate, self.decays = learning_rate, decays

        def get_config(self) -> dict[str, object]:
            return {"learning_rate": str(self.learning_rate)}

    class Horovod:
        @staticmethod
        def DistributedOptimizer(made: Made) -> Made:
            return Made(**made.get_config())  # type: ignore[arg-type]

    names = {"hvd": Horovod}
    exec(compile(ast.Module([helper], []), "helper", "exec"), names)
    schedule = abs
    wrapped = names["distributed_as_made"](Made(schedule, ["bias"]))  # type: ignore[operator]
    assert wrapped.learning_rate is schedule
    assert wrapped.decays == ["bias"]
