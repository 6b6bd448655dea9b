"""What decided that a value was set: conditions, turns of loops, exceptions, and what is done to an object later on."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from horovodize.facts.differences import order_keys
from horovodize.facts.differences.exits import exits, skips, tests
from horovodize.facts.differences.presence import PRESENCE
from horovodize.facts.differences.sources import (
    CHANGING,
    ENDS_OF_ALL,
    ENDS_OF_PROGRAM,
    SHARED_FAILURES,
    Source,
)
from horovodize.facts.differences.sure_calls import fails_alike
from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES, FUNCTIONS, LOOPS, arguments, end, is_main_guard, position
from horovodize.python.values import ITEM
from horovodize.source.nodes import walk

if TYPE_CHECKING:
    from horovodize.facts.differences.flow import Flow, Item, Step

Change: TypeAlias = tuple[ast.expr, list[ast.expr]]  # of what, and what is put in
_DEPTH = 4  # calls up that a change is followed
_BROAD = {"Exception", "BaseException", "RuntimeError", ""}

_ADDING = ("append", "extend")
_PUTTING = (
    "heapq.heappush",
    "heapq.heappushpop",
    "bisect.insort",
    "bisect.insort_left",
    "bisect.insort_right",
)
_ROWS = ("loc", "iloc", "at", "iat")  # of a table: `table.loc[epoch] = loss`


class Control:
    """Control dependence in one module; where it is not `counted`, only what values are made of."""

    def __init__(self, flow: Flow, counted: bool) -> None:
        self.counted = counted
        self.flow, self.module, self.syntax = flow, flow.module, flow.module.syntax

    @cached_property
    def _training(self) -> set[ast.AST]:
        """The loops around the places that train, in all functions on the way there."""
        sites = self.flow.sites
        places = [u.call for u in sites.updates] + [f.call for f in sites.fits]
        places += [run.call for run in sites.graph.trainings] if sites.builds_graph else []
        return {
            loop for p in places for way in self.flow.drive.ways(p) for frame in way for loop in frame.loops
        }

    # ------------------------------------------------------------------ bindings

    def of_binding(self, step: Step, b: Binding, use: ast.AST) -> None:
        """What decided that a binding gave a name its value at a use."""
        sure = b.kind not in ("augment", "item") and self._dominates(b, use)
        stays = isinstance(b.anchor, ast.Attribute) and self._runs_again(self.syntax.function(use))
        self.of_statement(
            step, b.statement, use, dominates=sure, adds_up=b.kind == "augment", stays=stays and not sure
        )
        if b.kind == "augment":
            self.of_calls(step, b.statement, use)

    def _dominates(self, b: Binding, use: ast.AST) -> bool:
        before = (
            isinstance(b.statement, ast.stmt)
            and isinstance(use, ast.expr)
            and end(b.statement) < position(use)
        )
        return before and self.module.scopes.dominates(b, use)

    def of_statement(
        self,
        step: Step,
        statement: ast.AST,
        use: ast.AST | None,
        dominates: bool = False,
        adds_up: bool = False,
        stays: bool = False,
    ) -> None:
        """What decided that a statement ran before a use (None: how often it ran in its function). `adds_up`: what it does
        adds to what was before, in all turns of the loops around both. `stays`: what it does is there the next time, too, that
        the function around both runs."""
        if not self.counted:
            return
        syntax = self.syntax
        around_use = set(syntax.ancestors(use)) if use is not None else set()
        # Conditions around both decide nothing, but for those in a loop around both: they may have held in another turn.
        shared = [a for a in syntax.ancestors(statement) if isinstance(a, LOOPS) and a in around_use]
        common: ast.AST | None = (shared[-1] if adds_up else shared[0]) if shared else None
        function = syntax.function(statement)
        if common is None and stays and use is not None and function is syntax.function(use):
            common = function  # each of its runs is a turn
        outside = set(syntax.ancestors(common)) | {common} if common is not None else around_use
        child = statement
        for a in syntax.ancestors(statement):
            if isinstance(a, (*CALLABLES, ast.ClassDef)):
                break
            arm = syntax.field[child]
            if isinstance(a, LOOPS) and arm == "body" and (a not in outside or a is common):
                self._skipped(step, child, a)
            if a not in outside and not (dominates and a in around_use):
                self._held(step, a, arm)
            child = a

    def _runs_again(self, function: ast.AST | None, seen: frozenset[ast.AST] = frozenset()) -> bool:
        """Whether a method runs more than once: a library calls it, with each epoch or step, or a loop here does."""
        if not isinstance(function, FUNCTIONS) or function.name == "__init__" or function in seen:
            return False
        callers = self.module.values.callers(function)
        if not callers:
            return self.syntax.method_class(function) is not None
        known = seen | {function}
        return len(known) <= _DEPTH and any(
            bool(self.syntax.loops(c)) or self._runs_again(self.syntax.function(c), known) for c in callers
        )

    def of_calls(
        self, step: Step, place: ast.AST, use: ast.AST, seen: frozenset[ast.AST] = frozenset()
    ) -> None:
        """What decided how often the function around a place was called before a use elsewhere."""
        function = self.syntax.function(place)
        if (
            function is None
            or function is self.syntax.function(use)
            or function in seen
            or len(seen) > _DEPTH
        ):
            return
        for call in self.module.values.callers(function):
            here = self.syntax.function(call) is self.syntax.function(use)
            self.of_statement(step, self.syntax.statement(call), use if here else None, adds_up=True)
            self.of_calls(step, call, use, seen | {function})

    def _held(self, step: Step, a: ast.AST, arm: str) -> None:
        """What decided that an arm of a statement ran, and how often."""
        if isinstance(a, (ast.If, ast.IfExp)) and arm in ("body", "orelse"):
            if not is_main_guard(a):
                step.ask(a.test)
        elif isinstance(a, ast.While) and arm == "body":
            if a not in self._training:
                step.ask(a.test)
            self._left(step, a)
        elif isinstance(a, (ast.For, ast.AsyncFor)) and arm == "body":
            step.ask(a.iter, (), True)
            self._left(step, a)
        elif isinstance(a, ast.ExceptHandler):
            step.ask(self.syntax.parent[a])
        elif isinstance(a, ast.Try) and arm == "body" and a.handlers:
            step.ask(a)
        elif isinstance(a, ast.match_case):
            step.ask(getattr(self.syntax.parent[a], "subject", None))

    def _left(self, step: Step, loop: ast.For | ast.AsyncFor | ast.While) -> None:
        """By what a loop is left; ranks leave one that trains together (G4)."""
        if loop in self._training:
            return
        for leaving in exits(loop):
            step.ask_all(tests(self.syntax, leaving, loop))

    def _skipped(self, step: Step, child: ast.AST, loop: ast.For | ast.AsyncFor | ast.While) -> None:
        """`if …: continue` before a statement of a loop."""
        for skip in skips(loop):
            if isinstance(child, ast.stmt) and position(skip) < position(child):
                step.ask_all(tests(self.syntax, skip, loop))

    # ------------------------------------------------------------------ functions

    def returned(self, step: Step, function: ast.AST, path: tuple[int | str, ...], size: bool) -> None:
        """What a function gives, and what decided which of its `return`s did."""
        if isinstance(function, ast.Lambda):
            step.ask(function.body, path, size)
            return
        if not isinstance(function, FUNCTIONS):
            return
        for n in walk(function):
            if isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom)) and self.syntax.function(n) is function:
                if isinstance(n, ast.Return) and self.flow.several.is_left_out(n):
                    continue
                one = isinstance(n, ast.Yield) and size and not path  # element more, whatever its size
                if isinstance(n, ast.Return) or not path or path[0] != ITEM:
                    if not one:
                        step.ask(n.value, path, size)
                else:
                    step.ask(n.value, path if isinstance(n, ast.YieldFrom) else path[1:], size)
                self.of_statement(step, self.syntax.statement(n), None)

    # ------------------------------------------------------------------ exceptions

    def failure(self, step: Step, tried: ast.Try) -> None:
        """Whether what a `try` runs may fail on one rank and not on another."""
        names = self.flow.names
        for handler in tried.handlers:
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            caught = {names.last(k) if k is not None else "" for k in kinds}
            if self._ends_the_program(handler.body[-1]) or self._fails_for_good(handler.body[-1]):
                continue  # what comes after it runs on no rank that failed
            if caught <= ENDS_OF_ALL:
                continue
            if caught <= SHARED_FAILURES:
                step.ask_all(_values(tried))
                continue
            where = handler.type or handler.body[0]
            calls = [n for s in tried.body for n in walk(s) if isinstance(n, ast.Call)]
            if caught & _BROAD and all(fails_alike(self.module, c) for c in calls):
                step.ask_all(_values(tried))
                continue
            step.varies(Source.FAILURE, where)

    def _fails_for_good(self, last: ast.stmt) -> bool:
        """Whether a handler ends by an exception that nothing around it, in the functions on the way there, catches."""
        if not isinstance(last, ast.Raise):
            return False
        ways = self.flow.drive.ways(last)
        return bool(ways) and not any(self._is_tried(frame.node) for way in ways for frame in way)

    def _is_tried(self, node: ast.AST) -> bool:
        """Whether a node stands in a `try` that catches something, in its function."""
        child = node
        for a in self.syntax.ancestors(node):
            if isinstance(a, CALLABLES):
                return False
            if isinstance(a, ast.Try) and a.handlers and self.syntax.field[child] == "body":
                return True
            child = a
        return False

    def _ends_the_program(self, last: ast.stmt) -> bool:
        """Whether a handler ends by leaving the program."""
        call = last.value if isinstance(last, ast.Expr) else None
        if not isinstance(call, ast.Call):
            return False
        own = self.flow.is_builtin(call.func, *ENDS_OF_PROGRAM)
        return own or self.flow.names.of(call.func) in ENDS_OF_PROGRAM

    # ------------------------------------------------------------------ changes

    def changes(self, step: Step, e: ast.Name | ast.Attribute, item: Item) -> None:
        """What is done to an object under a name: `rewards.append(r)`, `settings["epochs"] = n`, `step.assign_add(1)`."""
        if item.path == (PRESENCE,):
            return  # what changes an object leaves it there
        own = [c for c in self._changes.get(ast.unparse(e), ()) if self._same(c[0], e)]
        for place, given in [*own, *self._changes_of_object(e)]:
            if self._comes_later(place, e) or self._was_replaced(place, e):
                continue
            if _is_of_another_key(self._done_at(place, given), item):
                continue
            if (
                self.counted and item.size and self.flow.threads.changes(place, e)
            ):  # in which order is for the thread
                step.varies(Source.THREAD, place)
            asked = not item.size or item.path or _adds_all(self.syntax.parent[place])
            for value in given if asked and not self._lengthens(place, item) else ():
                step.ask(value, _path_of_added(self.syntax.parent[place], item), item.size)
            method = self.syntax.parent.get(self.syntax.parent[place])
            if method in self.flow.calls.keyed and not item.size:
                order_keys.ask(step, self.flow.calls, method, item)  # `members.sort(key=…)`
            self.of_statement(step, self.syntax.statement(place), e, adds_up=True)
            if self.counted:
                self.of_calls(step, place, e)

    def _lengthens(self, place: ast.expr, item: Item) -> bool:
        """Whether a change adds one element to what is asked how long it is, whatever that holds: `log["loss"].append(x)`."""
        entry = self.syntax.parent[place]
        method = self.syntax.parent[entry] if isinstance(entry, ast.Subscript) else None
        adds = isinstance(method, ast.Attribute) and method.attr == "append"
        return adds and item.size and len(item.path) == 1 and item.path[0] != ITEM

    def _done_at(self, place: ast.expr, given: list[ast.expr]) -> ast.AST:
        """What changes an object: `settings["epochs"] = n`, also in a function that it is passed to here."""
        inside = self.syntax.parent.get(given[0]) if given else None
        is_item = isinstance(inside, ast.Subscript) and inside.slice is given[0]
        return inside if is_item and inside is not None else self.syntax.parent[place]

    def _changes_of_object(self, e: ast.Name | ast.Attribute) -> list[Change]:
        """What is done to an attribute of the same object under another name: `self.losses.append(…)` in a method, of what
        `history.losses` reads outside. Of the same text, too, where that is another name: a parameter called like what it is
        given, `def on_step(context): … context.logs["loss"]`."""
        if not isinstance(e, ast.Attribute):
            return []
        receiver = self.flow.values.receiver(e.value)
        return [
            (place, given)
            for text, found in self._changes.items()
            if text.endswith(f".{e.attr}")
            for place, given in found
            if isinstance(place, ast.Attribute)
            and receiver & self.flow.values.receiver(place.value)
            and not (text == ast.unparse(e) and self._same(place, e))
        ]

    @cached_property
    def _changes(self) -> dict[str, list[Change]]:
        """By the text of what is changed: the place, and what is put in."""
        found: dict[str, list[Change]] = defaultdict(list)
        for call in self.flow.sites.method_calls(*CHANGING):
            changed = _held_by(call.func.value) if isinstance(call.func, ast.Attribute) else None
            if isinstance(changed, (ast.Name, ast.Attribute)):
                found[ast.unparse(changed)].append((changed, arguments(call)))
        for call in self.flow.calls.keyed:  # `members.sort(key=…)`
            if isinstance(call.func, ast.Attribute) and call.func.attr == "sort":
                held = call.func.value
                if isinstance(held, (ast.Name, ast.Attribute)):
                    found[ast.unparse(held)].append((held, []))
        for call in self.module.calls_of(*_PUTTING):  # `heapq.heappush(kept, loss)`
            if call.args and isinstance(call.args[0], (ast.Name, ast.Attribute)):
                found[ast.unparse(call.args[0])].append((call.args[0], call.args[1:]))
        for n in self.syntax.every(ast.Subscript):
            held = n.value.value if isinstance(n.value, ast.Attribute) and n.value.attr in _ROWS else n.value
            if isinstance(n.ctx, ast.Store) and isinstance(held, (ast.Name, ast.Attribute)):
                statement = self.syntax.statement(n)
                value = getattr(statement, "value", None)
                found[ast.unparse(held)].append((held, [n.slice, *([value] if value is not None else [])]))
        for s in self.syntax.every(ast.AugAssign):  # `kept += [loss]`, of a list that a function is given
            if isinstance(s.target, ast.Name) and isinstance(s.value, (ast.List, ast.ListComp)):
                found[s.target.id].append((s.target, [s.value]))
        for place, given in [change for changes in found.values() for change in changes]:
            for passed in self._passed_for(place):
                found[ast.unparse(passed)].append((passed, given))
        return found

    def _passed_for(self, place: ast.expr) -> list[ast.Name | ast.Attribute]:
        """What calls give a function that changes it: `losses` of `note(losses)`, where `note` appends to its parameter."""
        bound = self.module.scopes.reaching(place) if isinstance(place, ast.Name) else []
        told = [e for b in bound if b.kind == "parameter" for e in self.flow.values.passed(b)]
        return [e for e in told if isinstance(e, (ast.Name, ast.Attribute))] if len(bound) == 1 else []

    def _same(self, place: ast.expr, e: ast.Name | ast.Attribute) -> bool:
        if isinstance(e, ast.Name):
            return self.module.scopes.lookup(e.id, place) is self.module.scopes.lookup(e.id, e)
        return self.syntax.owner(place) is self.syntax.owner(e)

    def _comes_later(self, place: ast.expr, use: ast.AST) -> bool:
        """Whether a change comes after a use, in the same function and no loop around both."""
        syntax = self.syntax
        if (
            place is use
            or syntax.function(place) is not syntax.function(use)
            or not isinstance(use, ast.expr)
        ):
            return place is use
        if position(place) < position(use):
            return False
        around = list(syntax.loops(use))
        statement = syntax.statement(use)
        around += [statement] if isinstance(statement, ast.While) else []
        return not any(syntax.inside(place, loop) for loop in around)

    def _was_replaced(self, place: ast.expr, use: ast.Name | ast.Attribute) -> bool:
        """Whether a name is given another object between a change and a use, just before that: `kept.append(loss)`,
        `kept = hvd.broadcast_object(kept)`, `if kept[-1] < best:`. What the assignment itself reads, it asks there."""
        syntax, bound = self.syntax, self.module.scopes.reaching(use) if isinstance(use, ast.Name) else []
        given = bound[0].statement if len(bound) == 1 and bound[0].kind == "assign" else None
        if (
            given is None
            or syntax.function(place) is not syntax.function(use)
            or not isinstance(given, ast.stmt)
        ):
            return False
        block = syntax.block(given)
        using = next((s for s in (syntax.statement(use), *syntax.ancestors(use)) if s in block), None)
        if using is None or not isinstance(using, ast.stmt) or block.index(using) <= block.index(given):
            return False
        return not position(given) < position(place) <= end(using)


def _held_by(e: ast.expr) -> ast.expr:
    """What holds something: `history` of `history["loss"]`, and of `history.setdefault("loss", [])`."""
    while True:
        if isinstance(e, ast.Subscript):
            e = e.value
        elif (
            isinstance(e, ast.Call)
            and isinstance(e.func, ast.Attribute)
            and e.func.attr in ("setdefault", "get")
        ):
            e = e.func.value
        else:
            return e


def _is_of_another_key(change: ast.AST, item: Item) -> bool:
    """Whether `state["best"] = loss` is looked at for what `state["step"]` is."""
    asked = item.path[0] if item.path else None
    key = change.slice if isinstance(change, ast.Subscript) else None
    named = isinstance(asked, str) and asked != PRESENCE
    return named and isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value != asked


def _path_of_added(change: ast.AST, item: Item) -> tuple[int | str, ...]:
    """Which part of what is appended to a list is asked for, where it is whether an item is there or how many it holds; else
    all of it."""
    appended = isinstance(change, ast.Attribute) and change.attr == "append"
    return item.path[1:] if appended and (item.size or item.path[1:] == (PRESENCE,)) else ()


def _adds_all(method: ast.AST) -> bool:
    """Whether a change adds all elements of what it is given: `extend`, `update`."""
    return isinstance(method, ast.Attribute) and method.attr in ("extend", "update")


def _values(tried: ast.Try) -> list[ast.expr]:
    """What the statements in a `try` compute; of `rows.append(row)` what is added."""
    found = list[ast.expr]()
    for s in tried.body:
        if isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)) and s.value:
            call = s.value if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) else None
            adds = call is not None and isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING
            found += call.args if adds and call is not None else [s.value]
    return found
