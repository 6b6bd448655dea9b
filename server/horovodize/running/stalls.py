"""Ranks that wait for each other in vain: which wait in which collective, where the others are.

Horovod warns after a minute (HOROVOD_STALL_CHECK_TIME_SECONDS) and names the ranks that are missing; often it doesn't: so
ranks that are quiet for as long are looked at as well. Where each rank stands is
asked of the ranks themselves: `start.py` answers SIGUSR1 with the stacks of its threads."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from horovodize.running.failures import named
from horovodize.running.source_map import SourceMap
from horovodize.running.tracebacks import place

WARNING = "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks"
_STACKED = re.compile(r'^  File "([^"]+)", line (\d+) in ', re.MULTILINE)
_PACKAGE = re.compile(r"(?:site|dist)-packages[/\\]")
_ADVICE = "all ranks have to train equally often; look for what makes one leave, wait or skip a step there"
_BETWEEN = 3.0  # seconds between two looks
_MISSING = re.compile(r"^(\d+): \[(.*)\]\s*$")


def ask_where(log: Path) -> None:
    """Asks all ranks of a run on this machine where they stand; `log` is the folder that `rank.py` notes them in."""
    for path in log.glob("rank-*.pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(path.read_text()), signal.SIGUSR1)


@dataclass(frozen=True)
class Stand:
    """Where a rank stood: the place in the user's files, the line's text, and by which rule it was inserted, if it was."""

    place: str
    text: str
    rule: str = ""

    def __str__(self) -> str:
        by = f" (inserted by rule {self.rule})" if self.rule else ""
        return f"{self.place}{by}: {self.text}"


@dataclass(frozen=True)
class Stall:
    """Ranks that wait in vain.

    missing    the ranks that don't come, each with what the others wait for there, by Horovod's names
    collective in words: "an average of gradients"
    size       the number of ranks
    stands     where each rank stood, as far as it said
    ended      the ranks that had ended by then"""

    missing: Mapping[int, tuple[str, ...]]
    collective: str
    size: int
    stands: Mapping[int, Stand]
    ended: frozenset[int] = frozenset()

    def lines(self) -> list[str]:
        """For a terminal."""
        waiting = [rank for rank in range(self.size) if rank not in self.missing]
        one = len(waiting) == 1
        found = [
            f"stalled: {named(waiting)} {'waits' if one else 'wait'} in {self.collective} for {named(list(self.missing))}, "
            f"which {'doesn’t' if len(self.missing) == 1 else 'don’t'} come to it"
        ]
        found += _standing(self.stands, self.size, self.ended)
        found.append(f"  what to do: {_ADVICE}")
        return found


@dataclass(frozen=True)
class Standstill:
    """Ranks that say nothing, and stand at different places: what a stall looks like when Horovod doesn't warn of it, which it
    often doesn't.

    stands   where each rank stood, twice
    quiet    the seconds in which no rank has said anything"""

    stands: Mapping[int, Stand]
    size: int
    quiet: float

    def lines(self) -> list[str]:
        """For a terminal."""
        return [
            f"no rank has said anything for {self.quiet:.0f} s, and they stand at different places",
            *_standing(self.stands, self.size, frozenset()),
            f"  if it stays so, they wait for each other: {_ADVICE}. Ctrl-C ends them",
        ]


class StandstillWatch:
    """Looks where ranks stand when they are quiet. `heard` and `look` are told what happens."""

    def __init__(
        self, log: Path, stacks: Callable[[], Mapping[int, str]], source_map: SourceMap, size: int
    ) -> None:
        """`log` as `ask_where` wants it, `stacks` what ranks have answered so far."""
        self.log, self.stacks, self.map, self.size = log, stacks, source_map, size
        self.after = float(os.environ.get("HOROVOD_STALL_CHECK_TIME_SECONDS") or 60)
        self._since = time.monotonic()
        self._due = self.after  # seconds of silence after which they are asked
        self._asked = 0
        self._first: dict[int, Stand] = {}

    def heard(self) -> None:
        """A rank said something."""
        self._since = time.monotonic()
        self._due = self.after
        self._asked = 0

    def look(self) -> Standstill | None:
        """What is to be said now, once for each standstill."""
        quiet = time.monotonic() - self._since
        if self._asked < 2 and quiet > self._due + self._asked * _BETWEEN:
            self._first = self._stands()
            ask_where(self.log)
            self._asked += 1
        elif self._asked == 2 and quiet > self._due + 2 * _BETWEEN:
            stands = self._stands()
            places = {stand.place for stand in stands.values()}
            if stands == self._first and len(stands) == self.size and len(places) > 1:
                self._asked = 3
                return Standstill(stands, self.size, quiet)
            self._asked, self._due = (
                0,
                quiet + self.after,
            )  # they went on: a script that prints nothing may stall later
        return None

    def _stands(self) -> dict[int, Stand]:
        return stands_of(self.stacks(), self.map)


def stands_of(stacks: Mapping[int, str], source_map: SourceMap) -> dict[int, Stand]:
    """Where each rank stood when it was asked last, as far as that is a place of the user's."""
    return {rank: stand for rank, text in stacks.items() if (stand := _stand(text, source_map)) is not None}


