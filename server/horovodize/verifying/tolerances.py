"""How far two runs of the same training may be apart; each bound follows from what is compared: rounding, or division.

Nothing here is a guess of how training goes; that is compared in `parity`, with what other seeds give alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, sqrt
from typing import Protocol

DIGIT = 2.0**-23  # of a float32: the distance of two neighbours, of the size of 1
# A rate is a few operations on float32 (a power, a cosine, a difference), each off by a digit; beside it the digits of the
# largest, where a difference is almost nothing.
RATE, RATE_OF_LARGEST = 1e-4, 1e-6
# What `EarlyStopping` looks at: a mean over rows, of values that each rank has computed, in float32.
MONITORED = 1e-5


class Trained(Protocol):
    """What is known of a rank: how often it saw each row, and the sizes of its batches."""

    @property
    def rows(self) -> dict[str, int]: ...
    @property
    def batches(self) -> list[int]: ...


def of_weights(largest: float, steps: int) -> float:
    """How far ranks may be apart that apply the same averages to the same weights: a digit of the largest of a variable, each
    step, up or down by chance. (Averages are the same to the last bit. A norm over all gradients, by which they are clipped,
    need not be: threads add it up in their own order.)"""
    return 4 * DIGIT * largest * sqrt(max(1, steps))


@dataclass(frozen=True)
class Passes:
    """How one process goes through its rows.

    rows    different ones; 0 where they can't be seen
    batch   the rows of its largest batch
    number  how often it goes through them all
    batches how many it takes
    fixed   whether each row comes as often as each other: nothing is drawn with replacement"""

    rows: int = 0
    batch: int = 0
    number: int = 1
    batches: int = 0
    fixed: bool = False

    @classmethod
    def of(cls, rank: Trained) -> Passes:
        counts, batches = rank.rows, rank.batches
        if not counts or not batches:
            return cls()
        number = ceil(sum(counts.values()) / len(counts))
        fixed = max(counts.values()) - min(counts.values()) <= 1
        return cls(len(counts), max(batches), number, len(batches), fixed)

    @property
    def rounds(self) -> int:
        """How often a number of steps may be rounded: once in each pass, unless a pass is one step."""
        return self.number if self.batches > self.number else 1

    def longest_rounding(self, size: int) -> float:
        """By how many steps of one process all passes together are longer or shorter, where each is divided and rounded."""
        each = self.batches / self.number
        share = each / size
        return self.rounds * max(each - floor(share) * size, ceil(share) * size - each) if share > 1 else 0.0

    def lost(self, size: int) -> int:
        """The rows that a pass may leave out: what doesn't fill a batch on each rank."""
        return self.rows % (size * self.batch) if self.batch else 0

    def slack(self, size: int, batches: int, divided: bool) -> int:
        """By how many rows all ranks together may train on more or less than one process, where a rank takes `batches`; those
        are `divided` among the ranks, or the rows within each are. A pass leaves out what fills no batch on each rank; it may
        have a step more or less, as the number of its steps is rounded."""
        each = size if divided else 1
        off = min(abs(batches * each - self.batches), (self.rounds + 1) * each)
        return self.number * self.lost(size) + off * self.batch


def may_be_divided(steps: int, by: int, into: int, passes: int) -> bool:
    """Whether ranks that each take `into` steps share `steps` among `by`. Each pass is divided, and rounded up or down; or
    each of some other rounds of equally many steps, at least two for each rank. As a whole it may be off by one."""
    passes = passes if steps > passes else 1
    share = steps / passes / by
    least, most = passes * max(1, floor(share)), passes * ceil(share)
    if min(least, floor(steps / by)) - 1 <= into <= most + 1:
        return True
    for number in range(1, steps // (2 * by) + 1):
        if steps % number == 0 and into % number == 0:
            share = steps // number / by
            if floor(share) <= into // number <= ceil(share):
                return True
    return False


def events(times: int, steps: int, size: int) -> tuple[float, float]:
    """How often something may happen on ranks that happens `times` in `steps` of one process, every so many: their number is
    divided by the ranks, and rounded down, to a step at least; one more or less, as the last falls."""
    every = steps / times if times else inf
    rarest = min(times, steps / size)  # not more often than with each step of a rank
    if every < size:
        return rarest - 1, times + 1
    return rarest - 1, max(times, steps / (every - size + 1)) + 1


def events_kept(times: int, steps: int, its: int, size: int) -> tuple[float, float]:
    """The same where a rank takes `its` steps: of what comes more seldom than a step of all ranks none may be missing, if they
    take as many as one process. It may come every so many steps as let it come once more alone."""
    least, most = events(times, steps, size)
    seldom = steps >= times * size
    often = its // max(1, steps // (times + 1) // size) + 1
    return (times if seldom and its * size >= steps else least), max(most, often)


def spread(batches: Sequence[int], rounds: int) -> float:
    """By how many rows ranks may differ that take as many batches each: the last of a pass may be short; sizes that a script
    varies add up by chance."""
    if not batches:
        return 0.0
    most = max(batches)
    short = [size for size in batches if size < most]
    if len(short) <= rounds:
        return float(rounds * (most - 1))
    return 3 * sqrt(len(batches)) * (most - min(batches))
