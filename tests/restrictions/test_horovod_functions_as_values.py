"""Functions that are passed, kept and wrapped, and modes by which a function trains: what one call runs, another doesn't."""

from __future__ import annotations

import pytest

from .helpers import codes

HEAD = """\
import enum
import functools
import time
import tensorflow as tf
import horovod.tensorflow as hvd
from data import batches, model, valid

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def valid_step(x, y):
    return tf.reduce_mean((model(x) - y) ** 2)


"""
TIMED = """\
def timed(function, *args):
    began = time.time()
    return function(*args), time.time() - began


for x, y in batches:
    timed(train_step, x, y)
    if hvd.rank() == 0:
        print(timed(STEP, x, y))
"""
WRAPPED = """\
def compiled(function, xla=None):
    if hasattr(function, "python_function"):
        return function
    return tf.function(function, jit_compile=xla)


def rewrapped(function):
    if hasattr(function, "python_function"):
        return tf.function(function.python_function)
    return tf.function(function)


training = rewrapped(compiled(train_step))
checking = rewrapped(compiled(STEP))
for x, y in batches:
    training(x, y)
    if hvd.rank() == 0:
        print(checking(x, y))
"""
LOGGED = """\
def logged(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


training, checking = logged(train_step), logged(STEP)
for x, y in batches:
    training(x, y)
    if hvd.rank() == 0:
        print(checking(x, y))
"""
PARTIAL = """\
def run(function, rows):
    return [function(x, y) for x, y in rows]


train = functools.partial(run, train_step)
check = functools.partial(run, STEP)
for epoch in range(3):
    train(batches)
    if hvd.rank() == 0:
        print(check(valid))
"""
FIELD = """\
class Loop:
    def __init__(self, function):
        self.function = function

    def run(self, rows):
        return [float(self.function(x, y)) for x, y in rows]


train, check = Loop(train_step), Loop(STEP)
for epoch in range(3):
    train.run(batches)
    if hvd.rank() == 0:
        print(check.run(valid))
"""
TEMPLATE = """\
class Loop:
    def step(self, x, y):
        raise NotImplementedError

    def run(self, rows):
        for x, y in rows:
            self.step(x, y)


class Train(Loop):
    def step(self, x, y):
        return train_step(x, y)


class Check(Loop):
    def step(self, x, y):
        return STEP(x, y)


for epoch in range(3):
    Train().run(batches)
    if hvd.rank() == 0:
        Check().run(valid)
"""
GLOBAL = """\
def compiled(function):
    return tf.function(function)


def validate():
    global valid_step
    valid_step = compiled(STEP)
    return [valid_step(x, y) for x, y in valid]


def main():
    global train_step
    train_step = compiled(train_step)
    for x, y in batches:
        train_step(x, y)
        if hvd.rank() == 0:
            print(validate())


main()
"""


@pytest.mark.parametrize("text", [TIMED, WRAPPED, LOGGED, PARTIAL, FIELD, TEMPLATE, GLOBAL])
def test_rank_0_runs_the_function_that_this_call_was_given(text: str) -> None:
    assert not codes(HEAD + text.replace("STEP", "valid_step")) & {"HVD313", "HVD331"}


@pytest.mark.parametrize("text", [TIMED, WRAPPED, LOGGED, PARTIAL, FIELD, TEMPLATE])
def test_rank_0_alone_is_given_the_one_that_trains(text: str) -> None:
    assert codes(HEAD + text.replace("STEP", "train_step")) & {"HVD313", "HVD331"}


MODES = """\
MODES
def run(rows, mode="train"):
    for x, y in rows:
        if TEST:
            train_step(x, y)
        else:
            valid_step(x, y)


for epoch in range(3):
    run(batches, TRAIN)
    if hvd.rank() == 0:
        run(valid, GIVEN)
"""
NAMED = "TRAINING, CHECKING = 0, 1"
ENUM = "class Mode(enum.Enum):\n    TRAIN = enum.auto()\n    CHECK = enum.auto()"


