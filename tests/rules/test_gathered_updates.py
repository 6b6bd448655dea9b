"""Gradients that an epoch gathers: those of its last batches are applied beside its loop, and it stays an epoch."""

from __future__ import annotations

import pytest

from .pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
rows, targets = np.load("x.npy"), np.load("y.npy")
data = tf.data.Dataset.from_tensor_slices((rows, targets)).shuffle(99).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01)
"""
FUNCTIONS = """\
kept = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]
def gather(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y)) / 4
    for s, g in zip(kept, tape.gradient(loss, model.trainable_variables)):
        s.assign_add(g)
def apply():
    opt.apply_gradients(zip(kept, model.trainable_variables))
    for s in kept:
        s.assign(tf.zeros_like(s))
for epoch in range(100):
    for i, (x, y) in enumerate(data):
        gather(x, y)
        if (i + 1) % 4 == 0:
            apply()
    if (i + 1) % 4:
        apply()
    if epoch % 5 == 0:
        model.save_weights("w")
"""
IN_PLACE = """\
for epoch in range(100):
    gathered, n = None, 0
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        grads = tape.gradient(loss, model.trainable_variables)
        gathered = grads if gathered is None else [p + q for p, q in zip(gathered, grads)]
        n += 1
        if n == 4:
            opt.apply_gradients(zip([p / n for p in gathered], model.trainable_variables))
            gathered, n = None, 0
    if n:
        opt.apply_gradients(zip([p / n for p in gathered], model.trainable_variables))
    if epoch % 5 == 0:
        model.save_weights("w")
"""
FIELDS = """\
class Trainer:
    def __init__(self):
        self.kept = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]
        self.n = 0
    def gather(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y)) / 4
        for s, g in zip(self.kept, tape.gradient(loss, model.trainable_variables)):
            s.assign_add(g)
        self.n += 1
        if self.n == 4:
            self.apply()
    def apply(self):
        opt.apply_gradients(zip(self.kept, model.trainable_variables))
        for s in self.kept:
            s.assign(tf.zeros_like(s))
        self.n = 0
    def fit(self):
        for epoch in range(100):
            for x, y in data:
                self.gather(x, y)
            if self.n:
                self.apply()
            if epoch % 5 == 0:
                model.save_weights("w")
Trainer().fit()
"""


@pytest.mark.parametrize("program", [FUNCTIONS, IN_PLACE, FIELDS])
def test_an_epoch_that_applies_what_is_left_is_no_step(program: str) -> None:
    """Were epochs divided beside their batches, training would see 1/size() of the rows."""
    plan = plan_of(HEAD + program)
    assert "for epoch in range(100):" in plan.text
    assert "if epoch % 5 == 0 and hvd.rank() == 0:" in plan.text
    assert ".shard(hvd.size(), hvd.rank())" in plan.text
    assert "Adam(0.01 * hvd.size())" in plan.text


STEP = """\
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def test_a_turn_that_takes_a_step_of_its_own_stays_one() -> None:
    loop = "for turn in range(1000):\n    for x, y in data.take(1):\n        step(x, y)\n    step(draw(), draw())\n"
    assert (
        "for turn in range(1000 // hvd.size()):"
        in plan_of(HEAD + STEP + "from own import draw\n" + loop).text
    )


POOLED = """\
for epoch in range(100):
    pool = []
    for x, y in data:
        pool.append((x, y))
        if len(pool) == 4:
            step(tf.concat([p for p, _ in pool], 0), tf.concat([q for _, q in pool], 0))
            pool = []
    if pool:
        step(tf.concat([p for p, _ in pool], 0), tf.concat([q for _, q in pool], 0))
"""
BESIDE = "this step is taken as often as alone"


def test_rows_that_are_left_are_no_step_of_their_own() -> None:
    plan = plan_of(HEAD + STEP + POOLED)
    assert "for epoch in range(100):" in plan.text
    assert ".shard(hvd.size(), hvd.rank())" in plan.text
    assert not any(BESIDE in c.doubt for c in plan.to_confirm)


