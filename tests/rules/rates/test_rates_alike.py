"""C5: rates that each rank would compute by itself."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of, refused

LOOP = (
    TF
    + """
import random, time
import numpy as np
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD({made})
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
for epoch in range(9):
    losses = []
    for x, y in ds:
        losses.append(float(train_step(x, y)))
    mean = np.mean(losses)
    {set}
"""
)


def text_of(setting: str, made: str = "0.1") -> str:
    return plan_of(LOOP.format(set=setting, made=made)).text


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (
            "opt.learning_rate = 0.1 * np.mean(losses)",
            "opt.learning_rate = hvd.broadcast_object(0.1 * np.mean(losses)) * hvd.size()",
        ),
        (
            "opt.learning_rate.assign(0.1 * losses[-1])",
            "opt.learning_rate.assign(hvd.broadcast_object(0.1 * losses[-1]) * hvd.size())",
        ),
        (
            "opt.learning_rate = mean",
            "mean = hvd.broadcast_object(mean)\n    opt.learning_rate = mean * hvd.size()",
        ),
        (
            "opt = tf.keras.optimizers.SGD(0.1 / mean)",
            "opt = tf.keras.optimizers.SGD(hvd.broadcast_object(0.1 / mean) * hvd.size())",
        ),
        (
            "opt.learning_rate = 1 / time.time()",
            "opt.learning_rate = hvd.broadcast_object(1 / time.time()) * hvd.size()",
        ),
    ],
)
def test_a_rate_that_a_rank_computes_is_rank_0_s(setting: str, told: str) -> None:
    assert f"    {told}\n" in text_of(setting)


@pytest.mark.parametrize(
    "setting",
    [
        "opt.learning_rate = 0.1 / (1 + epoch)",
        "print(0.1 * np.mean(losses))",
    ],
)
def test_what_is_the_same_on_all_ranks_is_left(setting: str) -> None:
    assert "broadcast_object" not in text_of(setting)


def test_what_only_decides_that_a_rate_is_set_is_decided_together() -> None:
    text = text_of("if mean > 1: opt.learning_rate = opt.learning_rate / 2")
    assert "mean = mean_over_ranks(np.mean(losses))\n" in text
    assert "if mean > 1: opt.learning_rate = opt.learning_rate / 2\n" in text
    assert "broadcast_object" not in text


def test_a_rate_in_a_traced_function_is_refused() -> None:
    step = (
        "@tf.function\ndef step(x):\n    opt.learning_rate.assign(0.1 * model(x)[0])\n    train_step(x, x)\n"
    )
    loop = (
        LOOP.format(made="0.1", set="pass")
        .replace("for epoch", step + "for epoch")
        .replace("train_step(x, y))", "step(x))")
    )
    assert refused(loop, "HVD107")


FINDER = (
    TF
    + """
import numpy as np
from tensorflow.keras import backend as K
class Finder(tf.keras.callbacks.Callback):
    losses, rates = [], []
    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])
        self.rates.append(0.1 * len(self.rates))
    def best(self):
        return self.rates[int(np.argmin(self.losses))]
class Rates(tf.keras.callbacks.Callback):
    def __init__(self, top):
        self.top = top
    def on_train_batch_begin(self, batch, logs=None):
        K.set_value(self.model.optimizer.lr, {rate})
finder = Finder()
model = tf.keras.Sequential([])
model.compile("sgd", "mse")
model.fit(x, y, callbacks=[finder])
model.fit(x, y, callbacks=[Rates({top})])
"""
)


def test_what_is_known_before_training_is_told_once() -> None:
    text = plan_of(FINDER.format(rate="self.top / 2", top="finder.best()")).text
    assert "self.top / 2 * hvd.size())\n" in text
    assert text.count("hvd.broadcast_object(") == 1
    assert "hvd.broadcast_object(finder.best())" in text or "top = hvd.broadcast_object(top)\n" in text
    assert "broadcast_object" not in plan_of(FINDER.format(rate="self.top / 2", top="0.3")).text


def test_what_a_callback_measures_is_told_where_it_sets_the_rate() -> None:
    text = plan_of(FINDER.format(rate="0.1 * logs['loss']", top="1")).text
    assert "hvd.broadcast_object(0.1 * logs['loss']) * hvd.size())\n" in text


SESSION = (
    TF.replace("tensorflow", "tensorflow.compat.v1")
    + """\
x = tf.placeholder(tf.float32, [None, 1])
w = tf.get_variable('w', [1, 1])
loss = tf.reduce_mean(x * w)
rate = tf.placeholder(tf.float32)
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)
value = 1.0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(9):
        for i in range(0, 640, 32):
            _, value = sess.run([train, loss], {x: rows[i:i + 32], rate: FED})
