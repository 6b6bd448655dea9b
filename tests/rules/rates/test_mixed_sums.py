"""Numbers beside the length of a rank's own data: both count the steps of one rank then, or those of all."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

DATA = (
    TF + "x = tf.ones((64, 4))\nds = tf.data.Dataset.from_tensor_slices(x).batch(4)\n"
    "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
)
SCHEDULE = "model.compile(tf.keras.optimizers.SGD({}), 'mse')\nmodel.fit(ds, epochs=3)\n"
DECAY = "tf.keras.optimizers.schedules.CosineDecay(0.1, {})"
LOOP = (
    "opt = tf.keras.optimizers.SGD(0.1)\nstep = 0\nfor epoch in range(3):\n    for a in ds:\n"
    "        with tf.GradientTape() as tape:\n            loss = tf.reduce_mean(model(a))\n"
    "        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
    "        step += 1\n"
)


@pytest.mark.parametrize(
    ("before", "steps", "becomes"),
    [
        ("", "3 * len(ds) - 20", "3 * len(ds) - 20 // hvd.size()"),
        ("warm = 20\n", "3 * len(ds) - warm", "3 * len(ds) - warm // hvd.size()"),
        (
            "warm = 20\ntotal = 3 * len(ds)\nsteps = max(1, total - warm)\n",
            "steps",
            "total - warm // hvd.size()",
        ),
        ("total = 3 * len(ds) + 20\n", "total", "total = 3 * len(ds) + 20 // hvd.size()"),
    ],
)
def test_a_number_of_steps_beside_a_rank_s_length_is_divided(before: str, steps: str, becomes: str) -> None:
    plan = plan_of(DATA + before + SCHEDULE.format(DECAY.format(steps)))
    assert becomes in plan.text
    assert plan.text.count("20 // hvd.size()") + plan.text.count("warm // hvd.size()") == 1


@pytest.mark.parametrize(
    ("before", "steps"),
    [
        ("", "3 * len(ds) - 1"),  # the last of them
        ("", "len(ds) * (3 - 2)"),  # epochs
        ("warm = len(ds) // 4\n", "3 * len(ds) - warm"),  # a rank's, too
        ("warm = int(0.1 * 3 * len(ds))\n", "3 * len(ds) - warm"),
        ("", "3 * len(ds) + 1e-8"),
    ],
)
def test_what_is_no_number_of_all_steps_stays(before: str, steps: str) -> None:
    text = plan_of(DATA + before + SCHEDULE.format(DECAY.format(steps))).text
    assert before in text
    assert DECAY.format(steps).replace("0.1,", "0.1 * hvd.size(),") in text


def test_of_data_that_are_not_divided_all_is_divided() -> None:
    steps = "3 * len(x) - 20"
    text = plan_of(DATA + SCHEDULE.format(DECAY.format(steps))).text
    assert f"({steps}) / hvd.size()" in text


def test_a_rate_by_hand_is_told_the_steps_of_all_ranks() -> None:
    setting = "        opt.learning_rate = 0.1 * (1 - (step - 20) / (total - 20))\n"
    text = plan_of(DATA + "total = 3 * len(ds)\n" + LOOP + setting).text
    assert "(step * hvd.size() - 20) / (total * hvd.size() - 20)" in text
    text = plan_of(DATA + "left = 3 * len(ds) - 20\n" + LOOP + setting.replace("(total - 20)", "left")).text
    assert "left = 3 * len(ds) - 20 // hvd.size()" in text
    assert "(step * hvd.size() - 20) / (left * hvd.size())" in text


SCHEDULE_OF_ITS_OWN = """\
class Warmup(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, rate, warm, total):
        self.rate, self.warm, self.total = rate, warm, total
    def __call__(self, step):
        down = self.rate * (1 - (step - self.warm) / float(self.total - self.warm))
        return tf.where(step < self.warm, self.rate * step / self.warm, down)
"""


def test_a_schedule_of_one_s_own_that_warms_up() -> None:
    text = plan_of(DATA + SCHEDULE_OF_ITS_OWN + SCHEDULE.format("Warmup(0.1, 20, 3 * len(ds))")).text
    assert "(float(self.total - self.warm // hvd.size()) * hvd.size())" in text
    assert "self.rate * step / self.warm," in text


def test_a_function_that_is_told_both_of_all_ranks_keeps_its_number() -> None:
    rate = "def rate(step, total, warm=20):\n    return 0.1 * (1 - (step - warm) / (total - warm))\n"
    source = DATA + rate + LOOP + "        opt.learning_rate = rate(step, 3 * len(ds))\n"
    text = plan_of(source).text
    assert "rate(step * hvd.size(), 3 * (len(ds) * hvd.size())) * hvd.size()" in text
    assert "(step - warm) / (total - warm)" in text


def test_a_rank_s_steps_beside_such_a_length() -> None:
    left = "left = 3 * len(ds) - 20\n"
    text = plan_of(DATA + left + LOOP + "        opt.learning_rate = 0.1 * (1 - step / left)\n").text
    assert "left = 3 * len(ds) - 20 // hvd.size()" in text
    assert "(1 - step / left)" in text
    text = plan_of(DATA + LOOP + "        if step > 3 * len(ds) - 20:\n            break\n").text
    assert "if step > 3 * len(ds) - 20 // hvd.size():" in text


def test_rows_of_a_batch_beside_a_length_in_rows_stay() -> None:
    loop = LOOP.replace("for a in ds:", "for a in batches(rows):").replace("step += 1", "step += 4")
    source = (
        DATA
        + "rows = x.numpy()[tf.range(64) % 2 == 0]\ndef batches(rows):\n    i = 0\n"
        + "    while i <= len(rows) - 4:\n        yield rows[i : i + 4]\n        i += 4\n"
        + loop
    )
    assert "len(rows) - 4:" in plan_of(source).text
