"""Which numbers a program adds to while it trains, and counts steps by so: `step += 1`, `state["step"] += 1`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.cursors import cursors_of, deals_by_cursor
from horovodize.facts.counting.fetched import Fetched
from horovodize.facts.counting.handed_counts import HandedCounts
from horovodize.facts.counting.later_starts import LaterStarts
from horovodize.facts.counting.occasions import Occasions
from horovodize.facts.counting.restored_numbers import RestoredNumbers
from horovodize.facts.counting.row_counts import stands_for_rows
from horovodize.facts.counting.variable_additions import within
from horovodize.facts.differences.given_whole import given_whole
from horovodize.facts.files.kept import Kept
from horovodize.python.augmented import Augmented, augmented
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Loop, is_one
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver, Feeding

_DEPTH = 8  # of names and functions that a number is handed on by


class AddedNumbers:
    """The numbers of one module that count steps so."""

    def __init__(
        self, module: Module, feeding: Feeding, fetched: Fetched, occasions: Occasions, kept: Kept
    ) -> None:
        self.module, self.feeding, self.fetched, self.occasions = module, feeding, fetched, occasions
        self.kept = kept
        self.syntax, self.values = module.syntax, module.values
        self.handed, self._restored = HandedCounts(module, fetched), RestoredNumbers(module)
        self.later = LaterStarts(module, feeding, occasions)
        self._known: dict[object, Counter | None] = {}

    def key(self, e: ast.Name | ast.Attribute) -> tuple[str, object]:
        """What tells one variable from others of its name: where it lives."""
        if isinstance(e, ast.Name):
            return e.id, self.module.scopes.lookup(e.id, e)
        return e.attr, self.values.receiver(e.value)

    def of(self, key: object) -> Counter | None:
        """The counter that a variable is, by its `key`."""
        if key not in self._known:
            self._known[key] = None  # while it is being found out
            self._known[key] = self._find(key)
        return self._known[key]

    def among(self, bindings: list[Binding]) -> Counter | None:
        """The counter that the bindings of a variable make which reach a place: `i = 0` and `i += 1` of one loop, where another
        loop uses the name again."""
        if not any(map(self.adds, bindings)):
            return None
        key = frozenset(bindings)
        if key not in self._known:
            self._known[key] = self._count(bindings)
        return self._known[key]

    def _find(self, key: object) -> Counter | None:
        assert isinstance(key, tuple)
        return self._count(list(self._all_bindings(*key)))

    def _count(self, bindings: list[Binding]) -> Counter | None:
        """The counter that some bindings make, those that set it and those that add to it."""
        added = [b for b in bindings if self.adds(b)]
        if self._begins_in_each_turn(bindings, added):
            return None
        handed = [b for b in bindings if b.kind == "parameter" and self.handed.is_handed_back(b)]
        bindings = [b for b in bindings if b not in handed]
        if not added:
            return self._kept_of(bindings)
        told = [b for b in bindings if b.kind == "parameter"]
        if any(b.kind not in ("assign", "augment") for b in bindings if b not in told):
            return None
        if any(b.kind == "augment" and b not in added for b in bindings):
            return None
        drivers, fitted = set[Driver](), False
        for b in added:
            counted = self.occasions.counted_at(b.statement)
            if (
                counted is None
                or self._selects(b, counted[0])
                or self.occasions.are_seldom(b.statement, counted[0])
            ):
                return None
            if self._fills(b) or self._begins_again(b, counted[0]):
                return None
            drivers |= counted[0]
            fitted |= counted[1]
        begun = [b for b in bindings if b not in added and b not in told]
        starts = [b.value for b in begun if b.value is not None and not b.path]
        starts += [e for b in told for e in self.values.passed(b)]
        starts += [b.value for b in begun if b.path and isinstance(b.value, ast.Call)]
        advances: list[ast.AST] = []
        for b in added:
            advances += self.handed.sums(b) or [self._place(b)]
        given = [e for b in begun for e in self._given(b)]
        held = [b.anchor.value for b in added if isinstance(b.anchor, ast.Attribute)]
        given += [e for whole in held for e in given_whole(self.module, whole)]
        given += [e for b in told for e in self.values.passed(b)]
        stored = any(map(self._is_restored, given))
        rows = not all(self.is_constant(e) for b in added for e in self.amounts(b))
        return Counter(
            CounterKind.NUMBER, frozenset(drivers), fitted, tuple(advances), tuple(starts), stored, rows=rows
        )

    def _place(self, b: Binding) -> ast.AST:
        """The statement that counts a number on, or the `n := n + 1` in it."""
        around = self.syntax.parent[b.anchor]
        return around if isinstance(around, ast.NamedExpr) else b.statement

    def _kept_of(self, bindings: list[Binding]) -> Counter | None:
        """The count that a function is handed and gives back, by the name that its caller has for it."""
        kept = {b: self.handed.kept_from(b) for b in bindings}
        found = {self.of(key) for key in kept.values() if key is not None}
        counter = found.pop() if len(found) == 1 else None
        begun = [b for b, key in kept.items() if key is None]
        if counter is None or any(b.kind != "assign" for b in begun):
            return None
        return replace(counter, starts=tuple(b.value for b in begun if b.value is not None and not b.path))

    def item(self, e: ast.Subscript) -> Counter | None:
        """`state["step"]`, `self.state["run"]["step"]`, which is added to like a variable."""
        if not self._added_items or not isinstance(e.slice, ast.Constant) or not _holds(e.value):
            return None
        key = (ast.unparse(e.slice), self._held_as(e.value))
        if key not in self._known:
            self._known[key] = self._find_item(*key)
        return self._known[key]

    def is_same_item(self, e: ast.Subscript, other: ast.expr) -> bool:
        """Whether two expressions are one item of one dictionary or list, also where a function is handed that."""
        if not isinstance(other, ast.Subscript) or not _holds(e.value):
            return False
        return ast.dump(e.slice) == ast.dump(other.slice) and self._is_called(
            other.value, self._held_as(e.value)
        )

    def _held_as(self, e: ast.expr, depth: int = _DEPTH) -> tuple[str, object]:
        """The `key` of the variable that holds something: of a parameter, of the one variable that all calls pass; of another
        name for it (`run = self.state["run"]`), of what it stands for."""
        if isinstance(e, ast.Subscript):
            name, home = self._held_as(e.value, depth)
            return f"{name}[{ast.unparse(e.slice)}]", home
        bound = self.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
        if depth and len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path:
            meant = bound[0].value
            if isinstance(meant, (ast.Attribute, ast.Subscript)) and _holds(meant):
                return self._held_as(meant, depth - 1)
        if depth and bound and all(b.kind == "parameter" for b in bound):
            passed = [v for b in bound for v in self.values.passed(b)]
            named = [v for v in passed if _holds(v)]
            held = {self._held_as(v, depth - 1) for v in named}
            if len(held) == 1 and len(named) == len(passed):
                return held.pop()
        assert isinstance(e, (ast.Name, ast.Attribute))
        return self.key(e)

    def items(self, called: str, key: ast.expr) -> Iterator[Counter | None]:
        """What counts as an entry of attributes of one name, whichever object has them: `self.state["step"] += 1`."""
        for target in (a.target for a in self._added_items.values()):
            if isinstance(target, ast.Subscript) and ast.unparse(target.slice) == ast.unparse(key):
                if isinstance(target.value, ast.Attribute) and target.value.attr == called:
                    yield self.item(target)

    @cached_property
    def _added_items(self) -> dict[ast.stmt, Augmented]:
        """`state["step"] += 1`"""
        found = ((s, augmented(s)) for s in self.syntax.every(ast.AugAssign, ast.Assign))
        return {s: a for s, a in found if a is not None and isinstance(a.target, ast.Subscript)}

    def _find_item(self, item: str, whole: tuple[str, object]) -> Counter | None:
        def is_meant(target: ast.expr) -> bool:
            named = isinstance(target, ast.Subscript) and ast.unparse(target.slice) == item
            return named and isinstance(target, ast.Subscript) and self._is_called(target.value, whole)

        moves = {s: a for s, a in self._added_items.items() if is_meant(a.target)}
        assigns = (s for s in self.syntax.every(ast.Assign) if s not in moves)
        sets = [s.value for s in assigns if any(map(is_meant, s.targets))]
        adds = all(isinstance(a.operator, ast.Add) and self.is_amount(a.value) for a in moves.values())
        if not moves or not adds:
            return None
        found = [self.occasions.counted_at(s) for s in moves]
        if any(c is None or self.occasions.are_seldom(s, c[0]) for s, c in zip(moves, found, strict=True)):
            return None
        drivers = frozenset(d for c in found if c is not None for d in c[0])
        fitted = any(c is not None and c[1] for c in found)
        name, home = whole  # of an item of an item, what holds them all
        given = [e for b in self._all_bindings(name.split("[", maxsplit=1)[0], home) for e in self._given(b)]
        stored = any(map(self._is_restored, [*given, *sets, *self._filled_with(whole)]))
        return Counter(CounterKind.NUMBER, drivers, fitted, tuple(moves), tuple(sets), stored)

    def _is_called(self, e: ast.expr, key: tuple[str, object]) -> bool:
        """Whether an expression is the variable of a key."""
        if not _holds(e):
            return False
        (name, home), (wanted, where) = self._held_as(e), key
        if isinstance(home, frozenset) and isinstance(where, frozenset):
            return name == wanted and bool(home & where)
        return name == wanted and home == where

    def _filled_with(self, whole: tuple[str, object]) -> Iterator[ast.expr]:
        """What a dictionary is given further items of: `state.update(saved)`"""
        for call in self.module.calls_called("update"):
            if isinstance(call.func, ast.Attribute) and self._is_called(call.func.value, whole):
                yield from (*call.args, *(k.value for k in call.keywords))

    def _is_restored(self, start: ast.expr) -> bool:
        """Whether a number is what an earlier run has counted: read from a file, or from a variable that a checkpoint keeps, or
        a number of steps that were taken before."""
        if isinstance(start, ast.IfExp):  # its test finds a checkpoint, and need not give its number
            return any(map(self._is_restored, (start.body, start.orelse)))
        return (
            self._restored.is_restored(start)
            or self.later.is_one(start)
            or (bool(self.kept.numbers) and self._is_kept(start, _DEPTH))
        )

    def _is_kept(self, start: ast.expr, depth: int) -> bool:
        """Whether a number is the one that a checkpoint keeps, `int(checkpoint.step)`, or the one after it; not what is
        computed of that and of the length of some data, which a rank may have a share of."""
        moved = isinstance(start, ast.BinOp) and isinstance(start.op, (ast.Add, ast.Sub))
        if moved and isinstance(start, ast.BinOp) and isinstance(start.right, ast.Constant):
            start = start.left
        if depth and isinstance(start, (ast.IfExp, ast.BoolOp)):  # `int(checkpoint.step) if found else 0`
            parts = start.values if isinstance(start, ast.BoolOp) else [start.body, start.orelse]
            return any(self._is_kept(e, depth - 1) for e in parts)
        if depth == 0 or not isinstance(start, (ast.Name, ast.Attribute, ast.Call)):
            return False
        if not set(self.kept.numbers).isdisjoint(self.values.calls(start)):
            return True
        if isinstance(start, ast.Call):
            callee = self.values.callee(start)
            read = within(self.module.names.last(start.func), start)
            given = [read] if read is not None else []
            if self.module.scopes.is_builtin(start.func) and self.module.names.last(start.func) == "max":
                given = start.args  # `max(int(checkpoint.step), 0)`
            given = self.values.returned(callee) if isinstance(callee, FUNCTIONS) else given
            return any(self._is_kept(e, depth - 1) for e in given)
        if isinstance(start, ast.Name):
            found = self.module.scopes.reaching(start)
        else:
            found = list(self.values.attribute_bindings(start))
        return any(self._is_kept(e, depth - 1) for b in found if b.kind == "assign" for e in self._given(b))

    def _given(self, b: Binding) -> list[ast.expr]:
        """What a name is set to: of `found, step = load()` what `load` returns as its second."""
        if b.value is None or not b.path:
            return [b.value] if b.value is not None else []
        function = self.values.callee(b.value) if isinstance(b.value, ast.Call) else None
        whole = self.values.returned(function) if isinstance(function, FUNCTIONS) else [b.value]
        return [self.fetched.part(e, b.path) or e for e in whole]

    def _all_bindings(self, name: str, home: object) -> Iterator[Binding]:
        """Everything that a variable is ever bound to."""
        if isinstance(home, ast.AST):
            yield from self.module.scopes.names[home].get(name, ())
        elif isinstance(home, frozenset):
            for b in self.module.scopes.attributes.get(name, ()):
                if isinstance(b.anchor, ast.Attribute) and self.values.receiver(b.anchor.value) & home:
                    yield b

    def adds(self, b: Binding) -> bool:
        """`step += 1`, `step = step + 1`, `step = train(x, step)` that returns `step + 1`"""
        amounts = self.amounts(b)
        return bool(amounts) and all(self.is_amount(e) for e in amounts)

    def amounts(self, b: Binding) -> list[ast.expr]:
        """By how much a number is counted on; nothing where it is set to something else."""
        if b.kind == "augment":
            return [b.value] if isinstance(b.operator, ast.Add) and b.value is not None else []
        return [e.right for e in self.handed.sums(b)]

    def is_amount(self, e: ast.expr | None) -> bool:
        """Whether steps are counted by something: a positive number, or the rows of a batch."""
        return self.is_constant(e) or stands_for_rows(self.values, e)

    def is_constant(self, e: ast.expr | None) -> bool:
        """Whether it is the same number each time, and positive."""
        known = self.feeding.kinds.constant(e) if e is not None else None
        return known is not None and known > 0

    def _selects(self, b: Binding, drivers: set[Driver]) -> bool:
        """Whether a number selects data: it moves through the data, and is no mere count."""
        function = self.syntax.function(b.statement)
        if function is not None and deals_by_cursor(function):
            return True
        name = ast.unparse(b.anchor)
        cursors = [(d, c) for d in drivers for c in cursors_of(self.feeding, d) if c.name == name]
        return any(
            not ((is_one(c.step) or c.held) and self._never_begins_again(b, d.loop)) for d, c in cursors
        )

    def _never_begins_again(self, b: Binding, loop: Loop) -> bool:
        """Whether nothing in a loop sets a number but what counts it on: it counts the turns, whatever it selects besides."""
        if not isinstance(b.anchor, (ast.Name, ast.Attribute)):
            return False
        key = self.key(b.anchor)
        assert isinstance(key, tuple)
        return all(self.adds(o) for o in self._all_bindings(*key) if self.syntax.inside(o.anchor, loop))

    def _begins_in_each_turn(self, bindings: list[Binding], added: list[Binding]) -> bool:
        """Whether a number begins again in each turn of the loop that brings a step its data: `k = 0`, `while k < 2:`."""
        counted = [c[0] for b in added if (c := self.occasions.counted_at(b.statement)) is not None]
        loops = [d.loop for drivers in counted for d in drivers]
        begun = (b.statement for b in bindings if b not in added and b.kind == "assign")
        return any(isinstance(s, ast.stmt) and _is_reached(s, loop) for s in begun for loop in loops)

    def _fills(self, b: Binding) -> bool:
        """Whether a number goes on only until it has come to another: it counts what something holds.
        `if self.held < self.size: self.held += 1`"""
        name = ast.unparse(b.anchor)
        return any(
            isinstance(decision, ast.If)
            and isinstance(decision.test, ast.Compare)
            and isinstance(decision.test.ops[0], (ast.Lt, ast.LtE))
            and ast.unparse(decision.test.left) == name
            for decision, _ in self.syntax.conditions(b.statement)
        )

    def _begins_again(self, b: Binding, drivers: set[Driver]) -> bool:
        """Whether a number is a function's own, which each turn of a loop around its calls begins again: it counts what is
        done in one of them, as the batches that an evaluation goes through. A generator goes on with its own."""
        home = self.module.scopes.lookup(b.name, b.anchor) if isinstance(b.anchor, ast.Name) else None
        if not isinstance(home, FUNCTIONS) or any(
            isinstance(n, (ast.Yield, ast.YieldFrom)) for n in walk(home)
        ):
            return False
        if (
            self.syntax.function(b.statement) is not home
        ):  # `nonlocal step`, in a function that the loop calls
            return any(self.syntax.inside(c, d.loop) for c in self.values.callers(home) for d in drivers)
        return not all(self.syntax.inside(d.loop, home) for d in drivers)


def _holds(e: ast.expr) -> bool:
    """Whether an expression says what holds items: a variable, or an item of such a one by a key that is written out."""
    while isinstance(e, ast.Subscript) and isinstance(e.slice, ast.Constant):
        e = e.value
    return isinstance(e, (ast.Name, ast.Attribute))


def _is_reached(statement: ast.stmt, loop: Loop) -> bool:
    """Whether each turn of a loop comes to a statement of its body: none before it may go on with the next turn."""
    before = loop.body[: loop.body.index(statement)] if statement in loop.body else None
    return before is not None and not any(isinstance(n, ast.Continue) for s in before for n in walk(s))