"""
)


def test_a_schedule_is_no_number() -> None:
    made = "tf.keras.optimizers.schedules.CosineDecay(0.1, int(time.time()))"
    assert "broadcast_object(tf.keras" not in text_of("pass", made)


def test_what_a_session_is_fed() -> None:
    assert "rate: from_root(0.1 * value)}" in plan_of(SESSION.replace("FED", "0.1 * value")).text
    assert "rate: 0.1 / (1 + epoch)}" in plan_of(SESSION.replace("FED", "0.1 / (1 + epoch)")).text


FOUND = (
    TF
    + """
import numpy as np
rates = np.geomspace(1e-5, 1.0, 100)
model = tf.keras.Sequential([])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
losses = []
for i in range(100):
    losses.append(model.train_on_batch(*a.sample(32)))
best = rates[int(np.argmin(losses))]
model.optimizer.learning_rate.assign(best)
model.fit(c, d)
"""
)


def test_what_single_batches_give_is_a_ranks_own() -> None:
    text = plan_of(FOUND).text
    assert (
        "best = hvd.broadcast_object(best)\nmodel.optimizer.learning_rate.assign(best * hvd.size())" in text
    )


def test_what_fit_gives_is_averaged() -> None:
    source = FOUND.replace(
        "losses.append(model.train_on_batch(*a.sample(32)))", "losses += model.fit(a, b).history['loss']"
    )
    assert "broadcast_object(best)" not in plan_of(source).text


GIVEN = (
    TF
    + """
import numpy as np
state = {{"lr": 0.01}}
def fall():
    state["lr"] *= {factor}
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.legacy.Adam(lambda: state["lr"])
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
for epoch in range(9):
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    fall()
"""
)


def test_a_function_that_gives_what_each_rank_draws_is_refused() -> None:
    refused(GIVEN.format(factor="np.random.rand()"), "HVD107", "different rates")


@pytest.mark.parametrize("factor", ["0.7", "1 / (1 + 0.5)"])
def test_a_function_that_gives_the_same_on_all_ranks(factor: str) -> None:
    assert 'lambda: state["lr"] * hvd.size()' in plan_of(GIVEN.format(factor=factor)).text


STREAM = """\
def batches(n):
    for epoch in range(n):
        count = 0
        for i in np.random.permutation(90):
            count += 1
            yield count, x[i:i + 9], y[i:i + 9]
for count, p, q in batches(6):
    opt.learning_rate = 0.1 if count < 40 else 0.01
    train_step(p, q)
"""


def test_a_generator_is_nothing_that_rank_0_sends() -> None:
    text = plan_of(LOOP.format(made="0.1", set="pass") + STREAM).text
    assert "broadcast_object(batches(6))" not in text
    assert "from_root(batches(6))" not in text


TRAINER = """\
from tensorflow.keras import backend as K
class Trainer:
    def update(self, x, y):
        K.set_value(model.optimizer.lr, self.rate)
        for e in range(5):
            model.train_on_batch(x, y)
            loss = np.mean(model.predict_on_batch(x))
        {}
trainer = Trainer()
for i in range(40):
    trainer.update(*draw())
"""
BUILT = (
    "import numpy as np\nimport tensorflow as tf\nfrom mine import draw\nmodel = tf.keras.Sequential([])\n"
)
BUILT += "model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\n"


def test_a_rate_that_a_method_changes_for_the_next_time_is_changed_on_all_ranks() -> None:
    changes = (
        "if loss > 0.5:\n            self.rate *= 1.1\n        elif loss < 0.1:\n            self.rate /= 1.5"
    )
    text = plan_of(BUILT + TRAINER.format(changes)).text
    assert "if any_rank(loss > 0.5):\n" in text
    assert "elif any_rank(loss < 0.1):\n" in text


@pytest.mark.parametrize(
    "rest",
    [
        "if loss > 0.5:\n            self.worst = loss",  # no setting
        "self.turns = 1\n        if self.turns > 3:\n            self.rate *= 0.5",  # the same on all ranks
    ],
)
def test_what_a_method_keeps_besides_is_its_own(rest: str) -> None:
    assert "any_rank" not in plan_of(BUILT + TRAINER.format(rest)).text


def test_a_method_that_the_loop_does_not_call_is_left() -> None:
    after = BUILT + TRAINER.format("self.last = loss") + "trainer.end()\n"
    method = (
        "    def end(self):\n        if self.last > 0.5:\n            self.rate = 0.1\ntrainer = Trainer()\n"
    )
    text = plan_of(after.replace("trainer = Trainer()\n", method)).text
    assert "any_rank" not in text


RESTORED = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.1)
other = tf.keras.optimizers.Adam(0.1)
ckpt = tf.train.Checkpoint(model=model, optimizer=opt, other=other)
manager = tf.train.CheckpointManager(ckpt, "c", max_to_keep=2)
ckpt.restore(manager.latest_checkpoint)
ds = tf.data.Dataset.from_tensor_slices(tf.random.normal((64, 3))).shuffle(64).batch(8)


def noam():
    return tf.cast(opt.iterations + 1, tf.float32) ** -0.5


{}
def step(x):
    {}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for epoch in range(3):
    {}
    for x in ds:
        {}
        step(x)
    manager.save()
"""
SET = "opt.learning_rate = noam()"


