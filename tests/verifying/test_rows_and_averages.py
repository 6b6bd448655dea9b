"""Which rows ranks have, where these are others each time; whether they come from one source; and whether gradients are
averaged, by what is applied."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from horovodize.options import Options
from horovodize.running.prepared import prepare
from horovodize.verifying.averaging import added_up
from horovodize.verifying.parity import same_source
from horovodize.verifying.runs import Run
from horovodize.verifying.verdict import judge, verify
from tests.verifying.made import alone, rank, run, two
from tests.verifying.warm import WarmTrainer

# ---------------------------------------------------------------------- averaged or added up


def _steps(own: list[list[float]], times: float, off: float = 0.0) -> list[dict[str, Any]]:
    """What each rank reports of a step that applies some times the mean of the ranks' gradients."""
    middle = [times * sum(column) / len(own) + off for column in zip(*own, strict=True)]
    return [{"averaging": [{"own": values, "applied": middle}]} for values in own]


OWN = [[1.0, -2.0, 0.5], [3.0, 0.0, 0.25]]


@pytest.mark.parametrize(
    ("times", "off", "sums", "summed"),
    [
        (1.0, 0.0, 0, False),
        (1.0, 0.0, 10, False),  # added up, and divided by hand
        (2.0, 0.0, 10, True),
        (2.0, 0.0, 0, True),  # gathered and added up by hand
        (0.5, 0.0, 10, False),
        (1.0, 0.7, 10, True),  # clipped, or of several batches: what ran says it
        (1.0, 0.7, 0, False),
    ],
)
def test_what_is_applied_tells_whether_it_is_averaged(
    times: float, off: float, sums: int, summed: bool
) -> None:
    first, second = _steps(OWN, times, off)
    assert added_up(two(sums=sums, **first, second=second)) is summed
    assert not added_up(run(rank(sums=sums, **first)))


def test_a_rank_that_saw_other_variables_says_nothing() -> None:
    first, second = _steps(OWN, 1.0)
    second["averaging"][0]["own"] = [1.0]
    assert added_up(two(sums=10, **first, second=second))
    assert not added_up(two(sums=0, **first, second=second))


# ---------------------------------------------------------------------- one source of rows


