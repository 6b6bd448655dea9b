"""C5, K5: rates that stand beside the optimizer's own, which is multiplied already."""

from __future__ import annotations

import pytest

from ..pairs import only, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
x = np.load('x.npy')
class Own(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        {callback}
def rate(epoch, lr):
    {function}
model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
model.compile(tf.keras.optimizers.SGD(0.1), 'mse')
model.fit(x, x, batch_size=10, epochs=30, callbacks=[Own(), tf.keras.callbacks.LearningRateScheduler(rate)])
"""
SET = "K.set_value(self.model.optimizer.lr, {})"


def scaled(callback: str = "pass", function: str = "return lr") -> str:
    text = HEAD.format(
        callback=callback.replace("\n", "\n        "), function=function.replace("\n", "\n    ")
    )
    return only(plan_of(text), "C5", "K5").replace("0.1 * hvd.size()", "0.1")


def same(callback: str = "pass", function: str = "return lr") -> str:
    return HEAD.format(
        callback=callback.replace("\n", "\n        "), function=function.replace("\n", "\n    ")
    )


@pytest.mark.parametrize(
    "callback",
    [
        SET.format("K.get_value(self.model.optimizer.lr) * 0.5"),
        "lr = K.get_value(self.model.optimizer.lr)\n" + SET.format("lr * (1 - 0.5 * epoch / 30)"),
        "lr = K.get_value(self.model.optimizer.lr)\nif epoch > 9:\n    lr = lr / 2\n" + SET.format("lr"),
        "lr = K.get_value(self.model.optimizer.lr)\nif logs['loss'] < 9:\n    lr *= 0.5\n" + SET.format("lr"),
        "lr = max(K.get_value(self.model.optimizer.lr) * 0.5, 0)\n" + SET.format("lr"),
    ],
)
def test_what_is_made_of_the_own_rate_alone_is_left(callback: str) -> None:
    assert scaled(callback) == same(callback)


@pytest.mark.parametrize(
    "function",
    [
        "return lr * 0.9 if epoch > 3 else lr",
        "if epoch < 10:\n    return lr\nreturn lr * np.exp(-0.5)",
        "drop = 0.5\nlr = lr * drop ** (epoch // 10)\nreturn float(lr)",
    ],
)
def test_what_is_made_of_the_given_rate_alone_is_left(function: str) -> None:
    assert scaled(function=function) == same(function=function)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "lr = K.get_value(self.model.optimizer.lr) * 0.5\nif lr < 1e-6:\n    lr = 1e-6\n"
            + SET.format("lr"),
            "lr = K.get_value(self.model.optimizer.lr) * 0.5\nif lr < 1e-6 * hvd.size():\n    lr = 1e-6 * hvd.size()\n"
            + SET.format("lr"),
        ),
        (
            SET.format("max(K.get_value(self.model.optimizer.lr) * 0.5, 1e-6)"),
            SET.format("max(K.get_value(self.model.optimizer.lr) * 0.5, 1e-6 * hvd.size())"),
        ),
        (
            SET.format("np.clip(self.model.optimizer.lr.numpy() - 1e-4, 1e-6, 1.0)"),
            SET.format(
                "np.clip(self.model.optimizer.lr.numpy() - 1e-4 * hvd.size(), 1e-6 * hvd.size(), 1.0 * hvd.size())"
            ),
        ),
    ],
)
def test_what_bounds_the_own_rate_is_multiplied(before: str, after: str) -> None:
    assert scaled(before) == same(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return max(lr * 0.9, 1e-6)", "return max(lr * 0.9, 1e-6 * hvd.size())"),
        (
            "if epoch > 10:\n    lr = 1e-4\nreturn lr",
            "if epoch > 10:\n    lr = 1e-4 * hvd.size()\nreturn lr",
        ),
        (
            "lr = lr * 0.9\nif 1e-6 > lr:\n    lr = 1e-6\nreturn lr",
            "lr = lr * 0.9\nif 1e-6 * hvd.size() > lr:\n    lr = 1e-6 * hvd.size()\nreturn lr",
        ),
    ],
)
def test_what_bounds_the_given_rate_is_multiplied(before: str, after: str) -> None:
    assert scaled(function=before) == same(function=after)


@pytest.mark.parametrize(
    "value", ["lr * 0.5", "max(lr * 0.5, 1e-5)", "tf.maximum(lr * 0.5, 1e-5)", "lr - 1e-5"]
)
def test_a_variable_that_is_the_rate_is_multiplied_where_it_begins_and_once(value: str) -> None:
    text = plan_of(
        "import tensorflow as tf\nmodel = tf.keras.layers.Dense(1)\nlr = tf.Variable(0.01, trainable=False)\n"
        "opt = tf.keras.optimizers.Adam(lr)\nds = tf.data.Dataset.from_tensor_slices(tf.zeros([64, 2])).batch(4)\n"
        "for epoch in range(4):\n    for x in ds:\n        with tf.GradientTape() as t:\n"
        "            loss = tf.reduce_mean(model(x))\n"
        "        opt.apply_gradients(zip(t.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
        f"    lr.assign({value})\n"
    ).text
    assert "lr = tf.Variable(0.01 * hvd.size(), trainable=False)\n" in text
    assert "lr.assign(lr * 0.5 * hvd.size())" not in text
    assert text.count("1e-5 * hvd.size()") == ("1e-5" in value)


HANDED = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
x = np.load('x.npy')
table = {{3: 0.05, 6: 0.01}}
def decide(epoch, lr):
    if epoch in table:
        return table[epoch]
    {returns}
class Own(tf.keras.callbacks.Callback):
    def __init__(self, schedule=None):
        super().__init__()
        self.schedule = schedule
    def on_epoch_begin(self, epoch, logs=None):
        lr = float(K.get_value(self.model.optimizer.lr))
        K.set_value(self.model.optimizer.lr, {value})
model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
model.compile(tf.keras.optimizers.SGD(0.1), 'mse')
model.fit(x, x, batch_size=10, epochs=30, callbacks=[Own({given})])
{more}
"""


def handed(value: str, returns: str = "return lr", given: str = "", more: str = "") -> str:
    return plan_of(HANDED.format(value=value, returns=returns, given=given, more=more)).text


@pytest.mark.parametrize(
    ("value", "given"), [("decide(epoch, lr)", ""), ("self.schedule(epoch, lr)", "decide")]
)
def test_a_function_that_gives_the_rate_it_is_told_or_another_one(value: str, given: str) -> None:
    """It was left, and set a rate for one rank: `schedule` of TensorFlow's guide to callbacks."""
    text = handed(value, given=given)
    assert "return table[epoch] * hvd.size()\n" in text
    assert "    return lr\n" in text
    text = handed(value, returns="return lr * 0.5 if epoch > 3 else max(lr, 1e-5)", given=given)
    assert "return lr * 0.5 if epoch > 3 else max(lr, 1e-5 * hvd.size())\n" in text


def test_a_table_beside_the_rate() -> None:
    alone = HANDED.replace("    if epoch in table:\n        return table[epoch]\n", "")
    text = plan_of(alone.format(value="table.get(epoch, lr)", returns="return lr", given="", more="")).text
    assert "table = {3: 0.05 * hvd.size(), 6: 0.01 * hvd.size()}\n" in text
    read = plan_of(HANDED.format(value="table.get(epoch, lr)", returns="return lr", given="", more=""))
    assert any("others read it, too" in c.doubt for c in read.to_confirm)


def test_what_others_read_too_is_asked_about() -> None:
    plan = plan_of(
        HANDED.format(value="decide(epoch, lr)", returns="return lr", given="", more="print(decide(3, 0.1))")
    )
    assert any("others read it, too" in c.doubt for c in plan.to_confirm)
    assert "return table[epoch]\n" in plan.text


@pytest.mark.parametrize("returns", ["return 0.5", "return 0.5 if lr > 1e-4 else 1.0"])
def test_a_factor_is_no_rate(returns: str) -> None:
    text = handed("lr * decide(epoch, lr)", returns=returns)
    assert f"    {returns}\n" in text
    assert "0.5 * hvd.size()" not in text
    assert "return table[epoch]\n" in text


def test_a_function_that_calls_itself() -> None:
    """Following it without end refused the script."""
    alone = HANDED.replace("    if epoch in table:\n        return table[epoch]\n", "")
    returns = "return decide(epoch - 1, lr) * 0.9 if epoch else 0.02"
    plan = plan_of(alone.format(value="decide(epoch, lr)", returns=returns, given="", more=""))
    assert "return decide(epoch - 1, lr) * 0.9 if epoch else 0.02 * hvd.size()\n" in plan.text
    assert plan.sure


# ---------------------------------------------------------------------- rates that schedules give

SCHEDULED = """\
import tensorflow as tf
model = tf.keras.layers.Dense(1)
start = 0.01
rate = tf.keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
other = tf.keras.optimizers.schedules.ExponentialDecay(0.5, 10, 0.9)
opt = tf.keras.optimizers.SGD(rate)
ds = tf.data.Dataset.from_tensor_slices(tf.zeros([64, 2])).batch(4)
for epoch in range(40):
    for x in ds:
        with tf.GradientTape() as t:
            loss = tf.reduce_mean(model(x))
        opt.apply_gradients(zip(t.gradient(loss, model.trainable_variables), model.trainable_variables))
    now = rate(opt.iterations)
    if {}:
        break
"""
IN_A_GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
rows = np.load('x.npy')
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.01, step, 10, 0.9)
heat = tf.train.exponential_decay(0.5, step, 10, 0.9)
train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(256):
        _, now = sess.run([train_op, rate], {{x: rows[i * 4 : i * 4 + 4]}})
        if {}:
            break
