"""Sequences of numbers that are made of a range, and are none themselves: `sorted(range(n))`, `(i + 1 for i in range(n))`."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.summary.kinds import Kinds

_KEEP = {
    "sorted",
    "list",
    "tuple",
    "set",
    "iter",
    "reversed",
    "islice",
    "chain",
    "fromkeys",
    "array",
    "asarray",
    "tqdm",
}
_APPLY = {"map", "filter", "takewhile", "dropwhile", "starmap"}  # a function first
_COUNTED = {"linspace", "logspace"}
_DEPTH = 12


def is_one(module: Module, kinds: Kinds, e: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether all that something gives are numbers of a range, or made of them alone."""

    def inner(part: ast.expr) -> bool:
        return bool(depth) and is_one(module, kinds, part, depth - 1)

    match e:
        case ast.Name() | ast.Attribute():
            made = [o.node for o in module.values.origins(e) if not o.path]
            return bool(made) and all(isinstance(n, ast.expr) and n is not e and inner(n) for n in made)
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return bool(elts) and all(isinstance(part, ast.Starred) and inner(part.value) for part in elts)
        case ast.GeneratorExp(elt=elt, generators=[one]) | ast.ListComp(elt=elt, generators=[one]):
            names = {n.id for n in ast.walk(elt) if isinstance(n, ast.Name)}
            return isinstance(one.target, ast.Name) and names == {one.target.id} and inner(one.iter)
        case ast.Subscript(value=value, slice=ast.Slice()):
            return module.names.of(value) == "numpy.r_" or inner(value)
        case ast.Call(func=ast.Attribute(value=value, attr="tolist" | "astype" | "copy")):
            return inner(value)
        case ast.Call():
            if kinds.is_range(e) or module.names.last(e.func) in _COUNTED:
                return True
            last = module.names.last(e.func)
            given = e.args[1:] if last in _APPLY else e.args if last == "chain" else e.args[:1]
            return last in _KEEP | _APPLY and bool(given) and all(map(inner, given))
    return False


__all__ = ["is_one"]
