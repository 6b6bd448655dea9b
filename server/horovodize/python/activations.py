"""What an expression is in one activation of a function, as the calls that led there pass it.

    def timed(step, rows):
        return step(rows)

    timed(train, rows)
    timed(validate, rows)

In the second activation of `timed`, `step` is `validate` and nothing else. `Values` answers for all activations together."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.python.activation import Activation, Target, Unseen, Value, Values
from horovodize.python.activation_arguments import passed
from horovodize.python.activation_truths import Truths
from horovodize.python.binding import Binding
from horovodize.python.calls import CALLED_FOR
from horovodize.python.module import Module
from horovodize.python.object_fields import Fields
from horovodize.python.syntax import CALLABLES

_DEPTH = 24  # names, calls and objects that are followed one to the next
_STEPS = 1500  # that one question may take
_PARTIAL = "functools.partial"
_WRAPPED = ("python_function", "__wrapped__")  # the function that another one was made of


class Activations:
    """Those of one version of a module."""

    def __init__(self, module: Module) -> None:
        self.module, self.syntax, self.names = module, module.syntax, module.names
        self.graph = module.values.graph
        self.top = Activation(None)
        self.fields, self.truth = Fields(self), Truths(self).of
        self._made: dict[tuple[object, ...], Activation] = {}
        self._known: dict[tuple[ast.AST, Activation], Values] = {}
        self._open: dict[tuple[ast.AST, Activation], int] = {}
        self._cut, self._steps = _DEPTH, 0

    # ------------------------------------------------------------------ activations

    def unknown(self, function: ast.AST | None) -> Activation:
        """One of a function of which no call is known."""
        return self.top if function is None else self._activation(function)

    def _activation(self, *parts: object) -> Activation:
        if parts not in self._made:
            self._made[parts] = Activation(*parts)  # type: ignore[arg-type]
        return self._made[parts]

    def entered(self, call: ast.Call, function: ast.AST, within: Activation) -> Activation | None:
        """The activation of a function that a call runs; None where this call surely runs another one."""
        targets = self._targets(call, within) if self.names.of(call.func) is None else None
        if targets is None:
            of = within.of if _is_of_super(call.func) else None
            closure = self._home(self.syntax.function(function), within)
            # What the name of a library runs (`tf.cond`), it doesn't hand its own arguments.
            own = self.names.of(call.func) is None
            return self._activation(function, call if own else None, within, closure, of)
        mine = [t for t in targets if t.function is function]
        if not mine:
            return None
        one = mine[0] if len(mine) == 1 else Target(function, None)
        return self._activation(function, call, within, one.closure, one.of, one.held)

    def _targets(self, call: ast.Call, within: Activation) -> list[Target] | None:
        found = self.of(call.func, within)
        try:
            return None if found is None else [t for v in found for t in self._run(v, call, within)]
        except Unseen:
            return None

    def _run(self, v: Value, call: ast.Call, within: Activation) -> Iterable[Target]:
        match v.node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                return [Target(v.node, v.within, v.of)]
            case ast.ClassDef():
                made, init = Value(call, within, v.node), self.fields.method(v.node, "__init__")
                return [Target(init, self.top, made)] if init is not None else []
            case ast.Call() if v.cls is not None:
                for name in ("__call__", "call"):
                    if (method := self.fields.method(v.cls, name)) is not None:
                        return [Target(method, self.top, v)]
            case ast.Call() if self.names.of(v.node.func) == _PARTIAL and v.node.args:
                inner = self.of(v.node.args[0], v.within)
                if inner is not None:
                    found = (t for i in inner for t in self._run(i, call, within))
                    return [t._replace(held=(v, *t.held)) for t in found]
            case ast.Name() | ast.Attribute() | ast.Constant():
                return []  # defined elsewhere, and no function of this module
        raise Unseen

    # ------------------------------------------------------------------ values

    def of(self, e: ast.expr, within: Activation) -> Values:
        """What an expression may be in an activation."""
        if not self._open:
            self._cut, self._steps = _DEPTH, 0
        key = (e, within)
        if key in self._known:
            return self._known[key]
        if key in self._open:  # made of itself: what else it is made of, is found on the way
            self._cut = min(self._cut, self._open[key])
            return []
        depth, self._steps = len(self._open), self._steps + 1
        if depth >= _DEPTH or self._steps > _STEPS:
            self._cut = 0
            return None
        self._open[key] = depth
        try:
            found: Values = list(dict.fromkeys(self._find(e, within)))
        except Unseen:
            found = None
        finally:
            del self._open[key]
        if self._cut >= depth:
            self._known[key] = found
            self._cut = _DEPTH if not depth else self._cut
        return found

    def all_of(self, e: ast.expr, within: Activation) -> list[Value]:
        """The same; raises where something isn't seen."""
        found = self.of(e, within)
        if found is None:
            raise Unseen
        return found

    def _find(self, e: ast.expr, within: Activation) -> list[Value]:
        match e:
            case ast.Constant() | ast.Lambda() | ast.List() | ast.Tuple():
                return [Value(e, within)]
            case ast.Name():
                bound = self.module.scopes.reaching(e)
                return [v for b in bound for v in self._bound(b, e, within)] if bound else [Value(e, within)]
            case ast.Attribute():
                return self._attribute(e, within)
            case ast.NamedExpr():
                return self.all_of(e.value, within)
            case ast.IfExp():
                seen = self.truth(e.test, within)
                arms = [arm for arm, runs in ((e.body, True), (e.orelse, False)) if seen in (None, runs)]
                return [v for arm in arms for v in self.all_of(arm, within)]
            case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
                if (seen := self.truth(e, within)) is not None:
                    return [Value(ast.Constant(seen), within)]
            case ast.Call():
                return self._given_back(e, within)
        raise Unseen

    def _bound(self, b: Binding, name: ast.Name, within: Activation) -> list[Value]:
        match b.kind:
            case "parameter" if isinstance(b.anchor, ast.arg):
                home = self._home(b.statement, within)
                return passed(self, b.anchor, home) if home is not None else self._raise()
            case "def" | "class":
                return [Value(b.statement, self._around(b.statement, within))]
            case "assign" if b.value is not None:
                return self._parts(self.all_of(b.value, self._around(b.statement, within)), b.path)
            case "item" if b.value is not None and isinstance(name.ctx, ast.Load):
                listed = self.all_of(b.value, self._around(b.statement, within))
                return self._parts([i for v in listed for i in self._items(v)], b.path)
            case "import":
                return [Value(name, within)]
        return self._raise()

    def _raise(self) -> list[Value]:
        raise Unseen

    def _around(self, statement: ast.AST, within: Activation) -> Activation:
        function = self.syntax.function(statement)
        return self._home(function, within) or self.unknown(function)

    def _home(self, function: ast.AST | None, within: Activation | None) -> Activation | None:
        """The activation of a function around, as what is made there sees it."""
        if function is None:
            return self.top
        while within is not None and within.function is not function:
            within = within.closure
        return within

    def _parts(self, found: list[Value], path: tuple[int, ...]) -> list[Value]:
        for i in path:
            inner = list[Value]()
            for v in found:
                if not isinstance(v.node, (ast.Tuple, ast.List)) or not 0 <= i < len(v.node.elts):
                    raise Unseen
                inner += self.all_of(v.node.elts[i], v.within)
            found = inner
        return found

    def _items(self, v: Value) -> list[Value]:
        if not isinstance(v.node, (ast.Tuple, ast.List)) or any(
            True for _ in self.module.values.held.put_into(v.node)
        ):
            raise Unseen
        return [i for e in v.node.elts for i in self.all_of(e, v.within)]

    def _attribute(self, e: ast.Attribute, within: Activation) -> list[Value]:
        if self.names.of(e) is not None:
            return [Value(e, within)]
        if self.module.scopes.links.module(e.value) is not None:
            bound = self.module.values.attribute_bindings(e)
            kinds = [b.statement for b in bound if b.kind in ("def", "class")]
            return (
                [Value(s, self.top) for s in kinds] if kinds and len(kinds) == len(bound) else self._raise()
            )
        found = list[Value]()
        for owner in self.all_of(e.value, within):
            if e.attr in _WRAPPED and isinstance(owner.node, CALLABLES):
                found.append(owner)
                continue
            inner = self.fields.of(e, owner, within)
            found += inner if inner is not None else self._raise()
        return found

    def _given_back(self, call: ast.Call, within: Activation) -> list[Value]:
        """What a call gives: an object of this module's classes, or what its function returns there."""
        name = self.names.of(call.func)
        if name == _PARTIAL and call.args:
            return [Value(call, within)]
        if name in CALLED_FOR and call.args:
            return self.all_of(call.args[0], within)
        if name is not None:
            raise Unseen
        found = list[Value]()
        for v in self.all_of(call.func, within):
            if isinstance(v.node, ast.ClassDef):
                found.append(Value(call, within, v.node))
                continue
            targets = list(self._run(v, call, within))
            if not targets:
                raise Unseen
            for t in targets:
                inner = self._activation(t.function, call, within, t.closure, t.of, t.held)
                found += self.returned(t.function, inner)
        return found

    def returned(self, function: ast.AST, within: Activation) -> list[Value]:
        """What a function returns in an activation."""
        given = self.graph.returned(function)
        if isinstance(function, ast.AsyncFunctionDef) or not given:
            raise Unseen
        if any(isinstance(self.syntax.parent[e], (ast.Yield, ast.YieldFrom)) for e in given):
            raise Unseen
        return [v for e in given if self._may_run(e, within) for v in self.all_of(e, within)]

    def _may_run(self, e: ast.expr, within: Activation) -> bool:
        tests = self.syntax.conditions(e)
        return all(self.truth(test.test, within) in (None, arm == "body") for test, arm in tests)


def _is_of_super(func: ast.expr) -> bool:
    match func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
            return True
    return False


__all__ = ["Activations"]
