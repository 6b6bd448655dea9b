"""C5 and G5: numbers that go on from their last value with each step of a divided loop."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

LOOP = (
    TF
    + """
import numpy as np
from tensorflow.keras import backend as K
model = tf.keras.Sequential([])
lr, decay, tau = 0.1, 0.999, 1.0
{made}
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
def train_step(x, y, heat=1.0):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y) * heat
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
count = 0
for epoch in range(9):
    {epoch}
    for i, (x, y) in enumerate(ds):
        loss = train_step({given})
        count += 1
        {step}
"""
)
OF_NUMBER, OF_VARIABLE = (
    "opt = tf.keras.optimizers.SGD(lr)",
    "rate = tf.Variable(0.1)\nopt = tf.keras.optimizers.SGD(rate)",
)
POWER = "** hvd.size()"


def changed(step: str, made: str = OF_NUMBER, epoch: str = "pass", given: str = "x, y") -> list[str]:
    """The lines of a step's end, or else of an epoch's begin, as they become."""
    text = plan_of(LOOP.format(step=step, made=made, epoch=epoch, given=given)).text
    part = (
        text.split("count += 1\n")[1]
        if step != "pass"
        else text.split("range(9):\n")[1].split("    for i")[0]
    )
    return [line.strip() for line in part.splitlines() if line.strip()]


def asked(step: str, made: str = OF_NUMBER) -> bool:
    plan = plan_of(LOOP.format(step=step, made=made, epoch="pass", given="x, y"))
    return any("goes on from its last value" in c.doubt for c in plan.changes if not c.sure)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("lr *= decay", f"lr *= decay {POWER}"),
        ("lr = lr * 0.99", f"lr = lr * 0.99 {POWER}"),
        ("lr = 0.99 * lr", f"lr = 0.99 {POWER} * lr"),
        ("lr /= 1.01", f"lr /= 1.01 {POWER}"),
        ("lr = max(lr * decay, 1e-4)", f"lr = max(lr * decay {POWER}, 1e-4)"),
        ("lr = np.maximum(1e-4, lr * (1 - decay))", f"lr = np.maximum(1e-4, lr * (1 - decay) {POWER})"),
        ("lr -= 1e-5", "lr -= 1e-5 * hvd.size()"),
        ("lr = max(lr - 0.1 / 1000, 0)", "lr = max(lr - 0.1 / 1000 * hvd.size(), 0)"),
        ("lr = lr * decay if lr > 1e-3 else lr", f"lr = lr * decay {POWER} if lr > 1e-3 else lr"),
        ("if lr > 1e-4: lr *= decay", f"if lr > 1e-4: lr *= decay {POWER}"),
        ("if count > 100: lr *= decay", f"if count > max(1, 100 // hvd.size()): lr *= decay {POWER}"),
    ],
)
def test_a_number_that_becomes_the_rate(step: str, told: str) -> None:
    assert changed(f"{step}\n        opt.learning_rate = lr") == [told, "opt.learning_rate = lr * hvd.size()"]


@pytest.mark.parametrize("value", ["lr * {}", "max(lr * {}, 1e-4)", "{} * lr"])
def test_by_way_of_another_name(value: str) -> None:
    step = f"new = {value.format('decay')}\n        lr = new\n        opt.learning_rate = lr"
    assert changed(step)[0] == f"new = {value.format(f'decay {POWER}')}"


@pytest.mark.parametrize("step", ["lr -= lr * 0.01", "lr = lr - lr * 0.01"])
def test_a_share_of_itself_is_asked_about(step: str) -> None:
    assert asked(f"{step}\n        opt.learning_rate = lr")


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("opt.learning_rate *= decay", f"opt.learning_rate *= decay {POWER}"),
        ("opt.lr = opt.lr * decay", f"opt.lr = opt.lr * decay {POWER}"),
        (
            "opt.learning_rate.assign(opt.learning_rate * decay)",
            f"opt.learning_rate.assign(opt.learning_rate * decay {POWER})",
        ),
        ("opt.lr = max(opt.lr * decay, 1e-4)", f"opt.lr = max(opt.lr * decay {POWER}, 1e-4 * hvd.size())"),
        (
            "K.set_value(opt.lr, K.get_value(opt.lr) * decay)",
            f"K.set_value(opt.lr, K.get_value(opt.lr) * decay {POWER})",
        ),
        ("opt.learning_rate -= 1e-5", "opt.learning_rate -= 1e-5 * hvd.size() ** 2"),
        ("opt.learning_rate.assign_sub(1e-5)", "opt.learning_rate.assign_sub(1e-5 * hvd.size() ** 2)"),
    ],
)
def test_the_optimizer_s_own_rate_is_multiplied_already(step: str, told: str) -> None:
    assert changed(step) == [told]


def test_the_own_rate_by_another_name() -> None:
    told = changed("old = float(K.get_value(opt.lr))\n        K.set_value(opt.lr, max(old * decay, 1e-4))")
    assert told[1] == f"K.set_value(opt.lr, max(old * decay {POWER}, 1e-4 * hvd.size()))"


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("rate.assign(rate * 0.99)", f"rate.assign(rate * 0.99 {POWER})"),
        (
            "rate.assign(tf.maximum(rate * decay, 1e-4))",
            f"rate.assign(tf.maximum(rate * decay {POWER}, 1e-4 * hvd.size()))",
        ),
        ("rate.assign(0.01)", "rate.assign(0.01 * hvd.size())"),  # a new one
    ],
)
def test_a_variable_is_multiplied_where_it_is_made(step: str, told: str) -> None:
    assert changed(step, OF_VARIABLE) == [told]


@pytest.mark.parametrize(
    "step",
    [
        "if count % 100 == 0:\n            lr *= 0.5",  # as often for the rows that are seen
        "if loss > 9:\n            lr *= 0.5",
        "lr = 0.1\n        lr *= 0.5",  # doesn't go on
        "if count % 100:\n            continue\n        lr *= 0.5",
    ],
)
def test_what_does_not_go_on_with_each_step_is_left(step: str) -> None:
    assert "lr *= 0.5" in changed(f"{step}\n        opt.learning_rate = lr")
    assert not asked(f"{step}\n        opt.learning_rate = lr")


@pytest.mark.parametrize("test", ["count % 100 == 0", "loss > 9", "count == 100"])
def test_what_stays_the_same_with_most_steps_is_left(test: str) -> None:
    step = f"lr = lr * 0.5 if {test} else lr\n        opt.learning_rate = lr"
    assert changed(step)[0].startswith("lr = lr * 0.5 if ")
    assert not asked(step)


def test_a_turn_that_is_left_out_with_its_step_changes_nothing() -> None:
    """Short batches aren't trained on: what comes after comes with each step."""
    source = LOOP.format(step="lr *= decay; opt.lr = lr", made=OF_NUMBER, epoch="pass", given="x, y")
    skips = "        if x.shape[0] < 4:\n            continue\n        loss = train_step"
    assert f"lr *= decay {POWER};" in plan_of(source.replace("        loss = train_step", skips)).text


