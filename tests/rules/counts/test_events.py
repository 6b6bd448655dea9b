"""G5: what happens every M steps, or at step M, of a loop that is divided."""

from __future__ import annotations

import textwrap

import pytest

from ..dividing import TAPE
from ..pairs import TF, changes, check, plan_of, untouched
from ..sessions import LOSS

DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
LOOP = "total = 0\nfor epoch in range(9):\n    for i, (x, y) in enumerate(ds):\n        step(x, y)\n        total += 1\n"
THEN = "        if {}:\n            keep(model)\n"


def become(test: str, head: str = TAPE + DATA) -> str:
    """What a test of an `if` in a divided loop becomes."""
    text = plan_of(head + LOOP + THEN.format(test)).text
    text = text[text.index("for epoch in range(9):") :]  # behind the helpers
    line = next(
        line for line in text.splitlines() if line.startswith("        if ") and "first_batch" not in line
    )
    return line.removeprefix("        if ").removesuffix(":")


@pytest.mark.parametrize(
    "test",
    [
        "epoch % 10 == 0",  # epochs are as many as before
        "epoch == 50",
        "i == 0",
        "total <= 1",
        "i < 5",  # a look at the first
        "i % 1 == 0",
        "other % 100 == 0",
        "i % len(ds) == 0",  # a rank's already
        "i == len(ds) - 1",
        "i == total",
        "names[i % 100]",  # selects
        '"%d" % i == name',
        "i is None",
        "i % 100 + epoch",  # no test of it
    ],
)
def test_what_counts_no_steps_or_only_the_first_is_left(test: str) -> None:
    assert become(test) == test


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("total % 100 or keep(model)", "total % max(1, 100 // hvd.size()) or keep(model)"),
        # near misses: a number from 1 on, and one that is kept
        ("k = total % 100 or 100", "k = total % 100 or 100"),
        ("print(total % 100 or 100)", "print(total % 100 or 100)"),
    ],
)
def test_what_is_done_by_or(line: str, after: str) -> None:
    text = plan_of(f"{TAPE}{DATA}{LOOP}        {line}\n", output="silence").text
    assert f"        {after}\n" in text


@pytest.mark.parametrize(("test", "divided"), [("batch % 8 or", True), ("8 or", False)])
def test_what_a_lambda_of_a_callback_does_by_or(test: str, divided: bool) -> None:
    text = plan_of(
        f"{TF}model = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\n"
        f"save = tf.keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: {test} model.save('m'))\n"
        "model.fit(a, b, callbacks=[save])\n"
    ).text
    assert ("batch % max(1, 8 // hvd.size()) or" in text) is divided


@pytest.mark.parametrize(
    ("more", "after"),
    [
        ("if step < 8:\n        x = x * 0.5", "if step < max(1, 8 // hvd.size()):"),
        ("if step < 8:\n        k = 0.5", "if step < max(1, 8 // hvd.size()):"),
        ("k = 0.5 if step < 8 else 1.0", "k = 0.5 if step < max(1, 8 // hvd.size()) else 1.0"),
        ("if step < 8:\n        shown = 0.5", "if step < 8:"),  # a look at the first
    ],
)
def test_a_few_first_steps_that_are_trained_otherwise_are_as_many_rows(more: str, after: str) -> None:
    source = f"""\
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices(tf.zeros((480, 5))).shuffle(400).repeat().batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.SGD(0.1)
step, k = 0, 1.0
for x in ds.take(120):
    step += 1
    {more}
    with tf.GradientTape() as tape:
        loss = k * tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
    assert f"    {after}\n" in plan_of(source).text


def test_loops_that_are_not_divided_go_on_counting_as_they_did() -> None:
    untouched("G5", TAPE + DATA + LOOP + THEN.format("total % 100 == 0"), split_data=False)


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("i % 100 == 0", "i % max(1, 100 // hvd.size()) == 0"),
        ("0 == i % 100", "0 == i % max(1, 100 // hvd.size())"),
        ("total % args.every == 0", "total % max(1, args.every // hvd.size()) == 0"),
        ("total % (n + 1) != 0", "total % (max(1, (n + 1) // hvd.size())) != 0"),
        ("(i + 1) % 100 == 0", "(i + 1) % max(1, 100 // hvd.size()) == 0"),
        ("i % 100 == 99", "i % max(1, 100 // hvd.size()) == max(1, 100 // hvd.size()) - 1"),
        ("i % n == n - 1", "i % max(1, n // hvd.size()) == max(1, n // hvd.size()) - 1"),
        ("i % 100 == 1", "(i - 1) % max(1, 100 // hvd.size()) == 0"),
        ("(i + 1) % 100 == 50", "(i + 1 - 50 // hvd.size()) % max(1, 100 // hvd.size()) == 0"),
        ("np.mod(total, 100) == 1", "np.mod(total - 1, max(1, 100 // hvd.size())) == 0"),
        ("not i % 100", "not i % max(1, 100 // hvd.size())"),
        ("i and i % 5 == 0", "i and i % max(1, 5 // hvd.size()) == 0"),
        ("i == 500", "i == max(1, 500 // hvd.size())"),
        ("total >= warm", "total >= min(warm, max(1, warm // hvd.size()))"),
        ("total in (10, 500)", "total in (max(1, 10 // hvd.size()), max(1, 500 // hvd.size()))"),
        ("opt.iterations % 50 == 0", "opt.iterations % max(1, 50 // hvd.size()) == 0"),
        (
            "int(opt.iterations.numpy()) % 50 == 0",
            "int(opt.iterations.numpy()) % max(1, 50 // hvd.size()) == 0",
        ),
        ("tf.equal(opt.iterations % 50, 0)", "tf.equal(opt.iterations % max(1, 50 // hvd.size()), 0)"),
    ],
)
def test_tests_of_a_count_of_steps(test: str, after: str) -> None:
    assert become(test) == after


def test_an_interval_that_may_not_be_set_stays_so() -> None:
    head = (
        TAPE
        + DATA
        + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--every', type=int)\nargs = p.parse_args()\n"
    )
    assert (
        become("args.every and i % args.every == 0", head)
        == "args.every and i % (args.every and max(1, args.every // hvd.size())) == 0"
    )


@pytest.mark.parametrize("size", [1, 2, 3, 4, 16, 200])
@pytest.mark.parametrize(
    ("test", "alone"), [("i % 100 == 99", 8), ("i % 100 == 1", 8), ("i % 40 == 0", 20), ("i % 100 == 50", 8)]
)
def test_it_happens_as_often_on_any_number_of_ranks(test: str, alone: int, size: int) -> None:
    class hvd:
        @staticmethod
        def size() -> int:
            return size

    happens = eval(f"lambda i: {become(test)}", {"hvd": hvd})
    times = sum(map(happens, range(max(1, 800 // size))))
    assert times == pytest.approx(alone, abs=max(1, alone / 3)) if size < 16 else 1 <= times <= alone + 8


# ---------------------------------------------------------------------- counters


@pytest.mark.parametrize(
    "counted",
    [
        "def look(n):\n    if n % 100 == 0:\n        keep(model)\nfor i, (x, y) in enumerate(ds):\n    step(x, y)\n"
        "    look(i)\n",
        "n = tf.Variable(0)\nfor x, y in ds:\n    step(x, y)\n    n.assign_add(1)\n    if int(n) % 100 == 0:\n"
        "        keep(model)\n",
        "n = tf.Variable(0)\nfor x, y in ds:\n    step(x, y)\n    n.assign(n.numpy() + 1)\n    if int(n) % 100 == 0:\n"
        "        keep(model)\n",
        "n = tf.Variable(0)\nfor x, y in ds:\n    step(x, y)\n    it = int(n.assign_add(1))\n    if it % 100 == 0:\n"
        "        keep(model)\n",
        "n = 0\nfor x, y in ds:\n    step(x, y)\n    if (n := n + 1) % 100 == 0:\n        keep(model)\n",
        "n = tf.Variable(0)\n@tf.function\ndef train(x, y):\n    step(x, y)\n    return n.assign(1 + n)\nfor x, y in ds:\n"
        "    if train(x, y) % 100 == 0:\n        keep(model)\n",
        "n = 0\ndef after():\n    global n\n    n += 1\n    if n % 100 == 0:\n        keep(model)\n"
        "for x, y in ds:\n    step(x, y)\n    after()\n",
        "class T:\n    def __init__(self):\n        self.n = 0\n    def run(self):\n        for x, y in ds:\n"
        "            step(x, y)\n"
        "            self.n = self.n + 1\n            self.look()\n    def look(self):\n        if self.n % 100 == 0:\n"
        "            keep(model)\nT().run()\n",
    ],
)  # fmt: skip
def test_counters_wherever_they_are(counted: str) -> None:
    text = plan_of(TAPE + DATA + counted).text
    assert text.count("% max(1, 100 // hvd.size()) == 0") == 1


@pytest.mark.parametrize(
    "counted",
    [
        # counts epochs
        "n = 0\nfor e in range(9):\n    n += 1\n    for x, y in ds:\n        step(x, y)\n        if n % 100 == 0:\n"
        "            keep(model)\n",
        # counts steps and what is no step
        "n = 0\nfor e in range(9):\n    for x, y in ds:\n        step(x, y)\n        n += 1\n        if n % 100 == 0:\n"
        "            keep(model)\n    n += 1\n",
        # is set from another
        "n, m = tf.Variable(0), tf.Variable(7)\nfor x, y in ds:\n    step(x, y)\n    k = n.assign(m+1)\n    if k % 100 == 0:\n"
        "        keep(model)\n",
        # sums what is no count
        "n = 0\nfor x, y in ds:\n    n += step(x, y)\n    if n % 100 == 0:\n        keep(model)\n",
        # a function that is told of epochs, too
        "def look(n):\n    if n % 100 == 0:\n        keep(model)\nfor e in range(9):\n    look(e)\n"
        "    for i, (x, y) in enumerate(ds):\n        step(x, y)\n        look(i)\n",
    ],
)  # fmt: skip
def test_what_is_not_surely_a_count_of_steps_is_left(counted: str) -> None:
    assert "% 100 == 0" in plan_of(TAPE + DATA + counted).text


# ---------------------------------------------------------------------- updates among each other

TWO = TAPE + DATA + textwrap.dedent(
    """
    def other(x, y):
        with tf.GradientTape() as tape:
            loss = model(x) + y
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    for i, (x, y) in enumerate(ds):
        step(x, y)
    """
)  # fmt: skip


@pytest.mark.parametrize(
    "ratio",
    [
        "    if i % 5 == 0:\n        other(x, y)\n",
        "    if i % 5 != 0:\n        continue\n    other(x, y)\n",
        "    now = (i + 1) % 4 == 0\n    if now:\n        other(x, y)\n",
    ],
)
def test_a_ratio_between_updates_stays_one(ratio: str) -> None:
    plan = plan_of(TWO + ratio)
    assert changes(plan, "G5") == []
    assert not [n for n in plan.notes if n.rule == "G5"]


def test_a_ratio_that_is_not_known_is_said() -> None:
    plan = plan_of(TWO + "    if i % n_critic == 0:\n        other(x, y)\n")
    assert changes(plan, "G5") == []
    assert ["goes with the training itself" in n.message for n in plan.notes if n.rule == "G5"] == [True]


EPOCHS = TWO.replace(
    "for i, (x, y) in enumerate(ds):\n    step(x, y)\n",
    "for e in range(9):\n    for i, (x, y) in enumerate(ds):\n",
)


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        ("i % 4 == 0", False),  # the first batch of an epoch is always there
        ("(i + 1) % 4 == 0", True),
        ("i % 4 == 3", True),
    ],
)
def test_updates_that_wait_for_several_batches_of_an_epoch_may_never_come(ratio: str, said: bool) -> None:
    plan = plan_of(EPOCHS + f"        gather(x, y)\n        if {ratio}:\n            step(x, y)\n")
    assert f"if {ratio}:" in plan.text
    assert any("once in 4 batches" in n.message for n in plan.notes) == said


def test_what_trains_after_many_steps_is_an_event() -> None:
    assert (
        "if i % max(1, 1000 // hvd.size()) == 0:"
        in plan_of(TWO + "    if i % 1000 == 0:\n        other(x, y)\n").text
    )


def test_weights_that_are_copied_come_as_often_for_the_rows_seen() -> None:
    copied = "    if i % 10 == 0:\n        old.set_weights(model.get_weights())\n"
    assert "if i % max(1, 10 // hvd.size()) == 0:" in plan_of(TWO + copied).text


# ---------------------------------------------------------------------- callbacks and hooks


def test_what_is_counted_after_a_turn_is_cut_short_are_events() -> None:
    """Evaluations are as many as before for the rows seen, however it is said when they come."""
    counted = """\
        if {}:
            continue
        if now() < best:
            best = now()
            bad = 0
        else:
            bad += 1
            if bad >= 32:
                lower()
                bad = 0
