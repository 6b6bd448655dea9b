"""Which of several networks a step trains, where the program chooses one by a number or a draw: part of G4.

`nets[random.randrange(4)].train_op`, `random.choice(models).train_on_batch(x, y)`: ranks that train another network than the
others wait for them forever, or average gradients of different weights. What chooses has to be the same on all ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.binding import Binding
from horovodize.python.syntax import Loop
from horovodize.rules.drafting.draft import Draft

_ORDERS = ("shuffle", "permutation", "sample")
_GROUPS = (ast.List, ast.Tuple, ast.Set)
_FAR = 100


def choices(draft: Draft) -> Iterator[ast.expr]:
    """The expressions by which the networks of a module's steps are chosen."""
    seen = set[ast.AST]()
    for trained in _trained(draft):
        yield from _choosing(draft, trained, seen)


def are_chosen_in(draft: Draft, loop: Loop, expressions: Sequence[ast.expr]) -> bool:
    """Whether each turn of a loop says which network it is that some expressions stand for: by a draw, by the next of
    several, by a number of steps that it moves on."""
    seen = set[ast.AST]()
    for choice in [choice for e in expressions for choice in _choosing(draft, e, seen)]:
        if any(
            isinstance(reason, Varies)
            and reason.kind is Source.CHANCE
            and _runs_in(draft, reason.where, loop)
            for reason in draft.facts.uniform.reasons(choice)
        ):
            return True
        if any(_runs_in(draft, draw, loop) for draw in _draws_behind(draft, choice)):
            return True  # by a seed
        if any(_moves_on(draft, n, loop) for n in draft.values.depends([choice], _FAR)):
            return True
        if isinstance(choice, ast.Compare) and any(_is_bound_in(draft, n, loop) for n in ast.walk(choice)):
            return True
    return False


def draws_choosing(draft: Draft) -> set[ast.Call]:
    """The draws that say which network a step trains: all ranks have to draw that alike."""
    return {draw for choice in choices(draft) for draw in _draws_behind(draft, choice)}


def _draws_behind(draft: Draft, choice: ast.expr) -> Iterator[ast.Call]:
    for n in draft.values.depends([choice], _FAR):
        if isinstance(n, ast.Call) and draft.uniform.draws.has_stream(n):
            yield n


def _runs_in(draft: Draft, n: ast.AST, loop: Loop) -> bool:
    """Whether turns of a loop come by a place, also in functions that are called there."""
    return any(draft.syntax.inside(frame.node, loop) for way in draft.drive.ways(n) for frame in way)


def _is_bound_in(draft: Draft, n: ast.AST, loop: Loop) -> bool:
    """Whether a name's value comes from within a loop."""
    bound = draft.module.scopes.reaching(n) if isinstance(n, ast.Name) else []
    return any(draft.syntax.inside(b.statement, loop) for b in bound)


def drawn_in_place(draft: Draft, expressions: Sequence[ast.expr]) -> ast.Call | None:
    """The call in some expressions that gives another network each time it is run: `nets[randrange(2)].train_on_batch(…)`."""
    calls = (n for e in expressions for n in ast.walk(e) if isinstance(n, ast.Call))
    return next((c for c in calls if draft.uniform.draws.has_stream(c) or _is_next(c)), None)


def _moves_on(draft: Draft, n: ast.AST, loop: Loop) -> bool:
    """`step % 2` of a count of a loop's steps, `next(tasks)` in its turns."""
    if isinstance(n, ast.Call):
        return _is_next(n) and draft.syntax.loops(n)[:1] == [loop]
    counter = draft.facts.counters.of(n) if isinstance(n, (ast.Name, ast.Attribute)) else None
    return counter is not None and any(d.loop is loop for d in counter.drivers)


def _is_next(call: ast.Call) -> bool:
    """`next(cycle(nets))`"""
    return isinstance(call.func, ast.Name) and call.func.id == "next"


def _trained(draft: Draft) -> Iterator[ast.expr]:
    """What stands for a network, or for what trains it, at each step."""
    yield from (fit.model for fit in draft.sites.fits)
    for update in draft.sites.updates:
        yield from update.variables
    graph = draft.sites.graph
    for run in graph.trainings:
        fetched = graph.fetches(run.call)
        parts = fetched.elts if isinstance(fetched, _GROUPS) else [fetched]
        training = [p for p in parts if any(node in graph.train_ops for node in graph.operations(p))]
        yield from training or parts  # an operation that is only called like one that trains


def _choosing(draft: Draft, trained: ast.expr, seen: set[ast.AST]) -> Iterator[ast.expr]:
    todo: list[ast.AST] = [trained]
    while todo:
        n = todo.pop()
        if n in seen:
            continue
        seen.add(n)
        if isinstance(n, ast.Subscript):
            yield n.slice
            todo.append(n.value)
        elif isinstance(n, ast.IfExp):
            yield n.test
            todo += [n.body, n.orelse]
        elif isinstance(n, ast.Attribute):
            todo.append(n.value)
        elif isinstance(
            n, (ast.BinOp, ast.List, ast.Tuple, ast.Starred)
        ):  # `body.weights + heads[task].weights`
            todo += [part for part in ast.iter_child_nodes(n) if isinstance(part, ast.expr)]
        elif isinstance(n, ast.Call) and (draft.uniform.draws.has_stream(n) or _is_next(n)):
            yield n
        elif isinstance(n, ast.Name):
            bound = draft.module.scopes.reaching(n)
            todo += [b.value for b in bound if b.kind == "assign" and b.value is not None]
            for b in bound:
                todo += draft.values.graph.passed(b) if b.kind == "parameter" else []
            yield from (order for b in bound if b.kind == "item" for order in _ordering(draft, b.value))
            yield from _tests(draft, n, bound)


def _tests(draft: Draft, name: ast.Name, bound: Sequence[Binding]) -> Iterator[ast.expr]:
    """The tests by which a name stands for one network or for another, in the turns of a loop: `if step % 2: net = first`,
    `else: net = second`. What is made or loaded before there are turns is `resume`'s."""
    if len(bound) > 1:
        around = {decision for decision, _ in draft.syntax.conditions(name)}
        for b in bound if all(b.kind == "assign" for b in bound) else ():
            decisions = (d for d, _ in draft.syntax.conditions(b.statement) if d not in around)
            yield from (d.test for d in decisions if draft.syntax.loops(d))


def _ordering(draft: Draft, iterable: ast.expr | None) -> Iterator[ast.Call]:
    """The draws of the order in which a loop goes through what it trains: `random.shuffle(ops)`, then `for op in ops:`."""
    if iterable is None:
        return
    for reason in draft.uniform.reasons(iterable):
        where = reason.where
        if isinstance(reason, Varies) and reason.kind is Source.CHANCE and isinstance(where, ast.Call):
            if draft.names.last(where.func) in _ORDERS:
                yield where
    held = {ast.unparse(n) for n in ast.walk(iterable) if isinstance(n, (ast.Name, ast.Attribute))}
    for call in draft.module.calls_of("random.shuffle", "numpy.random.shuffle"):
        seeded = draft.uniform.draws.is_seeded(draft.names.of(call.func) or "", call)
        together = draft.syntax.function(call) is draft.syntax.function(iterable)
        if together and not seeded and call.args and ast.unparse(call.args[0]) in held:
            yield call


__all__ = ["are_chosen_in", "choices", "drawn_in_place", "draws_choosing"]
