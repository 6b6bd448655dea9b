"""Ranks that wait for each other: Horovod's warning, and ranks that stand still without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.running import stalls as module
from horovodize.running.source_map import MappedFile, SourceMap
from horovodize.running.stalls import StandstillWatch, stalls

TEXT = "a = 1\nb = 2\n"
MAP = SourceMap((MappedFile("/run/train.py", "train.py", TEXT, TEXT, ((len(TEXT), 0),), ()),))


def stack(line: int) -> str:
    return f'Current thread 0x7f (most recent call first):\n  File "/run/train.py", line {line} in <module>\n'


WARNED = """\
[W] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for \
remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to submit different tensors.
Missing ranks:
1: [DistributedSGD_Allreduce/cond/HorovodAllreduce_grads_0_0, more]
done
"""


def test_horovods_warning_is_translated() -> None:
    found = stalls({0: WARNED, 1: ""}, {0: stack(2), 1: stack(1)}, MAP)
    assert found is not None
    assert found.lines()[:3] == [
        "stalled: rank 0 waits in an average of gradients for rank 1, which doesn’t come to it",
        "  rank 0 is at train.py:2: b = 2",
        "  rank 1 is at train.py:1: a = 1",
    ]
    assert "  rank 1 ended already" in stalls({0: WARNED, 1: ""}, {0: stack(2)}, MAP, frozenset({1})).lines()  # type: ignore[union-attr]
    assert stalls({0: "loss 1\n", 1: ""}, {}, MAP) is None


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ((1, 2), (1, 2), True),
        ((1, 1), (1, 1), False),  # all at one place: a long step
        ((1, 2), (2, 2), False),  # they go on
        ((1, 2), (1, None), False),  # a rank that doesn't say
    ],
)
def test_ranks_that_stand_still(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    first: tuple[int, int],
    second: tuple[int, int | None],
    told: bool,
) -> None:
    now = [0.0]
    asked: list[float] = []
    monkeypatch.delenv("HOROVOD_STALL_CHECK_TIME_SECONDS", raising=False)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "ask_where", lambda log: asked.append(now[0]))

    def stacks() -> dict[int, str]:
        lines = (first if len(asked) < 2 else second) if asked else ()
        return {rank: stack(line) for rank, line in enumerate(lines) if line is not None}

    watch = StandstillWatch(tmp_path, stacks, MAP, 2)
    found = []
    for second_now in range(100):
        now[0] = float(second_now)
        if second_now == 10:
            watch.heard()
        if (standstill := watch.look()) is not None:
            found.append(standstill)
    assert asked == [71.0, 74.0]  # 60 s after the last word, and once more
    assert len(found) == told
    for standstill in found:
        assert standstill.lines()[1:3] == [
            "  rank 0 is at train.py:1: a = 1",
            "  rank 1 is at train.py:2: b = 2",
        ]


def test_ranks_that_go_on_quietly_are_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = [0.0]
    asked: list[float] = []
    monkeypatch.delenv("HOROVOD_STALL_CHECK_TIME_SECONDS", raising=False)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "ask_where", lambda log: asked.append(now[0]))

    def stacks() -> dict[int, str]:
        lines = (1, 1) if len(asked) < 3 else (1, 2)  # both begin, then one doesn't come
        return {rank: stack(line) for rank, line in enumerate(lines)} if asked else {}

    watch = StandstillWatch(tmp_path, stacks, MAP, 2)
    found = []
    for second_now in range(300):
        now[0] = float(second_now)
        if (standstill := watch.look()) is not None:
            found.append(standstill.quiet)
    assert asked == [61.0, 64.0, 128.0, 131.0]  # a minute after the first answers, again
    assert found == [134.0]
