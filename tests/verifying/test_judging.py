"""What is said of runs: near misses first, where nothing may be found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from horovodize.verifying.runs import Run
from horovodize.verifying.scalings import FREELY, STRICTLY, scalings
from horovodize.verifying.verdict import CouldNotRun, Judged, judge, verify
from tests.verifying.made import alone, rank, run, snapshot, two, variables


def faults(judged: Judged) -> str:
    return "\n".join(text for check in judged.checks for text in check.broken)


def test_a_weak_run_on_two_ranks_is_alike() -> None:
    found = judge(alone(), two(), "linear")
    assert found.alike, faults(found)
    assert found.conclusion == "trains the same"
    assert [one.kind for one in found.scalings] == ["weak"]


def test_a_strong_run_is_alike_where_its_weights_are_the_originals() -> None:
    rows = [{f"row {n}": 20 for n in range(4) if n % 2 == side} for side in (0, 1)]
    before = alone(rows={f"row {n}": 20 for n in range(4)})
    after = run(*(rank(side, 2, rows=rows[side], batch=2) for side in (0, 1)))
    assert judge(before, after, "linear").alike
    elsewhere = run(*(rank(side, 2, rows=rows[side], batch=2, weights=(1.0, 2.5)) for side in (0, 1)))
    assert "weights end" in judge(before, elsewhere, "linear").parity.weights


@pytest.mark.parametrize(
    ("kind", "mine", "its", "same"),
    [
        (
            "allgather",
            "float32[264,8]",
            "float32[240,8]",
            True,
        ),  # of the rows that are looked up in an embedding
        ("grouped_allgather", "float32[264,8];int64[264]", "float32[?,8];int64[?]", True),
        ("allgather", "float32[264,8]", "float32[264,4]", False),
        ("allreduce", "float32[264,8]", "float32[240,8]", False),
    ],
)
def test_ranks_gather_rows_of_their_own_number(kind: str, mine: str, its: str, same: bool) -> None:
    found = judge(alone(), two(log=[(kind, mine)], second={"log": [(kind, its)]}), "linear")
    assert ("collective 1: rank 0 runs" in faults(found)) != same


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A warm-up starts at no rate at all.
        ({"rates": [0.0, *[0.1] * 19]}, {"rates": [0.0, *[0.2] * 9]}),
        # One that says the rate of the next step of all ranks, where its steps count before the rate is set.
        (
            {"rates": [min(0.1, 0.01 * (step + 2)) for step in range(20)]},
            {"rates": [min(0.2, 0.02 * (2 * step + 4)) for step in range(10)]},
        ),
        # A schedule that goes on as fast, row for row.
        (
            {"rates": [0.1 * 0.9**step for step in range(20)]},
            {"rates": [0.2 * 0.81**step for step in range(10)]},
        ),
        # Files with other numbers in their names.
        ({"files": {"model-20.h5": 1}}, {}),
        # What begins anywhere is alike after the first pass.
        ({}, {"log": [("broadcast", "a")]}),
        # Losses that are somewhat higher after fewer, larger steps.
        ({}, {"losses": [1.0 / (1 + 1.9 * step) for step in range(10)]}),
    ],
)
def test_near_misses(before: dict[str, Any], after: dict[str, Any]) -> None:
    second = {}
    if "files" in before:
        after, second = {**after, "files": {"model-10.h5": 1}}, {"files": {}}
    found = judge(alone(**before), two(second=second, **after), "linear")
    assert found.alike, faults(found) + str([loss.differs for loss in found.parity.losses])


@pytest.mark.parametrize(
    ("after", "says"),
    [
        (
            {"rates": [0.1] * 10},
            "the rate starts at 0.1, as alone, not at 2 times that: each step trains on 2 times the rows",
        ),
        ({"rates": [0.4] * 10}, "4 times that alone, not 2"),
        (
            {"rates": [0.2] * 5 + [0.1] * 5},
            "at step 5 of a rank the rate is 0.1, where 2 times that alone is about 0.2",
        ),
        ({"steps": 20, "rates": [0.2] * 20}, "as many as alone, at 2 times the rate"),
        ({"rates": [min(0.2, 0.14 + 0.02 * step) for step in range(10)]}, "1.4 times that alone, not 2"),
        ({"sums": 10}, "added up, not averaged"),
        ({"rows": {f"row {n}": 1 for n in range(40)}}, "50% of the rows are seen by no rank"),
        ({"rows": {f"row {n}": 1 for n in range(80)}}, "every rank trains on all rows"),
        ({"files": {"log.csv": 1}}, "log.csv is written by ranks 0, 1"),
        ({"second": {"weights": (1.0, 2.1)}}, "rank 1 differs from rank 0 at the end: kernel:0 by 0.1"),
        ({"second": {"early": (1.0, 9.0)}}, "rank 1 differs from rank 0 after step 3: kernel:0 by 7"),
        (
            {"second": {"log": [("broadcast", "a")]}},
            "collective 2: rank 0 runs allreduce of b, rank 1 nothing",
        ),
        ({"log": []}, "no collective ran"),
    ],
)
def test_faults(after: dict[str, Any], says: str) -> None:
    before: dict[str, Any] = {"files": {"log.csv": 1}} if "files" in after else {}
    found = judge(alone(**before), two(**after), "linear")
    assert not found.alike
    assert says in faults(found)


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("backup-1/state", True),
        ("backup/1/state", True),
        ("backup/state.rank-1", True),
        ("backup1/state", True),
        ("backup-11/state", False),  # another number than the rank's
        ("other-1/state", False),  # nothing of the kind is written alone
    ],
)
def test_a_copy_that_is_named_by_its_rank_is_no_file_too_many(name: str, alike: bool) -> None:
    before = alone(files={"backup/state": 1})
    after = two(files={"backup/state": 1}, second={"files": {name: 1}})
    found = judge(before, after, "linear")
    assert found.alike == alike
    notes = [note for check in found.checks for note in check.notes]
    assert (f"rank 1 writes copies of its own: {name}" in notes) == alike


def test_copies_do_not_stand_for_the_file_itself() -> None:
    found = judge(
        alone(files={"backup/state": 1}), two(files={}, second={"files": {"backup-1/state": 1}}), "linear"
    )
    assert "backup/state is not written" in faults(found)


@pytest.mark.parametrize(
    ("steps", "end", "alike"),
    [
        (
            (20, 24),
            0.105,
            True,
        ),  # stops by its loss, as other numbers of steps show; the loss is hardly above
        ((20, 24), 0.2, False),  # stopped, but not because it was good enough
        ((20, 20), 0.105, False),  # the number of steps is fixed: too few are a fault
        ((20, 20), 0.09, True),
    ],
)
def test_what_stops_when_it_is_good_enough_may_stop_sooner(
    steps: tuple[int, int], end: float, alike: bool
) -> None:
    def losses(count: int, last: float) -> list[float]:
        return [1.0] * (count // 2) + [last] * (count - count // 2)

    rows = [{f"row {n}": count // 4 for n in range(16)} for count in steps]
    before = [run(rank(steps=c, losses=losses(c, 0.1), rows=r)) for c, r in zip(steps, rows, strict=True)]
    shares = [{f"row {n}": 3 for n in range(16) if n % 2 == side} for side in (0, 1)]
    after = run(
        *(rank(i, 2, steps=6, rates=[0.2] * 6, losses=losses(6, end), rows=shares[i]) for i in (0, 1))
    )
    found = judge(before, after, "linear", FREELY)
    assert (not faults(found)) == alike, faults(found)


@pytest.mark.parametrize(
    ("mine", "its", "alike"),
    [
        (range(40), range(100, 140), True),
        (
            range(40, 80),
            range(100, 140),
            False,
        ),  # rank 0 doesn't begin where it begins alone: a share is left out
        (range(40), [*range(100, 139), 79], False),  # some of a data set, and some that aren't in it
        (range(40), [*range(100, 120)] * 2, False),  # what is without end doesn't come twice
        ([*range(20), *range(200, 220)], range(100, 140), False),
    ],
)
def test_rows_drawn_without_end_are_others_on_other_ranks(mine: Any, its: Any, alike: bool) -> None:
    rows = [{f"row {n}": list(one).count(n) for n in one} for one in (mine, its)]
    after = run(*(rank(i, 2, steps=10, rates=[0.2] * 10, rows=one) for i, one in enumerate(rows)))
    found = judge(alone(), after, "linear")
    assert found.alike == alike
    assert ("seen by no rank" in faults(found)) == (not alike)


@pytest.mark.parametrize(
    ("twice", "once", "alike"),
    [
        (15, 10, True),  # the others of its share than alone
        (20, 0, False),  # the rest of its share never
    ],
)
def test_which_rows_come_once_more_in_an_unfinished_pass_is_the_orders_affair(
    twice: int, once: int, alike: bool
) -> None:
    before = alone(rows={f"row {n}": 2 if n < 30 else 1 for n in range(50)})
    shares = [list(reversed(range(side, 50, 2))) for side in (0, 1)]
    rows = [
        {**{f"row {n}": 2 for n in share[:twice]}, **{f"row {n}": 1 for n in share[twice : twice + once]}}
        for share in shares
    ]
    after = run(*(rank(i, 2, steps=10, rates=[0.2] * 10, rows=one) for i, one in enumerate(rows)))
    found = judge(before, after, "linear")
    assert ("seen by no rank" in faults(found)) == (not alike), faults(found)


def test_rows_that_are_drawn_with_replacement_need_not_be_the_same_ones() -> None:
    before = alone(rows={f"row {n}": 1 + n % 3 for n in range(40)})
    drawn = [{f"row {n}": 1 + (n + side) % 3 for n in range(side, 40, 2)} for side in (1, 2)]
    after = run(*(rank(i, 2, steps=10, rates=[0.2] * 10, rows=rows) for i, rows in enumerate(drawn)))
    found = judge(before, after, "linear")
    assert found.alike, faults(found)


@pytest.mark.parametrize(
    ("before", "mine", "its", "alike"),
    [
        (range(20), range(0, 20, 2), range(1, 20, 2), True),
        (
            [step % 5 for step in range(20)],
            [0, 2, 4, 1, 3] * 2,
            [1, 3, 0, 2, 4] * 2,
            True,
        ),  # the same five, in turns
        ([7] * 20, [7] * 10, [7] * 10, True),  # rows that are all the same
        (range(20), range(10), [*range(10, 18), 0, 1], True),
        (range(20), range(10), range(10), False),
        (range(20), range(10), range(1, 11), False),  # one step later
        ([step % 10 for step in range(20)], [*range(5)] * 2, [*range(5)] * 2, False),
    ],
)
def test_ranks_take_other_batches(before: Any, mine: Any, its: Any, alike: bool) -> None:
    marks = [[f"{number}" for number in which] for which in (before, mine, its)]
    found = judge(alone(marks=marks[0]), two(marks=marks[1], second={"marks": marks[2]}), "linear")
    assert found.alike == alike
    assert ("train on the same batches" not in faults(found)) == alike, faults(found)


WAVES = [0.1 + 0.05 * abs(step % 20 - 10) / 10 for step in range(200)]


@pytest.mark.parametrize(
    ("before", "after", "settled", "says"),
    [
        # A boundary that doesn't divide falls a little sooner; what changes with each step is seen at every other.
        ([0.1] * 15 + [0.01] * 5, [0.2] * 7 + [0.02] * 3, True, ""),
        (
            [0.1] * 60 + [0.01] * 30,
            [0.2] * 28 + [0.02] * 14,
            True,
            "",
        ),  # after four passes of 15 steps, which 7 stand for
        ([0.1] * 64 + [0.01] * 26, [0.2] * 28 + [0.02] * 17, True, "at step 28"),  # no passes are rounded
        (WAVES, [2 * rate for rate in WAVES[::2]], True, ""),
        (WAVES, [2 * rate for rate in WAVES[1::2]], True, ""),
        ([0.1, 0.2] * 100, [0.2] * 100, True, ""),  # no rank comes to the other
        # It may follow from the loss.
        ([0.1] * 170 + [0.01] * 30, [0.2] * 100, False, ""),
        ([0.1] * 170 + [0.01] * 30, [0.2] * 100, True, "at step 87"),
        ([0.1] * 200, [0.2] * 99 + [-0.1], True, "at step 99 of a rank the rate is -0.1"),
        (
            WAVES,
            [2 * rate for rate in WAVES[:100]],
            True,
            "goes up and down by 0.99 in all, 2 times that alone is 1.99",
        ),
        (WAVES, [2 * rate for rate in WAVES[::4]] * 2, True, "goes up and down by"),
    ],
)
def test_rates_are_compared_to_the_end(
    before: list[float], after: list[float], settled: bool, says: str
) -> None:
    steps = len(before)
    passes = 6 if steps == 90 and before[60] < 0.1 else 1
    first = alone(steps=steps, rates=before, rows={f"row {n}": passes for n in range(4 * steps // passes)})
    parts = [{f"row {n}": passes for n in range(4 * steps // passes) if n % 2 == side} for side in (0, 1)]
    second = run(*(rank(i, 2, steps=len(after), rates=after, rows=parts[i]) for i in (0, 1)))
    told = faults(judge(first, second, "linear", STRICTLY if settled else FREELY))
    assert says in told if says else not told, told


@pytest.mark.parametrize(("decay", "alike"), [(0.8, True), (0.9, False), (0.7, False)])
def test_a_rate_goes_on_where_passes_are_rounded_up(decay: float, alike: bool) -> None:
    """Five passes of seven steps are twenty steps of each of two ranks, at rates of forty steps of one process."""
    rows = [{f"row {n}": 5 for n in range(28) if n % 2 == side} for side in (0, 1)]
    before = alone(
        steps=35, rates=[0.1 * 0.8 ** (n / 10) for n in range(35)], rows={f"row {n}": 5 for n in range(28)}
    )
    rates = [0.2 * decay ** (2 * n / 10) for n in range(20)]
    after = run(*(rank(side, 2, steps=20, rates=rates, rows=rows[side]) for side in (0, 1)))
    told = faults(judge(before, after, "linear"))
    assert (not told) == alike, told


@pytest.mark.parametrize(
    ("untrained", "alike"),
    [
        ({"weights": (0.0, 0.0)}, False),  # the same steps without learning: nothing to stop sooner for
        ({"weights": (0.0, 0.0), "steps": 12}, True),
        (
            {"weights": (0.0, 0.0), "rates": [0.2] * 3 + [0.1]},
            False,
        ),  # the rate follows from it, the steps don't
        ({}, True),  # it learns all the same: nothing is seen by this
    ],
)
def test_what_stops_sooner_stops_elsewhere_without_gradients(untrained: dict[str, Any], alike: bool) -> None:
    asked: list[str] = []

    def train(which: str, size: int, seed: int) -> Run:
        asked.append(which)
        if which == "original":
            return alone()[0]
        more = untrained if which == "distributed untrained" else {}
        return two(**{"steps": 4, "rates": [0.2] * 4, "losses": [1.0] + [0.04] * 3, **more})

    found = verify("train.py", train, [2], seeds=1)
    assert found.alike == alike, faults(found.judged[0])
    assert asked == ["original", "distributed", "distributed untrained"]


def _numbered(number: int) -> dict[str, Any]:
    return {"rows": {f"renumbered {n} of {number}": 1 for n in range(40)}}


def test_rows_that_carry_their_numbers_are_only_counted() -> None:
    found = judge(alone(), two(**_numbered(0), second=_numbered(1)), "linear")
    assert found.alike, faults(found)
    assert any("only their count" in note for check in found.checks for note in check.notes)


def test_runs_that_are_ended_early_are_compared_as_far_as_both_went() -> None:
    rates = [0.1] * 10 + [0.05] * 10
    losses = [1.0 / (1 + step) for step in range(20)]
    stopped = {"steps": 20, "stopped": True, "losses": [1.0 / (1 + 2 * step) for step in range(20)]}
    after = run(*(rank(side, 2, rates=[0.2] * 5 + [0.1] * 15, **stopped) for side in (0, 1)))
    before = [run(rank(rates=rates, losses=losses, stopped=True)) for _ in range(3)]
    assert judge(before, after, "linear").alike
    late = run(*(rank(side, 2, rates=[0.2] * 20, **stopped) for side in (0, 1)))
    assert "at step 7" in faults(judge(before, late, "linear"))


@pytest.mark.parametrize(
    ("size", "ahead", "right"), [(2, 2, True), (4, 4, True), (2, 1, True), (2, 20, False)]
)
def test_a_warm_up_is_compared_as_far_as_one_process_came(size: int, ahead: int, right: bool) -> None:
    """After the last step the rate stands once more: that of the ranks' next step is beyond what one process has done."""
    shown = {"steps": 60, "stopped": True, "losses": [1.0 / (1 + step) for step in range(60)]}
    alone = [0.001 * (step + 1) / 100 for step in range(60)]
    ranks = [size * 0.001 * (size * step + ahead) / 100 for step in range(60)]
    before = [run(rank(rates=[*alone, alone[-1]], **shown)) for _ in range(3)]
    after = run(*(rank(side, size, rates=[*ranks, ranks[-1]], **shown) for side in range(size)))
    assert ("the rate" not in faults(judge(before, after, "linear"))) is right


