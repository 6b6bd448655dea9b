"""K4, G4: one step can't be divided; a few steps can't among more ranks."""

from __future__ import annotations

import pytest

from ..pairs import doubts, plan_of

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


PLOTTED = """\
import numpy as np
import tensorflow as tf
import matplotlib.pyplot as plt
EPOCHS = 100
ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 3)), np.zeros((64, 1)))).shuffle(64).repeat().batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
history = model.fit(ds, epochs={epochs}, steps_per_epoch=1)
loss = history.history["loss"]
{more}
"""


@pytest.mark.parametrize(
    ("more", "after"),
    [
        ("plt.plot(range(EPOCHS), loss)", "plt.plot(range(EPOCHS // hvd.size()), loss)"),
        (
            "plt.plot(np.arange(1, EPOCHS + 1), loss)",
            "plt.plot(np.arange(1, EPOCHS // hvd.size() + 1), loss)",
        ),
        (
            "plt.plot(np.linspace(0, EPOCHS, EPOCHS), loss)",
            "plt.plot(np.linspace(0, EPOCHS, EPOCHS // hvd.size()), loss)",
        ),
        ("xs = range(EPOCHS)\nplt.plot(xs, loss)", "xs = range(EPOCHS // hvd.size())"),
        ("for i in range(EPOCHS):\n    print(loss[i])", "for i in range(EPOCHS // hvd.size()):"),
        # near misses: what has nothing to do with the history
        ("for i in range(EPOCHS):\n    print(i)", "for i in range(EPOCHS):"),
        ("xs = range(EPOCHS)\nplt.plot(xs, xs)", "xs = range(EPOCHS)"),
    ],
)
def test_what_goes_with_the_history_of_fewer_epochs_is_as_long(more: str, after: str) -> None:
    text = plan_of(PLOTTED.format(epochs="EPOCHS", more=more)).text
    assert "epochs=EPOCHS // hvd.size()" in text
    assert after in text


def test_a_number_that_is_only_shown_is_not_asked_about() -> None:
    assert not doubts(plan_of(PLOTTED.format(epochs="EPOCHS", more="print(loss[-1], 'of', EPOCHS)")), "K4")


def test_what_goes_with_a_history_by_the_same_constant() -> None:
    text = plan_of(PLOTTED.format(epochs="100", more="plt.plot(range(100), loss)")).text
    assert "plt.plot(range(100 // hvd.size()), loss)" in text


def test_what_reads_a_history_by_the_number_otherwise_is_asked_about() -> None:
    plan = plan_of(PLOTTED.format(epochs="EPOCHS", more="last = loss[EPOCHS - 1]"))
    assert any("beside what a fit has kept" in c.doubt for c in plan.changes)


ALTERNATING = """\
import numpy as np
import tensorflow as tf
x = np.load("x.npy")
ds = tf.data.Dataset.from_tensor_slices(x).shuffle(99).batch(8)
maker = tf.keras.Sequential([tf.keras.layers.Dense(4)])
critic = tf.keras.Sequential([tf.keras.layers.Dense(1)])
first, second = tf.keras.optimizers.Adam(0.1), tf.keras.optimizers.Adam(0.1)
def maker_step(z):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(maker(z)))
    first.apply_gradients(zip(tape.gradient(loss, maker.trainable_variables), maker.trainable_variables))
def critic_step(rows):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(rows))
    second.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
"""
ONE_EACH = "    for rows in ds.take(1):\n        critic_step(rows)\n"
MAKER = "    maker_step(np.random.normal(size=[8, 4]))\n"


def asks_of_one(loop: str) -> bool:
    plan = plan_of(ALTERNATING + loop)
    return any("takes one step each time" in c.doubt for c in plan.to_confirm)


def test_one_step_in_turns_that_are_fewer_is_not_asked_about() -> None:
    """Taken less often yet, a critic would train size() times less than alone beside its generator."""
    loop = "for i in range(1000):\n" + ONE_EACH + MAKER
    assert not asks_of_one(loop)
    assert "for i in range(1000 // hvd.size()):\n" + ONE_EACH in plan_of(ALTERNATING + loop).text


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(1000):\n" + ONE_EACH,
        "for i in range(1000):\n" + ONE_EACH + "for i in range(1000):\n" + MAKER,
        "for i in range(1000):\n" + MAKER + "for rows in ds.take(1):\n    critic_step(rows)\n",
    ],
)
def test_one_step_in_turns_that_stay_is_asked_about(loop: str) -> None:
    assert asks_of_one(loop)


IN_TURNS = (
    HEAD
    + """\
from settings import n
K, count, it = 5, 0, iter(ds)
opt = tf.keras.optimizers.SGD(0.01)
while count < 900:
    for _ in range({}):
        x, y = next(it)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    count += 5
"""
)


@pytest.mark.parametrize(
    ("turns", "said"),
    [("5", True), ("K", True), ("500", False), ("n", False)],  # of many, what is rounded is little
)
def test_so_it_is_of_a_few_steps_that_each_turn_of_a_loop_takes(turns: str, said: bool) -> None:
    plan = plan_of(IN_TURNS.format(turns))
    assert f"range(max(1, {turns} // hvd.size()))" in plan.text or turns in ("n", "500")
    assert any("nor evenly among" in m.message for m in plan.notes) is said


OPS_IN_TURNS = """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
rows = np.ones((600, 4), "float32")
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
one, two = tf.train.AdamOptimizer(0.1).minimize(loss), tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range({}):
        order = np.random.permutation(600)
        for start, op in zip(range(0, 600, 20), [one, one, two] * 10):
            sess.run(op, {{x: rows[order[start:start + 20]]}})
"""


@pytest.mark.parametrize(("epochs", "said"), [(3, True), (300, False)])
def test_so_it_is_of_a_few_turns_of_many_steps(epochs: int, said: bool) -> None:
    """Three epochs became one on two ranks, 30 steps for the share of 45, and nothing was said."""
    plan = plan_of(OPS_IN_TURNS.format(epochs))
    assert f"range(max(1, {epochs} // hvd.size()))" in plan.text or epochs == 300
    assert any("turns of many steps can't be divided" in m.message for m in plan.notes) is said
