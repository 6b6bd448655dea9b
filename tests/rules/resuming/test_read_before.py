"""What an earlier run has written to a file, and by which a loop is left or a rate changes: rank 0's on all ranks, as its host
alone may have the file."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import changes, plan_of
from ..sessions import BUILT, INIT

PROGRAM = """\
import json
import os
import pickle
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(256, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.Adam(1e-3)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).batch(16)
{read}
for epoch in range(20):
    mean = tf.keras.metrics.Mean()
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(a) - b))
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        mean.update_state(loss)
    cur = float(mean.result())
    {decide}
"""

BEST = """\
best = float("inf")
bad = 0
if os.path.exists("best.txt"):
    best = float(open("best.txt").read())"""
PATIENCE = """\
if cur < best:
        best, bad = cur, 0
        open("best.txt", "w").write(str(best))
    else:
        bad += 1
        if bad > 3:
            break"""
LIST = """\
history = []
if os.path.exists("h.json"):
    with open("h.json") as f:
        history = json.load(f)"""
STOP = """\
history.append(cur)
    json.dump(history, open("h.json", "w"))
    if len(history) > 5 and min(history[-5:]) > min(history[:-5]):
        break"""
HALVE = """\
history.append(cur)
    json.dump(history, open("h.json", "w"))
    if len(history) % 4 == 0 and cur > min(history):
        opt.learning_rate = opt.learning_rate * 0.5"""


@pytest.mark.parametrize(
    ("read", "decide", "names"),
    [
        (BEST, PATIENCE, ["best"]),
        (LIST, STOP, ["history"]),
        (LIST, HALVE, ["history"]),
    ],
)
def test_what_was_read_before_the_loop_is_rank_0s(read: str, decide: str, names: list[str]) -> None:
    plan = plan_of(PROGRAM.format(read=read, decide=decide))
    for name in names:
        line = f"{name} = hvd.broadcast_object({name})\n"
        assert line in plan.text
        assert plan.text.index(line) < plan.text.index("for epoch")
        assert plan.text.count(line) == 1
    assert "cur = mean_over_ranks(float(mean.result()))" in plan.text
    assert "any_rank" not in plan.text


FIELDS = """\
class Trainer:
    def __init__(self, path):
        self.path = path
        self.best = 1e9
        self.bad = 0
        if os.path.exists(self.path):
            saved = json.load(open(self.path))
            self.best = saved["best"]
            self.bad = saved["bad"]
    def train(self):
        for epoch in range(20):
            mean = tf.keras.metrics.Mean()
            for a, b in ds:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(model(a) - b))
                grads = tape.gradient(loss, model.trainable_variables)
                opt.apply_gradients(zip(grads, model.trainable_variables))
                mean.update_state(loss)
            cur = float(mean.result())
            if cur < self.best:
                self.best = cur
                self.bad = 0
            else:
                self.bad += 1
                if self.bad > 3:
                    break
            with open(self.path, "w") as f:
                json.dump({"best": self.best, "bad": self.bad}, f)
Trainer("state.json").train()
"""


def test_fields_that_were_read_are_rank_0s_also_a_count_that_the_loop_goes_on_with() -> None:
    before = PROGRAM.format(read="", decide="pass").partition("\nfor epoch")[0]
    text = plan_of(before + "\n" + FIELDS).text
    line = "        self.bad, self.best = hvd.broadcast_object((self.bad, self.best))\n"
    assert text.index(line) < text.index("for epoch")


RECORD = """\
from dataclasses import asdict, dataclass
@dataclass
class State:
    best: float = 1e9
    bad: int = 0
    epoch: int = 0
state = State()
if os.path.exists("state.json"):
    with open("state.json") as f:
        state = State(**json.load(f))
{loop}
    mean = tf.keras.metrics.Mean()
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(a) - b))
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        mean.update_state(loss)
    cur = float(mean.result())
    state.epoch += 1
    if cur < state.best:
        state.best = cur
        state.bad = 0
    else:
        state.bad += 1
        if state.bad > 3:
            break
    json.dump(asdict(state), open("state.json", "w"))
"""
SENT_FIELDS = "state.bad, state.best = hvd.broadcast_object((state.bad, state.best))\n"


@pytest.mark.parametrize("loop", ["for epoch in range(state.epoch, 20):", "while state.epoch < 20:"])
def test_fields_of_a_record_that_is_made_of_a_file_are_rank_0s(loop: str) -> None:
    """Only what the loop's head reads was, and the means of what ranks measure now were taken to make all of it alike."""
    before = PROGRAM.format(read="", decide="pass").partition("\nfor epoch")[0]
    text = plan_of(before + "\n" + RECORD.format(loop=loop)).text
    assert SENT_FIELDS in text
    assert "state.epoch = hvd.broadcast_object(state.epoch)\n" in text
    assert text.index(SENT_FIELDS) < text.index(loop)
    assert "cur = mean_over_ranks(float(mean.result()))" in text
    assert "any_rank" not in text


