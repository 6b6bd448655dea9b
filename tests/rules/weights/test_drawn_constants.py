"""D3: what training computes with and is drawn once, no variable, is the same on all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import random
import tensorflow as tf
x = np.random.RandomState(0).rand(512, 4).astype("float32")
y = x.sum(1, keepdims=True)
"""
TAPE = """\
optimizer = tf.keras.optimizers.Adam(1e-3)
for a, b in tf.data.Dataset.from_tensor_slices((x, y)).batch(16):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
FIT = 'model.compile("adam", "mse")\nmodel.fit(x, y, batch_size=16)\n'
NET = """\
{beside}
class Net(tf.keras.Model):
    def __init__(self, given=None):
        super().__init__()
        self.given = given
        {made}
        self.out = tf.keras.layers.Dense(1)

    def call(self, rows):
        return self.out({used})
model = Net({given})
"""
LAYER = """\
class Encoding(tf.keras.layers.Layer):
    def build(self, shape):
        {made}

    def call(self, rows):
        return rows * self.m
model = tf.keras.Sequential([Encoding(), tf.keras.layers.Dense(1)])
"""
HOLDER = """\
class Sines:
    def __init__(self):
        {made}

    def transform(self, v):
        return tf.sin(v @ self.w)
"""
DRAWN = HOLDER.format(made="self.w = tf.Variable(tf.random.normal((4, 4)))")
BEGUN = HOLDER.format(
    made="begun = tf.keras.initializers.HeNormal()\n        self.w = tf.Variable(begun((4, 4)))"
)
GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
data = np.random.RandomState(0).rand(512, 4)
X = tf.placeholder(tf.float32, [None, 4])
{made}
w = tf.Variable(np.random.randn(4, 1))
loss = tf.reduce_mean(tf.matmul({used}, w) ** 2)
train = tf.train.AdamOptimizer(0.01).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(0, 512, 16):
    sess.run(train, {{X: data[i : i + 16]}})
"""


def net(made: str = "pass", used: str = "rows", beside: str = "", given: str = "") -> str:
    return NET.format(made=made, used=used, beside=beside, given=given)


@pytest.mark.parametrize("trained", [TAPE, FIT], ids=["tape", "fit"])
@pytest.mark.parametrize(
    ("model", "alike"),
    [
        (net("self.p = np.random.permutation(4)", "tf.gather(rows, self.p, axis=1)"), "alike(np.random.permutation)(4)"),
        (
            net("self.p = list(range(4))\n        random.shuffle(self.p)", "tf.gather(rows, self.p, axis=1)"),
            "alike(random.shuffle)(self.p)",
        ),
        (net("self.m = tf.constant(np.random.rand(4) > 0.5)", "rows * self.m"), "tf.constant(alike(np.random.rand)(4) > 0.5)"),
        (net("self.m = tf.random.normal((4,))", "rows * self.m"), "hvd.broadcast_object(tf.random.normal((4,)))"),
        (
            net("self.m = []\n        for _ in range(3):\n            self.m.append(np.random.rand(4))", "rows * self.m[0]"),
            "self.m.append(alike(np.random.rand)(4))",
        ),
        (
            net("self.m = mask()", "rows * self.m", "def mask():\n    return tf.random.normal((4,))\n"),
            "return hvd.broadcast_object(tf.random.normal((4,)))",
        ),
        (net(used="rows @ B", beside="B = np.random.randn(4, 4)"), "B = hvd.broadcast_object(np.random.randn(4, 4))"),
        (
            net(used="sines(rows)", beside="B = np.random.randn(4, 4)\ndef sines(v):\n    return tf.sin(v @ B)\n"),
            "B = hvd.broadcast_object(np.random.randn(4, 4))",
        ),
        (net(used="rows @ self.given", given="np.random.randn(4, 4)"), "Net(hvd.broadcast_object(np.random.randn(4, 4)))"),
        (
            "B = np.random.randn(4, 4)\n"
            "model = tf.keras.Sequential([tf.keras.layers.Lambda(lambda t: t @ B), tf.keras.layers.Dense(1)])\n",
            "B = hvd.broadcast_object(np.random.randn(4, 4))",
        ),
        (
            "rows = tf.keras.Input((4,))\nB = tf.random.normal((4, 4))\n"
            "model = tf.keras.Model(rows, tf.keras.layers.Dense(1)(tf.matmul(rows, B)))\n",
            "B = hvd.broadcast_object(tf.random.normal((4, 4)))",
        ),
    ],
)  # fmt: skip
def test_what_a_model_computes_with_is_drawn_alike(model: str, alike: str, trained: str) -> None:
    plan = plan_of(HEAD + model + trained)
    assert alike in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize("trained", [TAPE, FIT], ids=["tape", "fit"])
