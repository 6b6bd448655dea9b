"""A step that is a method of an object, called under a name of its own: its model is said where it is called."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document
from horovodize.summary import summarize

TEXT = """\
import numpy as np
import tensorflow as tf
x, y = np.ones((512, 5), "float32"), np.ones((512, 1), "float32")
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).batch(16)
class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        {made}
    def train_step(self, a, b):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((b - self.model(a, training=True)) ** 2)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    def fit(self, epochs):
        {begin}
        for epoch in range(epochs):
            for a, b in train:
                {step}
class Runner:
    def __init__(self, trainer):
        self.trainer = trainer
        self.step = tf.function({of}.train_step)
    def run(self):
        for a, b in train:
            self.step(a, b)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
trainer = Trainer(model, tf.keras.optimizers.Adam(0.01))
"""
FIT = "trainer.fit(3)\n"
RUN = "Runner(trainer).run()\n"
PLAIN = """\
step = tf.function(trainer.train_step)
for epoch in range(3):
    for a, b in train:
        step(a, b)
"""


def plan_of(
    end: str, made: str = "pass", begin: str = "pass", step: str = "pass", of: str = "trainer"
) -> Plan | Refusal | Unchanged:
    return distribute(summarize(Document(TEXT.format(made=made, begin=begin, step=step, of=of) + end)))


@pytest.mark.parametrize(
    ("made", "begin", "step"),
    [
        ("pass", "step = tf.function(self.train_step)", "step(a, b)"),
        ("pass", "step = tf.function(self.train_step, reduce_retracing=True)", "step(a, b)"),
        ("pass", "step = self.train_step", "step(a, b)"),
        ("pass", "step = tf.function(self.train_step) if epochs > 1 else self.train_step", "step(a, b)"),
        ("self.step = tf.function(self.train_step)", "pass", "self.step(a, b)"),
    ],
)
def test_the_object_of_a_method(made: str, begin: str, step: str) -> None:
    """Such a step was refused: no name for its model was seen."""
    plan = plan_of(FIT, made, begin, step)
    assert isinstance(plan, Plan)
    assert "*self.model.variables" in plan.text or "(self.model.variables" in plan.text


def test_of_an_object_with_a_name_in_the_module() -> None:
    plan = plan_of(PLAIN)
    assert isinstance(plan, Plan)
    assert "trainer.model.variables" in plan.text


def test_of_another_object_that_a_field_holds() -> None:
    """`self.model` was written, which a runner doesn't have."""
    plan = plan_of(RUN, of="self.trainer")
    assert isinstance(plan, Plan)
    assert "self.trainer.model.variables" in plan.text


def test_one_that_has_no_name_there_is_refused() -> None:
    assert not isinstance(plan_of(RUN), Plan)
