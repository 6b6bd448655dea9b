"""K3: callbacks of the user's own that draw new weights in the middle of training."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x = np.load('x.npy')
{before}
class Own(tf.keras.callbacks.Callback):
    def {method}(self, n, logs=None):
{body}
model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
model.compile('adam', 'mse')
model.fit(x, x, batch_size=10, epochs=30, callbacks=[Own()])
"""
JITTER = "self.model.set_weights([w + np.random.normal(0, 0.01, w.shape) for w in self.model.get_weights()])"
LAYERS = "for layer in self.model.layers:\n    layer.kernel.assign({}(layer.kernel.shape))"


def asked(body: str, method: str = "on_epoch_end", before: str = "") -> list[str]:
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    plan = plan_of(HEAD.format(before=before, method=method, body=indented))
    found = [c for c in changes(plan, "K3") if c.what == "Send rank 0's weights after new ones are drawn"]
    assert all(not c.sure for c in found)
    return [plan.document.text[c.span.start : c.span.end] for c in found]


@pytest.mark.parametrize(
    ("body", "method", "before"),
    [
        (JITTER, "on_train_begin", ""),  # rank 0's are sent after that
        (JITTER, "on_epoch_end", "np.random.seed(3)"),
        ("self.model.set_weights([w * 0.9 for w in self.model.get_weights()])", "on_epoch_end", ""),
        ("self.model.set_weights(np.load('w.npy', allow_pickle=True))", "on_epoch_end", ""),
        ("self.noise.assign(np.random.normal(size=3))", "on_epoch_end", ""),  # no weights
        (LAYERS.format("tf.keras.initializers.Zeros()"), "on_epoch_end", ""),
        (LAYERS.format("tf.keras.initializers.GlorotUniform(seed=1)"), "on_epoch_end", ""),
        ("print(np.random.normal())", "on_epoch_end", ""),
    ],
)
def test_weights_that_are_the_same_are_left(body: str, method: str, before: str) -> None:
    assert asked(body, method, before) == []


@pytest.mark.parametrize(
    ("body", "method", "before"),
    [
        (JITTER, "on_epoch_begin", ""),
        (LAYERS.format("layer.kernel_initializer"), "on_epoch_end", ""),
        (LAYERS.format("tf.keras.initializers.GlorotUniform()"), "on_epoch_end", ""),
        (
            "for w in self.model.weights:\n    w.assign_add(noise(w))",
            "on_train_batch_end",
            "def noise(w):\n    return tf.random.normal(w.shape)",
        ),
        (
            "w = np.random.rand(8)\nfor v in self.model.weights:\n    tf.keras.backend.set_value(v, w)",
            "on_epoch_end",
            "",
        ),
    ],
)
def test_weights_that_each_rank_draws_are_asked(body: str, method: str, before: str) -> None:
    assert len(asked(body, method, before)) == 1


def test_weights_of_a_new_network_are_asked_about() -> None:
    build = "def build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(8)])\n"
    body = "self.model.set_weights(build().get_weights())"
    assert asked(body, before=build) == [body]
    assert asked("self.model.set_weights(tf.keras.models.clone_model(self.model).get_weights())")
