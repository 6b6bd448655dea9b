"""What a program keeps beside the model and brings up to date from it: target networks, moving averages. Part of G2.

They are made before the first broadcast, so each rank's hold its own random weights. Where the training looks at them (the
targets of a value network), ranks would learn from different ones for as long as the copies take to forget them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from horovodize.rules.draft import Draft
from horovodize.rules.step_place import Place
from horovodize.rules.step_state import OF_MODEL
from horovodize.summary.lift import is_plain, lift
from horovodize.summary.syntax import LOOPS, Loop

_ASSIGNS = ("assign", "assign_add", "assign_sub")
Copy: TypeAlias = tuple[ast.expr, ast.AST]  # the model or list of variables, and where it is written to


def copies_at(draft: Draft, place: Place, trained: set[str]) -> list[str]:
    """The variables of the copies that training reads or writes, as they are called at a place; without those in `trained`."""
    found: dict[str, None] = {}
    for copy, site in (*_copied_models(draft, place), *blended(draft)):
        at_place = _said_at(draft, copy, site, place)
        if at_place is None or not is_plain(at_place) or not _is_there(draft, at_place, place):
            continue
        if isinstance(at_place, ast.Attribute) and at_place.attr in OF_MODEL:
            at_place = at_place.value
            text = f"{ast.unparse(at_place)}.variables"
        else:
            text = ast.unparse(at_place)
        if text not in trained:
            found[text] = None
    return list(found)


def _copied_models(draft: Draft, place: Place) -> Iterator[Copy]:
    """`target.set_weights(model.get_weights())` of a model that training calls, too: there, and where that is."""
    calls = [(ast.unparse(e), e, call) for e, call in _called(draft) if _is_in_training(draft, call, place)]
    for call in draft.sites.method_calls("set_weights"):
        assert isinstance(call.func, ast.Attribute)
        model = call.func.value
        taken = draft.values.depends(call.args, 200)
        if any(isinstance(n, ast.Call) and draft.names.last(n.func) == "get_weights" for n in taken):
            uses = [(e, use) for text, e, use in calls if text == ast.unparse(model)]
            for e, site in ((model, call), *uses) if uses else ():
                yield ast.Attribute(e, "variables", ast.Load()), site


def _called(draft: Draft) -> Iterator[tuple[ast.expr, ast.Call]]:
    """What is called, or asked to predict, with the call."""
    for call in draft.syntax.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("predict", "predict_on_batch", "call"):
            yield call.func.value, call
        elif isinstance(call.func, (ast.Name, ast.Attribute)):
            yield call.func, call


def _is_in_training(draft: Draft, call: ast.Call, place: Place) -> bool:
    """Whether a call is made where the steps are taken: what is only looked at between epochs need not be there yet."""
    return any(
        draft.syntax.inside(frame.node, place.loop)
        if place.loop is not None
        else frame.function is place.frame.function
        for way in draft.drive.ways(call)
        for frame in way
    )


def blended(draft: Draft) -> Iterator[Copy]:
    """`for c, v in zip(copies, model.variables): c.assign(0.99 * c + 0.01 * v)`."""
    for call in draft.sites.method_calls(*_ASSIGNS):
        assert isinstance(call.func, ast.Attribute)
        loop = next((a for a in draft.syntax.ancestors(call) if isinstance(a, LOOPS)), None)
        pairs = _zipped(draft, loop) if loop is not None and isinstance(call.func.value, ast.Name) else {}
        copy = pairs.get(ast.unparse(call.func.value))
        read = {n.id for arg in call.args for n in ast.walk(arg) if isinstance(n, ast.Name)}
        if copy is not None and any(
            pairs[name] is not copy and _is_of_model(draft, pairs[name], call) for name in read & pairs.keys()
        ):
            yield copy, call


def _zipped(draft: Draft, loop: Loop) -> dict[str, ast.expr]:
    """What the targets of `for a, b in zip(x, y)` are items of."""
    if isinstance(loop, ast.While) or not isinstance(loop.target, ast.Tuple):
        return {}
    e = loop.iter
    if (
        not isinstance(e, ast.Call)
        or draft.names.last(e.func) != "zip"
        or len(e.args) != len(loop.target.elts)
    ):
        return {}
    pairs = zip(loop.target.elts, e.args, strict=True)
    return {target.id: of for target, of in pairs if isinstance(target, ast.Name)}


def _is_of_model(draft: Draft, e: ast.expr, site: ast.AST) -> bool:
    """Whether an expression stands for a model's variables, of a parameter: wherever it is called."""
    if isinstance(e, ast.Attribute):
        return e.attr in OF_MODEL
    given = [lift(draft.module, e, way, 1) for way in draft.drive.ways(site) if len(way) > 1]
    return bool(given) and all(isinstance(g, ast.Attribute) and g.attr in OF_MODEL for g in given)


def _said_at(draft: Draft, e: ast.expr, site: ast.AST, place: Place) -> ast.expr | None:
    """An expression at a place in a function that leads to it; or where it is a module's name, or of the same instance."""
    here = place.frame.function
    for way in draft.drive.ways(site):
        for depth, frame in enumerate(way):
            lifted = lift(draft.module, e, way, depth) if frame.function is here else None
            if lifted is not None:
                return lifted
    root = e
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return None
    scope, visible = (draft.module.scopes.lookup(root.id, at) for at in (root, place.statement))
    if scope is visible and isinstance(scope, ast.Module):
        return e
    owners = [draft.syntax.method_class(f) for f in (draft.syntax.function(root), here)]
    same = owners[0] is not None and owners[0] is owners[1] and here is not None
    return e if same and here is not None and root.id == "self" == here.args.args[0].arg else None


def _is_there(draft: Draft, e: ast.expr, place: Place) -> bool:
    """Whether what an expression begins with was bound before the loop of a place."""
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
