"""Numbers that a generator function of the program yields with the steps that it takes itself, to who goes through it:
`for step, loss in train(model):`, `for i, loss in enumerate(train(model)):`."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counted_yields import yields_of
from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.fetched import Fetched
from horovodize.facts.counting.occasions import Occasions
from horovodize.python.module import Module
from horovodize.python.syntax import numbered
from horovodize.summary.feeding import Feeding


class YieldedNumbers:
    """The numbers of one module that are yielded."""

    def __init__(self, module: Module, feeding: Feeding, occasions: Occasions, fetched: Fetched) -> None:
        self.module, self.feeding, self.occasions, self.fetched = module, feeding, occasions, fetched
        self._numbers: dict[ast.Yield, Counter] = {}

    def given(self, iterated: ast.expr, path: tuple[int, ...]) -> list[ast.expr] | None:
        """What a name of a loop over a generator is, as the generator has it; None where it isn't the same in all yields."""
        e, path = self._behind(iterated, path)
        parts = [
            self.fetched.part(y.value, path) if y.value is not None else None
            for y in yields_of(self.module, e)
        ]
        found = [part for part in parts if part is not None]
        return found if found and len(found) == len(parts) else None

    def item(self, e: ast.Subscript) -> list[ast.expr] | None:
        """What an entry is of a dictionary that is yielded: `out["step"]` of `for out in train(model):`."""
        bound = self.module.scopes.reaching(e.value) if isinstance(e.value, ast.Name) else []
        loops = [(b.statement, b.path) for b in bound if b.kind == "item"]
        if len(loops) != 1 or len(bound) != 1 or not isinstance(loops[0][0], (ast.For, ast.AsyncFor)):
            return None
        given = self.given(loops[0][0].iter, loops[0][1]) or []
        entries = [
            v
            for d in given
            if isinstance(d, ast.Dict)
            for k, v in zip(d.keys, d.values, strict=True)
            if k is not None and ast.dump(k) == ast.dump(e.slice)
        ]
        return entries if entries and len(entries) == len(given) else None

    def number(self, iterated: ast.expr, path: tuple[int, ...]) -> Counter | None:
        """The counter that the number of a turn is, where each turn goes with one step of the generator's."""
        data = self._numbered(self.feeding.without_bars(iterated))
        yields = (
            yields_of(self.module, self.feeding.without_bars(data))
            if data is not None and path == (0,)
            else []
        )
        if len(yields) != 1:
            return None
        at = self.occasions.counted_at(yields[0])
        if at is None or self.occasions.are_seldom(yields[0], at[0]):
            return None
        if yields[0] not in self._numbers:
            self._numbers[yields[0]] = Counter(CounterKind.NUMBER, frozenset(at[0]), at[1])
        return self._numbers[yields[0]]

    def _behind(self, iterated: ast.expr, path: tuple[int, ...]) -> tuple[ast.expr, tuple[int, ...]]:
        e = self.feeding.without_bars(iterated)
        while (data := self._numbered(e)) is not None and path[:1] == (1,):
            e, path = self.feeding.without_bars(data), path[1:]
        return e, path

    def _numbered(self, e: ast.expr) -> ast.expr | None:
        return numbered(e) if isinstance(e, ast.Call) else None


__all__ = ["YieldedNumbers"]
