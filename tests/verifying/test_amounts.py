"""How much is written on ranks and alone: summaries, lines of tables, files that are kept."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from horovodize.verifying.amounts import as_much_is_written
from horovodize.verifying.check import Check
from horovodize.verifying.left import Left, left_in
from horovodize.verifying.runs import Run
from tests.verifying.made import alone, rank, run


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def event(step: int, *tags: str) -> bytes:
    """A record of an event file: a time, a step, and a summary with a value for each tag."""
    values = b"".join(
        field(1, field(1, tag.encode()) + bytes([2 << 3 | 5]) + struct.pack("<f", 1.0)) for tag in tags
    )
    message = bytes([1 << 3 | 1]) + struct.pack("<d", 0.0) + bytes([2 << 3, step]) + field(5, values)
    return struct.pack("<Q", len(message)) + b"crc-" + message + b"crc-"


def test_what_lies_in_a_folder_is_counted_by_its_content(tmp_path: Path) -> None:
    version = field(3, b"brain.Event:2")
    (tmp_path / "logs").mkdir()
    events = struct.pack("<Q", len(version)) + b"crc-" + version + b"crc-" + event(1, "loss", "rate")
    (tmp_path / "logs/events.out.tfevents.17.host.1").write_bytes(
        events + event(100, "loss") + event(3, "x")[:-9]
    )
    (tmp_path / "log.csv").write_text("epoch,loss\n0,1\n\n1,0.5\n")
    (tmp_path / "net-1.h5").touch()
    (tmp_path / "net-2.h5").touch()
    paths = ["logs/events.out.tfevents.17.host.1", "log.csv", "net-1.h5", "net-2.h5", "gone.csv"]
    left = left_in(tmp_path, paths)
    assert left.values == {("logs", "loss"): 2, ("logs", "rate"): 1}
    assert left.every == {("logs", "loss"): 99, ("logs", "rate"): 0}
    assert left.rows == {"log.csv": 3, "gone.csv": 0}
    assert left.files["net-#.h5"] == {"net-1.h5", "net-2.h5"}
    assert not any("tfevents" in kind for kind in left.files)


def left(which: Run, **what: Any) -> Run:
    return replace(which, left=Left(**what))


def judged(
    mine: dict[str, Any], its: dict[str, Any], *, steps: tuple[int, int] = (20, 10), settled: bool = True
) -> Check:
    one = [left(before, **mine) for before in alone(steps=steps[0])]
    return as_much_is_written(one, left(run(*(rank(i, 2, steps=steps[1]) for i in (0, 1))), **its), settled)


def names(*numbers: int) -> dict[str, Any]:
    return {"files": {"net-#.h5": {f"net-{number}.h5" for number in numbers}}}


def summaries(times: int, tag: str = "loss", every: float = 2) -> dict[str, Any]:
    return {"values": {("logs", tag): times}, "every": {("logs", tag): every}}


@pytest.mark.parametrize(
    ("mine", "its", "steps", "says"),
    [
        (summaries(4), summaries(2), (20, 10), '"loss" in logs: writes 4 summaries alone, 2 on 2 ranks'),
        (summaries(1), {}, (20, 10), '"loss" in logs: writes 1 summaries alone, 0 on 2 ranks'),
        (summaries(20), summaries(3), (20, 10), "20 summaries alone, 3 on 2 ranks"),
        (summaries(2), summaries(10), (20, 10), "2 summaries alone, 10 on 2 ranks"),
        (summaries(20), summaries(10), (20, 20), "20 summaries alone, 10 on 2 ranks"),  # as many steps
        ({"rows": {"log.csv": 2}}, {"rows": {"log.csv": 1}}, (20, 10), "log.csv: writes 2 lines alone, 1 on"),
        ({"rows": {"log.csv": 8}}, {"rows": {"log.csv": 2}}, (40, 20), "log.csv: writes 8 lines alone, 2 on"),
        (names(10, 20), names(10), (20, 10), "net-#.h5: keeps 2 files alone, 1 on 2 ranks"),
        (names(10, 20), names(10), (21, 11), "net-20.h5 is kept alone, and not on 2 ranks"),
        (names(1, 2), names(1), (21, 10), "net-2.h5 is kept alone, and not on 2 ranks"),  # epochs
        (names(10, 20), names(5), (20, 10), "net-#.h5: keeps 2 files alone, 1 on 2 ranks"),
    ],
)
def test_less_or_more_is_written(
    mine: dict[str, Any], its: dict[str, Any], steps: tuple[int, int], says: str
) -> None:
    found = judged(mine, its, steps=steps)
    assert says in "; ".join(found.broken)
    freely = judged(mine, its, steps=steps, settled=False)
    assert freely.holds
    assert says in "; ".join(freely.notes)


@pytest.mark.parametrize(
    ("mine", "its", "steps"),
    [
        (summaries(8, every=1), summaries(4), (40, 20)),  # with each step, at the beginning
        ({"rows": {"log.csv": 8}}, {"rows": {"log.csv": 4}}, (40, 20)),
        (summaries(20), summaries(10), (20, 10)),  # with each step of a rank
        (summaries(5), summaries(5), (20, 10)),
        (summaries(6), summaries(10), (20, 10)),  # every third, 3 // 2
        (summaries(2), summaries(1), (21, 10)),  # the last row is taken by none
        (summaries(2, "loss"), summaries(2, "Mean/loss"), (20, 10)),  # named otherwise
        (summaries(6, "global_step/sec"), summaries(2, "global_step/sec"), (20, 10)),  # by a rank's own steps
        ({}, summaries(2), (20, 10)),
        (names(10, 20), names(5, 10), (20, 10)),
        (names(0, 10, 20), names(0, 10), (21, 10)),
        (names(*range(20)), names(*range(10)), (20, 10)),  # with each step
        (names(16, 18, 20), names(8, 9, 10), (20, 10)),
        (names(1), {}, (20, 10)),  # said where writers are looked at
    ],
)
def test_near_misses(mine: dict[str, Any], its: dict[str, Any], steps: tuple[int, int]) -> None:
    found = judged(mine, its, steps=steps)
    assert found.holds, found.broken
