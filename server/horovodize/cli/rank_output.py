"""What ranks print, as it comes: each line with its rank, tracebacks in the user's lines, stalls in words."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.running.failures import START
from horovodize.running.progress import Progress
from horovodize.running.stalls import WARNING, StandstillWatch, stalls
from horovodize.running.tracebacks import rewrite_traceback

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.running.staged import Staged

_STYLES = ("cyan", "green", "yellow", "blue", "red")
_KEPT = 20_000  # lines of a rank, for what is said of it later
_HOLD = 10.0  # seconds: so long a traceback may be the one that ends its rank, and is shown with the others'
_ANSWER = 2.0  # seconds that ranks have to say where they stand
_STALL = re.compile(r"^(?:Missing ranks:|\d+: \[.*\]\s*$)")


class RankOutput:
    """Prints the lines of some ranks."""

    def __init__(
        self, console: Console, staged: Staged, ranks: int, log: Path, *, full: bool = False
    ) -> None:
        """`log`: the folder that ranks write to."""
        self.console, self.staged, self.ranks, self.full = console, staged, ranks, full
        self.said: dict[int, list[str]] = {rank: [] for rank in range(ranks)}
        self.launcher: list[str] = []
        self._held: dict[int, list[str]] = {}
        self._held_at: dict[int, float] = {}
        self._stalling: set[int] = set()
        self._asked = 0.0
        self._told: list[str] = []
        self._progress = Progress()
        self._watch = StandstillWatch(log, staged.stood, staged.map, ranks)

    def heard(self, rank: int | None, line: str) -> None:
        if rank is None:
            self.launcher.append(line)
            return
        self._watch.heard()
        if rank == 0:
            self._progress.line(line, time.monotonic())
        said = self.said.setdefault(rank, [])
        said.append(line)
        del said[:-_KEPT]
        if WARNING in line:
            self._stalling.add(rank)
            self._asked = time.monotonic()
            return
        if rank in self._stalling and (_STALL.match(line) or not line.strip()):
            return
        self._stalling.discard(rank)
        if line.rstrip() == START or rank in self._held:
            self._held.setdefault(rank, []).append(line)
            self._held_at[rank] = time.monotonic()
            return
        self._print(rank, line)

    def part(self, rank: int | None, line: str) -> None:
        """A line of a rank has grown that isn't finished: on a terminal, the bar of rank 0 is a line at its foot."""
        self._watch.heard()
        if rank == 0:
            self.console.status(self._progress.part(line, time.monotonic()))

    def idle(self) -> None:
        now = time.monotonic()
        for rank in [rank for rank, at in self._held_at.items() if now - at > _HOLD]:
            self._let_go(rank)
        if self._asked and now - self._asked > _ANSWER:
            self._asked = 0.0
            self._tell_stall()
        standstill = self._watch.look() if self.ranks > 1 else None
        if standstill is not None:
            self._warn(standstill.lines())
        self.console.flush()

    def finish(self, failed: set[int]) -> None:
        """Prints what is held of ranks that ended well: of those that failed it is said otherwise."""
        for rank in [rank for rank in self._held if rank not in failed]:
            self._let_go(rank)

    def _tell_stall(self) -> None:
        """Says who waits for whom, if it wasn't said before."""
        output = {rank: "\n".join(lines) for rank, lines in self.said.items()}
        stall = stalls(output, self.staged.stood(), self.staged.map)
        lines = stall.lines() if stall is not None else []
        if lines != self._told:
            self._told = lines
            self._warn(lines)

    def _warn(self, lines: Sequence[str]) -> None:
        for line in lines[:1]:
            self.console.warning(line)
        for line in lines[1:]:
            self.console.line(line, sys.stderr)

    def _let_go(self, rank: int) -> None:
        text = "\n".join(self._held.pop(rank))
        self._held_at.pop(rank, None)
        for line in rewrite_traceback(text, self.staged.map, full=self.full).split("\n"):
            self._print(rank, line)

    def _print(self, rank: int, line: str) -> None:
        # A progress bar overwrites its line: what it came to is what counts.
        shown = re.sub(r".*[\r\b](?=.)", "", line)
        if self.ranks > 1:
            shown = f"{self.console.paint(f'[{rank}]', _STYLES[rank % len(_STYLES)])} {shown}".rstrip()
        self.console.line(shown)
