"""Which of the loops around a step brings it its data: each of its turns is one step, or one round of steps."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from horovodize.python.augmented import added
from horovodize.python.comparisons import faced
from horovodize.python.syntax import Loop
from horovodize.python.variables import bound_names
from horovodize.source.nodes import walk
from horovodize.summary.drawn_noise import gives_noise
from horovodize.summary.gathered_in_turns import is_gathered_around
from horovodize.summary.selecting import is_indexed, selects_as_it_goes_on
from horovodize.summary.taken_from_queues import is_taken

if TYPE_CHECKING:
    from horovodize.summary.feeding import Feeding

# how functions are called that give another batch each time
DRAWING = re.compile(
    r"^next$|get_next|(next|get|sample|draw|load|make|gen\w*|fetch|random)_?\w*batch|batch\w*(gen|sampl|iter)|^sample|sampler?$"
    r"|randint|randrange|choice|permutation|^random_"
)
_UP_TO = (ast.Lt, ast.LtE)
_SMALL = 16  # `for _ in range(5)` around a step repeats it (critic steps of a GAN), it is not an epoch


def driving(feeding: Feeding, loops: list[Loop]) -> Loop | None:
    """Of the loops around a step, innermost first, the one that brings it its data."""
    fallback: Loop | None = None
    for i, loop in enumerate(loops):
        if _chooses_step(feeding, loop):
            continue
        if is_gathered_around(feeding, loop, loops[i + 1 :]):
            continue
        if feeding.is_over_data(loop):
            return loop
        small = is_small(feeding, loop) and _is_round(feeding, loop, loops[i + 1 :])
        goes_on = (isinstance(loop, ast.While) or not small) and selects_as_it_goes_on(feeding, loop)
        if goes_on or (not small and (_draws_rows(feeding, loop) or _takes_from_queue(feeding, loop))):
            return loop
        if fallback is None and not small and counts(feeding, loop):
            fallback = loop
    return fallback


def _chooses_step(feeding: Feeding, loop: Loop) -> bool:
    """Whether a loop's variable says what is trained: `for net in nets: session.run(net.train_op)`. Not where its turns
    come back to each, `nets[step % 2]`, or stay with one for long."""
    if isinstance(loop, ast.While):
        return False
    targets, steps = bound_names(loop.target), set[ast.AST](feeding.taken_steps())
    for call in (n for s in loop.body for n in walk(s) if isinstance(n, ast.Call)):
        if (
            call in steps
            and call.args
            and _names_alone(call.args[0]) & targets
            and feeding.sites.builds_graph
        ):
            return True
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        named = isinstance(receiver, (ast.Name, ast.Attribute, ast.Subscript))
        if named and _names_alone(receiver) & targets and feeding.drive.reaches(call, steps):
            return True
    return False


def _is_round(feeding: Feeding, loop: Loop, outer: list[Loop]) -> bool:
    """Whether a short loop only repeats a step within a round that a loop around it counts: that one gets data, or takes
    steps, beside it."""
    for around in outer:
        if feeding.iterates_data(around) or is_indexed(feeding, around):
            return True
        beside = [n for s in around.body for n in walk(s) if not feeding.syntax.inside(n, loop)]
        calls = [n for n in beside if isinstance(n, ast.Call)]
        steps = set[ast.AST](feeding.taken_steps())
        if any(DRAWING.search(feeding.names.last(c.func)) or feeding.drive.reaches(c, steps) for c in calls):
            return True
    return False


def is_small(feeding: Feeding, loop: Loop) -> bool:
    """Whether a loop has few turns, as its text says."""
    if isinstance(loop, ast.While):
        return _counts_to_few(feeding, loop)
    e = feeding.iterable(loop)
    args = e.args if isinstance(e, ast.Call) else []
    if len(args) == 2 and feeding.kinds.constant(args[0]) == 0:
        args = args[1:]
    if len(args) == 1:
        n = feeding.kinds.constant(args[0])
        return n is not None and n <= _SMALL
    return False


def _counts_to_few(feeding: Feeding, loop: ast.While) -> bool:
    """`while k < 5: … k += 1`"""
    sides = faced(loop.test, _UP_TO)
    if sides is None:
        return False
    bound, text = feeding.kinds.constant(sides[1]), ast.unparse(sides[0])
    moves = (added(s) for s in loop.body)
    return bound is not None and bound <= _SMALL and any(m and ast.unparse(m.target) == text for m in moves)


def _draws_rows(feeding: Feeding, loop: Loop) -> bool:
    """Whether a loop's body gets itself data, and not only noise: `z = sample_z(16)` of a function that draws it."""
    return any(feeding.is_drawn(c) and not gives_noise(feeding.module, c) for c in feeding.calls_in(loop))


def _takes_from_queue(feeding: Feeding, loop: Loop) -> bool:
    """Whether a loop takes rows from a queue that it doesn't fill itself: `for _ in range(n): rows = ready.get()`."""
    taken = [c for c in feeding.calls_in(loop) if is_taken(feeding.names, feeding.values, c)]
    return bool(taken) and not any(
        isinstance(c.func, ast.Attribute) and c.func.attr in ("put", "put_nowait")
        for c in feeding.calls_in(loop)
    )


def counts(feeding: Feeding, loop: Loop) -> bool:
    """Whether a loop's turns may be steps: it does not go through what is written out."""
    e = feeding.iterable(loop)
    return e is None or feeding.kinds.is_range(e) or not feeding.kinds.is_literal(e)


def _names_alone(e: ast.AST) -> set[str]:
    """The names in an expression, but for those of which it takes a remainder or a quotient."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Mod, ast.FloorDiv)):
        return set()
    own = {e.id} if isinstance(e, ast.Name) else set[str]()
    return own.union(*map(_names_alone, ast.iter_child_nodes(e)))


__all__ = ["DRAWING", "counts", "driving", "is_small"]
