"""K3: metrics that `fit` averages over the ranks, written as JSON."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import json
import tensorflow as tf
class Log(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print({logged})
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
h = model.fit(x, y, callbacks=[Log()])
"""


def written(line: str, logged: str = "epoch") -> str:
    return plan_of(HEAD.replace("{logged}", logged) + line + "\n").text


@pytest.mark.parametrize(
    "line",
    [
        "text = json.dumps({'rate': 0.1, 'layers': 3})",  # a configuration
        "text = json.dumps(model.evaluate(x, y))",  # Python's own
        "text = json.dumps({k: [float(i) for i in v] for k, v in h.history.items()})",  # made floats already
        "losses = [str(loss) for loss in h.history['loss']]\ntext = json.dumps(losses)",
        "text = json.dumps(h.history, default=str)",
        "text = json.dumps(h.history, cls=Encoder)",
        "text = repr(h.history)",
        "text = other.dumps(h.history)",
    ],
)
def test_what_json_knows(line: str) -> None:
    assert "default=float" not in written(line)


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("text = json.dumps(h.history)", "text = json.dumps(h.history, default=float)"),
        (
            "text = json.dumps(h.history['loss'], indent=2)",
            "json.dumps(h.history['loss'], indent=2, default=float)",
        ),
        (
            "best = min(h.history['loss'])\nfound = []\nfound.append({'loss': best})\ntext = json.dumps(found)",
            "text = json.dumps(found, default=float)",
        ),
    ],
)
def test_what_fit_returns(line: str, after: str) -> None:
    assert after in written(line)


def test_the_logs_of_a_callback() -> None:
    text = written("", logged="json.dumps({'epoch': epoch, **logs})")
    assert "json.dumps({'epoch': epoch, **logs}, default=float)" in text
    assert "default=float" not in written("", logged="json.dumps({'epoch': epoch})")
