"""G4: weights that each rank chose by its own losses, and that a model gets back between steps."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.random.RandomState(0).rand(256, 6), np.random.RandomState(1).rand(256, 1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
other = tf.keras.models.clone_model(model)
model.compile('adam', 'mse')
best, kept = float('inf'), []
"""
STEPS = """\
for epoch in range(9):
    for i in range(0, 256, 32):
        loss = model.train_on_batch(x[i : i + 32], y[i : i + 32])
    {}
"""
BEST = STEPS.format("if loss < best:\n        best, chosen = loss, model.get_weights()")
FIT = "for epoch in range(9):\n    loss = model.fit(x, y).history['loss'][0]\n    if loss < best:\n"
FIT += "        best, chosen = loss, model.get_weights()\n"
SET = "model.set_weights(chosen)\n"


def chosen(source: str) -> list[str]:
    plan = plan_of(HEAD + source)
    found = [c for c in changes(plan, "G4") if c.what == "Go on with the weights that rank 0 chose"]
    return [plan.document.text[c.span.start : c.span.end] + " " * c.sure for c in found]


@pytest.mark.parametrize(
    "source",
    [
        FIT + SET + "model.fit(x, y)\n",  # averaged, and sent
        STEPS.format("other.set_weights(model.get_weights())"),
        STEPS.format("model.set_weights([0.9 * w for w in model.get_weights()])"),
        STEPS.format("if epoch == 5:\n        chosen = model.get_weights()") + SET,
        BEST + "other.set_weights(chosen)\n",  # is not trained
        # all ranks keep them together
        STEPS.format(
            "if loss < best:\n        best, chosen, bad = loss, model.get_weights(), 0\n"
            "    else:\n        bad += 1\n        if bad > 3:\n            break"
        )
        + SET,
        BEST.replace("    {}", "") + "    elif epoch > 4:\n        model.set_weights(chosen)\n",
    ],
)
def test_weights_that_are_the_same_are_left(source: str) -> None:
    assert chosen(source) == []


@pytest.mark.parametrize(
    ("source", "given"),
    [
        (BEST + SET, "chosen"),
        (
            STEPS.format("kept.append((loss, model.get_weights()))") + "model.set_weights(min(kept)[1])\n",
            "min(kept)[1]",
        ),
        (BEST + "    " + SET, "chosen"),
    ],
)
def test_weights_that_each_rank_chose_are_rank_0s(source: str, given: str) -> None:
    assert chosen(source) == [f"{given} "]


def test_where_a_rank_may_not_come_it_is_asked() -> None:
    assert chosen(BEST + "if loss > best:\n    " + SET) == ["model.set_weights(chosen)"]
