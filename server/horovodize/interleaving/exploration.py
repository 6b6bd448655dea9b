"""Two and three ranks go through a script in every way that they may, within bounds, those first that differ least."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from horovodize.facts.facts import Facts
from horovodize.interleaving.actions import Block, everything, without_files
from horovodize.interleaving.by_rank import ByRank
from horovodize.interleaving.deciding import may_differ
from horovodize.interleaving.execution import Decisions, Did, Execution, Key, Run
from horovodize.interleaving.program import Program
from horovodize.interleaving.settings import Settings
from horovodize.interleaving.verdicts import Trouble, Verdict, partings, races

SIZES = (2, 3)  # ranks
_RUNS = 120  # ways that are tried of one program and number of ranks
_APART = 3  # decisions that are taken otherwise than in the first way


class Exploration:
    """What may go wrong when ranks run one script."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.program = Program(facts)
        self.answers = self.program.answers
        self._settings = Settings(facts)
        self._by_size: dict[int, list[ByRank]] = {}

    def verdicts(self, trouble: Trouble) -> list[Verdict]:
        """All that was found of a kind, each pair of places once, by its shortest way."""
        return self._races if trouble is Trouble.RACE else [v for v in self._partings if v.trouble is trouble]

    @cached_property
    def _races(self) -> list[Verdict]:
        return self._explore(self.program.parts, races)

    @cached_property
    def _partings(self) -> list[Verdict]:
        """Stalls and divergences. Files don't matter to them, and where no rank decides for itself, all do the same."""
        return self._explore(map(without_files, self.program.parts), partings, self._may_differ)

    def _may_differ(self, part: Block, everyone: Sequence[ByRank]) -> bool:
        return any(may_differ(action, everyone, self.answers) for action in everything(part))

    def _explore(
        self,
        parts: Iterable[Block],
        judged: Callable[[Sequence[Run]], Iterator[Verdict]],
        worth: Callable[[Block, Sequence[ByRank]], bool] = lambda part, everyone: True,
    ) -> list[Verdict]:
        found: dict[tuple[object, ...], Verdict] = {}
        for part in parts:
            for everyone in map(self._everyone, SIZES):
                if worth(part, everyone):
                    for verdict in (v for runs in self._ways(part, everyone) for v in judged(runs)):
                        found.setdefault((verdict.trouble, verdict.what), verdict)
        return list(found.values())

    def _everyone(self, size: int) -> list[ByRank]:
        if size not in self._by_size:
            self._by_size[size] = [ByRank(self.facts, rank, size, self._settings) for rank in range(size)]
        return self._by_size[size]

    def who_comes(self, node: ast.AST) -> tuple[list[int], int]:
        """Which ranks come to a collective, and of how many: in one of the ways that they may go."""
        size = max(SIZES)
        everyone = self._everyone(size)
        coming = set[int]()
        for part in self.program.parts:
            for runs in self._ways(part, everyone):
                coming |= {run.rank for run in runs if _comes(run, node)}
                if len(coming) == size:
                    break
        return sorted(coming), size

    def _ways(self, part: Block, everyone: list[ByRank]) -> Iterator[list[Run]]:
        """What all ranks do, in one way after the other."""
        todo: deque[dict[Key, int]] = deque([{}])
        tried: set[frozenset[tuple[Key, int]]] = set()
        first = dict[Key, bool]()
        while todo and len(tried) < _RUNS:
            given = todo.popleft()
            if frozenset(given.items()) in tried:
                continue
            tried.add(frozenset(given.items()))
            decisions = Decisions(given, first)
            yield [Execution(r, everyone, self.answers, decisions).of(part) for r in range(len(everyone))]
            if len(given) < _APART:
                todo += [
                    {**given, key: way}
                    for key, ways in decisions.met.items()
                    if key not in given
                    for way in range(1, ways)
                ]


def _comes(run: Run, node: ast.AST) -> bool:
    return any(isinstance(h, Did) and h.action.node is node for h in run.happened)
