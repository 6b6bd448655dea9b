"""TensorFlow Model Optimization prunes by the optimizer's steps: a rank takes 1/size() of them (G5).

Trained by hand with its 0.7.5: one rank gives the weights of the script alone, two those of twice the batch."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

SCRIPT = (
    TF
    + """\
import tensorflow_model_optimization as tfmot
steps = compute()
model = tfmot.sparsity.keras.prune_low_magnitude(model, pruning_schedule=tfmot.sparsity.keras.{schedule})
model.compile("adam", "mse")
model.fit({fed}, callbacks=[tfmot.sparsity.keras.UpdatePruningStep(), tfmot.sparsity.keras.PruningSummaries("logs")])
"""
)


def text_of(schedule: str, fed: str = "x, y", **options: bool) -> str:
    return plan_of(SCRIPT.format(schedule=schedule, fed=fed), **options).text


@pytest.mark.parametrize(
    ("schedule", "divided"),
    [
        (
            "PolynomialDecay(0.5, 0.8, begin_step=0, end_step=2000, frequency=200)",
            "PolynomialDecay(0.5, 0.8, begin_step=0, end_step=2000 // hvd.size(), "
            "frequency=max(1, 200 // hvd.size()))",
        ),
        (
            "PolynomialDecay(0.5, 0.8, 100, steps)",
            "PolynomialDecay(0.5, 0.8, 100 // hvd.size(), steps // hvd.size(), "
            "frequency=max(1, 100 // hvd.size()))",
        ),
        (
            "ConstantSparsity(0.5, begin_step=1000, end_step=-1, frequency=10)",
            "ConstantSparsity(0.5, begin_step=1000 // hvd.size(), end_step=-1, frequency=max(1, 10 // hvd.size()))",
        ),
    ],
)
def test_its_steps_are_those_of_a_rank(schedule: str, divided: str) -> None:
    text = text_of(schedule)
    assert f"pruning_schedule=tfmot.sparsity.keras.{divided})" in text
    summaries = '*([tfmot.sparsity.keras.PruningSummaries("logs")] if hvd.rank() == 0'
    assert f"tfmot.sparsity.keras.UpdatePruningStep(), {summaries}" in " ".join(text.split())


@pytest.mark.parametrize(
    "schedule",
    [
        "PolynomialDecay(0.5, 0.8, 0, 2000, frequency=200)",
        "ConstantSparsity(0.5, 1000)",
    ],
)
def test_steps_that_stay_as_many_are_left(schedule: str) -> None:
    assert f"pruning_schedule=tfmot.sparsity.keras.{schedule})" in text_of(schedule, split_data=False)


def test_the_schedule_of_a_rate_is_another() -> None:
    text = plan_of(
        TF
        + "rate = tf.keras.optimizers.schedules.PolynomialDecay(0.1, 2000, 0.01)\n"
        + "model.compile(tf.keras.optimizers.SGD(rate), 'mse')\nmodel.fit(x, y)\n"
    ).text
    assert "PolynomialDecay(0.1 * hvd.size(), 2000 / hvd.size(), 0.01 * hvd.size())" in text
