"""G4: what decides how training goes, and each rank would come to by itself: all take rank 0's."""

# ruff: noqa: E501 (a case a line)

from __future__ import annotations

import textwrap

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan, Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = """\
import argparse, math, os, random, socket, sys, time
import numpy as np
import tensorflow as tf
x, y = np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
STEP = """\
opt = tf.keras.optimizers.SGD(0.1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
"""
BODY = "    for a, b in ds:\n        step(a, b)\n"
FIT = 'model.compile("sgd", "mse")\nmodel.fit(x, y, epochs=n)\n'
LOOP = STEP + "for epoch in range(n):\n" + BODY
COMPILE = 'model.compile(tf.keras.optimizers.Adam(rate), "mse")\nmodel.fit(x, y)\n'


def plan(text: str) -> Plan:
    outcome = distribute(summarize(Document(HEAD + text, "train.py")))
    assert isinstance(outcome, Plan), outcome
    compile(outcome.text, "distributed", "exec")
    return outcome


def agreed(text: str) -> list[str]:
    """The lines of the distributed program that make something rank 0's, other than the helpers."""
    after = plan(text).text.splitlines()
    made = (
        line.strip()
        for line in after
        if "broadcast_object(" in line or "alike(" in line or "any_rank(" in line
    )
    return [line for line in made if not line.startswith(("def ", "alike.stream"))]


# ---------------------------------------------------------------------- left alone


@pytest.mark.parametrize("loop", [LOOP, FIT])
@pytest.mark.parametrize(
    "n",
    [
        "5",
        "int(sys.argv[1])",
        "args.epochs",
        "int(os.environ.get('EPOCHS', 3))",
        "len(x) // 8",
        "math.ceil(len(x) / 8)",
        "3 if args.quick else 30",
    ],
)
def test_what_is_the_same_anyway_is_left(loop: str, n: str) -> None:
    head = "p = argparse.ArgumentParser()\np.add_argument('--quick')\np.add_argument('--epochs', type=int)\nargs = p.parse_args()\n"
    assert agreed(head + f"n = {n}\n" + loop) == []


@pytest.mark.parametrize(
    "besides",
    [
        "start = time.time()\n",
        "noise = np.random.normal(size=x.shape)\nx = x + noise\n",
        "if not os.path.exists('logs'):\n    os.makedirs('logs')\n",
        "print(socket.gethostname(), random.choice(['a', 'b']))\n",
        "random.seed(3)\nn = random.randint(3, 9)\n",
        "rng = np.random.default_rng(3)\nn = rng.integers(3, 9)\n",
    ],
)
def test_what_decides_nothing_or_is_seeded_is_left(besides: str) -> None:
    assert agreed("n = 3\n" + besides + LOOP) == []


def test_weights_and_data_are_drawn_by_each_rank() -> None:
    layer = "model.add(tf.keras.layers.Dense(3, weights=[np.random.rand(1, 3), np.zeros(3)], name='a%d' % random.randint(0, 9)))\n"
    assert agreed("n = 3\n" + layer + FIT) == []


# ---------------------------------------------------------------------- numbers of steps


@pytest.mark.parametrize("loop", [LOOP, FIT])
@pytest.mark.parametrize(
    ("made", "line"),
    [
        ("n = random.randint(3, 9)\n", "n = hvd.broadcast_object(random.randint(3, 9))"),
        (
            "def f():\n    return random.randint(3, 9)\nn = f()\n",
            "return hvd.broadcast_object(random.randint(3, 9))",
        ),
        (
            "a = random.randint(3, 9)\nb = a\nc = b\nd = c\nn = d\n",
            "a = hvd.broadcast_object(random.randint(3, 9))",
        ),
        (
            "rng = np.random.default_rng()\nn = int(rng.integers(3, 9))\n",
            "n = int(hvd.broadcast_object(rng.integers(3, 9)))",
        ),
        (
            "n = 3 if socket.gethostname() == 'a' else 5\n",
            "n = 3 if hvd.broadcast_object(socket.gethostname()) == 'a' else 5",
        ),
        ("n = os.getpid() % 3 + 1\n", "n = hvd.broadcast_object(os.getpid()) % 3 + 1"),
        ("n = 3 + time.localtime().tm_hour\n", "n = 3 + hvd.broadcast_object(time.localtime()).tm_hour"),
        (
            "for n in {'a', 'b'}:\n    n = len(n) + (n > 'a')\n",
            "for n in hvd.broadcast_object(list({'a', 'b'})):",
        ),
        (
            "try:\n    n = int(open('n.txt').read())\nexcept OSError:\n    n = 3\n",
            "n = hvd.broadcast_object(n)",
        ),
        ("n = 3\nif os.path.exists('more'):\n    n = 9\n", "n = hvd.broadcast_object(n)"),
    ],
)
def test_as_many_epochs_as_on_rank_0(made: str, line: str, loop: str) -> None:
    assert agreed(made + loop) == [line]


def test_as_many_steps_as_on_rank_0() -> None:
    taken = STEP + "for a, b in ds.take(random.randint(1, 5)):\n    step(a, b)\n"
    line = "for a, b in ds.take(max(1, hvd.broadcast_object(random.randint(1, 5)) // hvd.size())):"
    assert agreed(taken) == [line]  # as many on each rank, and of one process's steps a part


@pytest.mark.parametrize("made", ["range(n)", "tqdm(range(n))"])
def test_how_far_a_bar_goes_is_rank_0s(made: str) -> None:
    """The bar itself, which was sent, is nothing that can be."""
    n = "import os\nfrom tqdm import tqdm\nn = int(open('n.txt').read()) if os.path.exists('n.txt') else 9\n"
    loop = "bar = " + made + "\nfor i in bar:\n" + BODY + "open('n.txt', 'w').write('3')\n"
    text = plan_of(HEAD + n + STEP + loop).text
    assert "\nn = hvd.broadcast_object(n)\nbar = " in text
    assert "broadcast_object(bar)" not in text


def test_a_number_that_is_restored_is_rank_0s() -> None:
    restored = "ckpt = tf.train.Checkpoint(step=tf.Variable(0), model=model)\nckpt.restore(tf.train.latest_checkpoint('d'))\n"
    start = restored + "start = int(ckpt.step)\n" + STEP + "for epoch in range(start, 10):\n" + BODY
    assert agreed(start) == ["start = hvd.broadcast_object(start)"]
    counted = (
        restored
        + STEP
        + "done = int(ckpt.step)\nit = iter(ds.repeat())\nwhile done < 100:\n    step(*next(it))\n    done += 1\n"
    )
    assert agreed(counted) == ["done = hvd.broadcast_object(done)"]


RESTORED = (
    STEP + "ckpt = tf.train.Checkpoint(opt=opt, model=model)\nckpt.restore(tf.train.latest_checkpoint('d'))\n"
    "start = int(opt.iterations)\n"
)


@pytest.mark.parametrize(
    "loop",
    [
        "for a, b in ds.repeat().take(100 - start):\n    step(a, b)\n",
        "for i, (a, b) in enumerate(ds.repeat().take(100 - start), start=start):\n    step(a, b)\n",
        "for i, (a, b) in zip(range(start, 100), ds.repeat()):\n    step(a, b)\n",
    ],
)
def test_how_much_of_a_data_set_is_left_is_rank_0s(loop: str) -> None:
    assert agreed(RESTORED + loop) == ["start = hvd.broadcast_object(start)"]


@pytest.mark.parametrize(
    "loop",
    [
        "rows = np.load(latest + '.npy')\nfor a in tf.data.Dataset.from_tensor_slices((rows, rows)).repeat(start).take(100 - start):\n    step(*a)\n",
        "for a, b in ds.repeat(start).take(100 - start):\n    step(a, b)\n",  # what repeats, too
    ],
)
def test_more_than_the_number_taken_goes_by_files(loop: str) -> None:
    made = "latest = tf.train.latest_checkpoint('d')\n"
    outcome = distribute(summarize(Document(HEAD + made + RESTORED + loop, "train.py")))
    assert isinstance(outcome, Refusal)
    assert {reason.code for reason in outcome.reasons} == {"HVD205"}


@pytest.mark.parametrize("test", ["time.time() - t0 < 60", "not os.path.exists('stop')"])
def test_loops_that_end_by_a_clock_or_a_file_end_together(test: str) -> None:
    start = "t0 = time.time()\n" + STEP
    assert agreed(start + f"while {test}:\n" + BODY) == [f"while any_rank({test}):"]
    leaving = f"    if {test}:\n        break\n"
    assert agreed(start + "for a, b in ds:\n" + leaving + "    step(a, b)\n") == [f"if any_rank({test}):"]


@pytest.mark.parametrize(
    "turn",
    [
        "step(rows[i * 8 : i * 8 + 8], y)",  # it selects rows
        "step(x[:min(len(rows) - i * 8, 8)], y)",  # or counts what there is
    ],
)
def test_loops_that_end_with_rows_of_which_ranks_have_other_numbers_end_with_the_fewest(turn: str) -> None:
    """Past its own last row a rank would be fed none."""
    loop = f"while i < n:\n    {turn}\n    i += 1\n"
    chosen = "k = np.random.choice(64, 32)\nrows = x[k][model(x[k])[:, 0].numpy() < np.random.rand(32)]\n"
    chosen += "n = len(rows) // 8\ni = 0\n"
    text = plan(STEP + "for epoch in range(9):\n" + textwrap.indent(chosen + loop, "    ")).text
    assert "    while not any_rank(not (i * ranks + ranks - 1 < n)):\n" in text


def test_loops_that_end_by_a_draw_end_together_without_asking() -> None:
    assert agreed(STEP + "while random.random() < 0.9:\n" + BODY) == ["while alike(random.random)() < 0.9:"]


DONE = "def done():\n    return os.path.isfile('done')\na = os.path.exists('done')\nb = a\nc = b\nd = c\n"


@pytest.mark.parametrize(
    "condition",
    [
        "random.random() < 0.5",
        "'a' in socket.gethostname()",
        "os.path.exists('done') and time.time() > os.path.getmtime('done') + 9",
        "len(os.listdir('done'))",
    ],
)
def test_whether_to_train_at_all_is_refused(condition: str) -> None:
    outcome = distribute(
        summarize(Document(HEAD + DONE + f"n = 3\nif not ({condition}):\n    model.fit(x, y)\n", "train.py"))
    )
    assert isinstance(outcome, Refusal)
    assert {r.code for r in outcome.reasons} == {"HVD205"}


@pytest.mark.parametrize(
    "condition", ["os.path.exists('done')", "done()", "a and len(sys.argv) > 1", "not d"]
)
def test_whether_to_train_is_as_rank_0_finds_a_file(condition: str) -> None:
    head = HEAD + DONE + "model = tf.keras.Sequential([])\n" + COMPILE
    test, told = f"if {condition}:\n", f"if hvd.broadcast_object({condition}):\n"
    for code in (
        "    model.load_weights('w')\nelse:\n    model.fit(x, y)\n",
        "    if x:\n        raise SystemExit(1)\n    model.fit(x, y)\n",
    ):
        assert told in plan_of(head + test + code).text
    left = "def get():\n    {}        return 1\n    model.fit(x, y)\nget()\n"
    assert told in plan_of(head + left.format(test)).text
    skipped = "for i in range(3):\n    {}        continue\n    model.fit(x, y)\n"
    assert told in plan_of(head + skipped.format(test)).text


def test_a_name_of_the_module_is_not_set_in_a_function() -> None:
    """There it would be a name of the function's own, and have no value yet."""
    train = "def get():\n    if a:\n        return 1\n    model.fit(x, y)\nget()\n"
    assert "    if hvd.broadcast_object(a):\n" in plan_of(HEAD + DONE + COMPILE + train).text
    declared = train.replace("():\n", "():\n    global a\n", 1)
    assert "    a = hvd.broadcast_object(a)\n    if a:\n" in plan_of(HEAD + DONE + COMPILE + declared).text


def test_where_not_all_ranks_come_to_such_a_test_it_is_refused() -> None:
    code = "if random.random() < 0.5:\n    if not a:\n        model.fit(x, y)\n"
    outcome = distribute(summarize(Document(HEAD + DONE + COMPILE + code, "train.py")))
    assert isinstance(outcome, Refusal)


def test_where_ranks_can_t_be_asked_it_is_refused() -> None:
    text = (
        STEP + "names = {'a', 'b'}\nn = len(names.pop())\nfor epoch in range(n + ord(names.pop())):\n" + BODY
    )
    outcome = distribute(summarize(Document(HEAD + text, "train.py")))
    assert isinstance(outcome, Refusal)
    assert any("different numbers of steps" in r.message for r in outcome.reasons)


# ---------------------------------------------------------------------- what is trained


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ("rate = 10 ** random.uniform(-4, -2)\n", "rate = 10 ** hvd.broadcast_object(random.uniform(-4, -2))"),
        ("rate = 10 ** np.random.uniform(-4, -2)\n", "rate = 10 ** hvd.broadcast_object(np.random.uniform(-4, -2))"),
        ("rate = np.random.choice([0.1, 0.01])\n", "rate = hvd.broadcast_object(np.random.choice([0.1, 0.01]))"),
        ("rate = {'a': 0.1, 'b': 1.0}.get(socket.gethostname(), 0.2)\n", "rate = {'a': 0.1, 'b': 1.0}.get(hvd.broadcast_object(socket.gethostname()), 0.2)"),
    ],
)  # fmt: skip
def test_one_rate_for_all(made: str, line: str) -> None:
    assert agreed(made + COMPILE) == [line]


