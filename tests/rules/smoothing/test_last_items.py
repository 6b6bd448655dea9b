"""G7: the last items of a list that gets one with each step, by which something is decided."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

LOOP = (
    TF
    + """
import numpy as np
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
losses, epochs, window = [], [], 20
for epoch in range(9):
    for i, (x, y) in enumerate(ds):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        {each}
    epochs.append(float(loss))
    {after}
"""
)
N = "hvd.size()"


def text_of(after: str, each: str = "losses.append(float(loss))") -> str:
    return plan_of(LOOP.format(after=after, each=each)).text


@pytest.mark.parametrize(
    ("test", "told"),
    [
        (
            "np.mean(losses[-window:]) > np.mean(losses[-2 * window:-window])",
            [
                f"losses[-max(1, window // {N}):]",
                f"losses[-max(2, 2 * window // {N}):-max(1, window // {N})]",
            ],
        ),
        ("losses[-1] > np.mean(losses[-51:-1])", [f"losses[-max(2, 51 // {N}):-1]"]),
        ("losses[-1] > np.mean(losses[-(window + 1):-1])", [f"losses[-(max(2, (window + 1) // {N})):-1]"]),
        (
            "min(losses[-20:]) > min(losses[-40:-20])",
            [f"losses[-max(1, 20 // {N}):]", f"losses[-max(2, 40 // {N}):-max(1, 20 // {N})]"],
        ),
        (
            "len(losses) > 2 * window and max(losses[-window:]) > 9",
            [f"len(losses) > max(1, 2 * window // {N})", f"losses[-max(1, window // {N}):]"],
        ),
    ],
)
def test_a_decision_by_the_last_steps_looks_at_as_many_rows(test: str, told: list[str]) -> None:
    text = text_of(f"if {test}:\n        break")
    assert all(line in text for line in told), text


def test_also_by_a_name_that_is_compared() -> None:
    text = text_of("recent = np.mean(losses[-window:])\n    if recent < 0.01:\n        break")
    assert f"np.mean(losses[-max(1, window // {N}):])" in text


def test_a_sum_of_them_is_asked_about() -> None:
    plan = plan_of(
        LOOP.format(
            after="if sum(losses[-window:]) / window < 0.1:\n        break", each="losses.append(float(loss))"
        )
    )
    assert any("look at 1/size() as many" in c.doubt for c in plan.changes if not c.sure)


@pytest.mark.parametrize(
    "after",
    [
        "print(np.mean(losses[-window:]))",  # shown
        "if np.mean(epochs[-window:]) > 3:\n        break",  # as many epochs as before
        "if np.mean(losses[:window]) > 3:\n        break",  # the first ones
        "if np.mean(losses[-1:]) > 3:\n        break",
        "if len(losses[-window:]) == 3:\n        break",
    ],
)
def test_other_parts_are_left(after: str) -> None:
    assert f"window // {N}" not in text_of(after)


def test_a_list_that_a_dictionary_holds() -> None:
    text = plan_of(
        "log = {'loss': []}\n"
        + LOOP.format(
            after="mean = np.mean(log['loss'][-window:])\n    if mean < 0.1:\n        break",
            each="log['loss'].append(float(loss))",
        )
    ).text
    assert f"np.mean(log['loss'][-max(1, window // {N}):])" in text


@pytest.mark.parametrize("weights", ["model.get_weights()", "[w.numpy() for w in model.trainable_variables]"])
def test_the_weights_after_the_last_steps(weights: str) -> None:
    mean = "if epoch == 8: model.set_weights([np.mean(w, axis=0) for w in zip(*losses[-50:])])"
    assert f"zip(*losses[-max(1, 50 // {N}):])" in text_of(mean, f"losses.append({weights})")
    assert "zip(*losses[-50:])" in text_of(mean + f"\n    losses.append({weights})", "pass")  # of epochs
    assert "losses[-50:]" in text_of("print(losses[-50:])", "losses.append(float(loss))")
