"""Methods that run on some ranks alone, since the others have another object.

log = Writer() if hvd.rank() == 0 else Silent()
log.write(text)"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from horovodize.python.module import Module
from horovodize.python.syntax import Function

Test = TypeVar("Test")


def deciding_object(
    module: Module, call: ast.AST, method: Function | None, deciding: Callable[[ast.AST], Test | None]
) -> tuple[Test, list[Function]] | None:
    """The test of the rank that decides whether a call runs a method, by the object that a rank has there, and what the objects
    of the others run instead. `deciding`: by which test of the rank something is made."""
    choice = _objects(module, call, method)
    if choice is None:
        return None
    mine, instead = choice
    tests = [deciding(node) for node in mine]
    if not tests or None in tests:
        return None
    return (tests[0], instead) if tests[0] is not None else None


def makers(module: Module, call: ast.AST, method: ast.AST) -> list[ast.AST]:
    """What makes the objects of which a call runs a method, where it may also have others; else nothing."""
    choice = _objects(module, call, method)
    return choice[0] if choice is not None else []


def _objects(
    module: Module, call: ast.AST, method: ast.AST | None
) -> tuple[list[ast.AST], list[Function]] | None:
    """What makes the objects of which a call runs a method, and what it runs of the others; None where there are no others."""
    owner = module.syntax.method_class(method)
    if owner is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    made = module.values.origins(call.func.value)
    if len(made) < 2 or any(o.path or not isinstance(o.node, ast.Call) for o in made):
        return None
    mine, instead, others = list[ast.AST](), list[Function](), False
    for o in made:
        cls = module.values.callee(o.node) if isinstance(o.node, ast.Call) else None
        if not isinstance(cls, ast.ClassDef):
            return None
        # the nearest: of the class itself, else of its bases
        runs = module.values.definitions.methods_of(call.func.attr, [cls])
        runs = runs or module.values.definitions.methods_of(call.func.attr, module.values.family(cls))
        if method in runs:
            mine.append(o.node)
        else:
            others = True
            instead += runs
    return (mine, instead) if mine and others else None


__all__ = ["deciding_object", "makers"]