def test_fields_of_a_record_that_is_made_of_constants_stay() -> None:
    """Near miss."""
    before = PROGRAM.format(read="", decide="pass").partition("\nfor epoch")[0]
    made = RECORD.format(loop="while state.epoch < 20:").replace("**json.load(f)", "best=1e3")
    assert "broadcast_object" not in plan_of(before + "\n" + made).text


def test_fields_that_cannot_be_set_are_not_sent() -> None:
    """Near miss: a frozen record of settings, which nothing sets a field of. Its patience is each rank's own file's still."""
    read = """\
from dataclasses import dataclass
@dataclass(frozen=True)
class Settings:
    patience: int = 3
settings = Settings(**json.load(open("settings.json")))
best, bad = 1e9, 0"""
    decide = """\
if cur < best:
        best, bad = cur, 0
    else:
        bad += 1
        if bad > settings.patience:
            break"""
    text = plan_of(PROGRAM.format(read=read, decide=decide)).text
    assert "settings.patience = " not in text


def test_a_dictionary_that_is_given_more_of_a_file_is_rank_0s() -> None:
    read = """\
state = {"best": 1e9, "bad": 0}
if os.path.exists("state.json"):
    state.update(json.load(open("state.json")))"""
    decide = """\
if cur < state["best"]:
        state["best"], state["bad"] = cur, 0
    else:
        state["bad"] += 1
    if state["bad"] > 3:
        break
    json.dump(state, open("state.json", "w"))"""
    text = plan_of(PROGRAM.format(read=read, decide=decide)).text
    assert text.index("state = hvd.broadcast_object(state)\n") < text.index("for epoch")


@pytest.mark.parametrize(
    ("read", "decide"),
    [
        ("history = []", STOP.replace("json.dump", "print")),  # nothing was read
        (
            LIST,
            STOP.replace('    json.dump(history, open("h.json", "w"))\n', ""),
        ),  # data, which every rank has
        (LIST, "history.append(cur)\n" + '    json.dump(history, open("h.json", "w"))'),  # decides nothing
    ],
)
def test_what_is_no_earlier_runs_or_decides_nothing_stays(read: str, decide: str) -> None:
    plan = plan_of(PROGRAM.format(read=read, decide=decide))
    assert "broadcast_object(history)" not in plan.text


def test_what_holds_a_model_is_not_sent() -> None:
    read = 'best = None\nif os.path.exists("m.h5"):\n    best = tf.keras.models.load_model("m.h5")'
    decide = 'if best is None or cur < float(best(x)[0, 0]):\n        best = model\n        model.save("m.h5")\n        break'
    plan = plan_of(PROGRAM.format(read=read, decide=decide))
    assert "best = hvd.broadcast_object(best)" not in plan.text
    assert not [c for c in changes(plan, "G6") if "rank 0 has read" in c.what]


def test_what_a_function_has_read_and_gives_back_with_others_is_rank_0s() -> None:
    read = """\
def load_state():
    if not os.path.exists("best.txt"):
        return 0, float("inf")
    with open("best.txt") as f:
        saved = json.load(f)
    return saved["bad"], saved["best"]
bad, best = load_state()"""
    text = plan_of(PROGRAM.format(read=read, decide=PATIENCE)).text
    line = "bad, best = hvd.broadcast_object((bad, best))\n"
    assert text.index("= load_state()") < text.index(line) < text.index("for epoch")


@pytest.mark.parametrize(
    "begun",
    [
        "saved.get('best', 9.0), saved.get('bad', 0)",
        "saved.get('best', float('inf')), saved.get('bad', 0)",
        "saved['best'] if saved else 9.0, saved.get('bad') or 0",
    ],
)
def test_what_a_dictionary_may_have_is_rank_0s(begun: str) -> None:
    """It was refused."""
    read = f"saved = json.load(open('best.txt')) if os.path.exists('best.txt') else {{}}\nbest, bad = {begun}"
    text = plan_of(PROGRAM.format(read=read, decide=PATIENCE)).text
    assert (
        text.index("best, bad =")
        < text.index("bad, best = hvd.broadcast_object((bad, best))\n")
        < text.index("for epoch")
    )


def test_what_else_may_give_something_is_not_sent() -> None:
    read = "best, bad = 9.0, 0\nif os.path.exists('best.txt'):\n    best = store.get('best', model)"
    result = distribute(summarize(Document(PROGRAM.format(read=read, decide=PATIENCE))), Options())
    assert not isinstance(result, Plan) or "broadcast_object((bad, best))" not in result.text