@pytest.mark.parametrize(
    ("batches", "other"),
    [
        ("for x, y in data:\n        step(x, y)", "step(*next(more))"),
        ("for x, y in data:\n        step(x, y)", "step(rows[:9], targets[:9])"),
        (
            "for i in range(n):\n        step(rows[i * 16 : i * 16 + 16], targets[i * 16 : i * 16 + 16])",
            "step(rows[n * 16 :], targets[n * 16 :])",
        ),
    ],
)
def test_a_step_beside_all_batches_is_asked_about(batches: str, other: str) -> None:
    """Epochs stay: were they divided beside their batches, training would see 1/size() of the rows."""
    more = "more = iter(data.repeat())\nn = len(rows) // 16\n"
    plan = plan_of(f"{HEAD}{STEP}{more}for epoch in range(100):\n    {batches}\n    {other}\n")
    assert "for epoch in range(100):" in plan.text
    assert any(BESIDE in c.doubt for c in plan.to_confirm)


def test_another_networks_step_in_each_epoch_stays_as_it_is() -> None:
    maker = (
        STEP.replace("def step(x, y)", "def make(x)")
        .replace("opt.", "own.")
        .replace("model(x) - y", "model(other(x))")
    )
    other = "other = tf.keras.Sequential([tf.keras.layers.Dense(4)])\nown = tf.keras.optimizers.Adam(0.02)\n"
    loop = "for epoch in range(100):\n    for x, y in data:\n        step(x, y)\n    make(tf.random.normal([16, 4]))\n"
    plan = plan_of(
        HEAD + STEP + other + maker.replace("model.trainable_variables", "other.trainable_variables") + loop
    )
    assert "for epoch in range(100):" in plan.text
    assert "Adam(0.02)" in plan.text


ALL = """\
for epoch in range(100):
    gathered = [tf.zeros_like(v) for v in model.trainable_variables]
    for {turns}:
        {batch}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        gathered = [p + q for p, q in zip(gathered, tape.gradient(loss, model.trainable_variables))]
    opt.apply_gradients(zip(gathered, model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("turns", "batch", "asked"),
    [
        ("x, y in data", "pass", True),
        ("i, (x, y) in enumerate(data)", "pass", True),
        ("_ in range(4)", "x, y = next(batches)", False),
        ("i in np.random.choice(100, 4)", "x, y = rows[i : i + 1], targets[i : i + 1]", False),
    ],
)
def test_an_update_of_all_that_an_epoch_goes_through_is_asked_about(
    turns: str, batch: str, asked: bool
) -> None:
    """It may be of all of the data: then ranks would take fewer such updates, by a larger rate."""
    plan = plan_of(HEAD + "batches = iter(data.repeat())\n" + ALL.format(turns=turns, batch=batch))
    assert any("if this is all of the data" in c.doubt for c in plan.to_confirm) is asked


def test_gradients_of_all_batches_in_a_function_are_asked_about() -> None:
    program = ALL.format(turns="x, y in data", batch="pass").replace(
        "for epoch in range(100):", "def pass_through():"
    )
    plan = plan_of(HEAD + program + "for epoch in range(100):\n    pass_through()\n")
    assert any("if this is all of the data" in c.doubt for c in plan.to_confirm)


@pytest.mark.parametrize(
    "turns",
    [
        "for large in data.window(4, drop_remainder=True):\n    pass_through(tf.data.Dataset.zip(large))\n",
        "for turn in range(1000):\n    part = data.shuffle(9).take(3)\n    pass_through(part)\n",
        "for turn in range(1000):\n    pass_through(data.skip(turn).take(4))\n",
    ],
)
def test_chunks_of_the_data_are_other_ones_in_each_update(turns: str) -> None:
    program = ALL.format(turns="x, y in chunks", batch="pass")
    program = program.replace("for epoch in range(100):", "def pass_through(chunks):")
    plan = plan_of(HEAD + program + turns)
    assert not any("if this is all of the data" in c.doubt for c in plan.to_confirm)