"""
    head = TAPE + DATA + "best, bad = 9.0, 0\n" + LOOP
    assert "if bad >= 32:" in plan_of(head + counted.format("total % 100")).text
    assert "if bad >= max(1, 32 // hvd.size()):" in plan_of(head + counted.format("off")).text


FIT = (
    TF
    + "from tensorflow.keras.callbacks import *\nmodel = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\n"
)


def test_callbacks_that_count_epochs_are_left() -> None:
    kinds = "[ModelCheckpoint('m', save_freq='epoch'), TensorBoard('l', update_freq='batch'), EarlyStopping(patience=9)]"
    untouched("G5", f"{FIT}model.fit(x, y, callbacks={kinds})\n")
    untouched(
        "G5", f"{FIT}model.fit(x, y, callbacks=[ModelCheckpoint('m', save_freq=100)])\n", split_data=False
    )


def test_callbacks_that_count_batches() -> None:
    check(
        "G5",
        FIT,
        "model.fit(x, y, callbacks=[ModelCheckpoint('m', save_freq=100), TensorBoard('l', update_freq=n)])\n",
        "model.fit(x, y, callbacks=[ModelCheckpoint('m', save_freq=max(1, 100 // hvd.size())), "
        "TensorBoard('l', update_freq=max(1, n // hvd.size()))])\n",
    )


def test_a_callback_of_ones_own() -> None:
    check(
        "G5",
        FIT,
        """
        class Look(Callback):
            count = 0
            def on_epoch_end(self, epoch, logs=None):
                if epoch % 10 == 0:
                    keep(self.model)
            def on_train_batch_end(self, batch, logs=None):
                self.seen += 1
                if batch % 50 == 0 or self.seen == 1000:
                    keep(self.model)
        model.fit(x, y, callbacks=[Look()])
        """,
        """
        class Look(Callback):
            count = 0
            def on_epoch_end(self, epoch, logs=None):
                if epoch % 10 == 0:
                    keep(self.model)
            def on_train_batch_end(self, batch, logs=None):
                self.seen += 1
                if batch % max(1, 50 // hvd.size()) == 0 or self.seen == max(1, 1000 // hvd.size()):
                    keep(self.model)
        model.fit(x, y, callbacks=[Look()])
        """,
    )


GRAPH = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32)
step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(x - tf.Variable(1.0)), global_step=step)
"""


def test_the_global_step_that_a_session_gives() -> None:
    check(
        "G5",
        GRAPH,
        """
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(1000):
                _, n = sess.run([train, step], {x: data.next_batch(8)})
                if n % 100 == 0:
                    keep(sess)
                if tf.train.global_step(sess, step) == 500:
                    keep(sess)
        """,
        """
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(1000):
                _, n = sess.run([train, step], {x: data.next_batch(8)})
                if n % max(1, 100 // hvd.size()) == 0:
                    keep(sess)
                if tf.train.global_step(sess, step) == max(1, 500 // hvd.size()):
                    keep(sess)
        """,
    )


def test_hooks_that_count_steps() -> None:
    check(
        "G5",
        GRAPH,
        """
        hooks = [tf.train.StopAtStepHook(last_step=1000),
                 tf.train.SummarySaverHook(save_steps=100, summary_op=s),
                 tf.train.CheckpointSaverHook('d', save_secs=60),
                 tf.train.LoggingTensorHook({'n': step}, every_n_iter=50)]
        with tf.train.MonitoredTrainingSession(hooks=hooks,
                                               save_checkpoint_steps=200,
                                               save_summaries_steps=None) as sess:
            while not sess.should_stop():
                sess.run(train, {x: data.next_batch(8)})
        """,
        """
        hooks = [tf.train.StopAtStepHook(last_step=1000),
                 tf.train.SummarySaverHook(save_steps=max(1, 100 // hvd.size()), summary_op=s),
                 tf.train.CheckpointSaverHook('d', save_secs=60),
                 tf.train.LoggingTensorHook({'n': step}, every_n_iter=max(1, 50 // hvd.size()))]
        with tf.train.MonitoredTrainingSession(hooks=hooks,
                                               save_checkpoint_steps=max(1, 200 // hvd.size()),
                                               save_summaries_steps=None) as sess:
            while not sess.should_stop():
                sess.run(train, {x: data.next_batch(8)})
        """,
    )


MEMORY = """
CAPACITY, BATCH = 1000, 32
class Memory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.data = np.zeros((capacity, 4))
        self.pointer = 0
    def store(self, row):
        self.data[self.pointer % self.capacity, :] = row
        self.pointer += 1
    def sample(self, n):
        assert self.pointer >= self.capacity
        return self.data[np.random.choice(self.capacity, size=n), :]
memory = Memory(CAPACITY)
for i in range(5000):
    memory.store(np.random.normal(size=4))
    if {}:
        rows = memory.sample(BATCH)
        step(rows, rows)
    if i % 500 == 0:
        keep(model)
"""


@pytest.mark.parametrize("test", ["memory.pointer > CAPACITY", "memory.pointer >= memory.capacity"])
def test_what_a_memory_holds_is_no_number_of_steps(test: str) -> None:
    plan = plan_of(TAPE + "import numpy as np\n" + MEMORY.format(test))
    assert f"    if {test}:\n" in plan.text
    assert "assert self.pointer >= self.capacity\n" in plan.text
    assert "range(5000 // hvd.size())" in plan.text
    assert "i % max(1, 500 // hvd.size()) == 0" in plan.text
    assert any("the size of what is filled" in n.message for n in plan.notes)


def test_an_end_that_is_also_a_size_is_divided() -> None:
    """The losses of all steps are kept: there are as many as steps."""
    assert become(
        "total >= STEPS", TAPE + DATA + "import numpy as np\nSTEPS = 1000\nlosses = np.zeros(2000)\n"
    ) == ("total >= max(1, STEPS // hvd.size())")
    kept = "import numpy as np\nSTEPS = 1000\nlosses = np.zeros(STEPS)\n"
    loop = LOOP.replace("total += 1", "losses[total] = 1\n        total += 1")
    text = plan_of(TAPE + DATA + kept + loop + "        if total >= STEPS:\n            break\n").text
    assert "STEPS // hvd.size()" in text


MOVED = """\
import tensorflow as tf
model, opt = tf.keras.Sequential([]), tf.keras.optimizers.SGD(0.1)
{}
step = 0
for x in tf.data.Dataset.from_tensor_slices(tf.zeros([900, 2])).batch(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step += 1
    if {}:
        model.save_weights("w")
        {}
"""


@pytest.mark.parametrize(
    ("start", "test", "moved", "wanted"),
    [
        (
            "at = 50",
            "step >= at",
            "at += 50",
            ("at = max(1, 50 // hvd.size())", "at += max(1, 50 // hvd.size())"),
        ),
        ("at = 0", "step >= at", "at = at + 50", ("at = 0\n", "at = at + max(1, 50 // hvd.size())")),
        (
            "at = 50",
            "step == at",
            "at = step + 50",
            ("at = max(1, 50 // hvd.size())", "step + max(1, 50 // hvd.size())"),
        ),
        (
            "last = 0",
            "step - last >= 50",
            "last = step",
            ("step - last >= max(1, 50 // hvd.size())", "last = step\n"),
        ),
        (
            "last = 0",
            "step - 50 >= last",
            "last = step",
            ("step - max(1, 50 // hvd.size()) >= last", "last = step\n"),
        ),
        (
            "last = 9",
            "last == step - 50",
            "last = step",
            ("last == step - max(1, 50 // hvd.size())", "last = 9\n"),
        ),
        (
            "last = np.inf",
            "last <= step - 50",
            "last = step",
            ("step - max(1, 50 // hvd.size())", "last = np.inf\n"),
        ),
    ],
)
def test_a_number_that_the_program_moves_on(
    start: str, test: str, moved: str, wanted: tuple[str, str]
) -> None:
    text = plan_of(MOVED.format(start, test, moved)).text
    assert wanted[0] in text
    assert wanted[1] in text


@pytest.mark.parametrize(
    ("start", "test", "moved"),
    [
        ("at = 50", "step >= at", "at = int(input())"),
        ("last = 9", "step - last >= 50", "last = loss"),
        ("last = 9", "last == step - 1", "last = step"),  # the turn before this
        ("last = 9", "last == step - 0", "last = step"),
        ("last = 9", "last == loss - 50", "last = step"),
    ],
)
def test_a_number_that_moves_by_something_else_is_left(start: str, test: str, moved: str) -> None:
    text = plan_of(MOVED.format(start, test, moved)).text
    assert start in text
    assert test in text


@pytest.mark.parametrize("moved", ["at = at * 2", "at *= 2", "at += at // 2", "at += 50; show(at)"])
def test_a_number_that_the_program_makes_another_of_is_met_by_the_steps_of_all_ranks(moved: str) -> None:
    text = plan_of(MOVED.format("at = 50", "step >= at", moved)).text
    assert "if step * hvd.size() >= at" in text
    assert "at = 50\n" in text
    assert moved in text
    said = plan_of(MOVED.format("at = 50", "step == at", moved)).changes
    assert any("changes" in c.doubt for c in said if c.rule == "G5")


RESTARTS = (
    TF
    + textwrap.dedent(
        """
        class Waves(tf.keras.callbacks.Callback):
            def __init__(self, length):
                super().__init__()
                self.seen, self.length = 0, length
            def on_train_batch_begin(self, batch, logs=None):
                self.model.optimizer.learning_rate.assign(0.1 * (1 - self.seen / self.length))
            def on_train_batch_end(self, batch, logs=None):
                self.seen += 1
                if self.seen >= self.length:
                    self.seen = 0
                    {}
        x, y = {}(900, 2), {}(900, 1)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
        model.fit(x, y, batch_size=32, callbacks=[Waves(len(x) // 32)])
        """
    )
).replace("import tensorflow as tf\n", "import numpy as np\nimport tensorflow as tf\n", 1)


@pytest.mark.parametrize("draw", ["np.random.rand", "np.random.RandomState(0).rand"])
@pytest.mark.parametrize(
    ("then", "test"),
    [
        ("pass", "self.seen >= max(1, self.length // hvd.size())"),
        ("self.length *= 2", "self.seen * hvd.size() >= self.length"),
    ],
)
def test_a_cycle_is_as_long_for_the_rows_seen(draw: str, then: str, test: str) -> None:
    """Also one that grows: its length is no rate that goes on with each step. And drawing all rows alike divides none."""
    text = plan_of(RESTARTS.format(then, draw, draw)).text
    assert "0.1 * (1 - self.seen * hvd.size() / self.length) * hvd.size()" in text
    assert f"if {test}:" in text
    assert f" {then}\n" in text


@pytest.mark.parametrize("subject", ["n", "n + 1", "n % 500"])
def test_cases_that_count_steps_are_asked_about(subject: str) -> None:
    loop = f"for n, (x, y) in enumerate(ds):\n    step(x, y)\n    match {subject}:\n        case 100:\n            keep()\n"
    assert any(c.rule == "G5" and "cases" in c.doubt for c in plan_of(TAPE + DATA + loop).changes)


@pytest.mark.parametrize("match", ["match mode:\n        case 100:\n", "match n:\n        case 0:\n"])
def test_other_cases_are_not(match: str) -> None:
    loop = f"for n, (x, y) in enumerate(ds):\n    step(x, y)\n    {match}            keep(model)\n"
    assert not any("cases" in c.doubt for c in plan_of(TAPE + DATA + loop).changes)


SUM = """running = 0.0
for epoch in range(9):
    for i, (x, y) in enumerate(ds):
        running += step(x, y)
        if {test}:
{then}
"""


def event_of(test: str, *then: str, head: str = "") -> str:
    """What becomes of the lines under an event, in which a sum over the steps since the last one is used."""
    loop = SUM.format(test=test, then="\n".join(f"            {line}" for line in then))
    text = plan_of(TAPE + DATA + head + loop).text
    return text[text.index("    for i, (x, y) in") :]


@pytest.mark.parametrize(
    ("test", "use", "divided"),
    [
        ("i % 100 == 0", "running /= 100", f"running /= {'max(1, 100 // hvd.size())'}"),
        ("i % 100 == 99", "mean = running / 100", "mean = running / max(1, 100 // hvd.size())"),
        ("(i + 1) % every == 0", "mean = running / every", "mean = running / max(1, every // hvd.size())"),
        ("not i % 100", "mean = running / float(100)", "mean = running / float(max(1, 100 // hvd.size()))"),
        (
            "i % 100 == 0 and i > 0",
            "mean = running / (100 * 4)",
            "mean = running / (max(1, 100 // hvd.size()) * 4)",
        ),
    ],
)
def test_the_average_since_the_last_event_is_over_a_ranks_steps(test: str, use: str, divided: str) -> None:
    assert divided in event_of(test, use, "running = 0.0", head="every = 100\n")


def test_the_average_of_what_a_sum_has_grown_by_is_over_a_ranks_steps() -> None:
    text = event_of("i % 100 == 0", "mean = (running - kept) / 100", "kept = running", head="kept = 0.0\n")
    assert "mean = (running - kept) / max(1, 100 // hvd.size())" in text


@pytest.mark.parametrize(
    "then",
    [
        ("mean = (running - other) / 100", "kept = running"),
        ("mean = (kept - running) / 100", "other = running"),
        ("mean = running / 50", "running = 0.0"),  # another number
        ("mean = running / 100",),  # goes on: no average of what came since
        ("mean = other / 100", "running = 0.0"),
        ("mean = 100 / running", "running = 0.0"),
        ("share = i / 100", "running = 0.0"),
    ],
)
def test_what_is_no_average_since_the_last_event_stays(then: tuple[str, ...]) -> None:
    text = event_of("i % 100 == 0", *then, head="other = 1\n")
    assert then[0] in text


def test_an_average_over_another_number_is_said() -> None:
    source = (
        TAPE
        + DATA
        + SUM.format(test="i % 300 == 0", then="            mean = running / 200\n            running = 0.0")
    )
    assert any("if this number counts steps" in n.message for n in plan_of(source).notes)
    assert not plan_of(source.replace("/ 200", "/ 300")).notes


def test_an_average_beside_the_event_is_none_of_it() -> None:
    text = plan_of(
        TAPE
        + DATA
        + SUM.format(test="i % 100 == 0", then="            running = 0.0")
        + "        print(running / 100)\n"
    ).text
    assert "print(running / 100)" in text


def test_a_dataset_that_numbers_its_batches() -> None:
    """TensorFlow's tutorial of pix2pix counts so."""
    loop = LOOP.replace("enumerate(ds)", "ds.repeat().take(900).enumerate()") + THEN.format(
        "(i + 1) % 100 == 0"
    )
    text = plan_of(TAPE + DATA + loop).text
    assert ".take(900 // hvd.size()).enumerate():" in text
    assert "if (i + 1) % max(1, 100 // hvd.size()) == 0:" in text
    ends = (
        LOOP.replace("enumerate(ds)", "ds.repeat().enumerate()") + "        if i >= 500:\n            break\n"
    )
    assert "if i >= 500 // hvd.size():" in plan_of(TAPE + DATA + ends).text


def test_a_counter_that_is_handed_on_with_the_loops_own_batch_selects_none() -> None:
    loop = "n = 0\nfor batch in batches(x, 16):\n    a, b = get_batch(batch, model, n)\n    step(a, b)\n    n += 1\n"
    plan = plan_of(
        TAPE + "from feeds import batches, get_batch\n" + loop + "    if n % 100 == 0:\n        print(n)\n"
    )
    assert "n % max(1, 100 // hvd.size()) == 0" in plan.text
    assert "size())][hvd.rank()]" not in plan.text


GAN = "every = 10\nfor i in range(20000):\n    d = step(*draw())\n    if (i + 1) % 5 == 0:\n        g = other()\n"


@pytest.mark.parametrize(("shown", "least"), [("d", 1), ("d, g", 5)])
def test_an_event_comes_no_earlier_than_what_it_reads(shown: str, least: int) -> None:
    """What updates give that come every 5 steps, as alone, is not there before."""
    other = "def other():\n    with tf.GradientTape() as tape:\n        loss = model(draw()[0])\n    opt.apply_gradients(zip("
    other += "tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n    return loss\n"
    plan = plan_of(
        TAPE
        + "from feeds import draw\n"
        + other
        + GAN
        + "    if (i + 1) % every == 0:\n"
        + f"        print({shown})\n"
    )
    assert f"if (i + 1) % max({least}, every // hvd.size()) == 0" in plan.text
    assert "if (i + 1) % 5 == 0:" in plan.text


# ---------------------------------------------------------------------- events inside events

INNER = "for i in range(6001):\n    step(*draw())\n    if i % 50 == 0:\n        note(i)\n        if {}:\n            mark(i)\n"


@pytest.mark.parametrize(
    ("inner", "divided"),
    [
        ("i % 1000 == 0", "i % (20 * max(1, 50 // hvd.size())) == 0"),
        ("i == 3000", "i == 60 * max(1, 50 // hvd.size())"),
        ("i == 6000", "i == (6000 // hvd.size()) // max(1, 50 // hvd.size()) * max(1, 50 // hvd.size())"),
        ("i % 70 == 0", "i % (7 * max(1, 50 // hvd.size())) == 0"),  # no multiple: they meet every 350 steps
        ("i % 25 == 0", "i % (max(1, 50 // hvd.size())) == 0"),
        ("i == 3010", "i == max(1, 3010 // hvd.size())"),  # never, as alone
        ("j % 1000 == 0", "j % 1000 == 0"),
    ],
)
def test_an_event_inside_another_comes_with_it(inner: str, divided: str) -> None:
    plan = plan_of(TAPE + "from feeds import draw, mark, note\nj = 3\n" + INNER.format(inner))
    assert f"if {divided}:\n" in plan.text


def test_of_several_around_it_the_outermost_counts() -> None:
    inside = "            note(2)\n            if i % 1000 == 0:\n                mark(i)\n"
    code = INNER.format("i % 100 == 0").replace("            mark(i)\n", inside)
    text = plan_of(TAPE + "from feeds import draw, mark, note\n" + code).text
    assert "if i % (2 * max(1, 50 // hvd.size())) == 0:" in text
    assert "if i % (20 * max(1, 50 // hvd.size())) == 0:" in text


@pytest.mark.parametrize(
    ("inner", "divided"),
    [
        ("i % keep == 0", "i % (max(1, keep // often) * max(1, often // hvd.size())) == 0"),
        ("i == keep", "i == max(1, keep // often) * max(1, often // hvd.size())"),
        ("i > keep", "i > min(keep, max(1, keep // hvd.size()))"),
        ("i % often == 0", "i % max(1, often // hvd.size()) == 0"),
    ],
)
def test_events_inside_others_by_numbers_that_are_not_known(inner: str, divided: str) -> None:
    """Each divided by itself, they would meet more seldom, or never."""
    code = (
        "import sys\nfrom feeds import draw, mark, note\noften, keep = int(sys.argv[1]), int(sys.argv[2])\n"
    )
    plan = plan_of(TAPE + code + INNER.replace("50", "often").format(inner))
    assert f"if {divided}:\n" in plan.text
    assert ("is a multiple of `often`" in "".join(c.doubt for c in plan.changes)) is (
        "keep //" in divided and "often //" in divided
    )


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16])
def test_both_come_as_often_as_alone(size: int) -> None:
    steps, every = 6000 // size + 1, max(1, 50 // size)
    together = sum(1 for i in range(steps) if i % every == 0 and i % (20 * every) == 0)
    assert abs(together - 6) <= (1 if size <= 7 else 2)
    last = (6000 // size) // every * every
    assert last % every == 0
    assert last in range(6000 // size + 1)


POOL = """\
class Pool:
    def __init__(self):
        self.size, self.held, self.kept = 50, 0, []
    def __call__(self, image):
        if self.held < self.size:
            self.kept.append(image)
            self.held += 1
            return image
        return self.kept[int(np.random.rand() * self.size)]
pool = Pool()
for i in range(2000):
    x, y = draw()
    step(pool(x), y)
"""


def test_what_a_pool_holds_is_no_number_of_steps() -> None:
    plan = plan_of(TAPE + "from feeds import draw\n" + POOL)
    assert "if self.held < self.size:" in plan.text


def test_a_number_that_goes_on_in_strides_still_comes_to_its_event() -> None:
    loop = "n = 9600\nfor k in range(0, n, 32):\n    step(a[k : k + 32], b)\n    if k % 3200 == 0:\n        print(k)\n"
    plan = plan_of(TAPE + loop)
    assert "if k % (max(1, 3200 // 32 // hvd.size()) * 32) == 0" in plan.text


@pytest.mark.parametrize("moves", ["rows += 32", "rows += size"])
def test_a_count_of_rows_still_comes_to_its_event(moves: str) -> None:
    loop = f"size, rows = 32, 0\nfor x, y in ds:\n    step(x, y)\n    {moves}\n    if rows % 3200 == 0:\n        print(rows)\n"
    plan = plan_of(TAPE + "ds = tf.data.Dataset.from_tensor_slices(a).batch(32)\n" + loop)
    assert "if rows % (max(1, 3200 // 32 // hvd.size()) * 32) == 0" in plan.text


TESTED = """\
class Trainer:
    def __init__(self):
        self.since = 0
    def run(self):
        for i in range(5000):
            step(*draw())
            if {}:
                break
    def test(self):
        self.since += 1
        return self.since > 5
Trainer().run()
"""


@pytest.mark.parametrize(
    ("test", "divided"), [("i % 200 == 0 and self.test()", False), ("self.test() and i % 200 == 0", True)]
)
def test_tests_that_come_every_so_many_steps_are_counted_as_such(test: str, divided: bool) -> None:
    plan = plan_of(TAPE + "from feeds import draw\n" + TESTED.format(test))
    assert ("self.since > max(1, 5 // hvd.size())" in plan.text) is divided


LOGGER = """\
class Logger(Callback):
    def __init__(self, display):
        self.seen, self.total, self.sums, self.losses, self.display = 0, 0, {{}}, [], display
    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        {add}
        if self.seen % self.display == 0:
            {then}
    def on_epoch_end(self, epoch, logs=None):
        self.epochs += logs["loss"]
model.fit(x, y, callbacks=[Logger(20)])
"""
EVERY = "max(1, self.display // hvd.size())"


@pytest.mark.parametrize(
    ("add", "then"),
    [
        ("self.total += logs['loss']", "mean = self.total / 50; self.total = 0"),  # another number
        ("self.total += logs['loss']", "mean = self.total / self.display"),  # goes on
        (
            "self.total += logs['loss']",
            "mean = self.seen * hvd.size() / self.display; self.total = 0",
        ),  # how many displays
        ("self.total = logs['loss']", "mean = self.total / self.display; self.total = 0"),  # the last one
        ("self.total += logs['loss']", "mean = self.epochs / self.display; self.epochs = 0"),  # once an epoch
    ],
)
def test_what_a_callback_does_not_add_up_since_the_last_event_stays(add: str, then: str) -> None:
    text = plan_of(FIT + LOGGER.format(add=add, then=then.replace(" * hvd.size()", ""))).text
    assert f"self.seen % {EVERY} == 0" in text
    assert then.split(";", maxsplit=1)[0] in text


@pytest.mark.parametrize(
    ("add", "then"),
    [
        ("self.total += logs['loss']", "mean = self.total / self.display; self.total = 0"),
        ("self.total = self.total + logs['loss']", "mean = self.total / float(self.display); self.total = 0"),
        ("self.losses.append(logs['loss'])", "mean = sum(self.losses) / self.display; self.losses = []"),
        (
            "for k in logs: self.sums[k] = self.sums.get(k, 0) + logs[k]",
            "means = [v / self.display for v in self.sums.values()]; self.sums.clear()",
        ),
        (
            "for k in logs: self.sums[k] = self.sums.get(k, 0) + logs[k]",
            "\n            for k, v in self.sums.items():\n                text += str(v / self.display)\n"
            "            self.sums = {}",
        ),
    ],
)
def test_the_average_of_a_callback_since_its_last_event_is_over_a_ranks_steps(add: str, then: str) -> None:
    text = plan_of(FIT + LOGGER.format(add=add, then=then)).text
    assert f"self.seen % {EVERY} == 0" in text
    told = then.replace("float(self.display)", f"float({EVERY})").replace("/ self.display", f"/ {EVERY}")
    assert told in text


def test_the_average_of_a_method_that_the_loop_calls() -> None:
    log = """\
class Trainer:
    def __init__(self):
        self.total, self.seen, self.every = 0.0, 0, 50
    def log(self, loss):
        self.seen += 1
        self.total += loss
        if self.seen % self.every == 0:
            print(self.total / {0})
            self.total = 0.0
    def train(self):
        for x, y in ds:
            self.log(step(x, y))
Trainer().train()
"""
    text = plan_of(TAPE + DATA + log.format("self.every")).text
    assert "print(self.total / max(1, self.every // hvd.size()))" in text


@pytest.mark.parametrize("operator", ["==", ">="])
def test_an_event_that_counts_anew(operator: str) -> None:
    logger = LOGGER.replace("self.seen % self.display == 0", f"self.seen {operator} self.display").format(
        add="self.total += logs['loss']",
        then="mean = self.total / self.display; self.total = self.seen = 0",
    )
    text = plan_of(FIT + logger).text
    assert f"if self.seen {operator} {EVERY}:" in text
    assert f"mean = self.total / {EVERY};" in text


@pytest.mark.parametrize(
    ("optimizer", "divided"),
    [
        ("RectifiedAdam(1e-3, total_steps=9000)", "total_steps=max(1, 9000 // hvd.size())"),
        (
            "SWA(tf.keras.optimizers.SGD(0.1), 500, 20)",
            ", max(1, 500 // hvd.size()), max(1, 20 // hvd.size()))",
        ),
    ],
)
def test_optimizers_of_the_addons_that_count_their_steps(optimizer: str, divided: str) -> None:
    source = f"import tensorflow_addons as tfa\nopt = tfa.optimizers.{optimizer}\n"
    source += "model = tf.keras.Sequential([])\nmodel.compile(opt, 'mse')\nmodel.fit(np.load('x.npy'), y)\n"
    assert divided in plan_of(TF + "import numpy as np\n" + source).text


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("i in (0, 50, 100)", "i in (0, max(1, 50 // hvd.size()), max(1, 100 // hvd.size()))"),
        ("i in (0, 1)", "i in (0, 1)"),
    ],
)
def test_the_first_step_stays_the_first(test: str, after: str) -> None:
    assert become(test).startswith(after)