"""


@pytest.mark.parametrize(
    ("text", "test", "after"),
    [
        (SCHEDULED, "rate(opt.iterations) < 0.005", "rate(opt.iterations) < 0.005 * hvd.size()"),
        (
            SCHEDULED,
            "0.005 > rate(opt.iterations).numpy()",
            "0.005 * hvd.size() > rate(opt.iterations).numpy()",
        ),
        (SCHEDULED, "now <= start / 10", "now <= start / 10 * hvd.size()"),
        (IN_A_GRAPH, "sess.run(rate) < 0.005", "sess.run(rate) < 0.005 * hvd.size()"),
        (IN_A_GRAPH, "rate.eval(session=sess) < 0.005", "rate.eval(session=sess) < 0.005 * hvd.size()"),
        (IN_A_GRAPH, "now < 0.005", "now < 0.005 * hvd.size()"),
    ],
)
def test_what_a_scheduled_rate_is_compared_with_is_multiplied(text: str, test: str, after: str) -> None:
    """Training ended after twice the rows, once the rate of two ranks was as low as one process's."""
    assert after in plan_of(text.format(test)).text


@pytest.mark.parametrize(
    ("text", "test"),
    [
        (SCHEDULED, "other(opt.iterations) < 0.005"),  # no optimizer's
        (SCHEDULED, "now < rate(0) / 10"),  # what it began with, scaled, too
        (SCHEDULED, "now < 0"),
        (IN_A_GRAPH, "sess.run(heat) < 0.005"),
        (IN_A_GRAPH, "sess.run(loss, {x: rows}) < 0.005"),
    ],
)
def test_what_other_numbers_are_compared_with_is_left(text: str, test: str) -> None:
    after = plan_of(text.format(test)).text
    assert test in after
    assert f"{test} * hvd.size()" not in after