@pytest.mark.parametrize(
    "chosen",
    [
        "opts = {'a': tf.keras.optimizers.Adam(0.1), 's': tf.keras.optimizers.SGD(0.1)}\nopt = opts[{}(['a', 's'])]\n",
        "opt = getattr(tf.keras.optimizers, {}(['Adam', 'SGD']))(0.1)\n",
        "opt = {}(['adam', 'sgd'])\n",
    ],
)
def test_one_optimizer_for_all(chosen: str) -> None:
    text = chosen.replace("{}", "random.choice") + "model.compile(opt, 'mse')\nmodel.fit(x, y)\n"
    assert [line.count("hvd.broadcast_object(random.choice(") for line in agreed(text)] == [1]


def test_a_name_of_an_optimizer_that_is_drawn_in_place() -> None:
    text = "model.compile(random.choice(['adam', 'sgd']), 'mse')\nmodel.fit(x, y)\n"
    assert agreed(text) == [
        "optimizer = hvd.DistributedOptimizer("
        "tf.keras.optimizers.get(hvd.broadcast_object(random.choice(['adam', 'sgd']))))"
    ]


def test_an_optimizer_by_a_file_is_rank_0s_choice() -> None:
    text = "if os.path.exists('warm.h5'):\n    opt = tf.keras.optimizers.SGD(0.1)\nelse:\n    opt = tf.keras.optimizers.Adam(0.1)\n"
    assert agreed(text + "model.compile(opt, 'mse')\nmodel.fit(x, y)\n") == [
        "if hvd.broadcast_object(os.path.exists('warm.h5')):"
    ]