@pytest.mark.parametrize(
    "model",
    [
        net(
            "self.m = tf.Variable(tf.random.normal((4,)), trainable=False)", "rows * self.m"
        ),  # it is broadcast
        net("self.m = tf.Variable(np.random.rand(4))", "rows * self.m"),
        net(used="rows + tf.random.normal(tf.shape(rows))"),  # noise, in each step
        net(used="rows") + "print(model(tf.random.normal((4, 4))))\n",  # a question beside training
        "tf.random.set_seed(1)\n" + net("self.m = tf.random.normal((4,))", "rows * self.m"),
        LAYER.format(made="self.m = self.add_weight('m', (4,), initializer=tf.random_normal_initializer())"),
        "E = np.random.normal(size=(9, 4))\n"
        "model = tf.keras.Sequential([tf.keras.layers.Embedding(9, 4, weights=[E]), tf.keras.layers.Dense(1)])\n",
        "E = np.random.normal(size=(4, 4))\nbegun = tf.keras.initializers.Constant(E)\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(4, kernel_initializer=begun), tf.keras.layers.Dense(1)])\n",
    ],
)
def test_what_variables_begin_with_and_noise_are_drawn_as_before(model: str, trained: str) -> None:
    assert "D3" not in {change.rule for change in plan_of(HEAD + model + trained).changes}


@pytest.mark.parametrize("trained", [TAPE, FIT], ids=["tape", "fit"])
def test_a_draw_where_keras_builds_a_layer_is_asked_about(trained: str) -> None:
    plan = plan_of(HEAD + LAYER.format(made="self.m = tf.random.normal((4,))") + trained)
    (asked,) = plan.to_confirm
    assert asked.rule == "D3"
    assert "draw them in `__init__`" in str(asked.doubt)


@pytest.mark.parametrize("loss", ["lambda a, b: w * (a - b) ** 2", "own"])
def test_what_a_loss_computes_with_is_drawn_alike(loss: str) -> None:
    fit = FIT.replace('"mse"', loss)
    own = "def own(a, b):\n    return w * (a - b) ** 2\n"
    text = HEAD + "w = np.random.rand(1)\n" + own + net() + fit
    assert "w = hvd.broadcast_object(np.random.rand(1))" in plan_of(text).text


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("B = tf.constant(np.random.randn(4, 4))", "tf.matmul(X, B)"),
        ("B = np.random.randn(4, 4)", "tf.matmul(X, B)"),
    ],
)
def test_a_constant_of_a_graph_is_drawn_alike(made: str, used: str) -> None:
    assert "from_root(np.random.randn(4, 4))" in plan_of(GRAPH.format(made=made, used=used)).text


def test_an_operation_of_a_graph_draws_in_each_step() -> None:
    plan = plan_of(GRAPH.format(made="B = tf.random_normal([4, 4])", used="tf.matmul(X, B)"))
    assert "D3" not in {change.rule for change in plan.changes}


