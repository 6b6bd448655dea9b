"""K3: callbacks that set weights or variables by what a rank measured itself."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
x = np.load('x.npy')
factor = tf.Variable(1.0, trainable=False)
class Own(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.best, self.weights, self.scale, self.bad = np.inf, None, 1.0, False
    def {hook}(self, n, logs=None):
{body}
    def on_epoch_end(self, epoch, logs=None):
        {later}
model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
model.compile('adam', 'mse')
model.fit(x, x, batch_size=10, epochs=30, callbacks=[Own()])
"""
BEST = "if logs['loss'] < self.best:\n    self.best, self.weights = logs['loss'], self.model.get_weights()"
SCALE = "self.scale = 0.9 * self.scale + 0.1 * logs['loss']"
SET = "self.model.set_weights(self.weights)"


def found(what: str, hook: str, body: str, later: str) -> list[str]:
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    plan = plan_of(HEAD.format(hook=hook, body=indented, later=later))
    asked = [c for c in changes(plan, "K3") if c.what == what]
    assert all(not c.sure for c in asked)
    return [plan.document.text[c.span.start : c.span.end] for c in asked]


@pytest.mark.parametrize(
    ("hook", "body", "later"),
    [
        ("on_test_end", BEST, SET),  # metrics of an epoch are averaged
        ("on_train_batch_end", SCALE, "print(self.scale)"),
        ("on_train_batch_end", "self.weights = self.model.get_weights()", SET),
        ("on_train_batch_end", "factor.assign_add(0.1)", "factor.assign(epoch / 30)"),
        ("on_train_batch_end", "pass", "if logs['loss'] < 1:\n            K.set_value(factor, logs['loss'])"),
    ],
)
def test_what_is_the_same_on_all_ranks_is_left(hook: str, body: str, later: str) -> None:
    assert found("Set the same on all ranks", hook, body, later) == []


@pytest.mark.parametrize(
    ("body", "later", "sets"),
    [
        (BEST, SET, SET),
        (SCALE, "factor.assign(self.scale)", "factor.assign(self.scale)"),
        (SCALE, "K.set_value(factor, self.scale)", "K.set_value(factor, self.scale)"),
        ("factor.assign(logs['loss'])", "pass", "factor.assign(logs['loss'])"),
        ("self.bad = logs['loss'] > 9", "if self.bad:\n            factor.assign(2.0)", "factor.assign(2.0)"),
    ],
)
def test_what_a_batch_decides_is_asked(body: str, later: str, sets: str) -> None:
    assert found("Set the same on all ranks", "on_train_batch_end", body, later) == [sets]


def test_what_is_set_under_a_test_of_a_batch_decides() -> None:
    body, later = (
        "if logs['loss'] > 9:\n    self.bad = True",
        "if self.bad:\n            self.model.stop_training = True",
    )
    assert found("Decide on all ranks together", "on_train_batch_end", body, later) == ["self.bad"]
    assert found("Decide on all ranks together", "on_test_end", body, later) == []


@pytest.mark.parametrize(
    "sets",
    [SET, "self.model.layers[0].kernel.assign(0.5 * self.model.layers[0].kernel)"],
)
def test_where_all_ranks_set_the_same_weights_they_decide_together(sets: str) -> None:
    """Weights that each epoch keeps are the same on all ranks."""
    body, later = f"if logs['loss'] > 9:\n    {sets}", "self.weights = self.model.get_weights()"
    assert found("Set the same on all ranks", "on_train_batch_end", body, later) == []
    assert found("Decide on all ranks together", "on_train_batch_end", body, later) == ["logs['loss'] > 9"]
    assert found("Decide on all ranks together", "on_test_end", body, later) == []