def test_what_goes_on_with_each_epoch_is_left_but_for_its_bound() -> None:
    assert changed("pass", epoch="lr *= 0.5; opt.learning_rate = lr")[0].startswith("lr *= 0.5;")
    assert changed("pass", epoch="opt.lr = max(opt.lr * 0.5, 1e-4)") == [
        "opt.lr = max(opt.lr * 0.5, 1e-4 * hvd.size())"
    ]


@pytest.mark.parametrize(
    "step",
    [
        "lr = lr * decay + 1e-6\n        opt.lr = lr",
        "lr = lr ** 1.01\n        opt.lr = lr",
        "opt.lr = opt.lr + (0.5 - opt.lr) * 0.1",
        "lr = smaller(lr)\n        opt.lr = lr",
        "lr *= 1 + loss\n        opt.lr = lr",
    ],
)
def test_what_goes_on_otherwise_is_asked(step: str) -> None:
    assert asked(step)


def test_a_factor_of_a_rank_s_own_number_of_steps_is_right() -> None:
    made = OF_NUMBER + "\n"
    source = LOOP.format(
        made=made, epoch="pass", given="x, y", step="lr *= 0.5 ** (1 / len(ds))\n        opt.lr = lr"
    )
    assert "lr *= 0.5 ** (1 / len(ds))\n" in plan_of(source).text


