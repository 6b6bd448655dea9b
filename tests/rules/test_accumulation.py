"""Gradient accumulation: gradients that wait in variables until an optimizer applies them."""

from __future__ import annotations

import textwrap

import pytest

from .pairs import TF, changes, plan_of, refused

HEAD = TF + "model = tf.keras.Sequential([])\nopt = tf.keras.optimizers.SGD(0.1)\n"
LISTED = "waiting = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]\n"
PROGRAM = """\
def accumulate(x):
    with tf.GradientTape() as tape:
        loss = model(x)
    gradients = tape.gradient(loss, model.trainable_variables)
{gather}
def apply():
    opt.apply_gradients(zip({waiting}, model.trainable_variables))
    for a in waiting:
        a.assign(tf.zeros_like(a))
for i, x in enumerate(data):
    accumulate(x)
    if i % 4 == 3:
        apply()
"""


@pytest.mark.parametrize(
    ("gather", "waiting"),
    [
        ("    for a, g in zip(waiting, gradients):\n        a.assign_add(g)", "waiting"),
        ("    for a, g in zip(waiting, gradients):\n        a.assign(a + g / 4)", "waiting"),
        ("    for i in range(9):\n        waiting[i].assign_add(gradients[i])", "waiting"),
        (
            "    for i, g in enumerate(gradients):\n        waiting[i].assign_add(g / 4)",
            "[a / 4 for a in waiting]",
        ),
        (
            "    for a, g in zip(waiting, gradients):\n        a.assign_add(g)",
            "tf.clip_by_global_norm([a.read_value() for a in waiting], 5.0)[0]",
        ),
    ],
)
def test_the_tape_is_wrapped_whose_gradients_wait(gather: str, waiting: str) -> None:
    plan = plan_of(HEAD + LISTED + PROGRAM.format(gather=gather, waiting=waiting))
    assert "tape = hvd.DistributedGradientTape(tape)\n    gradients = " in plan.text
    assert len(changes(plan, "G1")) == 1
    assert (
        "        apply()\n        if first_batch:\n            hvd.broadcast_variables([*model.variables, *"
        in plan.text
    )


def test_in_an_object() -> None:
    source = """\
    import tensorflow as tf
    class Trainer:
        def __init__(self, model):
            self.model, self.opt = model, tf.keras.optimizers.SGD(0.1)
            self.waiting = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
        def accumulate(self, x):
            with tf.GradientTape() as tape:
                loss = self.model(x)
            for a, g in zip(self.waiting, tape.gradient(loss, self.model.trainable_variables)):
                a.assign_add(g)
        def fit(self, data):
            for x in data:
                self.accumulate(x)
                self.opt.apply_gradients(zip(self.waiting, self.model.trainable_variables))
    Trainer(tf.keras.Sequential([])).fit(data)
    """
    assert "tape = hvd.DistributedGradientTape(tape)" in plan_of(textwrap.dedent(source)).text


ADDER = """\
class Adder:
    def __init__(self):
        self._kept, self._steps = [], None
    @property
    def gradients(self):
        return list(k.value() for k in self._kept)
    def __call__(self, gradients):
        if not self._kept:
            {begin}
        for k, g in zip(self._kept, gradients):
            k.assign_add(g)
    def reset(self):
        for k in self._kept:
            k.assign(tf.zeros_like(k))
adder = Adder()
for i, x in enumerate(data):
    with tf.GradientTape() as tape:
        loss = model(x) / 4
    adder(tape.gradient(loss, model.trainable_variables))
    if i % 4 == 3:
        opt.apply_gradients(zip(adder.gradients, model.trainable_variables))
        adder.reset()
"""


@pytest.mark.parametrize(
    "begin",
    [
        "self._kept.extend([tf.Variable(tf.zeros_like(g), trainable=False) for g in gradients])",
        "for g in gradients:\n                self._kept.append(tf.Variable(tf.zeros_like(g), trainable=False))",
        "self._kept = [tf.Variable(tf.zeros_like(g), trainable=False) for g in gradients]",
    ],
)
def test_in_an_object_whose_list_is_filled_when_it_is_called(begin: str) -> None:
    plan = plan_of(HEAD + ADDER.format(begin=begin))
    assert "tape = hvd.DistributedGradientTape(tape)\n    adder(tape.gradient(" in plan.text
    assert "SGD(0.1 * hvd.size())" in plan.text


def test_weights_in_such_a_list_are_still_updated_by_hand() -> None:
    moved = "adder = Adder()\nadder._kept.append(model.w)\n".join(
        ADDER.format(begin="pass").split("adder = Adder()\n")
    ).replace("model.trainable_variables", "adder._kept")
    refused(HEAD + moved, "HVD202")


