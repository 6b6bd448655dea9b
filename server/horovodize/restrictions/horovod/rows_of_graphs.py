"""Which data is trained on by way of iterators or functions: in sessions, Estimators, `next(batches)` (HVD320, HVD321)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Uniform
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, argument, has_unpacking
from horovodize.restrictions.context import Context
from horovodize.summary import LoopKind

_ITERATORS = ("make_one_shot_iterator", "make_initializable_iterator")


def fed_to_graphs(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """What trains, and its data: Estimators, and sessions where only one data set is gone through for that."""
    if not context.sites.graph_minimizes:
        return
    feeding, estimators = context.facts.feeding, context.sites.read_estimators
    for training in estimators.trainings:
        inputs = estimators.inputs(training, feeding.kinds.pipelines)
        # What a function of the script gives is made in there, and that is among them.
        given = [d for i in inputs for d in i.datasets if not _is_given_by_function(context, d)]
        if len(inputs) == 1 and len(given) == 1:
            yield training.call, given[0]
    taken = feeding.graph_iterators.trained_on
    sessions = [loop for loop in context.loops if loop.kind in (LoopKind.SESSION, LoopKind.MONITORED_SESSION)]
    if len(taken) == 1 and sessions and isinstance(sessions[0].node, ast.Call):
        yield sessions[0].node, taken[0]


def _is_given_by_function(context: Context, data: ast.expr) -> bool:
    return isinstance(data, ast.Call) and isinstance(context.values.callee(data), FUNCTIONS)


def is_held_alike(context: Context, b: Binding) -> bool:
    """Whether a parameter is the same on every rank by what `functools.partial(input_fn, files)` holds ready for it."""
    function = b.statement
    held = [
        call
        for call in context.module.calls_of("functools.partial")
        if call.args and any(o.node is function for o in context.values.origins(call.args[0]))
    ]
    if not isinstance(function, FUNCTIONS) or not held or context.syntax.method_class(function) is not None:
        return False
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    given = [argument(call, b.name, names.index(b.name) + 1 if b.name in names else None) for call in held]
    return all(
        e is not None and isinstance(context.facts.uniform.of(e), Uniform) and not has_unpacking(call)
        for e, call in zip(given, held, strict=True)
    )


def asked_of(context: Context, batch: ast.AST) -> Iterator[ast.expr]:
    """The data sets of the iterators that a batch is asked of: `next(batches)`, `iterator.get_next()`."""
    for call in (n for n in ast.walk(batch) if isinstance(n, ast.Call)):
        of = (
            call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "get_next" else None
        )
        if context.is_builtin(call.func, "next") and call.args:
            of = call.args[0]
        for made in context.values.calls(of) if of is not None else ():
            if made.args and (
                context.is_builtin(made.func, "iter") or context.names.last(made.func) in _ITERATORS
            ):
                yield made.args[0]
            elif context.facts.feeding.kinds.pipelines.is_dataset(made):
                yield made  # what a function gives that made it: `batches = iter(read("train"))`


def is_mixed_in_place(context: Context, nodes: list[ast.AST]) -> bool:
    """Whether rows among these are put into an order that a rank may draw for itself, in their own place: `shuffle(names)`."""
    texts = {context.text(n) for n in nodes if isinstance(n, (ast.Name, ast.Attribute))}
    draws = context.facts.uniform.draws
    for call in (c for c in context.syntax.calls if context.names.last(c.func) == "shuffle"):
        if len(call.args) != 1 or call.keywords or context.text(call.args[0]) not in texts:
            continue
        name = context.names.of(call.func) or ""
        if name:
            if not draws.is_fixed(call, name):
                return True
        elif isinstance(call.func, ast.Attribute):
            made = context.values.calls(call.func.value)
            if not made or not all(len(c.args) == 1 and isinstance(c.args[0], ast.Constant) for c in made):
                return True
    return False
