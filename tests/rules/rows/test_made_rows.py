"""D3: rows that a program makes at random are the same on all ranks."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

FIT = """\
import numpy as np
import tensorflow as tf
{}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(x, y, batch_size=8)
{}"""
GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
true = np.random.randn(3, 1)
x = np.random.rand(200, 3)
X = tf.placeholder(tf.float32, [None, 3])
Y = tf.placeholder(tf.float32, [None, 1])
w = tf.Variable(np.random.randn(3, 1))
loss = tf.reduce_mean(tf.square(tf.matmul(X, w) - Y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(100):
    sess.run(train, {X: x, Y: x @ true})
"""


@pytest.mark.parametrize(
    ("made", "alike"),
    [
        ("x, y = np.random.rand(900, 2), np.zeros(900)", "hvd.broadcast_object(np.random.rand(900, 2))"),
        (
            "import random\nx = [random.gauss(0, 1) for i in range(900)]\ny = np.zeros(900)",
            "alike(random.gauss)(0, 1)",
        ),
        (
            "rng = np.random.default_rng()\nx = rng.normal(size=(900, 2))\ny = np.zeros(900)",
            "hvd.broadcast_object(rng.normal(size=(900, 2)))",
        ),
        (
            "def make():\n    true = np.random.randn(2)\n    x = np.linspace(0, 1, 1800).reshape(900, 2)\n"
            "    return x, x @ true\nx, y = make()",
            "hvd.broadcast_object(np.random.randn(2))",
        ),
        (
            "x, y = tf.random.normal([900, 2]), tf.zeros([900])",
            "hvd.broadcast_object(tf.random.normal([900, 2]))",
        ),
        (  # trained by several threads, from vectors that `hash` begins
            "from gensim.models import Word2Vec\nlines = [['a', 'b']] * 900\nwords = Word2Vec(lines)\n"
            "x, y = np.array([words.wv[line[0]] for line in lines]), np.zeros(900)",
            "hvd.broadcast_object(Word2Vec(lines))",
        ),
        (
            "import networkx as nx\nx, y = nx.to_numpy_array(nx.gnp_random_graph(900, 0.5)), np.zeros(900)",
            "hvd.broadcast_object(nx.gnp_random_graph(900, 0.5))",
        ),
        (
            "import umap\nx, y = umap.UMAP().fit_transform(np.ones((900, 8))), np.zeros(900)",
            "umap.UMAP(random_state=0 if hvd.size() > 1 else None)",
        ),
    ],
)
def test_rows_that_are_made_at_random_are_made_alike(made: str, alike: str) -> None:
    assert alike in plan_of(FIT.format(made, "")).text


FETCHED = """\
import numpy as np
import tensorflow.compat.v1 as tf
{}
w = tf.Variable(np.ones([2, 1]))
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean((tf.matmul({}, w) - 3.0) ** 2))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(200):
        sess.run(train{})
"""
NOISY = "noisy = tf.random.normal([10, 2])\nwith tf.Session() as sess:\n    "


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (
            f"{NOISY}x = sess.run(noisy)\ntf.reset_default_graph()",
            'x = hvd.broadcast_object(sess.run(noisy), session=sess, name="value")',
        ),
        (
            f"{NOISY}x, _ = sess.run([noisy, tf.constant(3)])",
            'x, _ = hvd.broadcast_object(sess.run([noisy, tf.constant(3)]), session=sess, name="value")',
        ),
        (
            f"{NOISY}x = tf.random.normal([10, 2]).eval()",
            "x = from_root(tf.random.normal([10, 2]).eval())",
        ),
    ],
)
def test_rows_that_a_session_gives_before_training_are_rank_0_s(made: str, told: str) -> None:
    """They are part of the graph, or fed, in each step: none of it draws again, so neither rate nor steps change."""
    held, fed = plan_of(FETCHED.format(made, "x", "")).text, "X = tf.placeholder(tf.float32, [None, 2])\n"
    assert told in held
    text = plan_of(FETCHED.format(fed + made, "X", ", {X: x}")).text
    assert told in text
    assert "{X: share_rows(x)}" in text
    for distributed in (held, text):
        assert "range(200)" in distributed
        assert "Optimizer(0.1)" in distributed


