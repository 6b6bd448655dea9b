"""Names that say with what steps train: which optimizer, the variables of which model, which rows. Part of G4.

`if mean > last: opt = fine`, `variables = model.trainable_variables` once the head has learnt, `data = data_of(16)`: ranks that
each decide by their own rows would apply the same gradients in other ways, or wait for each other's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding

_FAR = 3  # functions that something is handed on by


def chosen(draft: Draft) -> set[ast.Name | ast.Attribute]:
    """Where steps read what they train, and with what: `opt` and `model` of `opt.minimize(loss, model.trainable_variables)`,
    and `data` of the loops around them."""
    found = set[ast.Name | ast.Attribute]()
    for update in draft.sites.updates:
        sources = (argument(gradient, "sources", 1) for gradient in update.gradients)
        for e in (update.optimizer, *update.variables, *sources):
            found |= set(_read(draft, e, _FAR)) if e is not None and update.step_of is None else set()
    return found | set(_gone_through(draft))


def _gone_through(draft: Draft) -> Iterator[ast.Name | ast.Attribute]:
    """What says how many steps the loops around steps of one's own take: `data` of `for x, y in tqdm(data):`."""
    steps = [u.call for u in draft.sites.updates if u.step_of is None]
    loops = {loop for call in steps for way in draft.drive.ways(call) for f in way for loop in f.loops}
    heads = [loop.iter for loop in loops if isinstance(loop, (ast.For, ast.AsyncFor))]
    heads += [given for d in feeding(draft).drivers for given in feeding(draft).next_calls(d)]
    yield from (n for e in heads for n in ast.walk(e) if isinstance(n, (ast.Name, ast.Attribute)))


def _read(draft: Draft, e: ast.expr, far: int) -> Iterator[ast.Name | ast.Attribute]:
    """What an expression reads, and callers hand over for it; not what is called for it, `SGD(rate)`."""
    todo: list[ast.AST] = [e]
    while todo:
        n = todo.pop()
        if isinstance(n, (ast.Name, ast.Attribute)):
            yield n
        if isinstance(n, ast.Name) and far:
            for b in draft.module.scopes.reaching(n):
                for given in draft.values.passed(b) if b.kind == "parameter" else ():
                    yield from _read(draft, given, far - 1)
        if not isinstance(n, ast.Call):
            todo += [part for part in ast.iter_child_nodes(n) if isinstance(part, ast.expr)]


def is_chosen(draft: Draft, target: ast.expr, read: set[ast.Name | ast.Attribute]) -> bool:
    """Whether steps read what an assignment sets."""
    lookup = draft.module.scopes.lookup
    if isinstance(target, ast.Name):
        return any(
            isinstance(n, ast.Name) and n.id == target.id and lookup(n.id, n) is lookup(target.id, target)
            for n in read
        )
    if not isinstance(target, ast.Attribute):
        return False
    homes = draft.values.receiver(target.value)
    return any(
        isinstance(n, ast.Attribute)
        and n.attr == target.attr
        and (ast.unparse(n) == ast.unparse(target) or not homes.isdisjoint(draft.values.receiver(n.value)))
        for n in read
    )


__all__ = ["chosen", "is_chosen"]
