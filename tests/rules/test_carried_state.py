"""Batches of loops whose steps hand a state on, as recurrent networks do, have an order: they are not dealt out."""

from __future__ import annotations

import pytest

from .pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
cell = tf.keras.layers.GRU(8, return_sequences=True, return_state=True)
out = tf.keras.layers.Dense(1)
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(4)
def train(x, y, state):
    with tf.GradientTape() as tape:
        seen, state = cell(x, initial_state=state)
        loss = tf.reduce_mean((out(seen) - y) ** 2)
    weights = cell.trainable_variables + out.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss, state
"""


def is_dealt(loop: str) -> bool:
    plan = plan_of(HEAD + loop)
    dealt = "shard_dataset(" in plan.text
    assert ("SGD(0.1 * hvd.size())" in plan.text) is dealt
    assert any("state" in n.message for n in plan.notes) is not dealt
    return dealt


@pytest.mark.parametrize(
    "loop",
    [
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    loss, h = train(x, y, h)\n",
        "for epoch in range(3):\n    h = cell.get_initial_state(batch_size=4)\n    for x, y in ds:\n"
        "        loss, h = train(x, y, h)\n",
        "h = None\nfor x, y in ds:\n    loss, h = train(x, y, h)\n    h = tf.stop_gradient(h)\n",
        "h = [tf.zeros([4, 8]) for _ in range(1)]\nfor i, (x, y) in enumerate(ds):\n    loss, h = train(x, y, state=h)\n",
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    h = tf.stop_gradient(train(x, y, h)[1])\n",
        "h = np.zeros((4, 8))\nfor x, y in ds:\n    with tf.GradientTape() as tape:\n"
        "        seen, h = cell(x, initial_state=h)\n"
        "        loss = tf.reduce_mean((out(seen) - y) ** 2)\n    w = cell.trainable_variables\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, w), w))\n",
        # under other names, and in several statements
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    got = train(x, y, h)\n    h = got[1]\n",
        "h = np.zeros((4, 8))\nfor x, y in ds:\n    loss, new = train(x, y, h)\n    h = new.numpy()\n",
        "h = [tf.zeros([4, 8])]\nfor x, y in ds:\n    outs = []\n    with tf.GradientTape() as tape:\n        s = h\n"
        "        for t in range(3):\n            seen, *s = cell(x[:, t], s)\n            outs.append(out(seen))\n"
        "        loss = tf.reduce_mean((tf.stack(outs, 1) - y) ** 2)\n    w = cell.trainable_variables\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, w), w))\n    h = [tf.stop_gradient(q) for q in s]\n",
        "class Trainer:\n    def __init__(self):\n        self.h = None\n    def step(self, x, y):\n"
        "        loss, h = train(x, y, self.h)\n        self.h = tf.stop_gradient(h)\n    def run(self):\n"
        "        for x, y in ds:\n            self.step(x, y)\nTrainer().run()\n",
        "m = {'h': tf.zeros([4, 8])}\nfor x, y in ds:\n    loss, new = train(x, y, m['h'])\n    m['h'] = new\n",
        "h = tf.zeros([4, 8])\ndef step(x, y):\n    global h\n    loss, h = train(x, y, h)\nfor x, y in ds:\n    step(x, y)\n",
    ],
)
def test_a_state_that_goes_from_step_to_step(loop: str) -> None:
    assert not is_dealt(loop)


@pytest.mark.parametrize(
    "loop",
    [
        # begins again with each batch
        "for x, y in ds:\n    h = tf.zeros([4, 8])\n    loss, h = train(x, y, h)\n",
        # what is given is not handed on
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    loss, last = train(x, y, h)\n",
        # a sum over the steps, where each is taken
        "total = np.zeros(1)\nh = tf.zeros([4, 8])\nfor x, y in ds:\n    total = np.add(train(x, y, h)[0], total)\n",
        # a sum over the steps
        "def add(total, loss):\n    return total + loss\ntotal = tf.zeros([])\nh = tf.zeros([4, 8])\nfor x, y in ds:\n"
        "    loss, _ = train(x, y, h)\n    total = add(total, loss)\n",
        # within one step
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    loss, _ = train(x, y, h)\n    for t in range(3):\n"
        "        seen, h2 = cell(x)\n",
        "m = {'h': tf.zeros([4, 8])}\nfor x, y in ds:\n    loss, new = train(x, y, m['h'])\n    m['seen'] = new\n",
        "h = tf.zeros([4, 8])\nfor x, y in ds:\n    s = h\n    loss, s = train(x, y, s)\n    print(s)\n",
        # weights of another network that go after those that are trained
        "old = [tf.zeros([8, 1])]\nfor x, y in ds:\n    with tf.GradientTape() as tape:\n        seen, _ = cell(x)\n"
        "        loss = tf.reduce_mean((out(seen) - seen @ old[0]) ** 2)\n    w = out.trainable_variables\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, w), w))\n    old = [0.9 * a + 0.1 * b for a, b in zip(old, w)]\n",
    ],
)
def test_near_misses(loop: str) -> None:
    assert is_dealt(loop)


def test_a_letter_of_the_same_name_elsewhere_is_no_state() -> None:
    """`c` is what a step fetches, and in the loader's own comprehension something else."""
    text = """\
import numpy as np
import tensorflow as tf
class Loader:
    def __init__(self, text):
        known = {c: i for i, c in enumerate(sorted(set(text)))}
        self.rows, self.at = np.array([known[c] for c in text]).reshape(-1, 8), 0
    def next_batch(self):
        self.at += 1
        return self.rows[self.at * 4:self.at * 4 + 4]
loader = Loader(open("t.txt").read())
x = tf.placeholder(tf.int32, [4, 8])
cost = tf.reduce_mean(tf.layers.dense(tf.one_hot(x, 50), 1) ** 2)
train = tf.train.AdamOptimizer(0.1).minimize(cost)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for b in range(100):
        rows = loader.next_batch()
        c, _ = sess.run([cost, train], {x: rows})
"""
    plan = plan_of(text)
    assert "[loader.next_batch() for _ in range(hvd.size())][hvd.rank()]" in plan.text
    assert not any("state" in n.message for n in plan.notes)


