"""What feeds each step: a batch, all rows, a draw, a game, the input itself, nothing, or what can't be seen."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts.feeds.steps import Feed

from .steps_of import KERAS, SESSION, TAPE, own_step_of, step_of

# Rows and targets that a function returns together.
TOGETHER = "def shuffled(a, b):\n    k = np.random.permutation(len(a))\n    return a[k], b[k]\n"

# ---------------------------------------------------------------------- near misses: batches


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(100):\n    train_step(X[i * 8 : (i + 1) * 8], Y[i * 8 : (i + 1) * 8])\n",
        "for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).batch(8):\n    train_step(x, y)\n",
        "it = iter(tf.data.Dataset.from_tensor_slices((X, Y)).repeat())\nfor _ in range(9):\n    train_step(*next(it))\n",
        "for _ in range(9):\n    k = np.random.randint(0, 64, 8)\n    train_step(X[k], Y[k])\n",
        "for _ in range(9):\n    k = np.random.choice(64, 8)\n    train_step(tf.gather(X, k), tf.gather(Y, k))\n",
        "at = 0\nwhile at < 64:\n    train_step(X[at : at + 8], Y[at : at + 8])\n    at += 8\n",
        "for a, b in zip(X, Y):\n    train_step(a, b)\n",
        "for _ in range(9):\n    k = np.random.permutation(64)[:8]\n    train_step(X[k], Y[k])\n",
        "def some(n):\n    k = np.random.permutation(len(X))[:n]\n    return X[k], Y[k]\nfor _ in range(9):\n"
        "    x, y = some(8)\n    train_step(x, y)\n",
        "for epoch in range(3):\n    order = np.random.permutation(64)\n    for i in range(0, 64, 8):\n"
        "        train_step(X[order[i : i + 8]], Y[order[i : i + 8]])\n",
        "def batch(i):\n    return X[i : i + 8], Y[i : i + 8]\nfor i in range(9):\n    x, y = batch(i)\n    train_step(x, y)\n",
        "pairs = enumerate(zip(X, Y))\nfor n, (x, y) in pairs:\n    train_step(x, y)\n",
        "batches = [(X[i : i + 8], Y[i : i + 8]) for i in range(8)]\nfor b in batches:\n    train_step(b[0], b[1])\n",
        f"{TOGETHER}for epoch in range(3):\n    a, b = shuffled(X, Y)\n    for i in range(0, 64, 8):\n"
        "        train_step(a[i : i + 8], b[i : i + 8])\n",
        f"{TOGETHER}for epoch in range(3):\n    a, b = shuffled(X, Y)\n    for i in range(8):\n"
        "        c, d = a[i * 8 : i * 8 + 8], b[i * 8 : i * 8 + 8]\n        train_step(c, d)\n",
        "for _ in range(9):\n    k = np.random.permutation(len(X))\n    train_step(X[k[:8]], Y[k[:8]])\n",
        "def batch(n):\n    k = np.random.permutation(len(X))[:n]\n    return X[k], Y[k]\nfor _ in range(9):\n"
        "    x, y = batch(8)\n    train_step(x, y)\n",
        "k = np.arange(64)\nfor _ in range(9):\n    np.random.shuffle(k)\n    train_step(X[k[:8]], Y[k[:8]])\n",
        "for _ in range(9):\n    k = tf.random.shuffle(tf.range(64))[:8]\n    train_step(tf.gather(X, k), tf.gather(Y, k))\n",
    ],
)
def test_batches(loop: str) -> None:
    assert step_of(TAPE + loop).feed is Feed.BATCH


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(9):\n    sess.run(train, {x: x_all[i : i + 8], y: y_all[i : i + 8]})\n",
        "for i in range(9):\n    k = sess.run(tf.train.get_global_step()) * 8\n"
        "    sess.run(train, {x: x_all[k : k + 8], y: y_all[k : k + 8]})\n",
        "for i in range(9):\n    k = tf.train.global_step(sess, step) * 8 % 64\n"
        "    sess.run(train, {x: x_all[k : k + 8], y: y_all[k : k + 8]})\n",
        "for i in range(9):\n    a, b = data.train.next_batch(8)\n    sess.run(train, feed_dict={x: a, y: b})\n",
        "for i in range(9):\n    t = np.linspace(i, i + 1, 64)\n    sess.run(train, {x: np.stack([t, t, t], 1), y: y_all})\n",
        "feed = {x: x_all[:8], y: y_all[:8]}\nfor i in range(9):\n    feed = {x: x_all[i : i + 8], y: y_all[i : i + 8]}\n"
        "    sess.run(train, feed)\n",
        "def feed(a, b):\n    return {x: a, y: b}\nfor i in range(9):\n"
        "    sess.run(train, feed(x_all[i : i + 8], y_all[i : i + 8]))\n",
        "def feed(a, b=None):\n    d = {x: a, y: b}\n    return d\nfor i in range(9):\n"
        "    a = x_all[i : i + 8]\n    f = feed(a, y_all[i : i + 8])\n    sess.run(train, f)\n"
        "sess.run(loss, feed(x_all, y_all))\n",
    ],
)
def test_batches_of_sessions(loop: str) -> None:
    assert step_of(SESSION + loop).feed is Feed.BATCH


@pytest.mark.parametrize(
    "loop",
    [
        "for _ in range(9):\n    k = np.random.permutation(len(X))[: len(X)]\n    train_step(X[k], Y[k])\n",
        "for _ in range(9):\n    k = np.random.permutation(64)[:64]\n    train_step(X[k], Y[k])\n",
        "k = np.random.permutation(64)[:8]\nfor _ in range(9):\n    train_step(X[k], Y[k])\n",  # the same in each step
        "for _ in range(9):\n    k = np.random.permutation(64)\n    train_step(X[k], Y[k])\n",
    ],
)
def test_orders_of_all_rows_are_no_batches(loop: str) -> None:
    assert step_of(TAPE + loop).feed is Feed.WHOLE


@pytest.mark.parametrize(
    "fit", ["model.fit(x, y)", "model.fit(x, y, batch_size=8)", "model.fit(x, y, batch_size=n)"]
)
def test_fits_by_batches(fit: str) -> None:
    assert step_of(KERAS + fit + "\n").feed is Feed.BATCH


@pytest.mark.parametrize("fit", ["model.fit(load(), steps_per_epoch=n)", "model.fit_generator(load(), 9)"])
def test_a_fit_of_what_is_not_seen_may_get_all_of_the_data_in_each_step(fit: str) -> None:
    """A loader of a library that gives one graph: rows and rate would both be those of all ranks."""
    step = step_of(KERAS + "from graphs import load\n" + fit + "\n")
    assert step.feed is Feed.UNSEEN
    assert step.vague


@pytest.mark.parametrize(
    "data",
    [
        "tf.data.Dataset.from_tensor_slices((x, y)).batch(8).repeat()",
        "((x[i : i + 8], y[i : i + 8]) for i in range(0, 64, 8))",
        "tf.keras.preprocessing.image.ImageDataGenerator().flow(x, y)",
    ],
)
def test_a_fit_of_what_is_seen_gets_batches(data: str) -> None:
    assert step_of(KERAS + f"model.fit({data}, steps_per_epoch=8)\n").feed is Feed.BATCH


# ---------------------------------------------------------------------- all rows


@pytest.mark.parametrize(
    "loop",
    [
        "for _ in range(100):\n    train_step(X, Y)\n",
        "n = 0\nwhile n < 100:\n    train_step(X, Y)\n    n += 1\n",
        "for lr in [0.1, 0.01]:\n    for _ in range(100):\n        train_step(X, Y)\n",
        "def run(data, steps):\n    for _ in range(steps):\n        train_step(data, Y)\nrun(X, 100)\n",
        "for i in range(100):\n    train_step(tf.cast(X, tf.float32), Y)\n    losses[i] = 0\n    print(rates[i])\n",
    ],
)
def test_all_rows(loop: str) -> None:
    step = step_of(TAPE + loop)
    assert (step.feed, len(step.rows)) == (Feed.WHOLE, 2), step.reason


@pytest.mark.parametrize(
    "loop",
    [
        f"{TOGETHER}for _ in range(100):\n    a, b = shuffled(X, Y)\n    train_step(a, b)\n",
        # the rows of a fold
        "for fold in range(3):\n    k = np.random.permutation(64)[:48]\n    for _ in range(100):\n"
        "        train_step(X[k], Y[k])\n",
        "k = np.random.permutation(64)[:48]\nfor _ in range(100):\n    train_step(X[k], Y[k])\n",
        "k = np.arange(64)\nnp.random.shuffle(k)\nfor _ in range(100):\n    train_step(X[k[:48]], Y[k[:48]])\n",
        # kept for some steps
        "for i in range(100):\n    if i % 10 == 0:\n        k = np.random.permutation(64)[:48]\n    train_step(X[k], Y[k])\n",
        # all of an order
        "for _ in range(100):\n    k = np.random.permutation(64)[:]\n    train_step(X[k], Y[k])\n",
        "for _ in range(100):\n    k = np.random.permutation(len(X))[: len(X)]\n    train_step(X[k], Y[k])\n",
    ],
)
def test_all_rows_in_some_order(loop: str) -> None:
    assert step_of(TAPE + loop).feed is Feed.WHOLE


def test_the_largest_expression_of_the_same_rows_is_what_is_divided() -> None:
    loop = "for i in range(100):\n    train_step((X - np.mean(X)) / np.std(X), Y)\n"
    assert [ast.unparse(r) for r in step_of(TAPE + loop).rows] == ["(X - np.mean(X)) / np.std(X)", "Y"]


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(100):\n    sess.run(train, {x: x_all, y: y_all})\n",
        "feed = {x: x_all, y: y_all}\nfor i in range(100):\n    sess.run([train, loss], feed_dict=feed)\n",
        "for i in range(100):\n    sess.run(train, {x: x_all, y: y_all, rate: 0.5 ** i})\n",
        "for i in range(100):\n    _, cost = sess.run([train, loss], {x: x_all, y: y_all})\n    costs.append(cost)\n",
    ],
)
def test_all_rows_of_sessions(loop: str) -> None:
    step = step_of(SESSION + loop)
    assert (step.feed, [ast.unparse(r) for r in step.rows]) == (Feed.WHOLE, ["x_all", "y_all"])


MADE = (
    "def load(path):\n    rows, marks = [], []\n    for line in open(path):\n        rows.append(line.split()[1:])\n"
    "        marks.append(line[0])\n    return rows, marks\n"
)


@pytest.mark.parametrize(
    "before",
    [
        "a, b = load('rows.txt')\n",
        "import rows\na, b = rows.load()\nrandom.shuffle(a)\n",
        "a, b = load('rows.txt')\nprint(len(a))\n",
    ],
)
def test_what_is_fed_to_rows_and_never_changes_is_all_of_them(before: str) -> None:
    loop = "for i in range(100):\n    sess.run(train, {x: a, y: b, rate: 0.1})\n    print(a)\n"
    step = step_of(SESSION + MADE + before + loop)
    assert (step.feed, [ast.unparse(r) for r in step.rows]) == (Feed.WHOLE, ["a", "b"])


@pytest.mark.parametrize(
    "loop",
    [
        "a, b = load('r')\nfor i in range(9):\n    refill(a)\n    sess.run(train, {x: a, y: b})\n",
        "a, b = load('r')\nfor i in range(9):\n    np.copyto(a, look())\n    sess.run(train, {x: a, y: b})\n",
        "a, b = load('r')\nfor i in range(9):\n    a[:] = look()\n    sess.run(train, {x: a, y: b})\n",
        "def fit(a, b):\n    for i in range(9):\n        sess.run(train, {x: a, y: b})\n",
        "from rows import a, b\nfor i in range(9):\n    sess.run(train, {x: a, y: b})\n",
    ],
)
def test_what_is_fed_to_rows_and_may_change_is_not_seen(loop: str) -> None:
    assert step_of(SESSION + MADE + loop).feed is Feed.UNSEEN


@pytest.mark.parametrize(
    "fit", ["batch_size=len(x)", "batch_size=x.shape[0], epochs=9", "steps_per_epoch=1", "batch_size=len(y)"]
)
def test_fits_of_all_rows(fit: str) -> None:
    assert step_of(KERAS + f"model.fit(x, y, {fit})\n").feed is Feed.WHOLE


def test_few_rows_that_are_written_out_fit_into_the_default_batch() -> None:
    assert (
        step_of(KERAS + "x = np.array([1, 2, 3, 4])\ny = [2, 4, 6, 8]\nmodel.fit(x, y, epochs=9)\n").feed
        is Feed.WHOLE
    )


# ---------------------------------------------------------------------- neither


@pytest.mark.parametrize(
    ("loop", "feed"),
    [
        ("for _ in range(9):\n    train_step(tf.random.normal([8, 3]), 1.0)\n", Feed.DRAW),
        ("for _ in range(9):\n    opt.minimize(lambda: (w - 3.0) ** 2, [w])\n", Feed.NONE),
        ("for _ in range(9):\n    train_step(*draw())\n", Feed.UNSEEN),
        ("def train(x, y):\n    for _ in range(9):\n        train_step(x, y)\n", Feed.UNSEEN),
        (
            "for _ in range(9):\n    state, gain, _, _ = env.step(act())\n    train_step(state, gain)\n",
            Feed.SIMULATION,
        ),
        (
            "kept = []\nfor _ in range(9):\n    kept.append(look())\n    train_step(np.array(kept), Y)\n",
            Feed.UNSEEN,
        ),
    ],
)
def test_what_is_no_batch_and_not_all(loop: str, feed: Feed) -> None:
    source = TAPE if "minimize" not in loop else TAPE[: TAPE.index("def train_step")]
    assert step_of(source + loop).feed is feed


TRAINED_IMAGE = (
    TAPE[: TAPE.index("def train_step")] + "image = tf.Variable(X)\ndef loss_of(image, other):\n"
    "    given = {given}\n    return tf.reduce_mean(tf.square(model(given) - Y))\n"
    "for _ in range(9):\n    with tf.GradientTape() as tape:\n        loss = loss_of(image, X)\n"
    "    opt.apply_gradients([(tape.gradient(loss, image), image)])\n"
)


@pytest.mark.parametrize(
    "given",
    [
        "tf.matmul(other, image)",
        "tf.concat([other, tf.matmul(other, image)], axis=1)",
        "other * image",
        "other",
    ],
)
def test_weights_that_rows_are_multiplied_with_are_no_input(given: str) -> None:
    assert step_of(TRAINED_IMAGE.format(given=given)).feed is Feed.WHOLE


@pytest.mark.parametrize(
    "given", ["image", "tf.concat([other, image], axis=0)", "tf.expand_dims(tf.stack([image, other]), 0)"]
)
def test_an_image_that_is_trained_is_the_input(given: str) -> None:
    assert step_of(TRAINED_IMAGE.format(given=given)).feed is Feed.INPUT


def test_a_count_that_goes_by_what_it_was_selects_batches() -> None:
    loop = "at = 0\nfor _ in range(9):\n    train_step(X[at : at + 8], Y[at : at + 8])\n    at = at + 8 if at < 56 else 0\n"
    assert step_of(TAPE + loop).feed is Feed.BATCH


def test_rows_that_each_turn_makes_of_the_last_ones_are_not_the_same() -> None:
    loop = "rows = X\nfor _ in range(9):\n    train_step(rows, Y)\n    rows = mix(rows)\n"
    assert step_of(TAPE + loop).feed is Feed.UNSEEN


@pytest.mark.parametrize("half", ["int(batch / 2)", "int(round(batch / 2))", "batch // 2"])
def test_as_many_rows_as_half_a_batch_are_drawn(half: str) -> None:
    """How many they are is a number, however it is rounded."""
    training = KERAS + (
        "net = tf.keras.Sequential([tf.keras.layers.Dense(3)])\n"
        f"def train(turns, batch):\n    half = {half}\n    for _ in range(turns):\n"
        "        made = net.predict(np.random.normal(0, 1, (half, 3)))\n"
        "        model.train_on_batch(made, np.zeros((half, 1)))\ntrain(100, 32)\n"
    )
    assert step_of(training).feed is Feed.DRAW


# ---------------------------------------------------------------------- one batch


@pytest.mark.parametrize(
    "made",
    [
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 3)), np.zeros(64))).batch(64)",
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 3)), np.zeros(64))).shuffle(64).batch(100).repeat(5)",
        "ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(len(X))",
        "ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(X.shape[0]).repeat().take(50)",
    ],
)
def test_a_data_set_of_one_batch(made: str) -> None:
    assert step_of(TAPE + made + "\nfor x, y in ds:\n    train_step(x, y)\n").feed is Feed.ONE_BATCH


@pytest.mark.parametrize(
    "made",
    [
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 3)), np.zeros(64))).batch(32)",
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 3)), np.zeros(64))).repeat(4).batch(64)",
        "ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(60)",
        "ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(len(Z))",
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 3)), np.zeros(64))).flat_map(many).batch(64)",
    ],
)
def test_a_data_set_of_several_batches(made: str) -> None:
    assert step_of(TAPE + made + "\nfor x, y in ds:\n    train_step(x, y)\n").feed is Feed.BATCH


@pytest.mark.timeout(20)
@pytest.mark.parametrize("methods", [4, 12])
def test_attributes_of_each_other_are_read_once_each(methods: int) -> None:
    """Near-exponential before: methods whose attributes are computed from each other's, all of them called in the loop."""
    numbers = range(methods)
    made = "".join(f"        self.a{i} = tf.zeros([64, 3])\n" for i in numbers)
    defined = "".join(
        f"    def m{i}(self):\n        self.a{i} = tf.add(self.a{(i + 1) % methods}, tf.multiply(self.a{(i + 2) % methods}, "
        f"self.a{(i + 3) % methods}))\n"
        for i in numbers
    )
    called = "".join(f"    box.m{i}()\n" for i in numbers)
    step = step_of(
        f"{TAPE}class Box:\n    def __init__(self):\n{made}{defined}box = Box()\n"
        f"for i in range(9):\n{called}    train_step(X[i * 8 : (i + 1) * 8] + box.a0, Y[i * 8 : (i + 1) * 8])\n"
    )
    assert step.feed is Feed.BATCH


