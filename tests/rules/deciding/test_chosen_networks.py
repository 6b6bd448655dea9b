"""Ranks train the same one of several networks: another one each, and they would wait for each other forever."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import plan_of, refused

NETS = """\
import random, sys
import numpy as np
import tensorflow.compat.v1 as tf


class Net:
    def __init__(self, width):
        self.x = tf.placeholder(tf.float32, [None, width])
        self.loss = tf.reduce_mean(tf.square(tf.layers.dense(self.x, 1)))
        self.step = tf.train.AdamOptimizer(0.01).minimize(self.loss)


nets = [Net(width) for width in (4, 4, 4)]
rows = np.load("rows.npy")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(100):
{body}
"""
TAPE = """\
import random
import numpy as np
import tensorflow as tf

xs, ys = np.load("xs.npy"), np.load("ys.npy")
models = [tf.keras.Sequential([tf.keras.layers.Dense(n), tf.keras.layers.Dense(1)]) for n in (2, 4)]
optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in tf.data.Dataset.from_tensor_slices((xs, ys)).shuffle(100).batch(8):
    {chosen}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
DRAWN = "picked = np.random.choice(len(rows), 16)"


def of_nets(*body: str) -> list[str]:
    return lines(NETS.format(body="\n".join(f"        {line}" for line in body)))


def lines(text: str) -> list[str]:
    outcome = distribute(summarize(Document(text, "train.py")))
    assert isinstance(outcome, Plan), outcome
    compile(outcome.text, "distributed", "exec")
    return [line.strip() for line in outcome.text.splitlines()]


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize("index", ["0", "i % 3", "int(sys.argv[1])"])
def test_what_is_the_same_on_all_ranks_is_left(index: str) -> None:
    made = of_nets(DRAWN, f"net = nets[{index}]", "sess.run(net.step, {net.x: rows[picked]})")
    assert f"net = nets[{index}]" in made
    assert not any("alike(" in line for line in made)


def test_rows_are_drawn_by_each_rank() -> None:
    made = of_nets(DRAWN, "sess.run(nets[0].step, {nets[0].x: rows[picked]})")
    assert DRAWN in made


def test_a_network_that_is_only_looked_at_is_drawn_by_each_rank() -> None:
    shown = "shown = nets[random.randrange(3)]"
    made = of_nets(DRAWN, "sess.run(nets[0].step, {nets[0].x: rows[picked]})", shown, "print(shown.x)")
    assert shown in made


def test_a_seed_draws_the_same_anyway() -> None:
    text = NETS.format(
        body="        net = random.choice(nets)\n        sess.run(net.step, {net.x: rows[i * 4 : i * 4 + 4]})"
    )
    made = lines(text.replace("nets = [", "random.seed(3)\nnets = ["))
    assert "net = random.choice(nets)" in made


# ---------------------------------------------------------------------- drawn alike


@pytest.mark.parametrize(
    ("chosen", "after"),
    [
        ("net = nets[np.random.randint(3)]", "net = nets[alike(np.random.randint)(3)]"),
        (
            "k = np.random.randint(1, 4); net = nets[k - 1]",
            "k = alike(np.random.randint)(1, 4); net = nets[k - 1]",
        ),
        ("net = random.choice(nets)", "net = alike(random.choice)(nets)"),
        (
            "net = nets[1] if random.random() < 0.5 else nets[2]",
            "net = nets[1] if alike(random.random)() < 0.5 else nets[2]",
        ),
    ],
)
@pytest.mark.parametrize("fetched", ["net.step", "[net.step, net.loss]"])
def test_sessions_run_the_same_network(chosen: str, after: str, fetched: str) -> None:
    made = of_nets(DRAWN, chosen, f"sess.run({fetched}, {{net.x: rows[picked]}})")
    assert after in made
    assert DRAWN in made


def test_tapes_train_the_same_network_and_each_has_rank_0s_weights() -> None:
    made = lines(TAPE.format(chosen="model = random.choice(models)"))
    assert "model = alike(random.choice)(models)" in made
    assert lines(TAPE.format(chosen="model = models[0]")).count("first_batch = False") == 1
    outcome = distribute(
        summarize(Document(TAPE.format(chosen="model = models[random.randrange(2)]"), "train.py"))
    )
    assert isinstance(outcome, Plan)
    assert "\n    broadcast_new([*model.variables, *" in outcome.text  # each when it is drawn first


METHOD = """\
import random
import numpy as np
import tensorflow as tf
class Learner:
    def __init__(self):
        self.nets = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(2)]
        self.opts = [tf.keras.optimizers.SGD(0.1) for _ in range(2)]
        self.turn = 0
    def learn(self, x, y, k):
        {}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x) - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        self.turn += 1
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(4)
learner = Learner()
for epoch in range(9):
    for i, (x, y) in enumerate(ds):
        {}
"""