def _standing(stands: Mapping[int, Stand], size: int, ended: frozenset[int]) -> list[str]:
    groups: dict[str, list[int]] = {}
    for rank in range(size):
        where = "ended already" if rank in ended else "somewhere outside of your files"
        groups.setdefault(f"at {stands[rank]}" if rank in stands else where, []).append(rank)
    found = []
    for where, ranks in groups.items():
        verb = "" if where.startswith("ended") else " is" if len(ranks) == 1 else " are"
        found.append(f"  {named(ranks)}{verb} {where}")
    return found


def stalls(
    output: Mapping[int, str],
    stacks: Mapping[int, str],
    source_map: SourceMap,
    ended: frozenset[int] = frozenset(),
) -> Stall | None:
    """The last stall that Horovod warned of in what ranks said; None where it didn't. `stacks`: what each rank wrote when it
    was asked; `ended`: the ranks that had ended."""
    missing = _missing("\n".join(output.values()))
    if not missing:
        return None
    stands = stands_of(stacks, source_map)
    names = " ".join(name for tensors in missing.values() for name in tensors)
    return Stall(missing, _collective(names), len(output), stands, ended)


def _missing(text: str) -> dict[int, tuple[str, ...]]:
    begin = text.rfind(WARNING)
    found: dict[int, tuple[str, ...]] = {}
    if begin < 0:
        return found
    for line in text[begin:].split("\n")[1:]:
        listed = _MISSING.match(line.strip())
        if listed is not None:
            found[int(listed[1])] = tuple(name.strip() for name in listed[2].split(","))
        elif found:
            break
    return found


def _collective(names: str) -> str:
    """What ranks do together, by the names that Horovod gives to tensors."""
    words = (
        ("Gradient", "an average of gradients"),
        ("grads", "an average of gradients"),
        ("Distributed", "an average of gradients"),
        ("roadcast", "a broadcast from rank 0"),
        ("llgather", "a gathering of values"),
        ("join", "a join"),
        ("llreduce", "an average or a sum"),
    )
    return next((text for word, text in words if word in names), "a collective")


def _stand(text: str, source_map: SourceMap) -> Stand | None:
    """The innermost place of the user's in the last stacks that a rank wrote, the main thread's first."""
    threads = re.split(r"^(?:Current thread|Thread) .*$", text, flags=re.MULTILINE)[1:]
    for thread in reversed(threads):  # faulthandler writes the main thread last
        for found in _STACKED.finditer(thread):
            file = None if _PACKAGE.search(found[1]) else source_map.file_of(found[1])
            origin = file.origin(int(found[2])) if file is not None else None
            if origin is not None and file is not None:
                inserted = origin.change
                shown = file.line(int(found[2])).strip() if inserted is not None else origin.text.strip()
                return Stand(place(origin), shown, inserted.rule if inserted is not None else "")
    return None