# ---------------------------------------------------------------------- a model's own step, which `fit` runs

OWN = """\
import numpy as np
import tensorflow as tf
X = np.random.rand(64, 3)
Y = np.random.rand(64, 1)
class Net({base}):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
        self.kept = tf.constant(X)
    def call(self, x):
        return self.dense(x)
    def loss_of(self, x, y):
        return tf.reduce_mean(tf.square(self(x) - y))
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = {loss}
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
model = Net()
"""
FITTED = 'model.compile("sgd")\nmodel.fit(X, Y)\n'


@pytest.mark.parametrize(
    ("base", "loss", "run"),
    [
        ("tf.keras.Model", "self.loss_of(self.kept, 1.0)", FITTED),  # nothing of the batch
        ("tf.keras.Model", "self.loss_of(x, y)", "for i in range(9):\n    model.train_step((X, Y))\n"),
        ("tf.Module", "self.loss_of(x, y)", "model.fit(X, Y)\n"),  # whose `fit` that is can't be seen
    ],
)
def test_own_steps_that_are_not_known_to_get_batches(base: str, loss: str, run: str) -> None:
    assert own_step_of(OWN.format(base=base, loss=loss) + run).feed is not Feed.BATCH


@pytest.mark.parametrize(
    "loss",
    ["self.loss_of(x, y)", "tf.reduce_mean(self.dense(data[0]) - y)", "self.loss_of(self.kept[:8], y)"],
)
def test_fit_gives_a_batch_to_an_own_step(loss: str) -> None:
    step = own_step_of(OWN.format(base="tf.keras.Model", loss=loss) + FITTED)
    assert step.feed is Feed.BATCH
    assert step.vague == ()


