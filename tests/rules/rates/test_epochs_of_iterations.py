"""C5, G5, G6: what goes by `optimizer.iterations // n` under `fit`: by the steps of all ranks, or by a rank's over its own."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, plan_of

FIT = """\
import numpy as np
x, y = np.load("x.npy"), np.load("y.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)
steps = len(x) // 16
w = tf.Variable(1.0, trainable=False)
model.compile(o.SGD(0.01), "mse")
def f(step):
    k = step // 20
    return 0.5 ** k
class A(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        it = int(self.model.optimizer.iterations)
        {line}
model.fit({given}, epochs=3, callbacks=[A()])
"""
ROWS, REPEATED = "x, y, batch_size=16", "ds, steps_per_epoch=steps"
RATE = "self.model.optimizer.learning_rate.assign({})"


def text(line: str, given: str = ROWS) -> str:
    return plan_of(MODEL + FIT.format(line=line, given=given)).text


@pytest.mark.parametrize("given", [ROWS, REPEATED])
@pytest.mark.parametrize("line", [RATE.format("0.01 * 0.5 ** (it // 20)"), "w.assign(0.5 ** (it // 20))"])
def test_a_number_of_steps_is_told_those_of_all_ranks_once(line: str, given: str) -> None:
    """The number was taken for the steps of an epoch, and divided, and the count told: size() times too fast."""
    assert "0.5 ** (it * hvd.size() // 20)" in text(line, given)


def test_also_in_a_function_that_is_handed_it() -> None:
    assert "k = step * hvd.size() // 20\n" in text(RATE.format("0.01 * f(it)"))


@pytest.mark.parametrize(
    "line", [RATE.format("0.01 * 0.5 ** (it // steps)"), "w.assign(0.5 ** (it // steps))"]
)
def test_the_epochs_of_a_fit_that_is_told_its_steps_are_a_ranks_over_a_ranks(line: str) -> None:
    out = text(line, REPEATED)
    assert "0.5 ** (it // max(1, steps // hvd.size()))" in out
    assert "steps_per_epoch=max(1, steps // hvd.size())" in out


def test_the_epochs_of_one_that_goes_through_its_rows() -> None:
    assert "0.5 ** (it * hvd.size() // steps)" in text(RATE.format("0.01 * 0.5 ** (it // steps)"))


def test_an_event_beside_it_is_divided_as_before() -> None:
    line = RATE.format("0.01 * 0.5 ** (it // 20)") + "\n        if it % 20 == 0:\n            print(it)"
    out = text(line)
    assert "it * hvd.size() // 20)" in out
    assert "if it % max(1, 20 // hvd.size()) == 0" in out
