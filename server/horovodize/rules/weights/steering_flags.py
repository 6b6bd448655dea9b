"""What a rank would decide by its own rows for later losses, once: part of G2.

`if loss < 0.2: with_penalty = True`, `weight = 0.5`, `loss_fn = huber` after an epoch: a rank that decides alone trains for
another aim from there on. What is set before the loss of the same turn is of its rows, as a weight of each row is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights import steering_decisions
from horovodize.rules.weights.steered import training_loops, used_in_losses

_Read = ast.Name | ast.Attribute


def keep_alike(draft: Draft) -> None:
    """Lets all ranks set together what later losses are made with, or what decides how."""
    loops = training_loops(draft) if not draft.in_graph else set()
    for read in sorted(_read(draft), key=position) if loops else ():
        for b in _bound(draft, read):
            turns = {loop for way in draft.drive.ways(b.statement) for f in way for loop in f.loops} & loops
            if turns and _is_set_once(draft, b) and _is_for_later(draft, b, read):
                alone = steering_decisions.deciding(draft, b, turns)
                if alone and draft.once("steered", b.anchor):
                    steering_decisions.decide_alike(draft, b, alone)


def _read(draft: Draft) -> set[_Read]:
    """The names that losses are made of, and those that decide of what."""
    used = used_in_losses(draft)
    made = {b.statement for n in used if isinstance(n, ast.Name) for b in draft.module.scopes.reaching(n)}
    tests = {d.test for s in made for d, _ in draft.syntax.conditions(s) if isinstance(d, ast.If)}
    deciding = {n for test in tests for n in ast.walk(test)}
    return {
        n
        for n in (*used, *deciding)
        if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load)
    }


def _bound(draft: Draft, read: _Read) -> Iterator[Binding]:
    if isinstance(read, ast.Attribute):
        yield from draft.values.attribute_bindings(read)
    else:
        yield from draft.module.scopes.reaching(read)


def _is_set_once(draft: Draft, b: Binding) -> bool:
    """`= True`, `= 0.5`, or a function of the program: not what is computed there."""
    if b.kind != "assign" or b.path or b.value is None or not isinstance(b.statement, ast.stmt):
        return False
    origins = [o.node for o in draft.values.origins(b.value)] if isinstance(b.value, ast.Name) else []
    is_function = bool(origins) and all(isinstance(n, CALLABLES) for n in origins)
    return isinstance(b.value, (ast.Constant, ast.Lambda)) or is_function


def _is_for_later(draft: Draft, b: Binding, read: _Read) -> bool:
    """Whether losses of later turns are made with what is set there, rather than that of its own."""
    place = b.statement
    together = draft.syntax.function(place) is draft.syntax.function(read)
    return not together or (isinstance(place, ast.stmt) and position(place) > position(read))


__all__ = ["keep_alike"]