def test_an_own_step_that_draws() -> None:
    loss = "self.loss_of(tf.random.normal([8, 3]), 1.0)"
    assert own_step_of(OWN.format(base="tf.keras.Model", loss=loss) + FITTED).feed is Feed.DRAW


@pytest.mark.parametrize(
    "noise",
    [
        "np.random.normal(size=X.shape)",
        "np.random.randn(len(X), 3)",
        "np.random.normal(0, 0.1, (X.shape[0], 3))",
        "tf.random.normal(tf.shape(X))",
        "tf.random.normal(X.shape, stddev=0.1)",
    ],
)
def test_noise_on_all_rows_leaves_them_all_rows(noise: str) -> None:
    step = step_of(TAPE + f"for i in range(9):\n    train_step(X + {noise}, Y)\n")
    assert step.feed is Feed.WHOLE
    assert [ast.unparse(r) for r in step.rows].count("X") == 2  # with what the noise is shaped by


@pytest.mark.parametrize(
    "drawn",
    [
        "np.random.normal(size=(32, X.shape[1])) @ X.T",
        "np.random.randn(32, len(X)) @ X",
        "tf.random.normal([8, 64]) @ X",
    ],
)
def test_rows_that_are_drawn_and_multiplied_with_an_array_are_drawn(drawn: str) -> None:
    step = step_of(TAPE + f"for i in range(9):\n    x = {drawn}\n    train_step(x, x)\n")
    assert step.feed is Feed.DRAW