def test_the_setting_says_which_rate_is_right() -> None:
    kept = two(rates=[0.1] * 10)
    assert judge(alone(), kept, "keep").alike
    assert not judge(alone(), two(), "keep").alike


def test_a_loss_that_diverges_names_where_and_why() -> None:
    losses = [1.0, 0.5, 0.4, 0.9, 4.0, 20.0, 80.0, 300.0, 1e3, 1e4]
    found = judge(alone(), two(losses=losses, rates=[0.4] * 10), "linear")
    assert found.conclusion.startswith("differs, from row ")
    assert "because of the rate: the rate starts at 0.4" in found.conclusion


def test_a_run_that_fails_on_ranks_differs_and_one_that_fails_alone_can_not_be_compared() -> None:
    broken = run(rank(0, 2, error="Traceback\nValueError: no"), rank(1, 2), status=1)
    assert judge(alone(), broken, "linear").conclusion == "it fails: ValueError: no"

    def train(which: str, size: int, seed: int) -> Run:
        return run(rank(error="Traceback\nValueError: no"), status=1)

    with pytest.raises(CouldNotRun, match="doesn't train alone: it fails: ValueError: no"):
        verify("train.py", train, [2])


@pytest.mark.parametrize(("again", "alike"), [((1.0, 2.0), False), ((1.0, 2.5), True), (None, False)])
def test_a_script_that_ends_elsewhere_each_time_is_not_compared_by_its_weights(
    again: tuple[float, ...] | None, alike: bool
) -> None:
    asked: list[str] = []

    def train(which: str, size: int, seed: int) -> Run:
        if which == "distributed":
            return run(rank(weights=(1.0, 2.7)))
        asked.append(f"{which} {seed}")
        if which == "original rounded" or asked.count(f"{which} {seed}") == 1:
            return run(rank())
        return run(rank(weights=again)) if again is not None else run(rank(error="ValueError: no"), status=1)

    found = verify("train.py", train, [1])
    assert found.alike == alike
    assert asked == [f"original {seed}" for seed in (20, 120, 220, 20)] + ["original rounded 20"] * (
        not alike
    )
    assert any("doesn't repeat itself" in note for note in found.judged[0].parity.notes) == alike


