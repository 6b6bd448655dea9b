"""Which optimizer a fit trains with, and whether Keras 3 asks it at all (a part of HVD304)."""

from __future__ import annotations

import ast

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.plain_optimizers import wrappers_of
from horovodize.summary.site_kinds import Fit


def by_strategy(context: Context, compiled: ast.Call) -> bool:
    """Whether a model is compiled for TensorFlow's own strategy, which averages: `with strategy.scope():`."""
    return any(
        isinstance(item.context_expr, ast.Call) and context.names.last(item.context_expr.func) == "scope"
        for a in context.syntax.ancestors(compiled)
        if isinstance(a, ast.With)
        for item in a.items
    )


def is_ignored(context: Context, fit: Fit, optimizers: list[ast.expr]) -> bool:
    """Whether Horovod's wrapper is around an optimizer that Keras' own step uses, not one of the script's with a tape."""
    use, wrapped = context.facts.horovod, (wrappers_of(context, e) for e in optimizers)
    own = context.sites.own_step(fit.model) is not None
    return not own and use.runs(fit.call) and any(any(w or ()) for w in wrapped)


def stops_by_keras(context: Context) -> bool:
    """Whether a script raises an error by a test of Keras, as those do that are distributed where Keras isn't known."""
    for node in context.syntax.every(ast.If, ast.Assert):
        stops = isinstance(node, ast.Assert) or (
            isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
        )
        if not isinstance(node, (ast.If, ast.Assert)) or not stops:
            continue
        names = (
            context.names.of(e) or "" for e in ast.walk(node.test) if isinstance(e, ast.Name | ast.Attribute)
        )
        if any(f"{name}.".startswith(("keras.", "tensorflow.keras.")) for name in names):
            return True
    return False


def is_same(context: Context, compiled: ast.expr, fitted: ast.expr) -> bool:
    return context.text(compiled) == context.text(fitted) or bool(
        set(context.values.calls(compiled)) & set(context.values.calls(fitted))
    )


def is_elsewhere(context: Context, fit: Fit) -> bool:
    """Whether a model is another than is compiled here, or some ranks alone fit it. One that is loaded where a run resumes is
    the other in a run that begins."""
    made = context.values.calls(fit.model)
    loaded = bool(made) and all(context.facts.horovod.is_call(c, "load_model") for c in made)
    if not context.facts.horovod.on_ranks(
        fit.call
    ):  # it trains alone, beside a function that Spark runs on ranks
        return True
    return loaded or context.facts.rank_tests.may_be_guarded(fit.call)
