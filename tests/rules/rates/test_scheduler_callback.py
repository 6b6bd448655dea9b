"""K5: a rate that a callback sets each epoch is scaled, unless it is made from the rate that is set already."""

from __future__ import annotations

import pytest

from ..pairs import FIT, MODEL, changes, check, doubts, plan_of, untouched

HEAD = (
    MODEL
    + "from tensorflow.keras.callbacks import LearningRateScheduler as S, ReduceLROnPlateau\nmodel.compile('sgd')\n"
)
TAIL = "model.fit(x, y, callbacks=[k])\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("k = S(lambda epoch: 0.1 * 0.5 ** epoch)", "k = S(lambda epoch: 0.1 * 0.5 ** epoch * hvd.size())"),
        ("k = S(lambda e: a + b)", "k = S(lambda e: (a + b) * hvd.size())"),
        ("k = S(schedule=lambda e: 0.1, verbose=1)", "k = S(schedule=lambda e: 0.1 * hvd.size(), verbose=1)"),
        ("def f(epoch):\n    return 0.1 / (epoch + 1)\nk = S(f)",
         "def f(epoch):\n    return 0.1 / (epoch + 1) * hvd.size()\nk = S(f)"),
        ("def f(epoch):\n    if epoch < 3:\n        return 0.1\n    return 0.01\nk = S(f)",
         "def f(epoch):\n    if epoch < 3:\n        return 0.1 * hvd.size()\n    return 0.01 * hvd.size()\nk = S(f)"),
        ("def f(epoch):\n    rate = 0.1\n    if epoch > 3:\n        rate *= 0.5\n    return rate\nk = S(f)",
         "def f(epoch):\n    rate = 0.1\n    if epoch > 3:\n        rate *= 0.5\n    return rate * hvd.size()\nk = S(f)"),
        ("f = lambda e: 0.1\nk = S(f)", "f = lambda e: 0.1 * hvd.size()\nk = S(f)"),
        ("def f(epoch, lr):\n    if epoch < 3:\n        return 0.1\n    return lr * 0.9\nk = S(f)",
         "def f(epoch, lr):\n    if epoch < 3:\n        return 0.1 * hvd.size()\n    return lr * 0.9\nk = S(f)"),
        ("def make(peak):\n    def f(epoch):\n        return peak / (1 + epoch)\n    return f\nk = S(make(0.1))",
         "def make(peak):\n    def f(epoch):\n        return peak / (1 + epoch) * hvd.size()\n    return f\nk = S(make(0.1))"),
        ("def f(epoch):\n    return 0.1\nprint(f(3))\nk = S(f)",
         "def f(epoch):\n    return 0.1\nprint(f(3))\nk = S(lambda epoch: f(epoch) * hvd.size())"),
        ("k = ReduceLROnPlateau(min_lr=1e-5)", "k = ReduceLROnPlateau(min_lr=1e-5 * hvd.size())"),
        ("k = ReduceLROnPlateau('loss', 0.1, 10, 0, 'auto', 1e-4, 0, a + b)",
         "k = ReduceLROnPlateau('loss', 0.1, 10, 0, 'auto', 1e-4, 0, (a + b) * hvd.size())"),
    ],
)  # fmt: skip
def test_an_absolute_rate_is_multiplied(before: str, after: str) -> None:
    check("K5", HEAD, before, after, TAIL)


@pytest.mark.parametrize(
    "before",
    [
        "k = S(lambda epoch, lr: lr * 0.9)",
        "def f(epoch, lr):\n    return lr * 0.9 if epoch > 3 else lr\nk = S(f)",
        "def f(epoch, rate):\n    slower = rate * 0.9\n    return slower\nk = S(f)",
        "k = ReduceLROnPlateau(factor=0.2, patience=3)",
        "k = ReduceLROnPlateau(min_lr=0)",
        "k = tf.keras.callbacks.EarlyStopping(patience=3)",
    ],
)
def test_what_goes_from_the_given_rate_is_left(before: str) -> None:
    untouched("K5", HEAD + before + "\n" + TAIL)


