"""G4: loops that only repeat a step take turns in the loop that counts their rounds."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

NETS = """\
import tensorflow as tf
maker = tf.keras.Sequential([tf.keras.layers.Dense(4)])
critic = tf.keras.Sequential([tf.keras.layers.Dense(1)])
first, second = tf.keras.optimizers.Adam(0.1), tf.keras.optimizers.Adam(0.1)
def maker_step(x):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(maker(x)))
    first.apply_gradients(zip(tape.gradient(loss, maker.trainable_variables), maker.trainable_variables))
def critic_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(critic(maker(x))) - tf.reduce_mean(critic(x))
    second.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
def train(batches, rows, rounds, of_maker, of_critic):
    for turn in range(rounds):
        for _ in range({maker}):
            maker_step(next(batches))
        for _ in range({critic}):
            critic_step(next(batches))
        if turn % 100 == 0:
            maker.save_weights("maker")
"""
CALLED = "train(iter(load()), 640, 1000, 5, 10)\n"


def text(maker: str, critic: str, called: str = CALLED) -> str:
    return plan_of(NETS.format(maker=maker, critic=critic) + called).text


@pytest.mark.parametrize("counts", [("of_maker", "of_critic"), ("of_maker", "30"), ("20", "of_critic + 1")])
def test_how_often_each_takes_its_turn_stays(counts: tuple[str, str]) -> None:
    after = text(*counts)
    assert "for turn in range(rounds // hvd.size()):" in after
    assert f"for _ in range({counts[0]}):" in after
    assert f"for _ in range({counts[1]}):" in after
    assert "if turn % max(1, 100 // hvd.size()) == 0 and hvd.rank() == 0:" in after


@pytest.mark.parametrize("count", ["rows // 16", "int(rows / 16)"])
def test_how_many_batches_there_are_is_divided(count: str) -> None:
    after = text(count, count)
    assert "for turn in range(rounds):" in after
    assert after.count("// hvd.size()") == 2


def test_one_loop_alone_counts_its_steps() -> None:
    source = NETS.replace("        for _ in range({critic}):\n            critic_step(next(batches))\n", "")
    after = plan_of(source.format(maker="of_maker", critic="") + CALLED.replace("5", "50")).text
    assert "for turn in range(rounds):" in after
    assert "for _ in range(max(1, of_maker // hvd.size())):" in after


NUMBERED = """\
import tensorflow as tf
model, opt = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.SGD(0.1)
def train(batches, others, total):
    for i, x in zip({zipped}):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model({fed}))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        if i % 1000 == 0:
            model.save_weights("m")
train(list(load()), list(load()), 9000)
"""


@pytest.mark.parametrize(
    ("zipped", "fed", "after"),
    [
        ("range(total), batches", "x", "zip(range(total // hvd.size()), shard_batches(batches))"),
        (
            "range(total), batches",
            "others[i] + x",
            "shard_batches(zip(range(total), batches))",
        ),  # its number selects
        ("batches, others", "i + x", "shard_batches(zip(batches, others))"),
    ],
)
def test_a_number_beside_batches_counts_the_turns_of_a_rank(zipped: str, fed: str, after: str) -> None:
    text = plan_of(NUMBERED.format(zipped=zipped, fed=fed)).text
    assert f"for i, x in {after}:" in text
    if "range(total //" in after:
        assert "if i % max(1, 1000 // hvd.size()) == 0 and hvd.rank() == 0:" in text


EPOCH = """\
{noise}
K = int(np.load("k.npy"))
def epoch(repeats):
    for turn in range(1000):
        idx = np.random.randint(0, len(a), 16)
        rows, targets = a[idx], b[idx]
        for _ in range({times}):
            z = {draw}(16)
            step(rows, targets + z)
{more}
for e in range(10):
    epoch(K)
"""
SECOND = "        for _ in range(repeats):\n            z = {draw}(16)\n            step(rows + z, targets)\n"


@pytest.mark.parametrize(
    "noise",
    [
        "return np.random.uniform(-1.0, 1.0, size=(n, 4))",
        "return np.random.normal(size=(n, 4)).astype('float32')",
        "return tf.random.normal((n, 4))",
        "z = np.random.randn(n, 4)\n    return z",
        "if n > 4:\n        return np.random.uniform(size=(n, 4))\n    return np.random.normal(size=(n, 4))",
    ],
)
@pytest.mark.parametrize("times", ["K", "repeats"])
@pytest.mark.parametrize("draw", ["random_vector", "sample_z"])
def test_what_draws_only_noise_is_no_loop_over_data(noise: str, times: str, draw: str) -> None:
    source = EPOCH.format(noise=f"def {draw}(n):\n    {noise}", times=times, draw=draw, more="")
    text = plan_of(TAPE + source).text
    assert "for turn in range(1000 // hvd.size()):" in text
    assert f"for _ in range({times}):" in text  # each batch is learnt from as often as alone


@pytest.mark.parametrize(
    "noise",
    [
        "return a[np.random.randint(0, 9, n)]",  # rows
        "return np.random.normal(a[0], 1.0, (n, 4))",  # around rows
        "return tf.random.normal((n, 4), a[0])",
        "return draws(n)",  # of something that can't be seen
    ],
)
def test_a_near_miss_may_draw_rows(noise: str) -> None:
    source = EPOCH.format(
        noise=f"def random_vector(n):\n    {noise}", times="K", draw="random_vector", more=""
    )
    source = source.replace("        idx = np.random.randint(0, len(a), 16)\n", "").replace(
        "a[idx], b[idx]", "a, b"
    )
    assert "for _ in range(max(1, K // hvd.size())):" in plan_of(TAPE + source).text


def test_loops_that_take_turns_in_a_function_that_a_loop_below_calls_are_rounds() -> None:
    source = EPOCH.format(noise="", times="K", draw="random_batch", more=SECOND.format(draw="random_batch"))
    text = plan_of(TAPE + source.replace("rows, targets = a[idx], b[idx]", "rows, targets = data.get()")).text
    assert "for _ in range(K):" in text
    assert "for _ in range(repeats):" in text
    assert "for turn in range(1000 // hvd.size()):" in text


def test_rounds_of_several_functions_are_divided_each() -> None:
    head = "    for turn in range(rounds):\n"
    nets = NETS.replace(head, head + "        given = batches.get()\n").replace("next(batches)", "given")
    again = nets[nets.index("def train(") :].replace("def train(", "def warm_up(")
    source = (nets + again).format(maker="of_maker", critic="of_critic")
    after = plan_of(source + CALLED.replace("5, 10", "50, 30") + "warm_up(load(), 640, 1000, 50, 30)\n").text
    assert after.count("for turn in range(rounds // hvd.size()):") == 2
    assert after.count("for _ in range(of_critic):") == 2
