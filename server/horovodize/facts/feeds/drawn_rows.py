"""Whether a function that is given a loop's number selects rows by it, or draws them whatever the number is."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.facts.counting.cursors import cursors_of
from horovodize.facts.counting.turn_uses import uses_of
from horovodize.facts.differences.sources import SEEDS, STATELESS
from horovodize.facts.differences.uniform import Uniformity
from horovodize.facts.feeds.generators import COMPUTING
from horovodize.python.random_generators import MAKERS
from horovodize.python.syntax import FUNCTIONS, Loop, arguments
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver, Feeding

_FAR = 2000  # nodes that what a function gives is made of
_COMPUTING = ("numpy.", "math.", "tensorflow.")
_READING = ("load", "open", "read", "memmap", "fromfile", "genfromtxt")


class DrawnRows:
    """The loops of one module whose steps get rows that are drawn, by functions that are told the number of the step."""

    def __init__(self, feeding: Feeding, uniform: Uniformity) -> None:
        self.feeding, self.uniform, self.module = feeding, uniform, feeding.module

    def are_drawn(self, driver: Driver) -> bool:
        """`x, y = sample(n, length(step))`: whether all that the variable of a counting loop goes to draws rows at random,
        and neither selects them by the number nor draws by it. False where that isn't seen."""
        selecting = self._selecting(driver)
        if not selecting or self._seeds_by(driver.loop, selecting):
            return False
        calls = [self._told(use) for use in selecting]
        return all(c is not None and self.draws(c, selecting) for c in calls)

    def _selecting(self, driver: Driver) -> list[ast.Name]:
        """The places that read the number of a turn to select by it: the loop's variable, or one that it moves on."""
        loop = driver.loop
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
            uses = uses_of(self.feeding, loop, loop.target.id)
            if uses is not None and uses.selecting:
                return uses.selecting
        return [use for c in cursors_of(self.feeding, driver) for use in c.uses.selecting]

    def _told(self, use: ast.Name) -> ast.Call | None:
        """The outermost call of a function of the program that a number is given to."""
        syntax, found = self.module.syntax, None
        for around in syntax.ancestors(use):
            if isinstance(around, ast.stmt):
                break
            if isinstance(around, ast.Subscript) and syntax.inside(use, around.slice):
                return None
            if isinstance(around, ast.Call) and isinstance(self.module.values.callee(around), FUNCTIONS):
                found = around
        return found

    def draws(self, call: ast.Call, numbers: Sequence[ast.expr]) -> bool:
        """Whether what a call gives is drawn at random, and no row of it selected by some numbers."""
        made_of = list(self.module.values.depends([call], _FAR))
        calls = [n for n in made_of if isinstance(n, ast.Call)]
        counted = set(self.module.values.depends(numbers, _FAR))  # the rows that a number counts may be drawn
        if len(made_of) >= _FAR or not any(self.uniform.draws.draws(c) for c in calls if c not in counted):
            return False
        selecting = [n.slice for n in made_of if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)]
        if any(self._goes_by(e, numbers) for e in selecting):
            return False
        return all(
            self._only_computes(c) or not any(self._goes_by(e, numbers) for e in self._taken(c))
            for c in calls
        )

    def _only_computes(self, call: ast.Call) -> bool:
        """Whether what a call gives is no other row by another number that it is given: not a file's, not a seed's."""
        name = self.module.names.of(call.func) or ""
        if name in MAKERS or name in SEEDS or name.startswith(STATELESS):
            return False
        if self.uniform.draws.draws(call) or isinstance(self.module.values.callee(call), FUNCTIONS):
            return True
        computes = name.startswith(_COMPUTING) or self.module.scopes.is_builtin(call.func)
        return computes and not any(word in self.module.names.last(call.func) for word in _READING)

    def _taken(self, call: ast.Call) -> list[ast.expr]:
        """By what a call may give another row: what it is given, and what it is a method of unless that computes of all of it
        (`x.sum(1)`)."""
        given = arguments(call)
        held = isinstance(call.func, ast.Attribute) and call.func.attr in COMPUTING
        return given if held else [*given, call.func]

    def _goes_by(self, e: ast.AST, numbers: Sequence[ast.expr]) -> bool:
        made_of = set(self.module.values.depends([e], _FAR))
        return len(made_of) >= _FAR or any(n in made_of for n in numbers)

    def _seeds_by(self, loop: Loop, numbers: Sequence[ast.expr]) -> bool:
        """Whether a loop, or a function that it calls, seeds by its number: `np.random.seed(step)`."""
        seeding = [
            c for c in self.feeding.calls_in(loop) if self.module.names.of(c.func) in (*SEEDS, *MAKERS)
        ]
        given = [a for c in seeding for a in walk(c) if isinstance(a, ast.expr) and a is not c]
        return any(self._goes_by(a, numbers) for a in given)
