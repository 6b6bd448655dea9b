"""All rows in every step, of which shares fit no longer: rows with weights of their own, rows joined by a graph."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from .pairs import changes, plan_of, refused

HEAD = """\
import numpy as np
import tensorflow.compat.v1 as tf
ratings, known = np.load("ratings.npy"), np.load("known.npy")
R = tf.placeholder(tf.float32, {})
I = tf.placeholder(tf.float32, [None, None])
n, m = ratings.shape
U = tf.get_variable("U", [n, 5])
V = tf.Variable(tf.random_normal([5, 40]))
b = tf.get_variable("b", [40])
one = tf.get_variable("one", [1, 40])
W = tf.get_variable("W", [40, 40])
"""
REST = """
train = tf.train.AdamOptimizer(0.01).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(100):
    sess.run(train, {R: ratings, I: known})
"""


def with_loss(loss: str, shape: str = "[None, None]") -> str:
    return HEAD.format(shape) + f"loss = {loss}\n" + REST


@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_mean(I * tf.square(R - b))",  # for each item, whatever the rows
        "tf.reduce_mean(I * tf.square(R - one))",
        "tf.reduce_mean(I * tf.square(R - tf.matmul(R, W)))",  # an autoencoder
        "tf.reduce_mean(I * tf.square(R - tf.nn.sigmoid(tf.matmul(R, W) + b)))",
        "tf.reduce_mean(tf.square(I - R)) + 0.1 * tf.reduce_mean(tf.square(tf.matmul(U, V)))",  # of weights alone
    ],
)
def test_weights_without_a_row_for_each_row_are_no_hindrance(loss: str) -> None:
    assert changes(plan_of(with_loss(loss)), "S5")


@pytest.mark.parametrize("shape", ["[None, None]", "None", "[None, 40]"])
@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_mean(tf.square(R - tf.matmul(U, V)))",
        "tf.reduce_sum(I * tf.square(R - U @ V))",
        "tf.reduce_sum(I * tf.squared_difference(tf.matmul(U, V), R)) / tf.reduce_sum(I)",
        "tf.reduce_mean(tf.square(tf.subtract(tf.sigmoid(tf.matmul(U, V) + b), R)))",
        "tf.losses.mean_squared_error(R, tf.matmul(U, V))",
        "tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=tf.matmul(U, V), labels=R))",
    ],
)
def test_rows_that_meet_weights_of_their_own_cannot_be_divided(loss: str, shape: str) -> None:
    refused(with_loss(loss, shape), "HVD006", "sets them against weights of as many rows")


GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
features, labels, edges = np.load("x.npy"), np.load("y.npy"), np.load("e.npy")
S = {}
X = tf.placeholder(tf.float32, [None, 8])
Y = tf.placeholder(tf.float32, [None, 3])
W = tf.get_variable("W", [8, 3])
loss = tf.losses.softmax_cross_entropy(Y, {})
train = tf.train.AdamOptimizer(0.01).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(100):
    sess.run(train, {{{}X: features, Y: labels}})
"""


@pytest.mark.parametrize(
    ("adjacency", "fed"),
    [
        ("tf.sparse_placeholder(tf.float32)", "S: (edges, np.ones(9), (60, 60)), "),
        ("tf.SparseTensor(edges, np.ones(9), (60, 60))", ""),
    ],
)
@pytest.mark.parametrize("product", ["tf.sparse_tensor_dense_matmul", "tf.sparse.sparse_dense_matmul"])
def test_rows_that_a_sparse_graph_joins_cannot_be_divided(adjacency: str, fed: str, product: str) -> None:
    logits = f"{product}(S, tf.matmul(X, W))"
    refused(GRAPH.format(adjacency, logits, fed), "HVD006", "its loss joins rows with each other")


def test_nor_can_those_of_a_sparse_tensor() -> None:
    program = GRAPH.format(
        "tf.sparse_placeholder(tf.float32)", "tf.sparse_tensor_dense_matmul(S, W)", "S: edges, "
    )
    refused(program.replace("X: features, ", ""), "HVD006", "a sparse tensor is fed")


def test_what_is_made_for_these_rows_is_not_said_to_be_open_to_division() -> None:
    notes = plan_of(with_loss("tf.reduce_mean(tf.square(R - tf.matmul(U, V)))", "[60, 40]")).notes
    assert any("each rank computes all of them: right, and no faster" in n.message for n in notes)
    assert not any("leave it open" in n.message for n in notes)


LIBRARY = """\
import tensorflow as tf
from tensorflow.contrib.opt import ScipyOptimizerInterface, ExternalOptimizerInterface
class Own(ExternalOptimizerInterface):
    def _minimize(self, **given):
        return given["initial_val"]
x = tf.placeholder(tf.float32, [None, 1])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
optimizer = {}(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
{}optimizer.minimize(sess, feed_dict={{x: rows}})
"""
FIRST = """\
train = tf.train.AdamOptimizer(0.01).minimize(loss)
for step in range(100):
    sess.run(train, {x: rows})
"""


@pytest.mark.parametrize("made", ["ScipyOptimizerInterface", "tf.contrib.opt.ScipyOptimizerInterface", "Own"])
@pytest.mark.parametrize("first", ["", FIRST])
def test_steps_that_a_library_takes_are_refused(made: str, first: str) -> None:
    refused(LIBRARY.format(made, first), "HVD202", "takes its steps inside another library")


@pytest.mark.parametrize(("shape", "refused"), [("[2000, 1]", True), ("[1, 8]", False), ("[8, 8]", False)])
def test_a_column_of_weights_has_one_for_each_row_also_of_an_unseen_number(shape: str, refused: bool) -> None:
    source = (
        "import numpy as np\nimport tensorflow as tf\nfrom mine import points\nx = np.array(points(2000))\n"
        f"model = tf.keras.Sequential([tf.keras.layers.Dense(8)])\nw = tf.Variable(tf.random.uniform({shape}))\n"
        "opt = tf.keras.optimizers.SGD(0.1)\nvs = [w, *model.trainable_variables]\n"
        "for epoch in range(100):\n    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(tf.square(w * model(x)))\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, vs), vs))\n"
    )
    plan = distribute(summarize(Document(source)))
    assert isinstance(plan, Refusal) is refused