TRAINED = TAPE[: TAPE.index("optimizer")] + (
    "for model in models:\n    model.compile('sgd', 'mse')\n"
    "for i in range(100):\n    rows = np.random.choice(len(xs), 8)\n    {}\n"
)


def test_what_is_trained_on_batches_is_the_same() -> None:
    made = lines(
        TRAINED.format("model = random.choice(models)\n    model.train_on_batch(xs[rows], ys[rows])")
    )
    assert "model = alike(random.choice)(models)" in made
    assert "broadcast_new([*model.variables, *model.optimizer.variables()])" in made


def test_a_network_that_is_drawn_where_it_is_trained_needs_a_name() -> None:
    """What is broadcast after the step would be drawn once more: another network, and on each rank one of its own."""
    text = TRAINED.format("models[random.randrange(2)].train_on_batch(xs[rows], ys[rows])")
    refused(text, "HVD006", "give the model a name")


def test_a_network_that_is_drawn_where_a_step_is_called_is_the_same() -> None:
    text = METHOD.format("net, opt = k, self.opts[0]", "learner.learn(x, y, random.choice(learner.nets))")
    made = lines(text)
    assert "learner.learn(x, y, alike(random.choice)(learner.nets))" in made
    assert "broadcast_new([*net.variables, *opt.variables()])" in made


# ---------------------------------------------------------------------- chosen by the turn


@pytest.mark.parametrize("fetched", ["net.step", "[net.step, net.loss]"])
def test_a_turn_that_chooses_the_network_counts_and_only_its_rows_are_dealt(fetched: str) -> None:
    made = of_nets("net = nets[i % 3]", f"sess.run({fetched}, {{net.x: rows[i * 16 : i * 16 + 16]}})")
    assert "for i, own_i in rounds(range(100)):" in made
    assert "net = nets[i % 3]" in made
    assert f"sess.run({fetched}, {{net.x: rows[own_i * 16 : own_i * 16 + 16]}})" in made


OPS = """\
import random
import numpy as np
import tensorflow.compat.v1 as tf
from sklearn.utils import shuffle
X = np.load("x.npy")
x = tf.placeholder(tf.float32, [None, 2])
w = tf.Variable(np.ones([2, 1]), dtype=tf.float32)
opt = tf.train.AdamOptimizer(0.2)
ops = [opt.minimize(tf.reduce_mean((tf.matmul(x, w) - to) ** 2)) for to in (2.0, 3.0)]
names = ["a", "b"]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(200):
        {}
"""
RUN = "sess.run(op, {x: X[i * 8:(i + 1) * 8]})\n"


@pytest.mark.parametrize(
    ("turn", "after"),
    [
        ("op = random.choice(ops)\n        " + RUN, "op = alike(random.choice)(ops)\n"),
        (
            "random.shuffle(ops)\n        for op in ops:\n            " + RUN,
            "alike(random.shuffle)(ops)\n",
        ),
        (
            "np.random.shuffle(ops)\n        for op, name in zip(ops, names):\n            " + RUN,
            "alike(np.random.shuffle)(ops)\n",
        ),
        (
            "ops, names = shuffle(ops, names)\n        for op, name in zip(ops, names):\n            " + RUN,
            "ops, names = shuffle(ops, names, random_state=shuffle_seed())\n",
        ),
    ],
)
def test_what_a_session_trains_comes_in_one_order_on_all_ranks(turn: str, after: str) -> None:
    """A rank that runs another operation than the others averages other gradients, and all wait forever."""
    assert f"        {after}" in plan_of(OPS.format(turn)).text


def test_an_order_that_training_does_not_go_by_is_each_rank_s_own() -> None:
    turn = f"random.shuffle(names)\n        op = ops[0]\n        for name in names:\n            {RUN}"
    text = plan_of(OPS.format(turn)).text
    assert "alike" not in text
    assert "\n        random.shuffle(names)\n" in text


TASKS = """\
import itertools
import numpy as np
import tensorflow as tf
def net():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])
body, heads = net(), {{"a": net(), "b": net()}}
names, tasks = list(heads), itertools.cycle(heads)
networks = itertools.cycle(heads.values())
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(4)
step = 0
for epoch in range(9):
    for x, y in ds:
        {}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((head(body(x)) - y) ** 2)
        weights = body.trainable_variables + head.trainable_variables
        opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
        step += 1
"""


@pytest.mark.parametrize(
    "chosen",
    [
        "head = heads[names[step % 2]]",
        "task = names[step % 2]\n        head = heads[task]",
        "task = next(tasks)\n        head = heads[task]",
        "head = next(networks)",
        "head = heads['a'] if step % 2 == 0 else heads['b']",
    ],
)
def test_each_network_that_steps_take_turns_with_gets_rank_0s_weights(chosen: str) -> None:
    """Each when it is first trained: sent once, the other head stayed each rank's own."""
    text = plan_of(TASKS.format(chosen)).text
    assert "\n        broadcast_new([*body.variables, *head.variables, *opt.variables()])\n" in text
    assert "first_batch" not in text


