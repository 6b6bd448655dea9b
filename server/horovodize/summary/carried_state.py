"""State that goes from step to step, as a recurrent network's: `loss, state = step(x, state)`. Batches then have an order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.scopes import item_name
from horovodize.python.syntax import FUNCTIONS, argument, arguments, position
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive
from horovodize.summary.sites import Sites

if TYPE_CHECKING:
    from horovodize.summary.feeding import Driver

# What makes the first state: `tf.zeros(…)`, `cell.get_initial_state(…)`, `model.init_hidden(…)`.
_FIRST = re.compile(r"zeros|initial|state|hidden", re.I)
_STEP = re.compile(r"_global_step$")  # `tf.train.get_or_create_global_step()`
_FAR = 2000  # nodes that a loss is made of


class CarriedState:
    """Of the loops of one module."""

    def __init__(self, module: Module, sites: Sites, drive: Drive) -> None:
        self.module, self.sites, self.drive = module, sites, drive
        self.syntax, self.values, self.names = module.syntax, module.values, module.names

    def is_in(self, driver: Driver) -> bool:
        """Whether a step of a loop gets what the step before gave."""
        if self.sites.builds_graph:
            return any(self._is_fed_back(step, driver) for step in driver.steps)
        assigned = (n for s in driver.loop.body for n in walk(s) if isinstance(n, ast.Assign))
        if any(isinstance(n.value, ast.Call) and self._goes_on(n, n.value, driver) for n in assigned):
            return True
        return any(
            self._goes_round(n, driver)
            for n in self._in_losses
            if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))
        )

    # ------------------------------------------------------------------ values

    def _goes_on(self, statement: ast.Assign, call: ast.Call, driver: Driver) -> bool:
        """`logits, state = model(x, state)`, where the loss is made of it, or where it trains."""
        if self.syntax.loops(statement)[:1] != [driver.loop]:
            return False
        given = set(_given(statement))
        passed = [n for a in _arguments(call) for n in walk(a) if isinstance(n, ast.Name) and n.id in given]
        if not any(self._is_from_last_turn(n, statement, driver) for n in passed):
            return False
        if call in self._in_losses:
            return True
        # `total = add(step(x), total)` adds up what steps give: none of them gets it
        training = (n for n in walk(call) if isinstance(n, ast.Call) and self._trains(n, driver))
        return any(n in passed for c in training for a in _arguments(c) for n in walk(a))

    def _goes_round(self, read: ast.Name | ast.Attribute | ast.Subscript, driver: Driver) -> bool:
        """Whether a loss is made of the last value of a name, or an attribute, by a call that makes the next one, too, in
        however many statements: `s = state`, `seen, s = cell(x, s)`, `state = tf.stop_gradient(s)`."""
        bound = self._bindings(read) if isinstance(read.ctx, ast.Load) else []
        if not any(b.value is not None and self._is_first(b.value) for b in bound):
            return False
        if not self._is_in_turn(read, driver):
            return False
        later = [b for b in bound if self._is_in_turn(b.statement, driver)]
        begins = [b for b in bound if b not in later]
        if not any(b.value is not None and self._is_first(b.value) for b in begins):
            return False
        made = list(self.values.depends([b.value for b in later if b.value is not None], _FAR))
        if any(g in made for u in self.sites.updates for g in u.gradients):
            return False  # weights
        makers = [n for n in made if isinstance(n, ast.Call) and n in self._in_losses]
        makers = [c for c in makers if self._is_before(c, driver)]
        return any(read in self.values.depends(_arguments(c), _FAR) for c in makers)

    def _bindings(self, read: ast.Name | ast.Attribute | ast.Subscript) -> list[Binding]:
        if isinstance(read, ast.Subscript):
            return self._items(read)
        if isinstance(read, ast.Attribute):
            return self.values.attribute_bindings(read)
        return list(self.module.scopes.reaching(read))

    def _items(self, read: ast.Subscript) -> list[Binding]:
        """Where an item of a dictionary is set, `memory["h"] = h`, and the dictionary that it begins in."""
        key = read.slice.value if isinstance(read.slice, ast.Constant) else None
        if not isinstance(key, str) or not isinstance(read.value, ast.Name):
            return []
        set_at = [
            b
            for b in self.module.scopes.attributes.get(item_name(key), ())
            if isinstance(b.anchor, ast.Subscript) and ast.unparse(b.anchor) == ast.unparse(read)
        ]
        begun = [b for b in self.module.scopes.reaching(read.value) if isinstance(b.value, ast.Dict)]
        return [*set_at, *begun] if set_at else []

    def _is_in_turn(self, node: ast.AST, driver: Driver) -> bool:
        """Whether a turn of a loop comes to a node, in the loop or in a function that it calls."""
        if self.syntax.inside(node, driver.loop):
            return True
        return any(driver.loop in frame.loops for way in self.drive.ways(node) for frame in way)

    def _is_before(self, call: ast.Call, driver: Driver) -> bool:
        """Whether a call of a turn takes its step, or comes before that, rather than makes something of it for the next."""
        if not self._is_in_turn(call, driver):
            return False
        here = self.syntax.function(call)
        beside = (s for s in driver.steps if self.syntax.function(s) is here)
        return any(position(call) < position(s) for s in beside) or self._trains(call, driver)

    def _trains(self, call: ast.Call, driver: Driver) -> bool:
        """Whether a call itself trains, not only one that makes what it is given."""
        steps = set[ast.AST](driver.steps)
        runs = self.values.graph.runs(call)
        return call in steps or any(self.drive.reaches(function, steps) for function in runs)

    def _is_from_last_turn(self, name: ast.Name, statement: ast.Assign, driver: Driver) -> bool:
        """Whether a name begins as a state before a loop, and has a later value in each turn."""
        bound = self.module.scopes.reaching(name)
        later = [b for b in bound if self.syntax.inside(b.statement, driver.loop)]
        before = [b for b in bound if b not in later]
        goes_on = any(
            isinstance(b.statement, ast.stmt) and position(b.statement) >= position(statement) for b in later
        )
        return goes_on and any(b.value is not None and self._is_first(b.value) for b in before)

    def _is_first(self, e: ast.expr, depth: int = 2) -> bool:
        """depth: functions of the program that are followed, one from another"""
        if isinstance(e, (ast.List, ast.Tuple)):
            return bool(e.elts) and all(self._is_first(part) for part in e.elts)
        if isinstance(e, (ast.ListComp, ast.GeneratorExp)):
            return self._is_first(e.elt)
        if isinstance(e, ast.Dict):
            return any(self._is_first(value) for value in e.values)
        if isinstance(e, ast.Constant):
            return e.value is None
        if not isinstance(e, ast.Call):
            return False
        if _FIRST.search(self.names.last(e.func)) is not None:
            return not self._holds_numbers(e)
        made_by = self.values.callee(e) if depth else None
        given = self.values.returned(made_by) if isinstance(made_by, FUNCTIONS) else []
        return any(not isinstance(g, ast.Constant) and self._is_first(g, depth - 1) for g in given)

    def _holds_numbers(self, made: ast.Call) -> bool:
        """Whether a record of the program's own begins with numbers alone: `State()` of `class State: step: int = 0`,
        what is counted, not what a network gives."""
        kind = self.values.callee(made)
        if not isinstance(kind, ast.ClassDef) or any(
            isinstance(s, FUNCTIONS) and s.name == "__init__" for s in kind.body
        ):
            return False
        fields = [s.value for s in kind.body if isinstance(s, ast.AnnAssign) and s.value is not None]
        given = [*fields, *arguments(made)]
        return bool(given) and all(isinstance(g, ast.Constant) and g.value is not None for g in given)

    @cached_property
    def _in_losses(self) -> set[ast.AST]:
        targets = (argument(g, "target", 0) for u in self.sites.updates for g in u.gradients)
        todo: list[ast.AST] = [t for t in targets if t is not None]
        found = set[ast.AST]()
        while todo:
            new = [n for n in self.values.depends(todo, _FAR) if n not in found]
            found.update(new)
            todo = [e for n in new if isinstance(n, ast.Name) for e in self.sites.flow.appended(n)]
        return found

    # ------------------------------------------------------------------ sessions

    def _is_fed_back(self, step: ast.Call, driver: Driver) -> bool:
        """`_, last = session.run([train, state], {first: last})`"""
        statement = self.syntax.statement(step)
        if not isinstance(statement, ast.Assign) or statement.value is not step:
            return False
        given = set(_given(statement)) - {"_", *self._counts(statement, step)}
        fed = [a for a in (*step.args[1:], *(k.value for k in step.keywords)) if isinstance(a, ast.expr)]
        fed += self._put_into({n.id for a in fed for n in walk(a) if isinstance(n, ast.Name)}, driver)
        fed = [e for a in fed for e in self._fed(a)]
        named = (n for n in self.values.depends(fed, 200) if isinstance(n, ast.Name) and n.id in given)
        return any(b.statement is statement for n in named for b in self.module.scopes.reaching(n))

    def _fed(self, e: ast.expr) -> Iterator[ast.expr]:
        """What a feed dictionary gives, but for numbers: the weight of a loss that follows the losses is no network's state."""
        dicts = [o.node for o in self.values.origins(e) if isinstance(o.node, ast.Dict)]
        if not dicts:
            yield e
        for d in dicts:
            yield from (v for k, v in zip(d.keys, d.values, strict=True) if not self._is_number(k, v))

    def _is_number(self, placeholder: ast.expr | None, value: ast.expr) -> bool:
        """Whether a name that is fed begins as a number, or is fed where one is wanted: `tf.placeholder(tf.float32, [])`. What
        is computed where it is fed can't be averaged there."""
        if not isinstance(value, (ast.Name, ast.Attribute)):
            return False
        shapes = [argument(c, "shape", 1) for c in self.values.calls(placeholder)] if placeholder else []
        if shapes and all(isinstance(s, (ast.List, ast.Tuple)) and not s.elts for s in shapes):
            return True
        begins = [b.value.value for b in self._bindings(value) if isinstance(b.value, ast.Constant)]
        return any(type(b) in (int, float) for b in begins)

    def _counts(self, statement: ast.Assign, step: ast.Call) -> Iterator[str]:
        """The names that get the number of the step: `_, number = session.run([train, global_step])`"""
        fetched, target = argument(step, "fetches", 0), statement.targets[0]
        if not isinstance(fetched, (ast.List, ast.Tuple)) or not isinstance(target, (ast.Tuple, ast.List)):
            return
        for name, e in zip(target.elts, fetched.elts, strict=False):
            if isinstance(name, ast.Name) and self._is_global_step(e):
                yield name.id

    def _is_global_step(self, e: ast.expr) -> bool:
        calls = self.values.calls(e)
        created = self.sites.created_train_ops
        counted = [
            argument(op, "global_step", 2 if op in created else 1) for op in self.sites.graph_minimizes
        ]
        steps = {c for e in counted if e is not None for c in self.values.calls(e)}
        return bool(calls) and all(c in steps or _STEP.search(self.names.last(c.func)) for c in calls)

    def _put_into(self, dicts: set[str], driver: Driver) -> Iterator[ast.expr]:
        """What a loop puts into dictionaries of some names: `feed[state] = last`, `feed.update({state: last})`."""
        for n in (n for s in driver.loop.body for n in walk(s)):
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript):
                held: ast.expr = n.targets[0].value
                values = [n.value]
            elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "update":
                held, values = n.func.value, n.args
            else:
                continue
            if isinstance(held, ast.Name) and held.id in dicts:
                yield from values


def _given(statement: ast.Assign) -> Iterator[str]:
    """The names that a statement sets."""
    for target in statement.targets:
        for n in walk(target):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                yield n.id


def _arguments(call: ast.Call) -> list[ast.expr]:
    return arguments(call)
