"""K4, D1 and D2: what `fit` may do without stays None where it is."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
class Batches(tf.keras.utils.Sequence):
    def __len__(self):
        return 9
    def __getitem__(self, i):
        return np.zeros(2), np.zeros(2)
def draw(n):
    for i in range(n):
        yield np.load(f'{i}.npy')
def text(path):
    return tf.data.TextLineDataset(path).batch(8)
"""
TRAIN = """\
def train(valid=None, weights=None):
    check = {start}
    if valid is not None:
        check = {made}
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile('sgd', 'mse')
    model.fit(Batches(), steps_per_epoch=200, validation_data=check, validation_steps=400)
"""


@pytest.mark.parametrize("made", ["Batches()", "text(valid)"])
def test_what_is_never_none_is_divided(made: str) -> None:
    text = plan_of(HEAD + TRAIN.format(start="Batches()", made=made)).text
    assert "is not None else None" not in text
    assert "validation_data=ShardedSequence(check)" in text or "validation_data=shard_stream(check)" in text


@pytest.mark.parametrize(
    ("made", "helper"),
    [("Batches()", "ShardedSequence"), ("text(valid)", "shard_stream"), ("iter(draw(9))", None)],
)
def test_validation_data_that_may_be_none_stays_none(made: str, helper: str | None) -> None:
    text = plan_of(HEAD + TRAIN.format(start="None", made=made)).text
    whole = f"{helper}(check) if check is not None else None" if helper else "check"
    assert f"validation_data={whole}, " in text


def test_weights_that_may_be_none_stay_none() -> None:
    fit = """\
def train(x, y, weights=None):
    if len(x) > 9:
        w = None
    else:
        w = np.ones(len(x))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile('sgd', 'mse')
    model.fit(x, y, sample_weight=w)
train(np.load('x.npy'), np.load('y.npy'))
"""
    text = plan_of(HEAD + fit).text
    assert "model.fit(x[share], y[share], sample_weight=w[share] if w is not None else None" in text