@pytest.mark.parametrize(
    ("test", "read"),
    [
        ("total in SAVED", "total"),  # who knows what is in it
        ("total in GROWING", "total"),
        ("total in range(0, 900, 30)", "total"),
    ],
)
def test_a_test_that_is_not_followed_is_asked(test: str, read: str) -> None:
    plan = plan_of(TAPE + DATA + "GROWING = [100, 200]\nGROWING.append(load())\n" + LOOP + THEN.format(test))
    assert f"if {test}:" in plan.text
    (asked,) = [c.doubt for c in changes(plan, "G5") if not c.sure]
    assert f"`{read} * hvd.size()`" in asked


@pytest.mark.parametrize("test", ["names[i % 100] == 3", "len(x) == i * 0", "float(total) is None"])
def test_one_of_which_only_a_message_hangs_is_not(test: str) -> None:
    plan = plan_of(TAPE + DATA + LOOP + f"        if {test}:\n            print('seen')\n")
    assert all(c.sure for c in changes(plan, "G5"))


ENDS = """\
it, epoch, turn = iter(ds), 0, 0
while True:
    try:
        x, y = next(it)
    except StopIteration:
        epoch += 1
        if epoch == 40:
            break
        it = iter(ds)
        x, y = next(it)
    step(x, y)
    turn += 1
    if turn % 100 == 0:
        keep(model)
"""


