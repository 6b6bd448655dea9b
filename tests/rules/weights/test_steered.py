"""G2: numbers that each rank sets by its own rows, and that later losses are made with."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
ds = tf.data.Dataset.from_tensor_slices(x).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
k, steps, best, shown = 0.0, 0, 9.0, 0.0
gate = tf.Variable(0.0)


def summed(values):
    run = 0.0
    for v in values:
        run = run + 0.9 * float(tf.reduce_mean(v))
    return run


def step(x, k):
    with tf.GradientTape() as tape:
        a, b = tf.reduce_mean(model(x) ** 2), tf.reduce_mean(tf.abs(model(x)))
        loss = {loss}
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return a, b


for epoch in range(3):
    for x in ds:
        a, b = step(x, k)
        {more}
"""
LOOK = "a - k * b"


def text(loss: str, more: str) -> str:
    return plan_of(PROGRAM.format(loss=loss, more=more)).text


def asked(loss: str, more: str) -> int:
    return sum(
        "train for other aims" in c.doubt for c in plan_of(PROGRAM.format(loss=loss, more=more)).changes
    )


@pytest.mark.parametrize(
    ("loss", "more"),
    [
        (LOOK, "k = k * 0.99"),  # the same on all ranks
        (LOOK, "k = min(k + 0.01, 1.0)"),
        (LOOK, "shown = 0.9 * shown + 0.1 * float(a)"),  # only shown
        (LOOK, "best = min(best, float(a))"),
        ("a - k * summed([a, b])", "pass"),  # of one step
        ("a", "k = k + float(a)"),  # the loss is made without
    ],
)
def test_what_is_the_same_or_not_in_the_loss_is_left(loss: str, more: str) -> None:
    assert "mean_over_ranks" not in text(loss, more)
    assert not asked(loss, more)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("k = k + 0.1 * float(a - b)", "        k = k + mean_over_ranks(0.1 * float(a - b) * hvd.size())\n"),
        ("k += 0.1 * float(a - b)", "        k += mean_over_ranks(0.1 * float(a - b) * hvd.size())\n"),
        # limits come after, of what is the same on all ranks by then
        (
            "k = k + 0.1 * float(a - b)\n        k = min(max(k, 0.0), 1.0)",
            "        k = k + mean_over_ranks(0.1 * float(a - b) * hvd.size())\n        k = min(max(k, 0.0), 1.0)\n",
        ),
        ("k, c = step(x, k)", "        k, c = step(x, k)\n        k = mean_over_ranks(k)\n"),
    ],
)
def test_a_number_that_follows_the_losses_is_averaged(more: str, expected: str) -> None:
    assert expected in text(LOOK, more)


def test_a_variable_of_one_number_is_averaged() -> None:
    distributed = text("a - gate * b", "gate.assign(tf.clip_by_value(gate + 0.1 * (a - b), 0.0, 1.0))")
    assert (
        "gate.assign(hvd.allreduce(tf.clip_by_value(gate + 0.1 * (a - b) * hvd.size(), 0.0, 1.0)))"
        in distributed
    )
    assert "gate.assign_add(mean_over_ranks((a - b) * hvd.size()))" in text(
        "a - gate * b", "gate.assign_add(a - b)"
    )


@pytest.mark.parametrize(
    "more",
    [
        "if steps % 16 == 0:\n            gate.assign(float(a) / 9)",
        "seen.update_state(a)\n        if steps % 16 == 0:\n            gate.assign(1.0 / seen.result())",
        "shown += float(a)\n    gate.assign(shown / 60)",
        "seen(a)\n    if epoch > 0:\n        gate.assign(2 * np.exp(float(seen.result())))",
    ],
)
def test_a_variable_that_is_set_seldom_is_averaged(more: str) -> None:
    """Loss weights that follow the losses every so many steps, or once an epoch. A number that is no tensor is averaged as
    one."""
    source = PROGRAM.format(loss="a - gate * b", more=f"steps += 1\n        {more}")
    plan = plan_of(source.replace("gate =", "seen = tf.keras.metrics.Mean()\ngate =", 1))
    value = more[more.index("assign(") + 7 : -1].replace(
        "60", "max(1, 60 // hvd.size())"
    )  # of a rank's steps
    assert f"gate.assign(mean_over_ranks({value}))" in plan.text
    assert sum("later losses are made with it" in c.doubt for c in plan.changes) == 1


