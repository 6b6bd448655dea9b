"""Which calls of collectives meet: those of one name, and for which ranks one waits."""

from __future__ import annotations

import ast

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.facts import Facts
from horovodize.python.syntax import argument

_DEPTH = 10  # process sets that one is made of


def members_of(facts: Facts, e: ast.expr, depth: int = 0) -> frozenset[int] | None:
    """The ranks of a process set; None where they aren't written out."""
    origins = facts.module.values.origins(e)
    call = origins[0].call if len(origins) == 1 and not origins[0].path else None
    if call is None or depth > _DEPTH or not facts.horovod.is_call(call, "ProcessSet", "add_process_set"):
        return None
    ranks = argument(call, "ranks_or_comm", 0) or argument(call, "process_set", 0)
    if isinstance(ranks, (ast.List, ast.Tuple)):
        numbers = [r.value for r in ranks.elts if isinstance(r, ast.Constant) and isinstance(r.value, int)]
        return frozenset(numbers) if len(numbers) == len(ranks.elts) else None
    return members_of(facts, ranks, depth + 1) if ranks is not None else None


def named(call: ast.Call, name: str) -> str:
    """What a collective is called, with the name that it is given."""
    match argument(call, "name"):
        case ast.Constant(value=str() as given):
            return f"{name} {given}"
    sent = argument(call, "variables", 0) if name == "broadcast_variables" else None
    of = sent.func if isinstance(sent, ast.Call) else sent
    if isinstance(of, ast.Attribute) and of.attr in OF_MODEL:
        return f"{name} {ast.unparse(of)}"  # those of a model and those of an optimizer are of other shapes
    return name
