"""Strong scaling: all rows come into every step, and are divided; rate and steps stay."""

from __future__ import annotations

import pytest

from ..pairs import plan_of, refused

GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
x = np.linspace(0, 1, 64)[:, None]
{}
w = tf.Variable(tf.zeros([1, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(rows, w)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(100):
    sess.run(train, {{rows: x}})
"""


@pytest.mark.parametrize(
    "shape",
    [
        "rows = tf.placeholder(tf.float32)",
        "rows = tf.placeholder(tf.float32, None)",
        "rows = tf.placeholder(tf.float32, [None, 1])",
        "wide = [None, 1]\nrows = tf.placeholder(tf.float32, shape=wide)",
    ],
)
def test_rows_of_any_number_are_divided_and_nothing_else_changes(shape: str) -> None:
    text = plan_of(GRAPH.format(shape)).text
    assert "sess.run(train, {rows: share_rows(x)})" in text
    assert "GradientDescentOptimizer(0.1))" in text
    assert "for step in range(100):" in text


@pytest.mark.parametrize(
    ("fed", "divided"),
    [
        ("x", "x[hvd.rank() :: hvd.size()]"),
        ("x[:32]", "x[:32][hvd.rank() :: hvd.size()]"),
        ("np.array(x)", "np.array(x)[hvd.rank() :: hvd.size()]"),
        ("x if True else x", "split_rows(x if True else x)"),  # what a slice would bind to a part of
        ("x - 1.0", "split_rows(x - 1.0)"),
    ],
)
def test_rows_that_a_loss_adds_up_are_sliced(fed: str, divided: str) -> None:
    """However unequal the parts are, their sum is that of all rows: no helper looks at how many there are."""
    graph = GRAPH.replace("reduce_mean", "reduce_sum").replace("rows: x", "rows: " + fed)
    text = plan_of(graph.format("rows = tf.placeholder(tf.float32, [None, 1])")).text
    assert f"sess.run(train, {{rows: {divided}}})" in text
    assert "GradientDescentOptimizer(0.1), op=hvd.Sum)" in text
    assert ("def split_rows" in text) is divided.startswith("split_rows(")


@pytest.mark.parametrize(
    ("shape", "opened"),
    [("x.shape", "[None, *x.shape[1:]]"), ("[64, 1]", "[None, 1]"), ("(64, 1)", "(None, 1)")],
)
def test_a_placeholder_for_all_rows_is_left_open(shape: str, opened: str) -> None:
    text = plan_of(GRAPH.format(f"rows = tf.placeholder(tf.float32, {shape})")).text
    assert f"rows = tf.placeholder(tf.float32, {opened})" in text
    assert "sess.run(train, {rows: share_rows(x)})" in text


@pytest.mark.parametrize(
    "placeholder",
    [
        "rows = tf.placeholder(tf.float32, [64, 1])\nflat = tf.reshape(rows, [64])",
        "rows = tf.placeholder(tf.float32, [64, 1])\ncount = rows.shape[0]",
    ],
)
def test_a_placeholder_whose_size_is_used_takes_all_rows_on_each_rank(placeholder: str) -> None:
    """Rate and steps stay: right, and no faster, which is said."""
    plan = plan_of(GRAPH.format(placeholder))
    assert "_rows(" not in plan.text
    assert "hvd.size()" not in plan.text
    assert "op=hvd.Sum" not in plan.text
    assert any("made for their number of rows" in note.message for note in plan.notes)


def test_rows_that_are_part_of_the_graph_stay_whole_and_are_averaged() -> None:
    """One rank's zeros would make its gradient a constant, which TensorFlow folds with the collective."""
    plan = plan_of(
        "import tensorflow.compat.v1 as tf\nx = [1.0, 2.0]\nw = tf.Variable(tf.zeros([1]))\n"
        "loss = tf.reduce_sum(tf.square(x * w - 1.0))\n"
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\nsess = tf.Session()\n"
        "sess.run(tf.global_variables_initializer())\nfor step in range(100):\n    sess.run(train)\n"
    )
    assert "GradientDescentOptimizer(0.1)).minimize(loss)" in plan.text
    assert "_rows(" not in plan.text
    assert "hvd.rank() ::" not in plan.text
    assert any("part of the graph" in note.message for note in plan.notes)


@pytest.mark.parametrize("rows", ["tf.constant(rows)", "tf.constant(rows[:100], tf.float32)", "rows"])
def test_rows_that_were_read_while_the_graph_was_built_are_part_of_it(rows: str) -> None:
    """What pickle gives isn't seen; the graph holds it, whatever it is, and each step sees all of it."""
    plan = plan_of(
        "import pickle\nimport tensorflow.compat.v1 as tf\nwith open('r.pickle', 'rb') as f:\n    rows = pickle.load(f)['x']\n"
        f"x = {rows}\nw = tf.Variable(tf.zeros([1]))\nloss = tf.reduce_mean(tf.square(x * w - 1.0))\n"
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\nsess = tf.Session()\n"
        "sess.run(tf.global_variables_initializer())\nfor step in range(100):\n    sess.run(train)\n"
    )
    assert "GradientDescentOptimizer(0.1)).minimize(loss)" in plan.text
    assert "range(100)" in plan.text
    assert any("part of the graph" in note.message for note in plan.notes)


def test_what_a_graph_holds_beside_rows_that_are_fed_is_no_batch() -> None:
    plan = plan_of(
        "import pickle\nimport numpy as np\nimport tensorflow.compat.v1 as tf\nwords = pickle.load(open('w.pickle', 'rb'))\n"
        "rows = np.load('rows.npy')\ntable = tf.constant(words)\nx = tf.placeholder(tf.int32, [None])\n"
        "w = tf.Variable(tf.zeros([1]))\nloss = tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, x) * w - 1.0))\n"
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\nsess = tf.Session()\n"
        "sess.run(tf.global_variables_initializer())\nfor i in range(len(rows) // 8):\n"
        "    sess.run(train, {x: rows[i * 8:(i + 1) * 8]})\n"
    )
    assert "GradientDescentOptimizer(0.1 * hvd.size())" in plan.text


WATCHED = """\
import tensorflow as tf
x = tf.linspace([0.0], [1.0], 64)
net, opt = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.SGD(0.1)
def loss():
    with tf.GradientTape() as inner:
        inner.watch(x)
        u = net(x)
    return tf.reduce_mean(tf.square(inner.gradient(u, x)))
for step in range(100):
    with tf.GradientTape() as tape:
        value = loss()
    opt.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))
"""


def test_rows_that_gradients_are_taken_by_are_divided_once() -> None:
    text = plan_of(WATCHED).text
    assert "x = share_rows(x)\n" in text
    assert "inner.watch(x)" in text
    assert "u = net(x)" in text
    assert "inner.gradient(u, x)" in text


def test_rows_that_are_shown_as_a_whole_are_not_divided_before() -> None:
    refused(WATCHED + "print(net(x))\n", "HVD006", "a name of its own")


TAPE = """\
import numpy as np
import tensorflow as tf
x = np.random.rand(256, 8).astype("float32")
y = {}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for _ in range(100):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize("y", ["x.sum()", "np.mean(x)", "x.max(keepdims=True)", "np.sum(x, keepdims=True)"])
def test_what_is_summed_up_over_all_rows_is_no_rows(y: str) -> None:
    assert "(model(share_rows(x)) - y)" in plan_of(TAPE.format(y)).text


@pytest.mark.parametrize(
    "y", ["x.sum(1)", "x.mean(-1, keepdims=True)", "np.sum(x, 1)", "x.max(axis=1)", "np.mean(x, axis=1)"]
)
def test_what_is_summed_up_over_each_row_is_divided_with_the_rows(y: str) -> None:
    assert "(model(share_rows(x)) - share_rows(y))" in plan_of(TAPE.format(y)).text


NOISY = """\
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(64, 3)
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
opt = tf.keras.optimizers.SGD(0.1)
for i in range(99):
    noisy = x + np.random.normal(size=x.shape)
    with tf.GradientTape() as tape:
        loss = {loss}
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def test_noise_on_all_rows_is_drawn_for_a_ranks_rows() -> None:
    text = plan_of(NOISY.format(loss="tf.reduce_mean((model(noisy) - x) ** 2)")).text
    assert "noisy = share_rows(x) + np.random.normal(size=share_rows(x).shape)" in text
    assert "model(noisy) - share_rows(x)" in text
    assert "SGD(0.1)" in text
    assert "in range(99)" in text


def test_all_rows_with_noise_that_a_loss_joins_are_refused() -> None:
    joined = "tf.reduce_mean(tf.matmul(model(noisy), tf.transpose(model(x))))"
    refused(NOISY.format(loss=joined), "HVD006", "joins rows")


def test_of_two_optimizers_made_alike_each_has_the_rate_of_its_own_steps() -> None:
    source = """\
import numpy as np
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 1])
w, v = tf.Variable(tf.zeros([1, 1])), tf.Variable(tf.zeros([1, 1]))
whole = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.matmul(x, w)))
batch = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.matmul(x, v)))
rows = np.linspace(0, 1, 64)[:, None]
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(100):
    sess.run(whole, {x: rows})
for i in range(100):
    sess.run(batch, {x: mnist.next_batch(8)})
"""
    text = plan_of(source).text
    assert (
        "hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1)).minimize(tf.reduce_mean(tf.matmul(x, w)))"
        in text
    )
    assert "tf.train.AdamOptimizer(0.1 * hvd.size())).minimize(tf.reduce_mean(tf.matmul(x, v)))" in text


BOTH = """\
import tensorflow as tf
model, opt = tf.keras.Sequential([]), tf.keras.optimizers.SGD(0.1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = model(x) - y
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
@tf.function
def first(batches):
    for x, y in batches:
        with tf.GradientTape() as tape:
            loss = model(x) - y
        {other}.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
first(unseen(a))
for x, y in ds:
    step(x, y)
"""


def test_an_optimizer_of_divided_and_of_undivided_steps_is_asked_about() -> None:
    """Its rate grows for both."""
    doubts = [c.doubt for c in plan_of(BOTH.format(other="opt")).changes if c.doubt]
    assert any("by one optimizer" in doubt for doubt in doubts)
    own = BOTH.format(other="other").replace("ds = tf", "other = tf.keras.optimizers.SGD(0.3)\nds = tf")
    assert not any("by one optimizer" in c.doubt for c in plan_of(own).changes)


FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
from helpers import make_feed
rows, labels = np.load('x.npy'), np.load('y.npy')
x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
train = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.square(x * tf.Variable(1.0) - y)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(200):
        feed = make_feed({})
        sess.run(train, feed_dict=feed)
"""


@pytest.mark.parametrize(
    ("given", "asked"), [("rows, labels", True), ("rows, i", False), ("draw(32), 3", False)]
)
def test_what_a_function_makes_of_the_same_in_each_step_is_asked_about(given: str, asked: bool) -> None:
    """`feed = construct_feed_dict(features, labels)` of graph networks: all rows, in every step."""
    plan = plan_of(FED.format(given))
    assert any("can't be followed" in c.doubt for c in plan.changes) is asked


GIVEN = """\
import numpy as np
import tensorflow.compat.v1 as tf
rows, labels = np.load('x.npy'), np.load('y.npy')
x, y = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [None, 1])
loss = tf.reduce_mean(tf.square(x * tf.Variable(1.0) - y))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
def feed(a, b):
    return {{x: a, y: b}}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(200):
        sess.run(train, feed_dict={})
        print(sess.run(loss, feed_dict=feed(rows[48:], labels[48:])))
"""


def test_what_a_function_is_given_to_be_fed_is_divided_where_it_is_given() -> None:
    """Divided in the function, what else is fed by it would be: each rank would test on a share of its own."""
    text = plan_of(GIVEN.format("feed(rows[:48], labels[:48])")).text
    assert "feed_dict=feed(share_rows(rows[:48]), share_rows(labels[:48])))" in text
    assert "return {x: a, y: b}\n" in text
    assert "feed_dict=feed(rows[48:], labels[48:])" in text


def test_batches_that_a_function_is_given_to_be_fed_are_batches() -> None:
    text = plan_of(GIVEN.format("feed(rows[i % 6 * 8 :][:8], labels[i % 6 * 8 :][:8])")).text
    assert "AdamOptimizer(0.01 * hvd.size())" in text
    assert "share_rows" not in text


def test_zeros_like_the_rows_are_divided_with_them() -> None:
    """Beside the rows of a rank they would be too many."""
    source = (
        "import tensorflow as tf\n"
        "x = tf.random.uniform((64, 1))\n"
        "net = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "opt = tf.keras.optimizers.SGD(0.1)\n"
        "for step in range(100):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(net(tf.concat([x, tf.zeros_like(x)], 1)) ** 2)\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
    )
    text = plan_of(source).text
    assert "tf.concat([share_rows(x), share_rows(tf.zeros_like(x))], 1)" in text


FILLED = """\
import numpy as np
import tensorflow as tf
n = 128
x = np.linspace(0, 1, n).reshape(-1, 1)
y = np.sin(x)
{}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01)
for step in range(100):
    with tf.GradientTape() as tape:
        loss = {}
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
RESIDUAL = "tf.reduce_mean((model(x) - y) ** 2)"


@pytest.mark.parametrize(
    "filled",
    [
        "tf.zeros((n, 1))",
        "np.ones([n, 1])",
        "np.zeros((128, 1))",
        "np.zeros_like(y)",
        "np.full((len(x), 1), 2.0)",
    ],
)
def test_what_is_filled_by_the_number_of_rows_is_divided_with_them(filled: str) -> None:
    """One without the other would not fit: the step would end in an error."""
    loss = RESIDUAL + " + tf.reduce_mean((model(x) - z) ** 2)"
    text = plan_of(FILLED.format(f"z = {filled}", loss)).text
    assert "tf.reduce_mean((model(share_rows(x)) - share_rows(z)) ** 2)" in text


def test_what_is_filled_in_the_step_is_divided_there() -> None:
    loss = RESIDUAL + " + tf.reduce_mean((model(x) - tf.ones((n, 1))) ** 2)"
    text = plan_of(FILLED.format("", loss)).text
    assert "(model(share_rows(x)) - share_rows(tf.ones((n, 1)))) ** 2" in text


@pytest.mark.parametrize("filled", ["tf.ones((1, 1))", "np.ones(3)", "tf.Variable(tf.zeros((128, 1)))[0]"])
def test_what_is_filled_by_another_number_is_not(filled: str) -> None:
    text = plan_of(FILLED.format(f"z = {filled}", RESIDUAL + " * tf.reduce_sum(z)")).text
    assert RESIDUAL.replace("(x)", "(share_rows(x))").replace("- y", "- share_rows(y)") in text
    assert "share_rows(z)" not in text


def test_rows_stay_whole_beside_what_may_be_filled_by_their_number() -> None:
    plan = plan_of(
        FILLED.format("z = tf.zeros((size_of(y), 1))", RESIDUAL + " + tf.reduce_mean((model(x) - z) ** 2)")
    )
    assert "share_rows" not in plan.text
    assert "Adam(0.01)" in plan.text
    assert any("each rank computes all of them" in n.message for n in plan.notes)


LISTED = """\
import numpy as np
import tensorflow as tf
x, edges, y = np.load("x.npy"), np.load("edges.npy"), np.load("y.npy")
parts = [x, edges]
one, two = tf.keras.Input((3,)), tf.keras.Input((None,){})
model = tf.keras.Model([one, two], tf.keras.layers.Dense(1)(one))
model.compile(tf.keras.optimizers.Adam(0.01), "mse")
for epoch in range(9):
    model.fit(parts, y, batch_size={}, epochs=1)
"""


def test_a_batch_of_all_rows_of_listed_arrays_is_divided() -> None:
    text = plan_of(LISTED.format("", "edges.shape[0]")).text
    assert "fit([share_rows(part) for part in parts], share_rows(y), batch_size=edges.shape[0]" in text
    assert "Adam(0.01)" in text
    assert "Adam(0.01 * hvd.size())" in plan_of(LISTED.format("", "32")).text


@pytest.mark.parametrize(
    ("held", "given"),
    [
        ("[x, x]", "[share_rows(part) for part in parts]"),
        ("(x, x)", "[share_rows(part) for part in parts]"),
        ('{"a": x, "b": x}', "{key: share_rows(part) for key, part in parts.items()}"),
    ],
)
def test_arrays_by_a_name_that_one_batch_holds_are_divided(held: str, given: str) -> None:
    """They were taken for batches, at size() times the rate."""
    text = (
        "import numpy as np\nimport tensorflow as tf\nN = {}\nx = np.random.RandomState(0).rand(N, 4)\nparts = HELD\n"
        "one, two = tf.keras.Input((4,), name='a'), tf.keras.Input((4,), name='b')\n"
        "model = tf.keras.Model([one, two], tf.keras.layers.Dense(4)(one + two))\n"
        "model.compile(tf.keras.optimizers.Adam(0.01), 'mse')\nmodel.fit(parts, x, batch_size=128, epochs=9)\n"
    ).replace("HELD", held.replace("{", "{{").replace("}", "}}"))
    plan = plan_of(text.format(128))
    assert f"fit({given}, share_rows(x), batch_size=128" in plan.text
    assert "Adam(0.01))" in plan.text
    assert "Adam(0.01 * hvd.size())" in plan_of(text.format(1280)).text  # near miss: ten batches


def test_rows_that_a_sparse_input_joins_stay_whole() -> None:
    text = plan_of(LISTED.format(", sparse=True", "edges.shape[0]")).text
    assert "fit(parts, y, batch_size=edges.shape[0]" in text
    assert "Adam(0.01)" in text


GRAPHED = """\
import numpy as np
import tensorflow as tf
import graphs
x, edges, y = np.load("x.npy"), np.load("edges.npy"), np.load("y.npy")
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.one = {layer}
        self.two = tf.keras.layers.Dense(1)
    def call(self, inputs):
        rows, edges = inputs
        return self.two(self.one({given}))
net, opt = Net(), tf.keras.optimizers.Adam(0.01)
for epoch in range(9):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net([x, edges]) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""


@pytest.mark.parametrize(
    ("layer", "given", "asked"),
    [
        ("graphs.Convolution(16)", "[rows, edges]", True),
        ("graphs.Convolution(16)", "rows", True),
        ("tf.keras.layers.Dense(16)", "rows", False),
    ],
)
def test_layers_of_other_libraries_may_join_rows(layer: str, given: str, asked: bool) -> None:
    plan = plan_of(GRAPHED.format(layer=layer, given=given))
    assert any("`graphs.Convolution`, which this file doesn't show" in c.doubt for c in plan.changes) is asked


ONE_TURN = """\
import numpy as np
import tensorflow as tf
size = 2000
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
batch = {}
n = size // batch
for epoch in range(100):
    for i in range({}):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x[i * batch : (i + 1) * batch]) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(("batch", "turns"), [("size", "n"), ("2000", "n"), ("size", "1")])
