"""G6: counts that begin with steps of an earlier run go on by the steps of all ranks."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

HEAD = (
    TF
    + """
import argparse
import numpy as np
x = np.ones((64, 3))
ds = tf.data.Dataset.from_tensor_slices((x, x)).batch(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
opt = tf.keras.optimizers.SGD(0.1)
args = argparse.ArgumentParser().parse_args()
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
)
TURNS = """\
for epoch in range(first, 9):
    for x, y in ds:
        opt.learning_rate = 0.1 * 0.99 ** step
        train_step(x, y)
        step += 1
"""
FOR_ALL = ("        opt.learning_rate = 0.1 * 0.99 ** step * hvd.size()\n", "        step += hvd.size()\n")
OF_A_RANK = ("0.99 ** (step * hvd.size()) * hvd.size()\n", "        step += 1\n")


@pytest.mark.parametrize(
    "start",
    [
        "step = first * 16",
        "steps = len(x) // 4\nstep = first * steps",
        "step = first * args.steps",
        "step = 2000",
        "step = args.start_step",
        "step = int(args.start_step)",
    ],
)
def test_a_count_that_begins_later_counts_for_all_ranks(start: str) -> None:
    text = plan_of(f"{HEAD}first = 3\n{start}\n{TURNS}").text
    assert f"{start}\n" in text
    assert all(line in text for line in FOR_ALL)


@pytest.mark.parametrize("start", ["step = 0", "step = 1", "first = 0\nstep = first * 16", "step = 0 * 16"])
def test_a_count_from_the_beginning_stays_a_ranks(start: str) -> None:
    """Near misses: nothing was taken before."""
    text = plan_of(f"{HEAD}first = 0\n{start}\n{TURNS}").text
    assert all(line in text for line in OF_A_RANK)


def test_a_length_of_a_share_begins_with_the_steps_of_all_ranks() -> None:
    text = plan_of(f"{HEAD}first = 3\nstep = first * len(ds)\n{TURNS}").text
    assert "step = first * len(ds) * hvd.size()\n" in text
    assert all(line in text for line in FOR_ALL)


def test_a_count_that_each_epoch_begins_again() -> None:
    """Near miss: there the start is divided, and the count is a rank's."""
    turns = TURNS.replace("    for x", "    step = epoch * 16\n    for x")
    text = plan_of(f"{HEAD}first = 3\n{turns}").text
    assert "    step = epoch * 16 // hvd.size()\n" in text
    assert all(line in text for line in OF_A_RANK)


def test_a_start_that_is_made_of_itself() -> None:
    """Near miss: `int(step)` of what it was before."""
    told = "step = 0\ndef set_up():\n    global step\n    step = int(step)\n"
    turns = TURNS.replace("    for x", "    set_up()\n    for x")
    text = plan_of(f"{HEAD}first = 0\n{told}{turns}").text
    assert "        step += 1\n" in text


@pytest.mark.parametrize(
    ("given", "for_all"), [("48", True), ("first * 16", True), ("0", False), ("1", False)]
)
def test_a_count_that_a_function_is_told(given: str, for_all: bool) -> None:
    turns = "".join(f"    {line}\n" for line in TURNS.splitlines())
    text = plan_of(f"{HEAD}first = 3\ndef train(step):\n{turns}train({given})\n").text
    assert f"train({given})\n" in text
    assert all(line in text for line in (FOR_ALL if for_all else OF_A_RANK))


def test_a_count_that_a_function_is_told_with_each_epoch() -> None:
    turns = "".join(f"    {line[4:]}\n" for line in TURNS.splitlines()[1:])
    text = plan_of(f"{HEAD}def train(step):\n{turns}for epoch in range(3, 9):\n    train(epoch * 16)\n").text
    assert "    train(epoch * 16 // hvd.size())\n" in text


@pytest.mark.parametrize(
    ("numbers", "after"),
    [
        ("range(1000, 5000)", "range(1000, 5000, hvd.size())"),
        ("range(1, 5000)", "range(1, 1 + max(1, 4999 // hvd.size()))"),
    ],
)
def test_a_loop_that_begins_at_a_later_step(numbers: str, after: str) -> None:
    loop = "rows = iter(ds.repeat())\nfor step in {}:\n    x, y = next(rows)\n    train_step(x, y)\n"
    assert f"for step in {after}:\n" in plan_of(HEAD + loop.format(numbers)).text


