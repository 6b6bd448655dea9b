"""Two and three ranks go through a script in every way that they may, within bounds, those first that differ least."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.facts import Facts
from horovodize.interleaving.actions import Block
from horovodize.interleaving.by_rank import ByRank
from horovodize.interleaving.execution import Decisions, Did, Execution, Key
from horovodize.interleaving.own_answers import OwnAnswers
from horovodize.interleaving.program import Program
from horovodize.interleaving.verdicts import Verdict, verdicts

SIZES = (2, 3)  # ranks
_RUNS = 120  # ways that are tried of one program and number of ranks
_APART = 3  # decisions that are taken otherwise than in the first way


class Exploration:
    """What may go wrong when ranks run one script."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.program = Program(facts)
        self.answers = OwnAnswers(facts)

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """All that was found, each pair of places once, by its shortest way."""
        found: dict[tuple[object, ...], Verdict] = {}
        for part in self.program.parts:
            for size in SIZES:
                everyone = [ByRank(self.facts, rank, size) for rank in range(size)]
                for verdict in self._of(part, everyone):
                    found.setdefault((verdict.trouble, verdict.what), verdict)
        return list(found.values())

    def who_comes(self, node: ast.AST) -> tuple[list[int], int]:
        """Which ranks come to a collective, and of how many, where each decision is taken in its first way."""
        size = max(SIZES)
        everyone = [ByRank(self.facts, rank, size) for rank in range(size)]
        decisions = Decisions({})
        coming = set()
        for part in self.program.parts:
            for rank in range(size):
                run = Execution(rank, everyone, self.answers, decisions).of(part)
                if any(isinstance(h, Did) and h.action.node is node for h in run.happened):
                    coming.add(rank)
        return sorted(coming), size

    def _of(self, part: Block, everyone: list[ByRank]) -> Iterator[Verdict]:
        todo: deque[dict[Key, int]] = deque([{}])
        tried: set[frozenset[tuple[Key, int]]] = set()
        while todo and len(tried) < _RUNS:
            given = todo.popleft()
            if frozenset(given.items()) in tried:
                continue
            tried.add(frozenset(given.items()))
            decisions = Decisions(given)
            yield from verdicts(
                [Execution(r, everyone, self.answers, decisions).of(part) for r in range(len(everyone))]
            )
            if len(given) < _APART:
                todo += [
                    {**given, key: way}
                    for key, ways in decisions.met.items()
                    if key not in given
                    for way in range(1, ways)
                ]