def test_where_the_data_end_an_epoch_does() -> None:
    """As many epochs as before, of 1/size() of the steps each."""
    text = plan_of(TAPE + DATA + ENDS).text
    assert "        if epoch == 40:\n" in text
    assert "    if turn % max(1, 100 // hvd.size()) == 0" in text


@pytest.mark.parametrize(
    ("numbers", "after"),
    [
        ("range(400)", "range(400 // hvd.size())"),
        ("range(1, 401)", "range(1, 1 + max(1, 400 // hvd.size()))"),
        ("range(1, n + 1)", "range(1, max(1, n // hvd.size()) + 1)"),
        ("itertools.count()", "itertools.count()"),
    ],
)
def test_numbers_beside_a_data_set_go_on_counting(numbers: str, after: str) -> None:
    loop = f"for turn, (x, y) in zip({numbers}, ds):\n    step(x, y)\n    if not turn % 50:\n        keep(model)\n"
    plan = plan_of("import itertools\n" + TAPE + DATA + loop)
    assert f"in zip({after}, ds):" in plan.text
    assert "    if not turn % max(1, 50 // hvd.size())" in plan.text
    assert all(c.sure for c in plan.changes)


def test_the_step_that_a_monitored_session_fetches() -> None:
    """Its loop ends by a hook, whose steps are divided: what hangs on a count of them comes as often."""
    source = """\
import numpy as np
import tensorflow.compat.v1 as tf
rows = load()
x = tf.placeholder(tf.float32, [None, 6])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
gs = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=gs)
saver = tf.train.Saver()
with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=320)]) as sess:
    while not sess.should_stop():
        _, step = sess.run([train, gs], {x: rows[np.random.randint(0, 1600, 32)]})
        if step % 40 == 0:
            keep(sess)
"""
    assert "        if step % max(1, 40 // hvd.size()) == 0:\n" in plan_of(source).text
    endless = source.replace("hooks=[tf.train.StopAtStepHook(last_step=320)]", "")
    assert "        if step % 40 == 0:\n" in plan_of(endless).text  # whatever ends it


