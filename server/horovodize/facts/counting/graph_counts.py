"""Variables of a graph that its operations add to, and the runs of sessions that do so."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from horovodize.facts.counting.counter_kinds import GLOBAL_STEPS
from horovodize.python.module import Module
from horovodize.python.syntax import argument, position, says_none
from horovodize.summary.sites import Sites

_MODULE = "tensorflow."
_COUNTING = ("minimize", "apply_gradients")


class GraphCounts:
    """The operations of one module's graphs that add to variables."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites, self.graph = module, sites, sites.graph

    @cached_property
    def global_steps(self) -> list[ast.expr]:
        """What train ops are given as the global step, which they count with each step, and by what the graph's is got where
        one counts that."""
        graphs = sorted(self._global_steps_made, key=position) if self.counts_graphs else []
        return [*self._counted(self.sites.graph_minimizes), *graphs]

    @cached_property
    def counts_graphs(self) -> bool:
        """Whether a train op counts the graph's global step, as slim's does unless it is given one, or None."""
        return any(argument(op, "global_step", 2) is None for op in self.sites.created_train_ops)

    @cached_property
    def counted_eagerly(self) -> set[ast.Call]:
        """The calls that make the variables which TensorFlow 1's optimizers count where no graph is built: they are given to
        `apply_gradients` and `minimize` in the same way. (Keras' take no variable there.)"""
        counted = self._counted(u.call for u in self.sites.updates if u.method in _COUNTING)
        return {c for e in counted for c in self.module.values.calls(e)}

    def _counted(self, updates: Iterable[ast.Call]) -> Iterator[ast.expr]:
        """What is counted: of `minimize` and `apply_gradients`, the second parameter."""
        for op in updates:
            is_method = isinstance(op.func, ast.Attribute) and op.func.attr in _COUNTING
            created = 2 if op in self.sites.created_train_ops else None
            e = argument(op, "global_step", 1 if is_method else created)
            if e is not None and not says_none(e):
                yield e

    def reads_of_estimator(self, call: ast.Call) -> bool:
        """`estimator.get_variable_value("global_step")`: what an Estimator's training has counted."""
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "get_variable_value"
        return is_method and bool(self.sites.estimators and call.args) and self._names_step(call.args[0])

    def is_evaluated_step(self, e: ast.Subscript) -> bool:
        """`estimator.evaluate(input_fn)["global_step"]`, also by a name."""
        if not self.sites.estimators or not self._names_step(e.slice):
            return False
        known = self.sites.read_estimators
        made = [o.call for o in self.module.values.origins(e.value) if o.call is not None and not o.path]
        evaluated = [
            c.func.value for c in made if isinstance(c.func, ast.Attribute) and c.func.attr == "evaluate"
        ]
        by = [c for holder in evaluated for c in self.module.values.calls(holder)]
        return bool(made) and len(evaluated) == len(made) and any(map(known.makes_estimator, by))

    def _names_step(self, e: ast.expr) -> bool:
        is_text = isinstance(e, ast.Constant) and e.value == "global_step"
        return is_text or (self.module.names.of(e) or "").endswith("GraphKeys.GLOBAL_STEP")

    @cached_property
    def global_step_variables(self) -> set[ast.Call]:
        """The calls that make the variables which are global steps."""
        return {c for e in self.global_steps for c in self.module.values.calls(e)}

    def runs(self, made: ast.Call) -> list[ast.Call]:
        """The runs of sessions that add to the variable which a call makes; none where some operation sets it otherwise."""
        changes = list(self.settings(made))
        return self.adding_runs(made) if all(self._adds(*change) for change in changes) else []

    def adding_runs(self, made: ast.Call) -> list[ast.Call]:
        """The runs of sessions that add to the variable which a call makes, whatever else sets it."""
        adding: set[ast.AST] = {c for c, kept, value in self.settings(made) if self._adds(c, kept, value)}
        return [
            run for run in self.graph.all_runs if adding & set(self.graph.operations(self.graph.fetches(run)))
        ]

    def counts(self, node: ast.AST) -> bool:
        """Whether a call makes a variable that only counts runs (all that sets it adds a whole number), or adds to one."""
        if not isinstance(node, ast.Call):
            return False
        variables = [node]
        if self.module.names.last(node.func) in ("assign", "assign_add"):
            of_module = (self.module.names.of(node.func) or "").startswith(_MODULE)
            kept = node.args[0] if of_module and node.args else getattr(node.func, "value", node)
            variables = [*self.module.values.calls(kept)]
        found = [list(self.settings(v)) for v in variables]
        return bool(found) and all(s and all(self._adds(*one) for one in s) for s in found)

    def settings(self, made: ast.Call) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
        """The operations that set the variable which a call makes, as (operation, variable, what it is given):
        `v.assign_add(1)`, `tf.assign(v, v + 1)`. (A graph has one global step, which several calls may give.)"""
        made_so = self._global_steps_made if made in self._global_steps_made else {made}
        for call in self.module.calls_called("assign", "assign_add", "assign_sub"):
            of_module = (self.module.names.of(call.func) or "").startswith(_MODULE)
            given = call.args if of_module else [getattr(call.func, "value", call), *call.args]
            if len(given) > 1 and not made_so.isdisjoint(self.module.values.calls(given[0])):
                yield call, given[0], given[1]

    @cached_property
    def _global_steps_made(self) -> set[ast.Call]:
        """The calls that give the graph's global step: `tf.train.get_or_create_global_step()`."""
        return {c for name in GLOBAL_STEPS for c in self.module.calls_of(name)}

    def _adds(self, call: ast.Call, variable: ast.expr, value: ast.expr) -> bool:
        if self.module.names.last(call.func) == "assign_add":
            return _is_whole(value)
        plus = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
        return (
            plus
            and isinstance(value, ast.BinOp)
            and ast.unparse(value.left) == ast.unparse(variable)
            and _is_whole(value.right)
        )


def _is_whole(e: ast.expr) -> bool:
    """Whether a number is one that a count goes on by: 1 or 32, also as 1.0; not 0.01, by which a temperature does."""
    number = e.value if isinstance(e, ast.Constant) else None
    return isinstance(number, int) or (isinstance(number, float) and number.is_integer())