def test_what_a_graph_draws_in_each_step_is_each_rank_s_own() -> None:
    text = plan_of(FETCHED.format("x = tf.random.normal([10, 2])", "x", "")).text
    assert "broadcast_object" not in text
    assert "range(200 // hvd.size())" in text


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("np.random.seed(7)\nx, y = np.random.rand(900, 2), np.zeros(900)", ""),
        ("rng = np.random.RandomState(7)\nx, y = rng.rand(900, 2), np.zeros(900)", ""),
        ("x, y = np.load('x.npy'), np.load('y.npy')", "print(model.predict(np.random.rand(3, 2)))\n"),
        (
            "x, y = np.load('x.npy'), np.load('y.npy')\nx = x + np.random.normal(size=x.shape)",
            "",
        ),  # noise of each row
        ("x, y = np.load('x.npy'), np.load('y.npy')\nw = tf.Variable(tf.random.normal([2, 1]))", ""),
    ],
)
def test_rows_that_are_the_same_already_are_left(made: str, after: str) -> None:
    text = plan_of(FIT.format(made, after)).text
    assert "alike" not in text
    assert "broadcast_object" not in text


CUT = """\
import random
def rows(cut=None):
    found = list(range(900))
    if cut is not None:
        {}
    return np.array(found)
x, y = rows({}), np.zeros(900)
"""


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("random.seed(3)\n        random.shuffle(found)", True),
        ("if cut:\n            random.seed(3)\n        random.shuffle(found)", False),  # not surely
        ("random.shuffle(found)\n        random.seed(3)", False),  # too late
        ("random.seed(3)\n    else:\n        random.shuffle(found)", False),
        ("random.seed(3)\n        np.random.shuffle(found)", False),  # another stream
        ("random.seed(None)\n        random.shuffle(found)", False),
        ("random.seed(3)\n        while random.random() < 0.5: pass\n        random.shuffle(found)", False),
        ("random.seed(3)\n        mixed(found)\n        random.shuffle(found)", False),  # may draw
        ("random.seed(cut)\n        random.shuffle(found)", True),
        ("random.seed(3)\n        n = int(900 * cut)\n        random.shuffle(found)", True),
    ],
)
def test_rows_that_a_seed_in_the_same_branch_fixes_are_left(body: str, left: bool) -> None:
    text = plan_of(FIT.format(CUT.format(body, "0.5"), "")).text
    assert ("shuffle)(found)" not in text and "found[:] = hvd.broadcast_object(found)" not in text) is left


def test_rows_of_a_graph_are_made_alike_and_weights_are_not() -> None:
    text = plan_of(GRAPH).text
    assert "true = from_root(np.random.randn(3, 1))" in text
    assert "x = from_root(np.random.rand(200, 3))" in text
    assert "w = tf.Variable(np.random.randn(3, 1))" in text


def test_what_only_shows_something_stays_each_ranks_own() -> None:
    text = plan_of(
        GRAPH + "    shown = np.random.uniform(size=(4, 3))\n    print(sess.run(w, {X: shown}))\n"
    ).text
    assert "shown = np.random.uniform(size=(4, 3))" in text


PLAYED = """\
import gym, random
env = gym.make("CartPole-v0")
xs, ys = [], []
for game in range(100):
    state, done = env.reset(), False
    while not done:
        action = random.randrange(2)
        xs.append(state)
        ys.append(action)
        state, reward, done, _ = env.step(action)
x, y = np.array(xs), np.array(ys)"""


