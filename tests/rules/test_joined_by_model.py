"""All rows in every step of a `fit`: whether the model or the loss that it is compiled with joins them."""

from __future__ import annotations

import pytest

from .pairs import changes, plan_of, refused

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model, Sequential, layers
from tensorflow.keras import backend as K
X, A, Y = np.load("x.npy"), np.load("a.npy"), np.load("y.npy")

class Graph(layers.Layer):
    def __init__(self, units, adjacency=None):
        super().__init__()
        self.units, self.adjacency = units, adjacency
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units))
    def call(self, inputs, training=None):
        {call}
"""
FUNCTIONAL = (
    HEAD.replace("shape[-1]", "shape[0][-1]")
    + """
x_in, a_in = Input((10,)), Input((60,))
out = Graph(3)([x_in, a_in])
model = Model([x_in, a_in], out)
model.compile(tf.keras.optimizers.Adam(0.01), loss="mse")
model.fit([X, A], Y, batch_size=len(X), epochs=30)
"""
)
SEQUENTIAL = (
    HEAD
    + """
model = Sequential()
model.add(Graph(3, A))
model.compile(tf.keras.optimizers.Adam(0.01), loss="mse")
model.fit(X, Y, batch_size=len(X), epochs=30)
"""
)
BETWEEN = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model, Sequential, layers
from tensorflow.keras import backend as K
X, A, Y = np.load("x.npy"), np.load("a.npy"), np.load("y.npy")
x_in, a_in = Input((10,)), Input((60,))
h = layers.Dense(8)(x_in)
out = {out}
model = Model([x_in, a_in], out)
model.compile(tf.keras.optimizers.Adam(0.01), loss="mse")
model.fit([X, A], Y, batch_size=len(X), epochs=30)
"""
WITH_LOSS = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
X, Y = np.load("x.npy"), np.load("y.npy")
{loss}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss=own)
model.fit(X, Y, batch_size=len(X), epochs=30)
"""


def is_asked(text: str) -> bool:
    found = changes(plan_of(text), "K4")
    assert found
    return any(c.doubt for c in found)


@pytest.mark.parametrize(
    "text",
    [
        SEQUENTIAL.format(call="return tf.matmul(inputs, self.w)"),
        SEQUENTIAL.format(
            call="q = tf.matmul(inputs, self.w); return tf.matmul(tf.nn.softmax(tf.matmul(q, q, transpose_b=True)), q)"
        ),
        FUNCTIONAL.format(call="x, a = inputs; return K.dot(x, self.w) * K.mean(a, axis=-1, keepdims=True)"),
        FUNCTIONAL.format(
            call="heads = []\n        for k in range(2):\n"
            "            heads.append(K.dot(inputs[0], self.w) + K.transpose(self.b))\n        return K.concatenate(heads)"
        ),
        BETWEEN.format(out="layers.Dense(1)(layers.Concatenate()([h, a_in]))"),
        BETWEEN.format(out="layers.Lambda(lambda t: t[0] * t[1][:, :8])([h, a_in])"),
        BETWEEN.format(out="layers.Dense(1)(h)").replace("[X, A]", '{"x": X, "a": A}'),
        BETWEEN.format(out="layers.Dense(1)(h)").replace("[X, A], Y", '{"x": X, "a": A}, {"y": Y}'),
        WITH_LOSS.format(loss="def own(y, p):\n    return K.mean(K.square(y - p), axis=-1)"),
        WITH_LOSS.format(loss="own = lambda y, p: tf.reduce_mean(tf.abs(y - p))"),
        WITH_LOSS.format(loss='own = {"a": "mse", "b": tf.keras.losses.Huber()}'),
    ],
)
def test_rows_that_go_through_a_model_one_by_one_are_divided(text: str) -> None:
    assert not is_asked(text)


@pytest.mark.parametrize(
    "text",
    [
        SEQUENTIAL.format(call="return tf.matmul(self.adjacency, tf.matmul(inputs, self.w))"),
        SEQUENTIAL.format(call="return tf.sparse.sparse_dense_matmul(self.adjacency, inputs @ self.w)"),
        FUNCTIONAL.format(call="x, a = inputs; return K.dot(a, K.dot(x, self.w))"),
        FUNCTIONAL.format(
            call="h = K.dot(inputs[0], self.w); return K.softmax(h + K.transpose(h)) * inputs[1]"
        ),
        FUNCTIONAL.format(
            call="heads = []\n        for k in range(2):\n"
            "            heads.append(K.dot(inputs[1], inputs[0] @ self.w))\n        return K.concatenate(heads)"
        ),
        FUNCTIONAL.format(call="h = tf.matmul(inputs[0], self.w); return tf.nn.relu(inputs[1] @ h)"),
        BETWEEN.format(out="tf.matmul(a_in, h)"),
        BETWEEN.format(out="layers.Lambda(lambda t: K.dot(t[1], t[0]))([h, a_in])"),
        BETWEEN.format(out="layers.Dense(1)(a_in @ h)"),
        WITH_LOSS.format(
            loss="def own(y, p):\n    return tf.reduce_mean(tf.matmul(p, p, transpose_a=True) - K.dot(K.transpose(y), y))"
        ),
    ],
)
def test_rows_that_a_model_joins_are_refused(text: str) -> None:
    refused(text, "HVD006", "its loss joins rows")


@pytest.mark.parametrize(
    "text",
    [
        WITH_LOSS.format(loss="def own(y, p):\n    return K.sqrt(K.mean(K.square(y - p)))"),
        WITH_LOSS.format(
            loss="def own(y, p):\n    m = K.cast(y > 0, 'float32')\n    return K.sum(m * K.abs(y - p)) / K.sum(m)"
        ),
        WITH_LOSS.format(loss="own = tf.keras.losses.MeanSquaredError(reduction='sum')"),
        WITH_LOSS.format(loss="from losses import own"),
        BETWEEN.format(out="GraphConv(8)([h, a_in])").replace(
            "import numpy", "from gnn import GraphConv\nimport numpy", 1
        ),
    ],
)
def test_what_is_not_seen_to_be_a_mean_is_asked_about(text: str) -> None:
    assert is_asked(text)


def test_a_layer_of_another_file_is_named() -> None:
    text = BETWEEN.format(out="GraphConv(8)([h, a_in])").replace(
        "import numpy", "from gnn import GraphConv\nimport numpy", 1
    )
    assert all("right if `GraphConv`" in c.doubt for c in changes(plan_of(text), "K4"))


ELSEWHERE = """\
import numpy as np
import tensorflow as tf
from graphs import Attention
from tensorflow.keras import Input, Model, layers
X, A, Y = np.load("x.npy"), np.load("a.npy"), np.load("y.npy")
{}
n = X.shape[0]
x_in, a_in = Input((X.shape[1],)), Input({})
model = Model([x_in, a_in], {})
model.compile(tf.keras.optimizers.Adam(0.01), loss="mse")
model.fit([X, A], Y, batch_size=n, epochs=30)
"""
CALLED = "Attention(3)([layers.Dropout(0.5)(x_in), a_in])"


@pytest.mark.parametrize("shape", ["shape=(n,)", "(X.shape[0],)", "(len(X),)"])
def test_a_layer_from_elsewhere_joins_rows_that_have_a_place_for_each_row(shape: str) -> None:
    refused(ELSEWHERE.format("", shape, CALLED), "HVD006", "its loss joins rows with each other")


@pytest.mark.parametrize(
    ("shape", "out"),
    [
        ("(4,)", CALLED),
        ("(A.shape[1],)", CALLED),
        ("(n,)", "layers.Dense(3)(layers.Concatenate()([x_in, a_in]))"),  # a kernel's rows, each by itself
    ],
)
def test_other_inputs_beside_each_other_are_asked_of_or_divided(shape: str, out: str) -> None:
    assert "share_rows(A)" in plan_of(ELSEWHERE.format("", shape, out)).text
