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


ESTIMATOR = """\
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from reading import network, rows


def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(network(features))
    optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size()))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()))


def hooks():
    first = hvd.BroadcastGlobalVariablesHook(0)
    return GIVEN


hvd.init()
seed = 42
np.random.seed(seed)
SEED
estimator = tf.estimator.Estimator(model_fn, model_dir="out" if hvd.rank() == 0 else None)
estimator.train(rows, hooks=hooks(), steps=100 // hvd.size())
"""


@pytest.mark.parametrize(
    ("given", "seed", "alike"),
    [
        ("[]", "", False),
        ("[first]", "", True),
        ("[]", "tf.set_random_seed(1)", True),
        ("[]", "import keras", True),
    ],
)
def test_numpy_seeds_no_weights_of_a_graph(given: str, seed: str, alike: bool) -> None:
    assert ("HVD306" not in codes(ESTIMATOR.replace("GIVEN", given).replace("SEED", seed))) == alike
