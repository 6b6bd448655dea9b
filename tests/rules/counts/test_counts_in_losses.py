"""G5: what losses count with each batch, and what is done to gradients by how many steps were taken."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

DATA = "import numpy as np\nx, y = np.ones((960, 3)), np.ones(960)\n"
MODEL = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
CLASS = """\
class Ramped(tf.keras.losses.Loss):
    def __init__(self):
        super().__init__()
        self.n = tf.Variable(0.0, trainable=False)
    def call(self, t, p):
        self.n.assign_add(1.0)
        return tf.minimum(1.0, self.n / 100.0) * tf.reduce_mean((t - p) ** 2, -1)
"""
FUNCTION = """\
n = tf.Variable(0.0, trainable=False)
def ramped(t, p):
    n.assign_add(1.0)
    return tf.minimum(1.0, n / 100.0) * tf.reduce_mean((t - p) ** 2, -1)
"""
MADE = """\
def make(last):
    n = tf.Variable(0.0, trainable=False)
    def ramped(t, p):
        n.assign_add(1.0)
        return tf.minimum(1.0, n / last) * tf.reduce_mean((t - p) ** 2, -1)
    return ramped
"""


def fitted(before: str, loss: str) -> str:
    fit = f"model.compile('sgd', {loss})\nmodel.fit(x, y, batch_size=8, epochs=9)\n"
    return plan_of(DATA + TF + MODEL + before + fit).text


@pytest.mark.parametrize(
    ("before", "loss"),
    [
        (CLASS, "loss=Ramped()"),
        (FUNCTION, "loss=ramped"),
        (FUNCTION, "ramped"),
        (FUNCTION, "loss=[ramped]"),
        (FUNCTION, "loss={'a': ramped}"),
        (MADE, "loss=make(100.0)"),
    ],
)
def test_what_a_loss_counts_goes_on_by_the_batches_of_all_ranks(before: str, loss: str) -> None:
    assert "n.assign_add(1.0 * hvd.size())\n" in fitted(before, loss)


def test_a_loss_that_reads_how_many_steps_were_taken() -> None:
    loss = "loss=lambda t, p: tf.reduce_mean((t - p) ** 2) * tf.exp(-model.optimizer.iterations / 100)"
    assert "tf.exp(-(model.optimizer.iterations * hvd.size()) / 100)" in fitted("", loss)


def test_a_function_that_is_only_a_metric_counts_as_it_did() -> None:
    assert "n.assign_add(1.0)\n" in fitted(FUNCTION, "'mse', metrics=[ramped]")


STEP = """\
class Own(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.slow = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    def call(self, rows):
        return self.net(rows)
    def train_step(self, data):
        rows, target = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(rows) - target) ** 2)
        grads = tape.gradient(loss, self.trainable_variables)
        t = tf.cast(self.optimizer.iterations, tf.float32)
{}
        return {{"loss": loss}}
model = Own()
model.compile(tf.keras.optimizers.SGD(0.1))
model.fit(x, y, batch_size=8, epochs=9)
"""
APPLY = "        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))"


def stepped(*lines: str) -> str:
    return plan_of(DATA + TF + STEP.format("\n".join([*(f"        {line}" for line in lines), APPLY]))).text


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            [
                "sd = 0.1 / (1 + t) ** 0.55",
                "grads = [g + tf.random.normal(g.shape, stddev=sd) for g in grads]",
            ],
            "sd = 0.1 / (1 + t * hvd.size()) ** 0.55",
        ),
        (["grads, _ = tf.clip_by_global_norm(grads, 5.0 * 0.99 ** t)"], "5.0 * 0.99 ** (t * hvd.size())"),
        (["grads = [tf.clip_by_norm(g, 1.0 / (1 + t)) for g in grads]"], "1.0 / (1 + t * hvd.size())"),
    ],
)
def test_what_is_done_to_gradients_by_how_many_steps_were_taken(lines: list[str], told: str) -> None:
    assert told in stepped(*lines)


def test_gradients_that_are_only_averaged_by_how_many_they_are_stay() -> None:
    text = stepped("grads = [g / len(grads) for g in grads]", "seen = t")
    assert "        grads = [g / len(grads) for g in grads]\n        seen = t\n" in text


@pytest.mark.parametrize(
    ("weights", "after"),
    [
        ("for v in self.trainable_variables: v.assign(v * 0.999)", "v.assign(v * 0.999 ** hvd.size())"),
        ("for v in self.weights: v.assign(v * 0.999)", "v.assign(v * 0.999 ** hvd.size())"),
        # near misses: within bounds; another network's; a part of the way to others, which has a rule of its own
        (
            "for v in self.trainable_variables: v.assign(tf.clip_by_value(v, -1, 1))",
            "v.assign(tf.clip_by_value(v, -1, 1))",
        ),
        (
            "for v in self.slow.weights: v.assign(tf.clip_by_value(v, -1, 1))",
            "v.assign(tf.clip_by_value(v, -1, 1))",
        ),
        (
            "for s, v in zip(self.slow.weights, self.net.weights): s.assign(s + 0.01 * (v - s))",
            "s.assign(s + (1 - (1 - 0.01) ** hvd.size()) * (v - s))",
        ),
    ],
)
def test_weights_that_a_model_shrinks_in_its_own_step(weights: str, after: str) -> None:
    text = stepped(weights)
    assert after in text
    assert "moves these weights" not in text


DROPS = """\
class Drop(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.count = tf.Variable(0, trainable=False)
    def call(self, rows):
        self.count.assign_add(1)
        keep = 1.0 - 0.5 * tf.cast(self.count, tf.float32) / 1000
        return rows * tf.cast({} < keep, tf.float32)
model = tf.keras.Sequential([Drop(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=8, epochs=9)
"""


def test_how_much_a_layer_keeps_by_a_draw_goes_by_the_steps_of_all_ranks() -> None:
    """It did, and was asked about all the same."""
    plan = plan_of(DATA + TF + DROPS.format("tf.random.uniform(tf.shape(rows))"))
    assert "keep = 1.0 - 0.5 * (tf.cast(self.count, tf.float32) * hvd.size()) / 1000\n" in plan.text
    assert not plan.to_confirm
