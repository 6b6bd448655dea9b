"""G5: counts of steps over all epochs, `epoch * steps + step`."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

TAPE = """\
import tensorflow as tf

x = load()
ds = tf.data.Dataset.from_tensor_slices(x).shuffle(100).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
steps = len(x) // 32
for epoch in range(10):
    for i, a in enumerate(ds):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(a) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        {read}
"""
SESSION = """\
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 5])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = tf.train.AdamOptimizer(0.1).minimize(loss)
saver = tf.train.Saver()
data = load()
n = len(data) // 32
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for e in range(10):
        for b in range(n):
            sess.run(train, {x: data[b * 32:(b + 1) * 32]})
            if (e * n + b) % 1000 == 0:
                saver.save(sess, "m", global_step=e * n + b)
"""


def line_with(text: str, part: str) -> str:
    return next(line.strip() for line in text.splitlines() if part in line)


@pytest.mark.parametrize(
    "read",
    [
        "cell = epoch * 7 + 3",  # no step of an epoch
        "place = loss * steps + i",  # no epoch
        "fraction = epoch + i / steps",  # no count of steps
        "number = i * 32 + 5",  # rows
    ],
)
def test_what_counts_no_steps_over_epochs_is_left(read: str) -> None:
    assert line_with(plan_of(TAPE.format(read=read)).text, read.split(" = ", maxsplit=1)[0] + " =") == read


def test_the_steps_of_an_epoch_are_those_of_all_ranks() -> None:
    read = "step = epoch * steps + i\n        if step % 100 == 0:\n            print(step, float(loss))"
    text = plan_of(TAPE.format(read=read)).text
    assert "step = epoch * steps + i * hvd.size()\n" in text
    assert "if step % 100 < hvd.size()" in text


BY_HAND = TAPE.replace(
    "    for i, a in enumerate(ds):\n",
    "    i = 0\n    batches = iter(ds)\n    while i < steps:\n        a = next(batches)\n",
)


def test_a_step_that_is_counted_by_hand() -> None:
    read = "step = epoch * steps + i\n        if step % 100 == 0:\n            print(step)\n        i += 1"
    text = plan_of(BY_HAND.format(read=read)).text
    assert "step = epoch * steps + i * hvd.size()\n" in text
    assert "if step % 100 < hvd.size()" in text


IN_FUNCTION = (
    TAPE.replace("for epoch in range(10):\n", "def run(epoch):\n") + "for e in range(10):\n    run(e)\n"
)


def test_an_epoch_that_a_function_is_told() -> None:
    read = "step = epoch * steps + i\n        if step % 100 == 0:\n            print(step, float(loss))"
    text = plan_of(IN_FUNCTION.format(read=read)).text
    assert "step = epoch * steps + i * hvd.size()\n" in text


def test_another_number_that_a_function_is_told_is_no_epoch() -> None:
    other = IN_FUNCTION.replace("for e in range(10):\n    run(e)\n", "run(3)\n")
    assert (
        line_with(plan_of(other.format(read="step = epoch * steps + i")).text, "step =")
        == "step = epoch * steps + i"
    )


def test_an_epoch_that_a_function_hands_to_itself_is_left() -> None:
    again = "    if again:\n        run(epoch)\n        run(epoch)\nfor e in range(10):"
    program = IN_FUNCTION.replace("for e in range(10):", again).format(read="step = epoch * steps + i")
    assert line_with(plan_of(program).text, "step =") == "step = epoch * steps + i"


def test_a_number_that_begins_again_within_an_epoch_is_no_step_of_it() -> None:
    read = "step = epoch * steps + i\n        print(step)\n        i += 1\n        if loss < 1:\n            i = 0"
    assert line_with(plan_of(BY_HAND.format(read=read)).text, "step =") == "step = epoch * steps + i"


def test_a_test_of_the_sum_itself() -> None:
    text = plan_of(TAPE.format(read="if (i + epoch * steps) % 100 == 0: print(float(loss))")).text
    assert "if (i * hvd.size() + epoch * steps) % 100 < hvd.size()" in text


def test_numbers_of_a_session_end_with_those_of_all() -> None:
    """There the last turn has the last number, for tests of it: the count must not go beyond."""
    text = plan_of(SESSION).text
    count = "e * n + min(b * hvd.size(), n - 1)"
    assert f"if ({count}) % 1000 < hvd.size()" in text
    assert f"global_step={count})" in text


def test_a_rate_and_an_event_by_the_same_count() -> None:
    """Whichever rule lets it count the steps of all ranks, the event comes as often as before."""
    read = (
        "step = epoch * steps + i\n        opt.learning_rate = 0.1 * (1 - step / 900)\n"
        "        if (step + 1) % 100 == 0:\n            model.save('m')"
    )
    text = plan_of(TAPE.format(read=read)).text
    assert "step = epoch * steps + i * hvd.size()" in text
    assert "if (step + hvd.size()) % 100 < hvd.size()" in text


def test_steps_that_are_counted_from_one() -> None:
    text = plan_of(TAPE.format(read="if not (epoch * steps + i + 1) % 100: model.save('m')")).text
    assert "if not (epoch * steps + i * hvd.size() + hvd.size()) % 100 >= hvd.size()" in text


@pytest.mark.parametrize(
    ("made", "count", "after"),
    [
        ("pass", "epoch * len(ds) + i", "epoch * (len(ds) * hvd.size()) + i * hvd.size()"),
        ("steps = len(ds)", "epoch * steps + i", "epoch * (steps * hvd.size()) + i * hvd.size()"),
        ("steps = len(ds)", "i + steps * epoch", "i * hvd.size() + steps * hvd.size() * epoch"),
    ],
)
def test_the_length_of_data_that_are_divided_counts_all_ranks_steps_too(
    made: str, count: str, after: str
) -> None:
    read = (
        f"n = {count}\n        if n % 30 == 0:\n            model.save_weights('w.h5')\n        if n == 100:\n"
        + ("            opt.learning_rate.assign(0.01)")
    )
    text = plan_of(TAPE.replace("steps = len(x) // 32", made).format(read=read)).text
    assert f"        n = {after}\n" in text
    assert "        if n % 30 < hvd.size()" in text
    assert "        if 100 <= n < 100 + hvd.size():\n" in text


def test_a_number_that_goes_on_in_a_for_loop_numbers_its_turns() -> None:
    """`i = 0` before the loop over batches, `i += 1` at the end of it."""
    program = TAPE.replace("for i, a in enumerate(ds):", "for a in ds:").replace(
        "    for a in", "    i = 0\n    for a in"
    )
    read = "n = epoch * len(ds) + i\n        if n % 30 == 0:\n            model.save_weights('w.h5')\n        i += 1"
    text = plan_of(program.format(read=read)).text
    assert "        n = epoch * (len(ds) * hvd.size()) + i * hvd.size()\n" in text
    assert "        if n % 30 < hvd.size()" in text


CALLBACK = """\
import tensorflow as tf

