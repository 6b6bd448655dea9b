"""Batches that a graph's training loop draws to measure by: all ranks draw, and measure, the same. Part of G4 and S5."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft


def only_measures(draft: Draft, call: ast.Call) -> bool:
    """Whether all that is seen to be done with a batch is that sessions are fed it which train nothing: `sess.run(accuracy, {x:
    rows})` of `rows = data.next_batch(9, "test")`."""
    graph = draft.sites.graph
    trained = {run.call for run in graph.trainings}
    statement = draft.syntax.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    if any(not isinstance(n, (ast.Name, ast.Tuple, ast.expr_context)) for t in targets for n in ast.walk(t)):
        return False
    uses: list[ast.AST] = [
        n
        for n in draft.syntax.every(ast.Name)
        if n.id in names
        and isinstance(n.ctx, ast.Load)
        and any(b.statement is statement for b in draft.module.scopes.reaching(n))
    ]
    runs = [
        next((a for a in draft.syntax.ancestors(n) if a in graph.all_runs), None)
        for n in (uses if targets else [call])
    ]
    return bool(runs) and all(run is not None and run not in trained for run in runs)


__all__ = ["only_measures"]
