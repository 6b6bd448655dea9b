"""The yields of generator functions, and which parts of what they yield count them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function, Loop, Syntax
from horovodize.source.nodes import walk


def yields_of(module: Module, e: ast.expr) -> list[ast.Yield]:
    """The yields of the generator function that is called, or of an object's `__iter__`; none where it delegates."""
    values = module.values
    function: ast.AST | None = values.callee(e) if isinstance(e, ast.Call) else None
    if not isinstance(function, FUNCTIONS) and values.definitions.has_method("__iter__"):
        function = next(iter(values.definitions.methods_of("__iter__", values.receiver(e))), None)
    if not isinstance(function, FUNCTIONS):
        return []
    own = [n for n in walk(function) if module.syntax.function(n) is function]
    if any(isinstance(n, ast.YieldFrom) for n in own):
        return []
    return [n for n in own if isinstance(n, ast.Yield)]


def places(syntax: Syntax, function: Function) -> list[int]:
    """The places in what a generator function yields that are one more with each yield, from the first to the last: the
    variable of its only loop over a `range`, or of `enumerate`, or what goes on by one beside the yield and begins before all
    loops."""
    yields = [n for n in walk(function) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    given = yields[0].value if len(yields) == 1 else None
    if not isinstance(given, ast.Tuple) or not isinstance(yields[0], ast.Yield):
        return []
    loops = syntax.loops(yields[0])
    if not loops or syntax.parent.get(syntax.statement(yields[0])) is not loops[0]:
        return []
    return [
        i
        for i, e in enumerate(given.elts)
        if isinstance(e, ast.Name) and _is_counted(syntax, function, loops, e.id)
    ]


def _is_counted(syntax: Syntax, function: Function, loops: Sequence[Loop], name: str) -> bool:
    stores = [
        n
        for n in walk(function)
        if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
    ]
    inner = loops[0]
    if (
        len(loops) == 1
        and len(stores) == 1
        and isinstance(inner, ast.For)
        and isinstance(inner.iter, ast.Call)
    ):
        target, called = inner.target, inner.iter.func
        by = called.id if isinstance(called, ast.Name) and len(inner.iter.args) < 3 else ""
        last = called.attr if isinstance(called, ast.Attribute) else by
        endless = last == "count" and len(inner.iter.args) < 2 and not inner.iter.keywords  # of itertools
        is_range = target is stores[0] and (by == "range" or endless)
        numbered = isinstance(target, ast.Tuple) and target.elts[0] is stores[0] and by == "enumerate"
        return (is_range or numbered) and not any(isinstance(n, ast.Continue) for n in walk(inner))
    set_by, given = [syntax.statement(n) for n in stores], {a.arg for a in function.args.args}
    counted = [p for p in set_by if isinstance(p, ast.AugAssign)]
    begun = [p for p in set_by if p not in counted]
    return (
        len(counted) == 1
        and len(begun) + (name in given) == 1
        and isinstance(counted[0].op, ast.Add)
        and isinstance(counted[0].value, ast.Constant)
        and counted[0].value.value == 1
        and syntax.parent.get(counted[0]) is inner
        and not any(syntax.loops(p) for p in begun)
        and not any(isinstance(n, ast.Continue) for n in walk(inner))
    )


__all__ = ["places", "yields_of"]
