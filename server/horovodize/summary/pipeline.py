"""Reading data pipelines: what an expression that feeds training is, and where in its making it can be divided.

A `tf.data` pipeline is read backwards from where it is consumed, through method calls, names, parameters and returns. It may
be divided at the earliest point from which the data flows only into training, and after which nothing changes how many
elements there are unevenly (`filter` keeps other counts on each rank; `map`, `batch` and `shuffle` do not).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from horovodize.python import fields
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument, arguments, has_unpacking
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import MOST_WAYS, Drive
from horovodize.summary.dataset_methods import (
    APPLIED_EVENLY,
    COMMON,
    DIRECTORY,
    GROUPING,
    HOLDING,
    LOADING,
    MAKING,
    METHODS,
    SPLITTING,
    UNGROUPING,
)
from horovodize.summary.destinations import Destinations
from horovodize.summary.earliest_places import EarliestPlaces
from horovodize.summary.wrapped_iterables import looked_through


class Pipelines:
    """The pipelines of one module. `feeds` are the expressions that training consumes."""

    def __init__(self, module: Module, drive: Drive, steps: Callable[[], Iterable[ast.AST]]) -> None:
        """steps: the places that train"""
        self.module, self.drive, self._steps = module, drive, steps
        self.syntax, self.scopes, self.values, self.names = (
            module.syntax,
            module.scopes,
            module.values,
            module.names,
        )
        self._known: dict[ast.AST, bool] = {}

    # ------------------------------------------------------------------ what is a dataset

    def is_dataset(self, expression: ast.AST) -> bool:
        """Whether an expression is surely a `tf.data.Dataset` (or an iterator over one)."""
        if expression not in self._known:
            self._known[expression] = False  # a name that is made from itself
            self._known[expression] = self._is_dataset(expression)
        return self._known[expression]

    def _is_dataset(self, expression: ast.AST) -> bool:
        if not isinstance(expression, ast.expr) or self._holds(expression):
            return False
        origins = self.values.origins(expression)
        return any(self._made_as_dataset(o.node, o.path) for o in origins if -2 not in o.path)

    def _holds(self, e: ast.expr) -> bool:
        """Whether an expression is a list of all that a dataset gives."""
        if isinstance(e, ast.Call):
            return isinstance(e.func, ast.Name) and e.func.id in HOLDING and self.names.of(e.func) is None
        return isinstance(e, (ast.Name, ast.Attribute)) and any(
            isinstance(v, ast.Call) and self._holds(v) for b in self.bindings(e) for v in self.given(b)
        )

    def _made_as_dataset(self, node: ast.AST, path: tuple[int, ...]) -> bool:
        if not isinstance(node, ast.Call):
            return (isinstance(node, ast.Subscript) and self.is_dataset(node.value)) or any(
                map(self.is_dataset, self.held(node))
            )
        name = self.names.of(node.func) or ""
        if name.startswith("tensorflow.data.") or name == LOADING or name.endswith(DIRECTORY):
            return name != LOADING or not self._is_whole(argument(node, "batch_size", 3))
        if "tensorflow.contrib.data" in name or (name == SPLITTING and path in ((0,), (1,))):
            return True
        if isinstance(node.func, ast.Attribute) and not path and node.func.attr in METHODS:
            if node.func.attr not in COMMON and not name.startswith(("numpy", "pandas", "random")):
                return True
            return self.is_dataset(node.func.value)
        return isinstance(node.func, ast.Attribute) and node.func.attr in MAKING

    def _is_whole(self, batch_size: ast.expr | None) -> bool:
        """Whether tensorflow_datasets loads arrays of all rows: `batch_size=-1`."""
        given = [o.node for o in self.values.origins(batch_size)] if batch_size is not None else []
        return any(isinstance(n, ast.UnaryOp) for n in given)

    # ------------------------------------------------------------------ where to divide

    def places(self, feed: ast.expr, feeds: Iterable[ast.AST], whole_batches: bool = False) -> list[ast.expr]:
        """The earliest expressions whose values may be divided instead of `feed`; none where that is not possible.

        With `whole_batches`, batches are divided rather than what they are made of."""
        walk = EarliestPlaces(self, set(feeds), whole_batches)
        found = list(dict.fromkeys(walk.earliest(feed)))
        if any(self.drive.in_traced(place) for place in found):
            return []
        return found

    def places_inside(
        self, call: ast.Call, feeds: Iterable[ast.AST], whole_batches: bool = False
    ) -> list[ast.expr]:
        """Where a pipeline that other calls of its function get, too, can be divided for this call alone: in the function, or
        where the call passes what it is made of. None where that is no earlier than at the call."""
        function = self.values.callee(call)
        if not isinstance(function, ast.FunctionDef) or function.decorator_list or has_unpacking(call):
            return []
        returned = self.values.returned(function)
        if not returned or not all(self.is_dataset(r) for r in returned):
            return []
        found = self._inside(call, function, returned, feeds, whole_batches)
        here = (function, self.syntax.function(call))
        if any(p in returned or self.syntax.function(p) not in here for p in found):
            return []
        return found

    def places_told(
        self, call: ast.Call, function: ast.FunctionDef, given: Sequence[ast.expr]
    ) -> list[ast.expr]:
        """The same of the pipelines `given` that a function makes, or functions in it: those, or their elements, are what this
        call gets. None where they can't be divided in it for this call alone."""
        if function.decorator_list or has_unpacking(call):
            return []
        found = self._inside(call, function, given, (), False)
        return found if all(self.syntax.inside(p, function) for p in found) else []

    def _inside(
        self,
        call: ast.Call,
        function: ast.FunctionDef,
        given: Sequence[ast.expr],
        feeds: Iterable[ast.AST],
        whole_batches: bool,
    ) -> list[ast.expr]:
        walk = EarliestPlaces(self, {*feeds, *given, *arguments(call)}, whole_batches, call, function)
        found = list(dict.fromkeys(place for e in given for place in walk.earliest(e)))
        return [] if any(self.drive.in_traced(p) for p in found) else found

    def applies_evenly(self, call: ast.Call) -> bool:
        """Whether `apply(f(…))` leaves counts even: `ds.apply(prefetch_to_device("/gpu:0"))`."""
        step = argument(call, "transformation_func", 0)
        return isinstance(step, ast.Call) and self.names.last(step.func) in APPLIED_EVENLY

    def comes_from(self, place: ast.expr, source: ast.expr) -> bool:
        """Whether what `place` gives is made from what `source` gives; of one place: from what it gave in an earlier turn."""
        inside = (n for n in walk(place) if n is not place)
        return any(
            source in self.trail(n) for n in inside if isinstance(n, (ast.Name, ast.Attribute, ast.Call))
        )

    def only_trains(self, use: ast.expr, feeds: Iterable[ast.AST]) -> bool:
        """Whether the value of a name goes, from this use on, only to these feeds, or is only looked at."""
        return Destinations(self, set(feeds)).only_trains(use)

    def trail(self, feed: ast.expr) -> list[ast.expr]:
        """The expressions that a pipeline goes through, from the feed back to its sources, each once."""
        todo, seen = [feed], dict[ast.expr, None]()
        sure = set[ast.expr]()  # what a step of a data set is called on is one, too, whatever is seen of it
        while todo and len(seen) < 200:
            e = todo.pop()
            if e in seen:
                continue
            seen[e] = None
            before = len(todo)
            is_one = e in sure or self.is_dataset(e)
            if isinstance(e, ast.Call):
                of_datasets = (self.names.of(e.func) or "").startswith("tensorflow.data.")
                if of_datasets:  # `Dataset.zip((a, b))`, `Dataset.sample_from_datasets([a, b])`
                    todo += [a for a in flat(e.args) if self.is_dataset(a)]
                elif isinstance(e.func, ast.Attribute) and e.func.attr in METHODS and is_one:
                    todo += [*self._applied(e), e.func.value]
                    sure.add(e.func.value)
                elif looked_through(self.module, e):
                    todo.append(e.args[0])
                else:
                    callee = self.values.callee(e)
                    todo += self.values.returned(callee) if isinstance(callee, CALLABLES) else []
                    todo += [a for a in e.args if self.is_dataset(a)]
            elif isinstance(e, (ast.Name, ast.Attribute)):
                bindings = self.bindings(e)
                for b in bindings:
                    todo += self.given(b)
                made = self.values.origins(e) if isinstance(e, ast.Attribute) and not bindings else []
                todo += [o.node for o in made if isinstance(o.node, ast.Call) and not o.path]  # a property's
                todo += self.held(e)
            elif isinstance(e, ast.Subscript):
                todo += self.items(e)
            elif isinstance(e, ast.IfExp):
                todo += [e.body, e.orelse]
            if e in sure and not isinstance(e, ast.Call):
                sure.update(todo[before:])
        return list(seen)

    def _applied(self, call: ast.Call) -> list[ast.expr]:
        """What the function of this module gives by which `dataset.apply(prepare)` makes one pipeline of another."""
        step = argument(call, "transformation_func", 0) if self.names.last(call.func) == "apply" else None
        made = [o.node for o in self.values.origins(step) if not o.path] if step is not None else []
        return [r for f in made if isinstance(f, CALLABLES) for r in self.values.returned(f)]

    def steps(self, feed: ast.expr) -> list[ast.Call]:
        """The dataset methods that a pipeline is made by, from the feed back to its source."""
        return [
            e
            for e in self.trail(feed)
            if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr in METHODS
        ]

    def grouped_before(self, call: ast.Call) -> bool:
        """Whether a pipeline is batched or repeated before a step of it: then its elements are steps of training."""
        assert isinstance(call.func, ast.Attribute)
        for step in self.steps(call.func.value):
            method = self.names.last(step.func)
            if method in GROUPING or method in UNGROUPING:
                return method in GROUPING
        return False

    # ------------------------------------------------------------------ definitions and uses

    def bindings(self, e: ast.Name | ast.Attribute) -> list[Binding]:
        """The bindings that give a name or attribute its value here; of a module's successive ones, as seen from a function,
        those that its calls come after."""
        if isinstance(e, ast.Attribute):
            return self.values.attribute_bindings(e)
        found = self.scopes.reaching(e)
        scope = self.scopes.lookup(e.id, e)
        if scope is not None and scope is not self.scopes.scope(e) and len(found) > 1:
            plain = [b for b in found if b.kind == "assign" and self.syntax.parent.get(b.statement) is scope]
            if len(plain) == len(found):
                return self._as_called(plain, e)
        return found

    def _as_called(self, successive: list[Binding], e: ast.Name) -> list[Binding]:
        """Of bindings, latest first, each the one that is there as a function that reads it is called from the module; the
        last where that can't be seen."""
        found = dict[Binding, None]()
        for way in self.drive.ways(e):
            called = way[-1]
            there = called.function is None and self.scopes.root(called.node) is self.scopes.root(e)
            line = getattr(called.node, "lineno", 0)
            before = (b for b in successive if there and getattr(b.statement, "lineno", 0) < line)
            found[next(before, successive[0])] = None
        return list(found)

    @cached_property
    def _evaluating(self) -> set[ast.AST]:
        """The calls of functions that train elsewhere, which tell them not to: `run_epoch(others, training=False)`."""
        training: dict[ast.AST, set[ast.AST]] = {}
        for site in self._steps():
            ways = self.drive.ways(site)
            if len(ways) >= MOST_WAYS:
                return set()
            for frame, caller in (pair for way in ways for pair in pairwise(way)):
                if frame.function is not None:
                    training.setdefault(frame.function, set()).add(caller.node)
        return {c for f, calls in training.items() for c in self.values.callers(f) if c not in calls}

    def given(self, b: Binding) -> list[ast.expr]:
        """The expressions whose value a binding gives."""
        if b.kind == "parameter":
            passed = [*self.values.passed(b), *self._unpacked(b)]
            return [
                e for e in passed if not self._evaluating.intersection(self.syntax.ancestors(e))
            ] or passed
        if b.value is None:
            return []
        if b.kind == "assign" and not b.path:
            return [b.value]
        if b.kind == "assign" and len(b.path) == 1:
            return list(self.part(b.value, b.path[0]))
        return []

    def _unpacked(self, b: Binding) -> Iterator[ast.expr]:
        """What a parameter gets by sequences that are unpacked: of `train(*data())`."""
        for value, place in self.values.graph.unpacked(b):
            for o in self.values.origins(value):
                if isinstance(o.node, ast.expr):
                    yield from self.part(o.node, place)

    def held(self, e: ast.AST) -> list[ast.expr]:
        """What a dict, a list or a record holds where it is read: `data["train"]`, `batches[0]`, `splits.train`."""
        if isinstance(e, ast.Subscript):
            return self.items(e)
        if not isinstance(e, ast.Attribute) or not isinstance(e.value, ast.Name):
            return []
        made = [c for c in self.values.calls(e.value) if e.attr in fields.names(self.module, c)]
        return [given for call in made for given in fields.given_as(self.module, call, e.attr)]

    def items(self, e: ast.Subscript) -> list[ast.expr]:
        """What a dict of this scope holds by a key: `data["train"]` of `data = {"train": …}`, `data["train"] = …`; a list at a
        place, `batches[0]` of `batches = [iter(a), iter(b)]`, or at any, `batches[i % 2]`."""
        if not isinstance(e.value, ast.Name):
            return []
        bound = [b.value for b in self.scopes.reaching(e.value) if not b.path]
        if (
            len(bound) == 1
            and isinstance(bound[0], (ast.List, ast.Tuple))
            and not isinstance(e.slice, ast.Slice)
        ):
            listed, at = bound[0].elts, e.slice.value if isinstance(e.slice, ast.Constant) else None
            if type(at) is int:
                return [listed[at]] if at < len(listed) else []
            return listed
        if not isinstance(e.slice, ast.Constant):
            return []
        written, key = ast.unparse(e), e.slice.value
        held = [d for value in bound if value is not None for d in self._dicts(value)]
        found = [
            value
            for d in held
            for k, value in zip(d.keys, d.values, strict=True)
            if isinstance(k, ast.Constant) and k.value == key
        ]
        scope = self.scopes.lookup(e.value.id, e)
        return found + [
            s.value
            for s in self.syntax.every(ast.Assign)
            for t in s.targets
            if isinstance(t, ast.Subscript)
            and ast.unparse(t) == written
            and self.scopes.lookup(e.value.id, t) is scope
        ]

    def _dicts(self, value: ast.expr) -> list[ast.Dict]:
        """The dicts that a value is: where it is made, or by the function that it calls."""
        if isinstance(value, ast.Dict):
            return [value]
        callee = self.values.callee(value) if isinstance(value, ast.Call) else None
        returned = self.values.returned(callee) if isinstance(callee, FUNCTIONS) else []
        return [r for r in returned if isinstance(r, ast.Dict)]

    def given_to(self, value: ast.expr) -> list[Binding]:
        """The binding of the one name that an assignment gives a value."""
        statement = self.syntax.parent.get(value)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        target = targets[0] if len(targets) == 1 else None
        if not isinstance(target, ast.Name):
            return []
        scope = self.scopes.lookup(target.id, target)
        bindings = self.scopes.names[scope].get(target.id, ()) if scope is not None else ()
        return [b for b in bindings if b.value is value and not b.path]

    def part(self, value: ast.expr, i: int) -> Iterator[ast.expr]:
        """The expressions for part `i` of a value: the elements of tuples that a function of this module returns."""
        if isinstance(value, (ast.Tuple, ast.List)) and 0 <= i < len(value.elts):
            yield value.elts[i]
        elif isinstance(value, ast.Call):
            callee = self.values.callee(value)
            if self.names.of(value.func) == SPLITTING:
                yield value
            for returned in self.values.returned(callee) if isinstance(callee, FUNCTIONS) else []:
                if isinstance(returned, (ast.Tuple, ast.List)):
                    yield from self.part(returned, i)

    def uses(self, b: Binding) -> list[ast.expr]:
        """Where the value of a binding is read."""
        if isinstance(b.anchor, ast.Attribute):
            return [
                n
                for n in self.module.loads.get(b.name)
                if isinstance(n, ast.Attribute) and b in self.values.attribute_bindings(n)
            ]
        return [n for n in self.module.loads.get(b.name) if isinstance(n, ast.Name) and b in self.bindings(n)]


def flat(arguments: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Arguments, and the elements of those that are tuples, lists and dicts: `Dataset.zip((a, {"b": b}))`."""
    for a in arguments:
        if isinstance(a, (ast.Tuple, ast.List)):
            yield from flat(a.elts)
        elif isinstance(a, ast.Dict):
            yield from flat(a.values)
        else:
            yield a
