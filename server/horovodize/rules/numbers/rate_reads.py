"""What the formula of a learning rate reads, and where: in it, in what it is set from, in functions that give it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from horovodize import catalogue
from horovodize.facts.counting.record_tuples import place_of
from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES
from horovodize.rules.drafting.decisions import OfAll, Scheduled
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted

_SCHEDULE = "tensorflow.keras.optimizers.schedules.LearningRateSchedule"
_READ = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_LIMIT = 400


def reads(draft: Draft, rate: ast.expr) -> list[ast.expr]:
    """The places where a rate reads a counter of a rank's steps: in it, in what it is set from, in functions that give it.
    What functions are given comes before what they read of it."""
    if not draft.facts.counters.exist:
        return []
    found = places(draft, rate, lambda n: counted.of(draft, n) is not None)
    return [n for n in found if not _counts_on(draft, n)]


def _counts_on(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is read to count it on, `state["n"] + 1` of `state = {**state, "n": state["n"] + 1}`."""
    counter = draft.facts.counters.of(read)
    advances = counter.advances if counter is not None else ()
    return any(draft.syntax.inside(read, advance) for advance in advances)


def places(draft: Draft, rate: ast.expr, is_read: Callable[[ast.expr], bool]) -> Iterator[ast.expr]:
    """The places where a rate reads what `is_read` says, as `reads`."""
    todo: list[ast.AST] = [rate]
    seen = set[ast.AST]()
    while todo and len(seen) < _LIMIT:
        n = todo.pop(0)
        if n in seen or draft.was(n, OfAll):
            continue
        seen.add(n)
        if isinstance(n, ast.Call) and gives_schedule(draft, n) and not is_asked_by_hand(draft, n):
            continue  # told already (C4)
        if isinstance(n, _READ) and is_read(n):
            yield n
            continue
        if isinstance(n, ast.Name) and draft.facts.dealt.is_own(n) and not _is_made_here(draft, n):
            continue  # a batch: the count says which rows a rank gets, and is dealt out itself
        own = place_of(draft.module, n) if isinstance(n, (ast.Name, ast.Subscript)) else None
        if own is not None and (parts := _parts(draft, *own)):
            todo += parts  # of a tuple, nothing else than that place
            continue
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
            for b in draft.module.scopes.reaching(n):
                todo += (
                    draft.values.passed(b)
                    if b.kind == "parameter"
                    else [b.value]
                    if b.value is not None
                    else []
                )
        elif isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load):
            bound = draft.values.attribute_bindings(n)
            todo += [b.value for b in bound if b.value is not None]
            if not bound:  # what a property computes
                todo += [o.node for o in draft.values.origins(n) if o.node is not n]
        todo += [c for c in ast.iter_child_nodes(n) if not isinstance(c, (ast.stmt, ast.expr_context))]
        callee = draft.values.callee(n) if isinstance(n, ast.Call) else None
        if isinstance(callee, CALLABLES):
            todo += draft.values.returned(callee)


def _parts(draft: Draft, whole: ast.expr, index: int) -> list[ast.expr]:
    """What a place of a tuple is set to; nothing where that can't be seen."""
    found = draft.values.origins(whole)
    tuples = [
        o.node
        for o in found
        if isinstance(o.node, (ast.Tuple, ast.List)) and not o.path and index < len(o.node.elts)
    ]
    return [t.elts[index] for t in tuples] if len(tuples) == len(found) else []


def _is_made_here(draft: Draft, name: ast.Name, depth: int = 3) -> bool:
    """Whether a batch is made in the turn by more than its number: `x = rows[i] + noise / (1 + i)`, `x += noise`; or what a
    function is given is one."""
    bound = draft.module.scopes.reaching(name)
    made = [b for b in bound if _makes(draft, b, depth)]
    return bool(made) and all(b in made or b.kind == "item" for b in bound)  # `x += noise` of an item


def _makes(draft: Draft, b: Binding, depth: int) -> bool:
    if b.kind == "parameter":
        return depth > 0 and _is_given_one(draft, b, depth - 1)
    if b.kind == "assign" and isinstance(b.value, ast.Name):
        return depth > 0 and _is_made_here(draft, b.value, depth - 1)
    return b.kind == "augment" or (b.kind == "assign" and isinstance(b.value, ast.BinOp))


def _is_given_one(draft: Draft, parameter: Binding, depth: int) -> bool:
    given = draft.values.passed(parameter)
    return any(
        isinstance(e, ast.BinOp) or isinstance(e, ast.Name) and _is_made_here(draft, e, depth) for e in given
    )


def gives_schedule(draft: Draft, call: ast.Call) -> bool:
    """Whether a call makes a schedule, or asks one for its rate: `schedule(step)`."""
    name = draft.names.of(call.func)
    if name is not None and catalogue.schedule_parameters(name) is not None:
        return True
    made = [call, *draft.values.calls(call.func)]
    return any(_SCHEDULE in draft.values.made_by(c) for c in made)


def is_asked_by_hand(draft: Draft, call: ast.Call) -> bool:
    """Whether a call asks a schedule that no optimizer has: `optimizer.learning_rate.assign(schedule(step))`."""
    made = [c for c in draft.values.calls(call.func) if _SCHEDULE in draft.values.made_by(c)]
    return bool(made) and not any(draft.was(c, Scheduled) for c in made)


def asks_optimizer(draft: Draft, call: ast.Call) -> bool:
    """Whether a call asks the schedule that an optimizer has, `optimizer.learning_rate(step)`: a rate alone can't be called."""
    func = call.func
    return (
        isinstance(func, ast.Attribute)
        and func.attr in ("learning_rate", "lr")
        and draft.values.callee(call) is None
        and any(draft.module.is_optimizer(c) for c in draft.values.calls(func.value))
    )
