"""What Keras 3 does not have, and what it has otherwise."""

from __future__ import annotations

import pytest

from horovodize.catalogue import default_rate, gone_in_keras_3, rate_in_keras_3

OPTIMIZERS = "tensorflow.keras.optimizers."


@pytest.mark.parametrize(
    ("written", "gone"),
    [
        ("keras.backend.mean", "keras.backend.mean"),
        ("tensorflow.keras.losses.mean_squared_error", "tensorflow.keras.losses.mean_squared_error"),
        ("tensorflow.losses.mean_squared_error", "tensorflow.keras.losses.mean_squared_error"),
        ("keras.layers.experimental.preprocessing.Rescaling", "keras.layers.experimental"),
        ("tensorflow.keras.preprocessing.image.ImageDataGenerator", None),
        ("keras.preprocessing.image.ImageDataGenerator", "keras.preprocessing.image.ImageDataGenerator"),
        ("tensorflow.keras.backend.mean", None),
        ("keras.losses.mean_squared_error", None),
        ("keras.backend.epsilon", None),
        ("keras.layers.Dense", None),
        ("keras.utils.np_utils.to_categorical", None),  # Keras 2.15 doesn't have it either
        ("tensorflow.optimizers.Adam", None),
        ("tf_keras.backend.mean", None),
        ("keras", None),
        ("", None),
    ],
)
def test_names_that_are_gone(written: str, gone: str | None) -> None:
    assert gone_in_keras_3(written) == gone


def test_lion_has_another_rate() -> None:
    assert default_rate(OPTIMIZERS + "Lion") == 0.0001
    assert rate_in_keras_3(OPTIMIZERS + "Lion", 0.0001) == 0.001


@pytest.mark.parametrize("name", [OPTIMIZERS + "Adam", OPTIMIZERS + "RMSprop", "mine.Lion"])
def test_others_have_the_same_rate(name: str) -> None:
    assert rate_in_keras_3(name, 0.5) == 0.5
