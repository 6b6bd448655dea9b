"""How far runs may be apart: what rounding and division make of a right one is let pass, a little more is found."""

from __future__ import annotations

from typing import Any

import pytest

from horovodize.verifying.parity import far_enough, is_share, other_scale
from horovodize.verifying.runs import Run
from horovodize.verifying.tolerances import Passes, events, may_be_divided, of_weights, spread
from horovodize.verifying.verdict import Judged, judge, verify
from tests.verifying.made import alone, rank, run, snapshot, two


def faults(judged: Judged) -> str:
    return "\n".join(text for check in judged.checks for text in check.broken)


@pytest.mark.parametrize(
    ("steps", "ranks", "taken", "passes", "right"),
    [
        (200, 2, 100, 1, True),
        (200, 2, 101, 1, True),  # the last, as the loop counts
        (200, 2, 110, 1, False),
        (120, 2, 60, 10, True),  # twelve steps in each pass
        (120, 2, 50, 10, False),  # five, for twelve
        (110, 2, 60, 10, True),  # six, for eleven
        (110, 2, 50, 10, True),  # five, for eleven
        (110, 2, 45, 10, False),
        (35, 4, 8, 1, True),
        (60, 4, 14, 1, True),  # two rounds of thirty, seven each
        (60, 4, 10, 1, False),
        (10, 4, 10, 5, False),  # not divided at all: two steps in a pass are one
        (10, 4, 5, 5, True),
        (40, 2, 40, 40, False),  # all rows in each step
    ],
)
def test_steps_that_are_divided(steps: int, ranks: int, taken: int, passes: int, right: bool) -> None:
    assert may_be_divided(steps, ranks, taken, passes) == right


@pytest.mark.parametrize(
    ("times", "steps", "ranks", "has", "right"),
    [
        (12, 192, 2, 12, True),
        (12, 192, 2, 11, True),  # the last falls behind the end
        (12, 192, 2, 6, False),  # every so many steps of a rank
        (14, 100, 2, 16, True),  # every seven of them are three of a rank
        (14, 100, 2, 25, False),
        (100, 100, 4, 25, True),  # with each step
        (1, 100, 4, 1, True),
        (1, 100, 4, 3, False),
    ],
)
def test_what_happens_every_so_many_steps(times: int, steps: int, ranks: int, has: int, right: bool) -> None:
    least, most = events(times, steps, ranks)
    assert (least <= has <= most) == right


def test_ranks_differ_by_short_batches_and_by_those_that_vary() -> None:
    assert spread([8] * 20, 2) < 16
    assert spread([8] * 9 + [3], 1) == 7
    assert spread([3, 8, 5, 7] * 25, 1) == pytest.approx(150)


def test_passes_are_told_from_rows_and_batches() -> None:
    first = rank(steps=30, rows={f"row {n}": 3 for n in range(40)})
    passes = Passes.of(first)
    assert (passes.rows, passes.batch, passes.number, passes.batches, passes.fixed) == (40, 4, 3, 30, True)
    assert passes.lost(2) == 0
    assert passes.lost(3) == 4  # three batches on each of three ranks leave one
    assert not Passes.of(rank(rows={f"row {n}": 1 + n % 3 for n in range(40)})).fixed


@pytest.mark.parametrize(
    ("values", "others", "alike"),
    [
        ((1.0, 2.0), (1.0, 2.0000005), True),  # some digits of a float32
        ((1.0, 2.0), (1.0, 2.00001), False),
        ((1e-6, 2e-6), (1e-6, 2.01e-6), False),  # small weights, and rates
        ((0.0, 0.0), (0.0, 1e-12), False),
        ((float("nan"), 1.0), (float("nan"), 1.0), True),
    ],
)
def test_weights_of_ranks_differ_by_digits(
    values: tuple[float, ...], others: tuple[float, ...], alike: bool
) -> None:
    found = judge(alone(), two(weights=values, second={"weights": others}), "linear")
    assert ("differs from rank 0" not in faults(found)) == alike
    assert of_weights(0.0, 10) == 0.0


def test_a_moving_average_of_an_optimizer_is_compared_by_its_own_size() -> None:
    """Squares of gradients are of the size of 1e-8."""
    ends = [
        {**snapshot(1.0), "optimizer": [{"name": "v", "shape": [1], "values": [v]}]} for v in (1e-8, 1.1e-8)
    ]
    ranks = [rank(i, 2, steps=10, rates=[0.2] * 10) for i in (0, 1)]
    for one, end in zip(ranks, ends, strict=True):
        one.report["optimizers"][0]["at_end"] = end
    assert "v by 1e-09" in faults(judge(alone(), run(*ranks), "linear"))


