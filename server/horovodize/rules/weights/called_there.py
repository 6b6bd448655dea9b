"""What the copies of networks are called where a training loop can send them: part of G2."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.step_place import Place
from horovodize.summary.express_in_caller import lift


def said_at(draft: Draft, e: ast.expr, site: ast.AST, place: Place) -> list[ast.expr]:
    """What an expression is called at a place in a function that leads to it, by whatever ways: several objects may have one
    method. Or itself where it is a module's name, or of the same instance."""
    here, found = place.frame.function, dict[str, ast.expr]()
    for way in draft.drive.ways(site):
        frames = [depth for depth, frame in enumerate(way) if frame.function is here]
        lifted = (lift(draft.module, e, way, depth) for depth in frames)
        first = next((x for x in lifted if x is not None and _means_the_same(draft, x, place)), None)
        if first is not None:
            found.setdefault(ast.unparse(first), first)
    return [*found.values()] or _visible_at(draft, e, place)


def _visible_at(draft: Draft, e: ast.expr, place: Place) -> list[ast.expr]:
    root, here = e, place.frame.function
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return []
    scope, visible = (draft.module.scopes.lookup(root.id, at) for at in (root, place.statement))
    if scope is visible and isinstance(scope, ast.Module):
        return [e]
    owners = [draft.syntax.method_class(f) for f in (draft.syntax.function(root), here)]
    same = owners[0] is not None and owners[0] is owners[1] and here is not None
    return [e] if same and here is not None and root.id == "self" == here.args.args[0].arg else []


def _means_the_same(draft: Draft, e: ast.expr, place: Place) -> bool:
    """Whether the names of an expression are those of the same scopes at a place: not so `w` of `[w - g for w in weights]`."""
    lookup = draft.module.scopes.lookup
    names = (n for n in ast.walk(e) if isinstance(n, ast.Name) and n in draft.syntax.parent)
    return all(lookup(n.id, n) is lookup(n.id, place.statement) for n in names)


def is_there(draft: Draft, e: ast.expr, place: Place) -> bool:
    """Whether what an expression begins with was bound before the loop of a place, and its fields before the place."""
    if any(_is_set_later(draft, n, place) for n in ast.walk(e) if isinstance(n, ast.Attribute)):
        return False
    root = next(n for n in ast.walk(e) if isinstance(n, ast.Name))
    scope = draft.module.scopes.lookup(root.id, place.statement)
    bindings = draft.module.scopes.names[scope].get(root.id, []) if scope is not None else []
    loop = place.loop
    inside = loop is not None and any(
        draft.syntax.inside(b.statement, loop) for b in bindings if b.statement is not loop
    )
    late = any(getattr(b.statement, "lineno", 0) > place.statement.lineno for b in bindings)
    local = (
        scope is draft.syntax.function(place.statement)
        or scope is draft.module.tree
        and place.frame.function is None
    )
    return bool(bindings) and not inside and not (late and local)


def _is_set_later(draft: Draft, field: ast.Attribute, place: Place) -> bool:
    """Whether a turn sets a field after the place: `if self.average is None: self.average = Average(model)`. There is none in
    the first turn by then; and the weights that it is made with are rank 0's."""
    if place.loop is None:
        return False
    for b in draft.values.attribute_bindings(field):
        frames = [frame for way in draft.drive.ways(b.statement) for frame in way]
        here = (f.node for f in frames if f.function is place.frame.function and place.loop in f.loops)
        if any(getattr(node, "lineno", 0) > place.statement.lineno for node in here):
            return True
    return False


__all__ = ["is_there", "said_at"]
