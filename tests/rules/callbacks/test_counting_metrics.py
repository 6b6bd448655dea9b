"""K3: metrics that count rows, of which an epoch's logs give the mean over the ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf

METRICS = [tf.keras.metrics.TruePositives(name="tp"), tf.keras.metrics.Precision()]
x, y = np.load("x.npy"), np.load("y.npy")
unused = tf.keras.metrics.FalsePositives()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics={metrics})
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ("METRICS", 1),
        ("[tf.keras.metrics.FalseNegatives(), tf.keras.metrics.TrueNegatives(), 'accuracy']", 2),
        ("['accuracy', tf.keras.metrics.Recall()]", 0),
    ],
)
def test_counts_are_told_from_means(metrics: str, said: int) -> None:
    notes = [n for n in plan_of(SOURCE.format(metrics=metrics)).notes if "counts rows" in n.message]
    assert len(notes) == said