@pytest.mark.parametrize("made", ["params = [w]\n", "params = []\nparams.append(w)\n"])
def test_weights_that_are_updated_by_hand_are_no_accumulators(made: str) -> None:
    text = HEAD + "w = tf.Variable(0.0)\n" + made + (
        "for x in data:\n    with tf.GradientTape(persistent=True) as tape:\n        a, b = w * x, model(x)\n"
        "    w.assign(w - 0.1 * tape.gradient(a, params)[0])\n"
        "    opt.apply_gradients(zip(tape.gradient(b, model.trainable_variables), model.trainable_variables))\n"
    )  # fmt: skip
    refused(text, "HVD202", "updated by hand")


def test_gradients_that_are_gathered_and_never_applied_stay_refused() -> None:
    """Nobody knows what they are gathered for."""
    text = HEAD + LISTED + (
        "for x in data:\n    with tf.GradientTape() as tape:\n        loss = model(x)\n"
        "    gradients = tape.gradient(loss, model.trainable_variables)\n"
        "    for a, g in zip(waiting, gradients):\n        a.assign_add(g)\n"
        "    opt.apply_gradients(zip(gradients, model.trainable_variables))\n"
    )  # fmt: skip
    refused(text, "HVD202", "updated by hand")


IN_A_MODEL = (
    TF
    + """\
class Net(tf.keras.Model):
    def __init__(self, every):
        super().__init__()
        self.dense, self.every = tf.keras.layers.Dense(1), every
        self.turn = tf.Variable(0, trainable=False)
        self.dense.build((None, 4))
        self.waiting = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.dense.trainable_variables]
    def train_step(self, data):
        x, y = data
        self.turn.assign_add(1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.dense(x) - y) ** 2)
        for a, g in zip(self.waiting, tape.gradient(loss, self.dense.trainable_variables)):
            a.assign_add(g / self.every)
        tf.cond(tf.equal(self.turn % self.every, 0), self.update, lambda: None)
        return {"loss": loss}
    def update(self):
        self.optimizer.apply_gradients(zip(self.waiting, self.dense.trainable_variables))
        for a in self.waiting:
            a.assign(tf.zeros_like(a))
model = Net(4)
model.compile(tf.keras.optimizers.SGD(0.1))
model.fit(x, y, batch_size=16)
"""
)


def test_gradients_that_a_condition_of_tensorflow_applies() -> None:
    text = plan_of(IN_A_MODEL).text
    assert "        tape = hvd.DistributedGradientTape(tape)\n" in text
    assert "model.compile(tf.keras.optimizers.SGD(0.1 * hvd.size()))\n" in text
    assert "self.turn % self.every, 0)" in text


COUNTED = (
    HEAD
    + LISTED
    + """\
data = tf.data.Dataset.from_tensor_slices(load()).batch(8)
count = 0
for x in data:
    with tf.GradientTape() as tape:
        loss = model(x)
    gradients = tape.gradient(loss, model.trainable_variables)
    for a, g in zip(waiting, gradients):
        a.assign_add(g)
    count += 1
    {test}
        opt.apply_gradients(zip(waiting, model.trainable_variables))
        count = 0
        for a in waiting:
            a.assign(tf.zeros_like(a))
    if count == 5:
        {also}
"""
)


@pytest.mark.parametrize(
    "test", ["if count == 8:", "if count >= 32:", "if not count < EVERY:", "if 8 == count:"]
)
def test_a_count_of_batches_that_go_into_an_update_is_left(test: str) -> None:
    """Each rank adds up as many as before: size() times as many rows, for which the rate is multiplied."""
    text = plan_of(COUNTED.format(test=test, also="pass")).text
    assert f"    {test}\n" in text
    assert "opt = tf.keras.optimizers.SGD(0.1 * hvd.size())" in text


def test_an_event_by_such_a_count_is_none_of_its_updates() -> None:
    source = COUNTED.replace("if count == 5:", "if count == 500:").format(
        test="if count == 8:", also="model.save('m')"
    )
    text = plan_of(source).text
    assert "    if count == 8:\n" in text
    assert "    if count == max(1, 500 // hvd.size()) and hvd.rank() == 0:\n" in text


def test_a_condition_of_tensorflow_by_a_count_that_begins_again() -> None:
    source = IN_A_MODEL.replace(
        "tf.equal(self.turn % self.every, 0)", "tf.equal(self.turn, self.every)"
    ).replace(
        "        for a in self.waiting:\n", "        self.turn.assign(0)\n        for a in self.waiting:\n"
    )
    assert "tf.cond(tf.equal(self.turn, self.every), self.update, lambda: None)" in plan_of(source).text


