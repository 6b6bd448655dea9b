"""Settings of training that a rank would change alone: what feeds a rate, whatever it is called."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of
from ..together.test_means import EPOCHS

FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
x, ph = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = tf.train.MomentumOptimizer(ph, 0.9).minimize(loss)
rows = np.load("rows.npy")
eta, total, best, bad, other = 0.02, 0.0, 1e9, 0, 1.0
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(900):
        i = np.random.randint(0, len(rows), 16)
        value, _ = session.run([loss, train], {{x: rows[i], ph: eta}})
        total += value
        if step % 20 == 19:
            if total < best:
                best, bad = total, 0
            else:
                bad += 1
            if bad == 2:
                {}
            total = 0.0
"""


@pytest.mark.parametrize("change", ["eta = eta / 2", "eta, bad = eta / 2, 0", "eta *= 0.5"])
def test_a_fed_rate_is_changed_on_all_ranks_together(change: str) -> None:
    text = plan_of(FED.format(change)).text
    assert "            if any_rank(bad == 2):\n" in text or "mean_over_ranks(" in text


def test_what_no_rate_is_fed_with_is_changed_by_each() -> None:
    text = plan_of(FED.format("other = other / 2")).text
    assert "            if bad == 2:\n" in text


@pytest.mark.parametrize(
    ("kept", "put"),
    [("[]", "bad.append(epoch)"), ("set()", "bad.add(epoch)"), ("{}", "bad[epoch] = True")],
)
def test_a_rate_by_how_many_something_holds(kept: str, put: str) -> None:
    text = plan_of(
        "import numpy as np\n"
        + TAPE
        + f"bad = {kept}\n"
        + EPOCHS.format(
            f"    if np.mean(losses) > 0.5:\n        {put}\n    opt.learning_rate = 0.1 * 0.5 ** len(bad)\n"
        )
    ).text
    assert "    if mean_over_ranks(np.mean(losses)) > 0.5:\n" in text
    assert "0.1 * 0.5 ** len(bad) * hvd.size()" in text


@pytest.mark.parametrize("put", ["bad.append(epoch)", "bad.add(epoch)"])
def test_a_loop_that_ends_by_how_many_something_holds(put: str) -> None:
    kept = "[]" if "append" in put else "set()"
    text = plan_of(
        "import numpy as np\n"
        + TAPE
        + f"bad = {kept}\n"
        + EPOCHS.format(
            f"    if np.mean(losses) > 0.5:\n        {put}\n    if len(bad) > 3:\n        break\n"
        )
    ).text
    assert "    if mean_over_ranks(np.mean(losses)) > 0.5:\n" in text
    assert "    if len(bad) > 3:\n" in text


LOSSES = "saved = [tf.Variable(v) for v in model.trainable_variables]\n" + EPOCHS
BACK = "        for s, v in zip(saved, model.trainable_variables):\n            v.assign(s)\n"


@pytest.mark.parametrize(
    "done",
    [
        BACK,
        "        [v.assign(s) for s, v in zip(saved, model.trainable_variables)]\n",
        "        model.trainable_variables[0].assign_add(saved[0])\n",
        "        for v in opt.variables():\n            v.assign(tf.zeros_like(v))\n",
    ],
)
def test_variables_are_set_back_on_all_ranks_together(done: str) -> None:
    """Each rank went back by its own losses, and their weights parted: nothing was said."""
    source = "import numpy as np\n" + TAPE + LOSSES.format("    if np.mean(losses) > best:\n" + done)
    assert "    if mean_over_ranks(np.mean(losses)) > best:\n" in plan_of(source).text


def test_variables_that_are_passed_over_by_some_ranks() -> None:
    turn = "    if np.mean(losses) > 0.5:\n        continue\n" + BACK.replace("        ", "    ", 1)
    turn = turn.replace("            v.assign(s)", "        v.assign(0.9 * v)")
    source = "import numpy as np\n" + TAPE + LOSSES.format(turn)
    assert "    if mean_over_ranks(np.mean(losses)) > 0.5:\n" in plan_of(source).text


@pytest.mark.parametrize(
    "done",
    [
        "lowest.assign(np.mean(losses))",
        "moving.assign(0.9 * moving + 0.1 * np.mean(losses))",
        "count.assign_add(1)",
    ],
)
def test_variables_that_no_step_trains_are_set_by_each(done: str) -> None:
    kept = "lowest, moving, count = tf.Variable(9.0), tf.Variable(0.0), tf.Variable(0)\n"
    source = (
        "import numpy as np\n"
        + TAPE
        + kept
        + EPOCHS.format(f"    if np.mean(losses) > 0.5:\n        {done}\n")
    )
    plan = plan_of(source)
    assert "    if np.mean(losses) > 0.5:\n" in plan.text
    assert plan.sure


def test_variables_are_set_back_by_what_is_the_same_on_all_ranks() -> None:
    source = "import numpy as np\n" + TAPE + LOSSES.format("    if epoch % 3 == 2:\n" + BACK)
    assert "    if epoch % 3 == 2:\n" in plan_of(source).text


LOWERING = """\
def lower(optimizer, by=0.5):
    optimizer.learning_rate.assign(optimizer.learning_rate * by)
def again():
    lower(opt)
def back():
    model.set_weights(kept)
def show():
    scores.append(model.get_weights()[0].mean())
scores, kept = [], model.get_weights()
"""


@pytest.mark.parametrize("done", ["lower(opt)", "again()", "back()"])
def test_what_a_function_changes_is_changed_on_all_ranks_together(done: str) -> None:
    """It was refused, as something that can't be followed."""
    turn = f"    if np.mean(losses) < best:\n        best = np.mean(losses)\n    else:\n        {done}\n"
    source = "import numpy as np\n" + TAPE + LOWERING + EPOCHS.format(turn)
    assert "    if mean_over_ranks(np.mean(losses)) < best:\n" in plan_of(source).text


@pytest.mark.parametrize("done", ["show()", "print(lower)", "changing = lower"])
def test_functions_that_change_nothing_are_called_by_each(done: str) -> None:
    turn = f"    if np.mean(losses) > 0.5:\n        {done}\n"
    source = "import numpy as np\n" + TAPE + LOWERING + EPOCHS.format(turn)
    assert "any_rank(" not in plan_of(source).text
    assert "mean_over_ranks(" not in plan_of(source).text


def test_a_count_that_a_checkpoint_holds_beside_the_networks_is_none_of_their_weights() -> None:
    """`checkpoint.step.assign_add(step)` every so many steps was taken for weights that are set back."""
    text = plan_of("""\
import tensorflow as tf
from tools import load
ds = tf.data.Dataset.from_tensor_slices(rows).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
step = load("ck")
for x in ds.repeat(9):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step += 1
    if step % 100 == 0:
        checkpoint = tf.train.Checkpoint(step=tf.Variable(0), opt=opt, model=model)
        checkpoint.step.assign_add(step)
        checkpoint.save("ck")
""").text
    assert "any_rank" not in text