@pytest.mark.parametrize(
    ("loss", "more"),
    [
        ("a - gate * b", "pass\n    gate.assign(0.9 ** epoch)"),  # the same on all ranks
        ("a - b", "pass\n    gate.assign(float(a))"),  # the loss is made without
        ("a - gate * b", "pass\ngate.assign(float(a))"),  # after the last step
        (LOOK, "pass\n    k = 0.9 ** epoch"),
        (LOOK, "pass\n    shown = float(a)"),
        (LOOK, "k = x * 2.0"),  # rows
        (LOOK, "k = np.mean(x, 1)"),
        (LOOK, "pass\nk = float(a)"),
        (LOOK, "k = 0.0"),
    ],
)
def test_what_is_set_seldom_and_is_the_same_or_not_in_the_loss_is_left(loss: str, more: str) -> None:
    assert "mean_over_ranks" not in text(loss, more)
    assert not asked(loss, more)


def test_a_variable_that_some_ranks_set_is_asked_about() -> None:
    source = PROGRAM.format(loss="a - gate * b", more="if a > 1.5:\n            gate.assign(float(a))")
    assert any("differs more and more between the ranks" in c.doubt for c in plan_of(source).changes)


@pytest.mark.parametrize(
    ("more", "averaged"),
    [
        ("k = float(b) / 2", "mean_over_ranks(float(b) / 2)"),
        ("listed.append(float(b))\n    k = np.mean(listed)", "mean_over_ranks(np.mean(listed))"),
        (
            "listed.append(float(b))\n    if epoch > 0:\n        k = 2.0 / np.mean(listed)",
            "2.0 / mean_over_ranks(np.mean(listed))",
        ),
    ],
)
def test_a_number_that_is_set_for_the_next_steps_is_averaged(more: str, averaged: str) -> None:
    """It is made of what these steps found alone, not of its last value."""
    source = PROGRAM.format(loss=LOOK, more=more).replace("gate =", "listed = []\ngate =", 1)
    assert f"k = {averaged}\n" in plan_of(source).text


def test_a_number_of_the_rows_of_its_own_step_is_left() -> None:
    source = PROGRAM.format(loss=LOOK, more="pass").replace(
        "        a, b = step(x, k)", "        k = float(tf.reduce_mean(x))\n        a, b = step(x, k)"
    )
    assert "mean_over_ranks" not in plan_of(source).text


def test_of_a_layer_of_the_file() -> None:
    layer = """\
class Noisy(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.p = tf.Variable(0.0)

    def call(self, x):
        return x * (1 + self.p)

    def update(self, found):
        self.p.assign(self.p + 0.01 * tf.reduce_mean(found))


noisy = Noisy()
"""
    source = PROGRAM.format(loss="a * tf.reduce_mean(noisy(x))", more="noisy.update(a)")
    source = source.replace("def summed", layer + "\n\ndef summed", 1)
    assert (
        "self.p.assign(hvd.allreduce(self.p + 0.01 * tf.reduce_mean(found) * hvd.size()))"
        in plan_of(source).text
    )


def test_a_number_that_changes_where_a_rank_finds_it_should_changes_on_all_ranks() -> None:
    distributed = text(LOOK, "if a > 1.5:\n            k *= 2")
    assert "if mean_over_ranks(a) > 1.5:\n" in distributed or "if any_rank(a > 1.5):\n" in distributed
    assert "if epoch > 1:\n            k *= 2" in text(LOOK, "if epoch > 1:\n            k *= 2")


CURRICULUM = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.GRU(4), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01)
ds = tf.data.Dataset.from_tensor_slices((np.zeros((800, 12, 3)), np.zeros((800, 1)))).shuffle(800).batch(16)
length, other, losses = 2, 0, []
for epoch in range(4):
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a[:, :length]) - b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        losses.append(float(loss))
    {}
