"""G5: what lambdas do every few batches that `fit` calls as methods of a `LambdaCallback`."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, plan_of

FIT = "{}model.fit(x, y, epochs=3, batch_size=16, callbacks=[{}])\n"
MADE = "tf.keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: {})"
SAVE = "model.save_weights('a.h5')"


def text(body: str, before: str = "", *, named: bool = False) -> str:
    made = MADE.format(body)
    compiled = MODEL + "model.compile(o.SGD(0.01), 'mse')\n" + before
    return plan_of(compiled + (FIT.format(f"cb = {made}\n", "cb") if named else FIT.format("", made))).text


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("body", "becomes"),
    [
        (f"{SAVE} if batch % 8 == 0 else None", "if batch % max(1, 8 // hvd.size()) == 0 else None"),
        (f"{SAVE} if not batch % 8 else None", "if not batch % max(1, 8 // hvd.size()) else None"),
        (
            f"{SAVE} if batch and batch % 8 == 0 else None",
            "batch and batch % max(1, 8 // hvd.size()) == 0 else",
        ),
        (f"batch % 8 == 0 and {SAVE}", "batch % max(1, 8 // hvd.size()) == 0 and"),
        ("print(batch) if batch % 8 == 0 else None", "if batch % max(1, 8 // hvd.size()) == 0 else None"),
    ],
)
def test_it_comes_as_often_for_the_rows_that_are_seen(body: str, becomes: str, named: bool) -> None:
    """It was taken for a part of the `fit` that the lambda stands in, and came size() times less often."""
    assert becomes in text(body, named=named)


def test_a_function_that_such_a_lambda_calls() -> None:
    out = text("show(batch) if batch % 8 == 0 else None", "def show(batch):\n    print(batch)\n")
    assert "show(batch) if batch % max(1, 8 // hvd.size()) == 0 else None" in out


def test_a_lambda_whose_value_a_loss_is_made_of_is_no_hook() -> None:
    out = plan_of(
        MODEL + "w = lambda batch: 1.0 if batch % 4 == 0 else 0.5\nmodel.compile(o.SGD(0.01), 'mse')\n"
        "for e in range(3):\n    for i in range(20):\n"
        "        model.train_on_batch(x[i * 16:i * 16 + 16] * w(i), y[i * 16:i * 16 + 16])\n"
    ).text
    assert "1.0 if batch % 4 == 0 else 0.5" in out
