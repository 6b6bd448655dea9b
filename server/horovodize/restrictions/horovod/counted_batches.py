"""What trains on batches that are counted, and whether they end (HVD323)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.interleaving.waits import Waits
from horovodize.python.syntax import argument, has_unpacking, says_none
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.counts_of_turns import own
from horovodize.summary import LoopKind
from horovodize.summary.graph_iterators import GraphIterators

_BOUNDING = ("take", "islice", "repeat", "cycle")
_FITS = ("fit", "fit_generator")
_LEAVING = (ast.Break, ast.Return, ast.Raise)
_LIMIT = 300


def counted(context: Context) -> Iterator[tuple[ast.Call, ast.expr, Iterable[object]]]:
    """What trains with other ranks, what it goes through, and why it may take other numbers of steps on them."""
    together, uniform = context.facts.collectives.all, context.facts.uniform
    for fit in context.sites.fits:
        data = argument(fit.call, "x", 0) or argument(fit.call, "generator")
        steps = argument(fit.call, "steps_per_epoch", 1 if fit.method == "fit_generator" else None)
        if fit.call in together and fit.method == "train_on_batch":
            yield from _gone_through(context, fit.call)
        if fit.call not in together or fit.method not in _FITS or has_unpacking(fit.call):
            continue
        if steps is not None:
            yield fit.call, steps, uniform.reasons(steps)
        elif data is not None and not _is_bounded(context, data):
            yield fit.call, data, [*uniform.number_reasons(data), *_of_sequence(context, data)]
    yield from _of_estimators(context)
    sometimes = Waits(context.facts).sometimes if context.facts.horovod.wrapped else {}
    for training in context.loops if context.facts.horovod.wrapped else ():
        if training.kind is LoopKind.SESSION and (training.node in together or training.node in sometimes):
            yield from _gone_through(context, training.node)
    yield from _of_graphs(context)
    averages = context.facts.horovod.calls(*TAPES) or any(c.trains for c in together.values())
    for update in context.sites.updates if averages else ():
        if update.step_of is None:
            yield from _gone_through(context, update.call)


def _of_estimators(context: Context) -> Iterator[tuple[ast.Call, ast.expr, Iterable[object]]]:
    """The same of Estimators that train until their rows end."""
    estimators, uniform = context.sites.read_estimators, context.facts.uniform
    for trained in estimators.trainings if context.facts.horovod.wrapped else ():
        inputs = estimators.inputs(trained, context.facts.feeding.kinds.pipelines)
        ends = trained.steps is None and trained.max_steps is None and not has_unpacking(trained.said)
        given = inputs[0].datasets if ends and len(inputs) == 1 else ()
        for data in given if len(given) == 1 else ():
            if not any(
                isinstance(n, ast.Call) and (context.names.last(n.func) == "take" or _is_endless(context, n))
                for n in context.values.depends([data], _LIMIT)
            ):
                yield trained.call, data, uniform.number_reasons(data)


def _of_graphs(context: Context) -> Iterator[tuple[ast.Call, ast.expr, Iterable[object]]]:
    """The same of sessions that train until the rows end which the graph reads."""
    monitored = [loop for loop in context.loops if loop.kind is LoopKind.MONITORED_SESSION]
    if len(monitored) != 1 or not context.facts.horovod.wrapped:
        return
    for data in GraphIterators(context.module, context.sites, context.drive).trained_on:
        calls = [n for n in context.values.depends([data], _LIMIT) if isinstance(n, ast.Call)]
        if not any(context.names.last(c.func) == "take" or _is_endless(context, c) for c in calls):
            yield monitored[0].node, data, context.facts.uniform.number_reasons(data)


def _is_endless(context: Context, call: ast.Call) -> bool:
    """`rows.repeat()`"""
    count = argument(call, "count", 0)
    return context.names.last(call.func) == "repeat" and (count is None or says_none(count))


def _gone_through(context: Context, site: ast.Call) -> Iterator[tuple[ast.Call, ast.expr, Iterable[object]]]:
    """The data that the innermost loop around a step goes through to its end."""
    ways = context.ways(site)
    innermost = {next((f.loops[0] for f in way if f.loops), None) for way in ways} - {None}
    loop = innermost.pop() if len(innermost) == 1 else None
    if isinstance(loop, ast.For) and not any(isinstance(n, _LEAVING) for n in own(loop)):
        if not _is_bounded(context, loop.iter):
            found = [*context.facts.uniform.number_reasons(loop.iter), *_of_sequence(context, loop.iter)]
            yield site, loop.iter, found


def _of_sequence(context: Context, data: ast.expr) -> Iterator[object]:
    """The same of the length of a Sequence of the script's own."""
    for made in context.values.calls(data):
        if isinstance(owner := context.values.callee(made), ast.ClassDef):
            for method in context.values.definitions.methods_of("__len__", frozenset([owner])):
                for length in context.values.returned(method):
                    yield from context.facts.uniform.reasons(length)


def _is_bounded(context: Context, data: ast.expr) -> bool:
    """Whether a number is given of how much of the data is taken."""
    calls = (n for n in context.values.depends([data], _LIMIT) if isinstance(n, ast.Call))
    return any(context.names.last(call.func) in _BOUNDING for call in calls)