class Every(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.epoch = 0
    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = {epoch}
    def on_train_batch_end(self, batch, logs=None):
        number = {count}
        if number % 20 == 0:
            self.model.save_weights("w.weights.h5")

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(load(), load(), batch_size=8, callbacks=[Every()])
"""


@pytest.mark.parametrize(
    ("count", "after"),
    [
        (
            "self.epoch * self.params['steps'] + batch",
            "self.epoch * (self.params['steps'] * hvd.size()) + batch * hvd.size()",
        ),
        (
            "batch + 1 + self.epoch * self.params['steps']",
            "batch * hvd.size() + hvd.size() + self.epoch * (self.params['steps'] * hvd.size())",
        ),
        ("self.epoch * 500 + batch", "self.epoch * 500 + batch * hvd.size()"),
        (
            "self.epoch * 4000 // 8 + batch",
            "self.epoch * 4000 // 8 + batch * hvd.size()",
        ),  # rows by those of a batch
        ("batch + self.epoch * 4000 / 8", "batch * hvd.size() + self.epoch * 4000 / 8"),
        ("500 * self.epoch + (batch + 1)", "500 * self.epoch + (batch * hvd.size() + hvd.size())"),
    ],
)
def test_callbacks_count_the_batches_of_all_epochs(count: str, after: str) -> None:
    text = plan_of(CALLBACK.format(epoch="epoch", count=count)).text
    assert line_with(text, "number =") == f"number = {after}"
    assert "if number % 20 < hvd.size() and hvd.rank() == 0:" in text


@pytest.mark.parametrize(
    ("epoch", "count"),
    [
        ("epoch", "self.epoch * 500 + 3"),
        ("logs", "self.epoch * 500 + batch"),
        ("epoch", "500 // self.epoch + batch"),
        ("epoch", "self.epoch // 2 + batch"),
        ("logs", "self.epoch * 4000 // 8 + batch"),
    ],
)
def test_what_is_no_such_count_of_a_callback_is_left(epoch: str, count: str) -> None:
    text = plan_of(CALLBACK.format(epoch=epoch, count=count)).text
    assert line_with(text, "number =") == f"number = {count}"


CONVERTED = """\
import tensorflow as tf

ds = tf.data.Dataset.from_tensor_slices(load()).shuffle(100).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
n = int(ds.cardinality())
for epoch in {epochs}:
    for i, a in {batches}:
        step = {count}
        {rate}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(a) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        if step and step % 25 == 0:
            print(step, float(loss))
"""


@pytest.mark.parametrize("rate", ["pass", "opt.learning_rate = 0.1 * 0.99**step"])
@pytest.mark.parametrize(
    ("epochs", "batches", "count", "of_all"),
    [
        (
            "range(3)",
            "ds.enumerate()",
            "epoch * n + int(i)",
            "epoch * (n * hvd.size()) + int(i) * hvd.size()",
        ),
        ("range(3)", "enumerate(ds)", "epoch * n + int(i)", "epoch * (n * hvd.size()) + int(i) * hvd.size()"),
        (
            "tf.range(3)",
            "ds.enumerate()",
            "int(epoch) * n + i.numpy()",
            "int(epoch) * (n * hvd.size()) + i.numpy() * hvd.size()",
        ),
    ],
)
def test_a_number_in_another_type_counts_too(
    epochs: str, batches: str, count: str, of_all: str, rate: str
) -> None:
    """The steps of all ranks were counted for the rate alone, or not at all: what comes every 25 steps came half as often."""
    text = plan_of(CONVERTED.format(epochs=epochs, batches=batches, count=count, rate=rate)).text
    assert line_with(text, "step =") == f"step = {of_all}"
    assert line_with(text, "if step and") == "if step and step % 25 < hvd.size() and hvd.rank() == 0:"


def test_the_step_after_a_number_in_another_type() -> None:
    count = "epoch * n + int(i) + 1"
    text = plan_of(
        CONVERTED.format(epochs="range(3)", batches="ds.enumerate()", count=count, rate="pass")
    ).text
    assert line_with(text, "step =") == "step = epoch * (n * hvd.size()) + int(i) * hvd.size() + hvd.size()"


@pytest.mark.parametrize("count", ["epoch * n + int(i / 2)", "epoch * n + int(n)", "int(epoch / 2) * n + i"])
def test_other_conversions_count_nothing(count: str) -> None:
    source = CONVERTED.format(epochs="range(3)", batches="enumerate(ds)", count=count, rate="pass")
    assert line_with(plan_of(source).text, "step =") == f"step = {count}"


LENGTHS = """\
import numpy as np
import tensorflow.compat.v1 as tf
x, w = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [])
train = tf.train.AdamOptimizer(0.01).minimize(w * tf.reduce_mean(tf.square(tf.layers.dense(x, 1))))
data, B = np.load("rows.npy"), 16
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(10):
        for i in range({length}):
            step = epoch * {of} + i
            sess.run(train, {{x: data[np.random.randint(0, 900, B)], w: min(1.0, step / 100)}})
            if step % 50 == 0:
                print(step)
"""


@pytest.mark.parametrize(
    "length", ["len(data) // B", "int(len(data) / B)", "data.shape[0] // B", "int(len(data) * 0.8) // B"]
)
def test_the_length_of_an_epoch_may_be_written_out(length: str) -> None:
    of = length if length.startswith("int") else f"({length})"
    text = plan_of(LENGTHS.format(length=length, of=of)).text
    assert line_with(text, "step =") == f"step = epoch * {of} + i * hvd.size()"
    assert line_with(text, "w: min") == line_with(LENGTHS.format(length=length, of=of), "w: min")
    assert line_with(text, "if step") == "if step % 50 < hvd.size() and hvd.rank() == 0:"


@pytest.mark.parametrize("of", ["(len(data) - B)", "lengths[epoch]", "draw()"])
def test_what_may_be_no_length_of_an_epoch_is_no_such_count(of: str) -> None:
    text = plan_of(LENGTHS.format(length="len(data) // B", of=of)).text
    assert line_with(text, "step =") == f"step = epoch * {of} + i"
