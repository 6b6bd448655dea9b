"""HVD333: what tells a layer its size, and what only prints, joins or has another order on each rank."""

from __future__ import annotations

import pytest

from .helpers import codes

TEXT = """\
import random
import uuid
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
MADE
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("made", "apart"),
    [
        ("units = random.choice([8, 16])\nmodel = network([tf.keras.layers.Dense(units)])", True),
        (
            "units = tf.compat.v1.Print(random.choice([8, 16]), [x])\nmodel = network([tf.keras.layers.Dense(units)])",
            True,
        ),
        (
            "units = tf.compat.v1.Print(8, [x], message=str(uuid.uuid4()))\nmodel = network([tf.keras.layers.Dense(units)])",
            False,
        ),
        ("units = len(list({'a', 'b'}))\nmodel = network([tf.keras.layers.Dense(units)])", False),
        (
            "words = list(set(read('words.txt').split()))\nsettings = Settings(words)\n"
            "model = network([tf.keras.layers.Dense(settings.units)])",
            False,
        ),
        ("noise = tf.random.normal([8])\nmodel = network(tf.keras.layers.add([rows, noise]))", False),
    ],
)
def test_sizes_of_layers(made: str, apart: bool) -> None:
    assert ("HVD333" in codes(TEXT.replace("MADE", made))) == apart