@pytest.mark.parametrize(
    ("averages", "alike"),
    [
        (range(11), True),
        ([0] * 11, True),  # where it isn't seen when they are averaged
        ([4 * n for n in range(11)], True),
        ([n // 2 for n in range(11)], False),
    ],
)
def test_each_step_averages(averages: Any, alike: bool) -> None:
    after = two()
    for one in after.ranks:
        for point, count in zip(one.report["optimizers"][0]["trace"], averages, strict=False):
            point["averages"] = count
    found = judge(alone(), after, "linear")
    assert ("without averaging" not in faults(found)) == alike


@pytest.mark.parametrize(
    ("value", "alike"), [(0.4, True), (0.4000001, True), (float("nan"), True), (0.41, False)]
)
def test_callbacks_look_at_the_same_values(value: float, alike: bool) -> None:
    seen = [("EarlyStopping", "val_loss", 0.5), ("EarlyStopping", "val_loss", 0.4)]
    after = two(decided=seen, second={"decided": [seen[0], ("EarlyStopping", "val_loss", value)]})
    found = judge(alone(decided=seen), after, "linear")
    assert ("EarlyStopping looks at val_loss" not in faults(found)) == alike


def test_a_callback_that_stops_one_rank_only_is_told_though_it_did_not_stop() -> None:
    seen = [("EarlyStopping", "loss", 0.5)]
    found = judge(alone(decided=seen), two(decided=seen, second={"decided": []}), "linear")
    assert "EarlyStopping runs on rank 0 and not on rank 1" in faults(found)
    found = judge(alone(decided=seen), two(decided=[], second={"decided": seen}), "linear")
    assert "EarlyStopping runs on rank 1 and not on rank 0" in faults(found)


def test_a_callback_of_a_model_that_one_rank_trains_besides_is_no_such_fault() -> None:
    seen = [("EarlyStopping", "loss", 0.5)]
    after = two(decided=seen, second={"decided": [], "optimizers": []})
    assert "runs on rank" not in faults(judge(alone(decided=seen), after, "linear"))


@pytest.mark.parametrize(
    ("first", "still", "sums", "alike"),
    [
        (1.0, None, 0, True),
        (1.3, None, 0, True),
        (0.5, 0.5, 0, False),  # divided by the ranks, and averaged
        (4.0, 4.0, 0, False),  # a mean over steps that isn't divided by them
        (0.5, 0.97, 0, True),  # only the first rows are other ones
    ],
)
def test_the_loss_is_no_other_multiple(first: float, still: float | None, sums: int, alike: bool) -> None:
    """Asked of runs that aren't trained, where it begins as another."""
    asked: list[str] = []

    def train(which: str, size: int, seed: int) -> Run:
        asked.append(which)
        script, _, gradients = which.partition(" ")
        level = (1.0 if script == "original" else still or first) if gradients else first
        if script == "original":
            return run(rank(losses=[1.0] * 20 if gradients else [1.0] * 10 + [0.05] * 10))
        return two(losses=[level] * 10 if gradients else [level] * 5 + [0.05] * 5, sums=sums)

    found = verify("train.py", train, [2], seeds=1)
    assert found.alike == alike
    assert ("the loss is another multiple" in str(found.judged[0].parity)) == (not alike)
    assert ("original untrained" in asked) == (still is not None)


@pytest.mark.parametrize(("weights", "alike"), [((1.0, 2.0), False), ((1.0, 2.3), True)])
def test_a_loss_before_training_is_of_the_same_weights(weights: tuple[float, ...], alike: bool) -> None:
    """Where they are drawn after something else on ranks, another loss says nothing."""

    def train(which: str, size: int, seed: int) -> Run:
        later = 1.0 if "untrained" in which else 0.05
        if which.startswith("original"):
            return run(rank(losses=[1.0] * 10 + [later] * 10))
        return two(losses=[0.5] * 5 + [later / 2] * 5, weights=weights)

    found = verify("train.py", train, [2], seeds=1)
    assert found.alike == alike
    assert any("begins with other weights" in note for note in found.judged[0].parity.notes) == alike


def test_shares_of_a_sum_are_added_up() -> None:
    alone_, half = (run(rank(losses=[level] * 20)) for level in (1.0, 0.5))
    assert other_scale(alone_, half)
    assert not other_scale(alone_, two(losses=[0.5] * 10, sums=10))
    noisy = two(losses=[0.1, 2.0, 0.3, 1.5, 0.2, 0.1, 1.9, 0.4, 1.0, 0.2])
    assert not other_scale(alone_, noisy)
    assert is_share(alone_, two(losses=[0.5] * 10, sums=10))
    assert not is_share(alone_, two(losses=[1.0] * 10, sums=10))  # the whole loss
    assert not is_share(alone_, noisy)  # either


@pytest.mark.parametrize(
    ("mine", "its", "alike"),
    [
        (range(0, 40, 2), range(1, 40, 2), True),
        (
            [*range(0, 38, 2), 1],
            range(1, 40, 2),
            True,
        ),  # filled up with another's row, or with a batch of them
        ([*range(20)], [*range(10, 30)], False),
    ],
)
def test_ranks_share_no_rows_within_a_pass(mine: Any, its: Any, alike: bool) -> None:
    """Ten passes, so that all rows come as often in the end, whoever took them."""
    rows = [[*one, *(n for n in range(40) if n not in one)] for one in (mine, its)]
    parts = [{f"row {n}": 5 if alike else 5 + (n < 0) for n in one} for one in rows]
    after = run(*(rank(i, 2, steps=50, rates=[0.2] * 50, rows=parts[i]) for i in (0, 1)))
    before = alone(steps=100, rows={f"row {n}": 10 for n in range(40)})
    assert ("on the same rows" not in faults(judge(before, after, "linear"))) == alike


@pytest.mark.parametrize(
    ("untrained", "alike"),
    [
        ({"weights": (0.0, 0.0)}, False),  # as often without learning
        (
            {"weights": (0.0, 0.0), "files": {"best.keras": 1}},
            True,
        ),  # it is written when it's better than before
        ({}, True),  # learns all the same: nothing is seen by this
    ],
)
def test_files_that_are_written_half_as_often(untrained: dict[str, Any], alike: bool) -> None:
    def train(which: str, size: int, seed: int) -> Run:
        if which == "original":
            return alone(files={"best.keras": 10})[0]
        more = untrained if which == "distributed untrained" else {}
        return two(**{"files": {"best.keras": 5}, "second": {"files": {}}, **more})

    found = verify("train.py", train, [2], seeds=1)
    assert found.alike == alike
    told = [text for check in found.judged[0].checks for text in (*check.notes, *check.broken)]
    assert "best.keras is written 5 times, alone 10" in told


def test_how_far_rounding_takes_the_weights_is_asked_of_the_script() -> None:
    original, near = (run(rank(weights=(1.0, end))) for end in (2.0, 2.0001))
    assert far_enough(original, original, 1e-3)
    assert not far_enough(original, original, 1e-6)  # some digits
    assert far_enough(original, near, 1e-2)
    assert not far_enough(original, near, 1e-4)
    assert far_enough(original, run(rank(error="ValueError: no"), status=1), 1e-3)


@pytest.mark.parametrize(
    ("broadcasts", "rest", "alike"),
    [
        (0, 2.3, True),  # the first step is from each rank's own weights; without it the ends are the same
        (0, 2.4, False),  # the rest differs, too
        (0, None, False),
        (1, 2.3, False),  # the broadcast comes first: no step is any rank's own
    ],
)
def test_a_first_step_before_the_broadcast_is_left_out(
    broadcasts: int, rest: float | None, alike: bool
) -> None:
    """Four rows in each step, as alone; the weights end far from the original's."""
    rows = [{f"row {n}": 20 for n in range(4) if n % 2 == side} for side in (0, 1)]
    ends = {
        "original": 2.0,
        "original rounded": 2.0,
        "original headless": 2.3,
        "distributed": 2.5,
        "distributed headless": rest,
    }

    def train(which: str, size: int, seed: int) -> Run:
        end = ends[which]
        if end is None:
            return run(rank(error="ValueError: no"), status=1)
        if not size:
            return run(rank(rows={f"row {n}": 20 for n in range(4)}, weights=(1.0, end)))
        made = [rank(side, 2, rows=rows[side], batch=2, weights=(1.0, end)) for side in (0, 1)]
        for one in made:
            one.optimizers[0]["trace"][0]["broadcasts"] = broadcasts
        return run(*made)

    found = verify("train.py", train, [2], seeds=1)
    assert found.alike == alike, found.judged[0].parity


@pytest.mark.parametrize(
    ("still", "weights", "alike"),
    [
        (0.5, (1.0, 2.0), True),  # a rank's loss is its share of the mean
        (1.0, (1.0, 2.0), False),  # it is the whole: gradients are twice as large
        (0.25, (1.0, 2.0), False),  # divided twice
        (0.5, (1.0, 2.3), False),  # of other weights: that it is half as large says nothing
    ],
)
def test_what_is_divided_before_it_is_added_up_is_averaged(
    still: float, weights: tuple[float, ...], alike: bool
) -> None:
    def train(which: str, size: int, seed: int) -> Run:
        level = 1.0 if which.startswith("original") else still
        later = level if "untrained" in which else 0.05 * level
        if which.startswith("original"):
            return run(rank(losses=[level] * 10 + [later] * 10))
        begun = weights if "untrained" in which else (1.0, 2.0)
        return two(losses=[level] * 5 + [later] * 5, sums=10, weights=begun)

    found = verify("train.py", train, [2], seeds=1)
    assert found.alike == alike
    told = "\n".join(text for check in found.judged[0].checks for text in check.broken)
    assert ("added up, not averaged" in told) == (not alike)
