"""`verify` of how far, on which rows and at which rates ranks train: right ones first, that look like the broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.verifying.verdict import verify
from tests.verifying.warm import WarmTrainer

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

ALONE = "size, rank, averaged, agreed = 1, 0, lambda tape: tape, float"
ON_RANKS = """\
import horovod.tensorflow as hvd
hvd.init()
size, rank, averaged, agreed = hvd.size(), hvd.rank(), hvd.DistributedGradientTape, hvd.allreduce"""
FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
{place}
tf.disable_v2_behavior()
data = np.random.RandomState(0).normal(size=(480, 4)).astype("float32")
x = tf.placeholder(tf.float32, [None, 4])
rate = tf.constant(0.001)
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - 1.0))
train = averaged(tf.train.GradientDescentOptimizer(rate * size if size > 1 else rate)).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    if size > 1:
        sess.run(hvd.broadcast_global_variables(0))
    for step in range(80 // size):
        at = (step * size + rank) * 16 % 480
        sess.run(train, {{x: data[at : at + 16], rate: {rate}}})
"""


@pytest.mark.parametrize(("rate", "alike"), [("0.02", True), ("0.02 / size", False)])
def test_a_rate_that_is_a_constant_and_fed(rate: str, alike: bool, tmp_path: Path) -> None:
    places = ALONE, ON_RANKS.replace("GradientTape", "Optimizer")
    before, after = (FED.format(place=place, rate=rate) for place in places)
    found = verify("train.py", WarmTrainer(before, after, tmp_path, {}), [2], seeds=1)
    assert found.alike == alike, found.as_json()
    assert alike or "the rate starts at 0.02, 1 times that alone" in found.judged[0].conclusion
