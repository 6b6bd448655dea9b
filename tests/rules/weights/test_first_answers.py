"""K3, G2: what a model says before its first step, and training is made of, it says with rank 0's weights on all ranks."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = "import numpy as np\nimport tensorflow as tf\nx, y = np.load('x.npy'), np.load('y.npy')\n"
SHAPED = "m = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])\n"
UNBUILT = "m = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
COMPILED = "m.compile('sgd', 'mse')\n"
SENT = "hvd.broadcast_variables(m.variables, root_rank=0)\n"
PICKED = "p = m.predict(x)\nrows = p[:, 0] > 0.7\n"
FIT = "m.fit(x[rows], y[rows])\n"


def of(model: str, rest: str) -> str:
    return plan_of(HEAD + model + COMPILED + rest).text


@pytest.mark.parametrize(
    ("rest", "place"),
    [
        (PICKED + FIT, "p = m.predict(x"),
        ("rows = np.argsort(m(x)[:, 0])[:9]\n" + FIT, "rows = np.argsort"),
        ("w = np.abs(m.predict(x) - y)\nm.fit(x, y, sample_weight=w)\n", "w = np.abs"),
        ("rows = []\nfor i, p in enumerate(m.predict(x)):\n    if p[0] > 0.7:\n        rows.append(i)\n" + FIT,
         "for i, p in"),
        ("for k in range(4):\n    rows = m.predict(x)[:, 0] > 0.7\n    " + FIT, "for k in range(4):"),
        ("if flags.begin:\n    m.fit(x, y)\n" + PICKED + FIT, "p = m.predict(x"),
    ],
)  # fmt: skip
def test_a_model_that_is_built_is_sent_before_it_is_asked(rest: str, place: str) -> None:
    assert SENT + place in of(SHAPED, rest)


def test_a_model_without_weights_is_asked_on_rank_0() -> None:
    assert "p = hvd.broadcast_object(m.predict(x" in of(UNBUILT, PICKED + FIT)


STEPS = """
opt = tf.keras.optimizers.SGD(0.1)
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((m(a) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, m.trainable_variables), m.trainable_variables))
"""


def test_a_loop_of_its_own_is_given_the_same_rows_on_all_ranks() -> None:
    loop = "for a, b in tf.data.Dataset.from_tensor_slices((x[rows], y[rows])).batch(8):\n    step(a, b)\n"
    assert SENT + "p = m.predict(x" in plan_of(HEAD + SHAPED + STEPS + PICKED + loop).text


@pytest.mark.parametrize(
    "rest",
    [
        "m.fit(x, y)\n" + PICKED + FIT,  # it has rank 0's weights since its first step
        "def first(model):\n    model.fit(x, y)\nfirst(m)\n" + PICKED + FIT,
        "for k in range(4):\n    m.fit(x, y)\n    " + PICKED.replace("\n", "\n    ") + FIT,
        "print(m.predict(x))\nm.fit(x, y)\n",  # nothing is trained with it
        "own = np.load(f'{hvd.rank()}.npy')\nrows = m.predict(own)\n"
        + FIT.replace("x[rows]", "rows").replace("y[rows]", "y"),
        "rows = m.predict(np.random.rand(9, 3))\nm.fit(rows, y)\n",  # each rank's own rows
        "def batches():\n    while True:\n        yield x[m.predict(x)[:, 0] > 0.7]\nm.fit(batches(), steps_per_epoch=9)\n",
        "m.load_weights('w.h5')\n" + PICKED + FIT,
        "n = tf.keras.models.load_model('n.h5')\nrows = n.predict(x)[:, 0] > 0.7\n" + FIT,
    ],
)
def test_nothing_is_sent_where_models_say_the_same_or_no_row_depends_on_it(rest: str) -> None:
    text = of(SHAPED, rest)
    assert SENT not in text
    assert "broadcast_object(m.predict" not in text


def test_another_model_that_is_trained_before_does_not_count() -> None:
    made = "def make():\n    made = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])\n"
    made += "    made.compile('sgd', 'mse')\n    return made\nn, m = make(), make()\n"
    assert SENT + "p = m.predict(x" in plan_of(HEAD + made + "n.fit(x, y)\n" + PICKED + FIT).text


def test_rounds_that_go_on_with_what_was_picked_before() -> None:
    body = "pool = x\nfor k in range(4):\n    p = m.predict(pool)\n    rows = p[:, 0] > 0.7\n    m.fit(pool[rows], y[rows])\n"
    assert SENT + "for k in range(4):" in of(SHAPED, body + "    pool = pool[~rows]\n")
    functional = "a = tf.keras.Input((3,))\nm = tf.keras.Model(a, tf.keras.layers.Dense(2)(a))\n"
    assert SENT + "for k in range(4):" in of(functional, body + "    pool = pool[~rows]\n")
