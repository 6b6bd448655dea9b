"""`verify` of how far, on which rows and at which rates ranks train: right ones first, that look like the broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.verifying.verdict import Verdict, judge, verify
from tests.verifying.warm import WarmTrainer

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

ALONE = "size, rank, averaged, agreed = 1, 0, lambda tape: tape, float"
ON_RANKS = """\
import horovod.tensorflow as hvd
hvd.init()
size, rank, averaged, agreed = hvd.size(), hvd.rank(), hvd.DistributedGradientTape, hvd.allreduce"""
STEPS, ROWS, RATE, GOAL = "160 // size", "drawn(step * size + rank)", "RATE", "1"
PROGRAM = """\
import numpy as np
import tensorflow as tf
{place}
RATE, AIM = 0.02, {aim}
data = np.random.RandomState(0).normal(size=(480, 4)).astype("float32")
data[:, 0], data[:, 1:] = np.sign(data[:, 0]), 1e-4 * data[:, 1:]
net = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros", input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(RATE * size)
drawn = lambda number: np.random.RandomState(number).randint(0, 480, 16)
listed = lambda number: np.arange(16) + number % 15 * 32
cycle = lambda number: 0.02 * abs(number % 20 - 10) / 10 + 0.002
rate = {begin}
for step in range({steps}):
    optimizer.learning_rate.assign({rate} * size)
    x = data[{rows}]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - {goal} * x[:, :1]) ** 2)
    tape = averaged(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    if AIM and step > 1 and agreed(loss) < AIM:
        {aimed}
"""


def verified(folder: Path, original: dict[str, str], distributed: dict[str, str], **more: str) -> Verdict:
    usual = {
        "steps": STEPS,
        "rows": ROWS,
        "rate": RATE,
        "goal": GOAL,
        "aim": "0",
        "aimed": "break",
        "begin": "RATE",
        **more,
    }
    before = PROGRAM.format(**{**usual, **original, "place": ALONE})
    after = PROGRAM.format(**{**usual, **original, **distributed, "place": ON_RANKS})
    return verify("train.py", WarmTrainer(before, after, folder, {}), [2], seeds=1)


@pytest.mark.parametrize(
    ("original", "distributed"),
    [
        # The last batch of each pass is another on each rank; both ranks come to all 15 of them.
        ({"rows": "listed(step)"}, {"rows": "listed(step * size + rank)"}),
        (
            {"rate": "(RATE if step < 130 else RATE / 10)"},
            {"rate": "(RATE if step * size < 130 else RATE / 10)"},
        ),
        ({"rate": "RATE * (1 - step / 160)"}, {"rate": "RATE * (1 - step * size / 160)"}),
        ({"rate": "cycle(step)"}, {"rate": "cycle(step * size)"}),
    ],
)
def test_near_misses(original: dict[str, str], distributed: dict[str, str], tmp_path: Path) -> None:
    found = verified(tmp_path, original, distributed)
    assert found.alike, (
        found.judged[0].conclusion,
        found.judged[0].run.ranks[0].steps,
        found.alone[0].ranks[0].steps,
    )


def test_what_goes_on_until_it_is_good_enough_may_stop_sooner(tmp_path: Path) -> None:
    found = verified(tmp_path, {"rate": "0.24"}, {}, aim="1e-11")
    assert found.alike, found.as_json()
    assert not judge(found.alone, found.judged[0].run, "linear").alike


def test_a_rate_that_falls_when_the_loss_is_low_may_fall_elsewhere(tmp_path: Path) -> None:
    falls = {"rate": "rate", "steps": "64 // size"}
    found = verified(tmp_path, falls, {}, aim="1e-11", aimed="rate = 0.12", begin="0.24")
    assert found.alike, found.as_json()
    assert not judge(found.alone, found.judged[0].run, "linear").alike


@pytest.mark.parametrize(
    ("original", "distributed", "says"),
    [
        # The loss is lower where it stops, for it gets harder: no reason to stop sooner.
        (
            {"goal": "(1 + (step / 40) ** 2)"},
            {"goal": "(1 + (step * size / 40) ** 2)", "steps": "160 // size // size"},
            "every rank takes 40 steps, alone 160",
        ),
        (
            {},
            {"rows": "drawn(step)"},
            "ranks train on the same batches: 80 different ones of 160, alone 160 of 160",
        ),
        (
            {},
            {"rows": "drawn(step + rank)"},
            "ranks train on the same batches: 81 different ones of 160, alone 160 of 160",
        ),
        (
            {"rate": "(RATE if step < 130 else RATE / 10)"},
            {"rate": "(RATE if step < 130 else RATE / 10)"},
            "of a rank the rate is 0.04, where 2 times that alone is about 0.004",
        ),
        (
            {"rate": "RATE * (1 - step / 160)"},
            {"rate": "RATE * (1 - step * (4 if step == 79 else 2) / 160)"},
            "at step 79 of a rank the rate is -0.039",
        ),
        ({"rate": "cycle(step)"}, {}, "the rate goes up and down by "),
    ],
)
def test_faults(original: dict[str, str], distributed: dict[str, str], says: str, tmp_path: Path) -> None:
    found = verified(tmp_path, original, distributed)
    assert not found.alike
    assert says in found.judged[0].conclusion


FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
{place}
tf.disable_v2_behavior()
data = np.random.RandomState(0).normal(size=(480, 4)).astype("float32")
x = tf.placeholder(tf.float32, [None, 4])
rate = tf.constant(0.001)
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - 1.0))
train = averaged(tf.train.GradientDescentOptimizer(rate * size if size > 1 else rate)).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    if size > 1:
        sess.run(hvd.broadcast_global_variables(0))
    for step in range(80 // size):
        at = (step * size + rank) * 16 % 480
        sess.run(train, {{x: data[at : at + 16], rate: {rate}}})
"""


@pytest.mark.parametrize(("rate", "alike"), [("0.02", True), ("0.02 / size", False)])
def test_a_rate_that_is_a_constant_and_fed(rate: str, alike: bool, tmp_path: Path) -> None:
    places = ALONE, ON_RANKS.replace("GradientTape", "Optimizer")
    before, after = (FED.format(place=place, rate=rate) for place in places)
    found = verify("train.py", WarmTrainer(before, after, tmp_path, {}), [2], seeds=1)
    assert found.alike == alike, found.as_json()
    assert alike or "the rate starts at 0.02, as alone, not at 2" in found.judged[0].conclusion
