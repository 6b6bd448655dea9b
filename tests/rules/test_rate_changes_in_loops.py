"""Settings of training that a rank would change alone: what feeds a rate, whatever it is called."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of
from .test_means import EPOCHS

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