def test_noise_whose_shape_was_told_before_the_loop_is_not_seen() -> None:
    """Divided rows and noise on all of them would not fit."""
    loop = "shape = X.shape\nfor i in range(9):\n    train_step(X + np.random.normal(size=shape), Y)\n"
    assert step_of(TAPE + loop).feed is Feed.UNSEEN


@pytest.mark.parametrize("whole", ["tf.add_n(losses)", "sum(losses) / 4", "tf.reduce_mean(losses)"])
def test_rows_of_losses_that_are_gathered_in_a_list(whole: str) -> None:
    """Several tasks a step, as MAML has them: an empty list is no list of numbers."""
    step = step_of(
        "import numpy as np\nimport tensorflow as tf\nmodel = tf.keras.Sequential([])\nopt = tf.keras.optimizers.SGD(0.1)\n"
        "for i in range(9):\n    with tf.GradientTape() as tape:\n        losses = []\n        for _ in range(4):\n"
        "            losses.append(tf.reduce_mean(model(np.random.rand(8, 1)) ** 2))\n"
        f"        loss = {whole}\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
    )
    assert step.feed is Feed.DRAW


PICKED = "k = np.argsort(np.abs(model(X).numpy() - Y)[:, 0])[-32:]\n"


def test_rows_that_pick_others_are_not_fed() -> None:
    loop = (
        "for epoch in range(3):\n    " + PICKED + "    for i in range(0, 32, 8):\n        b = k[i : i + 8]\n"
    )
    assert step_of(TAPE + loop + "        train_step(X[b], Y[b])\n").feed is Feed.BATCH


