"""K3, G4: what a model's own metrics say, unlike `logs`, is of a rank's own rows: ranks decide by the mean."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

CALLBACK = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")


class Watch(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        value = {value}
        if value < 1.1:
            {done}


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=["mae"])
model.fit(x, y, epochs=9, callbacks=[Watch()])
"""
DONE = ("self.model.stop_training = True", "self.model.optimizer.learning_rate = 1e-4")


@pytest.mark.parametrize("done", DONE)
@pytest.mark.parametrize(
    "value",
    [
        "float(self.model.metrics[0].result())",
        'float(self.model.get_metrics_result()["mae"])',
        "self.model.mean.result().numpy()",
    ],
)
def test_ranks_decide_by_the_mean(value: str, done: str) -> None:
    """One rank stopped, and the others waited for it; or each went on at a rate of its own, in silence."""
    text = plan_of(CALLBACK.format(value=value, done=done)).text
    assert "mean_over_ranks(" in text.split("class Watch")[1]


@pytest.mark.parametrize("value", ['logs["mae"]', "future.result()"])
def test_what_is_averaged_or_no_metric_stays(value: str) -> None:
    text = plan_of(CALLBACK.format(value=value, done=DONE[0])).text
    assert f"value = {value}\n" in text
    assert "mean_over_ranks" not in text


def test_a_loop_of_ones_own_too() -> None:
    text = plan_of("""\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=["mae"])
for epoch in range(20):
    for i in range(0, 400, 16):
        model.train_on_batch(x[i : i + 16], y[i : i + 16])
    found = model.get_metrics_result()
    model.reset_metrics()
    if found["mae"] < 0.1:
        break
""").text
    assert 'if mean_over_ranks(found["mae"]) < 0.1:' in text
