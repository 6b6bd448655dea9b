"""What a loss is over rows: shares of a mean average, shares of a sum add up, others do neither."""

from __future__ import annotations

import pytest

from horovodize.facts.feeds.over_rows import Over

from .steps_of import TAPE, step_of

HEAD = (
    TAPE[: TAPE.index("def train_step")]
    + "mse = tf.keras.losses.MeanSquaredError()\nn = X.shape[0]\nnet = model\n"
)


def over(loss: str, before: str = "") -> Over:
    """What a loss of the prediction `p` and the targets `Y` is, of `X`."""
    return step_of(
        f"{HEAD}{before}for _ in range(9):\n    with tf.GradientTape() as tape:\n        p = net(X)\n        loss = {loss}\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
    ).over


@pytest.mark.parametrize(
    "loss",
    [
        "tf.sqrt(tf.reduce_mean(tf.square(p - Y)))",
        "tf.reduce_mean(p) * tf.reduce_mean(Y - p)",
        "tf.exp(tf.reduce_mean(p - Y))",
        "tf.reduce_mean(p - Y) + tf.reduce_sum(p - Y)",
        "unseen(p, Y)",
    ],
)
def test_what_shares_do_not_add_up_to(loss: str) -> None:
    assert over(loss) is Over.UNKNOWN


@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_mean(tf.matmul(p, p, transpose_b=True))",
        "tf.reduce_mean(tf.matmul(tf.transpose(p), Y))",
        "tf.reduce_mean(tf.nn.softmax(p, axis=0) * Y)",
        "tf.reduce_mean(tf.cumsum(p - Y))",
        "tf.reduce_mean(tf.matmul(w, X, transpose_a=True))",
    ],
)
def test_rows_that_are_joined(loss: str) -> None:
    assert over(loss) is Over.COUPLED


@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_mean(tf.square(p - Y))",
        "tf.reduce_mean(tf.reduce_sum(tf.square(p - Y), axis=1))",
        "tf.reduce_mean(tf.square(p - Y), axis=0)",
        "mse(Y, p)",
        "mse(Y, p) + 0.1 * tf.nn.l2_loss(w)",
        "mse(Y, p) + tf.add_n(net.losses)",
        "tf.reduce_mean(tf.keras.losses.mse(Y, p))",
        "tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=Y, logits=p))",
        "-tf.reduce_mean(Y * tf.math.log(p))",
        "0.5 * tf.reduce_mean(tf.square(p - Y))",
        "tf.reduce_sum(tf.square(p - Y)) / tf.cast(tf.shape(p)[0], tf.float32)",
        "tf.reduce_sum(tf.square(p - Y)) / int(p.get_shape()[0])",
        "tf.reduce_mean(tf.square(tf.matmul(X, tf.ones([X.get_shape().as_list()[1], 1])) - Y))",
    ],
)
def test_means(loss: str) -> None:
    assert over(loss) is Over.MEAN


@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_sum(tf.square(p - Y))",
        "tf.reduce_sum(tf.pow(p - Y, 2)) / (2 * n)",
        "tf.reduce_sum(tf.reduce_mean(tf.square(p - Y), axis=1))",
        "tf.nn.l2_loss(p - Y)",
        "tf.keras.losses.mse(Y, p)",
        "tf.square(p - Y)",
    ],
)
def test_sums(loss: str) -> None:
    assert over(loss) is Over.SUM


def test_a_sum_and_a_penalty_would_add_the_penalty_up() -> None:
    assert over("tf.reduce_sum(tf.square(p - Y)) + tf.nn.l2_loss(w)") is Over.SUM_AND_MORE


def test_a_loss_in_a_function_of_its_own() -> None:
    before = "def cost(guess, truth):\n    error = guess - truth\n    return tf.reduce_mean(error * error)\n"
    assert over("cost(p, Y)", before) is Over.MEAN
    assert over("cost(p, Y)", before.replace("reduce_mean", "reduce_sum")) is Over.SUM