IN_A_GRAPH = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 8])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
opt = tf.train.AdamOptimizer(1e-3)
weights = tf.trainable_variables()
waiting = [tf.Variable(tf.zeros_like(w.initialized_value()), trainable=False) for w in weights]
clear = [a.assign(tf.zeros_like(a)) for a in waiting]
pairs = opt.compute_gradients(loss, weights)
gather = [waiting[i].assign_add(pair[0]) for i, pair in enumerate(pairs)]
apply = opt.apply_gradients({given})
data = load()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    n = 0
    for i in range(0, len(data), 10):
        sess.run(gather, {{x: data[i:i + 10]}})
        n += 1
        if n == 32:
            sess.run([apply, loss], {{x: data[:10]}})
            sess.run(clear)
            n = 0
"""


@pytest.mark.parametrize(
    "given",
    [
        "[(waiting[i], pair[1]) for i, pair in enumerate(pairs)]",
        "zip(waiting, weights)",
        "list(zip(waiting, weights))",
        "[(waiting[0], weights[0]), (waiting[1], weights[1])]",
    ],
)
def test_a_count_of_batches_whose_gradients_wait_in_a_graph_is_left(given: str) -> None:
    assert "        if n == 32:\n" in plan_of(IN_A_GRAPH.format(given=given)).text


@pytest.mark.parametrize("given", ["pairs", "[(tf.clip_by_value(g, -1, 1), w) for g, w in pairs]"])
def test_a_step_of_its_own_comes_as_often_as_before(given: str) -> None:
    text = plan_of(IN_A_GRAPH.format(given=given).replace("sess.run(gather,", "sess.run(loss,")).text
    assert "if n == max(1, 32 // hvd.size()):" in text


BY_CURSOR = """\
import numpy as np
import tensorflow as tf
data = np.load("x.npy")
x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.layers.dense(x, 1))
opt = tf.train.GradientDescentOptimizer(0.1)
pairs = opt.compute_gradients(loss, tf.trainable_variables())
sums = [tf.Variable(tf.zeros_like(v), trainable=False) for _, v in pairs]
clear = [s.assign(tf.zeros_like(s)) for s in sums]
gather = [s.assign_add(g) for s, (g, _) in zip(sums, pairs)]
apply = opt.apply_gradients([(s, v) for s, (_, v) in zip(sums, pairs)])
sess = tf.Session()
sess.run(tf.global_variables_initializer())
at = 0
for i in range(100):
    sess.run(clear)
    for _ in range(4):
        sess.run({run}, {{x: data[at:at + 8]}})
        at = (at + 8) % len(data)
    sess.run(apply{fed})
"""


def test_what_is_gathered_by_a_cursor_that_goes_round_is_not_divided_and_said() -> None:
    """All ranks gathered the same rows, at size() times the rate."""
    plan = plan_of(BY_CURSOR.format(run="gather", fed=""))
    assert "GradientDescentOptimizer(0.1))" in plan.text
    assert any("`at` selects the batches" in note.message for note in plan.notes)


def test_what_is_measured_by_a_cursor_beside_a_step_is_not_gathered() -> None:
    plan = plan_of(BY_CURSOR.format(run="loss", fed=", {x: draw()}"))
    assert not any("`at` selects the batches" in note.message for note in plan.notes)


def test_an_event_among_updates_comes_as_often_as_they_do() -> None:
    """What it shows is there with each of them."""
    source = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.SGD(0.05)
updates = 0
for epoch in range(3):
    sums = [tf.zeros_like(v) for v in model.trainable_variables]
    for i, (a, b) in enumerate(tf.data.Dataset.from_tensor_slices((x, y)).batch(4)):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2) / 4
        sums = [s + g for s, g in zip(sums, tape.gradient(loss, model.trainable_variables))]
        if (i + 1) % 4 == 0:
            clipped, norm = tf.clip_by_global_norm(sums, 1.0)
            opt.apply_gradients(zip(clipped, model.trainable_variables))
            updates += 1
            sums = [tf.zeros_like(v) for v in model.trainable_variables]
            if updates % 8 == 0:
                print("update", updates, float(norm))
"""
    assert "if updates % max(1, 8 // hvd.size()) == 0" in plan_of(source).text