"""
KEEPER = """\
class Curriculum:
    def __init__(self):
        self.level, self.losses = 1, []
    def update(self, loss):
        self.losses.append(loss)
        if len(self.losses) > 9 and np.mean(self.losses[-10:]) < 0.5:
            self.level += 1
            self.losses = []
levels = Curriculum()
"""


@pytest.mark.parametrize(
    ("more", "after"),
    [
        ("if np.mean(losses[-50:]) < 3 and length < 12:\n        length += 2", "if mean_over_ranks(np.mean("),
        (
            "if np.mean(losses[-50:]) < 3:\n        length = min(length * 2, 12)",
            "if mean_over_ranks(np.mean(",
        ),
        ("if epoch > 1:\n        length += 2", "if epoch > 1:"),
        (
            "if np.mean(losses[-50:]) < 3:\n        other += 2",
            "if np.mean(losses[",
        ),  # no loss is made with it
    ],
)
def test_a_curriculum_goes_on_by_the_mean_of_all_ranks_losses(more: str, after: str) -> None:
    assert f"    {after}" in plan_of(CURRICULUM.format(more)).text


def test_a_curriculum_that_an_object_keeps() -> None:
    source = CURRICULUM.format("pass").replace("length, other", f"{KEEPER}length, other")
    source = source.replace(":length]", ": levels.level]").replace(
        "losses.append(float", "levels.update(float"
    )
    assert "mean_over_ranks(np.mean(self.losses[-" in plan_of(source).text


def test_of_a_train_step_of_a_model() -> None:
    source = """\