FETCHED = """\
import tensorflow.compat.v1 as tf
x, w = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2) * w
steps = {made}
train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=steps)
data = load()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    last = 0
    for i in range(900):
        _, last = sess.run([train, {fetched}], {{x: data[i * 9:i * 9 + 9], w: min(1.0, last / 100)}})
"""


@pytest.mark.parametrize("made", ["tf.train.get_or_create_global_step()", "tf.Variable(0, trainable=False)"])
def test_the_number_of_a_step_is_no_state(made: str) -> None:
    assert (
        "range(hvd.rank(), 900 // hvd.size() * hvd.size(), hvd.size())"
        in plan_of(FETCHED.format(made=made, fetched="steps")).text
    )


def test_what_else_is_fed_back_is_one() -> None:
    plan = plan_of(FETCHED.format(made="tf.train.get_or_create_global_step()", fetched="loss"))
    assert "for i in range(900):" in plan.text
    assert any("state" in n.message for n in plan.notes)


TURNS = """\
import numpy as np
import tensorflow as tf
sgd = tf.keras.optimizers.SGD(0.1)
one = tf.keras.Sequential([tf.keras.layers.Dense(4)])
one.compile({}, "mse")
two = tf.keras.Sequential([tf.keras.layers.Dense(4)])
two.compile({}, "mse")
def step(x, state):
    one.train_on_batch(x + state, x)
    return state + 0.1
ds = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).batch(4)
state = np.zeros((4, 4))
for x in ds:
    state = step(x, state)
for x in ds:
    two.train_on_batch(x, x)
"""


@pytest.mark.parametrize(("first", "second", "asked"), [("sgd", "sgd", True), ('"sgd"', '"adam"', False)])
def test_an_optimizer_of_two_compiled_models_takes_steps_of_both_kinds(
    first: str, second: str, asked: bool
) -> None:
    plan = plan_of(TURNS.format(first, second))
    assert any("by one optimizer" in c.doubt for c in plan.changes) is asked


GRAPH = """\
import numpy as np
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).repeat().batch(4)
x = ds.make_one_shot_iterator().get_next()
h = tf.placeholder(tf.float32, [4, 8])
cell = tf.nn.rnn_cell.GRUCell(8)
out, after = tf.nn.static_rnn(cell, [x], initial_state=h)
loss = tf.reduce_mean(tf.square(out[0]))
step = tf.train.get_or_create_global_step()
rate = tf.train.cosine_decay(0.1, step, 1000)
train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
state = np.zeros([4, 8], np.float32)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
"""


@pytest.mark.parametrize(
    ("loop", "dealt"),
    [
        ("    for i in range(1000):\n        _, state = sess.run([train, after], {h: state})\n", False),
        ("    while True:\n        got = sess.run([train, after, step], {h: state})\n        state = got[1]\n"
         "        if got[2] == 1000:\n            break\n", False),
        ("    for i in range(1000):\n        _, seen = sess.run([train, after], {h: state})\n", True),
    ],
)  # fmt: skip
def test_an_iterator_of_a_graph_whose_runs_hand_a_state_on(loop: str, dealt: bool) -> None:
    plan = plan_of(GRAPH + loop)
    assert (".shard(hvd.size(), hvd.rank())" in plan.text) is dealt
    assert ("1000 // hvd.size()" in plan.text) is dealt
    assert ("cosine_decay(0.1, step, 1000)" in plan.text) is not dealt
    assert any("state" in n.message for n in plan.notes) is not dealt
