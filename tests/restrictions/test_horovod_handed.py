"""HVD333: functions that take a rank's part, where calls are handed them or not; and draws that a table is made with."""

from __future__ import annotations

import pytest

from .helpers import codes

SHARED = """\
import random
import numpy as np, tensorflow as tf, horovod.tensorflow.keras as hvd

hvd.init()
tf.config.set_visible_devices([], "GPU")
x, y = np.array(["a", "b"] * 100), np.ones(200)


def shard_dataset(rows):
    return rows.shard(hvd.size(), hvd.rank())


def dataset(share=lambda rows: rows):
    return share(tf.data.Dataset.from_tensor_slices((x, y))).batch(16)


look = tf.keras.layers.StringLookup()
look.adapt({adapted})
settings = {settings}
model = tf.keras.Sequential([look, tf.keras.layers.Embedding(4, 2), tf.keras.layers.Dense(1)])
rate = settings["rate"] * hvd.size()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(dataset(share=shard_dataset), steps_per_epoch=3, callbacks=callbacks, verbose=hvd.rank() == 0)
"""


@pytest.mark.parametrize(
    ("adapted", "drifts"),
    [
        ("dataset(share=shard_dataset).map(lambda a, b: a)", True),
        ("dataset(shard_dataset).map(lambda a, b: a)", True),
        ("dataset().map(lambda a, b: a)", False),
        ("x", False),
    ],
)
def test_a_vocabulary_of_what_a_call_takes_as_a_whole_is_the_same(adapted: str, drifts: bool) -> None:
    found = codes(SHARED.format(adapted=adapted, settings="{'rate': 0.1}"))
    assert ("HVD333" in found) is drifts


@pytest.mark.parametrize(
    ("settings", "drifts"),
    [
        ("dict(rate=random.choice([0.1, 0.2]))", True),
        ("dict(rate=hvd.broadcast_object(random.choice([0.1, 0.2])))", False),
        ("{'rate': hvd.broadcast_object(random.choice([0.1, 0.2]))}", False),
    ],
)
def test_a_rate_of_a_table_that_rank_0_tells_is_the_same(settings: str, drifts: bool) -> None:
    found = codes(SHARED.format(adapted="x", settings=settings))
    assert ("HVD333" in found) is drifts