def test_one_model_for_all() -> None:
    text = "units = random.choice([4, 8])\nm = tf.keras.Sequential()\nfor _ in range(random.randint(1, 3)):\n"
    text += "    m.add(tf.keras.layers.Dense(units))\nif random.random() < 0.5:\n    m.add(tf.keras.layers.Dropout(0.1))\n"
    assert agreed(text + "m.compile('sgd', 'mse')\nm.fit(x, y)\n") == [
        "units = hvd.broadcast_object(random.choice([4, 8]))",
        "for _ in range(hvd.broadcast_object(random.randint(1, 3))):",
        "if hvd.broadcast_object(random.random()) < 0.5:",
    ]


def test_the_stream_starts_by_a_number_of_rank_0() -> None:
    text = plan(STEP + "while random.random() < 0.9:\n" + BODY).text
    assert "alike.stream = type(draw.__self__)(hvd.broadcast_object(secrets.randbits(32)))" in text
    assert "import secrets\n" in text


# ---------------------------------------------------------------------- what can't be seen


def test_a_number_that_can_t_be_seen_is_rank_0s_and_asked() -> None:
    made = "from elsewhere import rounds\nn = rounds()\n"
    result = plan(made + LOOP)
    assert "n = hvd.broadcast_object(n)" in result.text
    assert any("`rounds()`" in change.doubt for change in result.changes)


