"""Numbers that steps are compared with, `if step < args.warmup:`, which may be 0: part of G5.

A share of steps is at least one, or few steps would be none. Of none it is none: a warm-up that is turned off has no step on
any number of ranks, one among them, and a run that doesn't go on leaves none out.

`step < args.warmup`              → `step < min(args.warmup, max(1, args.warmup // hvd.size()))`
`range(args.first)`, by default 0 → `range(min(args.first, max(1, args.first // hvd.size())))`
"""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit

_FAR = 6
_COUNTS = ("len", "cardinality", "count_nonzero", "cpu_count")
_ROUNDED = ("int", "ceil", "math.ceil", "round", "float", "abs")


def bound_over_ranks(draft: Draft, bound: ast.expr, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits that make `max(1, n // hvd.size())` of `n`; of what may be 0 or below, never more than it is."""
    is_share = len(edits) == 2 and edits[0].new_text.startswith("max(1, ")
    if not is_share or isinstance(draft.syntax.parent.get(bound), ast.BinOp):
        return edits  # `n - 1` is the last of some
    if is_some(draft, bound) or _is_asked(draft, bound):
        return edits
    before, after = kept(draft, bound)
    return Edit.around(draft.module.span(bound), before + edits[0].new_text, edits[1].new_text + after)


def kept(draft: Draft, number: ast.expr) -> tuple[str, str]:
    """What stands around a share of a number that is never more than it is."""
    return f"min({draft.module.text(number)}, ", ")"


def is_none_by_default(draft: Draft, number: ast.expr) -> bool:
    """Whether a number is 0, or below, unless the program is given another: `add_argument("--first", type=int, default=0)`."""
    for o in draft.values.origins(number):
        is_setting = isinstance(o.node, ast.Attribute) and draft.names.of(o.node) is None
        value = draft.facts.uniform.draws.default_of(o.node.attr) if is_setting else o.node  # type: ignore[attr-defined]
        if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            value = ast.Constant(0)
        if isinstance(value, ast.Constant) and type(value.value) is int and value.value <= 0:
            return True
    return False


def _is_asked(draft: Draft, bound: ast.expr) -> bool:
    """Whether it is asked before whether there is such a number at all: `args.steps > 0 and step >= args.steps`."""
    child: ast.AST = bound
    for a in draft.syntax.ancestors(bound):
        if isinstance(a, ast.BoolOp) and isinstance(a.op, ast.And):
            before = a.values[: a.values.index(child)]  # type: ignore[arg-type]
            text = ast.unparse(bound)
            if any(ast.unparse(n) == text for v in before for n in ast.walk(v) if isinstance(n, ast.expr)):
                return True
        elif not isinstance(a, (ast.Compare, ast.UnaryOp)):
            return False
        child = a
    return False


def is_some(draft: Draft, number: ast.expr, far: int = _FAR) -> bool:
    """Whether a number is seen to be above 0: one that is written so, the number of some rows, or what is made of such."""
    made = list(draft.values.origins(number))
    return (
        far > 0 and bool(made) and all(not o.path and _is_made_of_some(draft, o.node, far - 1) for o in made)
    )


def _is_made_of_some(draft: Draft, e: ast.AST, far: int) -> bool:
    match e:
        case ast.Constant(value=int() | float() as value):
            return not isinstance(value, bool) and value > 0
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add() | ast.Div() | ast.FloorDiv(), right=right):
            return is_some(draft, left, far) and is_some(draft, right, far)
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Call(func=func, args=args):
            name = draft.names.last(func)
            if name == "max":
                return any(is_some(draft, a, far) for a in args)
            return name in _COUNTS or (name in _ROUNDED and len(args) == 1 and is_some(draft, args[0], far))
        case _:
            return False


__all__ = ["bound_over_ranks", "is_none_by_default", "is_some", "kept"]