def test_a_loop_of_one_turn_selects_the_same_rows_in_each_step(batch: str, turns: str) -> None:
    """All ranks took the same rows at size() times the rate."""
    text = plan_of(ONE_TURN.format(batch, turns)).text
    assert "model(share_rows(x[i * batch : (i + 1) * batch]))" in text
    assert "SGD(0.1)" in text
    assert f"for i in range({turns}):" in text


def test_a_loop_of_several_turns_selects_batches() -> None:
    text = plan_of(ONE_TURN.format("50", "n")).text
    assert "SGD(0.1 * hvd.size())" in text
    assert "share_rows" not in text


def test_what_keras_is_given_beside_rows_has_as_many_of_them() -> None:
    """Some of the inputs of a model were divided, and others not."""
    text = plan_of(
        "import tensorflow as tf\n"
        "class Policy:\n"
        "    def __init__(self, model, epochs):\n"
        "        self.model, self.epochs = model, epochs\n"
        "        self.model.compile(optimizer=tf.keras.optimizers.Adam(0.001), loss='mse')\n"
        "    def update(self, seen, taken):\n"
        "        old = self.model(seen).numpy()\n"
        "        for e in range(self.epochs):\n"
        "            self.model.train_on_batch([seen, old], taken)\n"
    ).text
    assert "train_on_batch([share_rows(seen), share_rows(old)], share_rows(taken))" in text