def test_a_number_that_a_step_is_given() -> None:
    assert changed("tau = max(tau * 0.99, 0.5)", given="x, y, tau") == [f"tau = max(tau * 0.99 {POWER}, 0.5)"]
    assert changed("tau = max(tau - 0.001, 0.5)", given="x, y, heat=tau") == [
        "tau = max(tau - 0.001 * hvd.size(), 0.5)"
    ]


@pytest.mark.parametrize(
    "step", ["tau = x * 2.0", "tau = loss * tau", "tau += 1", "tau = after(tau)", "x = x / 255.0"]
)
def test_what_a_step_is_given_besides_is_left(step: str) -> None:
    plan = plan_of(LOOP.format(made=OF_NUMBER, epoch="pass", given="x, y, tau", step=step))
    assert f"        {step}\n" in plan.text.replace("mean_over_ranks(loss)", "loss")
    assert all(c.sure for c in plan.changes if "mean over all ranks" not in c.doubt)


SESSION = (
    TF.replace("tensorflow", "tensorflow.compat.v1")
    + """\
x = tf.placeholder(tf.float32, [None, 1])
w = tf.get_variable('w', [1, 1])
loss = tf.reduce_mean(x * w)
rate = {rate}
less = {less}
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)
now = 0.1
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(9):
        for i in range(0, 640, 32):
            sess.run(train, FED)
            {step}
        {after}
"""
)


@pytest.mark.parametrize(
    ("less", "told"),
    [
        ("rate.assign(rate * 0.99)", f"rate.assign(rate * 0.99 {POWER})"),
        (
            "tf.assign(rate, tf.maximum(rate * 0.99, 1e-4))",
            f"tf.assign(rate, tf.maximum(rate * 0.99 {POWER}, 1e-4))",
        ),
        ("tf.assign_sub(rate, 1e-5)", "tf.assign_sub(rate, 1e-5 * hvd.size())"),
    ],
)
def test_operations_of_a_graph(less: str, told: str) -> None:
    made = SESSION.format(
        rate="tf.Variable(0.1, trainable=False)", less=less, step="{step}", after="{after}"
    ).replace("FED", "{{x: rows[i:i + 32]}}")
    by_step = plan_of(made.format(step="sess.run(less)", after="pass")).text
    assert f"less = {told}\n" in by_step
    by_epoch = plan_of(made.format(step="pass", after="sess.run(less)")).text
    assert f"less = {less}\n" in by_epoch


def test_what_a_session_feeds() -> None:
    made = SESSION.format(
        rate="tf.placeholder(tf.float32)", less="None", step="{step}", after="pass"
    ).replace("FED", "{{x: rows[i:i + 32], rate: now}}")
    assert f"now = now * 0.999 {POWER}\n" in plan_of(made.format(step="now = now * 0.999")).text


NORMALIZER = """
import numpy as np
class Normalizer:
    def __init__(self):
        self.mean, self.count = np.zeros(4), 1e-4
    def update(self, x):
        delta = x.mean(0) - self.mean
        total = self.count + len(x)
        self.mean = self.mean + {amount}
        self.count = total
x = np.zeros((1000, 4))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.Adam(0.01), "mse")
normalizer = Normalizer()
for step in range(400):
    rows = np.random.choice(1000, 32)
    normalizer.update(x[rows])
    model.train_on_batch(x[rows] - normalizer.mean, x[rows].sum(1))
"""


@pytest.mark.parametrize(
    "amount", ["delta * len(x) / total", "(x.mean(0) - self.mean) / total", "0.5 * x.mean(0)"]
)
def test_what_is_added_of_a_batch_or_of_the_last_value_is_no_amount_of_steps(amount: str) -> None:
    plan = plan_of(TF + NORMALIZER.format(amount=amount))
    assert f"self.mean = self.mean + {amount}\n" in plan.text


FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
data = load()
x = tf.placeholder(tf.float32, [None, 6])
lr = tf.placeholder(tf.float32, [])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = tf.train.GradientDescentOptimizer(lr).minimize(loss)
n = len(data) // 32
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    t = 0.0
    for epoch in range(4):
        for b in range(n):
            sess.run(train, {{x: data[b * 32:(b + 1) * 32], lr: 0.1 * (1 + np.cos(np.pi * t / 4)) / 2}})
            t += {step}
"""


@pytest.mark.parametrize(
    ("step", "after"),
    [
        ("1.0 / n", "1.0 / max(1, n // hvd.size())"),
        ("1 / float(n)", "1 / float(max(1, n // hvd.size()))"),
        ("0.025", "0.025 * hvd.size()"),
    ],
)
def test_a_part_of_an_epoch_is_told_once(step: str, after: str) -> None:
    text = plan_of(FED.format(step=step)).text
    (line,) = [line.strip() for line in text.splitlines() if line.strip().startswith("t +=")]
    assert line == f"t += {after}"


GIVEN = """\
def batches(epochs):
    for epoch in range(epochs):
        order = np.random.permutation(4000)
        for b in range(1000):
            rows = order[b * 4:b * 4 + 4]
            yield epoch, b, a[rows], c[rows]
for epoch, b, x, y in batches(9):
    {}:
        opt.learning_rate.assign(opt.learning_rate * 0.5)
    train_step(x, y)
"""


def rate_in(test: str, loop: str = GIVEN) -> str:
    """How the rate goes on under a test of what a generator gives."""
    head = LOOP.format(step="pass", made=OF_NUMBER, epoch="pass", given="x, y").split("count = 0")[0]
    text = plan_of(head + loop.format(test)).text
    return next(line for line in text.splitlines() if "assign(" in line).strip().split("learning_rate * ")[1]


@pytest.mark.parametrize("test", ["if epoch > 3", "if 2 < epoch <= 5", "if b != 7", "if decay"])
def test_what_holds_from_some_epoch_on_is_by_step(test: str) -> None:
    assert rate_in(test) == f"0.5 {POWER})"


@pytest.mark.parametrize(
    "test", ["if b == 0", "if b == 0 and epoch > 0", "if epoch > 0 and not b", "if b in (0, 500)"]
)
def test_what_comes_with_one_of_an_epoch_s_batches_is_not(test: str) -> None:
    assert rate_in(test) == "0.5)"


def test_nor_what_comes_with_one_step_of_all() -> None:
    loop = GIVEN[GIVEN.index("for epoch, b, x") :]
    once = loop.replace("epoch, b, x, y in batches(9)", "b, (x, y) in enumerate(ds)")
    assert rate_in("if b == 100", once) == "0.5)"
    assert rate_in("if b > 100", once) == f"0.5 {POWER})"


RESTARTS = """\
def restarts(step, first=50):
    t, length = step, first
    while t >= length:
        t -= length
        length *= 2
    return 0.1 * (1 - t / length)
"""
WITHIN = "t, length = count, 50\n        while t >= length:\n            t -= length\n            length *= 2\n        "


def test_a_schedule_that_goes_through_its_periods_from_the_first_on_keeps_them() -> None:
    source = RESTARTS + LOOP.format(
        made=OF_NUMBER, epoch="pass", given="x, y", step="opt.learning_rate = restarts(count)"
    )
    plan = plan_of(source)
    assert "        t -= length\n        length *= 2\n" in plan.text
    assert "opt.learning_rate = restarts(count * hvd.size()) * hvd.size()\n" in plan.text
    assert not [c.doubt for c in plan.changes if not c.sure]


def test_so_does_one_that_stands_in_the_loop() -> None:
    source = LOOP.format(
        made=OF_NUMBER,
        epoch="pass",
        given="x, y",
        step=WITHIN + "opt.learning_rate = 0.1 * (1 - t / length)",
    )
    plan = plan_of(source)
    assert "            t -= length\n            length *= 2\n" in plan.text
    assert "hvd.size(), 50\n" in plan.text


def test_what_a_loop_of_each_step_changes_for_good_is_still_followed() -> None:
    lines = changed("for _ in range(2):\n            lr *= 0.99\n        opt.learning_rate = lr")
    assert "lr *= 0.99 ** hvd.size()" in lines