@pytest.mark.parametrize(
    ("chosen", "called"),
    [
        ("k = self.turn % 2; net, opt = self.nets[k], self.opts[k]", "learner.learn(x, y, 0)"),
        ("net, opt = self.nets[k], self.opts[k]", "learner.learn(x, y, i % 2)"),
    ],
)
def test_a_method_that_looks_up_which_network_it_trains(chosen: str, called: str) -> None:
    """It can't be named in the loop: refused before. A flag of the object's would be spent by the first of them."""
    text = plan_of(METHOD.format(chosen, called)).text
    assert "\n        broadcast_new([*net.variables, *opt.variables()])\n" in text
    assert "first_batch" not in text


def test_a_method_with_one_network_keeps_its_flag() -> None:
    """Near miss."""
    text = plan_of(METHOD.format("net, opt = self.nets[0], self.opts[0]", "learner.learn(x, y, 0)")).text
    assert "broadcast_new" not in text


def test_a_network_that_stays_the_same_gets_them_once() -> None:
    text = plan_of(TASKS.format("head = heads['a']")).text
    assert "\nhvd.broadcast_variables([*body.variables" in text or "            first_batch = False\n" in text


# ---------------------------------------------------------------------- chosen by an `if`

BY_IF = """\
import random
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.build((None, 8))
first, second = (tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(2))
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(4)
step = 0
for epoch in range(9):
    {epoch}
    for x, y in ds:
        {turn}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(({net}(x) - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, {weights}), {weights}))
        step += 1
"""
PARTS = "{}if {}:\n{}    weights = model.layers[1].trainable_variables\n{}else:\n{}    weights = model.trainable_variables"


def by_if(epoch: str = "pass", turn: str = "pass", net: str = "net", weights: str = "") -> str:
    weights = weights or f"{net}.trainable_variables"
    return plan_of(BY_IF.format(epoch=epoch, turn=turn, net=net, weights=weights)).text


def test_a_network_that_an_if_draws_is_the_same_and_each_is_sent() -> None:
    """Before, each rank drew its own, and only the first was sent."""
    chosen = "if random.random() < 0.5:\n            net = first\n        else:\n            net = second"
    text = by_if(turn=chosen)
    assert "if alike(random.random)() < 0.5:" in text
    assert "\n        broadcast_new([*net.variables, *opt.variables()])\n" in text


def test_networks_that_take_turns_by_epochs_have_a_first_batch_in_each() -> None:
    text = by_if(epoch="if epoch % 2:\n        net = first\n    else:\n        net = second")
    assert "\n    first_batch = True\n    for x, y in ds:" in text


def test_two_steps_that_use_a_name_for_both_networks_share_the_first_batch_of_all_epochs() -> None:
    """Near miss: at each step, the name is one network's."""
    step = (
        "with tf.GradientTape() as tape:\n            loss = tf.reduce_mean((net(x) - y) ** 2)\n"
        "        opt.apply_gradients(zip(tape.gradient(loss, weights), weights))\n"
    )
    both = "net = first\n        weights = net.trainable_variables\n        " + step
    text = by_if(
        turn=both + "        net = second\n        weights = net.trainable_variables", weights="weights"
    )
    assert "\nfirst_batch = True\nfor epoch in" in text
    assert "\n    first_batch = True\n" not in text


@pytest.mark.parametrize(
    ("epoch", "turn"),
    [
        (PARTS.format("", "epoch < 3", *["    "] * 3), "pass"),
        ("pass", PARTS.format("", "step % 2", *["        "] * 3)),
        ("pass", "weights = model.layers[1].variables if step % 2 else model.layers[0].variables"),
        (
            "pass",
            "weights = model.trainable_variables\n        if step < 50:\n            weights = weights[2:]",
        ),
    ],
)
def test_of_a_model_whose_parts_take_turns_all_is_sent(epoch: str, turn: str) -> None:
    """The part that comes later computes from the first step on, and was each rank's own until then, or for good."""
    text = by_if(epoch, turn, "model", "weights")
    assert "\nhvd.broadcast_variables(model.variables, root_rank=0)\nfor epoch in" in text
    assert "first_batch" not in text


def test_a_list_with_other_variables_is_sent_as_it_is() -> None:
    """Near miss: some of what it may be is of no model that can be seen."""
    turn = "weights = model.trainable_variables\n        if step < 50:\n            weights = [scale]"
    assert "broadcast_new([*weights, *opt.variables()])" in by_if(
        "scale = tf.Variable(1.0)", turn, "model", "weights"
    )