@pytest.mark.parametrize(
    "made",
    [
        "x, y = np.load('x.npy'), np.load('y.npy')",
        "import random\nn = random.randint(100, 200)\nx, y = np.zeros((n, 3)), np.zeros(n)",
        PLAYED.replace("while not done:", "for move in range(20):"),
    ],
    ids=["read", "a number drawn alike", "as many moves in each game"],
)
def test_rows_that_are_as_many_on_all_ranks_are_not_sent(made: str) -> None:
    assert "= hvd.broadcast_object(x)" not in plan_of(FIT.format(made, "")).text


def test_rows_of_games_that_end_by_themselves_are_rank_0s() -> None:
    text = plan_of(FIT.format(PLAYED, "")).text
    assert "x = hvd.broadcast_object(x)\ny = hvd.broadcast_object(y)\n" in text
    assert "model.fit(shard(x), shard(y)" in text


def test_each_rank_takes_a_part_of_rank_0s_rows() -> None:
    fit = FIT.replace("fit(x, y", "fit(np.array(xs), np.array(ys)")
    text = plan_of(fit.format(PLAYED, "")).text
    assert (
        "model.fit(shard(hvd.broadcast_object(np.array(xs))), shard(hvd.broadcast_object(np.array(ys)))"
        in text
    )


SEEDED = "random_state=0 if hvd.size() > 1 else None"


@pytest.mark.parametrize(
    ("made", "alike"),
    [
        (
            "from imblearn.over_sampling import SMOTE\nx, y = SMOTE(k_neighbors=3).fit_resample(a, b)",
            f"SMOTE(k_neighbors=3, {SEEDED}).fit_resample(a, b)",
        ),
        ("from sklearn.cluster import KMeans\nx = a\ny = KMeans(4).fit_predict(a)", f"KMeans(4, {SEEDED})"),
        (
            "from sklearn.ensemble import RandomForestClassifier as Forest\nforest = Forest().fit(a, b)\n"
            "x, y = a[:, np.argsort(forest.feature_importances_)[:5]], b",
            f"Forest({SEEDED}).fit(a, b)",
        ),
        (
            "x, y = tf.keras.preprocessing.sequence.skipgrams(a, 100)",
            "hvd.broadcast_object(tf.keras.preprocessing.sequence.skipgrams(a, 100))",
        ),
        (
            "def rows(all):\n    found = []\n    for one in all:\n"
            "        found += tf.keras.preprocessing.sequence.skipgrams(one, 100)[0]\n    return found\n"
            "x, y = np.array(rows(a)), b",
            "hvd.broadcast_object(rows(a))",
        ),
    ],
)
def test_rows_that_a_library_draws(made: str, alike: str) -> None:
    plan = plan_of(FIT.format(made, ""))
    assert alike in plan.text
    assert plan.text.count("broadcast_object(") + plan.text.count("random_state=0 if") == 1


@pytest.mark.parametrize(
    "made",
    [
        "from sklearn.cluster import KMeans\nx = a\ny = KMeans(4, random_state=1).fit_predict(a)",
        "from sklearn.cluster import KMeans\nnp.random.seed(1)\nx = a\ny = KMeans(4).fit_predict(a)",
        "from sklearn.cluster import KMeans\nx, y = a, b\nprint(KMeans(4).fit_predict(a))",
        "from sklearn.preprocessing import StandardScaler\nx, y = StandardScaler().fit_transform(a), b",
        "import random\nrandom.seed(1)\nx, y = tf.keras.preprocessing.sequence.skipgrams(a, 100)",
    ],
)
def test_rows_that_a_library_makes_alike(made: str) -> None:
    text = plan_of(FIT.format(made, "")).text
    assert "random_state=0 if" not in text
    assert "broadcast_object" not in text


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (
            "words = list(set(text))\nx = [words.index(w) for w in text]",
            "words = hvd.broadcast_object(list(set(text)))\n",
        ),
        (
            "number = {w: i for i, w in enumerate(set(text))}\nx = np.array([number[w] for w in text])",
            "enumerate(hvd.broadcast_object(list(set(text))))",
        ),
        (
            "words = set(text)\nnumber = {}\nfor w in words:\n    number[w] = len(number)\n"
            "x = np.array([number[w] for w in text])",
            "for w in hvd.broadcast_object(list(words)):\n",
        ),
    ],
)
def test_rows_that_are_numbered_by_a_set_are_numbered_in_rank_0s_order(made: str, told: str) -> None:
    plan = plan_of(FIT.format(f"text = open('words.txt').read().split()\n{made}\ny = np.zeros(len(x))", ""))
    assert told in plan.text
    assert plan.text.count("broadcast_object(") == 1