import numpy as np
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.net = tf.keras.layers.Dense(1)
        self.p = tf.Variable(0.0, trainable=False)
        self.seen = tf.Variable(0.0, trainable=False)

    def call(self, x):
        return self.net(x)

    def train_step(self, x):
        with tf.GradientTape() as tape:
            out = self(x * (1 + self.p))
            loss = tf.reduce_mean(out ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.p.assign_add(tf.reduce_mean(tf.sign(out)))
        self.seen.assign_add(tf.reduce_mean(out))
        return {"loss": loss}


model = Net()
model.compile("sgd")
model.fit(np.load("x.npy"))
"""
    distributed = plan_of(source).text
    assert "self.p.assign_add(hvd.allreduce(tf.reduce_mean(tf.sign(out)) * hvd.size()))" in distributed
    assert "self.seen.assign_add(tf.reduce_mean(out))" in distributed


GAN = """\
import numpy as np
from tensorflow import keras
rows = np.load("x.npy")
critic = keras.Sequential([keras.layers.Dense(4)])
critic.compile(keras.optimizers.Adam(0.001), "mae")
k, weight = 0.0, 1.0
for i in range(len(rows) // 32):
    x = rows[i * 32 : (i + 1) * 32]
    real = critic.train_on_batch(x, x)
    fake = critic.train_on_batch(x[::-1], x, {})
    k = float(np.clip(k + 0.001 * (0.5 * real - fake), 0, 1))
    weight = weight * 0.99
"""


def test_the_weight_of_rows_that_follows_the_losses_of_steps_of_keras() -> None:
    distributed = plan_of(GAN.format("sample_weight=-k * np.ones(32)")).text
    assert (
        "    k = mean_over_ranks(float(np.clip(k + 0.001 * (0.5 * real - fake) * hvd.size(), 0, 1)))\n"
        in distributed
    )


@pytest.mark.parametrize("given", ["", "np.ones(32)", "weight * np.ones(32)"])
def test_numbers_that_no_loss_is_made_with_are_left(given: str) -> None:
    assert "mean_over_ranks" not in plan_of(GAN.format(given)).text


@pytest.mark.parametrize(
    "keeps",
    [
        "mean = 0.99 * mean + 0.01 * x.mean(axis=0)",
        "mean += 0.01 * (np.mean(x, 0) - mean)",
    ],
)
def test_a_running_mean_of_a_ranks_rows_is_asked_about(keeps: str) -> None:
    assert _asked(STATISTICS.format(begins="np.zeros(4)", keeps=keeps, given="x - mean"))


@pytest.mark.parametrize(
    ("begins", "keeps", "given"),
    [
        ("np.zeros(4)", "mean = 0.99 * mean + 0.01 * x.mean(axis=0)", "x"),  # shown only
        ("np.zeros(4)", "mean = 0.99 * mean", "x - mean"),  # by no rows
        ("np.zeros((8, 4))", "mean = cell(x, mean)", "x - mean"),  # a network's state
        ("rows.mean(0)", "pass", "x - mean"),  # of all rows
    ],
)
def test_what_is_no_running_mean_is_not(begins: str, keeps: str, given: str) -> None:
    assert not _asked(STATISTICS.format(begins=begins, keeps=keeps, given=given))


STATISTICS = """\
import numpy as np
import tensorflow as tf
rows = np.load("rows.npy")
ds = tf.data.Dataset.from_tensor_slices(rows).batch(8)
model, cell = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.layers.Dense(4)
opt = tf.keras.optimizers.SGD(0.1)
mean = {begins}
for x in ds:
    {keeps}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model({given}) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    print(mean)
"""


def _asked(source: str) -> bool:
    return any("differs more and more" in c.doubt for c in plan_of(source).changes)


NORMALIZER = """\
import gym
import numpy as np
import tensorflow as tf


class Normalizer:
    def __init__(self):
        self.sum, self.last = np.zeros(4), np.zeros(4)
        self.count = 1e-4

    def update(self, rows):
        self.count += len(rows)
        self.sum += rows.sum(axis=0)
        self.mean = self.sum / self.count

    def normalize(self, rows):
        return {given}


norm = Normalizer()
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
opt = tf.keras.optimizers.SGD(0.1)
{loop}
    norm.update(rows)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(norm.normalize(rows)) - rows) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
ROWS = "x = np.load('x.npy')\nfor i in range(0, 256, 8):\n    rows = x[i : i + 8]"
PLAYED = """\
env = gym.make("CartPole-v1")
for game in range(9):
    seen, state = [], env.reset()
    for i in range(64):
        state, reward, done, info = env.step(int(np.argmax(model(norm.normalize(state[None])))))
        seen.append(state)
    rows = np.array(seen)
"""


@pytest.mark.parametrize("loop", [ROWS, PLAYED])
def test_sums_that_an_object_keeps_of_a_ranks_rows_are_asked_about(loop: str) -> None:
    """Also where the method that adds to them reads them after; and where each rank plays: all train one network."""
    assert _asked(NORMALIZER.format(loop=loop, given="rows - self.mean"))


@pytest.mark.parametrize("given", ["rows - self.last", "rows / 255"])
def test_sums_that_training_does_not_compute_with_are_not_asked_about(given: str) -> None:
    assert not _asked(NORMALIZER.format(loop=ROWS, given=given))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            "steps = 0.9 * steps + 0.1 * float(a)",
            "steps = mean_over_ranks(0.9 ** hvd.size() * steps + (1 - 0.9 ** hvd.size()) * float(a))\n",
        ),
        (
            "steps = steps + int(a > 1)",
            "        steps = steps + sum_over_ranks(int(a > 1))\n",
        ),  # counts what all have
    ],
)
def test_a_number_that_begins_as_a_whole_one(more: str, expected: str) -> None:
    assert expected in text("a - steps * b", more).replace("step(x, k)", "step(x, steps)")


FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
x, w = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [])
net = tf.layers.dense(x, 1)
a, b = tf.reduce_mean(net ** 2), tf.reduce_mean((net - 1) ** 2)
train = tf.train.AdamOptimizer(1e-3).minimize(a + w * b)
weight, rate = np.array(1.0), 1.0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(10000):
        feed = {{x: rows[i * 32 : (i + 1) * 32], w: {}}}
        sess.run(train, feed)
        if i % 10 == 0:
            found = sess.run(a, feed)
            weight = 0.9 * weight + 0.1 * found
            rate = 0.99 * rate
