"""C5, G5: variables that a graph adds to with each step, by whole numbers or floats: they count a rank's steps, and are told
those of all ranks where they are read. What else gets them, as a session that fetches the rate, makes no difference."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
a = np.random.RandomState(0).rand(256, 4).astype("float32")
x = tf.placeholder(tf.float32, [None, 4])
w = tf.get_variable("w", [4, 1])
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
step = tf.Variable(0.0, trainable=False)
rate = {rate}
add = {add}
opt = tf.train.MomentumOptimizer({by}, 0.9).minimize({target})
with tf.control_dependencies([opt, add]):
    train = tf.no_op()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(0, len(a), 8):
        sess.run({fetched}, {{x: a[i:i + 8]}})
"""
ADDS = (
    "tf.assign_add(step, 1.0)",
    "tf.assign_add(step, 1)",
    "step.assign_add(1.0)",
    "tf.assign(step, step + 1.0)",
)
FETCHED = ("train", "[train, loss]", "[train, rate]", "[opt, add, rate]")


def text_of(
    add: str = ADDS[0], rate: str = "0.1", by: str = "rate", target: str = "loss", fetched: str = "train"
) -> str:
    return plan_of(GRAPH.format(add=add, rate=rate, by=by, target=target, fetched=fetched)).text


@pytest.mark.parametrize("add", ADDS)
@pytest.mark.parametrize("fetched", FETCHED)
def test_a_rate_is_told_once(add: str, fetched: str) -> None:
    text = text_of(add, "0.1 * (1.0 - step / 100.0)", fetched=fetched)
    assert "rate = 0.1 * (1.0 - step * hvd.size() / 100.0)\n" in text
    assert f"add = {add}\n" in text


@pytest.mark.parametrize("add", ADDS)
@pytest.mark.parametrize("fetched", FETCHED)
def test_a_schedule_is_divided_once(add: str, fetched: str) -> None:
    text = text_of(add, "tf.train.exponential_decay(0.1, step, 100, 0.9)", fetched=fetched)
    assert "step, 100 / hvd.size(), 0.9)\n" in text
    assert f"add = {add}\n" in text


@pytest.mark.parametrize("add", ADDS)
def test_a_warm_up_by_its_own_count(add: str) -> None:
    decayed = "tf.train.polynomial_decay(0.1, step, 400.0)"
    text = text_of(
        add, f"tf.cond(step < 20.0, lambda: 0.1 * step / 20.0, lambda: {decayed})", fetched="[train, rate]"
    )
    assert "tf.cond(step * hvd.size() < 20.0, lambda: 0.1 * (step * hvd.size()) / 20.0, " in text
    assert "tf.train.polynomial_decay(0.1, step, 400.0 / hvd.size())" in text
    assert f"add = {add}\n" in text


@pytest.mark.parametrize("fetched", ["train", "[opt, add]"])
def test_what_losses_weigh_by_a_count_is_told(fetched: str) -> None:
    weighed = "loss + tf.minimum(1.0, step / 100.0) * tf.reduce_sum(w)"
    text = text_of(by="0.1", target=weighed, fetched=fetched)
    assert weighed.replace("step", "step * hvd.size()") in text
    assert "add = tf.assign_add(step, 1.0)\n" in text


@pytest.mark.parametrize("fetched", ["train", "[opt, add]"])
def test_what_goes_on_by_parts_of_one_goes_on_as_fast(fetched: str) -> None:
    """No count: it is what the loss is weighed with."""
    text = text_of(
        "tf.assign_add(step, 0.01)", by="0.1", target="loss + step * tf.reduce_sum(w)", fetched=fetched
    )
    assert "add = tf.assign_add(step, 0.01 * hvd.size())\n" in text
    assert "minimize(loss + step * tf.reduce_sum(w))" in text


EAGER = """\
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
rate, part = tf.Variable(0.1), tf.Variable(0.0)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
for epoch in range(9):
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        {step}
        opt.learning_rate.assign({given})
    {epoch}
"""


@pytest.mark.parametrize(
    ("step", "given", "told"),
    [
        ("rate.assign(rate * 0.999)", "rate", "rate.assign(rate * 0.999 ** hvd.size())"),
        ("rate.assign_sub(1e-5)", "rate", "rate.assign_sub(1e-5 * hvd.size())"),
        ("part.assign_add(1.0 / n)", "0.1 * 0.9 ** part", "part.assign_add(1.0 / n * hvd.size())"),
        ("part.assign_add(1.0)", "0.1 * 0.9 ** part", "part.assign_add(1.0 * hvd.size())"),
        ("rate.assign(0.01)", "rate", "rate.assign(0.01)"),
    ],
)
def test_a_rate_in_a_variable_goes_on_as_fast(step: str, given: str, told: str) -> None:
    text = plan_of(
        "import tensorflow as tf\nn = 9\n" + EAGER.format(step=step, given=given, epoch="pass")
    ).text
    assert f"        {told}\n" in text


