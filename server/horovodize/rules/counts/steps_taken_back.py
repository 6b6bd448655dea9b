"""Steps that a turn takes from the weights that it has kept, and then goes only in part: part of G5.

A Reptile turn adapts the network to one task, and moves the weights that it began with a part of the way there. With its loop
divided, each rank draws another task, but all take the steps together, by gradients that are averaged: none adapts to its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import Loop, position
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.weights.drawn_weights import given_to_weights

_WHAT = "Look at what each turn's steps are for"
_WHY = "Steps of one turn adapt to its own rows before the weights go a part of that way; averaged, they adapt to those of all."
_ASKED = (
    "each turn goes a part of the way that its own steps went (Reptile, Lookahead): now all ranks take these steps together, "
    "by averaged gradients; where a turn is to adapt to its own task, let each rank take them alone, and average what is set "
    "here with `hvd.allreduce`"
)
_SET_BACK = (
    "each turn sets weights back after these steps (MAML): now all ranks take them together, by averaged gradients and with "
    "a larger rate; where a turn is to adapt to its own task, take these steps by an optimizer of their own"
)
_KEEPING = ("get_weights", "numpy", "read_value", "value", "identity", "copy", "deepcopy")


def ask(draft: Draft) -> None:
    """Asks where a turn of a divided loop keeps weights, takes steps, and sets the weights to a mixture of both."""
    loops = [d.loop for d in feeding(draft).drivers if counted.is_divided(draft, d)]
    for call in (
        draft.sites.method_calls("assign", "assign_add", "assign_sub", "set_weights") if loops else ()
    ):
        given = given_to_weights(draft, call)
        turns = [
            loop for loop in loops if any(loop in f.loops for way in draft.drive.ways(call) for f in way)
        ]
        if given is None or not turns:
            continue
        made = list(draft.values.depends([given], 300))
        for step, turn in _steps_before(draft, call, turns):
            kept = [n for n in made if _keeps(draft, n) and _comes_before(draft, n, step)]
            mixed = [n for n in made if isinstance(n, ast.BinOp) and _comes_before(draft, step, n)]
            in_turn = any(_is_in(draft, n, turn) or not _is_in(draft, call, turn) for n in kept)
            is_set_back = (
                isinstance(given, ast.Name) and not mixed and bool(kept) and _is_in(draft, call, turn)
            )
            if in_turn and (mixed or is_set_back) and draft.once("taken back", call):
                draft.ask("G5", call, _WHAT, _WHY, _ASKED if mixed else _SET_BACK)


def _steps_before(draft: Draft, call: ast.Call, turns: list[Loop]) -> Iterator[tuple[ast.AST, Loop]]:
    """Where the function, or the module, in which weights are set takes several steps before, and the loop in whose turns it
    does both."""
    for update in draft.sites.updates:
        for way in draft.drive.ways(update.call):
            loops = [loop for frame in way for loop in frame.loops]
            for turn in (loop for loop in turns if loop in loops[1:]):
                for frame in way:
                    if _comes_before(draft, frame.node, call):
                        yield frame.node, turn


def _is_in(draft: Draft, node: ast.AST, loop: Loop) -> bool:
    return draft.syntax.inside(node, loop)


def _keeps(draft: Draft, n: ast.AST) -> bool:
    return isinstance(n, ast.Call) and draft.names.last(n.func) in _KEEPING


def _comes_before(draft: Draft, one: ast.AST, other: ast.AST) -> bool:
    """Whether something stands before something else in one function."""
    if not isinstance(one, (ast.expr, ast.stmt)) or not isinstance(other, (ast.expr, ast.stmt)):
        return False
    return draft.syntax.function(one) is draft.syntax.function(other) and position(one) < position(other)
