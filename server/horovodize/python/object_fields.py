"""What a field or method of one object is, as its constructor was called: `self.training` of `Stage(training=False)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from horovodize.python.activation import Activation, Value
from horovodize.python.binding import Binding
from horovodize.python.calls import is_property
from horovodize.python.syntax import FUNCTIONS, Function

if TYPE_CHECKING:
    from horovodize.python.activations import Activations

_ENUM = "enum."


class Fields:
    """Those of the objects of one module's classes."""

    def __init__(self, activations: Activations) -> None:
        self.activations, self.module = activations, activations.module
        self.syntax = activations.module.syntax

    def lineage(self, cls: ast.ClassDef, seen: tuple[ast.ClassDef, ...] = ()) -> Iterator[ast.ClassDef]:
        """A class and its bases in this module, in the order in which a method is looked for."""
        if cls not in seen:
            yield cls
            for base in cls.bases:
                if (inner := self.module.values.base_class(base)) is not None:
                    yield from self.lineage(inner, (*seen, cls))

    def method(self, cls: ast.ClassDef, name: str) -> Function | None:
        """The method that objects of a class have under a name."""
        methods = (s for c in self.lineage(cls) for s in c.body if isinstance(s, FUNCTIONS))
        return next((m for m in methods if m.name == name), None)

    def of(self, e: ast.Attribute, owner: Value, within: Activation) -> list[Value] | None:
        """What `owner.attr` may be, read in an activation; None where that isn't seen."""
        cls = owner.cls if owner.cls is not None else owner.node
        if not isinstance(cls, ast.ClassDef):
            return None
        bound = self.module.values.attribute_bindings(e)
        if owner.cls is None:
            return None if bound else self._of_class(cls, e.attr, owner)
        if bound:
            # `stage.training = False` right before the call that leads here
            if (just := self._just_set(e.attr, owner, within)) is not None:
                return just
            return self._from_init(bound, cls, owner)
        return self._of_class(cls, e.attr, owner)

    def _of_class(self, cls: ast.ClassDef, attr: str, owner: Value) -> list[Value] | None:
        """What the bodies of the class and its bases give."""
        for c in self.lineage(cls):
            for s in reversed(c.body):
                if isinstance(s, FUNCTIONS) and s.name == attr:
                    return self._method(s, owner)
                if isinstance(s, ast.Assign) and _names(s, attr):
                    return self._class_field(c, s, owner) if not c.decorator_list else None
        return None

    def _method(self, method: Function, owner: Value) -> list[Value] | None:
        top = self.activations.top
        bound = owner if owner.cls is not None and not self.module.values.graph.is_static(method) else None
        if is_property(method):
            return None
        return [Value(method, top, None, bound)] if owner.cls is not None or not bound else None

    def _class_field(self, cls: ast.ClassDef, s: ast.Assign, owner: Value) -> list[Value] | None:
        if any((self.module.names.of(b) or "").startswith(_ENUM) for b in cls.bases):
            return [Value(s, self.activations.top)]
        return self.activations.of(s.value, self.activations.top)

    def _from_init(self, bound: list[Binding], cls: ast.ClassDef, owner: Value) -> list[Value] | None:
        """What `__init__` sets, where nothing else sets it."""
        lineage, init = list(self.lineage(cls)), self.method(cls, "__init__")
        found = list[Value]()
        for b in bound:
            function = self.syntax.function(b.statement)
            set_in = self.syntax.method_class(function)
            if set_in is not None and set_in not in lineage and _is_of_self(b.anchor, function):
                continue  # of objects of another class
            if set_in is None and self._is_of_another(b.anchor, function, owner):
                continue
            if function is not init or b.kind != "assign" or b.path or b.value is None:
                return None
            assert isinstance(owner.node, ast.Call)
            made = self.activations.entered(owner.node, function, owner.within) if function else None
            inner = self.activations.of(b.value, made) if made is not None else None
            if inner is None:
                return None
            found += inner
        return found or None

    def _is_of_another(self, anchor: ast.AST, function: Function | None, owner: Value) -> bool:
        """Whether a field is set of an object that another constructor call makes: `check.training = False`."""
        if not isinstance(anchor, ast.Attribute):
            return False
        owners = self.activations.of(anchor.value, self.activations.unknown(function))
        return owners is not None and all(o.node is not owner.node for o in owners)

    def _just_set(self, attr: str, owner: Value, within: Activation) -> list[Value] | None:
        """What the statements right before the call of a method set a field of its object to."""
        run: Activation | None = within
        while run is not None and run.of is not owner and run.of != owner:
            run = run.closure
        if run is None or run.call is None or run.outer is None or not isinstance(run.function, FUNCTIONS):
            return None
        func, statement = run.call.func, self.syntax.statement(run.call)
        if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
            return None
        if any(_sets(s, attr) for s in run.function.body):
            return None
        block = self.syntax.block(statement)
        for before in reversed(block[: block.index(statement)]):
            match before:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr=set_attr)], value=value):
                    if set_attr == attr:
                        return self.activations.of(value, run.outer) if name == func.value.id else None
                case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                    continue
                case _:
                    return None
        return None


def _names(s: ast.Assign, attr: str) -> bool:
    return any(isinstance(t, ast.Name) and t.id == attr for t in s.targets)


def _sets(s: ast.stmt, attr: str) -> bool:
    return any(
        isinstance(n, ast.Attribute) and n.attr == attr and isinstance(n.ctx, ast.Store) for n in ast.walk(s)
    )


def _is_of_self(anchor: ast.AST, function: Function | None) -> bool:
    first = function.args.args[:1] if function is not None else []
    return (
        isinstance(anchor, ast.Attribute)
        and isinstance(anchor.value, ast.Name)
        and [a.arg for a in first] == [anchor.value.id]
    )


__all__ = ["Fields"]
