"""What is left over when rows are divided by the ranks, `rows % hvd.size()`: the first ranks take one more each."""

from __future__ import annotations

import ast

from horovodize.facts.facts import Facts

_SIZES = ("size", "local_size")


def is_left_over(facts: Facts, e: ast.expr) -> bool:
    """Whether a number is surely a remainder of a division by the number of ranks: `rows % hvd.size()`, or the second part of
    `divmod(rows, hvd.size())`, also by a name."""
    found = facts.module.values.origins(e)
    if len(found) != 1:
        return False
    made, path = found[0].node, found[0].path
    match made:
        case ast.BinOp(op=ast.Mod(), right=divisor):
            return not path and _is_size(facts, divisor)
        case ast.Call(func=ast.Name(id="divmod"), args=[_, divisor]):
            return list(path) == [1] and _is_size(facts, divisor)
    return False


def _is_size(facts: Facts, e: ast.expr) -> bool:
    made = facts.module.values.origins(e)
    return bool(made) and all(not o.path and facts.horovod.is_call(o.node, *_SIZES) for o in made)
