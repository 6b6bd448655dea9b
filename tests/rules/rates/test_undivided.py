"""Data that every rank trains on as a whole: rate, schedule and steps stay. Part of C5, C4, K2, K4, G4, S5."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

HEAD = TF + "from tensorflow.keras import layers\nx, y = load()\nmodel = tf.keras.Sequential()\n"
STATEFUL = HEAD + "model.add(layers.LSTM(4, stateful=True, batch_input_shape=(8, 4, 3)))\n"
FIXED = HEAD + "model.add(layers.Dense(4, batch_input_shape=(8, 4)))\n"
PLAIN = HEAD + "model.add(layers.LSTM(4, stateful=False))\n"
ADAM = "model.compile(tf.keras.optimizers.Adam(0.001), 'mse')\n"
ROUNDS = "for i in range(9):\n    model.fit(x, y, batch_size=8, shuffle=False)\n    model.reset_states()\n"
DATASET = "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8).repeat().take(1000)\nmodel.fit(ds)\n"
SCHEDULE = (
    "rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1000, 0.9)\n"
    "model.compile(tf.keras.optimizers.SGD(rate), 'mse')\n"
)
TRACED = """\
import tensorflow as tf
def make(n):
    ds = tf.data.Dataset.from_tensor_slices(load(n)).batch(100)
    return ds
seen = make(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
def train():
    for x, y in make(1):
        step(x, y)
train()
"""
RNN = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 3])
cell = tf.nn.rnn_cell.BasicLSTMCell(3)
first = cell.zero_state(5, tf.float32)
out, last = tf.nn.static_rnn(cell, [x], initial_state=first)
train_op = tf.train.AdamOptimizer(0.006).minimize(tf.reduce_mean(out))
sess = tf.Session()
sess.run(tf.global_variables_initializer())
state = None
for i in range(200):
    _, state = sess.run([train_op, last], feed_dict={x: get_batch(), first: state})
"""


@pytest.mark.parametrize(
    "source",
    [
        PLAIN + ADAM + ROUNDS,
        PLAIN + ADAM + DATASET,
        PLAIN + "model.compile('adam', 'mse')\n" + ROUNDS,
        FIXED + ADAM + DATASET,  # whole batches are dealt out
        TRACED,
        RNN.replace(", first: state", ""),
    ],
    ids=["arrays", "dataset", "string", "whole batches", "not traced", "no state"],
)
def test_the_rate_of_what_is_divided_grows(source: str) -> None:
    assert "* hvd.size()" in plan_of(source).text


@pytest.mark.parametrize(
    "source",
    [
        STATEFUL + ADAM + ROUNDS,
        STATEFUL + ADAM + DATASET,
        STATEFUL + SCHEDULE + DATASET,
        STATEFUL + "model.compile('adam', 'mse')\n" + ROUNDS,
        STATEFUL + ADAM + "model.fit(batches(), steps_per_epoch=1000)\n",
        FIXED + ADAM + ROUNDS,
        PLAIN + ADAM + "from data import unseen\nmodel.fit(unseen)\n",
        TRACED.replace("def train", "@tf.function\ndef train"),
        RNN,
    ],
    ids=["arrays", "dataset", "schedule", "string", "steps", "one size", "unseen", "traced", "state"],
)
def test_rate_and_steps_of_what_stays_whole_stay(source: str) -> None:
    plan = plan_of(source)
    said = [note.message for note in plan.notes]
    assert "size()" not in plan.text
    assert any("every rank trains on all of" in note for note in said)