"""


def test_a_number_that_is_fed_beside_rows_and_set_by_them_is_averaged() -> None:
    plan = plan_of(FED.format("weight"))
    assert "weight = mean_over_ranks(0.9 * weight + 0.1 * found)" in plan.text
    assert any("now it is the mean over all ranks" in c.doubt for c in plan.changes)


@pytest.mark.parametrize("fed", ["rate", "0.5"])
def test_a_number_that_no_rows_set_is_fed_as_it_is(fed: str) -> None:
    plan = plan_of(FED.format(fed))
    assert not any("mean over all ranks" in c.doubt for c in plan.changes)


DRAWN = """\
import numpy as np
import tensorflow as tf

s = np.load("s.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.SGD(0.1)
k = {begin}
for it in range(200):
    i = np.random.randint(0, 1000, 32)
    {carry}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(s[i]) - k) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("begin", "carry"),
    [
        ("np.zeros(2)", "k = k + 0.1 * (s[i].mean(0) - k)"),
        ("np.zeros(2)", "rows = s[i]; k += 0.1 * (rows.mean(0) - k)"),
        ("1.0", "k = 0.9 * k + 0.1 * float(s[i].mean())"),
        ("1.0", "k = max(k, s[np.random.choice(1000, 32)].max())"),
    ],
)
def test_rows_that_a_rank_draws_are_its_own(begin: str, carry: str) -> None:
    """Each rank trained for an aim of its own, without a word."""
    plan = plan_of(DRAWN.format(begin=begin, carry=carry))
    assert any(c.rule == "G2" and c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("begin", "carry"),
    [
        ("0.0", "k = 0.9 * k + np.random.normal()"),  # noise, of which each rank has its own
        ("0.0", "noise = np.random.normal(); k = 0.9 * k + noise"),
        ("0.0", "k = 0.9 * k + 0.1 * float(s[3].mean())"),
        ("0.0", "k = float(s[i].mean())"),  # not handed on
    ],
)
def test_draws_that_select_nothing_which_is_handed_on(begin: str, carry: str) -> None:
    plan = plan_of(DRAWN.format(begin=begin, carry=carry))
    assert not any(c.rule == "G2" and c.doubt for c in plan.changes)


OF_KERAS = """\
import keras, tensorflow as tf
class Balanced(keras.Model):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.k = {made}
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            out = self.net(x)
            loss = tf.reduce_mean(tf.square(out - y)) + {used}
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.net.trainable_variables), self.net.trainable_variables))
        self.k.assign({given})
        return {{"loss": loss}}
model = Balanced(keras.Sequential([keras.layers.Dense(1)]))
model.compile(keras.optimizers.SGD(0.1))
model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8), epochs=2)
"""
USED = "tf.reduce_mean(self.k * tf.abs(out))"


@pytest.mark.parametrize(
    "made",
    [
        "keras.Variable(0.5, trainable=False)",
        "self.add_weight(shape=(), initializer='zeros', trainable=False)",
    ],
)
def test_a_number_of_keras_that_the_loss_is_made_with_is_averaged(made: str) -> None:
    """Only `tf.Variable` was seen: each rank's own number steered its loss, without a word."""
    source = OF_KERAS.format(made=made, used=USED, given="0.9 * self.k + 0.1 * tf.reduce_mean(tf.abs(out))")
    plan = plan_of(source, tensorflow="2.21")
    assert "self.k.assign(hvd.allreduce(0.9 ** hvd.size() * self.k + " in plan.text
    assert [c for c in plan.to_confirm if "now it is the mean over all ranks" in c.doubt]


@pytest.mark.parametrize(
    "made", ["keras.Variable(keras.ops.zeros((64, 1)))", "self.add_weight(shape=(64, 1), trainable=False)"]
)
def test_a_queue_of_keras_is_asked_about(made: str) -> None:
    source = OF_KERAS.format(
        made=made, used=USED, given="keras.ops.concatenate([out, self.k], 0)[: self.k.shape[0]]"
    )
    plan = plan_of(source, tensorflow="2.21")
    assert [c for c in plan.to_confirm if "it differs more and more between the ranks" in c.doubt]