def test_the_helper_only_divides_and_the_note_says_when_it_does_not() -> None:
    plan = plan_of(TAPE.format("x.sum(1)"))
    helper = plan.text.partition("def share_rows(rows):")[2].partition("\n\n")[0].splitlines()
    assert len(helper) == 3
    assert "len(rows)" in helper[1]
    assert "% hvd.size()" in helper[2]
    assert "import warnings" not in plan.text
    assert any("each computes all of them" in n.message for n in plan.notes)


MODELS = """\
import numpy as np
import tensorflow as tf
x, y = tf.constant([[1.0], [2.0], [3.0]]), tf.constant([2.0, 4.0, 6.0])
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=tf.keras.optimizers.SGD(), loss="mae")
model.fit(x, y, epochs=5)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=[1])])
model.compile(optimizer=tf.keras.optimizers.SGD(0.02), loss="mae")
model.summary()
rows = np.arange(400)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=[1])])
model.compile(optimizer=tf.keras.optimizers.SGD(0.03), loss="mae")
model.fit(rows, rows + 10, epochs=9)
"""


def test_an_optimizer_of_a_model_that_is_never_fitted_is_not_that_of_other_fits() -> None:
    text = plan_of(MODELS).text
    assert (
        "hvd.DistributedOptimizer(tf.keras.optimizers.SGD())" in text
    )  # all rows in each step: the rate stays
    assert "SGD(0.03 * hvd.size())" in text


