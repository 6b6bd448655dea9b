"""D3, G4: orders of rows, and selections of them, by what the model says of them."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SEQUENCE = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(8), {layer}, tf.keras.layers.Dense(1)])


class Hard(tf.keras.utils.Sequence):
    def __init__(self):
        super().__init__()
        self.order = np.arange(len(x))

    def __len__(self):
        return 50

    def __getitem__(self, i):
        rows = self.order[i * 16 : i * 16 + 16]
        return x[rows], y[rows]

    def on_epoch_end(self):
        {end}


model.compile("sgd", "mse")
model.fit(Hard(), epochs=3)
"""
NORMALISED, PLAIN = "tf.keras.layers.BatchNormalization()", "tf.keras.layers.ReLU()"
SORTED = "self.order = np.argsort(-np.abs(y - model.predict(x)[:, 0]))"


@pytest.mark.parametrize(
    ("layer", "end", "asked"),
    [
        (NORMALISED, SORTED, True),
        (NORMALISED, "error = (y - model.predict(x)[:, 0]) ** 2; self.order = np.argsort(error)", True),
        (PLAIN, SORTED, False),
        (NORMALISED, "self.order = np.argsort(y)", False),
        (NORMALISED, "self.shown = model.predict(x)", False),
    ],
)
def test_an_order_by_a_model_that_keeps_statistics_is_asked_about(layer: str, end: str, asked: bool) -> None:
    """Each rank took its part of an order of its own."""
    plan = plan_of(SEQUENCE.format(layer=layer, end=end))
    assert any("sorts by what its own model says" in c.doubt for c in plan.to_confirm) is asked


LOOP = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
order = np.arange(800)
for epoch in range(4):
    for i in range(0, len(order), 16):
        rows = {rows}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((y[rows] - model(x[rows])) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    order = np.where(model.predict(x)[:, 0] > 0.3)[0]
"""


def test_rows_that_are_selected_are_sent_and_not_their_number_alone() -> None:
    """A rank that had selected fewer came to the end of its own: a mean over no rows, which is no number."""
    text = plan_of(LOOP.format(rows="order[i : i + 16]")).text
    sent = "    order = hvd.broadcast_object(order)\n    for i in shard(range(0, len(order), 16)):\n"
    assert sent in text


def test_a_number_that_selects_nothing_is_sent_alone() -> None:
    text = plan_of(LOOP.format(rows="slice(i, i + 16)")).text
    assert "range(0, hvd.broadcast_object(len(order)), 16)" in text


GROUPS = """\
import tensorflow as tf

body, head = tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)
model = tf.keras.Sequential([body, head])
model.build((None, 6))
groups = {"body": body.trainable_variables, "head": head.trainable_variables}
opts = {k: tf.keras.optimizers.Adam(r) for k, r in (("body", 0.001), ("head", 0.01))}


def step(a, b):
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    for k in ("body", "head"):
        opts[k].apply_gradients(zip(tape.gradient(loss, groups[k]), groups[k]))
    return loss


ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(16)
for a, b in ds:
    loss = step(a, b)
"""


def test_a_loss_whose_gradients_a_loop_applies_group_by_group_is_that_of_its_rows() -> None:
    """It was taken for what the turns of that loop carry on."""
    assert not plan_of("import numpy as np\n" + GROUPS).to_confirm
