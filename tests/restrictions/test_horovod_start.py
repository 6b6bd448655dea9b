"""What gives all ranks the same weights, and what only seems to."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


FIT = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
SEED
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y)
"""
SET = "tf.keras.utils.set_random_seed(1)"


@pytest.mark.parametrize(
    ("seed", "alike"),
    [
        (SET, True),
        (f"if hvd.rank() == 0:\n    {SET}", False),
        (f"if hvd.rank() == 0:\n    {SET}\nelse:\n    tf.keras.utils.set_random_seed(2)", False),
        (f"if hvd.rank() == 0:\n    print(1)\n    {SET}\nelse:\n    {SET}", True),
        (f"if hvd.size() > 1:\n    {SET}", True),
    ],
)
def test_a_seed_that_some_ranks_set(seed: str, alike: bool) -> None:
    assert ("HVD306" not in codes(FIT.replace("SEED", seed))) == alike
