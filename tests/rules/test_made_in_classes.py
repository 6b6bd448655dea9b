"""Optimizers and data that the body of a class makes: `class Trainer: optimizer = Adam(0.1)`."""

from __future__ import annotations

import pytest

from .pairs import TF, plan_of

PROGRAM = (
    TF
    + """\
class Trainer{base}:
    {made}
    def __init__(self, net):
        {init}
        self.net = net
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(x)))
        grads = tape.gradient(loss, self.net.trainable_variables)
        {used}.apply_gradients(zip(grads, self.net.trainable_variables))
trainer = Trainer(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(32):
    trainer.step(x)
"""
)
ELSEWHERE = "this optimizer is made in another file; its learning rate has to be multiplied by the number of ranks there"


def program(made: str, used: str, base: str = "") -> str:
    return PROGRAM.format(made=made, used=used, base=base, init="super().__init__()" if base else "pass")


@pytest.mark.parametrize(
    ("made", "used", "base"),
    [
        ("optimizer = tf.keras.optimizers.SGD(0.1)", "self.optimizer", ""),
        ("optimizer = tf.keras.optimizers.SGD(0.1)", "Trainer.optimizer", ""),
        ("opt: tf.keras.optimizers.Optimizer = tf.keras.optimizers.SGD(0.1)", "self.opt", ""),
        ("optimizer = tf.keras.optimizers.SGD(0.1)", "self.optimizer", "(tf.Module)"),
    ],
)
def test_the_rate_of_an_optimizer_that_a_class_makes_is_scaled(made: str, used: str, base: str) -> None:
    """It was taken for one that a model was compiled with elsewhere, and its rate stayed, without a word."""
    plan = plan_of(program(made, used, base))
    assert "SGD(0.1 * hvd.size())" in plan.text
    assert not plan.to_confirm


def test_what_an_object_is_given_comes_first() -> None:
    source = program("optimizer = None", "self.optimizer").replace(
        "pass\n", "self.optimizer = tf.keras.optimizers.SGD(0.2)\n"
    )
    assert "SGD(0.2 * hvd.size())" in plan_of(source).text


def test_an_optimizer_of_no_model_of_this_file_is_asked_about() -> None:
    """`rate × size()` was said of it, and nothing scaled it."""
    plan = plan_of(program("pass", "self.optimizer", "(tf.keras.Model)"))
    assert [c.doubt for c in plan.to_confirm] == [ELSEWHERE]


def test_a_model_that_is_compiled_here_is_not() -> None:
    source = program("pass", "self.optimizer", "(tf.keras.Model)").replace(
        "for x in tf", "trainer.compile(tf.keras.optimizers.SGD(0.1))\nfor x in tf"
    )
    plan = plan_of(source)
    assert "SGD(0.1 * hvd.size())" in plan.text
    assert ELSEWHERE not in [c.doubt for c in plan.to_confirm]