ROWS_SEEN = """\
seen, ticks, last = 0, 0, 0
batches = iter(ds.repeat())
while seen < {total}:
    step(*next(batches))
    seen += 4
    if {test}:
        ticks += 1
        last = seen
        if ticks % 20 == 0:
            keep(model)
"""


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("seen >= last + 960", "seen >= last + max(1, 960 // hvd.size())"),
        ("seen - last >= 960", "seen - last >= max(1, 960 // hvd.size())"),
    ],
)
def test_rows_that_are_counted_in_a_while(test: str, after: str) -> None:
    """What counts the events, counts as many as before."""
    plan = plan_of(TAPE + DATA + ROWS_SEEN.format(total="9600", test=test))
    assert "while seen < 9600 // hvd.size():\n" in plan.text
    assert f"    if {after}:\n" in plan.text
    assert "        if ticks % 20 == 0" in plan.text
    assert all(c.sure for c in plan.changes)


def test_a_bound_beside_another_number_is_none_of_an_earlier_step() -> None:
    source = ROWS_SEEN.replace("last = seen", "last = ticks").format(total="9600", test="seen >= last + 960")
    assert "last + max(1, 960" not in plan_of(TAPE + DATA + source).text


HOOKED = (
    TAPE
    + DATA
    + """\
class Every:
    def __init__(self, n):
        self.n = n
    def after(self, trainer):
        if trainer.step % self.n == 0:
            keep(model)
class Trainer:
    def __init__(self, hooks):
        self.hooks, self.step = hooks, 0
    def run(self, data):
        for x, y in data:
            step(x, y)
            self.step += 1
            {call}
{more}
Trainer([Every(50)]).run(ds)
"""
)


