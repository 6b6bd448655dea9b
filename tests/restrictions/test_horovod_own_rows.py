"""What a rank finds out from its own part of the rows, and the others must have alike."""

from __future__ import annotations

import pytest

from horovodize.restrictions.violation import Severity

from .helpers import changed, violations

FIT = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
x, y = load()
BEFORE = 0
x, y = x[hvd.rank()::hvd.size()], y[hvd.rank()::hvd.size()]
AFTER = 0
model = tf.keras.Sequential([tf.keras.layers.Dense(UNITS)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, steps_per_epoch=100 // hvd.size(), callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""
SCALER = "from sklearn.preprocessing import StandardScaler\n"


def found(before: str = "", after: str = "", units: str = "4") -> list[Severity]:
    text = changed(FIT, ("BEFORE = 0", before), ("AFTER = 0", after), ("UNITS", units))
    return [v.severity for v in violations(text, "HVD333")]


@pytest.mark.parametrize(
    "units", ["len(set(y))", "len(np.unique(y))", "int(np.max(y)) + 1", "y.max() + 1", "len({*y})"]
)
def test_a_model_is_not_as_wide_as_the_rows_of_one_rank_say(units: str) -> None:
    assert found("", f"n = {units}", "n") == found("", "", units) == [Severity.WARNING]
    assert not found(f"n = {units}", "", "n")  # of all rows
    assert not found("", f"n = hvd.broadcast_object({units}, root_rank=0)", "n")
    assert not found("", f"print({units})")


@pytest.mark.parametrize("units", ["x.shape[1]", "len(y[0])", "y.shape[-1]", "len(x)"])
def test_how_wide_rows_are_is_the_same_on_all_ranks(units: str) -> None:
    assert not found("", "", units)


@pytest.mark.parametrize(
    "made",
    [
        "words = tf.keras.preprocessing.text.Tokenizer()\nwords.fit_on_texts(x)",
        "words = tf.keras.layers.TextVectorization()\nwords.adapt(x)",
        "from sklearn.preprocessing import LabelEncoder\ny = LabelEncoder().fit_transform(y)",
        "numbers = {word: i for i, word in enumerate(sorted(set(y)))}",
    ],
)
def test_words_and_labels_are_numbered_by_all_rows(made: str) -> None:
    assert found("", made) == [Severity.WARNING]
    assert not found(made)
    assert not found("", f"{made}\nhvd.broadcast_object(None, root_rank=0)")


@pytest.mark.parametrize(
    "scaled",
    [
        "mean, deviation = x.mean(axis=0), x.std(axis=0)\nx = (x - mean) / deviation",
        "x -= np.mean(x)",
        "x = (x - x.min()) / 2",
        f"{SCALER}x = StandardScaler().fit_transform(x)",
        "scale = tf.keras.layers.Normalization()\nscale.adapt(x)",
    ],
)
def test_rows_are_scaled_by_all_rows(scaled: str) -> None:
    assert found("", scaled) == [Severity.INFORMATION]
    assert not found(scaled)
    assert not found("", f"{scaled}\nhvd.allreduce(0.0)")


@pytest.mark.parametrize(
    "scaled",
    [
        "x = x - x.mean(axis=1, keepdims=True)",
        "from sklearn.preprocessing import Normalizer\nx = Normalizer().fit_transform(x)",
        "print(x.mean(), x.std())",
        "accuracy = 1 - np.mean(y)",
        "x = x / 255.0",
        "for batch in x:\n    show(batch - batch.mean())",
    ],
)
def test_each_row_may_be_scaled_by_itself(scaled: str) -> None:
    assert not found("", scaled)


def test_draws_of_a_rank_have_about_the_same_mean() -> None:
    assert not found("np.random.seed(1 + hvd.rank())\nx = np.random.rand(9, 4)\nx = x - x.mean()")