def test_rows_that_each_step_picks_by_the_weights_are_not_seen() -> None:
    assert (
        step_of(TAPE + "for _ in range(9):\n    " + PICKED + "    train_step(X[k], Y[k])\n").feed
        is Feed.UNSEEN
    )


def test_rows_that_were_picked_before_are_all_in_every_step() -> None:
    assert step_of(TAPE + PICKED + "for _ in range(9):\n    train_step(X[k], Y[k])\n").feed is Feed.WHOLE


# ---------------------------------------------------------------------- arrays that are filled in each turn

FILL = "batch, marks = np.zeros((8, 3)), np.zeros((8, 1))\n"


@pytest.mark.parametrize(
    "loop",
    [
        FILL
        + "for i in range(9):\n    for j in range(8):\n        batch[j] = X[np.random.randint(64)]\n    {step}",
        "for i in range(9):\n    batch, marks = np.zeros((8, 3)), np.zeros((8, 1))\n"
        "    for j in range(8):\n        batch[j], marks[j] = X[i * 8 + j], Y[i * 8 + j]\n    {step}",
        "for epoch in range(2):\n    batch, marks = np.zeros((8, 3)), np.zeros((8, 1))\n"
        "    for i in range(9):\n        batch[:] = X[i * 8 : i * 8 + 8]\n        {step}",
    ],
)
@pytest.mark.parametrize("kind", ["tape", "session"])
def test_arrays_that_are_filled_again_are_batches(loop: str, kind: str) -> None:
    if kind == "tape":
        assert step_of(TAPE + loop.format(step="train_step(batch, marks)\n")).feed is Feed.BATCH
    else:
        source = SESSION.replace("x_all", "X").replace("y_all", "Y")
        assert (
            step_of(source + loop.format(step="sess.run(train, {x: batch, y: marks})\n")).feed is Feed.BATCH
        )


