"""G5: what comes when a list that gets an item with each step has a few, and empties it: every few steps."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, plan_of

LOGGER = """\
model.compile(o.SGD(0.01), "mse")
class Logger(tf.keras.callbacks.Callback):
    def __init__(self, every):
        super().__init__()
        self.every, self.losses = every, []
    def on_train_batch_end(self, batch, logs=None):
        {add}
        if {test}:
            print(sum(self.losses))
            {then}
model.fit(x, y, epochs=3, callbacks=[Logger({every})])
"""
ADD = "self.losses.append(logs['loss'])"
LOOP = """\
losses = []
for i in range(320):
    losses.append(model.train_on_batch(x[i * 16:i * 16 + 16], y[i * 16:i * 16 + 16]))
    if len(losses) == 8:
        print(sum(losses) / len(losses))
        {}
"""


def logged(test: str, add: str = ADD, then: str = "self.losses = []", every: str = "16") -> str:
    return plan_of(MODEL + LOGGER.format(add=add, test=test, then=then, every=every)).text


@pytest.mark.parametrize("every", ["16", "5", "100"])
@pytest.mark.parametrize("operator", ["==", ">="])
@pytest.mark.parametrize("then", ["self.losses = []", "self.losses.clear()"])
def test_it_comes_as_often_for_the_rows_that_are_seen(operator: str, then: str, every: str) -> None:
    """With a few of them it came size() times less often."""
    text = logged(f"len(self.losses) {operator} self.every", then=then, every=every)
    assert f"if len(self.losses) {operator} max(1, self.every // hvd.size()):" in text


def test_also_in_a_loop_of_the_program() -> None:
    text = plan_of(MODEL + 'model.compile(o.SGD(0.01), "mse")\n' + LOOP.format("losses = []")).text
    assert "if len(losses) == max(1, 8 // hvd.size()):" in text


@pytest.mark.parametrize(
    ("test", "add", "then"),
    [
        ("len(self.losses) == self.every", ADD, "pass"),  # a look at the first of them
        ("len(self.losses) == self.every", "if batch == 0: " + ADD, "self.losses = []"),  # one an epoch
        ("len(self.losses) == self.every", "self.losses += [1.0, 2.0]", "self.losses = []"),
        ("len(logs) == self.every", ADD, "self.losses = []"),
    ],
)
def test_near_misses(test: str, add: str, then: str) -> None:
    assert f"if {test}" in logged(test, add, then)


def test_what_is_trained_on_when_it_is_full_stays_a_batch() -> None:
    loop = """\
rows, targets = [], []
for i in range(3200):
    rows.append(x[i])
    targets.append(y[i])
    if len(rows) == 8:
        model.train_on_batch(np.array(rows), np.array(targets))
        rows, targets = [], []
"""
    text = plan_of("import numpy as np\n" + MODEL + 'model.compile(o.SGD(0.01), "mse")\n' + loop).text
    assert "if len(rows) == 8:" in text
