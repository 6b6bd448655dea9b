"""What a call hands to a function to fetch: `model.run([model.loss], rows)` of a method that trains where it is handed a train
op, `def run(self, fetches, rows): return self.session.run(fetches, …)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.flags import Level
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS
from horovodize.summary.graph import Graph


def fetches_no_training(module: Module, graph: Graph, levels: Sequence[Level]) -> bool:
    """Whether a run in a session trains, but not by a call of its function, which hands it other operations.

    levels: the run's, and those of the calls, innermost first"""
    run = levels[0].node
    if not isinstance(run, ast.Call) or not any(run is t.call for t in graph.trainings):
        return False
    fetched = graph.fetches(run)
    if not graph.fetches_training(fetched):  # known by its name only
        return False
    handed = [_handed(module, e, levels) for e in _each(fetched)]
    return all(e is not None and not graph.fetches_training(e) and _is_seen(module, graph, e) for e in handed)


def _is_seen(module: Module, graph: Graph, fetched: ast.expr) -> bool:
    """Whether it can be seen what is fetched: not where an argument, or a function of another file, gives it."""
    for e in graph.operations(fetched):
        if isinstance(e, (ast.Name, ast.Attribute)):
            return False
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Name):
            known = (module.names.of(e.func) or "").startswith("tensorflow.")
            if not known and module.values.callee(e) is None:
                return False
    return True


def _each(fetched: ast.expr) -> list[ast.expr]:
    return fetched.elts if isinstance(fetched, (ast.List, ast.Tuple)) else [fetched]


def _handed(module: Module, e: ast.expr, levels: Sequence[Level]) -> ast.expr | None:
    """What the calls hand over for a parameter; other expressions as they stand, and None where it can't be seen."""
    if not isinstance(e, ast.Name) or not levels:
        return e
    _, function, call = levels[0]
    bound = module.scopes.reaching(e)
    if not any(b.kind == "parameter" for b in bound):
        return e
    if not isinstance(function, FUNCTIONS) or len(bound) != 1 or bound[0].statement is not function:
        return None
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    given = module.values.graph.given(call, function, e.id)
    return _handed(module, given, levels[1:]) if given is not None else None
