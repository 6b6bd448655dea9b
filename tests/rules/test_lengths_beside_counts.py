"""G6: the length of a rank's own data beside a count that goes on by the steps of all ranks."""

from __future__ import annotations

import pytest

from .pairs import plan_of

LOOP = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320).batch(16, drop_remainder=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)
step = tf.Variable(0, dtype=tf.int64)
ckpt = tf.train.Checkpoint({kept})
manager = tf.train.CheckpointManager(ckpt, "ck", max_to_keep=2)
ckpt.restore(manager.latest_checkpoint)
total = {total}
warmup = 2 * len(ds)
for epoch in range({first}, 6):
    for xb, yb in ds:
        {before}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(xb, training=True) - yb))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        step.assign_add(1)
    manager.save()
"""
KEPT = "model=model, opt=opt, step=step"


def distributed(
    before: str = "pass", kept: str = KEPT, total: str = "6 * len(ds)", first: str = "int(step) // len(ds)"
) -> str:
    return plan_of(LOOP.format(before=before, kept=kept, total=total, first=first)).text


def test_a_run_goes_on_with_the_epoch_after_the_last() -> None:
    """It began with epoch 6 of 6 after three of them, on two ranks."""
    assert "range(int(step) // (len(ds) * hvd.size()), 6)" in distributed()
    assert "range(int(step) // (len(x) // 16), 6)" in distributed(first="int(step) // (len(x) // 16)")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("opt.learning_rate = 0.01 * (1 - int(step) / total)", "0.01 * (1 - int(step) / (total * hvd.size()))"),
        ("opt.learning_rate = 0.01 * (total - int(step)) / total", "(total * hvd.size() - int(step)) / (total * hvd.size())"),
        ("opt.learning_rate = 0.1 * min(int(step), warmup) / warmup", "min(int(step), warmup * hvd.size()) / ("),
        ("opt.learning_rate = 0.01 * (int(step) + 1) / warmup", "0.01 * (int(step) + hvd.size()) / (warmup * hvd.size())"),
        ("opt.learning_rate = 0.01 if int(step) < warmup else 0.001", "if int(step) < warmup * hvd.size()"),
        ("opt.learning_rate = 0.01 if int(step) < len(ds) + 20 else 0.001", "int(step) < (len(ds) + 20) * hvd.size()"),
        ("progress = int(step) / total\n        opt.learning_rate = 0.01 * (1 - progress)", "int(step) / (total * hvd.size())"),
        ("if int(step) == total // 2:\n            opt.learning_rate = 0.001", "<= total // 2 * hvd.size() < int(step) + "),
        ("if int(step) % len(ds) == 0:\n            print(epoch)", "int(step) % (len(ds) * hvd.size()) < hvd.size()"),
    ],
)  # fmt: skip
def test_what_such_a_count_is_measured_by_is_that_of_all_ranks(before: str, after: str) -> None:
    assert after in distributed(before)


@pytest.mark.parametrize(
    ("before", "total"),
    [
        ("opt.learning_rate = 0.01 * (1 - int(step) / total)", "6 * (len(x) // 16)"),  # of one process
        ("opt.learning_rate = 0.01 * (1 - int(step) / total)", "120"),
        ("opt.learning_rate = 0.01 * (1 - epoch / 6)", "120"),  # no count of steps
        ("share = 1 / len(ds)", "120"),
    ],
)
def test_other_lengths_stay(before: str, total: str) -> None:
    assert before.split(" = ")[1] in distributed(before, total=total)


def test_a_count_of_a_rank_that_nothing_keeps_goes_with_its_length() -> None:
    text = distributed("opt.learning_rate = 0.01 * (1 - int(step) / total)", kept="model=model", first="0")
    assert "0.01 * (1 - int(step) / total) * hvd.size()" in text


def test_a_number_in_a_file_counts_likewise() -> None:
    source = """\
import json
import os
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)
state = json.load(open("state.json")) if os.path.exists("state.json") else {"epoch": 0, "step": 0}
total = 6 * len(ds)
for epoch in range(state["epoch"], 6):
    for xb, yb in ds:
        opt.learning_rate = 0.01 * (1 - state["step"] / total)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(xb, training=True) - yb))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        state["step"] += 1
    state["epoch"] = epoch + 1
    with open("state.json", "w") as f:
        json.dump(state, f)
"""
    text = plan_of(source).text
    assert 'state["step"] += hvd.size()' in text
    assert '1 - state["step"] / (total * hvd.size())' in text