@pytest.mark.parametrize(
    ("modes", "test", "train", "check"),
    [
        ("", 'mode == "train"', '"train"', '"valid"'),
        ("", 'mode != "valid"', '"train"', '"valid"'),
        ("", 'mode in ("train", "warm up")', '"train"', 'mode="valid"'),
        (NAMED, "mode == TRAINING", "TRAINING", "CHECKING"),
        (ENUM, "mode is Mode.TRAIN", "Mode.TRAIN", "Mode.CHECK"),
        (ENUM, "mode == Mode.TRAIN", "mode=Mode.TRAIN", "mode=Mode.CHECK"),
        (
            "",
            "mode == tf.estimator.ModeKeys.TRAIN",
            "tf.estimator.ModeKeys.TRAIN",
            "tf.estimator.ModeKeys.EVAL",
        ),
    ],
)
def test_a_mode_in_which_nothing_is_exchanged(modes: str, test: str, train: str, check: str) -> None:
    text = HEAD + MODES.replace("MODES", modes).replace("TEST", test).replace("TRAIN)", train + ")")
    assert not codes(text.replace("GIVEN", check)) & {"HVD313", "HVD331"}
    assert codes(text.replace("GIVEN", train)) & {"HVD313", "HVD331"}


STAGES = """\
class Stage:
    def __init__(self, training=True):
        self.training = training

    def run(self, rows):
        for x, y in rows:
            if self.training:
                train_step(x, y)
            else:
                valid_step(x, y)


train, check = Stage(), Stage(GIVEN)
for epoch in range(3):
    train.run(batches)
    if hvd.rank() == 0:
        SET
        check.run(valid)
"""


@pytest.mark.parametrize(
    ("given", "set_before", "hangs"),
    [
        ("training=False", "pass", False),
        ("False", "pass", False),
        ("True", "pass", True),
        ("", "check.training = False", False),
        ("", "check.training = True", True),
    ],
)
def test_the_mode_of_an_object(given: str, set_before: str, hangs: bool) -> None:
    found = codes(HEAD + STAGES.replace("GIVEN", given).replace("SET", set_before))
    assert bool(found & {"HVD313", "HVD331"}) == hangs


RETRIED = """\
def retried(function, *args, times=3):
    for _ in range(times - 1):
        try:
            return function(*args)
        except OSError:
            pass
    return function(*args)


def write(text):
    with open("log.txt", "w") as file:
        file.write(text)


mean = float(retried(hvd.allreduce, tf.constant(1.0)))
if TEST:
    retried(write, str(mean))
"""
LAMBDAS = """\
tasks = [train_step]
for x, y in batches:
    for task in tasks:
        task(x, y)
network = tf.keras.Sequential([tf.keras.layers.Dense(1)])
reports = [lambda: print("done"), lambda: network.save_weights("w.h5")]
if TEST:
    for report in reports:
        report()
"""
SILENT = """\
class Writer:
    def write(self, text):
        with open("log.txt", "w") as file:
            file.write(text)


class Silent:
    def write(self, text):
        pass


log = Writer() if TEST else Silent()
for x, y in batches:
    log.write(str(float(train_step(x, y))))
"""


@pytest.mark.parametrize("text", [RETRIED, LAMBDAS, SILENT])
def test_what_rank_0_alone_writes(text: str) -> None:
    assert not codes(HEAD + text.replace("TEST", "hvd.rank() == 0")) & {"HVD314", "HVD332"}
    everyone = text.replace("TEST else Silent()", "True else Writer()").replace("TEST", "True")
    assert codes(HEAD + everyone) & {"HVD314", "HVD332"}


CHIEF = """\
class Chief:
    def report(self, loss):
        print(hvd.allreduce(loss))


class Worker:
    def report(self, loss):
        REPORT


role = Chief() if hvd.rank() == 0 else Worker()
for x, y in batches:
    role.report(train_step(x, y))
"""


@pytest.mark.parametrize(("report", "hangs"), [("pass", True), ("hvd.allreduce(loss)", False)])
def test_ranks_have_other_objects(report: str, hangs: bool) -> None:
    assert bool(codes(HEAD + CHIEF.replace("REPORT", report)) & {"HVD313", "HVD331"}) == hangs


GRADIENTS = """\
def own_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    if ASKED:
        gradients = [hvd.allreduce(g) if g is not None else None for g in gradients]
    pairs = [(g, v) for g, v in zip(gradients, model.trainable_variables) if g is not None]
    optimizer.apply_gradients(pairs)
    return hvd.allreduce(loss)


rows = read("rows.csv")[hvd.rank() :: hvd.size()]
for x, y in rows:
    own_step(x, y)
"""


@pytest.mark.parametrize(("asked", "hangs"), [("True", False), ("loss < 4.0", True)])
def test_the_network_decides_which_variables_have_gradients(asked: str, hangs: bool) -> None:
    assert ("HVD331" in codes(HEAD + GRADIENTS.replace("ASKED", asked))) == hangs
