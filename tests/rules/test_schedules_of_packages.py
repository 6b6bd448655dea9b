"""Schedules of other packages' classes in compiled models: `SGD(CyclicRate(1e-4, 1e-2, 2000))`."""

from __future__ import annotations

import pytest

from .pairs import TF, plan_of, refused

RATE = "AllRanksSchedule(CyclicRate(1e-4, 1e-2, 2000))"
SCRIPT = (
    TF
    + """\
from rates import CyclicRate
{made}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile({given}, "mse")
model.fit(x, y, epochs=2)
"""
)


def text_of(given: str, made: str = "", more: str = "") -> str:
    return plan_of(SCRIPT.format(given=given, made=made) + more).text


@pytest.mark.parametrize(
    ("made", "given", "wrapped"),
    [
        (
            "",
            "tf.keras.optimizers.SGD(CyclicRate(1e-4, 1e-2, 2000))",
            f"model.compile(distributed_as_made(tf.keras.optimizers.SGD({RATE})),",
        ),
        (
            "rate = CyclicRate(1e-4, 1e-2, 2000)",
            "tf.keras.optimizers.SGD(learning_rate=rate)",
            "model.compile(distributed_as_made(tf.keras.optimizers.SGD(learning_rate=AllRanksSchedule(rate))),",
        ),
        (
            "opt = tf.keras.optimizers.SGD(CyclicRate(1e-4, 1e-2, 2000))",
            "opt",
            f"opt = distributed_as_made(tf.keras.optimizers.SGD({RATE}))\n",
        ),
    ],
)
def test_the_schedule_itself_is_handed_on(made: str, given: str, wrapped: str) -> None:
    text = text_of(given, made)
    assert wrapped in text
    schedule = text[text.index("class AllRanksSchedule") : text.index("model = ")]
    assert "    def get_config(self):\n        return {}\n" in schedule


@pytest.mark.parametrize(
    "given",
    [
        "tf.keras.optimizers.SGD(0.1)",
        "tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1000, 0.9))",
    ],
)
def test_what_can_be_rebuilt_is_left_to_horovod(given: str) -> None:
    assert "distributed_as_made" not in text_of(given)


@pytest.mark.parametrize(
    "more",
    [
        'model.save("model.h5")\n',
        'tf.keras.models.save_model(model, "model")\n',
        'model.fit(x, y, callbacks=[tf.keras.callbacks.ModelCheckpoint("model.h5")])\n',
    ],
)
def test_a_saved_model_could_not_be_loaded(more: str) -> None:
    given = "tf.keras.optimizers.SGD(CyclicRate(1e-4, 1e-2, 2000))"
    refused(SCRIPT.format(given=given, made="") + more, "HVD006", "a saved model is loaded with its schedule")
