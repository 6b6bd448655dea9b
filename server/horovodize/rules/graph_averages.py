"""Variables that an operation of a graph mixes with something else, `slow.assign(0.01 * live + 0.99 * slow)`: part of G7.

Which session runs it, and how often, is another matter; so it is said.
"""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft

_GOES_ON = (
    "this goes on from its last value, and each rank takes size() times fewer steps: where it comes with each step, the share "
    "that stays has to be raised to the power of the number of ranks"
)
_ASSIGN = ("tensorflow.assign", "tensorflow.compat.v1.assign")


def tell(draft: Draft) -> None:
    """Says of each such assignment that it goes on with the steps of a rank."""
    for call in (*draft.sites.method_calls("assign"), *draft.module.calls_of(*_ASSIGN)):
        value = _mixture(draft, call)
        if value is not None and draft.once("mixture", call):
            draft.note("G7", value, _GOES_ON)


def _mixture(draft: Draft, call: ast.Call) -> ast.expr | None:
    """What a variable is set to, where that is a sum of two products, one of them of the variable itself."""
    given = [*call.args]
    if isinstance(call.func, ast.Attribute) and draft.names.of(call.func) not in _ASSIGN:
        given = [call.func.value, *given]
    value = given[1] if len(given) > 1 else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    parts = [_factors(draft, e) for e in (value.left, value.right)]
    kept = ast.unparse(given[0])
    own = [part for part in parts if any(ast.unparse(e) == kept for e in part)]
    return value if all(parts) and len(own) == 1 else None


def _factors(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """Those of `a * b`, `tf.multiply(a, b)`; none of anything else."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult):
        return [e.left, e.right]
    is_product = isinstance(e, ast.Call) and draft.names.last(e.func) in ("multiply", "mul")
    return list(e.args) if is_product and isinstance(e, ast.Call) else []