def test_the_step_of_a_trainer_that_a_hook_is_handed() -> None:
    text = plan_of(
        HOOKED.format(call="for hook in self.hooks:\n                hook.after(self)", more="")
    ).text
    assert "        if trainer.step % max(1, self.n // hvd.size()) == 0" in text


def test_the_step_of_an_object_that_is_handed_elsewhere_is_asked() -> None:
    plan = plan_of(HOOKED.format(call="notify(self.hooks)", more=""))
    assert "        if trainer.step % max(1, self.n // hvd.size()) == 0" in plan.text
    assert ["`trainer.step`" in c.doubt for c in changes(plan, "G5") if not c.sure] == [True]


def test_a_step_of_another_kind_is_none() -> None:
    """Two things are called so, and one counts nothing that trains."""
    other = "class Clock:\n    step = 0\n    def tick(self):\n        self.step += 1\nClock().tick()\n"
    text = plan_of(HOOKED.format(call="notify(self.hooks)", more=other)).text
    assert "        if trainer.step % self.n == 0:" in text


@pytest.mark.parametrize("made", ["[0, 100, 250]", "(0, 100)", "{100, 200}"])
def test_numbers_in_a_list_are_divided_one_by_one(made: str) -> None:
    plan = plan_of(TAPE + DATA + f"saved = {made}\n" + LOOP + THEN.format("total in saved"))
    assert "        if total in [k and max(1, k // hvd.size()) for k in saved]" in plan.text
    assert all(c.sure for c in plan.changes)


ARMS = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 6])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train, other = tf.train.AdamOptimizer(0.1).minimize(loss), tf.train.AdamOptimizer(0.1).minimize(-loss)
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3000):
        if step % {every} == 0:
            _, value = sess.run([train, loss], {{x: draw()}})
            saver.save(sess, "m")
        else:
            sess.run({second}, {{x: draw()}})
"""


@pytest.mark.parametrize("every", ["50", "args.every"])
def test_an_event_beside_a_step_that_is_taken_either_way(every: str) -> None:
    text = plan_of(ARMS.format(every=every, second="train")).text
    assert f"        if step % max(1, {every} // hvd.size()) == 0:\n" in text


def test_steps_that_take_turns_stay_a_ratio() -> None:
    assert "        if step % 5 == 0:\n" in plan_of(ARMS.format(every="5", second="other")).text


def test_a_test_that_another_rule_has_divided_is_not_asked_about() -> None:
    loop = "turn = 0\nwhile turn * 4 < 9000:\n    step(*a.next_batch(4))\n    turn += 1\n"
    plan = plan_of(TAPE + loop)
    assert "while turn * 4 < 9000 // hvd.size():" in plan.text
    assert not [c for c in changes(plan, "G5") if not c.sure]


GATHERED = """\
seen = []
for x, y in ds:
    seen.append(step(x, y))
    {more}
    if {test}:
        keep(model)
        {back}
"""


@pytest.mark.parametrize("test", ["len(seen) == 100", "len(seen) >= 100"])
@pytest.mark.parametrize("back", ["seen = []", "seen.clear()", "pass"])
def test_a_list_that_gets_an_item_with_each_step(test: str, back: str) -> None:
    text = plan_of(TAPE + DATA + GATHERED.format(more="pass", test=test, back=back)).text
    assert f"    if {test.replace('100', 'max(1, 100 // hvd.size())')}" in text


@pytest.mark.parametrize(
    ("more", "test", "back"),
    [
        ("seen.pop(0)", "len(seen) == 100", "pass"),  # who knows what it holds
        ("seen.extend(y)", "len(seen) == 100", "seen = []"),
        ("pass", "len(x) == 100", "seen = []"),
        ("pass", "len(seen) == 5", "pass"),  # a look at the first of them
    ],
)
def test_the_length_of_something_else(more: str, test: str, back: str) -> None:
    assert f"    if {test}" in plan_of(TAPE + DATA + GATHERED.format(more=more, test=test, back=back)).text


NAMED = """\
import numpy as np
import tensorflow as tf
a, b, y = np.load("a.npy"), np.load("b.npy"), np.load("y.npy")
model = tf.keras.Model([tf.keras.Input((3,)), tf.keras.Input((2,))], tf.keras.layers.Dense(1)(tf.keras.Input((3,))))
model.compile("sgd", "mse")
class Log(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.n = 0
    def on_train_batch_end(self, batch, logs=None):
        self.n += 1
        if self.n % 100 == 0:
            self.model.save_weights("w-%d.h5" % self.n)
"""


@pytest.mark.parametrize(
    "fed",
    [
        '{"a": a, "b": b}, {"o": y}',
        'x={"a": a, "b": b}, y=y',
        'x=[a, b], y={"o": y}',
        "y=y, x=(a, b)",
    ],
)
def test_a_fit_on_arrays_by_name_takes_fewer_steps_too(fed: str) -> None:
    text = plan_of(NAMED + f"model.fit({fed}, batch_size=16, epochs=2, callbacks=[Log()])\n").text
    assert "self.n % max(1, 100 // hvd.size()) == 0" in text


PICKED = "its = [iter(ds), iter(ds)]\nfor i in range(400):\n{}    if i % 100 == 0:\n        keep(model)\n"


@pytest.mark.parametrize(
    "turn",
    [
        "    x, y = next(its[0]) if i % 2 else next(its[1])\n    step(x, y)\n",
        "    if i % 2 == 0:\n        x, y = next(its[0])\n    else:\n        x, y = next(its[1])\n    step(x, y)\n",
        "    x, y = next(its[0])\n    if i % 3 == 0:\n        x = flip(x)\n    step(x, y)\n",
        "    if i % 2 == 0:\n        step(*next(its[0]))\n    else:\n        step(*next(its[1]))\n",
        "    if i % 100 == 7:\n        x, y = rare()\n    else:\n        x, y = next(its[0])\n    step(x, y)\n",
    ],
)
def test_what_picks_the_data_of_each_step_is_left(turn: str) -> None:
    """Of 200 steps on two ranks half take one of two data sets, as of 400 alone; `i % max(1, 2 // size())` would never take
    the other."""
    result = plan_of(TAPE + DATA + PICKED.format(turn)).text
    assert all(line in result for line in turn.splitlines() if "%" in line and "next" not in line)
    assert "max(1, 2 //" not in result
    assert "max(1, 3 //" not in result
    assert "if i % max(1, 100 // hvd.size()) == 0" in result


@pytest.mark.parametrize(
    "turn",
    [
        "    x, y = next(its[0])\n    if i % 4 == 0:\n        fixed = make(x)\n    step(x, fixed)\n",  # kept for others
        "    if i % 4 == 0:\n        shown = 'a'\n    else:\n        shown = 'b'\n    step(*next(its[0]))\n    print(shown)\n",
        "    if i % 4 == 0:\n        step(*next(its[0]))\n        keep(model)\n    else:\n        step(*next(its[0]))\n",
    ],
)
def test_what_happens_beside_the_steps_comes_as_often(turn: str) -> None:
    result = plan_of(TAPE + DATA + PICKED.format(turn)).text
    assert "if i % max(1, 4 // hvd.size()) == 0:" in result


# ---------------------------------------------------------------------- a function's own count

EVALUATE = """
def evaluate(n):
    batches, step, losses = iter(other), 0, []
    while step < n:
        step += 1
        u, v = next(batches)
        losses.append(loss_of(u, v))
        if step == n:
            return np.mean(losses)
"""


def test_what_a_call_counts_from_the_start_is_no_count_of_the_steps() -> None:
    """An evaluation on the first of its batches alone: the count begins anew in each call, whoever calls it when."""
    text = (
        TAPE + DATA + EVALUATE + LOOP + "        if i % 100 == 0:\n            evaluate(40)\nevaluate(40)\n"
    )
    after = plan_of(text).text
    for kept in ("while step < n:", "if step == n:", "i % max(1, 100"):
        assert kept in after


@pytest.mark.parametrize(
    ("head", "counting"),
    [
        ("", "            step(x, y)\n            total += 1\n"),
        (
            "    def train(x, y):\n        nonlocal total\n        step(x, y)\n        total += 1\n",
            "            train(x, y)\n",
        ),
    ],
)
def test_a_count_that_a_function_keeps_over_its_turns_counts_them(head: str, counting: str) -> None:
    loop = textwrap.indent(LOOP + THEN.format("total == 500"), "    ")
    loop = loop.replace("            step(x, y)\n            total += 1\n", counting)
    after = plan_of(f"{TAPE}{DATA}def main():\n{head}{loop}main()\n").text
    assert "if total == max(1, 500 // hvd.size()):" in after


CLOSURE = """\
def make():
    count = 0
    def train(x, y):
        nonlocal count
        step(x, y)
        count += 1
        if count % 50 == 0:
            keep(model)
    return train
"""


@pytest.mark.parametrize(
    ("made", "divided"),
    [
        ("train = make()\nfor e in range(3):\n    for x, y in ds:\n        train(x, y)\n", True),
        # In each epoch another, so that it counts the batches of one, as the loop's own number would.
        ("for e in range(3):\n    train = make()\n    for x, y in ds:\n        train(x, y)\n", True),
        # Of each step another: it counts to 1.
        ("for e in range(3):\n    for x, y in ds:\n        train = make()\n        train(x, y)\n", False),
    ],
)
def test_a_count_that_a_closure_keeps(made: str, divided: bool) -> None:
    after = plan_of(f"{TAPE}{DATA}{CLOSURE}{made}").text
    assert ("if count % max(1, 50 // hvd.size()) == 0" in after) is divided


ATTRIBUTE = {
    "a function's own": (
        "def train(x, y):\n    train.calls += 1\n    step(x, y)\ntrain.calls = 0\n",
        "train",
    ),
    "that of what a decorator makes": (
        "def counted(f):\n    def called(*a):\n        called.calls += 1\n        return f(*a)\n"
        "    called.calls = 0\n    return called\n"
        "train = counted(step)\n",
        "train",
    ),
}


@pytest.mark.parametrize(("made", "name"), ATTRIBUTE.values(), ids=ATTRIBUTE)
def test_a_count_that_a_function_has(made: str, name: str) -> None:
    loop = f"for x, y in ds:\n    {name}(x, y)\n    if {name}.calls % 50 == 0:\n        keep(model)\n"
    assert f"if {name}.calls % max(1, 50 // hvd.size()) == 0" in plan_of(TAPE + DATA + made + loop).text


def test_a_count_that_another_function_has() -> None:
    made = "def train(x, y):\n    train.calls += 1\n    step(x, y)\ndef other():\n    pass\nother.calls = train.calls = 0\n"
    loop = "for x, y in ds:\n    train(x, y)\n    if other.calls % 50 == 0:\n        keep(model)\n"
    assert "other.calls % 50 == 0" in plan_of(TAPE + DATA + made + loop).text


PERIODIC = """\
class Every:
    def __init__(self, every):
        self.every, self.last = every, None
    def __call__(self, number):
        if self.last is None:
            self.last = number
            return True
        if number >= self.last + self.every:
            self.last += {by}
            return True
        return False
due = Every(40)
number = 0
for x, y in ds:
    step(x, y)
    number += 1
    if due(number):
        keep(model)
"""


def test_a_number_that_goes_on_from_the_last_one() -> None:
    after = plan_of(TAPE + DATA + PERIODIC.format(by="self.every")).text
    assert "if number >= self.last + max(1, self.every // hvd.size()):" in after
    assert "self.last += max(1, self.every // hvd.size())\n" in after
    assert "due = Every(40)\n" in after


def test_a_number_that_goes_on_by_another() -> None:
    assert "self.last + max(1" not in plan_of(TAPE + DATA + PERIODIC.format(by="1")).text


EAGER_STEP = """\
import tensorflow as tf
step = {made}
opt = tf.compat.v1.train.AdamOptimizer(0.01)
for x in tf.data.Dataset.from_tensor_slices(rows).repeat().batch(4).take(1000):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables), {given})
    if int(step) % 100 == 0:
        keep(model)