MADE_OF_ROWS = """\
import numpy as np
import tensorflow as tf
points = tf.constant(np.linspace(0, 1, 64)[:, None])
known = tf.constant(np.linspace(2, 3, 64)[:, None])
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.01)
def target(x):
    return tf.cos(x)
@tf.function
def step({takes}):
    {first}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square({loss}))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
for _ in range(100):
    step({given})
"""


@pytest.mark.parametrize(
    ("takes", "given", "first", "loss"),
    [
        ("x", "points", "pass", "net(x) - tf.sin(x)"),
        ("x", "points", "pass", "net(x) - np.pi * tf.sin(np.pi * x)"),
        ("x", "points", "pass", "net(x) - target(x)"),
        ("x", "points", "pass", "net(x) - x[:, 0:1]"),
        ("x", "points", "y = tf.sin(3.0 * x) ** 2", "net(x) - y"),
        ("x", "points", "(y,) = tf.split(x, 1, axis=1)", "net(x) - y"),
        ("", "", "x = points", "net(x) - tf.sin(x)"),
    ],
)
def test_what_a_step_makes_of_its_rows_is_divided_with_them(
    takes: str, given: str, first: str, loss: str
) -> None:
    """Divided once more, it had a part of a part of them: the program failed."""
    text = plan_of(MADE_OF_ROWS.format(takes=takes, given=given, first=first, loss=loss)).text
    assert text.count("share_rows(") == 2  # the helper, and the one place
    assert "share_rows(points)" in text


