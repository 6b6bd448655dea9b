"""G5, G6: the length of a rank's own data beside a count that goes on by the steps of all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

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
        ("opt.learning_rate = 0.1 * cos((int(step) - 20) / (total - 20))", "(int(step) - 20) / (total * hvd.size() - 20)"),
        ("opt.learning_rate = cos((int(step) - warmup) / (total - warmup))", "/ (total * hvd.size() - warmup * hvd.size())"),
        ("opt.learning_rate = 0.1 * cos((int(step) - 20) / max(1, total - 20))", "/ max(1, total * hvd.size() - 20)"),
        ("opt.learning_rate = 0.1 * min(int(step), warmup) / warmup", "min(int(step), warmup * hvd.size()) / ("),
        ("opt.learning_rate = 0.01 * (int(step) + 1) / warmup", "0.01 * (int(step) + hvd.size()) / (warmup * hvd.size())"),
        ("opt.learning_rate = 0.01 if int(step) < warmup else 0.001", "if int(step) < warmup * hvd.size()"),
        ("opt.learning_rate = 0.01 if int(step) < len(ds) + 20 else 0.001", "int(step) < len(ds) * hvd.size() + 20"),
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


def test_of_a_sum_with_a_rank_s_count_the_whole_is_that_of_all_ranks() -> None:
    turn = LOOP.replace("for xb, yb in ds:", "for i, (xb, yb) in enumerate(ds):")
    text = plan_of(
        turn.format(before="rate = int(step) / (total - i)", kept=KEPT, total="len(ds)", first="0")
    ).text
    assert "(total - i) * hvd.size()" in text


def test_a_cosine_that_warms_up_beside_a_number_in_a_file() -> None:
    """(total - 20) * size() was too few: the rate rose again in the last of the epochs, on two ranks."""
    text = plan_of(COSINE).text
    assert "(step + hvd.size()) / warm" in text
    assert "(step - warm) / (total * hvd.size() - warm)" in text


COSINE = """\
import json
import math
import os
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)
def rate(step, total, warm):
    if step < warm:
        return 0.01 * (step + 1) / warm
    return 0.005 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))
step = json.load(open("state.json"))["step"] if os.path.exists("state.json") else 0
for epoch in range(6):
    for xb, yb in ds:
        opt.learning_rate = rate(step, 6 * len(ds), 20)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(xb, training=True) - yb))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        step += 1
    with open("state.json", "w") as f:
        json.dump({"step": step}, f)
"""


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


OVER_EPOCHS = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)
{before}
for epoch in range(6):
    for i, (xb, yb) in enumerate(ds):
        {turn}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(xb, training=True) - yb))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def over_epochs(before: str, *turn: str) -> str:
    return plan_of(OVER_EPOCHS.format(before=before, turn="\n        ".join(turn))).text


COUNT = "it = epoch * len(ds) + i"
TOLD = "it = epoch * (len(ds) * hvd.size()) + i * hvd.size()"


@pytest.mark.parametrize(
    ("turn", "after"),
    [
        ("opt.learning_rate = 0.01 * (1 - it / total)", "0.01 * (1 - it / (total * hvd.size())) * hvd.size()"),
        ("opt.learning_rate = 0.01 * (1 - it / (6 * len(ds)))", "it / (6 * len(ds) * hvd.size())"),
        ("opt.learning_rate = 0.01 if it < 2 * len(ds) else 0.001", "if it < 2 * len(ds) * hvd.size() else"),
        ("if it % (2 * len(ds)) == 0:\n            model.save_weights('a.h5')", "it % (2 * len(ds) * hvd.size()) < hvd.size()"),
    ],
)  # fmt: skip
def test_beside_a_count_over_all_epochs_too(turn: str, after: str) -> None:
    """The rate fell below zero, and what came every second epoch came with each, on two ranks."""
    text = over_epochs("total = 6 * len(ds)", COUNT, turn)
    assert TOLD in text
    assert after in text


def test_also_in_a_function_that_is_handed_the_count_and_of_a_field() -> None:
    text = over_epochs(
        "def shown(step):\n    print(step / len(ds), step)",
        "shown(epoch * len(ds) + i)",
        "opt.learning_rate = 0.1",
    )
    assert "print(step / (len(ds) * hvd.size()), step)" in text
    text = over_epochs(
        "class S:\n    it = 0\ns = S()\ntotal = 6 * len(ds)",
        "s.it = epoch * len(ds) + i",
        "opt.learning_rate = 0.01 * (1 - s.it / total)",
    )
    assert "s.it / (total * hvd.size())" in text


@pytest.mark.parametrize(
    ("turn", "left"),
    [
        ("share = i / len(ds)", "share = i / len(ds)\n"),  # a rank's turn of a rank's turns
        ("opt.learning_rate = 0.01 * (1 - it / 120)", "it / 120) * hvd.size()"),  # of all ranks as it stands
        ("opt.learning_rate = 0.01 * (1 - it / (len(x) // 16 * 6))", "it / (len(x) // 16 * 6)) * hvd.size()"),
        ("seen = len(ds) * 6\n        share = seen / len(ds)", "share = seen / len(ds)\n"),
    ],
)
def test_what_is_no_count_of_all_or_no_share_stays_beside_it(turn: str, left: str) -> None:
    assert left in over_epochs("pass", COUNT, turn, "opt.learning_rate = 0.01 * (1 - it / 500)")


def test_a_function_that_other_numbers_are_handed_to_as_well_is_left() -> None:
    text = over_epochs(
        "def part(n):\n    return n / len(ds)", COUNT, "print(part(it), part(i))", "opt.learning_rate = 0.1"
    )
    assert "return n / len(ds)\n" in text


@pytest.mark.parametrize("given", ["len(ds), 6", "n=len(ds), epochs=6"])
def test_an_object_that_holds_a_length_is_no_length(given: str) -> None:
    """`S(len(ds), 6) * hvd.size()` was written, which failed."""
    cls = (
        "class S:\n    def __init__(self, n, epochs):\n        self.n = n\n        self.total = n * epochs\n"
        "    def rate(self, epoch, i):\n        return 0.01 * (1 - (epoch * self.n + i) / self.total)\n"
    )
    text = over_epochs(f"{cls}s = S({given})", "opt.learning_rate.assign(s.rate(epoch, i))")
    assert f"s = S({given.replace('len(ds)', 'len(ds) * hvd.size()')})\n" in text
    assert "(epoch * self.n + i) / self.total" in text
    assert "s.rate(epoch, i * hvd.size()) * hvd.size()" in text


def test_of_a_callback_whose_fields_are_both_a_ranks() -> None:
    text = plan_of(
        """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
class Poly(tf.keras.callbacks.Callback):
    def __init__(self, n, epochs):
        super().__init__()
        self.n, self.total, self.epoch = n, n * epochs, 0
    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
    def on_train_batch_begin(self, batch, logs=None):
        it = self.epoch * self.n + batch
        self.model.optimizer.learning_rate.assign(0.01 * (1 - it / self.total))
model.fit(ds, epochs=3, callbacks=[Poly(len(ds), 3)])
"""
    ).text
    assert "it = self.epoch * (self.n * hvd.size()) + batch * hvd.size()" in text
    assert "(1 - it / (self.total * hvd.size())) * hvd.size()" in text