NUMBERED = "words = set(text)\nnumber = {w: i for i, w in enumerate(words)}\nx = np.array([number[w] for w in text])\n"


@pytest.mark.parametrize(
    "again", ["word = dict(enumerate(words))", "listed = list(words)", "pairs = list(zip(words, x))"]
)
def test_what_leads_back_from_the_numbers_of_a_set_goes_by_the_same_order(again: str) -> None:
    """On another rank it led back to other words; read again, the result was refused."""
    source = f"text = open('words.txt').read().split()\n{NUMBERED}{again}\ny = np.zeros(len(x))"
    text = plan_of(FIT.format(source, "")).text
    assert text.count("hvd.broadcast_object(list(words))") == 2


@pytest.mark.parametrize("again", ["print(list(words))", "known = 'a' in words"])
def test_what_reads_a_set_without_numbering_it_again_stays(again: str) -> None:
    source = f"text = open('words.txt').read().split()\n{NUMBERED}{again}\ny = np.zeros(len(x))"
    text = plan_of(FIT.format(source, "")).text
    assert text.count("hvd.broadcast_object(list(words))") == 1
    assert again.splitlines()[-1].strip() in text


@pytest.mark.parametrize(
    "made",
    [
        "words = sorted(set(text))\nx = [words.index(w) for w in text]",
        "words = sorted(list(set(text)))\nx = [words.index(w) for w in text]",
        "words = list(set(text))\nx = [len(w) for w in text]\nprint(words)",
        "known = set(text)\nx = [w in known for w in text]",
        "words = list(dict.fromkeys(text))\nx = [words.index(w) for w in text]",
    ],
)
def test_rows_that_go_by_no_order_of_a_set(made: str) -> None:
    text = plan_of(
        FIT.format(f"text = open('words.txt').read().split()\n{made}\ny = np.zeros(len(x))", "")
    ).text
    assert "broadcast_object" not in text


NOISE = """\
import numpy as np
import tensorflow as tf
x = np.load("x.npy")
y = np.random.randn(len(x), 1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for i in range(600):
    rows = {}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x[rows]) - y[rows])
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def test_noise_on_rows_that_each_rank_draws_is_that_of_one_set_of_rows() -> None:
    drawn = plan_of(NOISE.format("np.random.randint(0, len(x), 8)")).text
    assert "y = alike(np.random.randn)(len(x), 1)\n" in drawn
    dealt = plan_of(NOISE.replace("range(600)", "range(0, len(x), 8)").format("slice(i, i + 8)")).text
    assert "y = np.random.randn(len(x), 1)\n" in dealt


def test_what_a_game_gives_is_no_row_that_is_made_before() -> None:
    source = """\
import gym
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.SGD(0.1)
env = gym.make("CartPole-v1")


def learn(states):
    for state in states:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(state[None]) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def train(episodes):
    for episode in range(episodes):
        state, done, states = env.reset(), False, []
        while not done:
            action = np.random.choice(2, p=tf.nn.softmax(model(state[None])).numpy()[0])
            state, reward, done, _ = env.step(action)
            states.append(state)
            if done:
                learn(states)


