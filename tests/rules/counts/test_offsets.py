"""Events every so many steps from a step that the program names: `(step - START) % EVERY == 0`."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(256, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.Adam(1e-3)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).batch(16)
START, EVERY, OFFSET = {start}, 20, 3
step, n, avg = 0, 0, model.get_weights()
for epoch in range(20):
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(a) - b))
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        step += 1
        if {test}:
            {event}
"""
SHOWN = 'model.save_weights("w.h5")'
KEPT = "opt.learning_rate.assign(opt.learning_rate * 0.5)"


@pytest.mark.parametrize("start", ["110", 'int(open("start.txt").read())'])
@pytest.mark.parametrize(
    ("test", "event", "adapted"),
    [
        (
            "(step - START) % EVERY == 0",
            SHOWN,
            "(step - START // hvd.size()) % max(1, EVERY // hvd.size()) == 0",
        ),
        ("not (step - START) % EVERY", KEPT, "not (step * hvd.size() - START) % EVERY >= hvd.size()"),
        ("(step - START) % EVERY == 0", KEPT, "(step * hvd.size() - START) % EVERY < hvd.size()"),
    ],
)
def test_what_it_is_counted_from_goes_with_the_count(start: str, test: str, event: str, adapted: str) -> None:
    """From 110 on every 20 steps: 2 ranks came to it at 120, 140, … of all steps, and where START is a field it was asked."""
    plan = plan_of(PROGRAM.format(start=start, test=test, event=event))
    assert f"if {adapted}" in plan.text
    assert not [c for c in plan.changes if c.doubt]


@pytest.mark.parametrize("test", ["(step - START) % EVERY == 5", "(step - START) % EVERY < 10"])
def test_other_remainders_of_it_are_asked_about(test: str) -> None:
    plan = plan_of(PROGRAM.format(start="110", test=test, event=KEPT))
    assert f"if {test}:" in plan.text
    assert [c for c in plan.changes if c.rule == "G5" and c.doubt]


@pytest.mark.parametrize("test", ["(step - 1) % EVERY == 0", "(step - OFFSET) % EVERY == 0"])
def test_a_few_steps_back_is_a_count_itself(test: str) -> None:
    """Near miss: `step - 1` is how many steps there were before this one."""
    text = plan_of(PROGRAM.format(start="110", test=test, event=SHOWN)).text
    assert f"if {test.replace('EVERY', 'max(1, EVERY // hvd.size())')}" in text


def test_one_that_moves_on_is_the_last_event() -> None:
    """Near miss: `(step - START)` where START is set to the step of the last event counts a rank's steps since that."""
    moving = SHOWN + "\n            START = step"
    text = plan_of(PROGRAM.format(start="0", test="(step - START) % EVERY == 0", event=moving)).text
    assert "if (step - START) % max(1, EVERY // hvd.size()) == 0" in text
