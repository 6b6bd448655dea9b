"""Which scaling a plan says it chose for each step, and why."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, StepScaling
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import plan_of

FIT = """import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(x_train, y_train, batch_size=32)
"""
TAPE = """import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.1)
for step in range(500):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x * w - y))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
"""
STATEFUL = FIT.replace("Dense(1)", "LSTM(1, stateful=True)")


def scalings(source: str, **options: object) -> list[StepScaling]:
    plan = distribute(summarize(Document(source)), Options(**options))  # type: ignore[arg-type]
    assert isinstance(plan, Plan), plan
    return list(plan.scalings)


def test_batches_are_weak() -> None:
    (fit,) = scalings(FIT)
    assert (fit.kind, fit.sure) == ("weak", True)
    assert (
        fit.sentence == "Weak scaling: each rank trains on batches of its own: rate × size(), steps ÷ size()"
    )
    assert FIT[fit.span.start :].startswith("model.fit(")


@pytest.mark.parametrize(("rate", "said"), [("sqrt", "rate × √size()"), ("keep", "rate stays")])
def test_the_rate_is_that_of_the_setting(rate: str, said: str) -> None:
    (fit,) = scalings(FIT, rate=rate)
    assert f": {said}, steps ÷ size()" in fit.why


def test_undivided_data_are_not_said_to_be_divided() -> None:
    (fit,) = scalings(FIT, split_data=False)
    assert fit.why == "each rank takes batches of all of the data: rate × size(), steps stay"


def test_all_rows_are_strong() -> None:
    (step,) = scalings(TAPE)
    assert (step.kind, step.sure) == ("strong", True)
    assert step.why == "every step sees all rows; each rank takes its share, rate and steps stay"


def test_a_loss_that_may_be_no_mean_is_to_confirm() -> None:
    (step,) = scalings(TAPE.replace("tf.reduce_mean", "mystery.of"))
    assert not step.sure
    assert step.sentence.endswith(" (to confirm)")


def test_what_stays_whole_is_not_scaled() -> None:
    (fit,) = scalings(STATEFUL)
    assert fit.sentence == "No scaling: every rank trains on all of it, so rate and steps stay"


BRANCHES = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
class Trainer:
    def __init__(self):
        self.opt = tf.keras.optimizers.Adam(0.001)
    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        def apply():
            self.opt.apply_gradients(zip(gradients, model.trainable_variables))
            return loss
        {}
trainer = Trainer()
for x in tf.data.Dataset.from_tensor_slices(a).batch(8):
    trainer.step(x)
"""


def test_the_object_of_a_method_is_known_in_a_function_within_it() -> None:
    assert "Adam(0.001 * hvd.size())" in plan_of(BRANCHES.format("return apply()")).text


def test_a_branch_by_a_ranks_own_loss_that_trains_is_refused() -> None:
    """Gradients are averaged before; applied on some ranks only, weights would part without a stall."""
    refusal = distribute(
        summarize(Document(BRANCHES.format("return tf.cond(tf.math.is_finite(loss), apply, lambda: loss)")))
    )
    assert isinstance(refusal, Refusal)
    assert any("no longer hold the same weights" in r.message for r in refusal.reasons)
    plan_of(BRANCHES.format("return tf.cond(self.opt.iterations > 3, apply, apply)"))