@pytest.mark.parametrize(
    ("takes", "given", "first", "loss", "divided"),
    [
        ("x", "points", "pass", "net(x) - (tf.sin(x) + known)", "(tf.sin(x) + share_rows(known))"),
        ("x, y", "points, points ** 3", "y = y + x", "net(x) - y", "step(share_rows(points), share_rows(points ** 3))"),
        ("x, y", "points, known", "pass", "net(x) - y", "step(share_rows(points), share_rows(known))"),
        ("", "", "pass", "net(points) - tf.sin(points)", "net(share_rows(points)) - share_rows(tf.sin(points))"),
    ],
)  # fmt: skip
def test_what_it_is_made_of_besides_is_divided_in_its_place(
    takes: str, given: str, first: str, loss: str, divided: str
) -> None:
    assert divided in plan_of(MADE_OF_ROWS.format(takes=takes, given=given, first=first, loss=loss)).text


def test_rows_that_a_function_differentiates_by_are_divided_where_the_step_is_given_them() -> None:
    residual = """\
def target(x):
    with tf.GradientTape() as inner:
        inner.watch(x)
        u = net(x)
    return inner.gradient(u, x) + tf.sin(x)
"""
    source = MADE_OF_ROWS.format(takes="x", given="points", first="pass", loss="target(x)")
    text = plan_of(source.replace("def target(x):\n    return tf.cos(x)\n", residual)).text
    assert "    step(share_rows(points))\n" in text
    assert text.count("share_rows(") == 2


