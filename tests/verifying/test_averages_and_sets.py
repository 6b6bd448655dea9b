"""Averages of weights that forget by a rank's steps, and sets whose order each process has for itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from horovodize.verifying.averages import averages_forget
from horovodize.verifying.runs import Run
from horovodize.verifying.scalings import FREELY, scalings
from tests.verifying.made import rank, run, two

PROBE = Path(__file__).parents[2] / "server" / "horovodize" / "verifying" / "probe" / "probe.py"


def following(one: Run, *parts: float, averages: int = 1) -> Run:
    """The same run, of which copies followed the weights by these parts."""
    for each in one.ranks:
        each.report["optimizers"][0]["follow"] = [
            {"number": n % averages, "name": "slow:0", "part": part} for n, part in enumerate(parts)
        ]
    return one


@pytest.mark.parametrize(
    ("before", "after", "seen", "holds"),
    [
        ((0.01, 0.01), (0.0199, 0.0199), True, True),  # 1 - 0.99 ** 2
        ((0.01, 0.01), (0.02, 0.02), True, True),  # as many times as far
        ((0.01, 0.01), (0.01, 0.01), True, False),
        ((0.01, 0.0098), (0.0101, 0.0099), True, False),  # float32
        ((0.4, 0.4), (0.4, 0.4), True, False),
        ((0.01, 0.01), (0.001, 0.001), True, True),  # another average: that isn't what is looked for
        ((0.9, 0.8, 0.7), (0.9, 0.8, 0.7), False, True),  # warmed up by the steps
        ((), (0.01, 0.01), False, True),
        ((0.01, 0.01), (), False, True),
    ],
)
def test_averages_forget_for_the_rows_seen(
    before: tuple[float, ...], after: tuple[float, ...], seen: bool, holds: bool
) -> None:
    one, several = following(run(rank()), *before), following(two(), *after)
    check = averages_forget(one, several, scalings([one], several, "linear", False, FREELY))
    assert (check.seen, check.holds) == (seen, holds)


def test_one_of_two_averages() -> None:
    one = following(run(rank()), 0.05, 0.1, 0.05, 0.1, averages=2)
    for parts, holds in (
        ((0.0975, 0.19), True),
        ((0.0975, 0.1), False),
        ((0.05, 0.19), False),
        ((0.05, 0.1), False),
    ):
        several = following(two(), *parts, *parts, averages=2)
        check = averages_forget(one, several, scalings([one], several, "linear", False, FREELY))
        assert (check.seen, check.holds) == (True, holds)


def test_as_many_steps_as_alone_forget_alike() -> None:
    one, several = following(run(rank()), 0.01), following(two(steps=20, rates=[0.1] * 20), 0.01)
    assert averages_forget(one, several, scalings([one], several, "linear", False, FREELY)).holds


SCRIPT = """\
import os, sys
sys.argv = [PATH]
sys.path.insert(0, os.path.dirname(PATH))
import runpy, types
asked = []
os.execv = lambda program, arguments: asked.append((os.environ["PYTHONHASHSEED"], arguments[1:]))
probe = types.ModuleType("probe"); probe.__file__ = PATH
exec(compile(open(PATH).read(), PATH, "exec"), probe.__dict__)
probe.with_own_hashes(*probe.place())
print(asked)
"""


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "PYTHONHASHSEED": "0"}, "1"),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "PYTHONHASHSEED": "0"}, "3"),
        ({"HOROVOD_RANK": "0", "HOROVOD_SIZE": "2", "PYTHONHASHSEED": "0"}, ""),  # as alone
        ({"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "PYTHONHASHSEED": "1"}, ""),  # begun again already
        ({"PYTHONHASHSEED": "0"}, ""),
    ],
)
def test_a_rank_has_hashes_of_its_own(given: dict[str, str], asked: str) -> None:
    text = SCRIPT.replace("PATH", repr(str(PROBE)))
    done = subprocess.run(
        [sys.executable, "-c", text], env=given, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == (f"[('{asked}', ['{PROBE}'])]" if asked else "[]")
