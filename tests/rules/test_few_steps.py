"""K4, G4: one step can't be divided; a few steps can't among more ranks."""

from __future__ import annotations

import pytest

from .pairs import doubts, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
rows = np.ones((640, 4), "float32")
ds = tf.data.Dataset.from_tensor_slices((rows, rows)).shuffle(640).repeat().batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
"""
FIT = HEAD + "model.compile(tf.keras.optimizers.SGD(0.01), 'mse')\nmodel.fit(ds, {})\n"
TAPE = (
    HEAD
    + """\
opt = tf.keras.optimizers.SGD(0.01)
for epoch in range(300):
    for x, y in ds.take({}):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
)


def test_epochs_of_one_step_are_divided() -> None:
    plan = plan_of(FIT.format("epochs=300, steps_per_epoch=1"))
    assert "epochs=300 // hvd.size(), steps_per_epoch=1," in plan.text
    assert not doubts(plan, "K4")


def test_what_callbacks_do_with_epochs_of_one_step_is_asked() -> None:
    plan = plan_of(
        FIT.format("epochs=300, steps_per_epoch=1, callbacks=[tf.keras.callbacks.CSVLogger('log')]")
    )
    assert "epochs=300 // hvd.size(), steps_per_epoch=1," in plan.text
    assert any("what its callbacks do with each epoch" in d for d in doubts(plan, "K4", "G4"))


@pytest.mark.parametrize(
    "given",
    ["steps_per_epoch=1", "epochs=1, steps_per_epoch=1", "epochs=90, steps_per_epoch=1, initial_epoch=30"],
)
def test_one_step_for_each_call_is_asked_about(given: str) -> None:
    plan = plan_of(FIT.format(given))
    assert f"model.fit(ds, {given}," in plan.text
    assert any("can't be divided" in d for d in doubts(plan, "K4", "G4"))


def test_of_a_few_steps_it_is_said_what_more_ranks_do() -> None:
    plan = plan_of(FIT.format("epochs=9, steps_per_epoch=3"))
    assert "steps_per_epoch=max(1, 3 // hvd.size())" in plan.text
    assert any("among more than 3 ranks" in n.message for n in plan.notes)
    assert not any(
        "ranks: there" in n.message for n in plan_of(FIT.format("epochs=9, steps_per_epoch=30")).notes
    )


def test_a_loop_over_one_batch_is_asked_about() -> None:
    plan = plan_of(TAPE.format(1))
    assert "ds.take(1):" in plan.text
    assert any("can't be divided" in d for d in doubts(plan, "K4", "G4"))
    assert "ds.take(max(1, 3 // hvd.size())):" in plan_of(TAPE.format(3)).text


def test_rows_that_are_taken_before_they_are_batched_are_no_steps() -> None:
    text = TAPE.format("n").replace(
        "ds.take(n)", "tf.data.Dataset.from_tensor_slices((rows, rows)).take(1).batch(1)"
    )
    assert not any("can't be divided" in d for d in doubts(plan_of(text), "K4", "G4"))
