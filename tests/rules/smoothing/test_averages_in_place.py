"""G7: averages of weights in arrays that are set in place forget as fast."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = (
    "import numpy as np\nimport tensorflow as tf\n"
    "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nopt = tf.keras.optimizers.SGD(0.1)\n"
    "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
    "def step(x, y):\n"
    "    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x) - y)\n"
    "    w = model.trainable_variables\n    opt.apply_gradients(zip(tape.gradient(loss, w), w))\n    return loss\n"
)
LOOP = (
    "copies = model.get_weights()\nfor epoch in range(9):\n    for x, y in ds:\n        loss = step(x, y)\n"
    "{}model.set_weights(copies)\n"
)
PAIRS = "        for c, w in zip(copies, model.get_weights()):\n"
SAID = "follow more slowly than alone"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("c[...] = 0.9 * c + (1 - 0.9) * w", "c[...] = 0.9 ** hvd.size() * c + (1 - 0.9 ** hvd.size()) * w"),
        ("c[:] = w * (1 - d) + c * d", "c[:] = w * (1 - d ** hvd.size()) + c * d ** hvd.size()"),
        ("c *= d\nc += (1.0 - d) * w", "c *= d ** hvd.size()\nc += (1.0 - d ** hvd.size()) * w"),
        ("c *= 0.75\nc += 0.25 * w", "c *= 0.75 ** hvd.size()\nc += (1 - 0.75 ** hvd.size()) * w"),
    ],
)
def test_an_array_forgets_as_fast(before: str, after: str) -> None:
    def turn(text: str) -> str:
        return LOOP.format(PAIRS + "".join(f"            {line}\n" for line in text.split("\n")))

    plan = plan_of(HEAD + "d = 0.9\n" + turn(before))
    lines = [line.strip() for line in plan.text.split("\n")]
    assert all(line in lines for line in after.split("\n"))
    assert not any(SAID in n.message for n in plan.notes)


@pytest.mark.parametrize(
    "mixed",
    [
        PAIRS.replace("        for", "    for")
        + "        c *= 0.9\n        c += 0.1 * w\n",  # with each epoch
        "        m *= 0.9\n        m += 0.1 * float(loss)\n",  # of a loss, which is shown
        PAIRS + "            c[0] = 0.9 * c[1] + 0.1 * y\n",
        PAIRS + "            c += w\n            c *= 0.5\n",
    ],
)
def test_what_is_no_average_of_weights_by_the_step_is_left(mixed: str) -> None:
    text = plan_of(HEAD + "m = np.zeros(3)\n" + LOOP.format(mixed)).text
    assert "** hvd.size()" not in text


def test_shares_that_are_not_one_together_are_said() -> None:
    plan = plan_of(HEAD + LOOP.format(PAIRS + "            c *= 0.9\n            c += 0.2 * w\n"))
    assert "** hvd.size()" not in plan.text
    assert any(SAID in n.message for n in plan.notes)