LAYER = """\
A, M = tf.constant(np.load("a.npy"), tf.float32), tf.constant(np.random.rand(3, 5), tf.float32)
class Own(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense, self.scale = tf.keras.layers.Dense(1), tf.Variable(1.0)
    def call(self, h):
        {}
net = {}
"""
MADE = ("tf.keras.Sequential([Own(), tf.keras.layers.Dense(1)])", "Own()")


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    "body",
    [
        "return self.dense(h) * self.scale",
        "return self.dense(tf.matmul(h, M))",
        "s = tf.matmul(h, h, transpose_b=True)\n        return tf.matmul(tf.nn.softmax(s), h)",  # attention
        "return self.dense(tf.transpose(tf.transpose(h)))",
        "return self.dense(tf.nn.l2_normalize(h, 1))",
        "return tf.matmul(tf.matmul(h, h, transpose_b=True), self.dense(h))",
        "return tf.matmul(h, tf.transpose(h)) @ h",
        "return tf.gather(h, [0, 2], axis=1)",
        "return self.dense(h) + tf.gather(self.table, h)",
    ],
)
def test_layers_of_ones_own_that_go_by_rows(body: str, made: str) -> None:
    assert over("tf.reduce_mean(tf.square(p - Y))", LAYER.format(body, made)) is Over.MEAN


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    "body",
    [
        "return tf.matmul(A, self.dense(h))",
        "return A @ self.dense(h)",
        "return tf.sparse.sparse_dense_matmul(A, self.dense(h))",
        "return h + tf.math.unsorted_segment_sum(tf.gather(h, A), M, 64)",
        "return tf.math.segment_mean(self.dense(h), A)",
    ],
)
def test_layers_of_ones_own_that_join_rows(body: str, made: str) -> None:
    assert over("tf.reduce_mean(tf.square(p - Y))", LAYER.format(body, made)) is Over.COUPLED


def test_a_graph_that_a_model_is_called_with_joins_rows() -> None:
    before = LAYER.format("x, a = h\n        return tf.matmul(a, self.dense(x))", "Own()")
    assert over("tf.reduce_mean(net((X, A)) - Y)", before) is Over.COUPLED
    assert (
        over("tf.reduce_mean(net((X, A)) - Y)", before.replace("(a, self", "(self.dense(a), self"))
        is Over.MEAN
    )


def test_a_matrix_before_data_of_more_axes_goes_by_rows() -> None:
    before = LAYER.format("return tf.matmul(A, self.dense(h))", MADE[0])
    assert over("tf.reduce_mean(p)", "X = np.random.rand(64, 8, 3)\n" + before) is Over.MEAN


@pytest.mark.parametrize(
    ("picked", "kind"),
    [
        ("tf.gather(table, Y)", Over.MEAN),  # an embedding
        ("tf.gather(p, [0], axis=1)", Over.MEAN),
        ("tf.gather(p, Y, batch_dims=1)", Over.MEAN),
        ("tf.gather(p, tf.where(p > 0)[:, 0])", Over.UNKNOWN),  # places in a rank's own rows
        ("tf.gather(p, edges)", Over.COUPLED),
        ("tf.gather(p, [3, 5, 8])", Over.COUPLED),
        ("tf.math.unsorted_segment_sum(p, edges, 64)", Over.COUPLED),
        ("tf.math.unsorted_segment_sum(table, edges, 64)", Over.MEAN),
    ],
)
def test_rows_by_their_numbers(picked: str, kind: Over) -> None:
    before = "edges, table = tf.constant(np.load('e.npy')), tf.Variable(tf.zeros([9, 1]))\n"
    assert over(f"tf.reduce_mean(tf.square(p - Y)) + tf.reduce_mean({picked})", before) is kind


@pytest.mark.parametrize(
    ("shape", "kind"),
    [("[64, 1]", Over.COUPLED), ("[1, 1]", Over.MEAN), ("[1]", Over.MEAN)],
)
@pytest.mark.parametrize("weight", ["c", "tf.exp(c)", "(1 + c)", "c ** 2"])
def test_a_weight_for_each_row(weight: str, shape: str, kind: Over) -> None:
    before = f"c = tf.Variable(tf.random.uniform({shape}))\n"
    assert over(f"tf.reduce_mean({weight} * tf.square(p - Y))", before) is kind


def test_codes_for_each_row() -> None:
    before = "c = tf.Variable(tf.random.uniform([64, 2]))\n"
    assert over("tf.reduce_mean(tf.square(model(c) - Y))", before) is Over.COUPLED
    assert over("tf.reduce_mean(tf.square(p - Y)) + tf.reduce_mean(tf.square(c))", before) is Over.MEAN


# ---------------------------------------------------------------------- models that compute their loss