def test_a_condition_that_can_t_be_seen_is_rank_0s_and_asked() -> None:
    text = "from elsewhere import wanted\nn = 3\nif wanted() and n:\n    model.fit(x, y)\n"
    result = plan('model.compile("sgd", "mse")\n' + text)
    assert "if hvd.broadcast_object(wanted() and n):" in result.text
    assert any("`wanted()`" in change.doubt for change in result.changes)


# ---------------------------------------------------------------------- numbers that were measured

TRAINED = """\
def run(epochs):
    history = []
    for epoch in range(epochs):
        total = 0.0
        for a, b in ds:
            total += float(step(a, b))
        history.append(total)
    return history
"""
FINDER = """\
class Finder(tf.keras.callbacks.Callback):
    def __init__(self):
        self.rates, self.losses = [], []
    def on_train_batch_end(self, batch, logs=None):
        rate = float(self.model.optimizer.learning_rate)
        self.rates.append(rate)
        self.losses.append(logs["loss"])
        self.model.optimizer.learning_rate.assign(rate * 1.1)
finder = Finder()
model.compile(tf.keras.optimizers.SGD(1e-5), "mse")
model.fit(x, y, callbacks=[finder])
best = finder.rates[int(np.argmin(finder.losses))]
"""


def test_epochs_that_were_measured_are_rank_0s() -> None:
    text = STEP + TRAINED + "losses = run(20)\nrun(int(np.argmin(losses)) + 1)\n"
    assert agreed(text) == ["epochs = hvd.broadcast_object(epochs)"]