CURVE = """\
import numpy as np
import tensorflow as tf
rounds = np.random.RandomState(0).rand(8, 5)
x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
measured = {}
mse = tf.keras.losses.MeanSquaredError()
a, b = tf.Variable(0.1), tf.Variable(0.2)
for step in range(50):
    with tf.GradientTape() as tape:
        loss = mse(measured, a * x ** b)
    gradients = tape.gradient(loss, [a, b])
    a.assign_sub(0.01 * gradients[0])
    b.assign_sub(0.01 * gradients[1])
"""


@pytest.mark.parametrize(
    ("measured", "divided"),
    [
        ("[np.mean(r) for r in rounds]", "share_rows(measured)"),
        ("[float(r[0]) * 2 for r in rounds]", "share_rows(measured)"),
        ("[r[:1] for r in rounds]", "[share_rows(part) for part in measured]"),
        ("[np.mean(r, axis=0) for r in rounds]", "[share_rows(part) for part in measured]"),
    ],
)
def test_a_list_of_numbers_is_rows_and_no_list_of_arrays(measured: str, divided: str) -> None:
    """Its first number has no rows to be divided: the program ended there."""
    assert f"loss = mse({divided}, " in plan_of(CURVE.format(measured)).text


LAYERS = """\
import tensorflow as tf

class Distiller:
    def __init__(self, args, model, teacher):
        self.args, self.student, self.teacher = args, model, teacher
        self.student_layers = self.sampled(self.student)
        self.teacher_layers = self.sampled(self.teacher)

    def sampled(self, model):
        return [model.blocks["block%d" % i] for i in range(1, 3)] + [model.blocks["last"]]

    def loss(self, s, t):
        return tf.reduce_sum(tf.abs(s.feat - tf.stop_gradient(t.feat)))

    def train(self, dataset):
        optimizer = tf.keras.optimizers.SGD(0.1)

        @tf.function
        def step(rows):
            self.teacher(rows)
            with tf.GradientTape() as tape:
                self.student(rows)
                losses = []
                for i, data in enumerate(zip(self.student_layers, self.teacher_layers)):
                    losses.append(self.loss(*data) * 2 ** (-i))
                total = tf.add_n(losses)
            gradients = tape.gradient(total, self.student.trainable_variables)
            optimizer.apply_gradients(zip(gradients, self.student.trainable_variables))

        for epoch in range(10):
            for rows, _ in dataset:
                step(rows)
"""


@pytest.mark.parametrize("iterated", ["enumerate(zip(self.student_layers, self.teacher_layers))", "PAIRS"])
def test_pairs_of_layers_have_no_rows(iterated: str) -> None:
    """`zip(…)` can't be sliced: the script ended there on several ranks."""
    pairs = "enumerate(reversed(list(zip(self.student_layers, self.teacher_layers))))"
    source = LAYERS.replace(
        "enumerate(zip(self.student_layers, self.teacher_layers))", iterated.replace("PAIRS", pairs)
    )
    text = plan_of(source).text
    assert f"in {iterated.replace('PAIRS', pairs)}:\n" in text
    assert "in shard_batches(dataset):" in text