DIVIDED_BY_COUNT = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(10,))])
opt = tf.keras.optimizers.SGD(0.01)
total = {begin}
count = 0
for epoch in range(3):
    for step, (xb, yb) in enumerate(ds, 1):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(xb, training=True) - yb))
        grads = tape.gradient(loss, model.trainable_variables)
        {add}
        count += 1
        if step % 4 == 0:
            opt.apply_gradients([({mean}, v) for a, v in zip(total, model.trainable_variables)])
            total = {begin}
            {again}
"""
ZEROS = "[tf.zeros_like(v) for v in model.trainable_variables]"
ADD = "total = [a + g for a, g in zip(total, grads)]"


@pytest.mark.parametrize(
    ("begin", "add", "mean"),
    [
        (ZEROS, ADD, "a / count"),
        (ZEROS, ADD, "tf.divide(a, float(count))"),
        (ZEROS, ADD, "a / max(count, 1)"),
        (ZEROS, "for i in range(len(total)): total[i] += grads[i]", "a / count"),
        (ZEROS, "for i, g in enumerate(grads): total[i] = total[i] + g", "tf.divide(a, count)"),
    ],
)
@pytest.mark.parametrize("again", ["count = 0", "pass"])
def test_the_number_of_gradients_that_are_added_up_is_that_of_a_rank(
    begin: str, add: str, mean: str, again: str
) -> None:
    """Each is averaged over the ranks already: times size(), their mean was size() times too small."""
    text = plan_of(DIVIDED_BY_COUNT.format(begin=begin, add=add, mean=mean, again=again)).text
    assert f"[({mean}, v) for a, v" in text


def test_a_gradient_that_gets_less_with_the_steps_goes_by_those_of_all_ranks() -> None:
    source = DIVIDED_BY_COUNT.format(begin=ZEROS, add="total = grads", mean="a / count", again="pass")
    assert "a / (count * hvd.size())" in plan_of(source).text
    again = DIVIDED_BY_COUNT.format(begin=ZEROS, add="total = grads", mean="a / count", again="count = 0")
    assert "[(a / count, v)" in plan_of(again).text  # as many as an update is made of


def test_variables_of_an_object_that_adds_gradients_up() -> None:
    source = """\
import numpy as np
import tensorflow as tf


class Accumulator:
    def __init__(self, variables):
        self.sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self.count = tf.Variable(0, trainable=False, dtype=tf.int32)

    def add(self, grads):
        for a, g in zip(self.sums, grads):
            a.assign_add(g)
        self.count.assign_add(1)

    def mean(self):
        n = tf.cast(self.count, tf.float32)
        return [a / n for a in self.sums]

    def reset(self):
        for a in self.sums:
            a.assign(tf.zeros_like(a))
        self.count.assign(0)


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(10,))])
opt = tf.keras.optimizers.SGD(0.01)
sums = Accumulator(model.trainable_variables)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(8)
for epoch in range(3):
    for step, (x, y) in enumerate(ds, 1):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        sums.add(tape.gradient(loss, model.trainable_variables))
        if step % 4 == 0:
            opt.apply_gradients(zip(sums.mean(), model.trainable_variables))
            sums.reset()
"""
    assert "[a / n for a in self.sums]" in plan_of(source).text


OF_AN_OBJECT = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(10,))])
        self.opt = tf.keras.optimizers.SGD(0.01)
        self.sums = [0.0 for _ in self.model.trainable_variables]
        self.others = [0.0 for _ in self.model.trainable_variables]
    def step(self, xb, yb, last):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(xb) - yb))
        for i, g in enumerate({given}):
            self.sums[i] += g
        if last:
            self.opt.apply_gradients(zip(self.{applied}, self.model.trainable_variables))
            self.sums = [0.0 for _ in self.sums]
trainer = Trainer()
for epoch in range(3):
    for step, (xb, yb) in enumerate(tf.data.Dataset.from_tensor_slices((x, y)).batch(8), 1):
        trainer.step(xb, yb, step % 4 == 0)
"""
GRADIENTS = "tape.gradient(loss, self.model.trainable_variables)"


def test_gradients_that_are_added_to_elements_of_an_attribute_are_averaged() -> None:
    assert (
        "hvd.DistributedGradientTape(tape)"
        in plan_of(OF_AN_OBJECT.format(given=GRADIENTS, applied="sums")).text
    )


@pytest.mark.parametrize(("given", "applied"), [("fetch(loss)", "sums"), (GRADIENTS, "others")])
def test_what_is_set_elsewhere_brings_no_tape(given: str, applied: str) -> None:
    refused(OF_AN_OBJECT.format(given=given, applied=applied), "HVD202", "nothing averages them")