def test_arrays_that_are_filled_before_the_steps_stay_the_same() -> None:
    source = SESSION.replace("x_all", "X").replace("y_all", "Y") + (
        "batch, marks = np.zeros((64, 3)), np.zeros((64, 1))\nfor j in range(64):\n    batch[j], marks[j] = X[j], Y[j]\n"
        "for i in range(9):\n    sess.run(train, {x: batch, y: marks})\n"
    )
    assert step_of(source).feed is Feed.WHOLE
    copied = source.replace("for i in range(9):\n", "for i in range(9):\n    marks[:] = Y\n")
    assert step_of(copied).feed is not Feed.BATCH


HANDED_ON = """
class Net:
    def begin(self, x, y):
        self.y = y
        self.out = tf.layers.dense(x, 1)
    def end(self):
        self.loss = tf.reduce_mean(tf.square(self.out - self.y))
class Feeder:
    def __init__(self):
        self.given = tf.placeholder(tf.float32, [None, 3])
        queue = tf.FIFOQueue(8, [tf.float32, tf.float32])
        self.put = queue.enqueue([self.given, self.given])
        self.x, self.y = {}
feeder = Feeder()
net = Net()
net.begin(feeder.x, feeder.y)
net.end()
train = tf.train.AdamOptimizer(0.01).minimize(net.loss)
sess = tf.Session()
for i in range(1000):
    sess.run(train)
"""


