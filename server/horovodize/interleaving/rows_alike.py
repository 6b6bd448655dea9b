"""Whether all ranks compute a number from the same rows: a loss over rows to validate on, by a function that trains, too."""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.facts import Facts
from horovodize.python.syntax import FUNCTIONS, Function

_RANKS = ("rank", "local_rank", "cross_rank")
_DRAWING = (Source.CHANCE, Source.CLOCK, Source.INPUT, Source.ORDER, Source.GAME, Source.SIGNAL)
_LIMIT = 400
_NAMES = 4


class RowsAlike:
    """Such numbers of one script."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module

    def asks_for_the_same(self, e: ast.expr) -> bool:
        """Whether all that a test compares are results of functions of the script that are given the same on every rank, and
        use no rank themselves: `run_epoch(session, model, valid) > limit`."""
        calls = self._calls(e, _NAMES)
        return bool(calls) and all(map(self._is_given_the_same, calls))

    def _calls(self, e: ast.expr, depth: int) -> list[ast.Call]:
        """The calls of functions of the script by which an expression gets its value; none where something else differs."""
        found: list[ast.Call] = []
        for n in ast.walk(e):
            if isinstance(n, ast.Call) and isinstance(self.module.values.callee(n), FUNCTIONS):
                found.append(n)
        inside = {id(x) for c in found for x in ast.walk(c)}
        for n in ast.walk(e):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in inside and depth:
                for b in self.module.scopes.reaching(n):
                    if b.kind in ("assign", "augment") and b.value is not None:
                        found += self._calls(b.value, depth - 1)
        return found

    def _is_given_the_same(self, call: ast.Call) -> bool:
        function = self.module.values.callee(call)
        if not isinstance(function, FUNCTIONS):
            return False
        given = [*call.args, *(k.value for k in call.keywords)]
        if not any(self.facts.sites.graph.is_session(e) for e in given):
            return False
        rows = [e for e in given if not self.facts.sites.graph.is_session(e)]
        return not any(map(self._is_of_rank, rows)) and not self._asks_for_the_rank(function)

    def _is_of_rank(self, e: ast.expr) -> bool:
        if self.facts.horovod.depends_on(e, *_RANKS, limit=_LIMIT):
            return True
        return any(
            isinstance(r, Varies) and r.kind in _DRAWING for r in self.facts.uniform.of_values.reasons(e)
        )

    def _asks_for_the_rank(self, function: Function) -> bool:
        """Whether a function takes anything of the rank, or draws, beside what it is given."""
        given = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
        for n in ast.walk(function):
            if self.facts.horovod.is_call(n, *_RANKS):
                return True
            if isinstance(n, ast.Call) and (self.module.names.of(n.func) or "").startswith(
                ("random.", "numpy.random.")
            ):
                return True
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in given:
                bound = self.module.scopes.reaching(n)
                outside = [b for b in bound if self.module.syntax.function(b.statement) is not function]
                if outside and self.facts.horovod.depends_on(n, *_RANKS, limit=60):
                    return True
        return False
