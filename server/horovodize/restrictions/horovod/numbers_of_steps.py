"""For how many steps loops and hooks train, as the script says it (HVD321 and HVD325)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import WHETHER_THERE, Source
from horovodize.interleaving import OwnAnswers
from horovodize.python.syntax import argument, has_unpacking, is_one
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.alike_data import gone_through
from horovodize.summary import LoopKind, TrainingLoop

_LOOPS = (LoopKind.GRADIENT_TAPE, LoopKind.SESSION, LoopKind.MONITORED_SESSION)
_LISTING = frozenset(("listdir", "glob", "iglob", "scandir", "ListDirectory", "Glob"))
_LIMIT = 300  # nodes behind a number
_HOOK = "tensorflow.compat.v1.train.StopAtStepHook"

OF_A_HOST = (
    "ranks of a host without the file take other steps here than the others, and wait for each other in vain: send rank 0's "
    "number, by `hvd.broadcast_object`"
)


def of_loop(context: Context, training: TrainingLoop) -> list[tuple[ast.AST, ast.expr | None]]:
    """The loops around a step that one way leads to, innermost first, each with its number of turns where that is written."""
    ways = context.ways(training.node) if training.kind in _LOOPS else []
    loops = [loop for frame in ways[0] for loop in frame.loops] if len(ways) == 1 else []
    return [(loop, _turns(context, loop)) for loop in loops]


def _turns(context: Context, loop: ast.AST) -> ast.expr | None:
    """How many turns a loop has, as it is written: the bound of a `range`, what is taken of a data set, or what a number that
    is counted on is compared with, `while step < steps:`."""
    if isinstance(loop, ast.While):
        return _counted_to(context, loop)
    if not isinstance(loop, ast.For):
        return None
    if isinstance(loop.iter, ast.Call) and is_range(context, loop.iter):
        return _number_of(*loop.iter.args) if len(loop.iter.args) < 3 else None
    pipelines = context.facts.feeding.kinds.pipelines
    data = gone_through(context, loop.iter)
    taken = [
        e for e in pipelines.trail(data) if isinstance(e, ast.Call) and context.names.last(e.func) == "take"
    ]
    return argument(taken[0], "count", 0) if len(taken) == 1 else None


def _number_of(start: ast.expr, end: ast.expr | None = None) -> ast.expr | None:
    """How many numbers a `range` has: `n` of `range(n)`, `range(0, n)` and `range(1, n + 1)`."""
    if end is None:
        return start
    match start, end:
        case ast.Constant(value=0), _:
            return end
        case ast.Constant(value=1), ast.BinOp(op=ast.Add(), left=number, right=ast.Constant(value=1)):
            return number
        case ast.Constant(value=1), ast.BinOp(op=ast.Add(), left=ast.Constant(value=1), right=number):
            return number
    return None


def is_range(context: Context, call: ast.Call) -> bool:
    """Whether a call is a `range`, also Python 2's `xrange`, which `six` has."""
    six = (context.names.of(call.func) or "").startswith("six.moves.")
    return context.is_builtin(call.func, "range", "xrange") or (
        six and context.names.last(call.func) in ("range", "xrange")
    )


def _counted_to(context: Context, loop: ast.While) -> ast.expr | None:
    match loop.test:
        case ast.Compare(
            left=(ast.Name() | ast.Attribute()) as counted, ops=[ast.Lt() | ast.LtE()], comparators=[number]
        ):
            text = context.text(counted)
            added = [
                s for s in ast.walk(loop) if isinstance(s, ast.AugAssign) and context.text(s.target) == text
            ]
            by_one = len(added) == 1 and isinstance(added[0].op, ast.Add) and is_one(added[0].value)
            return number if by_one else None
    return None


def of_hooks(context: Context) -> Iterator[ast.expr]:
    """The steps with which a `StopAtStepHook` ends a session."""
    for hook in context.module.calls_of(_HOOK):
        number = argument(hook, "num_steps", 0) or argument(hook, "last_step", 1)
        if number is not None and not has_unpacking(hook) and context.facts.horovod.runs(hook):
            yield number


def found_on_a_host(context: Context, number: ast.expr) -> ast.AST | None:
    """Where a number is decided by whether a file is there, or which are, and by nothing else that differs: ranks of a host
    that hasn't it have another one. Only what the script writes itself differs so: the data is the same on all hosts."""
    uniform = context.facts.uniform
    if uniform.differs_by_a_file(number):
        return uniform.reasons(number)[0].where
    found = uniform.reasons(number)
    asked = [r.where for r in found if isinstance(r, Varies) and r.kind is Source.FILES]
    names = {context.names.last(w.func): w for w in asked if isinstance(w, ast.Call)}
    if len(asked) < len(found) or not set(names) <= WHETHER_THERE | _LISTING:
        return None  # what is read from a file counts, too
    return next(iter(names.values()), None)


def is_drawn_apart(context: Context, answers: OwnAnswers, number: ast.expr) -> bool:
    """Whether each rank draws a number for itself, or reads it from its clock. How many rows are drawn is no draw."""
    if not answers.is_drawn(number, orders=False):
        return False
    behind = context.values.depends([number], _LIMIT)
    return not any(
        isinstance(n, ast.Attribute) and n.attr == "shape" or _is_length(context, n) for n in behind
    )


def _is_length(context: Context, n: ast.AST) -> bool:
    return isinstance(n, ast.Call) and context.is_builtin(n.func, "len")