def _trained(alone_steps: list[int], on_ranks: int, **more: Any) -> tuple[list[int], Any]:
    """What trains, for `verify`: alone as many steps as listed, a seed each, and on two ranks; with the seeds trained."""
    seeds: list[int] = []

    def train(which: str, size: int, seed: int) -> Run:
        seeds.append(seed)
        if which == "original":
            count = alone_steps[(seed - 20) // 100]
            return run(rank(steps=count, rows={f"row {n}": count // 4 for n in range(16)}, **more))
        rows = [{f"row {n}": on_ranks // 2 for n in range(16) if n % 2 == side} for side in (0, 1)]
        given = {"steps": on_ranks, "rates": [0.2] * on_ranks, **more}
        return run(*(rank(side, 2, rows=rows[side], **given) for side in (0, 1)))

    return seeds, train


@pytest.mark.parametrize(
    ("steps", "on_ranks", "drew", "alike", "more"),
    [
        ([20] * 7, 10, True, True, 0),
        ([20, 20, 20, 28, 16], 6, True, True, 1),  # draws how many epochs it trains: another seed shows it
        ([20, 20, 20, 20, 28], 6, True, True, 2),
        ([20] * 7, 4, True, False, 4),  # always the same number: too few are a fault
        ([20, 20, 20, 28, 24, 16, 20], 40, True, False, 4),  # far more than it can draw
        ([20, 20, 20, 28, 16], 6, False, False, 0),  # draws nothing before it trains
    ],
)
def test_a_script_that_draws_how_long_it_trains(
    steps: list[int], on_ranks: int, drew: bool, alike: bool, more: int
) -> None:
    seeds, train = _trained(steps, on_ranks, drew=drew)
    found = verify("train.py", train, [2])
    assert found.alike == alike, faults(found.judged[0])
    assert len(seeds) == 4 + more
    notes = [note for check in found.judged[0].checks for note in check.notes]
    assert any("how long it trains differs" in note for note in notes) == (
        len(set(steps[: 3 + more])) > 1 and drew
    )


@pytest.mark.parametrize(
    ("alone_losses", "by_seed", "alike", "runs"),
    [
        ([0.1, 0.5], {20: 9.0, 120: 0.6}, True, 2),  # goes up alone, too: one unlucky seed says nothing
        ([0.1, 0.5], {20: 9.0, 120: 9.0}, False, 2),
        ([0.1, 0.5], {20: 0.6}, True, 1),
        ([5.0, 0.5], {20: 9.0}, False, 1),  # goes down alone
    ],
)
def test_a_loss_that_says_little_is_looked_at_with_another_seed(
    alone_losses: list[float], by_seed: dict[int, float], alike: bool, runs: int
) -> None:
    begin, end = alone_losses
    tried = []

    def train(which: str, size: int, seed: int) -> Run:
        if which == "original":
            return alone(losses=[begin] * 10 + [end] * 10)[0]
        tried.append(seed)
        return two(losses=[begin] * 5 + [by_seed[seed]] * 5)

    found = verify("train.py", train, [2])
    assert found.alike == alike
    assert len(tried) == runs
    assert any("with one seed" in note for note in found.judged[0].parity.notes) == (alike and runs == 2)


@pytest.mark.parametrize(
    ("outside", "says"),
    [
        (["/data/ckpt", "/data/ckpt", "/data/ckpt"], "/data/ckpt"),
        (["/data/a", "/data/b", "/data/a"], "/data/a"),
        (["/tmp/x1", "/tmp/x2", "/tmp/x3"], ""),  # each run has its own, such as a temporary file's
        (["/home/me/.cache/data.npz", "", ""], ""),  # the first has left it for all, such as a download
    ],
)
def test_what_several_runs_write_at_the_same_place_is_said(outside: list[str], says: str) -> None:
    left = iter(outside)

    def train(which: str, size: int, seed: int) -> Run:
        made = alone()[0] if which == "original" else two()
        path = next(left)
        made.ranks[0].report["files"]["outside"] = [path] if path else []
        return made

    found = verify("train.py", train, [2], seeds=2)
    assert found.alike
    notes = [note for note in found.notes if "written by several runs" in note]
    assert len(notes) == bool(says)
    assert all(f": {says}. " in note and "below its own folder" in note for note in notes)


@pytest.mark.parametrize(
    ("seen", "noted"),
    [
        ({}, True),
        ({"files": ["out/log.txt"]}, False),
        ({"prefixes": ["out/log"]}, False),
        ({"log_dirs": ["out"]}, False),
        ({"files": ["out/other.txt"]}, True),
    ],
)
def test_a_file_that_no_rank_was_seen_to_write_is_another_programs(
    seen: dict[str, list[str]], noted: bool
) -> None:
    after = two()
    after.ranks[0].report["files"].update(seen)
    found = judge(alone(), replace(after, files=["out/log.txt"]), "linear")
    notes = [note for check in found.checks for note in check.notes if "another program" in note]
    assert len(notes) == noted


@pytest.mark.parametrize(
    ("varies", "end", "alike"),
    [
        (0.4, 1.3, True),  # alone it goes down by less than it varies from step to step
        (0.4, 4.5, False),
        (0.01, 1.3, False),
    ],
)
def test_a_loss_of_a_few_steps_varies(varies: float, end: float, alike: bool) -> None:
    before = alone(losses=[1 - 0.005 * step + varies * (-1) ** step for step in range(20)])
    found = judge(before, two(losses=[1.0] * 9 + [end]), "linear")
    assert found.alike == alike, found.parity


@pytest.mark.parametrize(("every", "alike"), [(1, False), (2, True), (5, True)])
def test_variables_may_be_broadcast_after_each_epoch_but_not_with_each_step(every: int, alike: bool) -> None:
    after = two()
    for one in after.ranks:
        for point in one.optimizers[0]["trace"]:
            point["broadcasts"] = 1 + (point["iteration"] + 1) // every + point["iteration"] // 8
    found = judge(alone(), after, "linear")
    assert found.alike == alike, faults(found)


@pytest.mark.parametrize(("steps", "alike"), [(1, False), (20, True)])
def test_a_broadcast_after_each_traced_loop_is_none_with_every_step(steps: int, alike: bool) -> None:
    """Batch-norm statistics of a loop in a traced function: between two looks at it lie all of its steps."""
    after = two()
    for one in after.ranks:
        for n, point in enumerate(one.report["optimizers"][0]["trace"]):
            point.update(iteration=n * steps, broadcasts=n + 1)
    assert ("broadcast with every step" in faults(judge(alone(), after, "linear"))) == (not alike)


@pytest.mark.parametrize(
    ("values", "alike"),
    [
        ([(1.0,), (1.0,), (1.0,)], True),
        ([(2.0,), (1.0,), (1.0,)], True),  # broadcast after the first step
        ([(2.0,), (2.0,), (2.0,)], False),
    ],
)
def test_what_a_loss_depends_on_is_the_same_though_nothing_trains_it_yet(
    values: list[tuple[float, ...]], alike: bool
) -> None:
    """A head is trained on a base, which is trained later: on other random features each rank learns another head."""
    after = two()
    for one, its in zip(after.ranks, ([(1.0,)] * 3, values), strict=True):
        looked_at = [variables(*of_step) for of_step in its]
        one.optimizers[0]["early"] = [{**snapshot(1.0), "looked_at": base} for base in looked_at]
    told = faults(judge(alone(), after, "linear"))
    assert ("the loss depends on it" in told) == (not alike)


@pytest.mark.parametrize(
    ("counted", "taken", "right"),
    [
        (
            64,
            36,
            True,
        ),  # Keras 3 counts one more at the end of each of 4 passes: of 15 batches, on a rank of 8
        (60, 32, True),
        (64, 42, False),
        (62, 36, False),
    ],
)
def test_steps_without_rows_at_the_ends_of_passes(counted: int, taken: int, right: bool) -> None:
    def one(steps: int, batches: int, size: int, side: int, rate: float) -> Any:
        rows = {f"row {n}": 4 for n in range(batches) if size == 1 or n % 2 == side}
        made = rank(side, size, steps=steps, rates=[rate] * steps, rows=rows, batch=1)
        examples = made.report["examples"]["keras"]
        examples["batches"] = examples["batches"][: 4 * batches // size]
        return made

    before = [run(one(counted, 15, 1, 0, 0.1)) for _ in range(3)]
    after = run(*(one(taken, 16, 2, side, 0.2) for side in (0, 1)))
    [found] = scalings(before, after, "linear")
    assert (found.fault == "") == right


WAITING = (
    "waiting for remainder of ranks for more than 60 seconds.\nMissing ranks:\n1: [HorovodAllreduce_loss_0]\n"
)
STOOD = (
    'Timeout (0:00:02)!\nThread 0x7f (most recent call first):\n  File "/run/train.py", line 7 in <module>\n'
)


def test_a_run_that_takes_too_long_is_a_stall_only_where_ranks_wait() -> None:
    slow = replace(two(), status=1, stalled=True, output=STOOD)
    assert slow.why() == (
        "it doesn't end within the time limit (train.py:7): raise --limit, or end it sooner with --steps"
    )
    told = replace(slow, output=WAITING + STOOD).why()
    assert told.startswith("it stalls: a rank waits for another")
    assert told.endswith("(Missing ranks: 1: [HorovodAllreduce_loss_0])")


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        ([0.24] * 10, "the rate starts at 0.24"),  # beyond its end
        ([0.0004 * (2 * step + 1) for step in range(10)], "the rate starts at 0.0004"),
        # Begins within the warm-up of alone, and stays there: not what a rank's steps would come to.
        ([0.04] * 10, "at step 3 of a rank the rate is 0.04"),
    ],
)
def test_warm_ups_that_are_none_of_alone(rates: list[float], says: str) -> None:
    before = alone(rates=[min(0.1, 0.01 * (step + 1)) for step in range(20)])
    found = judge(before, two(rates=rates), "linear")
    assert not found.alike
    assert says in faults(found)


@pytest.mark.parametrize(("each_step", "alike"), [(0.98**4, True), (0.98**5, False), (1.0, False)])
def test_passes_that_are_rounded_up_come_beyond_the_end_of_alone(each_step: float, alike: bool) -> None:
    """Four passes of 25 batches alone, of 7 on each of 4 ranks. (Their rows don't come again: each time they are weighed
    otherwise.) A rate that goes on by rows is at its end less than any of alone."""
    before = alone(steps=100, rates=[0.1 * 0.98**step for step in range(100)])
    rates = [0.4 * each_step**step for step in range(28)]
    sides = [{f"row {n}": 1 for n in range(side, 400, 4)} for side in range(4)]
    after = run(*(rank(side, 4, steps=28, rates=rates, rows=rows) for side, rows in enumerate(sides)))
    found = judge(before, after, "linear")
    assert found.alike == alike, faults(found)


@pytest.mark.parametrize(("further", "alike"), [(1.0, True), (1.1, False)])
def test_a_rate_that_is_set_before_each_step_goes_on_after_the_last(further: float, alike: bool) -> None:
    """The same passes, with a line to a tenth: what is seen after the last step is the rate of that one."""
    before = [0.1 * (1 - 0.009 * step) for step in range(100)]
    rates = [0.4 * (1 - 0.036 * further * step) for step in range(28)]
    sides = [{f"row {n}": 1 for n in range(side, 400, 4)} for side in range(4)]
    after = run(
        *(rank(side, 4, steps=28, rates=[*rates, rates[-1]], rows=rows) for side, rows in enumerate(sides))
    )
    found = judge(alone(steps=100, rates=[*before, before[-1]]), after, "linear")
    assert found.alike == alike, faults(found)