SCORED = """class Scored(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
    def call(self, inputs):
        rows, truth = inputs
        return {}
scored = Scored()
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("tf.reduce_mean(tf.square(self.dense(rows) - truth))", Over.MEAN),
        ("tf.reduce_sum(tf.square(self.dense(rows) - truth))", Over.SUM),
        ("judge(self.dense(rows), truth)", Over.UNKNOWN),
    ],
)
def test_a_loss_that_a_model_computes_is_what_its_call_gives(given: str, found: Over) -> None:
    """No value for each row, whose gradients would be added up."""
    assert over("scored((X, Y))", SCORED.format(given)) is found


def test_a_loss_of_a_model_that_is_not_seen() -> None:
    before = "from models import GCN\ngcn = GCN()\n"
    assert over("gcn((X, Y))", before) is Over.UNKNOWN
    assert over("tf.reduce_mean(gcn((X, Y)))", before) is Over.MEAN


# ---------------------------------------------------------------------- losses in several statements

ROWS = "tf.reduce_{}(tf.square(p - Y))"
COUNT = "tf.cast(tf.shape(p)[0], tf.float32)"
PENALTY = "1e-3 * tf.nn.l2_loss(model.trainable_variables[0])"


@pytest.mark.parametrize("name", ["loss", "kept.loss"])
@pytest.mark.parametrize(
    ("first", "then", "kind"),
    [
        ("mean", f"{{0}} += {PENALTY}", Over.MEAN),
        ("sum", f"{{0}} += {PENALTY}", Over.SUM_AND_MORE),
        ("sum", f"{{0}} = {{0}} + {PENALTY}", Over.SUM_AND_MORE),
        ("sum", "{0} /= " + COUNT, Over.MEAN),  # was a sum, whose gradients are added up
        ("sum", "{0} = {0} / " + COUNT, Over.MEAN),
        ("sum", f"{{0}} /= {COUNT}\n{{0}} += {PENALTY}", Over.MEAN),
        ("sum", "{0} *= 0.5", Over.SUM),
        ("mean", "{0} *= " + COUNT, Over.SUM),
        ("mean", "{0} **= 0.5", Over.UNKNOWN),
    ],
)
def test_what_becomes_of_a_loss_in_further_statements(name: str, first: str, then: str, kind: Over) -> None:
    """The loss was that of the last statement alone where an attribute keeps it: the penalty."""
    statements = [f"0\n{name} = {ROWS.format(first)}", *then.format(name).split("\n"), f"loss = {name}"]
    within = "\n".join(statements).replace("\n", "\n        ")
    assert over(within, "class Kept:\n    pass\nkept = Kept()\n") is kind


BY_HAND = """\
def layer(h, activation{default}):
    z = tf.matmul(h, w) + 0.1
    return z if activation is None else activation(z)
"""
AGAIN = BY_HAND + "def deep(h, by=None):\n    return layer(layer(h, activation=by), by)\n"


@pytest.mark.parametrize(
    "made",
    [
        "layer(p, tf.nn.relu)",
        "layer(p, activation=None)",
        "layer(p)",
        "layer(layer(p, tf.nn.relu))",
        "layer(p, lambda h: tf.nn.relu(h) * 0.5)",
        "layer(p, mine)",
        "deep(p, tf.tanh)",
        "deep(p)",
        "layer(p, tf.nn.softmax)",
    ],
)
def test_functions_that_are_handed_over_are_those_of_their_call(made: str) -> None:
    """`add_layer(x, 10, activation_function=tf.nn.relu)`, as tutorials write it."""
    before = AGAIN.format(default="=None") + "def mine(h):\n    return h / 2.0\n"
    assert over(f"tf.reduce_mean(tf.square({made} - Y))", before) is Over.MEAN
    assert over(f"tf.reduce_sum(tf.square({made} - Y))", before) is Over.SUM


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("layer(p, unseen)", Over.UNKNOWN),
        ("layer(p, functions['relu'])", Over.UNKNOWN),
        ("layer(p, tf.nn.relu if flag else unseen)", Over.UNKNOWN),
        ("layer(p, lambda h: h / tf.reduce_mean(h))", Over.UNKNOWN),
        ("layer(p, lambda h: tf.cumsum(h))", Over.COUPLED),
        ("layer(p, tf.cumsum)", Over.COUPLED),
        ("layer(p, tf.reduce_mean) - 1.0", Over.UNKNOWN),  # the square of a mean
        ("deep(p, tf.cumsum)", Over.COUPLED),
        ("layer(p, *more)", Over.UNKNOWN),
        ("layer(p, tf.keras.layers.BatchNormalization())", Over.UNKNOWN),
    ],
)
def test_functions_that_join_rows_or_are_not_seen(made: str, found: Over) -> None:
    before = AGAIN.format(default="") + "functions = {'relu': tf.nn.relu}\n"
    assert over(f"tf.reduce_mean(tf.square({made} - Y))", before) is found