FIRST = "        with tf.GradientTape() as tape:\n            out = self.net(x)\n"
BEFORE = "        keys = tf.stop_gradient(self.net(x))\n"


@pytest.mark.parametrize(
    "given",
    [
        "tf.concat([keys, self.k], 0)[: self.k.shape[0]]",
        "keras.ops.concatenate([keys, self.k[:-8]], axis=0)",
        "0.9 * self.k + 0.1 * tf.reduce_mean(x, 0, keepdims=True)",
        "0.9 * self.k + 0.1 * tf.reduce_mean(self.net(data[0]), 0, keepdims=True)",
    ],
)
@pytest.mark.parametrize(
    "made", ["keras.Variable(keras.ops.zeros((64, 1)))", "tf.Variable(tf.zeros((64, 1)))"]
)
def test_a_queue_of_what_is_computed_outside_of_the_tape_is_asked_about(made: str, given: str) -> None:
    """Keys of MoCo, the centre of DINO: each rank had others, without a word."""
    source = OF_KERAS.format(made=made, used=USED, given=given).replace(FIRST, BEFORE + FIRST)
    plan = plan_of(source, tensorflow="2.21")
    assert [c for c in plan.to_confirm if "it differs more and more between the ranks" in c.doubt]


@pytest.mark.parametrize(
    "given",
    [
        "self.k + keras.ops.cast(keras.ops.shape(x)[0], 'float32')",
        "self.k + float(len(x))",
        "self.k + 0.001 * x.shape[0]",
        "0.99 * self.k",
    ],
)
def test_how_many_rows_a_batch_has_is_alike(given: str) -> None:
    source = OF_KERAS.format(made="keras.Variable(0.5, trainable=False)", used=USED, given=given)
    plan = plan_of(source.replace(FIRST, BEFORE + FIRST), tensorflow="2.21")
    assert "hvd.allreduce" not in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize(
    ("used", "given"),
    [("0.0", "0.9 * self.k + 0.1 * tf.reduce_mean(out)"), (USED, "0.99 * self.k"), (USED, "self.k + 1.0")],
)
def test_near_misses_of_keras(used: str, given: str) -> None:
    source = OF_KERAS.format(made="keras.Variable(0.5, trainable=False)", used=used, given=given)
    plan = plan_of(source, tensorflow="2.21")
    assert not [c for c in (*plan.to_confirm, *plan.changes) if c.rule == "K7" and "alike" in c.what]
    assert "hvd.allreduce" not in plan.text


WEIGHED = """\
for epoch in range(9):
    seen, other = [], []
    for x in ds:
        with tf.GradientTape() as tape:
            a, b = tf.reduce_mean(model(x) ** 2), tf.reduce_mean(tf.abs(model(x)))
            loss = w1 * a + w2 * b if epoch > 1 else a + b
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        seen.append(float(a))
        other.append(float(b))
    if epoch > 0:
        w1, w2 = {first}, {second}
"""


def weighed(first: str, second: str) -> str:
    head = PROGRAM[: PROGRAM.index("k, steps")]
    return plan_of(head + WEIGHED.format(first=first, second=second)).text


def test_weights_that_a_turn_sets_first_are_averaged_each() -> None:
    """`w1, w2 = …` after an epoch, by which the losses of the next ones are weighed: each rank had its own, in silence."""
    text = weighed("np.mean(seen) / 2", "np.exp(np.mean(other))")
    assert "w1, w2 = mean_over_ranks(np.mean(seen) / 2), np.exp(mean_over_ranks(np.mean(other)))" in text


def test_weights_by_no_rows_are_left() -> None:
    assert "mean_over_ranks" not in weighed("0.9 ** epoch", "1.0 - 0.9 ** epoch")