@pytest.mark.parametrize("given", ["queue.dequeue()", "tf.data.make_one_shot_iterator(data).get_next()"])
def test_what_one_method_of_a_model_gets_and_another_uses_is_followed(given: str) -> None:
    """`net.begin(feeder.x, feeder.y)`, then `net.end()` makes the loss: no rows were seen, or numbers taken for them."""
    step = step_of("import tensorflow.compat.v1 as tf\n" + HANDED_ON.format(given))
    assert step.feed is Feed.BATCH


NOISY = """\
import numpy as np
import tensorflow.compat.v1 as tf
from helpers import make_feed, load
rows = load()
beside = tf.constant(np.load("beside.npy"))
x = tf.placeholder(tf.float32, [None, 3])
noise = tf.random_normal([64, 1])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) + noise)) + tf.reduce_mean(tf.layers.dense(beside, 1))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(100):
    {}
"""


@pytest.mark.parametrize(
    "run",
    ["feed = make_feed(rows)\n    sess.run(train, feed_dict=feed)", "sess.run(train, {x: rows})"],
)
def test_noise_in_the_graph_is_not_the_data_of_what_is_fed_the_same_in_every_step(run: str) -> None:
    """A variational network of graphs: it draws in the graph, and all rows are fed, as far as can be seen."""
    assert step_of(NOISY.format(run)).feed is Feed.UNSEEN


def test_a_graph_that_draws_its_data_and_is_fed_a_number_draws() -> None:
    source = NOISY.replace("[None, 3]", "[]").replace("tf.layers.dense(x, 1)", "x * 2.0")
    assert step_of(source.format("sess.run(train, {x: rows})")).feed is Feed.DRAW