def test_a_function_of_two_schedulers_is_scaled_once() -> None:
    source = HEAD + "def f(epoch):\n    return 0.1\nk, m = S(f), S(f)\nmodel.fit(x, y, callbacks=[k, m])\n"
    assert plan_of(source).text.count("return 0.1 * hvd.size()") == 1


def test_a_method_counts_its_parameters_without_self() -> None:
    source = HEAD + (
        "class T:\n    def rate(self, epoch):\n        return 0.1\n"
        "    def train(self):\n        k = S(self.rate)\n        model.fit(x, y, callbacks=[k])\nT().train()\n"
    )
    assert "        return 0.1 * hvd.size()\n" in plan_of(source).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from mine import f\nk = S(f)", "from mine import f\nk = S(lambda *given: f(*given) * hvd.size())"),
        (
            "import mine\nk = S(mine.make(3))",
            "import mine\nk = S(lambda *given, schedule=mine.make(3): schedule(*given) * hvd.size())",
        ),
    ],
)
def test_what_can_not_be_seen_into_is_called_and_asked_about(before: str, after: str) -> None:
    plan = check("K5", HEAD, before, after, TAIL)
    assert doubts(plan, "K5")


def test_the_rate_of_the_optimizer_is_scaled_besides() -> None:
    plan = plan_of(HEAD.replace("'sgd'", "o.SGD(0.1)") + "k = S(lambda e: 0.1)\n" + TAIL)
    assert len(changes(plan, "C5")) == len(changes(plan, "K5")) == 1


def test_a_program_without_scheduler_is_left() -> None:
    untouched("K5", HEAD + FIT)


OBJECT = """\
class Steps:
    def __init__(self, rate):
        self.rate = rate
    def __call__(self, epoch, lr=None):
        if epoch < 3:
            return self.rate
        return {}
k = S(Steps(0.1))
"""


@pytest.mark.parametrize(
    ("last", "asked"),
    [("self.rate * 0.1", False), ("lr * 0.5", True)],
)
def test_an_object_of_the_programs_own_is_looked_into(last: str, asked: bool) -> None:
    plan = plan_of(HEAD + OBJECT.format(last) + TAIL)
    assert "k = S(lambda *given, schedule=Steps(0.1): schedule(*given) * hvd.size())\n" in plan.text
    assert any("can't be seen into" in c.doubt for c in plan.changes) is asked


def test_an_object_that_goes_on_from_the_rate_it_is_given_stays() -> None:
    source = OBJECT.format("lr * 0.5").replace("return self.rate", "return lr")
    assert "k = S(Steps(0.1))\n" in plan_of(HEAD + source + TAIL).text


OWN = """\
import tensorflow as tf
class ByBatch(tf.keras.callbacks.LearningRateScheduler):
    count = 0
{base}    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate.assign(self.schedule(self.count))
        self.count += 1
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(x, y, callbacks=[ByBatch(lambda n: 0.1 * 0.99 ** n)])
"""


def test_a_class_that_sets_the_rate_itself_multiplies_it_once() -> None:
    text = plan_of(OWN.format(base="    def on_epoch_begin(self, epoch, logs=None):\n        pass\n")).text
    assert "assign(self.schedule(self.count * hvd.size()) * hvd.size())" in text
    assert "ByBatch(lambda n: 0.1 * 0.99 ** n)]" in text


def test_one_that_lets_keras_set_it_has_its_function_multiplied() -> None:
    base = (
        "    def on_epoch_begin(self, epoch, logs=None):\n        super().on_epoch_begin(epoch + 1, logs)\n"
    )
    source = OWN.format(base=base).split("    def on_train_batch_begin")[0] + OWN[OWN.index("model = ") :]
    assert "ByBatch(lambda n: 0.1 * 0.99 ** n * hvd.size())]" in plan_of(source).text
