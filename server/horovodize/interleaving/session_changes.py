"""Runs of a session that set the variables of what is trained, and `variable.load(value, session)`: all ranks must run them,
and what they draw is another on each.

    reset = tf.variables_initializer(tf.trainable_variables()[-2:])
    if hvd.rank() == 0:
        session.run(reset)"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.differences.sources import AGREEING
from horovodize.facts.facts import Facts
from horovodize.interleaving.graph_seeds import seeds_alike
from horovodize.python.syntax import argument

_V1 = "tensorflow.compat.v1."
_ASSIGNED = ("assign", "assign_add", "assign_sub")
_ASSIGNING = tuple(_V1 + name for name in _ASSIGNED)
_INITIALIZING = (_V1 + "variables_initializer", _V1 + "initialize_variables")
_LISTING = (_V1 + "trainable_variables", "tensorflow.trainable_variables")
_MAKING = (_V1 + "get_variable", _V1 + "Variable", "tensorflow.Variable")
_SAVER = "restore"
_BEHIND = 200  # nodes that are looked at behind a variable
_FAR = 2000  # nodes that a loss is made of
_DRAWING = "tensorflow.random."


class SessionChanges:
    """Those of one script that builds a graph."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module
        self.graph = facts.sites.graph

    @cached_property
    def of_weights(self) -> set[ast.Call]:
        """The calls that set what is trained, but for those whose change is taken back beside them."""
        if not self.facts.sites.builds_graph or not self.facts.horovod.wrapped:
            return set()
        found = {run: list(self._set_by(run)) for run in self.graph.all_runs if not self._trains(run)}
        calls = {run for run, variables in found.items() if any(map(self._is_trained, variables))}
        calls |= {
            c for c in self._loads() if isinstance(c.func, ast.Attribute) and self._is_trained(c.func.value)
        }
        return {c for c in calls if not self._is_taken_back(c, calls)}

    @cached_property
    def of_asked(self) -> set[ast.Call]:
        """The runs, before all steps, that set other variables which the loss is made with to draws of the rank."""
        if not self.facts.sites.builds_graph or not self.facts.horovod.wrapped:
            return set()
        runs = (r for r in self.graph.all_runs if r not in self.of_weights and not self._trains(r))
        return {
            r
            for r in runs
            if self.draw(r) is not None and not self.module.syntax.loops(r) and self._sets_asked(r)
        }

    def draw(self, run: ast.Call) -> ast.expr | None:
        """What a run draws that it sets variables to, another on each rank: also first weights that are drawn again."""
        if run not in self.graph.all_runs:
            return None
        draws = self.facts.uniform.draws
        for op in self._operations(run) if not seeds_alike(self.facts) else ():
            if self.module.names.of(op.func) in _INITIALIZING:
                if self.module.syntax.loops(run):
                    return op
            elif (value := self._value(op)) is not None:
                for n in self.module.values.depends([value], _BEHIND):
                    name = self.module.names.of(n.func) or "" if isinstance(n, ast.Call) else ""
                    if isinstance(n, ast.Call) and name.startswith(_DRAWING) and draws.draws(n):
                        if not draws.is_fixed(n, name):
                            return n
        return None

    # ------------------------------------------------------------------ what is set

    def _operations(self, run: ast.Call) -> Iterator[ast.Call]:
        """The operations of a run that set variables."""
        for op in self.graph.operations(self.graph.fetches(run)):
            if isinstance(op, ast.Call) and op not in self.graph.train_ops:
                assigns = isinstance(op.func, ast.Attribute) and op.func.attr in _ASSIGNED
                if assigns or self.module.names.of(op.func) in (*_ASSIGNING, *_INITIALIZING):
                    yield op

    def _set_by(self, run: ast.Call) -> Iterator[ast.expr]:
        """The variables that a run sets, to nothing that ranks have exchanged."""
        use = self.facts.horovod
        for op in self._operations(run):
            variable, value = self._variable(op), self._value(op)
            if variable is not None and (value is None or not use.depends_on(value, *AGREEING)):
                yield variable

    def _variable(self, op: ast.Call) -> ast.expr | None:
        if self.module.names.of(op.func) in _INITIALIZING:
            return argument(op, "var_list", 0)
        if self.module.names.of(op.func) in _ASSIGNING:
            return argument(op, "ref", 0)
        return op.func.value if isinstance(op.func, ast.Attribute) else None

    def _value(self, op: ast.Call) -> ast.expr | None:
        if self.module.names.of(op.func) in _INITIALIZING:
            return None
        return argument(op, "value", 1 if self.module.names.of(op.func) in _ASSIGNING else 0)

    def _loads(self) -> list[ast.Call]:
        """`variable.load(value, session)`"""
        calls = (self.module.syntax.parent.get(n) for n in self.module.loads.get("load"))
        return [
            c
            for c in calls
            if isinstance(c, ast.Call) and len(c.args) == 2 and self.graph.is_session(c.args[1])
        ]

    # ------------------------------------------------------------------ which variables these are

    def _is_trained(self, variable: ast.expr) -> bool:
        """Whether this is one of the variables that are trained, or some of them."""
        behind = list(self.module.values.depends([variable], _BEHIND))
        if any(isinstance(n, ast.Call) and self.module.names.of(n.func) in _LISTING for n in behind):
            return True
        made = self.module.values.calls(variable)
        return bool(made) and all(c in self._asked and not _is_left_out(c) for c in made)

    @cached_property
    def _asked(self) -> set[ast.AST]:
        """The variables that losses are made with."""
        losses = [argument(c, "loss", 0) for c in self.facts.sites.graph_minimizes]
        losses += [argument(c, "loss", 0) for c in self.facts.sites.method_calls("compute_gradients")]
        behind = self.module.values.depends([e for e in losses if e is not None], _FAR)
        return {n for n in behind if isinstance(n, ast.Call) and self.module.names.of(n.func) in _MAKING}

    def _sets_asked(self, run: ast.Call) -> bool:
        variables = list(self._set_by(run))
        made = [c for v in variables for c in self.module.values.calls(v)]
        return bool(made) and any(c in self._asked for c in made)

    def _trains(self, run: ast.Call) -> bool:
        return any(run is t.call for t in self.graph.trainings)

    def _is_taken_back(self, call: ast.Call, calls: set[ast.Call]) -> bool:
        """Whether something else sets variables in the same block, as around an evaluation with averages."""
        syntax = self.module.syntax
        around = [t for t, _ in syntax.conditions(call)]
        return any(
            other is not call
            and syntax.function(other) is syntax.function(call)
            and [t for t, _ in syntax.conditions(other)] == around
            for other in (*calls, *self.facts.sites.method_calls(_SAVER))
        )


def _is_left_out(made: ast.Call) -> bool:
    """Whether a variable isn't trained: `trainable=False`, or a count."""
    given, first = argument(made, "trainable"), argument(made, "initial_value", 0)
    counts = isinstance(first, ast.Constant) and type(first.value) in (int, bool)
    return counts or (isinstance(given, ast.Constant) and not given.value)