@pytest.mark.parametrize("trained", [TAPE, FIT], ids=["tape", "fit"])
@pytest.mark.parametrize(
    ("model", "alike"),
    [
        (
            net(used="rows @ B", beside="B = tf.Variable(tf.random.normal((4, 4)))"),
            "B = tf.Variable(hvd.broadcast_object(tf.random.normal((4, 4))))",
        ),
        (
            net("self.sines = Sines()", "self.sines.transform(rows)", DRAWN),
            "self.w = tf.Variable(hvd.broadcast_object(tf.random.normal((4, 4))))",
        ),
        (
            net("self.sines = Sines()", "self.sines.transform(rows)", BEGUN),
            "self.w = tf.Variable(hvd.broadcast_object(begun((4, 4))))",
        ),
        (
            "B = tf.Variable(initial_value=tf.random_normal_initializer()((4, 4)), trainable=False)\n"
            "model = tf.keras.Sequential([tf.keras.layers.Lambda(lambda t: t @ B), tf.keras.layers.Dense(1)])\n",
            "B = tf.Variable(initial_value=hvd.broadcast_object(tf.random_normal_initializer()((4, 4))), trainable=False)",
        ),
        (
            net("self.m = tf.initializers.RandomUniform()((4,))", "rows * self.m"),
            "hvd.broadcast_object(tf.initializers.RandomUniform()((4,)))",
        ),
    ],
)  # fmt: skip
def test_what_a_variable_begins_with_that_no_model_has_is_drawn_alike(
    model: str, alike: str, trained: str
) -> None:
    plan = plan_of(HEAD + model + trained)
    assert alike in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize("trained", [TAPE, FIT], ids=["tape", "fit"])
@pytest.mark.parametrize(
    "model",
    [
        net(used="rows @ self.given", given="tf.Variable(tf.random.normal((4, 4)))"),  # the model's own
        net(
            "self.sines = Sines()",
            "self.sines.transform(rows)",
            DRAWN.replace("Sines:", "Sines(tf.Module):"),
        ),
        net(
            "self.pairs = []\n        for _ in range(2):\n            w = tf.Variable(tf.random.normal((4, 4)))\n"
            "            self.pairs.append((w, w))",
            "rows @ self.pairs[0][0]",
        ),
        net(used="rows @ B", beside="B = tf.Variable(tf.zeros((4, 4)))"),
        net(
            used="rows @ B", beside="B = tf.Variable(tf.keras.initializers.HeNormal(seed=3)((4, 4)))"
        ),  # one seed
        "tf.random.set_seed(3)\n" + net(used="rows @ B", beside="B = tf.Variable(tf.random.normal((4, 4)))"),
        net("self.m = tf.zeros_initializer()((4,))", "rows + self.m"),
    ],
)
def test_what_the_variables_of_a_model_begin_with_is_drawn_as_before(model: str, trained: str) -> None:
    assert "D3" not in {change.rule for change in plan_of(HEAD + model + trained).changes}


def test_a_variable_that_a_step_trains_beside_the_model_is_drawn_as_before() -> None:
    text = HEAD + net(used="rows @ B", beside="B = tf.Variable(tf.random.normal((4, 4)))") + TAPE
    plan = plan_of(text.replace("model.trainable_variables", "model.trainable_variables + [B]"))
    assert "D3" not in {change.rule for change in plan.changes}


SAMPLED = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(1e-3)
def sample(rows):
    return tf.random.normal(tf.shape(model(rows)))
def step(rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows) - targets) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
{decorator}
def update(read, epochs):
    rows = read()
    targets = sample(rows)
    for i in tf.range(epochs):
        order = tf.random.shuffle(tf.range(32))
        for j in tf.range(4):
            step(tf.gather(rows, order[j * 8 : (j + 1) * 8]), tf.gather(targets, order[j * 8 : (j + 1) * 8]))
def read():
    return tf.random.normal([32, 4])
for i in range(20):
    update(read, 2)
"""


def test_what_a_traced_function_draws_can_t_be_sent_between_the_ranks() -> None:
    """It is an operation, which draws again each time; `hvd.broadcast_object` takes values alone."""
    text = plan_of(HEAD + SAMPLED.format(decorator="@tf.function")).text
    assert "broadcast_object" not in text