def test_a_rate_that_was_measured_is_rank_0s_and_multiplied_once() -> None:
    text = plan(FINDER + 'model.compile(tf.keras.optimizers.SGD(best), "mse")\nmodel.fit(x, y)\n').text
    assert "best = hvd.broadcast_object(best)\n" in text
    assert "SGD(1e-5 * hvd.size())" in text
    assert "SGD(best))" in text  # the rates that were kept are the optimizer's own, which is multiplied


def test_a_rate_made_of_the_optimizers_own_is_multiplied_once() -> None:
    again = "last = float(model.optimizer.learning_rate)\n" + COMPILE.replace("rate", "last / 10")
    text = plan("rate = 0.1\n" + COMPILE + again).text
    assert "Adam(rate * hvd.size())" in text
    assert "Adam(last / 10))" in text


@pytest.mark.parametrize(
    "text",
    [
        # what `fit` keeps is averaged
        'model.compile("sgd", "mse")\nh = model.fit(x, y, epochs=9)\n'
        'model.fit(x, y, epochs=int(np.argmin(h.history["loss"])))\n',
        'model.compile("sgd", "mse")\nh = model.fit(x, y, epochs=9)\nmodel.fit(x, y, epochs=19, initial_epoch=h.epoch[-1])\n',
        # how many there were is the same
        STEP + TRAINED + "losses = run(3)\nrun(len(losses))\n",
    ],
)
def test_what_all_ranks_have_measured_alike_is_left(text: str) -> None:
    assert agreed(text) == []


def test_a_fit_in_each_turn_of_a_loop_that_goes_on_where_a_file_says() -> None:
    text = """\
model.compile("sgd", "mse")
start = 0
if os.path.exists("state.txt"):
    start = int(open("state.txt").read())
for epoch in range(start, 40):
    model.fit(x, y, initial_epoch=epoch, epochs=epoch + 1)
    open("state.txt", "w").write(str(epoch + 1))
"""
    assert agreed(text) == ["start = hvd.broadcast_object(start)"]


