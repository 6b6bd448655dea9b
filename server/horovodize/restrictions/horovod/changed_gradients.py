"""What each rank does by itself to gradients that are averaged already, so that ranks apply others (a part of HVD333).

    gradients = tape.gradient(loss, model.trainable_variables)  # of a `hvd.DistributedGradientTape`
    gradients = [g + tf.random.normal(g.shape) for g in gradients]

In a graph also the op that applies them by a test of each rank, `tf.cond(loss < 2.0, …)`: what a session runs isn't gone
through op by op elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.sources import AGREEING
from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.interleaving import OwnAnswers
from horovodize.interleaving.applied_steps import AppliedSteps
from horovodize.interleaving.graph_seeds import seeds_alike
from horovodize.interleaving.waits import Waits
from horovodize.python.syntax import CALLABLES, argument
from horovodize.restrictions.context import Context

_FAR = 400  # nodes between what is applied and what averages
_AVERAGING = ("gradient", "gradients", "jacobian", "compute_gradients", "get_gradients")
_OF_MODEL = ("trainable_variables", "trainable_weights", "variables", "weights", "shape", "dtype", "device")
_CONDITIONS = ("tensorflow.cond", "tensorflow.compat.v1.cond")


def changed_gradients(context: Context, answers: OwnAnswers) -> Iterator[ast.expr]:
    """The draws of a rank, and its losses, by which it changes what it applies; one of each place that applies."""
    told = set[ast.AST]()
    for call in _applying(context):
        pairs = argument(call, "grads_and_vars", 0) or argument(call, "grads", 0)
        for node in _behind(context, pairs) if pairs is not None else ():
            if _is_own(context, answers, node):
                if node not in told:
                    told.add(node)
                    yield node
                break


def own_conditions(context: Context, answers: OwnAnswers) -> Iterator[tuple[ast.expr, ast.Call]]:
    """The tests of a rank's own loss by which a graph applies gradients that are averaged outside of it, and what applies."""
    computing = context.sites.method_calls("compute_gradients")
    for call in context.module.calls_of(*_CONDITIONS) if context.sites.builds_graph else ():
        test = argument(call, "pred", 0)
        if test is None or not answers.is_own_loss(test):
            continue
        for applied in _applying(context):
            given = [*call.args[1:], *(k.value for k in call.keywords if k.arg in ("true_fn", "false_fn"))]
            arms = [o.node for e in given for o in context.values.origins(e)]
            inside = next(
                (a for a in arms if isinstance(a, CALLABLES) and context.syntax.inside(applied, a)), None
            )
            if inside is not None and not any(context.syntax.inside(c, inside) for c in computing):
                yield test, applied


def _applying(context: Context) -> list[ast.Call]:
    """The calls that surely apply gradients which were averaged before."""
    if not context.sites.builds_graph:
        applied = AppliedSteps(context.facts, Waits(context.facts)).all
        return [call for call in context.syntax.calls if call in applied]
    return [
        call
        for call in context.sites.graph_minimizes
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "apply_gradients"
        and context.facts.collectives.averages(call)
    ]


def _behind(context: Context, pairs: ast.expr) -> Iterator[ast.expr]:
    """What is computed between what averages gradients and what applies them: neither variables nor models."""
    values, flow = context.values, context.sites.flow
    todo, seen = list[ast.AST]([pairs]), set[ast.AST]()
    while todo and len(seen) < _FAR:
        n = todo.pop(0)
        if n in seen or (isinstance(n, ast.Call) and _ends(context, n)):
            continue
        seen.add(n)
        if isinstance(n, ast.expr):
            yield n
        match n:
            case ast.Call():
                callee = values.callee(n)
                if isinstance(callee, CALLABLES):
                    todo += values.returned(callee)
                elif context.is_builtin(n.func, "zip") and n.args:
                    todo += n.args[:1]  # the variables are the others
                else:
                    todo += [*n.args, *(k.value for k in n.keywords)]
            case ast.Name(ctx=ast.Load()):
                for b in context.scopes.reaching(n):
                    if b.kind == "parameter":
                        todo += values.passed(b)
                    elif b.kind == "item" and b.path and b.value is not None:
                        todo += _items(context, b.value, b.path)
                    elif b.kind in ("assign", "augment", "item", "put") and b.value is not None:
                        todo += flow.parts(b.value, b.path) if b.kind == "assign" else [b.value]
                todo += [*flow.appended(n), *flow.elements.values(n)]
            case ast.IfExp():  # `g if g is None else hvd.allreduce(g)`
                todo += [n.body, n.orelse]
            case ast.ListComp() | ast.GeneratorExp():  # what it goes through, by the names in there
                todo.append(n.elt)
            case ast.Subscript():  # a part: what else is beside it doesn't count
                todo += [o.node for o in values.origins(n) if o.node is not n]
            case ast.Attribute():
                if n.attr not in _OF_MODEL:
                    todo += [b.value for b in values.attribute_bindings(n) if b.value is not None]
                    todo += flow.appended(n)
            case _:
                todo += [c for c in ast.iter_child_nodes(n) if not isinstance(c, ast.stmt)]


def _items(context: Context, listed: ast.expr, path: tuple[int, ...]) -> list[ast.AST]:
    """What a loop gives under one of its names, `for gradient, weight in zip(gradients, weights):`, and nothing beside it."""
    found = list[ast.AST]()
    for origin in (o.node for o in context.values.origins(listed)):
        parts: list[ast.expr] = []
        if isinstance(origin, ast.Call) and context.is_builtin(origin.func, "zip"):
            parts = origin.args
        elif isinstance(origin, (ast.ListComp, ast.GeneratorExp)) and isinstance(origin.elt, ast.Tuple):
            parts = origin.elt.elts
        if len(path) == 1 and isinstance(path[0], int) and 0 <= path[0] < len(parts):
            found.append(parts[path[0]])
    return found


def _ends(context: Context, call: ast.Call) -> bool:
    """Whether a call averages, or makes a model."""
    func, use = call.func, context.facts.horovod
    if isinstance(func, ast.Attribute) and func.attr in _AVERAGING:
        return True
    made = isinstance(context.values.callee(call), ast.ClassDef) or call in context.module.layers
    return made or use.is_call(call, *AGREEING, *TAPES)


def _is_own(context: Context, answers: OwnAnswers, e: ast.expr) -> bool:
    draws = context.facts.uniform.draws
    if isinstance(e, ast.Call) and draws.draws(e):
        name = context.names.of(e.func) or ""
        of_graph = context.sites.builds_graph and name.startswith("tensorflow.random.")  # drawn in each run
        return answers.is_drawn(e) or (
            of_graph and not draws.is_fixed(e, name) and not seeds_alike(context.facts)
        )
    return isinstance(e, (ast.Name, ast.Attribute)) and answers.is_loss(e)


__all__ = ["changed_gradients", "own_conditions"]
