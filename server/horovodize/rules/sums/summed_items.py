"""Sums that a loop keeps in fields and items, `self.total += loss`, `history["loss"][epoch] += loss`: part of G4, G5 and S5."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import position
from horovodize.rules.drafting.draft import Draft
from horovodize.summary.feeding import Driver


def is_one(draft: Draft, driver: Driver, what: ast.AST, sums: set[str]) -> bool:
    """Whether something is such a sum, or is computed of one; or all the sums of a container, `sums / n`. No later one that is
    called so.

    sums: what the loop adds to, as it is written"""
    others = {text for text in sums if not text.isidentifier()}
    return any(_is_of_loop(draft, driver, text, what) for text in _meant(draft, what, others))


def _meant(draft: Draft, what: ast.AST, others: set[str]) -> Iterator[str]:
    """The sums that something is, or is computed of."""
    if not others:
        return
    parts = (n for n in ast.walk(what) if isinstance(n, (ast.Attribute, ast.Subscript)))
    yield from others & {ast.unparse(n) for n in parts}
    if isinstance(what, (ast.Name, ast.Attribute)):
        yield from (text for text in others if text.startswith(f"{ast.unparse(what)}["))
    elif isinstance(what, ast.Subscript):
        in_turn = set(_in_turn(draft, what))
        if in_turn <= others:  # with what else is divided here, none of which the loop adds to, it stays
            yield from in_turn


def _in_turn(draft: Draft, item: ast.Subscript) -> Iterator[str]:
    """Of `history[key][e]` in `for key in ["loss", "accuracy"]` those two items."""
    written = ast.unparse(item)
    for name in (n for n in ast.walk(item) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)):
        for b in draft.module.scopes.reaching(name):
            loop = b.statement
            listed = loop.iter if isinstance(loop, ast.For) and b.kind == "item" and not b.path else None
            if isinstance(listed, (ast.List, ast.Tuple)):
                key = f"[{name.id}]"
                yield from (written.replace(key, f"[{ast.unparse(e)}]") for e in listed.elts)


def _is_of_loop(draft: Draft, driver: Driver, text: str, what: ast.AST) -> bool:
    """Whether a sum was last set, before a place, in a loop: not by another one that is called so."""
    function, place = draft.syntax.function(driver.loop), draft.syntax.statement(what)
    sets = [
        n
        for n in draft.syntax.every(ast.Assign, ast.AugAssign)
        if draft.syntax.function(n) is function
        and position(n) < position(place)
        and any(ast.unparse(t) == text for t in (n.targets if isinstance(n, ast.Assign) else [n.target]))
    ]
    inside = draft.syntax.inside(place, driver.loop)
    return inside or (bool(sets) and draft.syntax.inside(max(sets, key=position), driver.loop))


__all__ = ["is_one"]