FED_RATE = """\
import argparse
import numpy as np
import tensorflow.compat.v1 as tf
from settings import params
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.01)
args = p.parse_args()
x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
lr = tf.placeholder(tf.float32)
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
op = tf.train.AdamOptimizer(lr).minimize(loss)
X, Y = np.load("x.npy"), np.load("y.npy")
def lower(rate, value, best):
    return rate / 2 if value > best else rate
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    rate, best = {}, 100.0
    for epoch in range(10):
        for i in range(0, 800, 8):
            l, _ = sess.run([loss, op], {{x: X[i : i + 8], y: Y[i : i + 8], lr: rate}})
        rate = {}
"""


@pytest.mark.parametrize(
    "first", ["0.01", "args.lr", 'params["learning_rate"]', "params.base_lr", 'float(params["start"])']
)
def test_a_rate_that_is_fed_is_a_number_whatever_option_it_begins_with(first: str) -> None:
    """Each rank lowered it by the losses of its own rows: their models parted, and nothing was said."""
    plan = plan_of(FED_RATE.format(first, "lower(rate, l, best)"))
    assert "rate = mean_over_ranks(lower(rate, l, best))" in plan.text
    assert any("the mean over all ranks" in c.doubt for c in plan.changes)
    assert "from_root(rate)" not in plan.text  # before each step


@pytest.mark.parametrize("lower", ["rate / 2", "rate * 0.5 ** epoch", "args.lr / (epoch + 1)"])
def test_a_rate_that_goes_by_the_epochs_is_the_same_on_all_ranks(lower: str) -> None:
    assert "mean_over_ranks" not in plan_of(FED_RATE.format("args.lr", lower)).text


WEIGHED_BY_EPOCH = """\
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.SGD(0.1)
history, w = [], np.ones(2)
for epoch in range(6):
    {weights}
    total = np.zeros(2)
    for k in range(0, len(x), 20):
        with tf.GradientTape() as tape:
            each = tf.reduce_mean(model(x[k : k + 20]) ** 2, 0)
            loss = tf.reduce_sum({used} * each)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        total += each.numpy()
    history.append(total)
"""
BY_HISTORY = """if epoch > 1:
        e = np.exp(history[-1] / history[-2])
        w = 2 * e / e.sum()"""


@pytest.mark.parametrize(
    ("weights", "used", "asked"),
    [
        (BY_HISTORY, "w", 1),
        (BY_HISTORY, "1", 0),  # only kept
        ("w = np.exp(-epoch * np.ones(2)); w = w / w.sum()", "w", 0),  # by no rows
    ],
)
def test_weights_of_losses_by_what_earlier_epochs_gave(weights: str, used: str, asked: int) -> None:
    """Each rank weighed its losses by those of its own rows."""
    plan = plan_of(WEIGHED_BY_EPOCH.format(weights=weights, used=used))
    assert sum("what it measured itself" in c.doubt for c in plan.changes) == asked


ACCUMULATED = """\
import collections
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
weights, found, recent = np.ones(2), np.zeros(2), collections.deque(maxlen=500)
for step in range(600):
    i = np.random.randint(0, len(x), 16)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean({used} * (model(x[i]) - y[i]) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    {measured}
    if step % 100 == 99:
        weights = {weights}
"""


@pytest.mark.parametrize(
    ("used", "measured", "weights", "asked"),
    [
        ("weights[y[i]]", "found += np.bincount(y[i], minlength=2)", "2 * found / found.sum()", 1),
        ("weights[y[i]]", "found = found + np.bincount(y[i])", "found / found.sum()", 1),
        ("weights[y[i]]", "recent.append(np.bincount(y[i]))", "np.sum(recent, 0)", 1),
        ("weights[0]", "recent.extend(y[i])", "np.ones(2) * np.mean(recent)", 1),
        ("weights[y[i]]", "found += 1", "found / found.sum()", 0),  # by no rows
        ("1", "found += np.bincount(y[i], minlength=2)", "2 * found / found.sum()", 0),  # only kept
    ],
)
def test_weights_by_what_steps_add_up(used: str, measured: str, weights: str, asked: int) -> None:
    """Each rank weighed its rows by what it had met itself."""
    plan = plan_of(ACCUMULATED.format(used=used, measured=measured, weights=weights))
    assert sum("what it measured itself" in c.doubt for c in plan.changes) == asked
