"""What says how many batches a rank trains on (HVD323)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.python.syntax import LOOPS, argument, has_unpacking
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.numbers_of_steps import of_loop
from horovodize.summary import LoopKind

_ON_BATCH = "train_on_batch"
_FITS = ("fit", "fit_generator")
_LIMIT = 300


def numbers(context: Context) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """What trains with other ranks, and the numbers that say for how long."""
    for fit in context.sites.fits:
        if fit.call in context.facts.collectives.all and fit.method in _FITS and not has_unpacking(fit.call):
            given = [argument(fit.call, name) for name in ("steps_per_epoch", "epochs", "initial_epoch")]
            data = argument(fit.call, "x", 0)
            yield (
                fit.call,
                [e for e in given if e is not None] + (_limits(context, data) if data is not None else []),
            )
        elif fit.call in context.facts.collectives.all and fit.method == _ON_BATCH:
            loops = dict.fromkeys(o for way in context.ways(fit.call) for frame in way for o in frame.loops)
            yield fit.call, [e for o in loops if isinstance(o, ast.For) for e in _limits(context, o.iter)]
    for training in context.sites.read_estimators.trainings if context.facts.horovod.wrapped else ():
        yield training.call, [e for e in (training.steps, training.max_steps) if e is not None]
    for hook in context.module.calls_called("StopAtStepHook") if context.facts.horovod.wrapped else ():
        if (context.names.of(hook.func) or "").endswith("train.StopAtStepHook"):
            yield hook, [*hook.args, *(k.value for k in hook.keywords)]
    if not context.facts.horovod.calls(*TAPES):
        return
    for update in context.sites.updates:
        ways = context.ways(update.call) if update.step_of is None else []
        loops = dict.fromkeys(loop for way in ways for frame in way for loop in frame.loops)
        yield (
            update.call,
            [e for loop in loops if isinstance(loop, ast.For) for e in _limits(context, loop.iter)],
        )


def ends_of_turns(context: Context) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """What trains with other ranks in a loop that ends when a count comes to a number, and those that are compared:
    `while step < steps:`, `if step == steps: break`."""
    places: list[tuple[ast.AST, ast.AST]] = [
        (u.call, u.call)
        for u in context.sites.updates
        if context.facts.horovod.calls(*TAPES) and u.step_of is None
    ]
    places += [
        (t.node, t.node)
        for t in (context.loops if context.facts.horovod.wrapped else ())
        if t.kind in (LoopKind.SESSION, LoopKind.MONITORED_SESSION)
    ]
    for site, node in places:
        loops = dict.fromkeys(loop for way in context.ways(node) for frame in way for loop in frame.loops)
        tests = [loop.test for loop in loops if isinstance(loop, ast.While)]
        tests += [test for loop in loops if isinstance(loop, LOOPS) for test in _breaking(loop)]
        yield (
            site,
            [
                e
                for t in tests
                if isinstance(t, ast.Compare) and len(t.ops) == 1
                for e in (t.left, t.comparators[0])
            ],
        )


def _breaking(loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[ast.expr]:
    """The tests in a loop's own block that leave it."""
    for s in loop.body:
        if isinstance(s, ast.If) and isinstance(s.body[-1], ast.Break):
            yield s.test


def turns_of_sessions(context: Context) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """Runs of a session that train, and the numbers of the turns of the loops around."""
    for training in context.loops if context.facts.horovod.wrapped else ():
        if training.kind in (LoopKind.SESSION, LoopKind.MONITORED_SESSION):
            loops = [loop for loop, _ in of_loop(context, training)]
            turns = [e for loop in loops if isinstance(loop, ast.For) for e in _limits(context, loop.iter)]
            yield training.node, turns


def _limits(context: Context, data: ast.expr) -> list[ast.expr]:
    """The numbers by which calls that some data comes from end early: of `take`, `islice` and a `range` that all ranks count
    through, not one that size() deals out."""
    use = context.facts.horovod
    found: list[ast.expr] = []
    for node in context.values.depends([data], _LIMIT):
        if isinstance(node, ast.Call) and context.names.last(node.func) in ("take", "islice"):
            found += node.args[-1:] if not _fills_up(context, node) else []
        elif isinstance(node, ast.Call) and context.names.last(node.func) in ("range", "xrange"):
            if not any(use.depends_on(a, "size") for a in node.args):
                found += node.args
    return found


def _fills_up(context: Context, taken: ast.Call) -> bool:
    """Whether rows are only put behind others, so that all ranks get equally many: `rows.concatenate(rows.take(rank))`."""
    parent = context.syntax.parent.get(taken)
    return (
        isinstance(parent, ast.Call)
        and context.names.last(parent.func) == "concatenate"
        and taken in parent.args
    )


def own(loop: ast.For) -> Iterator[ast.AST]:
    """What stands in a loop, and in no loop in there."""
    todo: list[ast.AST] = [*loop.body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, LOOPS):
            todo += ast.iter_child_nodes(node)
