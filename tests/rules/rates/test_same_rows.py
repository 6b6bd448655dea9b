"""C5: loops that are divided though every rank would be given the same rows."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 6])
heat = tf.placeholder(tf.float32, [])
train = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2) * heat)
data = np.load("rows.npy")
def some():
    return data[[np.random.randint(0, 900) for _ in range(32)]]
pos = 0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3000):
        {body}
"""
CURSOR = (
    "rows = np.take(data, np.arange(pos, pos + 32), axis=0, mode='wrap')\n"
    "        sess.run(train, {{x: rows, heat: {heat}}})\n        pos = (pos + 32) % len(data)"
)


def asked(body: str) -> bool:
    return any("given the same rows" in c.doubt for c in plan_of(SOURCE.format(body=body)).changes)


@pytest.mark.parametrize("heat", ["1.0", "0.99 ** 3"])
def test_rows_by_a_number_that_goes_on(heat: str) -> None:
    assert asked(CURSOR.format(heat=heat))


@pytest.mark.parametrize(
    "body",
    [
        "sess.run(train, {x: data[np.random.randint(0, 900, 32)], heat: 1.0})",  # each rank draws its own
        "sess.run(train, {x: some(), heat: 1.0})",
        "sess.run(train, {x: data[step * 32:(step + 1) * 32], heat: 1.0})",  # dealt out
        "sess.run(train, {x: reader.next_batch(32), heat: 1.0})",
        "sess.run(train, {x: fetch(), heat: 1.0})",  # who knows
        "sess.run(train, {x: data, heat: 1.0})",  # all rows, which are divided
    ],
)
def test_rows_that_differ_or_may(body: str) -> None:
    assert not asked(body)


TAPE = """\
import numpy as np
import tensorflow as tf
data = np.load("rows.npy")
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def some(n, k):
    return {rows}
def train_one(n, k):
    x = some(n, k)
    z = tf.random.normal([n, 4])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - tf.reduce_mean(z)) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
k = 1
for step in range(3000):
    train_one(32, k)
    k += 1
"""


@pytest.mark.parametrize(
    "rows", ["data[np.random.randint(0, 900, n)] * k", "np.random.rand(n, k)", "np.random.choice(data, n)"]
)
def test_a_step_that_draws_its_rows_itself(rows: str) -> None:
    """It is given numbers only, the same on every rank."""
    changes = plan_of(TAPE.format(rows=rows)).changes
    assert not any("given the same rows" in c.doubt for c in changes)


def test_noise_makes_no_rows_another_ranks() -> None:
    rows = "np.take(data, np.arange(k, k + n), axis=0, mode='wrap')"
    changes = plan_of(TAPE.format(rows=rows)).changes
    assert any("given the same rows" in c.doubt for c in changes)


def test_a_step_that_selects_its_rows_itself_is_told_those_of_its_rank() -> None:
    made = plan_of(TAPE.format(rows="data[k:k + n]"))
    assert "train_one(32, own_k)" in made.text
    assert not any("given the same rows" in c.doubt for c in made.changes)


ACCUMULATED = """\
import numpy as np
import tensorflow as tf
data = np.load("rows.npy")
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
net.build((None, 4))
opt = tf.keras.optimizers.SGD(0.1)
sums = [tf.Variable(tf.zeros_like(v)) for v in net.trainable_variables]
rows = iter(tf.data.Dataset.from_tensor_slices(data).repeat().batch(32))
for step in range(3000):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net({batch}) ** 2)
    for total, gradient in zip(sums, tape.gradient(loss, net.trainable_variables)):
        total.assign_add(gradient)
    if step % 4 == 3:
        opt.apply_gradients(zip(sums, net.trainable_variables))
        for total in sums:
            total.assign(tf.zeros_like(total))
"""


@pytest.mark.parametrize(
    ("batch", "asks"),
    [("next(rows)", False), ("np.take(data, range(step, step + 32), 0, mode='wrap')", True)],
)
def test_sums_of_gradients_tell_nothing_of_rows(batch: str, asks: bool) -> None:
    changes = plan_of(ACCUMULATED.format(batch=batch)).changes
    assert any("given the same rows" in c.doubt for c in changes) == asks


SHUFFLED = """\
import numpy as np
import tensorflow as tf
data = np.load("rows.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01)
{seed}order = np.arange(len(data))
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
for i in range(900):
    np.random.shuffle(order)
    step(data[order[:8]])
"""