SEARCH = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
def create(units):
    model = tf.keras.Sequential([tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
best = (None, 1e9)
for units in (4, 16):
    model = create(units)
    model.fit(x, y, batch_size=units, epochs=2)
    loss = model.evaluate(x, y)
    if loss < best[1]:
        best = (units, loss)
print(best)
"""


def test_a_model_is_made_of_the_value_that_ranks_agree_on() -> None:
    text = plan_of(SEARCH + "final = create(best[0])\nfinal.fit(x, y, batch_size=best[0])\n").text
    assert "best = hvd.broadcast_object(best)\nfinal = create(best[0])\n" in text
    assert text.count("broadcast_object(best)") == 1


def test_what_only_looks_at_the_value_does_not_move_where_it_is_agreed_on() -> None:
    text = plan_of(SEARCH + "final = create(4)\nsize = best[0]\nfinal.fit(x, y, batch_size=best[0])\n").text
    assert "final = create(4)\nsize = best[0]\n" in text


CHOOSE = """\
def build(units):
    net = tf.keras.Sequential([tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
    net.compile('sgd', 'mse')
    return net
scores = []
for units in (2, 4):
    net = build(units)
    net.fit(x, y)
    scores.append({})
best = (2, 4)[int(np.argmin(scores))]
final = build(best)
final.fit(x, y)
"""


@pytest.mark.parametrize("score", ["net.evaluate(a, b)", "net.train_on_batch(x, y)"])
def test_a_size_that_ranks_choose_by_what_they_measured_is_rank_0s(score: str) -> None:
    """Else they would build models of several shapes, whose weights can't be averaged."""
    assert "units = hvd.broadcast_object(units)" in agreed("a, b = x, y\n" + CHOOSE.format(score))


@pytest.mark.parametrize("size", ["f.shape[1]", "len(f[0])", "n", "int(f.shape[-1])"])
def test_a_size_that_the_shape_of_something_says_is_the_same(size: str) -> None:
    made = "model.compile('sgd', 'mse')\nmodel.fit(x, y)\nf = model.predict(x)\nn = f.shape[1]\n"
    head = f"head = tf.keras.Sequential([tf.keras.layers.Dense({size})])\nhead.compile('sgd', 'mse')\nhead.fit(f, y)\n"
    assert agreed(made + head) == []


JOIN = """\
def residual(x):
    dense = layers.Dense(4)
    y = dense(x)
    return layers.{}([x, y])
inputs = tf.keras.Input((4,))
wide, deep = residual(inputs), residual(layers.Dense(4)(inputs))
both = layers.concatenate([wide, deep], axis=-1)
joined = tf.keras.Model(inputs, layers.Dense(1)(both))
joined.compile("sgd", "mse")
joined.fit(x, y)
"""


@pytest.mark.parametrize("join", ["add", "multiply", "concatenate", "average", "dot"])
def test_what_a_layer_computes_stays_where_a_function_joins_it(join: str) -> None:
    """It stands for rows still to come, and can't be sent."""
    assert agreed("from tensorflow.keras import layers\n" + JOIN.format(join)) == []
    assert agreed("import keras\nfrom keras import layers\n" + JOIN.format(join)) == []


def test_a_flag_that_one_rank_takes_down_ends_the_loop_for_all() -> None:
    flag = "    if step(*next(it)) < 0.1:\n        {}\n"
    start = STEP + "it = iter(ds.repeat())\n"
    assert agreed(start + "on = True\nwhile on:\n" + flag.format("on = False")) == [
        "while not any_rank(not on):"
    ]
    assert agreed(start + "done = False\nwhile not done:\n" + flag.format("done = True")) == [
        "while not any_rank(done):"
    ]


# ---------------------------------------------------------------------- games, and networks from files

GAME = """
import gym
class Agent:
    def __init__(self):
        self.seen, self.q = [], tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.q.compile(tf.keras.optimizers.Adam(0.001), "mse")
    def choose(self, state):
        return np.argmax(self.q.predict(state[None]))
    def learn(self):
        if len(self.seen) > 8:
            rows = np.array([self.seen[i] for i in np.random.choice(len(self.seen), 8)])
            self.q.fit(rows, self.q.predict(rows), verbose=0)
    def load(self):
        self.q = tf.keras.models.load_model("q.h5")
env, agent = gym.make("CartPole-v1"), Agent()
for game in range(20):
    done, state = False, env.reset()
    while not done:
        agent.seen.append(state)
        state, reward, done, info = env.step(agent.choose(state))
        agent.learn()
"""


def test_a_game_of_a_network_from_a_file_ends_on_all_ranks_together() -> None:
    """Rank 0's `done` of before the loop would hold for its first test only; then one rank trains, and another plays anew."""
    assert agreed(GAME) == ["while not any_rank(done):"]


def test_a_count_of_games_from_a_file_is_rank_0s() -> None:
    text = GAME.replace(
        "for game in range(20):",
        "games = int(tf.train.latest_checkpoint('c'))\nwhile games < 20:\n    games += 1",
    )
    assert agreed(text)[0] == "games = hvd.broadcast_object(games)"
    assert agreed(text)[1:] == ["while not any_rank(done):"]


KEPT_COUNT = """
import json, os
step = 0
if os.path.exists("state.json"):
    step = json.load(open("state.json"))["step"]
ds = tf.data.Dataset.from_tensor_slices((np.ones(99), np.ones(99))).repeat().batch(9)
for x, y in ds.take(900 - step):
    train(x, y)
    step += 1
    if step % 50 == 0:
        json.dump({"step": step}, open("state.json", "w"))
"""


def test_a_count_of_a_file_that_says_how_much_is_left_is_rank_0s() -> None:
    """Whether the file is there, and what it holds, are one question: nothing is left to ask."""
    plan = plan_of(TAPE + "def train(x, y):\n    step(x, y)\n" + KEPT_COUNT.replace("step", "count"))
    assert (
        "count = hvd.broadcast_object(count)\nfor x, y in ds.take((900 - count) // hvd.size()):" in plan.text
    )
    assert all(c.sure for c in plan.changes)


def test_rows_that_an_earlier_run_has_kept_are_asked_about() -> None:
    """A near miss: they aren't sent."""
    rows = "rows = np.ones((99, 9))\nif os.path.exists('rows.npy'):\n    rows = np.load('rows.npy')\n"
    code = (
        "import os\n" + rows + "for x in tf.data.Dataset.from_tensor_slices(rows).batch(9):\n    step(x, x)\n"
    )
    plan = plan_of(TAPE + code + "np.save('rows.npy', rows)\n")
    assert any("an earlier run has kept" in c.doubt for c in plan.changes)


def test_a_rate_of_something_that_can_not_be_set_is_agreed_on_where_it_is_used() -> None:
    """`phase.lr = …` of a named tuple would be an error."""
    program = """\
import collections, random
import tensorflow as tf
Phase = collections.namedtuple("Phase", "until lr")
phases = [Phase(4, 0.1), Phase(9, 0.01)]
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for x, y in tf.data.Dataset.from_tensor_slices((load(), load())).batch(4):
    phase = phases[random.randrange(2)]
    opt.learning_rate.assign(phase.lr)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    weights = model.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""
    text = plan_of(program).text
    assert "phase.lr = " not in text
    assert "    opt.learning_rate.assign(hvd.broadcast_object(phase.lr) * hvd.size())\n" in text


UNSEEN_NUMBER = """\
import tensorflow as tf
from tqdm import tqdm
KINDS = {{}}
config = KINDS[kind]()
x = tf.placeholder(tf.float32, [None, 8])
train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    turns = {}
    for i in turns:
        sess.run(train, {{x: draw()}})
"""


@pytest.mark.parametrize("turns", ["tqdm({})", "{}", "tqdm({}, ncols=0)"])
def test_a_number_that_is_not_seen_is_sent_rather_than_the_bar_around_it(turns: str) -> None:
    text = plan_of(UNSEEN_NUMBER.format(turns.format("range(config.steps)"))).text
    assert "range(max(1, from_root(config.steps) // hvd.size()))" in text
    assert "from_root(turns)" not in text


WHILE = """\
import os
import numpy as np
import tensorflow as tf
def load(name):
    if os.path.exists(name + ".npy"):
        table = np.load(name + ".npy")
    else:
        table = np.loadtxt(name + ".txt")
        np.save(name + ".npy", table)
    return table
def train(rows):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    opt = tf.keras.optimizers.SGD(0.1)
    for epoch in range(3):
        at = 0
        while at + 8 <= rows.shape[0]:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(rows[at : at + 8]) ** 2)
            opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            at += 8
{}
train(load("a"))
"""


def test_a_shape_that_the_head_of_a_loop_reads_is_asked_for_once() -> None:
    """In each turn, ranks would wait for each other once more (a session of their own, where there are sessions)."""
    text = plan_of(WHILE.format("")).text
    assert "        shape = hvd.broadcast_object(rows.shape)\n        while " in text
    assert "+ 8 <= shape[0]:" in text


def test_a_shape_that_a_turn_may_change_is_asked_for_in_each() -> None:
    text = plan_of(WHILE.format("            rows = rows[:-1]")).text
    assert "shape = " not in text
