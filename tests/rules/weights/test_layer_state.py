"""K3: state that layers of the user's own set by the rows they see."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
x = np.load('x.npy')
class Own(tf.keras.layers.Layer):
    def build(self, shape):
        self.mean = self.add_weight(name='mean', shape=(8,), trainable=False)
        self.total = tf.Variable(0.0, trainable=False)
    def {method}(self, x, training=None):
{body}
model = tf.keras.Sequential([Own(), tf.keras.layers.Dense(8)])
model.compile('adam', 'mse')
model.fit(x, x, batch_size=10, epochs=30)
"""
NORM = "{}\nself.mean.assign(0.9 * self.mean + 0.1 * {})\nreturn x - self.mean"
STATISTICS = """\
if training:
    mean = tf.reduce_mean(x, 0)
    self.mean.assign(0.9 * self.mean + 0.1 * mean)
    return x - mean
else:
    return x - self.mean
"""
SENT = "hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)"


def asked(body: str, method: str = "call", own: str = "") -> list[str]:
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    plan = plan_of(HEAD.format(method=method, body=indented + own))
    found = [c for c in changes(plan, "K3") if c.what == "Keep what layers set by rows the same on all ranks"]
    assert all(not c.sure for c in found)
    return [plan.document.text[c.span.start : c.span.end] for c in found]


@pytest.mark.parametrize(
    ("body", "method"),
    [
        (NORM.format("", "1.0"), "call"),  # by no rows
        ("self.total.assign_add(1.0)\nreturn x * self.total", "call"),
        (
            "self.total.assign(tf.cast(tf.shape(x)[0], tf.float32))\nreturn x * self.total",
            "call",
        ),  # as many on all
        ("self.total.assign(tf.cast(x.shape[1], tf.float32))\nreturn x * self.total", "call"),
        (STATISTICS, "call"),  # used where it doesn't train
        ("self.total.assign(tf.reduce_mean(x))\nreturn x", "call"),  # looked at only
        (NORM.format("", "tf.reduce_mean(x, 0)"), "adapt_to"),  # no step runs it
    ],
)
def test_state_that_no_rows_or_no_training_has_a_part_in(body: str, method: str) -> None:
    assert asked(body, method) == []


@pytest.mark.parametrize(
    "body",
    [
        NORM.format("", "tf.reduce_mean(x, 0)"),
        NORM.format("h = tf.nn.relu(x)", "tf.reduce_mean(h, 0)"),
        "self.mean.assign_sub(0.1 * (self.mean - tf.reduce_mean(x, 0)))\nself.add_loss(tf.reduce_sum(self.mean))\nreturn x",
        "K.update(self.mean, K.mean(x, 0))\nreturn x - self.mean",
        "K.moving_average_update(self.mean, K.mean(x, 0), 0.9)\nreturn x - self.mean",
        "if training:\n    self.mean.assign(tf.reduce_mean(x, 0))\nreturn x - self.mean",
        "self.add_update([(self.mean, K.mean(x, 0))], x)\nreturn x - self.mean",
        "new = []\nnew.append((self.mean, K.mean(x, 0)))\nself.add_update(new)\nreturn x - self.mean",
        "self.total.assign(tf.reduce_mean(x))\nself.mean.assign(self.mean * self.total)\nreturn x * self.mean",
    ],
)
def test_state_by_rows_that_training_computes_with_is_asked(body: str) -> None:
    assert len(asked(body)) == 1


@pytest.mark.parametrize(
    ("body", "own", "sets"),
    [
        (
            "return self.normed(x)",
            "self.mean.assign(tf.reduce_mean(rows, 0))\n        return rows - self.mean",
            "self.mean.assign(tf.reduce_mean(rows, 0))",
        ),
        (
            "self.normed(self.mean, tf.reduce_mean(x, 0))\nreturn x - self.mean",
            "rows.assign(0.9 * rows + 0.1 * new)",
            "self.normed(self.mean, tf.reduce_mean(x, 0))",
        ),
    ],
)
def test_state_that_another_method_of_the_layer_sets(body: str, own: str, sets: str) -> None:
    assert asked(body, own=f"    def normed(self, rows, new=None):\n        {own}\n") == [sets]