CALLBACK = """\
import json
import os
import numpy as np
from tensorflow import keras
x, y = np.zeros((256, 4)), np.zeros((256, 1))
class Stop(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.best, self.wait = 1e9, 0
        {read}
    def on_epoch_end(self, epoch, logs=None):
        if logs["val_loss"] < self.best:
            self.best = logs["val_loss"]
            self.wait = 0
        else:
            self.wait += 1
            if self.wait > 8:
                {decide}
        json.dump([float(self.best), self.wait], open("s.json", "w"))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.01), "mse")
model.fit(x, y, batch_size=16, epochs=30, validation_split=0.2, callbacks=[Stop()])
"""
READ = """\
if os.path.exists("s.json"):
            self.best, self.wait = json.load(open("s.json"))"""
SENT = "        self.best = hvd.broadcast_object(self.best)\n        self.wait = hvd.broadcast_object(self.wait)\n"


@pytest.mark.parametrize(
    "decide",
    ["self.model.stop_training = True", "self.model.optimizer.lr.assign(self.model.optimizer.lr * 0.5)"],
)
def test_what_a_callback_reads_when_it_is_made_is_rank_0s_where_it_decides(decide: str) -> None:
    text = plan_of(CALLBACK.format(read=READ, decide=decide)).text
    assert READ + "\n" + SENT + "    def on_epoch_end" in text
    assert "any_rank" not in text


@pytest.mark.parametrize(
    ("read", "decide"), [("pass", "self.model.stop_training = True"), (READ, "print(self.best)")]
)
def test_a_callback_that_reads_nothing_or_decides_nothing_stays(read: str, decide: str) -> None:
    assert "broadcast_object" not in plan_of(CALLBACK.format(read=read, decide=decide)).text


def test_a_callback_that_reads_when_training_begins_decides_with_all_ranks() -> None:
    later = CALLBACK.format(read="pass", decide="self.model.stop_training = True").replace(
        "    def on_epoch_end",
        "    def on_train_begin(self, logs=None):\n        " + READ + "\n    def on_epoch_end",
    )
    assert "if any_rank(self.wait > 8):" in plan_of(later).text


COUNTERS = """\
best, wait = np.inf, 0
if os.path.exists("state.pkl"):
    with open("state.pkl", "rb") as f:
        best, wait = pickle.load(f)
for i in range(500):
    sess.run(train, {x: draw()})
    if i % 10 == 0:
        now = 1.0 / (i + 1)
        if now < best:
            best, wait = now, 0
            print(best)
        else:
            wait += 1
        if wait >= 3:
            break
"""


def test_what_decides_how_a_count_goes_on_by_which_a_loop_is_left_is_rank_0s_too() -> None:
    """`best` was each rank's own: one without the file began to count again, and stayed in the loop alone."""
    text = plan_of(
        "import os, pickle\nimport numpy as np\n" + BUILT + "sess = tf.Session()\n" + INIT + COUNTERS
    ).text
    assert "best, wait = from_root((best, wait))\n" in text


BY_EPOCH = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
opt = tf.keras.optimizers.SGD(0.01)
x = np.load("x.npy")
rows = iter(tf.data.Dataset.from_tensor_slices((x, x)).repeat().batch(16))
path = tf.train.latest_checkpoint("kept")
{}
while epoch <= 3:
    a, b = next(rows)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step += 1
    epoch = step // 40 + 1
    if step % 20 == 0:
        model.save_weights("kept/e_%d_%d" % (epoch, step))
"""
NAMED = (
    "epoch, step = (int(path.split('_')[1]), int(path.split('_')[2])) if path is not None else (1, 0)",
    "if path is not None:\n    epoch, step = int(path.split('_')[1]), int(path.split('_')[2])\nelse:\n    epoch, step = 1, 0",
)


@pytest.mark.parametrize("named", NAMED)
def test_an_epoch_that_is_computed_of_a_step_that_was_read_ends_the_loop(named: str) -> None:
    """Both are rank 0's: on a host without the checkpoint the step went on from 0, and the epoch with it. Nothing is asked: the
    step counts those of all ranks."""
    plan = plan_of(BY_EPOCH.format(named))
    assert "epoch, step = hvd.broadcast_object((epoch, step))\n" in plan.text
    assert "    step += hvd.size()\n    epoch = step // 40 + 1\n" in plan.text
    assert not [change for change in plan.changes if change.doubt]


def test_a_step_that_always_begins_at_the_first_is_not_sent() -> None:
    """Near miss."""
    assert "broadcast_object" not in plan_of(BY_EPOCH.format("epoch, step = 1, 0")).text