def test_a_rate_in_a_variable_that_epochs_change_is_left() -> None:
    text = plan_of(
        "import tensorflow as tf\n" + EAGER.format(step="pass", given="rate", epoch="rate.assign(rate * 0.9)")
    ).text
    assert "    rate.assign(rate * 0.9)\n" in text
    assert "opt.learning_rate.assign(rate * hvd.size())" in text


COUNTED = """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
a = np.zeros((256, 4), "float32")
x = tf.placeholder(tf.float32, [None, 4])
w = tf.get_variable("w", [4, 1])
train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(tf.square(tf.matmul(x, w))))
count = tf.Variable(0, trainable=False)
add = {}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    while {}:
        sess.run(train, {{x: a[np.random.randint(0, 256, 8)]}})
"""


@pytest.mark.parametrize(
    "add", ["tf.assign_add(count, 1)", "count.assign_add(1)", "tf.assign(count, count + 1)"]
)
def test_a_loop_ends_by_what_its_own_test_counts(add: str) -> None:
    text = plan_of(COUNTED.format(add, "sess.run(add) < 900")).text
    assert "while sess.run(add) < 900 // hvd.size():" in text  # and no mean over the ranks
    assert "MomentumOptimizer(0.1 * hvd.size(), 0.9)" in text


@pytest.mark.parametrize(
    ("add", "test"),
    [
        ("tf.assign_add(count, 1)", "sess.run(loss) < 900"),
        ("tf.assign_add(count, tf.random.uniform([], 0, 3, tf.int32))", "sess.run(add) < 900"),
        ("tf.assign(count, 2 * count + 1)", "sess.run(add) < 900"),
    ],
)
def test_not_by_what_else_a_test_runs(add: str, test: str) -> None:
    plan = plan_of(COUNTED.format(add, test).replace("count = ", "loss = tf.reduce_sum(x)\ncount = "))
    assert "900 // hvd.size()" not in plan.text
    assert "MomentumOptimizer(0.1, 0.9)" in plan.text


GLOBAL = """\
import numpy as np
import tensorflow.compat.v1 as tf
x = np.random.rand(64, 4)
{made}
xp = tf.placeholder(tf.float32, [None, 4])
lr = tf.placeholder(tf.float32, [])
opt = tf.train.AdamOptimizer(lr).minimize(tf.reduce_mean(tf.square(tf.layers.dense(xp, 1))))
{count}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(10):
        {before}
        for i in range(16):
            step = sess.run({read})
            sess.run(train, {{xp: x[i * 4:(i + 1) * 4], lr: 0.01 * 0.5 ** (step // 40)}})
            if step % 20 == 0:
                print(step)
"""
GROUPED = "train = tf.group(opt, tf.assign_add(s, 1))"
AFTER = "with tf.control_dependencies([opt]):\n    train = tf.train.get_global_step().assign_add(1)"
MADE = "s = tf.train.get_or_create_global_step()"


@pytest.mark.parametrize(
    ("made", "count", "read"),
    [
        (MADE, GROUPED, "s"),
        (MADE, AFTER, "s"),
        ("tf.train.create_global_step()", AFTER, "tf.train.get_global_step()"),
        ("s = tf.train.create_global_step()", GROUPED, "tf.train.get_global_step()"),
    ],
)
def test_a_global_step_that_is_counted_by_hand_counts_a_ranks_steps(made: str, count: str, read: str) -> None:
    text = plan_of(GLOBAL.format(made=made, count=count, read=read, before="pass")).text
    assert "0.5 ** (step * hvd.size() // 40)}" in text
    assert "if step % max(1, 20 // hvd.size()) == 0 and hvd.rank() == 0:\n" in text


@pytest.mark.parametrize(
    ("count", "before"),
    [
        ("train, bump = opt, tf.assign_add(s, 1)", "sess.run(bump)"),  # epochs
        ("train, bump = opt, tf.assign(s, 0)", "pass"),
        (GROUPED + "\nback = tf.assign(s, 0)", "sess.run(back)"),  # begins again
        ("train = opt", "pass"),
    ],
)
def test_a_global_step_that_counts_something_else_is_left_alone(count: str, before: str) -> None:
    text = plan_of(GLOBAL.format(made=MADE, count=count, read="s", before=before)).text
    assert "0.5 ** (step // 40)}" in text
    assert "if step % 20 == 0 and hvd.rank() == 0:\n" in text