def test_statistics_are_rank_0s_after_training() -> None:
    indented = "".join(f"        {line}\n" for line in STATISTICS.splitlines())
    text = HEAD.format(method="call", body=indented)
    assert SENT in plan_of(text).text
    assert SENT not in plan_of(text.replace("self.mean.assign(0.9 * self.mean + 0.1 * mean)", "pass")).text


HELD = """\
import numpy as np
import tensorflow as tf
class Augmenter(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.strength = tf.Variable(0.0)
    def call(self, x, training=None):
        return x {}
    def update(self, logits):
        self.strength.assign(0.9 * self.strength + 0.1 * tf.reduce_mean(logits))
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.augmenter, self.dense = Augmenter(), tf.keras.layers.Dense(1)
    def train_step(self, x):
        with tf.GradientTape() as tape:
            logits = self.dense(self.augmenter(x, training=True))
            loss = tf.reduce_mean(logits ** 2)
        gradients = tape.gradient(loss, self.dense.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.dense.trainable_variables))
        self.augmenter.update(logits)
        return {{"loss": loss}}
model = Net()
model.compile('adam')
model.fit(np.load('x.npy'))
"""


@pytest.mark.parametrize(("used", "count"), [("* self.strength", 1), ("* 2", 0)])
def test_state_of_a_layer_that_a_step_of_its_model_sets(used: str, count: int) -> None:
    plan = plan_of(HELD.format(used))
    asked = [c for c in changes(plan, "K3", "K7") if not c.sure and "the same on all ranks" in c.what]
    assert len(asked) == count


def test_a_metric_that_a_step_updates_is_no_state_of_a_layer() -> None:
    text = HELD.format("* 2").replace(
        "Augmenter(tf.keras.layers.Layer)", "Augmenter(tf.keras.metrics.Metric)"
    )
    assert SENT not in plan_of(text.replace("self.augmenter(x, training=True)", "x")).text


LOOP = """\
ds = tf.data.Dataset.from_tensor_slices(x).batch(4)
opt = tf.keras.optimizers.Adam(1e-3)
for batch in ds:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(batch, training=True) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("body", "asks"),
    [
        (
            "if training:\n    self.mean.assign(0.9 * self.mean + 0.1 * tf.reduce_mean(x, 0))\nreturn x - self.mean",
            True,
        ),
        (STATISTICS, False),  # a near miss: used where it doesn't train
    ],
)
def test_state_that_a_loop_of_ones_own_trains_with(body: str, asks: bool) -> None:
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    code = HEAD.format(method="call", body=indented)
    plan = plan_of(code[: code.index("model.compile")] + LOOP)
    found = [c for c in changes(plan, "G2") if c.what == "Keep what layers set by rows the same on all ranks"]
    assert [not c.sure for c in found] == [True] * asks


# ---------------------------------------------------------------------- losses


LOSS = """\
import numpy as np
import tensorflow as tf
x, y = np.load('x.npy'), np.load('y.npy')
class Center(tf.keras.losses.Loss):
    def __init__(self):
        super().__init__()
        self.centers = tf.Variable(tf.zeros((10, 4)), trainable=False)
    def call(self, labels, features):
        labels = tf.cast(tf.reshape(labels, [-1]), tf.int32)
        found = tf.gather(self.centers, labels)
        {}
        return tf.reduce_mean(tf.square(features - {}), axis=-1)
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile('adam', Center())
model.fit(x, y, batch_size=10, epochs=30)
"""
MOVED = "self.centers.scatter_sub(tf.IndexedSlices(0.5 * (found - features), labels))"
FUNCTION = """\
import numpy as np
import tensorflow as tf
x, y = np.load('x.npy'), np.load('y.npy')
{}
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile('adam', loss={})
model.fit(x, y, batch_size=10, epochs=30)
"""
MEAN = """\
mean = tf.Variable(tf.zeros((4,)), trainable=False)
def away(labels, features):
    mean.assign(0.9 * mean + 0.1 * tf.reduce_mean(features, 0))
    return tf.reduce_mean(tf.square(features - {}), axis=-1)
