"""What is dealt out: the names in a training loop that stand for the batch of one rank, or for its number."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cached_property

from horovodize.facts.counting.cursors import cursors_of
from horovodize.facts.counting.turn_uses import derived_from, uses_of
from horovodize.python.syntax import FUNCTIONS, Loop, numbered
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver, Feeding, Kind

# What gives the next batch by its name; what is only measured by.
DEALS = re.compile(r"^(get_)?next_?(\w+_)?batch(es)?$|^next_?minibatch$|^get_(\w+_)?batch$|^next$", re.I)
EVALUATES = re.compile(r"(^|[^a-z])(test|val|valid|validation|eval|dev)([^a-z]|$)", re.I)
_KNOWN = ("tensorflow.", "itertools.", "numpy.", "random.", "keras.")
_COPYING = ("list", "tuple")
_LIMIT = 200  # nodes that are looked at behind what a loop goes through


class Dealt:
    """The batches of one module's training loops: each rank gets others; the last one may be shorter, or be missing."""

    def __init__(self, feeding: Feeding) -> None:
        self.feeding = feeding
        self._names: dict[Loop, set[str]] = {}
        self._selecting: dict[Loop, frozenset[ast.expr]] = {}

    def is_own(self, name: ast.Name) -> bool:
        """Whether a name in a training loop stands for the batch of a rank, or for its number."""
        if not self._by_loop:
            return False
        around = [self._by_loop[a] for a in self.feeding.syntax.ancestors(name) if a in self._by_loop]
        if any(name in self.selecting(driver) for driver in around):
            return True  # `rows[i : i + 16]`, read where it stands
        if not any(name.id in self._of(driver) for driver in around):
            return False
        # `start = end` becomes `start = start + n`
        return not any(c.end is name for driver in around for c in cursors_of(self.feeding, driver))

    @cached_property
    def _by_loop(self) -> dict[ast.AST, Driver]:
        return {driver.loop: driver for driver in self.feeding.drivers}

    def _of(self, driver: Driver) -> set[str]:
        if driver.loop not in self._names:
            self._names[driver.loop] = self.names(driver)
        return self._names[driver.loop]

    def selecting(self, driver: Driver) -> frozenset[ast.expr]:
        """The places in a driving loop that read the number of a turn to select rows by it: `rows[i : i + 16]`. Not those by
        which the number goes on, or something is computed that selects: a name has that."""
        loop = driver.loop
        if loop not in self._selecting:
            self._selecting[loop] = frozenset(e for e in self._selects(driver) if self._is_index(e))
        return self._selecting[loop]

    def _is_index(self, e: ast.expr) -> bool:
        inside = self.feeding.syntax.inside
        around = self.feeding.syntax.ancestors(e)
        return any(isinstance(a, ast.Subscript) and inside(e, a.slice) for a in around)

    def would_deal(self, node: ast.AST | None) -> bool:
        """Whether a place selects rows by a number that ranks share until their rows are dealt out."""
        return any(node in self.selecting(driver) for driver in self.feeding.drivers)

    def _selects(self, driver: Driver) -> Sequence[ast.expr]:
        loop = driver.loop
        if isinstance(loop, ast.While) or (driver.kind is Kind.RANGE and not driver.indexed):
            return [use for c in cursors_of(self.feeding, driver) for use in c.uses.selecting]
        if driver.kind is not Kind.RANGE or not isinstance(loop.target, ast.Name):
            return ()
        uses = uses_of(self.feeding, loop, loop.target.id)
        return uses.selecting if uses is not None else ()

    def names(self, driver: Driver) -> set[str]:
        """The names in a driving loop that differ between the ranks: items of the data, and what is made of the number by
        which it is selected. The number itself goes on counting (see `rules/loops/ranges`)."""
        loop = driver.loop
        if isinstance(loop, ast.While) or (driver.kind is Kind.RANGE and not driver.indexed):
            cursors = cursors_of(self.feeding, driver)
            goes_on = {c.name for c in cursors if c.end is not None}  # `start = end`, of all ranks together
            return derived_from(loop, [*self._selects(driver), *self._asked(loop)]) - goes_on
        target, e = loop.target, loop.iter
        while isinstance(e, ast.Call):
            data = numbered(e)
            if data is not None and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                target = target.elts[1]
            elif e is driver.iterable or not e.args:
                break
            e = e.args[0] if data is None else data
        if target is loop.target and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            made = [o.node for o in self.feeding.values.origins(e)]  # `for i, rows in bar(enumerate(data)):`
            if made and all(isinstance(n, ast.Call) and numbered(n) is not None for n in made):
                target = target.elts[1]
        if self.numbered(driver) is not None:
            target = loop.target
        targets = self._of_rows(target, driver.iterable)
        found = {n.id for t in targets for n in walk(t) if isinstance(n, ast.Name)}
        if driver.kind is not Kind.RANGE:
            return found
        if not driver.indexed or not isinstance(target, ast.Name):
            return set()
        if uses_of(self.feeding, loop, target.id) is None:
            return found
        return derived_from(loop, self._selects(driver))

    def _of_rows(self, target: ast.expr, iterated: ast.expr | None) -> list[ast.expr]:
        """The parts of a target that rows are bound to: not `step` of `for step, rows in zip(range(1, 9), dataset):`, which
        goes on counting, as data sets are divided where they are made; nor `turn` of `zip(turns, rows[rank::size])`."""
        zipped = self._zipped(iterated)
        parts = target.elts if isinstance(target, ast.Tuple) else []
        if len(zipped) != len(parts):
            return [target]
        own = list(map(self._is_told_the_rank, zipped))
        if any(own):
            return [t for t, is_own in zip(parts, own, strict=True) if is_own]
        if not any(map(self.feeding.pipelines.is_dataset, zipped)):
            return [target]
        return [t for t, e in zip(parts, zipped, strict=True) if not self.feeding.kinds.is_range(e)]

    def _zipped(self, iterated: ast.expr | None) -> list[ast.expr]:
        """What a loop goes through side by side, here or where a function of the program says it."""
        made = iterated
        if isinstance(iterated, ast.Call) and (callee := self.feeding.values.callee(iterated)) is not None:
            returned = self.feeding.values.returned(callee) if isinstance(callee, FUNCTIONS) else []
            made = returned[0] if len(returned) == 1 else None
        while isinstance(made, ast.Call) and made.args and self.feeding.names.last(made.func) in _COPYING:
            made = made.args[0]
        is_zip = isinstance(made, ast.Call) and self.feeding.names.last(made.func) == "zip"
        return made.args if is_zip and isinstance(made, ast.Call) else []

    def _is_told_the_rank(self, e: ast.expr) -> bool:
        calls = (n for n in self.feeding.values.depends([e], _LIMIT) if isinstance(n, ast.Call))
        names = (self.feeding.names.of(call.func) or "" for call in calls)
        return any(name.startswith("horovod.") and name.endswith(".rank") for name in names)

    def _asked(self, loop: Loop) -> list[ast.expr]:
        """`next(batches)`, `train.next_batch(64)`: each rank gets others."""
        return [
            n
            for s in loop.body
            for n in walk(s)
            if isinstance(n, ast.Call) and (self._is_asked(n) or self._is_named_so(n))
        ]

    def _is_asked(self, call: ast.Call) -> bool:
        """`next(batches)` of a generator of the program, or of what a module gives that isn't read."""
        if not isinstance(call.func, ast.Name) or call.func.id != "next" or not call.args:
            return False
        source = call.args[0]
        return self.feeding.kinds.generator(source) is not None or self._is_of_unread(source)

    def _is_named_so(self, call: ast.Call) -> bool:
        """`batches.next()`, `data.next_batch(64)` of what gives batches by its name."""
        func = call.func
        if (
            not isinstance(func, ast.Attribute)
            or not DEALS.match(func.attr)
            or EVALUATES.search(ast.unparse(func))
        ):
            return False
        if (self.feeding.names.of(func) or "").startswith(_KNOWN):
            return False
        return not self.feeding.pipelines.is_dataset(func.value)

    def _is_of_unread(self, source: ast.expr) -> bool:
        """Whether something is what a function gives that isn't read, of none of the libraries that are known."""
        made = self.feeding.values.calls(source)
        names = [self.feeding.names.of(c.func) or "" for c in made]
        return bool(made) and all(
            name and not name.startswith(_KNOWN) and self.feeding.values.callee(c) is None
            for c, name in zip(made, names, strict=True)
        )

    def numbered(self, driver: Driver) -> ast.Call | None:
        """The `enumerate(…)` around what a loop iterates, where its number selects data: then number and item are dealt out
        together."""
        loop = driver.loop
        if (
            isinstance(loop, ast.While)
            or not isinstance(loop.target, ast.Tuple)
            or driver.kind is Kind.DATASET
        ):
            return None
        e = loop.iter
        while (
            isinstance(e, ast.Call)
            and e.args
            and not (isinstance(e.func, ast.Name) and e.func.id == "enumerate")
        ):
            e = e.args[0]
        number = loop.target.elts[0]
        if not isinstance(e, ast.Call) or not isinstance(number, ast.Name) or driver.kind is Kind.RANGE:
            return None
        uses = uses_of(self.feeding, loop, number.id)
        return e if uses is not None and uses.selecting else None