@pytest.mark.parametrize(
    ("numbered", "after"),
    [
        ("enumerate(ds, 1000)", "zip(itertools.count(1000, hvd.size()), ds)"),
        ("enumerate(ds, 1)", "enumerate(ds, 1)"),
    ],
)
def test_numbers_that_begin_at_a_later_step(numbered: str, after: str) -> None:
    loop = "for step, (x, y) in {}:\n    train_step(x, y)\n"
    assert f"for step, (x, y) in {after}:\n" in plan_of(HEAD + loop.format(numbered)).text


def test_rows_from_a_later_one() -> None:
    """Near miss: the first rows are left out, and no steps were taken before."""
    loop = "for i in {}:\n    train_step(x[i : i + 1], x[i : i + 1])\n"
    text = plan_of(HEAD + loop.format("range(100, 228)")).text
    assert loop.format("shard(range(100, 228))") in text


def test_a_variable_that_begins_later() -> None:
    turns = TURNS.replace("step += 1", "step.assign_add(1)").replace("** step", "** float(step)")
    text = plan_of(f"{HEAD}first = 3\nstep = tf.Variable(48)\n{turns}").text
    assert "0.99 ** float(step) * hvd.size()\n" in text
    assert "step.assign_add(hvd.size())\n" in text


@pytest.mark.parametrize(
    ("start", "after"),
    [
        ("3 * 16", "3 * 16 // hvd.size()"),
        ("args.start_step", "args.start_step // hvd.size()"),
        # near misses: from nothing; of a rank's own data
        ("0", "0"),
        ("first * len(ds)", "first * len(ds)"),
    ],
)
def test_what_an_optimizers_count_is_set_to(start: str, after: str) -> None:
    """It counts a rank's steps."""
    turns = TURNS.replace("step += 1", "pass").replace("** step", "** float(opt.iterations)")
    text = plan_of(f"{HEAD}first = 3\nopt.iterations.assign({start})\n{turns}").text
    assert f"opt.iterations.assign({after})\n" in text
    assert "0.99 ** (float(opt.iterations) * hvd.size()) * hvd.size()\n" in text


CALLBACK = """\
class Decay(tf.keras.callbacks.Callback):
    def __init__(self, start):
        super().__init__()
        self.step = start
    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = 0.1 * 0.99 ** self.step
        self.step += 1
model.compile(opt, "mse")
model.fit(x, x, batch_size=4, initial_epoch=3, epochs=9, callbacks=[Decay({})])
"""


@pytest.mark.parametrize(("given", "amount"), [("3 * (len(x) // 4)", "hvd.size()"), ("0", "1")])
def test_a_callback_that_is_told_where_it_begins(given: str, amount: str) -> None:
    text = plan_of(HEAD[: HEAD.index("def train_step")] + CALLBACK.format(given)).text
    assert f"Decay({given})" in text
    assert f"        self.step += {amount}\n" in text


SESSION = (
    TF
    + """
tf = tf.compat.v1
import numpy as np
x = np.ones((64, 3), "float32")
xp = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.layers.dense(xp, 1))
global_step = tf.train.get_or_create_global_step()
train_op = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=global_step)
saver = tf.train.Saver()
"""
)
TOLD = """\
def train(sess, counter):
    for epoch in range(9):
        for i in range(len(x) // 16):
            sess.run(train_op, {{xp: x[i * 16 : i * 16 + 16]}})
            counter += 1
            if counter % 500 == 0:
                saver.save(sess, "m", global_step=counter)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    counter = 1
    {restore}
    train(sess, counter)
"""


@pytest.mark.parametrize(
    ("restore", "amount"),
    [('counter = int(tf.train.latest_checkpoint(".").split("-")[-1])', "hvd.size()"), ("pass", "1")],
)
def test_a_function_is_told_what_a_checkpoint_is_called(restore: str, amount: str) -> None:
    text = plan_of(SESSION + TOLD.format(restore=restore)).text
    assert f"            counter += {amount}\n" in text


@pytest.mark.parametrize("setting", ["tf.assign(global_step, {})", "global_step.assign({})"])
@pytest.mark.parametrize(("start", "after"), [("3 * 16", "3 * 16 // hvd.size()"), ("0", "0")])
def test_what_a_graphs_global_step_is_set_to(setting: str, start: str, after: str) -> None:
    turns = f"""\
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run({setting.format(start)})
    for i in range(len(x) // 16):
        sess.run(train_op, {{xp: x[i * 16 : i * 16 + 16]}})
"""
    assert f"    sess.run({setting.format(after)})\n" in plan_of(SESSION + turns).text