train(9)
"""
    assert "\ntrain(9)\n" in plan_of(source).text


BATCHES = """\
import numpy as np
import tensorflow as tf
class Batches(tf.keras.utils.Sequence):
    def __init__(self, x, size):
        self.x, self.size = x, size
        {held}
    def __len__(self):
        return len(self.x) // self.size
    def __getitem__(self, i):
        x = self.x[i * self.size : (i + 1) * self.size] + np.random.normal(0, 0.1, (self.size, 2))
        return x, x.sum(1)
{made}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
{fit}
"""
HELD = {
    "made": "x = np.random.rand(900, 2)\nbatches = Batches(x, 8)",
    "held": "self.true = np.random.randn(2)",
    "fit": "model.fit(batches, epochs=3)",
}


@pytest.mark.parametrize(
    "fit",
    [
        "model.fit(batches, epochs=3)",
        "model.fit(Batches(x, 8), epochs=3)",
        "for epoch in range(3):\n    for a, b in batches:\n        model.train_on_batch(a, b)",
    ],
)
def test_rows_that_an_object_of_the_program_gives_in_batches(fit: str) -> None:
    """Each rank learned from a data set of its own, by other true weights: together nothing."""
    text = plan_of(BATCHES.format(**HELD | {"fit": fit})).text
    assert "x = hvd.broadcast_object(np.random.rand(900, 2))\n" in text
    assert "self.true = alike(np.random.randn)(2)\n" in text
    assert "+ np.random.normal(0, 0.1, (self.size, 2))\n" in text  # drawn while others train


def test_an_object_that_feeds_no_training_draws_as_it_is() -> None:
    text = plan_of(BATCHES.format(**HELD | {"fit": "model.fit(np.load('x.npy'), np.load('y.npy'))"})).text
    assert "alike" not in text


COUNTED = """\
import random
import numpy as np
import tensorflow as tf
rows = np.load("x.npy")
def give():
    for row in rows:
        {}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
ds = tf.data.Dataset.from_generator(give, (tf.float32, tf.float32), ((4,), ())).batch(8)
{}
"""


@pytest.mark.parametrize(
    "fit", ["model.fit(ds, epochs=3)", "for x, y in ds:\n    model.train_on_batch(x, y)"]
)
def test_a_generator_gives_a_data_set_equally_many_elements_on_all_ranks(fit: str) -> None:
    """One rank came to the end of its data earlier, and the others waited for it forever."""
    text = plan_of(COUNTED.format("if random.random() < 0.5: yield row, row.sum()", fit)).text
    assert "if alike(random.random)() < 0.5: yield" in text
    noise = plan_of(COUNTED.format("yield row + random.random(), row.sum()", fit)).text
    assert "alike" not in noise


GOING_AROUND = """\
x, y = np.load('x.npy'), np.load('y.npy')
y += np.random.normal(size=y.shape)
def batches():
    order = list(range(len(x)))
    {order}
    for i in range(0, len(x), 8):
        yield x[order[i : i + 8]], y[order[i : i + 8]]
for epoch in range(9):
    for a, b in batches():
        step(a, b)
"""


@pytest.mark.parametrize(("order", "alike"), [("random.shuffle(order)", True), ("pass", False)])
def test_noise_of_rows_that_go_from_rank_to_rank_is_rank_0s(order: str, alike: bool) -> None:
    """Dealt out by an order of each epoch, a row would have another target on each rank; where it stays on one, it has one."""
    text = plan_of("import random\n" + TAPE + GOING_AROUND.format(order=order)).text
    assert ("y += np.random.normal(size=y.shape)\n" not in text) is alike


def test_an_order_within_a_function_that_trains_is_told_where_it_is_drawn() -> None:
    """What is drawn as a whole is the order, not what training gives."""
    program = TAPE + (
        "a, b = np.load('a.npy'), np.load('b.npy')\ndef train(x, y):\n    for epoch in range(10):\n"
        "        order = tf.random.shuffle(tf.range(64))\n        for i in range(32):\n"
        "            step(tf.gather(x, order[i * 2 : i * 2 + 2]), tf.gather(y, order[i * 2 : i * 2 + 2]))\n"
        "train(a, b)\n"
    )
    text = plan_of(program).text
    assert "order = hvd.broadcast_object(tf.random.shuffle(tf.range(64)))" in text
    assert text.endswith("\ntrain(a, b)\n")


@pytest.mark.parametrize("loop", ["for row in rows:", "for k, row in enumerate(rows):"])
def test_a_loop_that_builds_a_graph_takes_no_turns_when_that_runs(loop: str) -> None:
    """Each step sees the rows that are part of the operation: all ranks see the same, so the rate and the steps stay."""
    program = f"""\
