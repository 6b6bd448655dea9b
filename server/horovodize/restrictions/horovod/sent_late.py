"""Broadcasts that come when all training is over (HVD306)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import LOOPS, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.sent_weights import HANDED, sending_runs
from horovodize.summary import LoopKind, TrainingLoop

_SENDS = ("broadcast_variables", "broadcast_parameters")
_OPERATION = "broadcast_global_variables"
_KINDS = (LoopKind.KERAS, LoopKind.GRADIENT_TAPE, LoopKind.SESSION)


def sent_late(context: Context) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What trains first, and a broadcast, where each of them stands after all that trains: in one block, and in no loop around
    both. A first step that makes the variables, before the broadcast and the training, is not all that trains."""
    use = context.facts.horovod
    if use.calls(*(name for name in HANDED if name != _OPERATION)):
        return
    sends: list[ast.AST] = [*use.calls(*_SENDS), *sending_runs(context)]
    if not sends or any(context.facts.rank_tests.may_be_guarded(s) for s in sends):
        return
    trainings = [loop for loop in context.loops if loop.kind in _KINDS]
    if not trainings or len(trainings) < len(context.loops):
        return
    for send in sends:
        places = [place for loop in trainings for place in _beside(context, loop, send)]
        if not places or not all(_is_before(context, place, send) for place in places):
            return
    first = min(trainings, key=lambda loop: position(loop.node))
    if not context.facts.rank_tests.may_be_guarded(first.node):
        yield first.node, sends[0]


def _beside(context: Context, training: TrainingLoop, send: ast.AST) -> Iterator[ast.AST]:
    """Where the function of a broadcast comes to what trains."""
    function = context.syntax.function(send)
    if len(context.ways(send)) > 1:
        yield send  # what one call sends, another trains with
        return
    for way in context.ways(training.node):
        here = next(
            (i for i, frame in enumerate(way) if context.syntax.function(frame.node) is function), None
        )
        if here is None or any(frame.loops for frame in way[here + 1 :]):
            yield send  # it is not seen which is first, or it is sent in each turn
        elif training.kind is not LoopKind.KERAS and not any(frame.loops for frame in way[: here + 1]):
            yield send  # one step, of which others may follow
        else:
            yield way[here].node


def _is_before(context: Context, place: ast.AST, send: ast.AST) -> bool:
    syntax = context.syntax
    around = [syntax.statement(place), *(a for a in syntax.ancestors(place) if isinstance(a, ast.stmt))]
    sent = [syntax.statement(send), *(a for a in syntax.ancestors(send) if isinstance(a, ast.stmt))]
    for one in around:
        block = syntax.block(one)
        other = next((s for s in sent if s in block and s is not one), None)
        if other is not None:
            in_loop = any(isinstance(a, LOOPS) for a in syntax.ancestors(one))
            return block.index(one) < block.index(other) and not in_loop
    return False
