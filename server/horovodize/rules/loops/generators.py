"""Generators of batches, part of K4 and G4: each rank takes every size()-th batch. Where a function of the program makes each
batch out of a number, it is told to leave out the other ranks' numbers: a rank then prepares no batch but its own. Likewise one
that makes the rows of a dataset, part of D1. One without end whose batches are drawn already gives each rank others."""

from __future__ import annotations

import ast

from horovodize.facts.feeds import drawn_yields
from horovodize.plan import Decision
from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import Shared, Unit
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.parameters import can_get_a_parameter, new_parameter
from horovodize.rules.loops import draws_apart
from horovodize.rules.numbers.shares import feeding, wrap
from horovodize.source import Edit

_WHAT = "Give every rank its own batches of the generator"
_WHY_INSIDE = "It yields the same batches on every rank; divided where it counts them, it prepares none of another rank's."
_WHAT_ROWS = "Give every rank its own rows of the generator"
_WHY_ROWS = "It yields the same rows on every rank; divided where it goes through them, it prepares none of another rank's."
_WHY_ALL = "It yields the same batches on every rank, each of which still prepares all of them."


def differs_by_rank(draft: Draft, rule: str, feed: ast.expr) -> bool:
    """Whether a generator without end draws its batches on each rank by itself (or is given a seed by rank here): none of them
    is thrown away. As many are taken as the loop takes turns, which it does not number."""
    _, function = feeding(draft).kinds.generated(feed) or (None, None)
    if function is None or not draft.facts.generators.is_endless(function) or draft.was(feed, Shared):
        return False
    if not drawn_yields.counts_turns_at_once(draft.syntax, function):
        return False
    if not draws_apart.draws_apart(draft, rule, function):
        return False
    draft.decide(feed, Shared(rule, Unit.OWN))
    draft.divided = True
    return True


def share(draft: Draft, rule: str, feed: ast.expr) -> None:
    """Gives each rank its share of the batches that a generator yields."""
    if divide_inside(draft, rule, feed):
        return
    edits = wrap(draft, feed, "shard_batches", rule)
    if edits:
        draft.change(rule, feed, _WHAT, _WHY_ALL, edits)


def divide_inside(draft: Draft, rule: str, feed: ast.expr) -> bool:
    """`for i in range(0, n, 32): … yield x[i : i + 32]` → `for i in shard(range(0, n, 32))`; by a parameter `share` where other
    calls of the function need all batches. Whether it could be done."""
    call, function = feeding(draft).kinds.generated(feed) or (None, None)
    if call is None or not isinstance(function, ast.FunctionDef) or draft.was(feed, Shared):
        return False
    numbers = draft.facts.generators.numbers(function)
    if numbers is None or _is_handed_on(draft, function):
        return False
    shared = any(draft.values.callee(c) is function for c in draft.syntax.calls if c is not call)
    if shared and not can_get_a_parameter(draft, function):
        return False
    edits = _for_call(draft, function, numbers, call) if shared else _for_all(draft, numbers)
    draft.decide(feed, Shared(rule))
    draft.divided = True
    if edits:
        draft.change(rule, feed, _WHAT, _WHY_INSIDE, draft.decided(Decision.SHARED, tuple(edits)))
    return True


def divide_rows(draft: Draft, rule: str, dataset: ast.expr) -> bool:
    """`from_generator(rows)`, where `for path in files: … yield image` → `for path in shard(files)`; by a parameter `share`
    where other datasets are made of the same function. Whether it could be done."""
    is_made_here = isinstance(dataset, ast.Call) and draft.names.last(dataset.func) == "from_generator"
    if not is_made_here or not isinstance(dataset, ast.Call) or draft.was(dataset, Shared):
        return False
    given = argument(dataset, "generator", 0)
    origins = draft.values.origins(given) if given is not None else []
    begun = origins[0].node if len(origins) == 1 and not origins[0].path else None
    if isinstance(begun, ast.Lambda) and isinstance(begun.body, ast.Call):
        return _divide_called(draft, rule, dataset, begun.body)
    if not isinstance(begun, ast.FunctionDef) or any(
        draft.values.callee(c) is begun for c in draft.syntax.calls
    ):
        return False
    scopes = draft.module.scopes
    uses = [
        n
        for n in draft.syntax.every(ast.Name)
        if n.id == begun.name
        and isinstance(n.ctx, ast.Load)
        and scopes.lookup(n.id, n) is scopes.scope(begun)
    ]
    parts = draft.facts.generators.rows(begun)
    if len(uses) != 1 or not parts:
        return False
    edits = [e for part in parts for e in _for_all(draft, part)]
    return _tell_of_rows(draft, rule, dataset, edits)


def _divide_called(draft: Draft, rule: str, dataset: ast.expr, call: ast.Call) -> bool:
    """`from_generator(lambda: rows(files))`"""
    function = draft.values.callee(call)
    if not isinstance(function, ast.FunctionDef) or _is_handed_on(draft, function):
        return False
    parts = draft.facts.generators.rows(function)
    shared = any(draft.values.callee(c) is function for c in draft.syntax.calls if c is not call)
    if not parts or (shared and (len(parts) > 1 or not can_get_a_parameter(draft, function))):
        return False
    edits = (
        _for_call(draft, function, parts[0], call)
        if shared
        else [e for part in parts for e in _for_all(draft, part)]
    )
    return _tell_of_rows(draft, rule, dataset, edits)


def _tell_of_rows(draft: Draft, rule: str, dataset: ast.expr, edits: list[Edit]) -> bool:
    draft.decide(dataset, Shared(rule))
    draft.divided = True
    if edits:
        draft.change(rule, dataset, _WHAT_ROWS, _WHY_ROWS, draft.decided(Decision.SHARED, tuple(edits)))
    return True


def _for_all(draft: Draft, numbers: ast.expr) -> list[Edit]:
    if not draft.once("share", numbers):
        return []
    return list(Edit.around(draft.module.span(numbers), f"{draft.helper('shard')}(", ")"))


def _for_call(draft: Draft, function: ast.FunctionDef, numbers: ast.expr, call: ast.Call) -> list[Edit]:
    name = draft.same_name("share")
    edits: list[Edit] = []
    if draft.once("share", function):
        edits.append(new_parameter(draft, function, f"{name}=lambda numbers: numbers"))
        edits += Edit.around(draft.module.span(numbers), f"{name}(", ")")
    if draft.once("share", call):
        edits.append(draft.add_argument(call, f"{name}={draft.helper('shard')}"))
    return edits


def _is_handed_on(draft: Draft, function: ast.FunctionDef) -> bool:
    """Whether a function is used otherwise than by calling it: who then calls it is not seen."""
    called = {c.func for c in draft.syntax.calls}
    names = draft.syntax.every(ast.Name, ast.Attribute)
    return any(
        (n.id if isinstance(n, ast.Name) else n.attr) == function.name
        and isinstance(n.ctx, ast.Load)
        and n not in called
        for n in names
        if isinstance(n, (ast.Name, ast.Attribute))
    )
