"""Averages that a function takes of a sum over the steps of a divided loop: `self.show(epoch, total, steps)`, which divides the
one by the other. Part of G4, G5 and S5."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from horovodize.rules.draft import Draft
from horovodize.summary.syntax import position


def divisors(
    draft: Draft, loop: ast.stmt, sums: set[str], is_count: Callable[[ast.expr], bool]
) -> Iterator[ast.expr]:
    """The numbers of steps that functions are told after a loop, together with a sum over it, and do nothing with but divide
    that by them."""
    function = draft.syntax.function(loop)
    for call in draft.syntax.calls:
        after = position(call) > position(loop) and not draft.syntax.inside(call, loop)
        callee = draft.values.callee(call) if after and draft.syntax.function(call) is function else None
        if not isinstance(callee, ast.FunctionDef):
            continue
        given = _given(draft, call, callee)
        told = {name for name, e in given.items() if ast.unparse(e) in sums}
        for name, e in given.items() if told else ():
            if is_count(e) and _only_divides(callee, name, told):
                yield e


def _given(draft: Draft, call: ast.Call, callee: ast.FunctionDef) -> dict[str, ast.expr]:
    """What a call gives to the parameters of a function, but for a method's own object."""
    names = [a.arg for a in (*callee.args.posonlyargs, *callee.args.args)]
    bound = isinstance(call.func, ast.Attribute) and draft.syntax.method_class(callee) is not None
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in callee.decorator_list)
    if any(isinstance(a, ast.Starred) for a in call.args):
        return {}
    positional = dict(zip(names[1 if bound and not static else 0 :], call.args, strict=False))
    return positional | {k.arg: k.value for k in call.keywords if k.arg is not None}


def _only_divides(callee: ast.FunctionDef, name: str, told: set[str]) -> bool:
    """Whether all that a function does with a parameter is to divide by it what it is told beside."""
    by = [n for n in ast.walk(callee) if isinstance(n, ast.Name) and n.id == name]
    ratios = [n for n in ast.walk(callee) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    divided = [n for n in ratios if any(isinstance(m, ast.Name) and m.id in told for m in ast.walk(n.left))]
    return bool(by) and all(any(n is _number(d.right) for d in divided) for n in by)


def _number(e: ast.expr) -> ast.expr:
    """`n` of `float(n)`."""
    is_made = isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "float"
    return e.args[0] if isinstance(e, ast.Call) and is_made and len(e.args) == 1 else e