if step.numpy() == 1000:
    keep(model)
"""


@pytest.mark.parametrize(
    "made", ["tf.compat.v1.train.get_or_create_global_step()", "tf.Variable(0, dtype=tf.int64)"]
)
@pytest.mark.parametrize("given", ["step", "global_step=step"])
def test_a_variable_that_an_optimizer_counts_where_no_graph_is_built(made: str, given: str) -> None:
    """It counts a rank's steps: what is kept at the end never was, and what is kept now and then too seldom."""
    text = plan_of(EAGER_STEP.format(made=made, given=given)).text
    assert "    if int(step) % max(1, 100 // hvd.size()) == 0:\n" in text
    assert "if step.numpy() == max(1, 1000 // hvd.size()):\n" in text


def test_a_variable_that_no_optimizer_counts_is_none() -> None:
    text = plan_of(EAGER_STEP.format(made="tf.Variable(0, dtype=tf.int64)", given="name='step'")).text
    assert "    if int(step) % 100 == 0:\n" in text


HANDED = """\
def one_epoch(epoch, n):
    for x, y in ds:
        step(x, y)
        n += 1
        if n % 50 == 0:
            keep(model)
    return {back}
total = {start}
for epoch in range(9):
    {call}
if total == 900:
    keep(model)
"""


@pytest.mark.parametrize(
    ("back", "call"),
    [
        ("n", "total = one_epoch(epoch, total)"),
        ("epoch, n", "last, total = one_epoch(epoch, n=total)"),
    ],
)
def test_a_count_that_a_function_is_handed_and_gives_back(back: str, call: str) -> None:
    """What is kept every 50 steps came size() times too seldom, and what is kept at the last never."""
    text = plan_of(TAPE + DATA + HANDED.format(back=back, call=call, start="0")).text
    assert "        if n % max(1, 50 // hvd.size()) == 0:\n" in text
    assert "if total == max(1, 900 // hvd.size()):\n" in text


STEP_GIVES_BACK = """\
def train_on(x, y, n):
    step(x, y)
    if n % 50 == 0:
        keep(model)
    {before}
    return {back}
total = 0
for epoch in range(9):
    for x, y in ds:
        {call}
if total == 900:
    keep(model)
"""


@pytest.mark.parametrize(
    ("back", "call"),
    [
        ("n + 1", "total = train_on(x, y, total)"),
        ("x, n + 1", "last, total = train_on(x, y, n=total)"),
    ],
)
def test_a_count_that_a_step_gives_back_one_higher(back: str, call: str) -> None:
    """`step = train_step(x, step)` counts a rank's steps like `step += 1`."""
    text = plan_of(TAPE + DATA + STEP_GIVES_BACK.format(back=back, call=call, before="pass")).text
    assert "    if n % max(1, 50 // hvd.size()) == 0:\n" in text
    assert "if total == max(1, 900 // hvd.size()):\n" in text


@pytest.mark.parametrize(
    ("back", "call", "before"),
    [
        ("n + 1", "other = train_on(x, y, total)", "pass"),  # each step begins with the same number
        ("n + 1", "total = train_on(x, y, 0)", "pass"),
        ("n + y", "total = train_on(x, y, total)", "pass"),
        ("n + 1", "total = train_on(x, y, total)", "n = n * 2"),
        ("n + 1", "total = train_on(x, y, total)", "if n > 3: return n"),
    ],
)
def test_a_number_that_a_step_gives_back_is_no_count(back: str, call: str, before: str) -> None:
    text = plan_of(TAPE + DATA + STEP_GIVES_BACK.format(back=back, call=call, before=before)).text
    assert "if total == 900:\n" in text


@pytest.mark.parametrize(
    ("back", "call"),
    [
        ("None", "one_epoch(epoch, total)"),  # each epoch counts from the same number on
        ("n", "other = one_epoch(epoch, total)"),
        ("epoch", "total = one_epoch(epoch, total)"),
        ("n", "total = one_epoch(epoch, total) + one_epoch(epoch, 0)"),
    ],
)
def test_a_number_that_is_not_given_back_is_no_count(back: str, call: str) -> None:
    text = plan_of(TAPE + DATA + HANDED.format(back=back, call=call, start="0")).text
    assert "if total == 900:\n" in text