def _rows(counts: Counter[str]) -> Run:
    return run(rank(rows=dict(counts)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("population", [10, 200, 100_000])
def test_rows_that_are_drawn_by_chance_come_from_one_source(population: int, seed: int) -> None:
    draw = random.Random(seed)
    one, other = (Counter(str(draw.randrange(population)) for _ in range(number)) for number in (640, 320))
    assert same_source(_rows(one), _rows(other))


def test_rows_that_are_dealt_or_new_come_from_one_source() -> None:
    passes = Counter({str(n): 8 for n in range(100)})
    assert same_source(_rows(passes), _rows(Counter({str(n): 4 for n in range(100)})))
    assert same_source(_rows(Counter(map(str, range(100)))), _rows(Counter(map(str, range(100, 180)))))
    assert same_source(run(rank(rows={})), _rows(passes))  # not seen


def test_rows_of_a_game_do_not() -> None:
    """What a memory holds is drawn many times, and the moves of another rank have filled it with other rows."""
    one = Counter({"left": 300, "middle": 200, "right": 12})
    assert not same_source(_rows(one), _rows(Counter({"left": 20, "middle": 150, "right": 342})))
    replayed = Counter({f"state {n}": 8 for n in range(60)})
    assert not same_source(_rows(replayed), _rows(Counter({f"state {n}": 8 for n in range(60, 120)})))


@pytest.mark.parametrize("game", [False, True])
def test_a_loss_of_other_rows_is_no_other_multiple(game: bool) -> None:
    def train(which: str, size: int, seed: int) -> Run:
        if which.startswith("original"):
            return run(rank(losses=[1.0] * 20, rows={"left": 70, "right": 10}))
        rows = {"left": 5, "right": 35} if game else {"left": 35, "right": 5}
        return two(losses=[0.5] * 10, rows=rows, second={"rows": rows}, batch=4)

    found = verify("train.py", train, [2], seeds=1)
    assert found.alike == game, found.judged[0].conclusion
    assert any("as those of a game" in note for note in found.judged[0].parity.notes) == game


def _drawn(first: int, number: int, again: int) -> dict[str, int]:
    """Rows that are drawn without end, of which some come twice by chance."""
    return {f"row {n}": 2 if n % 200 < again else 1 for n in range(first, first + number)}


@pytest.mark.parametrize(("again", "alike"), [(0, True), (1, True), (100, False)])
def test_ranks_draw_rows_of_their_own(again: int, alike: bool) -> None:
    """Of 20,000 numbers of 24 bits a few are the same; of a data set many are, and other ranks have those, too."""
    original = alone(rows=_drawn(0, 400, again), steps=100)
    mine, its = _drawn(0, 200, again), _drawn(1000, 200, again)
    found = judge(original, two(rows=mine, steps=50, second={"rows": its}), "linear")
    (check,) = (check for check in found.checks if check.name == "the rows are divided")
    assert (not check.broken) == alike, check


# ---------------------------------------------------------------------- rows that are others each time


def _part(rows: dict[str, int], marks: list[str], batch: int = 4) -> dict[str, Any]:
    steps = len(marks)
    fresh = [max(0, min(batch, len(rows) - batch * step)) for step in range(steps)]
    return {"rows": rows, "batches": [batch] * steps, "marks": marks, "fresh": fresh}


def _new(number: int, rows: range, labels: str = "row") -> dict[str, Any]:
    """A rank whose inputs are new each time; its labels tell rows apart, or are only a few."""
    inputs = {f"noise {number} {n}": 1 for n in range(len(rows))}
    known = Counter(f"row {n}" if labels == "row" else f"class {n % 3}" for n in rows)
    marks = [f"labels {n}" for n in rows[::4]]
    own = [f"noise {number} {n}" for n in range(len(marks))]
    return {"rows": inputs, "marks": own, "parts": [_part(inputs, own), _part(dict(known), marks)]}


@pytest.mark.parametrize("labels", ["row", "class"])
@pytest.mark.parametrize("seeds", [1, 3])
def test_ranks_that_share_rows_under_noise_are_told_by_their_labels(labels: str, seeds: int) -> None:
    """By classes they can't be: shares of rows that lie by class have the same ones in each batch."""
    original = alone(**_new(9, range(80), labels))[:seeds]
    first, second = _new(0, range(40), labels), _new(1, range(40), labels)
    found = judge(original, two(**first, second=second), "linear")
    (check,) = (check for check in found.checks if check.name == "the rows are divided")
    assert bool(check.broken) == (labels == "row"), check
    assert any("isn't seen" in note for note in check.notes) == (labels == "class")


@pytest.mark.parametrize("labels", ["row", "class"])
@pytest.mark.parametrize("seeds", [1, 3])
def test_ranks_with_rows_of_their_own_under_noise_are_right(labels: str, seeds: int) -> None:
    original = alone(**_new(9, range(80), labels))[:seeds]
    first, second = _new(0, range(40), labels), _new(1, range(40, 80), labels)
    found = judge(original, two(**first, second=second), "linear")
    assert found.alike, found.conclusion
    (check,) = (check for check in found.checks if check.name == "the rows are divided")
    assert any("others each time" in note for note in check.notes)
    assert any("isn't seen" in note for note in check.notes) == (labels == "class")


def test_numbers_of_a_ranks_own_make_no_rows_of_another() -> None:
    """Some pipelines number the rows that they give: each rank from 0."""

    def numbered(rows: range) -> dict[str, Any]:
        numbers = {f"number {n}": 1 for n in range(len(rows))}
        both = {f"{n} {row}": 1 for n, row in enumerate(rows)}
        marks = [f"batch {row}" for row in rows[::4]]
        parts = [_part(numbers, marks), _part({f"row {row}": 1 for row in rows}, marks)]
        return {"rows": both, "marks": [f"{len(rows)} {mark}" for mark in marks], "parts": parts}

    first, second = numbered(range(1, 80, 2)), numbered(range(0, 80, 2))
    assert judge(alone(**numbered(range(80))), two(**first, second=second), "linear").alike


# ---------------------------------------------------------------------- trained

BY_HAND = """import numpy as np
import tensorflow as tf
HOROVOD
x = np.random.RandomState(0).rand(256, 4).astype("float32")
rows = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True)))SHARD.shuffle(256)NOISE.batch(16)
net = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(RATE)
BROADCAST

@tf.function
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(a) - b))
    gradients = tape.gradient(loss, net.trainable_variables)
    AVERAGE
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))


for epoch in range(4):
    for a, b in rows:
        step(a, b)
"""
NOISE = ".map(lambda a, b: (a + tf.random.normal([4], stddev=0.01), b))"
SHARD = ".shard(hvd.size(), hvd.rank())"


def _alone(noise: str = "") -> str:
    text = BY_HAND.replace("NOISE", noise).replace("SHARD", "").replace("RATE", "0.05")
    return text.replace("HOROVOD", "").replace("BROADCAST", "").replace("AVERAGE", "pass")


def _on_ranks(average: str, noise: str = "", shard: str = SHARD, steps: str = "") -> str:
    text = BY_HAND.replace("NOISE", noise).replace("SHARD", shard).replace("RATE", "0.05 * hvd.size()")
    text = text.replace("HOROVOD", "import horovod.tensorflow as hvd\nhvd.init()")
    text = text.replace("BROADCAST", "hvd.broadcast_variables(net.variables, root_rank=0)")
    return text.replace("AVERAGE", average).replace("in rows:", f"in rows{steps}:")


@pytest.mark.training
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("average", "alike"),
    [
        ("[hvd.allreduce(g, op=hvd.Sum) / hvd.size() for g in gradients]", True),
        ("[hvd.allreduce(g / hvd.size(), op=hvd.Sum) for g in gradients]", True),
        ("[hvd.allreduce(g, op=hvd.Sum) for g in gradients]", False),
        ("[tf.reduce_sum(hvd.allgather(g[tf.newaxis]), 0) for g in gradients]", False),
    ],
)
def test_sums_that_are_divided_by_hand_are_averages(average: str, alike: bool, tmp_path: Path) -> None:
    trainer = WarmTrainer(_alone(), _on_ranks(f"gradients = {average}"), tmp_path, {})
    found = verify("train.py", trainer, [2], seeds=1)
    assert found.alike == alike, found.judged[0].conclusion
    assert alike or "added up, not averaged" in found.judged[0].conclusion


@pytest.mark.training
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("shard", "alike"), [(SHARD, True), ("", False)])
def test_ranks_on_the_same_rows_with_noise(shard: str, alike: bool, tmp_path: Path) -> None:
    average = "gradients = [hvd.allreduce(g) for g in gradients]"
    steps = "" if shard else ".take(16 // hvd.size())"
    seeded = "tf.random.set_seed(1)\nx = "  # the ranks shuffle alike
    original, distributed = _alone(NOISE), _on_ranks(average, NOISE, shard, steps)
    if not shard:
        distributed = distributed.replace("x = ", seeded, 1).replace("[4], stddev", "[4], hvd.rank(), stddev")
    found = verify("train.py", WarmTrainer(original, distributed, tmp_path, {}), [2], seeds=1)
    assert found.alike == alike, found.judged[0].conclusion


@pytest.mark.training
@pytest.mark.timeout(300)
def test_a_game_from_memory_trains_the_same(tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "programs" / "session" / "replay_memory.py"
    imported, text = "import tensorflow as tf", script.read_text(encoding="utf-8")
    v1 = "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()"
    made = prepare(script, Options())
    original, distributed = (one.replace(imported, v1) for one in (text, made.main.text))
    trainer = WarmTrainer(original, distributed, tmp_path, {}, beside=tuple(made.beside))
    found = verify("replay_memory.py", trainer, [2], seeds=2)
    assert found.alike, found.judged[0].conclusion
