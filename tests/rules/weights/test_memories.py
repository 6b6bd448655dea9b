"""G2: what a program remembers of each row, and makes later losses with, is asked about."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
ds = tf.data.Dataset.from_tensor_slices((np.arange(len(x)), x)).shuffle(512).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
memory, losses, rates = np.zeros((len(x), 1)), np.zeros(len(x)), np.zeros(9)
bank = tf.Variable(tf.zeros([512, 1]))


def step(x, rows, epoch, before):
    with tf.GradientTape() as tape:
        out = model(x)
        mask = np.zeros(8)
        mask[np.argsort(out[:, 0])[:4]] = 1.0
        loss = tf.reduce_mean(mask * out[:, 0] ** 2) {more}
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return out


for epoch in range(9):
    for rows, x in ds:
        out = step(x, rows, epoch, memory[rows.numpy()])
        {filled}
"""


def asked(filled: str, more: str = "") -> int:
    plan = plan_of(PROGRAM.format(filled=filled, more=more))
    return sum("each rank fills this in" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("filled", "more"),
    [
        ("losses[rows.numpy()] = out[:, 0]", ""),  # only kept
        ("rates[epoch] = 0.5", "* rates[epoch]"),  # the same on all ranks
        ("memory[0] = out[0]", "+ tf.reduce_mean(before)"),  # no memory of rows
        ("fresh = np.zeros(512); fresh[rows.numpy()] = 1.0", "+ tf.reduce_mean(before)"),
    ],
)
def test_what_no_later_loss_is_made_with_is_left(filled: str, more: str) -> None:
    assert asked(filled, more) == 0


@pytest.mark.parametrize(
    ("filled", "more"),
    [
        ("memory[rows.numpy()] = 0.6 * memory[rows.numpy()] + 0.4 * out.numpy()", "+ tf.reduce_mean(before)"),
        ("losses[rows.numpy()] += 1", "+ tf.reduce_mean(losses[rows.numpy()])"),
        ("bank.scatter_nd_update(rows[:, None], out)", "+ tf.reduce_mean(tf.gather(bank, rows))"),
        (
            "bank[epoch * 8 : epoch * 8 + 8].assign(out)",
            "+ tf.reduce_mean(tf.matmul(out, bank, transpose_b=True))",
        ),
    ],
)
def test_a_memory_of_rows_is_asked_about(filled: str, more: str) -> None:
    assert asked(filled, more) == 1


@pytest.mark.parametrize("method", ["scatter_sub", "scatter_add", "scatter_max", "scatter_nd_sub"])
def test_parts_that_rows_move_on_are_asked_about(method: str) -> None:
    """The centers of a center loss: another rank's rows belong to the same classes."""
    moved = f"bank.{method}(tf.IndexedSlices(0.1 * (tf.gather(bank, rows % 9) - out), rows % 9))"
    plan = plan_of(PROGRAM.format(filled=moved, more="+ tf.reduce_mean(tf.gather(bank, rows % 9))"))
    assert sum("moves parts of this on by its own rows" in c.doubt for c in plan.changes) == 1
    plan = plan_of(PROGRAM.format(filled=moved, more=""))  # no loss is made with it
    assert not any("moves parts of this on" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(("used", "asks"), [("self.centers", 1), ("tf.zeros((3, 2))", 0)])
def test_parts_that_a_train_step_moves_on_are_asked_about(used: str, asks: int) -> None:
    program = f"""\
import numpy as np
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.body = tf.keras.layers.Dense(2)
        self.centers = tf.Variable(tf.zeros((3, 2)), trainable=False)

    def call(self, x):
        return self.body(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            f = self(x)
            loss = tf.reduce_mean((f - tf.gather({used}, y)) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.centers.scatter_sub(tf.IndexedSlices(0.1 * (tf.gather(self.centers, y) - f), y))
        return {{"loss": loss}}


net = Net()
net.compile(tf.keras.optimizers.SGD(0.02))
net.fit(np.load("x.npy"), np.load("y.npy"), batch_size=8)
"""
    asked = [c for c in plan_of(program).changes if "each rank sets this by its own rows" in c.doubt]
    assert len(asked) == asks


HARD = """\
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
hard = np.ones(len(x))
for epoch in range(4):
    order = {order}
    for i in range(0, len(x), 8):
        rows = order[i : i + 8]
        model.train_on_batch(x[rows], y[rows])
        hard[rows] = np.abs(model.predict_on_batch(x[rows]) - y[rows])[:, 0] + 1e-3
    print(hard.mean())
"""


@pytest.mark.parametrize(
    ("order", "asks"),
    [
        ("rng.choice(len(x), len(x), p=hard / hard.sum())", 1),
        ("np.argsort(-hard)", 1),
        ("hard.argsort()", 1),
        ("rng.permutation(len(x))", 0),
        ("np.argsort(y[:, 0])", 0),
    ],
)
def test_what_rows_are_drawn_by_is_asked_about(order: str, asks: int) -> None:
    plan = plan_of(HARD.format(order=order))
    assert sum("each rank fills this in" in c.doubt for c in plan.changes) == asks


@pytest.mark.parametrize(
    ("filled", "after", "said"),
    [
        ("losses[rows.numpy()] = out[:, 0]", "np.save('losses.npy', losses)", 1),
        ("losses[rows.numpy()] += out[:, 0]", "np.savetxt('losses.txt', losses / 9)", 1),
        ("losses[rows.numpy()] = out[:, 0]", "print(losses.mean())", 0),  # only shown
        ("rates[epoch] = float(out[0, 0])", "np.save('rates.npy', rates)", 0),  # a history
        ("memory[0] = out[0]", "np.save('memory.npy', memory)", 0),
    ],
)
def test_what_is_written_of_each_row_is_said_to_be_a_ranks_own(filled: str, after: str, said: int) -> None:
    plan = plan_of(PROGRAM.format(filled=filled, more="") + after + "\n")
    assert sum("what rank 0 writes of it" in note.message for note in plan.notes) == said


CENTERS = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
centers = np.zeros((2, 3))
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
opt = tf.keras.optimizers.SGD(0.1)
for step in range(400):
    j = np.random.randint(0, len(x), 16)
    with tf.GradientTape() as tape:
        f = model(x[j])
        loss = tf.reduce_mean((f - {used}) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    for k in np.unique(y[j]):
        {moved}
"""


@pytest.mark.parametrize(
    ("used", "moved", "asked"),
    [
        ("centers[y[j]]", "centers[k] += 0.05 * (f.numpy()[y[j] == k].mean(0) - centers[k])", 1),
        ("y[j]", "centers[k] += 0.05 * (f.numpy()[y[j] == k].mean(0) - centers[k])", 0),  # only kept
        ("centers[y[j]]", "pass", 0),
        ("centers[y[j]]", "fresh = np.zeros((2, 3)); fresh[k] += f.numpy().mean(0)", 0),
    ],
)
def test_centers_that_batches_drawn_by_a_rank_move(used: str, moved: str, asked: int) -> None:
    """Each rank had centers of its own."""
    plan = plan_of(CENTERS.format(used=used, moved=moved))
    assert sum("moves parts of this on by its own rows" in c.doubt for c in plan.changes) == asked
