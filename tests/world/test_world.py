"""Which Keras a script trains with: what it proves itself, the setting, what is around it, in this order."""

from __future__ import annotations

import pytest

from horovodize.options import Options
from horovodize.source import Document
from horovodize.summary import summarize
from horovodize.world.versions import Versions
from horovodize.world.world import Keras, World, world_of

FIT = "model = {keras}.Sequential([])\nmodel.compile('sgd')\nmodel.fit(x)\n"
TF = "import tensorflow as tf\n"
OF_TF = TF + FIT.format(keras="tf.keras")
STANDALONE = "import keras\n" + FIT.format(keras="keras")
LEGACY = 'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n'


def world(source: str, tensorflow: str = "", around: Versions | None = None) -> World:
    return world_of(summarize(Document(source)), Options(tensorflow=tensorflow, around=around or Versions()))


def file(tensorflow: str = "", keras: str = "") -> Versions:
    return Versions(tensorflow, keras, "requirements.txt")


@pytest.mark.parametrize(
    ("source", "tensorflow", "around", "expected"),
    [
        (OF_TF, "", file(), Keras.UNKNOWN),
        (OF_TF, "2.15", file(), Keras.TWO),
        (OF_TF, "2.16", file(), Keras.THREE),
        (OF_TF, "", file("2.15.1"), Keras.TWO),
        (OF_TF, "", file(">=2.16"), Keras.THREE),
        (OF_TF, "", file(">=2.4"), Keras.UNKNOWN),
        (OF_TF, "2.15", file("2.18.0"), Keras.TWO),  # the setting comes first
        (OF_TF, "", file("2.15.1", "3.6.0"), Keras.TWO),  # that Keras is not `tf.keras`
        (OF_TF, "", file("", "3.6.0"), Keras.UNKNOWN),
        (STANDALONE, "", file(), Keras.UNKNOWN),
        (STANDALONE, "", file("", "3.6.0"), Keras.THREE),
        (STANDALONE, "", file("2.15.1", "3.6.0"), Keras.THREE),
        (STANDALONE, "", file("2.15.1"), Keras.TWO),
        (STANDALONE, "", file("", "<3"), Keras.TWO),
        # what a script shows
        (STANDALONE + "print(keras.ops.sum(x))\n", "", file(), Keras.THREE),
        ("from keras import ops\n" + STANDALONE, "", file("", "<3"), Keras.THREE),
        (STANDALONE + "keras.config.set_dtype_policy('mixed_float16')\n", "", file(), Keras.THREE),
        (STANDALONE + "from numpy import random\nkeras = random.rand()\n", "", file(), Keras.UNKNOWN),
        # scripts for several versions have old names behind a condition
        (OF_TF + "o = tf.keras.optimizers.legacy.SGD() if old else 'sgd'\n", "", file(), Keras.UNKNOWN),
        (OF_TF + "s = tf.Session() if old else None\n", "", file(), Keras.UNKNOWN),
        # legacy Keras
        (LEGACY + OF_TF, "", file(), Keras.LEGACY),
        (LEGACY + OF_TF, "2.17", file(), Keras.LEGACY),
        (LEGACY + OF_TF, "2.15", file(), Keras.TWO),
        (LEGACY.replace('"1"', '"0"') + OF_TF, "2.17", file(), Keras.THREE),
        (TF + LEGACY + OF_TF, "2.17", file(), Keras.THREE),  # too late
        (LEGACY + STANDALONE, "2.17", file(), Keras.THREE),  # it is about `tf.keras`
        (LEGACY.replace('["TF_USE_LEGACY_KERAS"] =', '.setdefault("TF_USE_LEGACY_KERAS",').replace('"1"', '"1")') + OF_TF,
         "2.17", file(), Keras.LEGACY),
    ],
)  # fmt: skip
def test_the_keras_of_a_script(source: str, tensorflow: str, around: Versions, expected: Keras) -> None:
    assert world(source, tensorflow, around).keras is expected


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (world(OF_TF), "versions of TensorFlow and Keras unknown"),
        (world(OF_TF, "2.17"), "TensorFlow 2.17, Keras 3 (the setting `tensorflow`)"),
        (world(OF_TF, "", file(">=2.4")), "TensorFlow >=2.4, Keras unknown (requirements.txt)"),
        (world(LEGACY + OF_TF), "TensorFlow unknown, legacy Keras (tf_keras) (the script sets TF_USE_LEGACY_KERAS)"),
        (world(LEGACY + OF_TF, "2.17"),
         "TensorFlow 2.17 (the setting `tensorflow`), legacy Keras (tf_keras) (the script sets TF_USE_LEGACY_KERAS)"),
    ],
)  # fmt: skip
def test_what_is_said_of_it(found: World, text: str) -> None:
    assert found.text == text


def test_a_text_that_does_not_parse_has_a_world() -> None:
    assert world("import (", "2.17").keras is Keras.THREE


def test_of_several_names_the_first_in_the_alphabet_is_told() -> None:
    """Each run tells the same."""
    used = "keras.random.normal((2,))\nkeras.ops.sum(x)\nkeras.config.epsilon()\nkeras.ops.mean(x)\n"
    assert (
        world(STANDALONE + used).text
        == "TensorFlow unknown, Keras 3 (the script uses `keras.config.epsilon`)"
    )
