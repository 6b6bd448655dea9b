"""One walk from what training consumes back towards its source: the earliest places where a pipeline may be divided."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument, arguments
from horovodize.source.nodes import walk
from horovodize.summary.dataset_methods import BATCHING, EVEN, ONCE
from horovodize.summary.destinations import Destinations
from horovodize.summary.flat_windows import gives_one_of_each
from horovodize.summary.wrapped_iterables import looked_through

if TYPE_CHECKING:
    from horovodize.summary.pipeline import Pipelines


class EarliestPlaces:
    """One walk from a feed back towards its source."""

    def __init__(
        self,
        pipelines: Pipelines,
        feeds: set[ast.AST],
        whole_batches: bool = False,
        call: ast.Call | None = None,
        function: ast.FunctionDef | None = None,
    ) -> None:
        """`call`: the one call of `function` that the walk is about."""
        self.p, self.whole_batches, self.call, self.function = pipelines, whole_batches, call, function
        self.destinations = Destinations(pipelines, feeds)
        self._deep = 0
        self._passed: list[ast.Call] = []  # the steps on the way from the feed

    def earliest(self, e: ast.expr) -> list[ast.expr]:
        self._deep += 1
        if self._deep > 60:
            return [e]
        if isinstance(e, ast.NamedExpr):
            return self.earliest(e.value)
        if isinstance(e, ast.IfExp):
            return [*self.earliest(e.body), *self.earliest(e.orelse)]
        if isinstance(e, ast.Name):
            return self._through_name(e) or [e]
        if isinstance(e, ast.Call):
            return self._through_call(e) or [e]
        if isinstance(e, (ast.Subscript, ast.Attribute)):
            bound = self._through_name(e) if isinstance(e, ast.Attribute) else []
            return bound or self._through_holder(e) or [e]
        return [e]

    def _through_holder(self, e: ast.Subscript | ast.Attribute) -> list[ast.expr]:
        """What a dict, a list or a record holds."""
        held = self.p.held(e)
        if not all(self.p.is_dataset(v) and self._is_only_trained(v) for v in held):
            return []
        if self._is_repeated_next() and not any(self._prepares(v) for v in held):
            return []  # divided after that, no rank has too few
        return [place for v in held for place in self.earliest(v)]

    def _is_repeated_next(self) -> bool:
        return bool(self._passed) and self.p.names.last(self._passed[-1].func) == "repeat"

    def _prepares(self, held: ast.expr) -> bool:
        """Whether a pipeline does work for each of its elements, which a rank shouldn't do for the others'."""
        return any(self.p.names.last(step.func) == "map" for step in self.p.steps(held))

    def _is_only_trained(self, held: ast.expr) -> bool:
        """Whether what a dict or list holds is an iterator, which gives each element once, or goes nowhere else."""
        return self._is_iterator(held) or self.destinations.only_trains(held)

    def _through_name(self, e: ast.Name | ast.Attribute) -> list[ast.expr]:
        found: list[ast.expr] = []
        bindings = self.p.bindings(e)
        for b in bindings:
            values = self._given(b)
            if not values or not (self._exclusive(b) or all(self._is_iterator(v) for v in values)):
                return []
            if (
                b.kind == "assign"
                and b.path
                and isinstance(b.value, ast.Call)
                and not self._only_caller(b.value)
            ):
                return []
            for value in values:
                if not self.p.is_dataset(value):
                    return []
                found += self.earliest(value)
        return [] if self._are_made_of_each_other(found) else found

    def _are_made_of_each_other(self, places: list[ast.expr]) -> bool:
        """Whether a place gets what another gives (`if part < 1: ds = ds.take(n)`): it would be divided once more."""
        several = list(dict.fromkeys(places))
        return any(self.p.comes_from(place, before) for place in several for before in several)

    def _given(self, b: Binding) -> list[ast.expr]:
        values = self.p.given(b)
        if self.call is None or b.kind != "parameter" or b.statement is not self.function:
            return values
        own = arguments(self.call)
        return [v for v in values if v in own]

    def _through_call(self, call: ast.Call) -> list[ast.expr]:
        p = self.p
        if looked_through(p.module, call):
            return self.earliest(call.args[0])
        callee = p.values.callee(call)
        if isinstance(callee, FUNCTIONS):
            returned = p.values.returned(callee)
            if not self._only_caller(call) or not returned or not all(p.is_dataset(r) for r in returned):
                return []
            return [place for r in returned for place in self.earliest(r)]
        if not isinstance(call.func, ast.Attribute) or not p.is_dataset(call.func.value):
            return []
        method = call.func.attr
        if self.whole_batches and method in ("batch", "padded_batch"):
            return []
        if method in BATCHING and self._is_made_of_sequence(method):
            return []
        evenly = method in EVEN or (method == "take" and p.grouped_before(call))
        evenly = evenly or (method == "flat_map" and gives_one_of_each(p.module, call))
        if evenly or (method == "apply" and p.applies_evenly(call)):
            self._passed.append(call)
            found = self.earliest(call.func.value)
            self._passed.pop()
            return found
        return []

    def _is_made_of_sequence(self, method: str) -> bool:
        """Whether what a batching makes are no batches but rows, of elements that follow each other: they are batched again
        (`characters.batch(101).map(split).batch(64)`), or cut into what comes first and what follows (`s[:-1], s[1:]`)."""
        later = [(self.p.names.last(step.func), step) for step in self._passed]
        return any(name in BATCHING or (name == "map" and self._shifts(step)) for name, step in later)

    def _shifts(self, mapped: ast.Call) -> bool:
        """Whether a function that is mapped leaves out an element's last part in one place and its first in another."""
        given = argument(mapped, "map_func", 0)
        origins = self.p.values.origins(given) if given is not None else []
        cuts = [
            n.slice
            for o in origins
            if isinstance(o.node, CALLABLES)
            for n in walk(o.node)
            if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice)
        ]
        return any(c.upper is not None and c.lower is None for c in cuts) and any(
            c.lower is not None and c.upper is None for c in cuts
        )

    def _is_iterator(self, e: ast.expr) -> bool:
        """An iterator can't be divided itself: what it iterates can."""
        return isinstance(e, ast.Call) and self.p.names.last(e.func) in (*ONCE, "make_one_shot_iterator")

    def _only_caller(self, call: ast.Call) -> bool:
        callee = self.p.values.callee(call)
        return isinstance(callee, FUNCTIONS) and all(c is call for c in self.p.values.callers(callee))

    def _exclusive(self, b: Binding) -> bool:
        return all(self.destinations.only_trains(use) for use in self.p.uses(b))


__all__ = ["EarliestPlaces"]
