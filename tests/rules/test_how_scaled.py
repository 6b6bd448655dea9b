"""Which scaling a plan says it chose for each step, and why."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, StepScaling
from horovodize.source import Document
from horovodize.summary import summarize

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