"""


def asked_of(text: str) -> list[str]:
    plan = plan_of(text)
    assert SENT not in plan.text  # a loss's state is none of the model's
    found = [c for c in changes(plan, "K3") if c.what == "Keep what layers set by rows the same on all ranks"]
    assert all(not c.sure for c in found)
    return [plan.document.text[c.span.start : c.span.end] for c in found]


@pytest.mark.parametrize(
    ("moved", "used", "asks"),
    [
        (MOVED, "found", True),
        ("self.centers.assign(self.centers * 0.9 + 0.1 * tf.reduce_mean(features, 0))", "found", True),
        ("self.centers.assign(self.centers * 0.9)", "found", False),  # by no rows
        (MOVED, "1.0", False),  # looked at only
        ("pass", "found", False),
    ],
)
def test_state_of_a_loss_that_its_rows_set(moved: str, used: str, asks: bool) -> None:
    assert asked_of(LOSS.format(moved, used)) == [moved] * asks


@pytest.mark.parametrize(
    ("code", "loss", "asks"),
    [
        (MEAN.format("mean"), "away", True),
        (MEAN.format("mean"), "['mse', away]", True),
        (MEAN.format("mean"), "{'a': away}", True),
        (MEAN.format("labels"), "away", False),  # looked at only
        (MEAN.format("mean"), "'mse'", False),  # no model is trained with it
    ],
)
def test_state_of_a_function_that_models_are_compiled_with(code: str, loss: str, asks: bool) -> None:
    said = ["mean.assign(0.9 * mean + 0.1 * tf.reduce_mean(features, 0))"] * asks
    assert asked_of(FUNCTION.format(code, loss)) == said


BESIDE = """\
import numpy as np
import tensorflow as tf
x, y = np.load('x.npy'), np.load('y.npy')
class Own(tf.keras.layers.Layer):
    def build(self, shape):
        self.mean = self.add_weight(name='mean', shape=(4,), trainable=False)
    def call(self, x):
        return x - {used}
    def update(self, rows):
        self.mean.assign(0.9 * self.mean + 0.1 * {by})
body, own = tf.keras.layers.Dense(4), Own()
{model}
model.compile('adam', 'mse')
for epoch in range(10):
    for i in range(100):
        rows = x[i * 10:(i + 1) * 10]
        model.train_on_batch(rows, y[i * 10:(i + 1) * 10])
        {update}
"""
SEQUENTIAL = "model = tf.keras.Sequential([body, own, tf.keras.layers.Dense(1)])"
FUNCTIONAL = "i = tf.keras.Input((4,))\nmodel = tf.keras.Model(i, tf.keras.layers.Dense(1)(own(body(i))))"
ROWS = "tf.reduce_mean(rows, 0)"


@pytest.mark.parametrize(
    ("model", "used", "by", "update", "asks"),
    [
        (SEQUENTIAL, "self.mean", ROWS, "own.update(body(rows))", True),
        (FUNCTIONAL, "self.mean", ROWS, "own.update(body(rows))", True),
        (SEQUENTIAL, "1.0", ROWS, "own.update(body(rows))", False),  # training computes with none of it
        (SEQUENTIAL, "self.mean", "0.5", "own.update(body(rows))", False),  # by no rows
        (SEQUENTIAL, "self.mean", ROWS, "own.update(x)", False),  # by those that all ranks have
        (SEQUENTIAL, "self.mean", ROWS, "pass", False),
        (
            "model = tf.keras.Sequential([body, tf.keras.layers.Dense(1)])",
            "self.mean",
            ROWS,
            "own.update(rows)",
            False,
        ),
    ],
)
def test_state_of_a_layer_that_a_loop_sets_beside_its_steps(
    model: str, used: str, by: str, update: str, asks: bool
) -> None:
    plan = plan_of(BESIDE.format(model=model, used=used, by=by, update=update))
    found = [
        c for c in changes(plan, "G2") if c.what == "Keep what the loss is made with the same on all ranks"
    ]
    assert [c.sure for c in found] == [False] * asks
