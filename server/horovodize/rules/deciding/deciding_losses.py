"""The loss of a step by which ranks decide at once: part of G4 and S5.

`if loss < 0.1: break`, or `continue`, in the loop that takes the steps. The loss of the batch of all ranks is the mean of
theirs, so that decides; where any rank could decide for all, the one with the easiest batch would, and the more of them there
are the sooner. Only a loss that is a mean over its rows, and is trained there: what else is measured by a batch (a largest
error, whether something is finite) isn't seen to be one."""

from __future__ import annotations

import ast

from horovodize.facts.feeds.over_rows import Over
from horovodize.rules.drafting.draft import Draft

_MEANS = ("tensorflow.reduce_mean", "tensorflow.math.reduce_mean", "numpy.mean")


def is_trained(draft: Draft, e: ast.expr) -> bool:
    """Whether a number is the loss of a step, a mean over the rows of its batch; before the first step, a number."""
    trained = set[ast.AST]()
    for site in _sites(draft):
        if Over.MEAN in (draft.facts.batches.of(site).over, draft.facts.steps.of(site).over):
            losses = draft.facts.steps.losses_of(site)
            trained |= {o.node for loss in losses for o in draft.values.origins(loss) if not o.path}
    run = draft.facts.counters.fetched.run_of(e)
    given = _made_of(draft, run[1] if run is not None else e, trained)
    measured = [n for n in given if not isinstance(n, ast.Constant)]
    return bool(measured) and trained.issuperset(measured)


def _made_of(draft: Draft, e: ast.expr, losses: set[ast.AST], depth: int = 3) -> list[ast.AST]:
    """Where a number comes from, also by `float(loss)`, `loss.numpy()` and `tf.reduce_mean(loss)`."""
    found = list[ast.AST]()
    for o in draft.values.origins(e):
        inner = _inner(draft, o.node) if depth and o.node not in losses else None
        found += _made_of(draft, inner, losses, depth - 1) if inner is not None else [o.node]
    return found


def _inner(draft: Draft, made: ast.AST) -> ast.expr | None:
    match made:
        case ast.Call(func=ast.Name(id="float"), args=[inner]):
            return inner
        case ast.Call(func=ast.Attribute(value=inner, attr="numpy" | "item"), args=[]):
            return inner
        case ast.Call(func=func, args=[inner]) if draft.names.of(func) in _MEANS:
            return inner
    return None


def _sites(draft: Draft) -> list[ast.Call]:
    updates = [u.call for u in draft.sites.updates if u.step_of is None]
    return [*updates, *(run.call for run in draft.sites.graph.trainings)]


__all__ = ["is_trained"]
