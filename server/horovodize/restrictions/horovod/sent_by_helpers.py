"""What a helper of the script is given to send: `def send(*objects): for o in objects: hvd.broadcast_variables(o, root_rank=0)`
(a part of HVD306)."""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS
from horovodize.restrictions.context import Context

_DEPTH = 4


def handed(context: Context, e: ast.expr, depth: int = _DEPTH) -> list[ast.expr]:
    """What calls hand on under a parameter, or under the name by which a loop goes through several; the expression itself where
    it is no such name; none where a call isn't seen to pass something."""
    bound = context.scopes.reaching(e) if isinstance(e, ast.Name) else []
    if len(bound) != 1 or not depth:
        return [e]
    (b,) = bound
    found = list[ast.expr]()
    if b.kind == "parameter" and isinstance(b.statement, FUNCTIONS):
        if b.statement.args.vararg is b.anchor or b.statement.args.kwarg is b.anchor:
            return []
        found = context.values.passed(b)
    elif b.kind == "item" and not b.path and b.value is not None:
        found = _gone_through(context, b.value)
    else:
        return [e]
    return [each for f in found for each in handed(context, f, depth - 1)]


def _gone_through(context: Context, listed: ast.expr) -> list[ast.expr]:
    """The parts of what a loop goes through: written out, or given to a function one by one (`*objects`)."""
    if isinstance(listed, (ast.List, ast.Tuple)):
        return [] if any(isinstance(e, ast.Starred) for e in listed.elts) else listed.elts
    bound = context.scopes.reaching(listed) if isinstance(listed, ast.Name) else []
    function = bound[0].statement if len(bound) == 1 and bound[0].kind == "parameter" else None
    if not isinstance(function, FUNCTIONS) or bound[0].anchor is not function.args.vararg:
        return []
    if function.args.posonlyargs or function.args.args:
        return []  # only where all that is given without a name is in it
    given = [e for call in context.values.callers(function) for e in call.args]
    return [] if any(isinstance(e, ast.Starred) for e in given) else given


__all__ = ["handed"]
