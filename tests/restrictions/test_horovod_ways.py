"""What is written on several ways: all ranks write it where one of them surely leads all ranks there."""

from __future__ import annotations

import pytest

from .helpers import codes

KEPT = """\
import argparse
import os
from pathlib import Path
import tensorflow as tf
import horovod.tensorflow as hvd
from reading import batches, network

parser = argparse.ArgumentParser()
parser.add_argument("--several", action="store_true")
args = parser.parse_args()
hvd.init()
model = network()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
folder = Path(os.getcwd()).joinpath("kept").as_posix()
manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model, optimizer=optimizer), folder, 3)


def keep():
    manager.save()


for number, x in enumerate(batches()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if hvd.rank() == 0:
        keep()
    AFTER
"""


@pytest.mark.parametrize(
    ("after", "by_all"),
    [
        ("keep()", True),
        ("if number % 100 == 0:\n        keep()", True),
        ("pass", False),
        (
            "if args.several:\n        if hvd.rank() == 0:\n            keep()\n    else:\n        keep()",
            False,
        ),
        ("if hvd.local_rank() == 0:\n        keep()", False),
    ],
)
def test_a_function_that_some_ranks_call_and_then_all(after: str, by_all: bool) -> None:
    assert ("HVD314" in codes(KEPT.replace("AFTER", after))) == by_all


def test_a_path_that_is_joined_is_one_path() -> None:
    text = KEPT.replace("AFTER", 'Path("a").joinpath(NAME).write_text(str(number))')
    assert "HVD314" in codes(text.replace("NAME", '"last"'))
    assert "HVD314" not in codes(text.replace("NAME", "str(hvd.rank())"))
