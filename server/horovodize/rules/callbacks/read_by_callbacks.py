"""Numbers that a callback of the user's own reads from a file when it is made, and by which it ends training or sets the rate
later: part of K3.

`self.best = json.load(open(path))["best"]` in `__init__`, and `if logs["loss"] < self.best:` when an epoch ends: where rank 0's
host alone has the file, ranks would stop after other epochs. All take rank 0's as it is read."""

from __future__ import annotations

import ast

from horovodize.facts.counting.hooks import Hook
from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.resuming.read_before import can_be_sent
from horovodize.rules.together.any_rank_test import can_agree, differing

_WHAT = "Go on with what rank 0 has read on all ranks"
_WHY = "Ranks on other hosts may have no such file, or an older one: they would stop, or change the rate, at another time."


def agree(draft: Draft, hook: Hook, tests: list[ast.expr]) -> bool:
    """Sends what the tests go by and `__init__` has read; whether ranks decide the same then, as far as files go."""
    found = {
        r
        for test in tests
        for r in differing(draft, test)
        if isinstance(r, Varies) and r.kind is Source.FILES
    }
    if not found:
        return True
    fields = list(dict.fromkeys(b for b in _begun(draft, hook) if _reads(draft, b, found)))
    agreed = {r for b in fields for r in _reasons(draft, b)}
    if found - agreed or not all(can_be_sent(draft, b) for b in fields):
        return False
    places = {_within_init(draft, b) for b in fields}
    if any(not can_agree(draft, place) or not draft.can_put_after(place) for place in places):
        return False
    for b in fields:
        name, place = ast.unparse(b.anchor), _within_init(draft, b)
        if draft.once(f"agreed {name}", place):
            edits = draft.put_after(place, [f"{name} = {from_root(draft)}({name})"])
            draft.change("K3", place, _WHAT, _WHY, edits)
    draft.settled |= {(test, r.where) for test in tests for r in found}
    return True


def _begun(draft: Draft, hook: Hook) -> list[Binding]:
    """What `__init__` of the callback's class gives its fields."""
    return [
        b
        for bound in draft.module.scopes.attributes.values()
        for b in bound
        if isinstance(f := draft.syntax.function(b.statement), FUNCTIONS)
        and f.name == "__init__"
        and draft.syntax.parent[f] is hook.home
        and isinstance(b.anchor, ast.Attribute)
    ]


def _reasons(draft: Draft, b: Binding) -> list[Varies | Unknown]:
    """Why what a field is given differs, by its value and by the tests around."""
    tests = [c.test for c, _ in draft.syntax.conditions(b.statement) if isinstance(c, ast.If)]
    return [r for e in (b.value, *tests) if e is not None for r in draft.uniform.reasons(e)]


def _reads(draft: Draft, b: Binding, found: set[Varies]) -> bool:
    return bool(found.intersection(_reasons(draft, b)))


def _within_init(draft: Draft, b: Binding) -> ast.stmt:
    """The statement of `__init__` itself in which a field is given its value."""
    statement = draft.syntax.statement(b.statement)
    while not isinstance(draft.syntax.parent[statement], FUNCTIONS):
        statement = draft.syntax.statement(draft.syntax.parent[statement])
    return statement
