"""C5: rates that are set anew by the number of a batch or step."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import TF, plan_of

CALLBACK = """\
class Rate(tf.keras.callbacks.Callback):
    def {}(self, n, logs=None):
        {}
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
model.fit(x, y, callbacks=[Rate()])
"""
SET = "tf.keras.backend.set_value(self.model.optimizer.lr, self.rate(n))"
EPOCHS = "count = 0\nfor epoch in range(9):\n    opt.learning_rate = {}\n    for k, (x, y) in enumerate(ds):\n        {}\n"
STEP = "step(x, y)\n        count += 1"


def said(source: str, **options: bool) -> bool:
    """Whether a plan says that a rate goes by a count of steps."""
    return any("goes by a count of steps" in n.message for n in plan_of(source, **options).notes)


def test_epochs_are_as_many_as_before() -> None:
    assert not said(TF + CALLBACK.format("on_epoch_begin", SET))
    assert not said(TAPE + EPOCHS.format("0.1 / (1 + epoch)", STEP))
    assert not said(TAPE + EPOCHS.format("0.1", STEP + "\n        opt.learning_rate = 0.1 / (1 + epoch)"))


def test_what_a_callback_does_with_batches_besides() -> None:
    assert not said(TF + CALLBACK.format("on_train_batch_end", "self.rates.append(self.model.optimizer.lr)"))


def test_where_nothing_is_divided_all_steps_are_taken() -> None:
    assert not said(TF + CALLBACK.format("on_train_batch_end", SET), split_data=False)


@pytest.mark.parametrize("method", ["on_batch_begin", "on_train_batch_begin", "on_train_batch_end"])
def test_batches_of_a_callback(method: str) -> None:
    assert said(TF + CALLBACK.format(method, SET))
    assert said(
        TF
        + CALLBACK.format(
            method, "self.model.optimizer.learning_rate = self.model.optimizer.learning_rate * 0.99"
        )
    )


@pytest.mark.parametrize("count", ["k", "count", "opt.iterations", "rate_at(count)"])
def test_turns_of_a_loop(count: str) -> None:
    assert said(TAPE + EPOCHS.format("0.1", f"{STEP}\n        opt.learning_rate = 0.1 / (1 + {count})"))
