"""Whether as much is written on ranks as alone, row for row: summaries, lines of tables, files that are kept.

How often a file was opened says little of it: a log is opened once, and an event file, too."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from horovodize.verifying.check import Check
from horovodize.verifying.left import numbers_in
from horovodize.verifying.runs import Run
from horovodize.verifying.tolerances import Passes, events_kept

_Key = TypeVar("_Key", bound=Hashable)
_MOST = 3  # how many are named
_SPEED = "/sec"  # of `global_step/sec`, which TensorFlow measures over so many of a rank's own steps


def as_much_is_written(alone: Sequence[Run], run: Run, settled: bool) -> Check:
    """settled: how often something is written doesn't follow from how well it trains."""
    name = "as much is written as alone"
    if run.size == 1 or run.stopped or alone[0].stopped:
        return Check(name, seen=False)
    found = _Amounts(alone, run, settled)
    found.summaries()
    found.tables()
    found.files()
    broken, notes = (list(dict.fromkeys(one)) for one in (found.broken, found.notes))
    return Check(name, tuple(broken[:_MOST]), tuple(notes[:_MOST]))


class _Amounts:
    """What a run has left, beside what others have alone."""

    def __init__(self, alone: Sequence[Run], run: Run, settled: bool) -> None:
        self._alone, self._run, self._settled = alone, run, settled
        self._steps, self._its = (max(one.ranks[0].steps, default=0) for one in (alone[0], run))
        self._passes = Passes.of(alone[0].ranks[0]).number
        self._written = alone[0].ranks[0].written()[0]
        self._copies = any(rank.written(self._written)[1] for rank in run.ranks)
        self.broken: list[str] = []
        self.notes: list[str] = []

    def summaries(self) -> None:
        each = [one.left.values for one in self._alone]
        new = [place for place in self._run.left.values if place not in each[0]]
        gone = [place for place in each[0] if place not in self._run.left.values]
        every = self._alone[0].left.every
        often = {
            place
            for place, times in each[0].items()
            if every[place] < self._run.size and times > self._passes
        }
        for place, told, is_fault in self._apart(each, self._run.left.values, often):
            folder, tag = place
            if tag.endswith(_SPEED):
                continue
            renamed = place in gone and len(gone) <= len(new)
            where = f'"{tag}" in {folder or "its folder"}'
            self._say(f"{where}: writes {told.format(what='summaries')}", is_fault and not renamed)

    def tables(self) -> None:
        each = [one.left.rows for one in self._alone]
        often = {kind for kind, lines in each[0].items() if lines > self._passes + 1}  # a line for the names
        for kind, told, is_fault in self._apart(each, self._run.left.rows, often):
            if kind in self._run.left.rows or kind not in self._written:  # else it is said of the file
                self._say(f"{kind}: writes {told.format(what='lines')}", is_fault)

    def files(self) -> None:
        """Only what is missing: more than one writer is looked at elsewhere."""
        had, has = self._alone[0].left.files, self._run.left.files
        others = [{kind: len(names) for kind, names in one.left.files.items()} for one in self._alone]
        for kind, names in had.items():
            lost = sorted(names - has.get(kind, set()))
            if 0 < len(lost) < len(names) and has[kind] < names and self._is_due(len(names), lost):
                told = f"{lost[0]} is kept alone, and not on {self._run.size} ranks"
                self._say(told, self._same(others, kind))
                del others[0][kind]
        for kind, told, is_fault in self._apart(others, {kind: len(names) for kind, names in has.items()}):
            its = has.get(kind, set())
            if len(its) < len(had[kind]) and (its or self._is_seen_to_be_written(kind)):
                self._say(f"{kind}: keeps {told.format(what='files')}", is_fault)

    def _apart(
        self, each: Sequence[Mapping[_Key, int]], its: Mapping[_Key, int], often: Collection[_Key] = ()
    ) -> Iterator[tuple[_Key, str, bool]]:
        """What differs: where, what to say of it, and whether it is a fault. Of what is written `often`, perhaps with each step
        of a part of the training, a rank may write its share."""
        size = self._run.size if self._its < self._steps else 1
        for place, times in each[0].items():
            number = its.get(place, 0)
            if number == times:
                continue
            least, most = events_kept(times, self._steps, self._its, size)
            if place in often:
                least = min(least, times // size - 1)
            is_apart = not number or number < least or (number > most and not self._copies)
            told = f"{times} {{what}} alone, {number} on {self._run.size} ranks"
            yield place, told, is_apart and self._same(each, place)

    def _same(self, each: Sequence[Mapping[_Key, int]], place: _Key) -> bool:
        return self._settled and all(one.get(place) == each[0][place] for one in each)

    def _is_seen_to_be_written(self, kind: str) -> bool:
        return any(kind in rank.written(self._written)[0] for rank in self._run.ranks)

    def _is_due(self, times: int, lost: Sequence[str]) -> bool:
        """Whether all ranks together come to where alone the lost files are written, by the numbers in their names. Unless
        they are written with almost each step: ranks take fewer."""
        numbers = [max(numbers_in(name), default=0) for name in lost]
        often = self._steps < 2 * times * self._run.size
        return not often and max(numbers) <= (self._its - 1) * self._run.size

    def _say(self, text: str, is_fault: bool) -> None:
        (self.broken if is_fault else self.notes).append(text)
