"""Optimizers that are handed to code that can't be seen, in a training loop: part of C5.

`adjust(optimizer, step)`, or `schedule.step(i)` of what was made with the optimizer, most likely sets its rate: to that of one
process, at a place that a rank comes to with size() times as many rows. What such code does is asked; so is what sets fields of
an optimizer by a dictionary, `vars(optimizer).update(settings)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.given_whole import whose_attributes
from horovodize.facts.differences.known_calls import is_known
from horovodize.python.syntax import arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.scaling import strong
from horovodize.rules.wrapping.optimizers import Trained

_WHAT = "Multiply the rate that this sets by the number of ranks"
_WHY = "The optimizer's rate is multiplied by the number of ranks; one that is set later takes its place."
_ASKED = (
    "`{}` gets the optimizer, and what it does can't be seen: where it sets the learning rate, multiply that by `hvd.size()`, "
    "and where that goes by a number of steps, let it go by those of all ranks"
)
_FIELDS = (
    "this sets fields of the optimizer by their names: where the learning rate is one of them, multiply it by `hvd.size()`, "
    "and where that goes by a number of steps, let it go by those of all ranks"
)
_RATES = {"lr", "_lr", "learning_rate", "_learning_rate"}


def ask(draft: Draft, optimizers: list[Trained]) -> None:
    grown = {t.origin for t in optimizers if strong.grows(draft, t.used_at)}
    if not grown or draft.in_graph:
        return  # what a graph is made of does not change with its steps
    for call in draft.module.calls_called("update"):
        held = whose_attributes(call)
        origins = {o.node for o in draft.values.origins(held) if not o.path} if held is not None else set()
        if origins & grown and _may_set_rate(call) and draft.once("unseen rate", call):
            draft.ask("C5", call, _WHAT, _WHY, _FIELDS)
    loops = [d.loop for d in feeding(draft).drivers]
    around = [outer for loop in loops for outer in draft.syntax.loops(loop)]
    for each in dict.fromkeys([*loops, *around]):
        for call in _calls(draft, each):
            maker = _handed_to(draft, call, grown)
            if maker is not None and draft.once("unseen rate", call):
                draft.ask("C5", call, _WHAT, _WHY, _ASKED.format(draft.module.text(maker.func)))


def _may_set_rate(call: ast.Call) -> bool:
    """Whether one of the fields that are set may be a rate: not where all of their names stand there, and none is one's."""
    keys: list[ast.expr | None] = [ast.Constant(k.arg) if k.arg else None for k in call.keywords]
    for given in call.args:
        keys += given.keys if isinstance(given, ast.Dict) else [None]
    return any(not isinstance(k, ast.Constant) or k.value in _RATES for k in keys)


def _calls(draft: Draft, loop: ast.AST) -> Iterator[ast.Call]:
    """The calls of a loop that put nothing out, and whose values nothing is made of: or that are told its turn, `rate =
    adjust(optimizer, epoch)`."""
    calls = outputs_of(draft).effects.output_calls
    for n in ast.walk(loop):
        call = n.value if isinstance(n, (ast.Expr, ast.Assign)) else None
        if not isinstance(call, ast.Call) or calls.of(call) is not None:
            continue
        if isinstance(n, ast.Expr) or any(_is_turn(draft, a) for a in arguments(call)):
            yield call


def _is_turn(draft: Draft, e: ast.expr) -> bool:
    """Whether it is the number of a loop's turn, or a count of steps."""
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    kinds = draft.facts.feeding.kinds
    turns = (b.statement.iter for b in bound if b.kind == "item" and isinstance(b.statement, ast.For))
    return any(kinds.is_range(over) for over in turns) or draft.facts.counters.of(e) is not None


def _handed_to(draft: Draft, call: ast.Call, optimizers: set[ast.AST]) -> ast.Call | None:
    """The call to which an optimizer is handed and that can't be seen into: this one, or what made the object that it asks."""
    if _is_unseen(draft, call) and _gets(draft, call, optimizers):
        return call
    if not isinstance(call.func, ast.Attribute):
        return None
    made = [o.call for o in draft.values.origins(call.func.value) if o.call is not None and not o.path]
    return next((m for m in made if _is_unseen(draft, m) and _gets(draft, m, optimizers)), None)


def _is_unseen(draft: Draft, call: ast.Call) -> bool:
    name = draft.names.of(call.func)
    return name is not None and not is_known(name) and draft.values.callee(call) is None


def _gets(draft: Draft, call: ast.Call, optimizers: set[ast.AST]) -> bool:
    return any(o.node in optimizers for a in arguments(call) for o in draft.values.origins(a) if not o.path)


__all__ = ["ask"]