PUT = """\
def made(i):
    rows = np.zeros((8, 3))
    for j, row in enumerate({}):
        rows[j] = {}
    return rows
def run():
    {}for i in range(9):
        train_step({}, Y)
run()
"""


@pytest.mark.parametrize(
    ("gone_through", "put", "feed"),
    [
        ("X[i * 8 : i * 8 + 8]", "row", Feed.BATCH),
        ("range(8)", "X[i * 8 + row]", Feed.BATCH),
        ("range(8)", "X[np.random.randint(64)]", Feed.BATCH),
        ("X", "row", Feed.WHOLE),
        ("X", "row * 2 - 1", Feed.WHOLE),
    ],
)
def test_what_a_function_puts_into_a_batch_is_what_a_step_gets(
    gone_through: str, put: str, feed: Feed
) -> None:
    """`batch[j] = load(name)` of the names of a turn: the array is made there as well."""
    assert step_of(TAPE + PUT.format(gone_through, put, "", "made(i)")).feed is feed


def test_what_is_put_before_the_loop_is_the_same_in_every_step() -> None:
    before = "rows = np.copy(X)\n    for j in range(64):\n        rows[j] = rows[j] / 2\n    "
    assert step_of(TAPE + PUT.format("X", "row", before, "rows")).feed is Feed.WHOLE


def test_ones_that_a_function_sets_may_be_as_many_as_the_rows() -> None:
    source = (
        TAPE
        + "def hot(y):\n    z = np.zeros((len(y), 9))\n    for j in range(len(y)):\n        z[j, 3] = 1\n    return z\n"
    )
    step = step_of(source + "for i in range(9):\n    train_step(X, hot(Y))\n")
    assert step.feed is not Feed.BATCH
    assert step.vague


HANDED = """\
class Model:
    def train(self, sess, fed):
        return sess.run([train, loss], fed)
    def test(self, sess, fed):
        return sess.run(loss, fed)
def feed(data, start, end):
    return {{x: data[start:end], y: y_all[start:end]}}
model, at = Model(), 0
while at < 64:
    model.train(sess, {})
    at += 8
model.test(sess, feed(x_all, 0, 64))
"""


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("feed(x_all, at, at + 8)", Feed.BATCH),
        ("feed(x_all, 0, 64)", Feed.WHOLE),
        ("fed=feed(x_all, at, at + 8)", Feed.BATCH),
    ],
)
def test_what_a_feed_is_made_of_where_a_method_is_given_it(given: str, kind: Feed) -> None:
    """`model.train(session, feed(data, at, at + n))`: the rows are those of this call, not of any."""
    assert step_of(SESSION + HANDED.format(given)).feed is kind


OWN_DROPOUT = """\
import numpy as np
import tensorflow as tf
A, X, Y = np.load("a.npy"), np.load("x.npy"), np.load("y.npy")
chosen, n = np.load("chosen.npy"), len(np.load("a.npy"))
layer, opt = tf.keras.layers.Dense(3), tf.keras.optimizers.Adam(0.01)
def dropped(x, size):
    mask = tf.cast(tf.floor(0.5 + tf.random.uniform(size)), tf.bool)
    return tf.where(mask, x, 0.0) * 2.0
for _ in range(200):
    with tf.GradientTape() as tape:
        out = tf.gather(layer(A @ dropped(X, {size})), {index})
        loss = tf.reduce_mean(tf.square(out - Y))
    opt.apply_gradients(zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables))
"""


@pytest.mark.parametrize(
    ("size", "index", "feed"),
    [
        ("X.shape", "chosen", Feed.WHOLE),
        ("(n, 3)", "chosen", Feed.UNSEEN),
        ("X.shape", "np.random.randint(0, n, 32)", Feed.BATCH),
    ],
)
def test_a_mask_that_is_drawn_makes_no_batch_of_the_rows_that_stay(size: str, index: str, feed: Feed) -> None:
    """The same rows of what a mask is drawn for are no other ones in each step: every rank trained on all of them at size()
    times the rate."""
    assert step_of(OWN_DROPOUT.format(size=size, index=index)).feed is feed