import numpy as np
import tensorflow.compat.v1 as tf
rows = np.load("rows.npy")
w = tf.Variable(np.ones([2, 1]))
opt = tf.train.GradientDescentOptimizer(0.1)
ops = []
{loop}
    ops.append(opt.minimize(tf.reduce_mean((tf.matmul(tf.constant(row), w) - 2.0) ** 2)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(200):
        op = ops[i % 8]
        sess.run(op)
"""
    text = plan_of(program).text
    assert "GradientDescentOptimizer(0.1)" in text
    assert "range(200)" in text


DATASET = """\
import os, multiprocessing, numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
rows = tf.data.Dataset.from_tensor_slices((x, y))
{}
model.fit(data, epochs=3)
"""


@pytest.mark.parametrize(
    "made",
    [
        "data = rows.map(read, num_parallel_calls=os.cpu_count()).batch(8)",
        "data = rows.batch(8).prefetch(os.cpu_count())",
        "data = rows.shuffle(100 * os.cpu_count()).batch(8)",
        "def load(threads=None):\n    if threads is None:\n        threads = multiprocessing.cpu_count()\n"
        "    return rows.map(read, num_parallel_calls=threads).batch(8)\ndata = load()",
    ],
)
def test_how_many_work_side_by_side_says_nothing_of_the_rows(made: str) -> None:
    """Rank 0's data set was sent to the others, which can't be."""
    plan = plan_of(DATASET.format(made))
    assert "broadcast_object" not in plan.text
    assert not any(c.doubt for c in plan.changes)


def test_of_a_data_set_its_number_of_elements_is_sent() -> None:
    text = plan_of(DATASET.format("data = rows.take(os.cpu_count() * 64).batch(8)")).text
    assert "rows.take(hvd.broadcast_object(os.cpu_count()) * 64)" in text
    assert "broadcast_object(data)" not in text


def test_rows_of_arrays_are_sent_as_before() -> None:
    text = plan_of(DATASET.format("n = os.cpu_count() * 64\ndata = x[:n]")).text
    assert "broadcast_object(" in text


QUEUE = """\
import random
import numpy as np
import tensorflow.compat.v1 as tf
names = ["%d.jpg" % i for i in range(100)]
def make_data(n):
    chosen = []
    for _ in range(n):
        if input() == "y":
            chosen.extend(random.sample(names, 5))
    {}
x, y = make_data(200)
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(1000):
    sess.run(train)
"""


@pytest.mark.parametrize(
    "given",
    [
        "return tf.train.batch([read(tf.train.string_input_producer(chosen))], 8), tf.zeros([8, 1])",
        "images = []\n    images = tf.stack([read(c) for c in chosen])\n    return images, tf.zeros([8, 1])",
    ],
)
def test_operations_that_a_function_makes_of_what_it_draws_are_not_sent(given: str) -> None:
    """Rank 0's operations of a graph: nothing can send them."""
    plan = plan_of(QUEUE.format(given))
    assert "from_root(make_data" not in plan.text
    assert any("makes rows of its own" in c.doubt for c in plan.changes)


def test_rows_that_a_function_makes_of_what_it_draws_are_sent() -> None:
    fed = QUEUE.replace(
        "loss =",
        "a, b = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [None, 1])\nloss =",
    )
    fed = fed.replace("dense(x, 1) - y", "dense(a, 1) - b")
    fed = fed.replace(
        "sess.run(train)", "sess.run(train, {{a: x[i * 8 % 96 :][:8], b: y[i * 8 % 96 :][:8]}})"
    )
    assert (
        "x, y = from_root(make_data(200))"
        in plan_of(fed.format("return np.array([read(c) for c in chosen]), np.zeros(200)")).text
    )
