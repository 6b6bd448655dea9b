"""G4: batches that a loop gathers, for a loop after it."""

from __future__ import annotations

import pytest

from ..pairs import plan_of, refused

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = tf.ones((800, 4)), tf.ones((800, 1))
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
ROUNDS = """\
kept = {made}
for e in range(3):
    for a, b in ds:
        loss = step(a, b)
        if {when}:
            kept.append((a, b))
    for a, b in kept:
        step(a, b)
    {end}
"""


@pytest.mark.parametrize("made", ["[]", "list()"])
@pytest.mark.parametrize("end", ["kept.clear()", "kept = []"])
def test_ranks_that_gather_other_numbers_leave_the_loop_together(made: str, end: str) -> None:
    """They were dealt out once more, and ranks with fewer waited for the others forever."""
    plan = plan_of(HEAD + ROUNDS.format(made=made, when="float(loss) > 1", end=end))
    assert "for a, b in together(kept):" in plan.text
    assert "shard_batches" not in plan.text
    assert any("another number of them" in change.doubt for change in plan.changes)


@pytest.mark.parametrize("when", ["e == 0", "np.random.rand() < 0.1", "True"])
def test_as_many_of_each_rank_are_left(when: str) -> None:
    """Dealt out once more, each rank trained on a part of its part."""
    plan = plan_of(HEAD + ROUNDS.format(made="[]", when=when, end="pass"))
    assert "    for a, b in kept:\n" in plan.text
    assert "shard_batches" not in plan.text


@pytest.mark.parametrize(
    "gathered",
    [
        "kept = []\nfor a, b in ds:\n    kept.append((a * 2, b))\n",  # nothing is trained there, so that loop is whole
        "kept = [(a * 2, b) for a, b in ds]\n",
        "kept = [(x[:8], y[:8])]\nkept.append((x[8:16], y[8:16]))\n",
    ],
)
def test_what_all_ranks_gather_alike_is_dealt_out(gathered: str) -> None:
    plan = plan_of(HEAD + gathered + "for e in range(9):\n    for a, b in kept:\n        step(a, b)\n")
    assert "for a, b in shard_batches(kept):" in plan.text


@pytest.mark.parametrize(
    "gathered",
    [
        "for i in range(0, 800, 16):\n    step(x[i:i + 16], y[i:i + 16])\n    order.append(i)\n",
        "for i, (a, b) in enumerate(ds):\n    step(a, b)\n    order.append(i)\n",
        "for i in range(500):\n    k = np.random.randint(0, 800, 16)\n    step(tf.gather(x, k), tf.gather(y, k))\n"
        "    order.append(i)\n",
    ],
)
def test_numbers_of_turns_are_no_batches(gathered: str) -> None:
    """Ranks may gather the same ones, and then all of them would train on the same rows."""
    loop = "for i in order:\n    step(x[i:i + 16], y[i:i + 16])\n"
    assert "for i in shard_batches(order):" in plan_of(HEAD + "order = []\n" + gathered + loop).text


GRAPH = """\
import numpy as np
import tensorflow as tf
rows = np.ones((800, 4))
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for e in range(3):
        hard = []
        for i in range(0, 800, 8):
            _, value = sess.run([train, loss], {x: rows[i:i + 8]})
            if value > 1:
                hard.append(rows[i:i + 8])
        for a in hard:
            sess.run(train, {x: a})
"""


def test_sessions_that_would_wait_are_refused() -> None:
    refused(GRAPH, "HVD205", "gathers another number")


IN_TURNS = """\
pool = []
for e in range(3):
    {begin}
    for {item} in {data}:
        {add}
        if len(pool) == 4:
            for a, b in pool:
                step(a, b)
            pool = []
"""


@pytest.mark.parametrize(
    ("item", "data", "add", "divided"),
    [
        ("a, b", "ds", "pool.append((a, b))", ".shard(hvd.size(), hvd.rank())"),
        ("batch", "ds", "pool.append((batch[0] * 2, batch[1]))", ".shard(hvd.size(), hvd.rank())"),
        ("i", "range(0, 800, 8)", "pool.append((x[i:i + 8], y[i:i + 8]))", "in shard(range(0, 800, 8)):"),
    ],
)
@pytest.mark.parametrize("begin", ["pass", "pool = []"])
def test_the_loop_that_gathers_a_few_is_divided(
    item: str, data: str, add: str, divided: str, begin: str
) -> None:
    """Every rank read all batches, and the few were dealt out: eight ranks took as many steps as four."""
    plan = plan_of(HEAD + IN_TURNS.format(item=item, data=data, add=add, begin=begin))
    assert divided in plan.text
    assert "            for a, b in pool:\n" in plan.text
    assert not plan.to_confirm
    seldom = any("may no longer have" in note.message for note in plan.notes)
    assert seldom == (begin == "pool = []")  # what is left of an epoch waits for the next one


def test_a_few_that_are_chosen_by_what_a_rank_computes_are_dealt_out() -> None:
    """Ranks would gather other numbers of them."""
    body = IN_TURNS.format(
        item="a, b", data="ds", add="if float(model(a)[0, 0]) > 1: pool.append((a, b))", begin="pass"
    )
    assert "for a, b in shard_batches(pool):" in plan_of(HEAD + body).text
