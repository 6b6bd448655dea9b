"""Numbers that say which of several measures is the best: `best = min(history, key=lambda h: h["loss"])`, then
`if epoch - best["epoch"] > 5: break`, `losses.index(min(losses))`. Part of G4, S5 and G2.

The mean of the epochs that ranks' own losses pick is no epoch that anything happened in: ranks average the losses, as they are
put into the list, and then pick the same."""

from __future__ import annotations

import ast

from horovodize.python.binding import Binding
from horovodize.python.syntax import CALLABLES, FUNCTIONS
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.lengths import growing
from horovodize.rules.together.any_rank_test import differing
from horovodize.rules.together.number_parts import Held, held_in, list_of

_PLACES = ("argmin", "argmax", "nanargmin", "nanargmax", "argsort", "index")
_BESTS = ("min", "max", "sorted", "nsmallest", "nlargest")
_PLAIN = ("int", "float", "list", "item")


def picking(draft: Draft, e: ast.expr) -> ast.expr | None:
    """What picks by measures what an expression is, or a part of: `min(history, key=…)` of `best["epoch"]`, where that is what
    `best` is. None where it isn't picked so."""
    inner = _plain(draft, e)
    if _picks(draft, inner):
        return inner
    base = inner
    while isinstance(base, (ast.Subscript, ast.Attribute)):
        base = base.value
    if base is inner:
        return None
    if isinstance(base, ast.Call):
        return base if _picks(draft, base) or _is_best(draft, base) else None
    if isinstance(base, ast.Name):
        if any(_sorts(draft, c, base) for c in draft.module.calls_called("sort")):
            return base
        made = [
            b.value for b in draft.module.scopes.reaching(base) if b.kind == "assign" and b.value is not None
        ]
        found = [taken for value in made if _is_best(draft, taken := _whole(draft, value))]
        return found[0] if found and len(found) == len(made) else None
    return None


def is_picked(draft: Draft, e: ast.expr) -> bool:
    """Whether a name is, now and then, given what is picked by measures."""
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    return any(picked_by(draft, b) is not None for b in bound)


def picked_by(draft: Draft, b: Binding) -> ast.expr | None:
    """The same of what a name is set to: `when` of `loss, when = min(history)`, `best = int(np.argmin(losses))`."""
    if b.kind != "assign" or b.value is None:
        return None
    value = _whole(draft, b.value)
    picks = _picks(draft, value) or (isinstance(value, ast.Call) and bool(b.path) and _is_best(draft, value))
    return value if picks else None


def lists_in(draft: Draft, picking: ast.expr) -> list[Held]:
    """The lists of a rank's own measures by which it picks: `losses` of `losses.index(min(losses))`, and of
    `min(range(9), key=lambda i: losses[i])`."""
    calls = [n for n in ast.walk(picking) if isinstance(n, ast.Call)]
    keys = [k.value for n in calls for k in n.keywords if k.arg == "key"]
    functions = [
        n for e in keys for o in draft.values.origins(e) if isinstance(o.node, FUNCTIONS) for n in o.node.body
    ]
    methods = {n.func for n in calls}
    found = dict[str, Held]()
    for place in (picking, *functions):
        within = (e for n in ast.walk(place) if isinstance(n, ast.expr) for e in held_in(n)[:1] if e is n)
        for held in (list_of(draft, e) for e in within if e not in methods):
            if growing(draft, held) and differing(draft, held):
                found[ast.unparse(held)] = held
    return list(found.values())


def _picks(draft: Draft, e: ast.expr) -> bool:
    """Whether a call tells which one is the best by measures, rather than how good that is."""
    if not isinstance(e, ast.Call):
        return False
    name, keys = draft.names.last(e.func), [k.value for k in e.keywords if k.arg == "key"]
    return name in _PLACES or (name in _BESTS and any(_measures(draft, key) for key in keys))


def _measures(draft: Draft, key: ast.expr) -> bool:
    """Whether a key gives what ranks measure: not `lambda r: r.epoch`. One that isn't seen may."""
    made = [o.node for o in draft.values.origins(key)]
    given = [e for f in made if isinstance(f, CALLABLES) for e in draft.values.returned(f)]
    return not given or any(differing(draft, e) for e in given)


def _is_best(draft: Draft, e: ast.expr) -> bool:
    """Whether a call gives the best of several, of which a part may be no measure."""
    if not isinstance(e, ast.Call) or any(k.arg == "key" for k in e.keywords):
        return _picks(draft, e)
    return _picks(draft, e) or (draft.names.last(e.func) in _BESTS and len(e.args) == 1)


def _sorts(draft: Draft, call: ast.Call, held: ast.Name) -> bool:
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    same = isinstance(of, ast.Name) and of.id == held.id
    if not any(_measures(draft, k.value) for k in call.keywords if k.arg == "key"):
        return False
    return same and draft.module.scopes.lookup(held.id, held) is draft.module.scopes.lookup(held.id, call)


def _whole(draft: Draft, e: ast.expr) -> ast.expr:
    """`sorted(history)` of `sorted(history)[0]["epoch"]`"""
    e = _plain(draft, e)
    while isinstance(e, (ast.Subscript, ast.Attribute)):
        e = e.value
    return e


def _plain(draft: Draft, e: ast.expr) -> ast.expr:
    """`np.argmin(losses)` of `int(np.argmin(losses))`"""
    while isinstance(e, ast.Call) and draft.names.last(e.func) in _PLAIN:
        inner = e.func.value if isinstance(e.func, ast.Attribute) and not e.args else None
        given = e.args[0] if len(e.args) == 1 else inner
        if given is None:
            break
        e = given
    return e


__all__ = ["is_picked", "lists_in", "picked_by", "picking"]