@pytest.mark.parametrize(("seed", "is_asked"), [("", False), ("np.random.seed(1)\n", True)])
def test_the_first_rows_of_an_order_that_each_rank_shuffles_are_its_own(seed: str, is_asked: bool) -> None:
    plan = plan_of(SHUFFLED.format(seed=seed))
    assert any("given the same rows" in c.doubt for c in plan.changes) is is_asked
    assert "Adam(0.01 * hvd.size())" in plan.text


FETCHED = """\
import numpy as np
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 6])
rate = tf.placeholder(tf.float32, [])
step_made = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(rate).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2), global_step=step_made)
data = np.load("rows.npy")
rates = np.linspace(0.1, 0.001, 3000)
def some(k):
    k = k * 32 % 900
    return data[k:k + 32]
def both(k):
    print(k)
    return (0.1 if k < 100 else 0.01), data[k * 32 % 900:][:32]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    {head}
        {body}
"""
EACH = "for _ in range(3000):\n        step = sess.run(step_made)"
UNTIL = "step = 0\n    while step < 3000:"
TRAIN = "sess.run(train, {{x: {}, rate: 0.1}})"
OWN = "(step * hvd.size() + hvd.rank())"


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (EACH, "k = step * 32 % 900\n        " + TRAIN.format("data[k:k + 32]"), f"k = {OWN} * 32 % 900\n"),
        (EACH, "rows = some(step)\n        " + TRAIN.format("rows"), f"rows = some({OWN[1:-1]})\n"),
        (
            UNTIL,
            f"k = step * 32 % 900\n        {TRAIN.format('data[k:k + 32]')}\n        step = sess.run(step_made)",
            f"k = {OWN} * 32 % 900\n",
        ),
        (
            UNTIL,
            f"rows = some(step)\n        {TRAIN.format('rows')}\n        step = tf.train.global_step(sess, step_made)",
            f"rows = some({OWN[1:-1]})\n",
        ),
    ],
)
def test_rows_by_the_step_of_a_graph_are_each_ranks_own(head: str, body: str, text: str) -> None:
    source = FETCHED.format(head=head, body=body.replace("{{", "{").replace("}}", "}"))
    assert text in plan_of(source).text
    assert "given the same rows" not in plan_of(source).text


def test_what_counts_beside_such_rows_is_the_same_on_all_ranks() -> None:
    body = (
        "k = step * 32 % 900\n        sess.run(train, {x: data[k:k + 32], rate: 0.1 * 0.9 ** (step / 50)})\n"
    )
    body += "        if step % 100 == 0:\n            print(step)"
    text = plan_of(FETCHED.format(head=EACH, body=body)).text
    assert f"k = {OWN} * 32 % 900\n" in text
    assert "rate: 0.1 * 0.9 ** (step * hvd.size() / 50)}" in text
    assert "if step % max(1, 100 // hvd.size()) == 0 and hvd.rank() == 0:\n" in text


def test_a_weight_goes_with_its_rows_and_a_rate_with_all() -> None:
    body = "k = np.random.randint(0, 900, 32)\n        sess.run(train, {x: data[k] * data[step, 0], rate: 0.1})\n"
    body += "        print(data[step])"
    text = plan_of(FETCHED.format(head=EACH, body=body)).text
    assert "data[step * hvd.size() + hvd.rank(), 0]" in text or f"data[{OWN}, 0]" in text
    assert "print(data[step])" in text
    body = "sess.run(train, {x: data[np.random.randint(0, 900, 32)], rate: rates[step]})"
    assert "rate: rates[step * hvd.size()]}" in plan_of(FETCHED.format(head=EACH, body=body)).text


def test_a_function_that_counts_and_selects_by_such_a_step_is_asked_about() -> None:
    body = "r, rows = both(step)\n        sess.run(train, {x: rows, rate: r})"
    plan = plan_of(FETCHED.format(head=EACH, body=body))
    assert any(c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    "body",
    [
        "rows = data[np.random.randint(0, 900, 32)]\n        sess.run(train, {x: rows, rate: 0.1})",
        "rows = reader.next_batch(32)\n        sess.run(train, {x: rows, rate: 0.1})",
        "sess.run(train, {x: data, rate: 0.1 * 0.9 ** (step / 50)})",  # all rows, which are divided
    ],
)
def test_rows_that_no_step_selects_are_left_alone(body: str) -> None:
    assert "hvd.size() + hvd.rank()" not in plan_of(FETCHED.format(head=EACH, body=body)).text
