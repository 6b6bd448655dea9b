"""Functions by which a call takes a rank's part, where the call hands them on: `rows(frame, share=shard_dataset)`, beside
`rows(frame)`, which takes all."""

from __future__ import annotations

import ast

from horovodize.facts.facts import Facts
from horovodize.python.syntax import FUNCTIONS

_BEHIND = 400


def is_handed_elsewhere(facts: Facts, place: ast.AST, e: ast.expr) -> bool:
    """Whether a place is in a function that calls are given by its name, none of which makes a value."""
    module = facts.module
    function = module.syntax.function(place)
    if not isinstance(function, FUNCTIONS):
        return False
    loads = [n for n in module.loads.get(function.name) if isinstance(n, ast.Name)]
    handing = [_handing(facts, n) for n in loads]
    if not loads or None in handing:
        return False
    return not any(n in handing for n in module.values.depends([e], _BEHIND))


def _handing(facts: Facts, name: ast.Name) -> ast.Call | None:
    """The call of a function of the program's own that is given what a name stands for."""
    around = facts.module.syntax.parent[name]
    call = facts.module.syntax.parent[around] if isinstance(around, ast.keyword) else around
    if not isinstance(call, ast.Call) or call.func is name:
        return None
    return call if isinstance(facts.module.values.callee(call), FUNCTIONS) else None
