"""What a class says its objects have: `class Config: epochs = 10`."""

from __future__ import annotations

import ast

from horovodize.python.binding import Binding
from horovodize.python.module import Module


def of_class(module: Module, e: ast.Attribute) -> list[Binding]:
    """The assignments in the bodies of classes that may give an attribute its value."""
    return [
        b
        for c in classes_of(module, e.value)
        for b in module.scopes.names[c].get(e.attr, ())
        if b.kind == "assign"
    ]


def constant_of_class(module: Module, e: ast.expr) -> ast.expr | None:
    """The one value that an attribute has by its class, where no object is given another one."""
    if not isinstance(e, ast.Attribute) or module.values.attribute_bindings(e):
        return None
    found, classes = of_class(module, e), classes_of(module, e.value)
    if len(found) != 1 or found[0].value is None or found[0].path or module.loads.get("setattr"):
        return None
    # A dataclass, and what derives from a class that isn't seen here, may take attributes from what they are called with.
    by_call = any(c.decorator_list or any(module.names.of(b) for b in c.bases) for c in classes)
    if by_call and any(
        call.args or call.keywords for call in module.syntax.calls if module.values.callee(call) in classes
    ):
        return None
    return found[0].value


def classes_of(module: Module, e: ast.expr) -> list[ast.ClassDef]:
    """The classes that an expression is, or is an object of."""
    named = [o.node for o in module.values.origins(e) if isinstance(o.node, ast.ClassDef)]
    own = [m for m in module.values.receiver(e) if isinstance(m, ast.ClassDef)]
    return [c for n in dict.fromkeys([*named, *own]) for c in module.values.family(n)]