@pytest.mark.parametrize(
    "places",
    [("@tf.function", SET, "pass", "pass"), ("", SET, "pass", "pass"), ("", "pass", "pass", SET)],
)
def test_a_rate_that_each_step_sets_by_the_restored_count_of_its_optimizer(places: tuple[str, ...]) -> None:
    """Variables and the count are rank 0's after the first step: it was refused in a `tf.function`, and sent in each step."""
    text = plan_of(RESTORED.format(*places)).text
    assert "opt.learning_rate = noam() * hvd.size()" in text


@pytest.mark.parametrize(
    "places",
    [
        ("", "pass", SET, "pass"),
        ("", "pass", "pass", f"if opt.iterations % 100 == 0: {SET}"),
        ("", "pass", "pass", SET.replace("noam()", "0.1 / (1 + float(other.iterations))")),
    ],
)
def test_other_restored_counts_are_sent(places: tuple[str, ...]) -> None:
    """Near misses: a rate that lasts for more than the first step, and the count of an optimizer that trains nothing here."""
    text = plan_of(RESTORED.format(*places)).text
    assert "hvd.broadcast_object(" in text
    assert "opt.learning_rate = noam() * hvd.size()" not in text


KEPT = """\
import json
import os
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices(tf.ones((64, 3))).shuffle(64).batch(8)
state = {{"epoch": 0, "lr": 0.1}}
if os.path.isfile("state.json"):
    with open("state.json") as f:
        state = json.load(f)
for epoch in range(3):
    {again}
    for x in ds:
        opt.learning_rate.assign(state["lr"])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    with open("state.json", "w") as f:
        json.dump(state, f)
"""


def test_a_rate_of_a_state_that_is_sent_before_the_loop_is_not_sent_in_each_step() -> None:
    text = plan_of(KEPT.format(again="pass")).text
    assert text.count("broadcast_object(") == 1
    assert "\nstate = hvd.broadcast_object(state)\n" in text
    assert 'opt.learning_rate.assign(state["lr"] * hvd.size())' in text


def test_a_rate_of_a_state_that_is_read_in_the_loop_is_sent_there() -> None:
    """The near miss: what rank 0 sent before the loop is not what is read in it."""
    text = plan_of(KEPT.format(again='state = json.load(open("state.json"))')).text
    assert 'opt.learning_rate.assign(hvd.broadcast_object(state["lr"]) * hvd.size())' in text


OF_MANY = """
import random
class Worker:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.opt = tf.keras.optimizers.SGD(0.1)
    def train(self):
        for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.model(x) - y) ** 2)
            self.opt.apply_gradients(zip(tape.gradient(loss, self.model.trainable_variables), self.model.trainable_variables))
workers = [Worker() for _ in range(4)]
for turn in range(5):
    for worker in workers:
        worker.train()
    {takes}
        bad.opt.learning_rate = {rate}
"""


@pytest.mark.parametrize(
    "takes",
    [
        "for bad, good in zip(workers[2:], workers[:2]):",
        "for bad in workers[2:]:\n        good = workers[0]",
        "for bad in sorted(workers, key=id)[2:]:\n        good = workers[-1]",
        "bad, good = workers[turn], max(workers, key=id)\n    if turn > 1:",
    ],
)
def test_a_rate_of_one_of_many_objects_is_agreed_on(takes: str) -> None:
    rate = "float(good.opt.learning_rate) * random.choice([0.8, 1.25])"
    text = plan_of(TF + OF_MANY.format(takes=takes, rate=rate)).text
    assert f"bad.opt.learning_rate = hvd.broadcast_object({rate})\n" in text
    text = plan_of(TF + OF_MANY.format(takes=takes, rate="0.01")).text
    assert "bad.opt.learning_rate = 0.01 * hvd.size()\n" in text
