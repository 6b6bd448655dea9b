"""Models that each rank chooses by its own rows, and goes on to train (a part of HVD333).

best = min(models, key=lambda model: model.evaluate(rows, numbers))  # of the rows of this rank
best.fit(rows, numbers)"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.sources import AGREEING
from horovodize.interleaving import OwnAnswers
from horovodize.interleaving.changes import Changes
from horovodize.python.syntax import CALLABLES, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.sent_weights import trained_models

_MEASURING = ("evaluate", "test_on_batch", "predict", "predict_on_batch")
_CHOOSING = ("min", "max", "sorted")
_SENDS = ("broadcast_variables", "broadcast_global_variables", "broadcast_object")
_FAR = 300  # nodes that a choice is made of


def own_choices(context: Context, answers: OwnAnswers) -> Iterator[tuple[ast.expr, ast.Call]]:
    """The choices, and what trains the model that was chosen."""
    told = set[ast.AST]()
    for call, model in _trained(context):
        choice = _choice(context, model)
        if choice is None or choice in told or not _goes_by_own_rows(context, answers, choice):
            continue
        if not any(position(send) > position(choice) for send in context.facts.horovod.calls(*_SENDS)):
            told.add(choice)
            yield choice, call


def _trained(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """What trains a model, without rank 0's weights being sent first; and the model."""
    changes = Changes(context.facts)
    for fit in context.sites.fits:
        if not changes.equals(fit.call):
            yield fit.call, fit.model
    for update in context.sites.updates:
        yield from ((update.call, model) for model in trained_models(context, update))


def _choice(context: Context, model: ast.expr) -> ast.expr | None:
    """What decides which of several models this is: `min(models, key=…)`, or the place in a list, `models[best]`."""
    bound = context.scopes.reaching(model) if isinstance(model, ast.Name) else []
    if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path and bound[0].value is not None:
        model = bound[0].value
    inner = model.value if isinstance(model, ast.Subscript) else model
    if isinstance(inner, ast.Call) and context.is_builtin(inner.func, *_CHOOSING):
        return inner
    chosen = isinstance(model, ast.Subscript) and not isinstance(
        model.slice, (ast.Constant, ast.UnaryOp, ast.Slice)
    )
    return model.slice if isinstance(model, ast.Subscript) and chosen else None


def _goes_by_own_rows(context: Context, answers: OwnAnswers, choice: ast.expr) -> bool:
    """Whether a choice is made of what models say of the rows that this rank takes by its number, and of no average."""
    given: list[ast.AST] = [choice]
    if isinstance(choice, ast.Call) and context.is_builtin(choice.func, *_CHOOSING):
        keys = [o.node for k in choice.keywords if k.arg == "key" for o in context.values.origins(k.value)]
        functions = [f for f in keys if isinstance(f, CALLABLES)]
        given = [
            e
            for f in functions
            for e in ([f.body] if isinstance(f, ast.Lambda) else context.values.returned(f))
        ]
    behind = [n for e in given for n in context.values.depends([e], _FAR)]
    if any(context.facts.horovod.is_call(n, *AGREEING) for n in behind):
        return False
    measured = [
        n
        for n in behind
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in _MEASURING
    ]
    return any(answers.is_taken_by_rank(e) or _is_of_rank(context, e) for n in measured for e in n.args)


def _is_of_rank(context: Context, rows: ast.expr) -> bool:
    return context.facts.horovod.depends_on(rows, "rank", "local_rank", limit=_FAR)


__all__ = ["own_choices"]
