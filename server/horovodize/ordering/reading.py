"""Reads what a session's run fetches as a graph of the model: which operations there are, and which edges between them.

A place that may make several operations, and whatever can't be followed, gives a value of which nothing is known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from horovodize.ordering.calls import ADDING, ASSIGNING, BARRIERS, PASSING, READING, SUBTRACTING
from horovodize.ordering.model import Does, Op, number, unknown
from horovodize.ordering.places import Places
from horovodize.ordering.state import State
from horovodize.ordering.training import Training
from horovodize.ordering.variables import Variable, Variables
from horovodize.python.module import Module
from horovodize.python.syntax import arguments
from horovodize.summary.sites import Sites

_MOST = 400  # operations of a run
_DEEPEST = 80  # expressions in each other
_TENSORFLOW = "tensorflow."
N = TypeVar("N", bound=ast.expr)


class TooMuch(Exception):
    """A run is too large to be read."""


class Reading:
    """The graph behind one run.

    nodes         the place of each operation in the script
    texts         how the script calls the variable of an operation
    read          the variables of reads; written: of assignments
    trains        the operations by which train ops change variables
    calls_python  those that stand for what a Python function changes"""

    def __init__(self, module: Module, sites: Sites, home: ast.ClassDef | None) -> None:
        self.module, self.sites, self.names, self.values = module, sites, module.names, module.values
        self.places = Places(module, home)
        self.variables = Variables(module, self.places)
        self.training = Training(module, sites, self.variables)
        self.state = State(module)
        self.ops: dict[str, Op] = {}
        self.nodes: dict[str, ast.expr] = {}
        self.written: dict[str, Variable] = {}
        self.trains: set[str] = set()
        self.calls_python: set[str] = set()
        self._open: set[ast.expr] = set()
        self.read: dict[str, Variable] = {}
        self.texts: dict[str, str] = {}
        self._known: dict[tuple[ast.AST, str], str] = {}
        self._under_way: set[tuple[ast.AST, str]] = set()

    def is_open(self, node: ast.expr) -> bool:
        """Whether something that isn't seen may order what a place makes."""
        return node in self._open

    # ------------------------------------------------------------------ what is fetched

    def fetched(self, e: ast.expr) -> list[str]:
        """The operations that a fetch, or a list or dict of them, runs."""
        node = self.variables.only(e)
        match node:
            case ast.List() | ast.Tuple() | ast.Set():
                return [name for part in node.elts for name in self.fetched(part)]
            case ast.Dict():
                return [name for part in node.values for name in self.fetched(part)]
            case ast.ListComp():
                return [self._operation(node.elt)]
        if (variable := self.variables.of(e)) is not None and not variable.is_each:
            return [self._add(e, Does.READ, variable)]
        return [self._operation(e)]

    # ------------------------------------------------------------------ expressions

    def _operation(self, e: ast.expr) -> str:
        """What must run for an expression: the operation itself, where it is one."""
        node = self.variables.only(e)
        if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
            return self._add(node, Does.COMPUTE, after=self.fetched(node))
        if isinstance(node, ast.Attribute) and node.attr == "op":
            return self._operation(node.value)
        if isinstance(node, ast.Call) and self._is_one(node):
            return self._call(node)
        return self._value(e)

    def _value(self, e: ast.expr) -> str:
        """What gives an expression's value."""
        if isinstance(e, ast.Starred):
            return self._value(e.value)
        if (variable := self.variables.of(e)) is not None:
            return self._read(e, variable)
        node = self.variables.only(e)
        if node is None or not isinstance(node, ast.expr) or not self._is_one(node):
            return self._give(e)
        return self._once(node, "value", self._find_value)

    def _find_value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int() | float() as value):
                return self._add(node, Does.GIVE, value=number(value))
            case ast.BinOp(op=ast.Add()):
                return self._add(node, Does.SUM, inputs=[self._value(node.left), self._value(node.right)])
            case ast.Attribute(attr="op" | "values"):
                return self._value(node.value)
            case ast.Call():
                name = self._call(node)
                if name in self.written:  # an assignment gives what it leaves there
                    return self._add(node, Does.READ, self.written[name], after=[name], role="left")
                return name
            case ast.Name() | ast.Attribute() | ast.Lambda() | ast.Constant():
                return self._give(node)
            case _:
                parts = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
                return self._add(node, Does.COMPUTE, inputs=[self._value(part) for part in parts])

    def _once(self, node: N, what: str, find: Callable[[N], str]) -> str:
        """What a node makes, found out once; a node that it needs itself for (`self.x = self.x + 1`) isn't known there."""
        key = (node, what)
        if key not in self._known:
            if key in self._under_way:
                return self._give(node)
            if len(self._under_way) > _DEEPEST:
                raise TooMuch
            self._under_way.add(key)
            self._known[key] = find(node)
            self._under_way.discard(key)
        return self._known[key]

    def _is_one(self, node: ast.expr) -> bool:
        """Whether a place makes one operation, or one for each variable of a collection."""
        repeats = self.places.repeats(node)
        if not repeats:
            return repeats is not None
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        return len(repeats) == 1 and any(self.variables.goes_through(n) is repeats[0] for n in names)

    def _give(self, e: ast.expr) -> str:
        return self._add(e, Does.GIVE, value=unknown(_place(e)))

    def _read(self, e: ast.expr, variable: Variable) -> str:
        return self._add(e, Does.READ, variable, after=self._controls(e))

    # ------------------------------------------------------------------ calls

    def _call(self, call: ast.Call) -> str:
        return self._once(call, "call", self._find_call)

    def _find_call(self, call: ast.Call) -> str:
        name, method = self.names.of(call.func) or "", self.names.last(call.func)
        own = call.func.value if isinstance(call.func, ast.Attribute) and not name else None
        variable = self.variables.of(own) if own is not None else None
        if name.startswith(_TENSORFLOW) and method in ASSIGNING and call.args:
            return self._assign(call, method, call.args[0], call.args[1:])
        if own is not None and variable is not None and method in ASSIGNING:
            return self._assign(call, method, own, call.args)
        if own is not None and variable is not None and method in READING:
            return self._read(call, variable)
        if name.startswith(_TENSORFLOW) and method in PASSING and call.args:
            return self._value(call.args[0]) if not self._controls(call) else self._passed(call)
        if name.startswith(_TENSORFLOW) and method in BARRIERS:
            parts = [*call.args, *(k.value for k in call.keywords if k.arg not in ("name", None))]
            return self._add(call, Does.COMPUTE, after=[*map(self._operation, parts), *self._controls(call)])
        if self.training.is_train_op(call):
            return self._train(call)
        if (state := self.state.changed_by(call)) is not None:
            changed = Variable(state, state)
            given = self._add(call, Does.GIVE, value=unknown(_place(call)), role="given")
            made = self._add(call, Does.ASSIGN, changed, inputs=[given], after=self._controls(call))
            self.calls_python.add(made)
            return self._add(call, Does.COMPUTE, inputs=[given], after=[made], role="result")
        return self._other(call)

    def _other(self, call: ast.Call) -> str:
        """A function of TensorFlow's, or one that isn't known: of what it is given."""
        parts = arguments(call)
        if isinstance(call.func, ast.Attribute) and self.names.of(call.func) is None:
            parts.append(call.func.value)
        inputs = [self._value(part) for part in parts]
        return self._add(call, Does.COMPUTE, inputs=inputs, after=self._controls(call))

    def _passed(self, call: ast.Call) -> str:
        return self._add(call, Does.COMPUTE, inputs=[self._value(call.args[0])], after=self._controls(call))

    def _assign(self, call: ast.Call, method: str, target: ast.expr, rest: list[ast.expr]) -> str:
        variable = self.variables.of(target)
        given = [
            *rest,
            *(k.value for k in call.keywords if k.arg in ("value", "delta", "updates", "indices")),
        ]
        inputs = [self._value(part) for part in given]
        if variable is None or not inputs:
            return self._add(call, Does.COMPUTE, inputs=inputs, after=self._controls(call))
        does = Does.ADD if method in ADDING else Does.SUBTRACT if method in SUBTRACTING else Does.ASSIGN
        if method.startswith("scatter"):
            inputs = [self._add(call, Does.COMPUTE, inputs=inputs, role="rows")]
        name = self._add(call, does, variable, inputs[:1], self._controls(call))
        self.written[name] = variable
        return name

    def _train(self, call: ast.Call) -> str:
        """A train op: what it trains is added to, after its loss is computed; then the steps are counted."""
        made = self.training.of(call)
        inputs = [self._value(e) for e in (*made.losses, *made.settings)]
        losses = inputs[: len(made.losses)]
        step = self._add(call, Does.COMPUTE, inputs=inputs, after=self._controls(call), role="gradients")
        variables = list(made.variables)
        if made.is_behind:
            variables += self._behind(losses)
        updates = []
        for variable in dict.fromkeys(variables):
            updates.append(self._add(call, Does.ADD, variable, [step], [step], role=f"trains {variable.key}"))
        self.trains.update(updates)
        if made.counter is not None:
            one = self._add(call, Does.GIVE, value=number(1), role="one")
            updates.append(self._add(call, Does.ADD, made.counter, [one], [step, *updates], role="counts"))
        return self._add(call, Does.COMPUTE, after=[step, *updates], role="trained")

    def _behind(self, losses: list[str]) -> Iterator[Variable]:
        """The variables that some losses are computed of by what has a gradient."""
        todo, seen = list(losses), set[str]()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                op, node = self.ops[name], self.nodes[name]
                variable = self.read.get(name)
                if op.does is Does.READ and variable is not None and variable.is_trained and not op.after:
                    yield variable
                elif not self.training.ends_gradients(node):
                    todo += op.inputs

    # ------------------------------------------------------------------ edges and operations

    def _controls(self, node: ast.expr) -> list[str]:
        """What the `control_dependencies` around a place hold back."""
        found: list[str] = []
        for context in self.places.contexts(node):
            if isinstance(context, ast.Call) and self.names.last(context.func) == "control_dependencies":
                for given in context.args[:1]:
                    if not self._is_seen(given):
                        self._open.add(node)
                    found += self.fetched(given)
            elif isinstance(context, ast.Call) and not self._is_plain(context):
                self._open.add(node)
        return found

    def _is_seen(self, given: ast.expr) -> bool:
        node = self.variables.only(given)
        if isinstance(node, ast.Call):
            return self.names.last(node.func) == "get_collection"
        return isinstance(node, (ast.List, ast.Tuple))

    def _is_plain(self, context: ast.Call) -> bool:
        """Whether a context surely orders nothing."""
        name = self.names.of(context.func) or ""
        return name.startswith(_TENSORFLOW) or self.names.last(context.func) in (
            "as_default", "device", "name_scope", "variable_scope", "open", "arg_scope",
        )  # fmt: skip

    def _add(
        self,
        node: ast.expr,
        does: Does,
        variable: Variable | None = None,
        inputs: Iterable[str] = (),
        after: Iterable[str] = (),
        *,
        value: frozenset[tuple[object, float]] | None = None,
        role: str = "",
    ) -> str:
        name = f"{does.value} {role} {_place(node)}"
        if name not in self.ops:
            if len(self.ops) >= _MOST:
                raise TooMuch
            key = variable.key if variable is not None else ""
            self.ops[name] = Op(name, does, key, tuple(inputs), tuple(after), value or frozenset())
            self.nodes[name] = node
            if variable is not None:
                self.texts[name] = variable.text
            if does is Does.READ and variable is not None:
                self.read[name] = variable
        return name


def _place(node: ast.expr) -> str:
    return f"{node.lineno}:{node.col_offset}-{node.end_lineno}:{node.end_col_offset}"
