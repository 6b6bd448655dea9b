"""TensorFlow 1's graphs: the operations that train, and what sessions run.

A graph is built once and run many times, so a place that *builds* a train op (`optimizer.minimize(loss)`) and the places
that *train* (`session.run(train_op)`) are different ones. This module joins them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function, argument
from horovodize.source.nodes import walk
from horovodize.summary.listed_operations import put

RunKind = Literal["train", "initialize", "restore", "other"]

_V1 = "tensorflow.compat.v1."
INITIALIZERS = {
    _V1 + name
    for name in (
        "global_variables_initializer",
        "initialize_all_variables",
        "variables_initializer",
        "initialize_variables",
    )
}
_LOCAL = ("local_variables", "get_local_variables", "LOCAL_VARIABLES", "METRIC_VARIABLES")
_ASSIGNING = (_V1 + "assign", "tensorflow.assign")
# Calls whose result is run by running what they are given.
_CHOOSING = (
    "random.choice",
    "random.sample",
    "random.choices",
    "numpy.random.choice",
    "sklearn.utils.shuffle",
)
_GROUPING = {
    "group",
    "tuple",
    "with_dependencies",
    "identity",
    "list",
    "dict",
    "OrderedDict",
    "stack",
    "no_op",
}
_SESSION_NAME = re.compile(r"(^|_)(sess|session)s?\d*$", re.I)
_RUNNING = {"run", "partial_run", "eval", "restore"}
_RUNNING_WRITTEN = tuple(sorted(f".{name}" for name in _RUNNING))
_LIMIT = 400


@dataclass(frozen=True, eq=False)
class Run:
    """`session.run(fetches)`, `op.run()`, `tensor.eval()`, a call of what `session.make_callable(fetches)` returned, or what
    restores variables into a session (`saver.restore(session, path)`).

    kind      train: a train op is among what is run; initialize: an initializer of variables; restore: saved values
    session   the expression that stands for the session there; None for the default session (`init.run()`)
    """

    call: ast.Call
    kind: RunKind
    session: ast.expr | None


class Graph:
    """What one module builds into graphs and runs in sessions."""

    def __init__(
        self,
        module: Module,
        train_ops: list[ast.Call],
        sessions: list[ast.Call],
        supervised: list[ast.Call],
    ) -> None:
        self.module, self.values, self.syntax = module, module.values, module.syntax
        self.train_ops = set[ast.AST](train_ops)
        self.sessions = set[ast.AST](sessions)
        self._supervised = supervised

    # ------------------------------------------------------------------ runs

    @cached_property
    def runs(self) -> list[Run]:
        """The runs that train, initialize or restore, in the order of the text."""
        found = [run for call in self._run_calls() if (run := self._run(call)) is not None]
        named = [(c, self._called(c)) for c in self._supervised]
        found += [Run(c, "initialize", session) for c, session in named if session is not None]
        if not any(run.kind == "train" for run in found):
            found += [
                Run(c, "train", self.session_of(c)) for c in self._run_calls() if self._names_a_train_op(c)
            ]
        return sorted(found, key=lambda r: (r.call.lineno, r.call.col_offset))

    @cached_property
    def trainings(self) -> list[Run]:
        return [run for run in self.runs if run.kind == "train"]

    @cached_property
    def all_runs(self) -> list[ast.Call]:
        """Every run of something in a session, also of what trains nothing."""
        return list(self._run_calls())

    def sets(self, call: ast.Call) -> list[ast.expr]:
        """The values that a run sets variables to: `sess.run(v.assign(w))`, `sess.run(begin, {placeholder: w})`."""
        found = list[ast.expr]()
        for n in self.operations(self.fetches(call)):
            if isinstance(n, ast.Call) and self.module.names.last(n.func) == "assign":
                value = argument(n, "value", 1 if self.module.names.of(n.func) in _ASSIGNING else 0)
                found += [value] if value is not None else []
        fed = argument(call, "feed_dict", 0 if self._runs_itself(call) else 1) if found else None
        return [*found, *(fed.values if isinstance(fed, ast.Dict) else ())]

    def _run_calls(self) -> Iterator[ast.Call]:
        for call in self.syntax.calls if self._prepares else self.module.calls_written.get(*_RUNNING_WRITTEN):
            if isinstance(call.func, ast.Attribute) and call.func.attr in _RUNNING:
                if self.module.names.of(call.func) is None:
                    yield call
            elif self._prepared(call) is not None:
                yield call

    def _prepared(self, call: ast.Call) -> ast.Call | None:
        """`session.make_callable(fetches)`, if that made the function that a call calls."""
        if not self._prepares or not isinstance(call.func, (ast.Name, ast.Attribute, ast.Subscript)):
            return None
        return next((c for c in self.values.calls(call.func) if c in self._prepares), None)

    @cached_property
    def _prepares(self) -> set[ast.Call]:
        return {
            c for c in self.module.calls_written.get(".make_callable") if self.module.names.of(c.func) is None
        }

    def _run(self, call: ast.Call) -> Run | None:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "restore":
            return self._restoring(call)
        fetched = list(self.operations(self.fetches(call)))
        kind: RunKind | None = None
        if any(node in self.train_ops for node in fetched):
            kind = "train"
        elif any(isinstance(n, ast.Call) and self._initializes(n) for n in fetched):
            kind = "initialize"
        return Run(call, kind, self.session_of(call)) if kind is not None else None

    def _initializes(self, call: ast.Call) -> bool:
        """Whether an operation initialises what is trained: not `tf.variables_initializer(…)` of local variables, as metrics
        keep, which is run before each evaluation."""
        if self.module.names.of(call.func) not in INITIALIZERS:
            return False
        given = argument(call, "var_list", 0)
        made_of = self.values.depends([given], _LIMIT) if given is not None else ()
        return not any(
            isinstance(n, (ast.Attribute, ast.Name)) and self.module.names.last(n) in _LOCAL for n in made_of
        )

    def _restoring(self, call: ast.Call) -> Run | None:
        """`saver.restore(session, path)`; a TF2 checkpoint restores without a session."""
        session = argument(call, "sess", 0)
        if session is None or not self.sessions:
            return None
        made = self.values.class_names(call.func.value) if isinstance(call.func, ast.Attribute) else set()
        if "tensorflow.compat.v1.train.Saver" in made or (not made and self.is_session(session)):
            return Run(call, "restore", session)
        return None

    def session_of(self, call: ast.Call) -> ast.expr | None:
        """The session of a run: the receiver, or `op.run(session=…)`."""
        call = self._prepared(call) or call
        assert isinstance(call.func, ast.Attribute)
        if self._runs_itself(call):
            given = argument(call, "session", 1)
            if given is None and call.args and self.is_session(call.args[0]):
                given = call.args[0]  # of a variable: `step.eval(session)`
            return given or self.default_session(call)
        return call.func.value

    def default_session(self, place: ast.AST) -> ast.expr | None:
        """The session that a function makes the default around a place, `with session.as_default():`; None where none, or one
        that it opens there."""
        for a in self.syntax.ancestors(place):
            if isinstance(a, FUNCTIONS):
                break
            for item in reversed(a.items) if isinstance(a, ast.With) else ():
                e = item.context_expr
                if self.opened(e) == {e}:
                    return None
                session = made_default(e)
                if session is not None and self.is_session(session):
                    return session if isinstance(session, (ast.Name, ast.Attribute)) else None
        return None

    def fetches(self, call: ast.Call) -> ast.expr:
        """What is run: the first argument, or the operation itself."""
        call = self._prepared(call) or call
        assert isinstance(call.func, ast.Attribute)
        if self._runs_itself(call):
            return call.func.value
        fetches = argument(call, "fetches", 1 if call.func.attr == "partial_run" else 0)
        return fetches if fetches is not None else call.func.value

    def _runs_itself(self, call: ast.Call) -> bool:
        """`op.run(…)` rather than `session.run(op)`."""
        assert isinstance(call.func, ast.Attribute)
        receiver = call.func.value
        if call.func.attr == "eval":
            return True
        if call.func.attr != "run" or self.is_session(receiver):
            return False
        if (
            argument(call, "fetches", 0) is None
            or argument(call, "feed_dict", None) is not None
            and not call.args
        ):
            return True
        return any(
            node in self.train_ops
            or (isinstance(node, ast.Call) and self.module.names.of(node.func) in INITIALIZERS)
            for node in self.operations(receiver)
        )

    def is_session(self, e: ast.expr) -> bool:
        """Whether an expression stands for a session: it is made as one, or is called so where nothing is known of it."""
        made = self.values.calls(e)
        if any(c in self.sessions for c in made):
            return True
        return not made and bool(_SESSION_NAME.search(self.module.names.last(e)))

    def opened(self, session: ast.expr) -> set[ast.Call]:
        """The constructions that a session expression may come from."""
        bound = {c for c in self._supervised if self._called(c) is session}
        return bound or {c for c in self.values.calls(session) if c in self.sessions}

    def _called(self, opened: ast.Call) -> ast.expr | None:
        """What a session is called that a Supervisor opens: `with supervisor.managed_session() as session:`"""
        around = self.syntax.parent.get(opened)
        if isinstance(around, ast.withitem):
            return around.optional_vars if isinstance(around.optional_vars, ast.Name) else None
        return next(iter(_targets(around)), None)

    # ------------------------------------------------------------------ operations

    def operations(self, fetches: ast.expr) -> Iterator[ast.AST]:
        """The operations that are run when something is fetched, as expressions, through lists, dicts, groups and
        control dependencies."""
        todo: list[ast.expr] = [fetches]
        seen: set[ast.AST] = set()
        while todo and len(seen) < _LIMIT:
            e = todo.pop()
            if e in seen:
                continue
            seen.add(e)
            for origin in self.values.origins(e):
                node = origin.node
                later = list(put(self.module, e, origin))
                todo += later
                if isinstance(node, ast.expr):
                    if (node not in seen or node is e) and not (later and isinstance(node, ast.Subscript)):
                        todo += [part for part in self._parts(node) if part not in seen]
                    yield node
                elif isinstance(node, FUNCTIONS) and node in self._properties:
                    todo += [v for v in self.values.returned(node) if v not in seen]
            todo += self._added(e)

    def surely_trains(self, call: ast.Call) -> bool:
        """Whether something that a run fetches is a train op whatever it is: not where a function gives one for one of its
        arguments (`build(training=True)`), and a prediction for another."""
        todo, seen = [self.fetches(call)], set[ast.AST]()
        if not self._trains(todo[0]):  # told by its name
            return True
        while todo:
            e = todo.pop()
            seen.add(e)
            found = self.values.origins(e)
            if any(
                b.path for b in self.values.bindings(e)
            ):  # of several that are returned: not of a return that has one
                found = [o for o in found if not o.path] or found
            origins = [o.node for o in found]
            if not all(map(self._trains, origins)):
                continue
            parts = self._parts(o) if len(origins) == 1 and isinstance(o := origins[0], ast.expr) else []
            parts = [p for p in parts if p not in seen and self._trains(p)]
            if not parts:
                return True
            todo += parts
        return False

    def _trains(self, e: ast.AST) -> bool:
        given = [e] if isinstance(e, ast.expr) else self.values.returned(e) if e in self._properties else []
        return any(self.fetches_training(value) for value in given)

    def fetches_training(self, fetches: ast.expr) -> bool:
        """Whether a train op is among what is run when something is fetched."""
        return any(node in self.train_ops for node in self.operations(fetches))

    def _parts(self, node: ast.expr) -> list[ast.expr]:
        match node:
            case ast.List() | ast.Tuple() | ast.Set():
                return [x.value if isinstance(x, ast.Starred) else x for x in node.elts]
            case ast.Dict():
                return [v for v in node.values if v is not None]
            case ast.BinOp():
                return [node.left, node.right]
            case ast.ListComp() | ast.GeneratorExp():
                return [node.elt, *(g.iter for g in node.generators)]
            case ast.Subscript():
                return [node.value]
            case ast.Attribute() if node.attr in ("op", "values"):
                return [node.value]
            case ast.Call() if node not in self.train_ops and self.module.names.last(node.func) in _GROUPING:
                given = [a.value if isinstance(a, ast.Starred) else a for a in node.args]
                return [*given, *(k.value for k in node.keywords), *self._controls(node)]
            case ast.Call() if self.module.names.of(node.func) in _CHOOSING:
                return node.args[:1]  # one of several, by chance
            case ast.Call() if isinstance(node.func, ast.Attribute) and node.func.attr in ("values", "apply"):
                return [node.func.value, *self._controls(node)]
            case ast.Call():
                return self._controls(node)
            case _:
                return []

    @cached_property
    def _properties(self) -> set[Function]:
        """Methods that are read as attributes, whatever decorator makes them so (`@property`, `@lazy_property`)."""
        return {
            function
            for function in self.syntax.functions
            if self.syntax.method_class(function) is not None
            and any("property" in self.module.names.last(d) for d in function.decorator_list)
        }

    def _controls(self, call: ast.Call) -> list[ast.expr]:
        """What must run before an operation: `with tf.control_dependencies([train_op]):` around it."""
        found: list[ast.expr] = []
        for a in self.syntax.ancestors(call):
            if isinstance(a, ast.With):
                for item in a.items:
                    e = item.context_expr
                    if isinstance(e, ast.Call) and self.module.names.last(e.func) == "control_dependencies":
                        found += e.args[:1]
            elif isinstance(a, ast.FunctionDef):
                break
        return found

    def _added(self, e: ast.expr) -> list[ast.expr]:
        """What is put into a list or a dict of operations later."""
        if not isinstance(e, (ast.Name, ast.Attribute)) or not self._appends:
            return []
        text = ast.unparse(e)
        return [value for holder, value in self._appends if holder == text]

    @cached_property
    def _appends(self) -> list[tuple[str, ast.expr]]:
        appended = [
            (ast.unparse(c.func.value), c.args[-1])
            for c in self.syntax.calls
            if isinstance(c.func, ast.Attribute) and c.func.attr in ("append", "extend", "update") and c.args
        ]
        return appended + [
            (ast.unparse(target.value), n.value)
            for n in self.syntax.nodes
            if isinstance(n, ast.Assign)
            for target in n.targets
            if isinstance(target, ast.Subscript)
        ]

    def _names_a_train_op(self, call: ast.Call) -> bool:
        """Whether what is fetched is called as train ops are somewhere in the module: for models that come from where they
        can't be followed."""
        names = {
            self.module.names.last(target)
            for op in self.train_ops
            for target in _targets(self.syntax.parent.get(op))
        }
        return any(
            isinstance(n, (ast.Name, ast.Attribute)) and self.module.names.last(n) in names
            for n in self._within(self.fetches(call))
        )

    def _within(self, e: ast.expr) -> Iterator[ast.AST]:
        for origin in self.values.origins(e):
            yield from walk(origin.node)


def made_default(e: ast.expr) -> ast.expr | None:
    """`session` of `session.as_default()`; a graph is made the default in the same way."""
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr == "as_default":
        return e.func.value
    return None


def _targets(statement: ast.AST | None) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return [t for t in statement.targets if isinstance(t, (ast.Name, ast.Attribute))]
    return []


__all__ = ["INITIALIZERS", "Graph", "Run", "RunKind", "made_default"]
