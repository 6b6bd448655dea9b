"""A step's number that chooses what is trained, `heads[step % 3]`, selects no rows: ranks with numbers of their own would train
other weights in one step, and average what doesn't belong together."""

from __future__ import annotations

import pytest

from .pairs import plan_of

BEGIN = """\
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(256, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
mse = tf.keras.losses.MeanSquaredError()
opt = tf.keras.optimizers.SGD(0.1)
"""
DRAW = "    k = np.random.randint(0, 256, 16)\n    a, b = x[k], y[k]\n"
TAPE = "    with tf.GradientTape() as tape:\n        loss = mse(b, {})\n"
APPLY = "    opt.apply_gradients(zip(tape.gradient(loss, {0}), {0}))\n"
MODELS = "models = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(3)]\n"
TRAINER = """\
class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    def step(self, a, b):
        with tf.GradientTape() as tape:
            loss = mse(b, self.model(a))
        opt.apply_gradients(zip(tape.gradient(loss, self.model.trainable_variables), self.model.trainable_variables))
trainers = [Trainer() for _ in range(3)]
"""
TURNS = "for step in range(3000):\n"


@pytest.mark.parametrize(
    "program",
    [
        MODELS
        + TURNS
        + "    m = models[step % 3]\n"
        + DRAW
        + TAPE.format("m(a)")
        + APPLY.format("m.trainable_variables"),
        "heads = {0: tf.keras.layers.Dense(1), 1: tf.keras.layers.Dense(1)}\ntrunk = tf.keras.layers.Dense(8)\n"
        + TURNS
        + "    h = step % 2\n"
        + DRAW
        + TAPE.format("heads[h](trunk(a))")
        + "    v = trunk.trainable_variables + heads[h].trainable_variables\n"
        + APPLY.format("v"),
        "u, w = tf.Variable(tf.zeros([4, 1])), tf.Variable(tf.zeros([1]))\n"
        + TURNS
        + "    v = [u, w][step % 2]\n"
        + DRAW
        + TAPE.format("a @ u + w")
        + APPLY.format("[v]"),
        "tasks = [(tf.keras.layers.Dense(1), y), (tf.keras.layers.Dense(1), y * 2)]\n"
        + TURNS
        + "    layer, goal = tasks[step % 2]\n    k = np.random.randint(0, 256, 16)\n    a, b = x[k], goal[k]\n"
        + TAPE.format("layer(a)")
        + APPLY.format("layer.trainable_variables"),
        TRAINER + TURNS + "    t = trainers[step % 3]\n" + DRAW + "    t.step(a, b)\n",
        MODELS.replace("])", "])", 1)
        + "for m in models:\n    m.compile('sgd', 'mse')\n"
        + TURNS
        + DRAW
        + "    models[step % 3].train_on_batch(a, b)\n",
    ],
)
def test_all_ranks_train_the_same_in_a_step(program: str) -> None:
    text = plan_of(BEGIN + program).text
    assert "for step in range(3000 // hvd.size()):" in text
    assert "own_" not in text


def test_how_long_one_is_trained_goes_by_the_rows_that_are_seen() -> None:
    program = (
        "    m = models[step // 1000]\n" + DRAW + TAPE.format("m(a)") + APPLY.format("m.trainable_variables")
    )
    assert "models[step // max(1, 1000 // hvd.size())]" in plan_of(BEGIN + MODELS + TURNS + program).text


@pytest.mark.parametrize("rows", ["[x[:128], x[128:]]", "np.split(x, 8)", "load()"])
def test_a_number_that_selects_rows_is_each_ranks_own(rows: str) -> None:
    program = (
        f"parts = {rows}\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nfor step in range(3000):\n"
        "    a = parts[step % 2]\n"
        + TAPE.format("model(a)").replace("mse(b, ", "tf.reduce_mean(")
        + APPLY.format("model.trainable_variables")
    )
    text = plan_of(BEGIN + program).text
    assert "range(hvd.rank(), 3000 // hvd.size() * hvd.size(), hvd.size())" in text


SESSION = """\
import numpy as np
import tensorflow.compat.v1 as tf
rows = np.random.rand(256, 4)
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
a = tf.train.AdamOptimizer(0.1).minimize(loss)
b = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
ops, order = {}, ["a", "a", "b"]
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(3000):
    k = np.random.randint(0, 240)
    sess.run({}, {{x: rows[k : k + 16]}})
"""


@pytest.mark.parametrize(
    ("ops", "fetched"), [("[a, b]", "ops[step % 2]"), ("{'a': a, 'b': b}", "ops[order[step % 3]]")]
)
def test_all_ranks_run_the_same_operation_in_a_step(ops: str, fetched: str) -> None:
    text = plan_of(SESSION.format(ops, fetched).replace("{{", "{").replace("}}", "}")).text
    assert "for step in range(3000 // hvd.size()):" in text


CYCLE = (
    "import itertools\nrows = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)\n"
    + MODELS
    + "turn = itertools.cycle({})\nfor a, b in rows:\n    {}\n"
    + TAPE.format("m(a)")
    + APPLY.format("m.trainable_variables")
)


@pytest.mark.parametrize(
    ("cycled", "taken"),
    [
        ("range(3)", "m = models[next(turn)]"),
        ("models", "m = next(turn)"),
        ("range(3)", "k = next(turn)\n    m = models[k]"),
    ],
)
def test_what_comes_round_in_turns_is_not_dealt_out(cycled: str, taken: str) -> None:
    assert f"    {taken}\n" in plan_of(BEGIN + CYCLE.format(cycled, taken)).text


@pytest.mark.parametrize(
    ("taken", "dealt"),
    [
        ("c = next(it)\n    a = resample(c)", "c = [next(it) for _ in range(hvd.size())][hvd.rank()]"),
        ("a = resample(next(it))", "a = resample([next(it) for _ in range(hvd.size())][hvd.rank()])"),
    ],
)
def test_a_batch_that_a_function_goes_on_with_is_dealt_out(taken: str, dealt: str) -> None:
    program = (
        "def batches():\n    while True:\n        for i in range(0, 256, 16):\n            yield x[i : i + 16]\n"
        "def resample(rows):\n    return rows[::2]\nit = batches()\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "for step in range(3000):\n    "
        + taken
        + "\n"
        + TAPE.format("model(a)").replace("mse(b, ", "tf.reduce_mean(")
        + APPLY.format("model.trainable_variables")
    )
    assert dealt in plan_of(BEGIN + program).text
