"""S5 and G5: a function that trains only where a flag says so, and evaluates else."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of
from ..sessions import BUILT, INIT

STEP = """\
step_number = tf.train.get_or_create_global_step()
def run(sess, batch, training={default}):
    {body}
"""
RUN = "s, l, _ = sess.run([step_number, loss, train], {x: batch})"
EVALUATE = "return sess.run([loss, w], {x: batch})"
BODIES = [
    f"if training: {RUN}; return s, l\n    {EVALUATE}",
    f"if not training: {EVALUATE}\n    {RUN}\n    return s, l",
    f"if training or batch is None: {RUN}; return s, l\n    {EVALUATE}",
]
BY_NAME = f"if training == 'train': {RUN}; return s, l\n    {EVALUATE}"
LOOPS = """\
for epoch in range(5):
    for batch in rows:
        step, l = run(sess, batch, {on})
        if step % 100 == 0:
            print(l)
    total = 0
    for batch in others:
        total += run(sess, batch, {off})[0]
    print(total / len(others))
"""
DATA = "import numpy as np\nrows, others = [np.ones((8, 1))] * 40, [np.ones((8, 1))] * 8\n"


def planned(body: str, on: str, off: str, default: str = "True") -> str:
    head = BUILT.replace("minimize(loss)", "minimize(loss, global_step=tf.train.get_or_create_global_step())")
    step = STEP.replace("{default}", default).replace("{body}", body)
    return plan_of(DATA + head + "sess = tf.Session()\n" + INIT + step + LOOPS.format(on=on, off=off)).text


@pytest.mark.parametrize("body", BODIES[:2])
@pytest.mark.parametrize(
    ("on", "off"), [("True", "False"), ("training=True", "training=False"), ("1", "0"), ("True", "None")]
)
def test_what_only_evaluates_is_not_divided_and_what_trains_is(body: str, on: str, off: str) -> None:
    text = planned(body, on, off)
    assert "for batch in others:" in text
    assert "for batch in rows:" not in text
    assert "if step % max(1, 100 // hvd.size()) == 0" in text


def test_the_flag_may_be_a_name() -> None:
    assert "for batch in others:" in planned(BY_NAME, "'train'", "'test'")


def test_the_flag_may_be_left_to_its_default() -> None:
    assert "for batch in others:" in planned(BODIES[0], "True", "False", default="False").replace(
        "batch, False", "batch"
    )


@pytest.mark.parametrize("off", ["flag", "batch is None", "*flags", "True"])
def test_what_may_train_is_divided(off: str) -> None:
    assert "for batch in others:" not in planned(BODIES[0], "True", off)


def test_a_part_of_a_test_may_decide() -> None:
    also = BODIES[0].replace("if training:", "if training and batch is not None:")
    assert "for batch in others:" in planned(also, "True", "False")
    assert "for batch in others:" not in planned(BODIES[2], "True", "False")


def test_a_switch_that_the_program_has_off_is_still_distributed() -> None:
    main = "def main(training):\n    if training:\n        for batch in rows:\n            sess.run(train, {x: batch})\n"
    plan = plan_of(DATA + BUILT + "sess = tf.Session()\n" + INIT + main + "main(False)\n")
    assert "for batch in rows:" not in plan.text


KEPT = """\
import os, pickle
import numpy as np
def load(path):
    if os.path.exists(path):
        with open(path, 'rb') as f:
            return pickle.load(f)
    made = [np.ones((8, 1))] * 40
    with open(path, 'wb') as f:
        pickle.dump(made, f)
    return made
rows = load('rows.pkl')
"""


def test_whether_a_file_is_there_is_asked_about() -> None:
    loop = "for batch in rows:\n    sess.run(train, {x: batch})\n"
    plan = plan_of(KEPT + BUILT + "sess = tf.Session()\n" + INIT + loop)
    found = [c for c in changes(plan, "S5") if "whether a file is there" in c.doubt]
    assert found
    assert not any(c.sure for c in found)


TRAINER = """\
import tensorflow as tf
class Trainer:
    def __init__(self, model):
        self.model, self.opt, self.n = model, tf.keras.optimizers.SGD(0.1), 0
        self.rows = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(99).batch(16)
        self.others = tf.data.Dataset.from_tensor_slices((c, d)).batch(16)
    def {one}(self, x, y, training):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x, training=training) - y) ** 2)
        if training:
            variables = self.model.trainable_variables
            self.opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return float(loss)
    def epoch(self, data, training):
        losses = [0]
        for x, y in data:
            losses.append(self.{one}(x, y, training))
        return sum(losses) / len(losses)
    def fit(self):
        for _ in range(9):
            print(self.epoch(self.rows, True), self.epoch(self.others, {off}))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
Trainer(model).fit()
"""


@pytest.mark.parametrize("one", ["one", "batch"])  # a method may be called as one of a data set is
def test_a_flag_may_be_handed_on_and_data_that_only_evaluates_stays_whole(one: str) -> None:
    text = plan_of(TRAINER.format(one=one, off="training=False")).text
    assert "self.others = tf.data.Dataset.from_tensor_slices((c, d)).batch(16)" in text
    assert "self.rows = tf.data.Dataset.from_tensor_slices((a, b)).batch(16)" not in text
    assert ".shard(hvd.size(), hvd.rank())" in text
    assert "for x, y in data:" in text


def test_data_that_may_train_is_divided() -> None:
    text = plan_of(TRAINER.format(one="one", off="self.n > 3")).text
    assert "self.others = tf.data.Dataset.from_tensor_slices((c, d)).batch(16)" not in text