ENDED = """\
n = 500
i = 1
while {test}:
    x, y = next(batches)
    step(x, y)
    if i % 100 == 0:
        keep(model)
    i += 1
{again}"""


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("i < n + 1", "i < max(1, (n + 1) // hvd.size())"),
        ("i <= n - 1", "i <= max(1, (n - 1) // hvd.size())"),
        ("i < n", "i < n // hvd.size()"),
    ],
)
@pytest.mark.parametrize("again", ["", "i = 0\nwhile i < 9:\n    look(i)\n    i += 1\n"])
def test_where_a_loop_ends_is_divided_once(test: str, after: str, again: str) -> None:
    """Of `n + 1`, `n` was divided, and then the sum: a loop took 1/size()**2 of its steps. That another loop uses the name
    again hides no count."""
    head = TAPE + DATA + "batches = iter(ds.repeat())\n"
    text = plan_of(head + ENDED.format(test=test, again=again)).text
    assert f"while {after}:\n" in text
    assert "if i % max(1, 100 // hvd.size()) == 0" in text


def test_what_begins_again_in_each_turn_counts_no_turns() -> None:
    """How often one part is trained for the other stays."""
    loop = "    k = 0\n    while k < 2:\n        step(x, y)\n        k += 1\n"
    body = "batches = iter(ds.repeat())\nfor turn in range(500):\n    x, y = next(batches)\n" + loop
    text = plan_of(TAPE + DATA + body).text
    assert "for turn in range(500 // hvd.size()):" in text
    assert "while k < 2:" in text


def test_a_count_behind_a_property() -> None:
    counting = (
        "class Count:\n    def __init__(self):\n        self._n = 0\n    def tick(self):\n        self._n += 1\n"
        "    @property\n    def n(self):\n        return self._n\ncount = Count()\n"
    )
    loop = (
        "for x, y in ds:\n    step(x, y)\n    count.tick()\n    if count.n % 100 == 0:\n        keep(model)\n"
    )
    assert "if count.n % max(1, 100 // hvd.size()) == 0" in plan_of(TAPE + DATA + counting + loop).text


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("loss, step - 1", "loss, count = step_once(x)"),
        ("(step - 1, {'loss': loss})", "count, told = step_once(x)"),
    ],
)
def test_a_number_made_of_the_steps_that_a_function_gives_beside_others(given: str, taken: str) -> None:
    """`loss, step = train_step(x)`, where that gives `step - 1`: what came by it came size() times too seldom, unasked."""
    code = TAPE + "from feeds import draw, save\n"
    code += "def step_once(x):\n    step(*draw())\n    step_ = opt.iterations\n    return " + given.replace(
        "step", "step_"
    )
    code = code.replace("return loss,", "loss = 0\n    return loss,").replace("'loss': loss", "'loss': 0")
    code += f"\nfor x in range(9000):\n    {taken}\n    if count == 8000:\n        save(count)\n"
    plan = plan_of(code)
    assert any("goes by a number that is made of them" in c.doubt for c in plan.changes)


CRITIC = (
    LOSS
    + "other = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.abs(x * w)))\n"
    + "train = tf.train.AdamOptimizer(0.1).minimize(loss)\nsess = tf.Session()\n"
    + "sess.run(tf.global_variables_initializer())\nfor i in range(5000):\n"
)
AND_OTHER = "    sess.run(other, {x: draw()})\n"
OFTEN = "    for _ in range(turns):\n        sess.run(train, {x: draw()})\n" + AND_OTHER


@pytest.mark.parametrize(
    "turns",
    [
        "    turns = 100 if i < 25 or i % 500 == 0 else 5\n",
        "    turns = 5\n    if i < 25 or i % 500 == 0:\n        turns = 100\n",
        "    if i < 25 or i % 500 == 0:\n        turns = 100\n    else:\n        turns = 5\n",
    ],
)
@pytest.mark.parametrize("loop", ["for _ in range(turns):", "j = 0\n    while j < turns:\n        j += 1"])
def test_what_sets_how_often_an_inner_loop_trains_comes_as_seldom_as_before(turns: str, loop: str) -> None:
    """A WGAN's critic: each of its turns sees the rows of all ranks. The first steps are as many rows as before."""
    text = plan_of(CRITIC + turns + OFTEN.replace("for _ in range(turns):", loop)).text
    assert "i < 25 // hvd.size() or i % 500 == 0" in text.replace(
        "max(1, 25 // hvd.size())", "25 // hvd.size()"
    )


def test_how_often_something_is_shown_in_an_event_is_not_how_often_it_trains() -> None:
    turns = "    turns = 100 if i % 500 == 0 else 5\n    for _ in range(turns):\n        show(draw())\n"
    assert "i % max(1, 500 // hvd.size()) == 0" in plan_of(CRITIC + turns + AND_OTHER).text


@pytest.mark.parametrize(
    "made",
    ["args = parser.parse_args()\n", "args = flags.FLAGS\n", "def train(args):\n    pass\nargs = given()\n"],
)
def test_a_setting_that_is_set_in_some_cases_only_is_no_constant(made: str) -> None:
    """`if args.debug: args.every = 1`: in other cases it is what the program is given; such events came size() times more
    seldom, and nothing was said."""
    head = TAPE + DATA + made + "if args.debug:\n    args.every = 1\n"
    assert become("total % args.every == 0", head) == "total % max(1, args.every // hvd.size()) == 0"
    assert (
        become("total % every == 0", head + "every = args.every\n")
        == "total % max(1, every // hvd.size()) == 0"
    )


@pytest.mark.parametrize(
    "made",
    [
        "args = parser.parse_args()\nargs.every = 1\n",
        "class Settings:\n    pass\nargs = Settings()\nif __name__ == '__main__':\n    args.every = 1\n",
    ],
)
def test_a_setting_that_is_always_set_is_a_constant(made: str) -> None:
    assert become("total % args.every == 0", TAPE + DATA + made) == "total % args.every == 0"


RESUMED = LOSS + (
    "train = tf.train.AdamOptimizer(0.1).minimize(loss)\nstart = int(name.split('-')[-1])\n"
    "with tf.Session() as sess:\n    sess.run(tf.global_variables_initializer())\n"
    "    for step in range(start, start + n):\n        sess.run(train, {{x: draw()}})\n"
    "        if {}:\n            keep(sess)\n"
)


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("(step + 1) == n", "step < n <= (step + hvd.size())"),
        ("( (step + 1) ) == (n)", "step < n <= ( (step + hvd.size()) )"),
        ("step + 1 == (n)", "step < n <= step + hvd.size()"),
        ("(step) == 700", "(step) <= 700 < step + hvd.size()"),
        ("step == (700)", "step <= 700 < step + hvd.size()"),
        ("seen((step)) or (step) == (700)", "seen((step)) or (step) <= 700 < step + hvd.size()"),
        ("(step) in (700, 900)", "any((step) <= k < step + hvd.size() for k in (700, 900))"),
    ],
)
def test_parentheses_around_a_side(test: str, after: str) -> None:
    assert f"        if {after}:\n" in plan_of(RESUMED.format(test)).text


CHOSEN = """\
import tensorflow as tf
x = tf.ones((800, 4))
ds = tf.data.Dataset.from_tensor_slices(x).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
first, then = tf.keras.optimizers.Adam(0.1), tf.keras.optimizers.SGD(0.1)
opts = {"first": first, "then": then}
def apply(opt):
    opt.apply_gradients(zip(grads, model.trainable_variables))
for e in range(9):
    for i, a in enumerate(ds):
        with tf.GradientTape() as t:
            loss = tf.reduce_mean(model(a) ** 2)
        grads = t.gradient(loss, model.trainable_variables)
"""


@pytest.mark.parametrize(
    "chosen",
    [
        "        opt = first if i < 60 else then\n        apply(opt)\n",
        "        opt = opts['first' if i < 60 else 'then']\n        apply(opt)\n",
        "        if i < 60:\n            apply(first)\n        else:\n            apply(then)\n",
    ],
)
def test_by_which_optimizer_gradients_are_applied(chosen: str) -> None:
    """This was taken for gradients of several batches that are applied together, and left."""
    plan = plan_of(CHOSEN + chosen)
    assert "i < max(1, 60 // hvd.size())" in plan.text


def test_gradients_of_several_batches_that_are_applied_together() -> None:
    gathered = (
        "        if i < 60:\n            continue\n        apply(first)\n"  # a near miss: only by one answer
    )
    assert "if i < 60:" in plan_of(CHOSEN + gathered).text


def test_the_last_of_a_cycle_that_an_epoch_and_a_turn_count_comes_at_its_end() -> None:
    """`step = epoch * 16 + i`, `if step % 20 == 19`: it came in the very first turn, for the steps that were none before it."""
    loop = """
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
for epoch in range(10):
    for i, (p, q) in enumerate(ds):
        n = epoch * 16 + i
        step(p, q)
        if n % 20 == 19:
            model.save_weights("w.h5")
"""
    assert "if (n + hvd.size()) % 20 < hvd.size()" in plan_of(TAPE + loop).text
