"""Weights that a program of its own loops keeps as numbers before its first step, and trains with later: part of G2.

What a run begins again with (`model.set_weights(start)` in each fold), the slow weights of Lookahead, the anchor of a penalty.
Ranks take rank 0's weights after their first step only; what was kept before are each rank's own random ones, and the ranks'
models or losses would differ. So they take rank 0's before. Variables that are mixed with a model's in pairs are broadcast with
it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.syntax import FUNCTIONS, Loop, arguments
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import CORE, Draft
from horovodize.rules.weights.called_there import is_there, said_at
from horovodize.rules.weights.step_place import Place
from horovodize.rules.weights.target_networks import blended, losses_of, of_models
from horovodize.summary.express_in_caller import is_plain, outwards

_WHAT = "Take rank 0's weights before they are kept"
_WHY = "Before the first step each rank has its own random weights; trained with later, the ranks' models would differ."
_COMMENT = "Horovod: what is kept of the weights begins with rank 0's on every rank."
_OWN = (
    "this keeps weights from before the first step, which are random and each rank's own, and trains with them later; let "
    "every rank keep rank 0's, by `hvd.broadcast_variables(model.variables, root_rank=0)` before"
)
_SETTING = ("set_weights", "assign", "assign_add", "assign_sub")
_FAR = 400  # nodes that are looked at behind what weights are set to


def begin_alike(draft: Draft, places: Sequence[Place]) -> None:
    """Broadcasts the weights of models before a program keeps them. `places`: where models are broadcast, with the copies that
    have a name there."""
    loops = _training_loops(draft)
    if draft.in_graph or keras_session.is_wanted(draft) or not loops:
        return
    sent = {ast.unparse(copy) for copy, site in blended(draft) if _is_sent(draft, copy, site, places)}
    kept = [(at, e, base) for s, e in _kept(draft, loops) for at, base in _taken_of(draft, e, s, sent)]
    read = _trained_with(draft, loops) if kept else set()
    for statement, value, base in kept:
        if value not in read or not draft.once(f"kept weights of {ast.unparse(base)}", statement):
            continue
        if not (draft.can_insert(statement) and draft.uniform.reached_alike(statement)):
            draft.ask("G2", statement, _WHAT, _WHY, _OWN)
            continue
        line = f"{CORE}.broadcast_variables({ast.unparse(base)}.variables, root_rank=0)"
        edit = draft.before(statement, draft.lines_of(line, comment=_COMMENT))
        draft.change("G2", statement, _WHAT, _WHY, [edit])


def _is_sent(draft: Draft, copy: ast.expr, site: ast.AST, places: Sequence[Place]) -> bool:
    """Whether a copy is broadcast with the model: what a closure keeps, or a default value, has no name where that is."""
    return any(
        is_plain(e) and is_there(draft, e, place)
        for place in places
        for e in said_at(draft, copy, site, place)
    )


def _training_loops(draft: Draft) -> set[Loop]:
    steps = [u.call for u in draft.sites.updates]
    return {loop for call in steps for way in draft.drive.ways(call) for f in way for loop in f.loops}


def _kept(draft: Draft, loops: set[Loop]) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """(statement, value) of what is set before the first step; also what a parameter is where it isn't passed."""
    for statement, value in _set(draft):
        around = {loop for way in draft.drive.ways(statement) for f in way for loop in f.loops}
        function = draft.syntax.function(statement)
        beside = [loop for loop in loops if draft.syntax.function(loop) is function]
        if not around & loops and (not beside or any(statement.lineno < loop.lineno for loop in beside)):
            yield statement, value


def _set(draft: Draft) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """(statement, value) of what is set anywhere, each of `model, slow = …, …` by itself."""
    for statement in draft.syntax.every(ast.Assign, ast.AnnAssign):
        if isinstance(statement.value, ast.Tuple):
            yield from ((statement, e) for e in statement.value.elts)
        elif statement.value is not None:
            yield statement, statement.value
    for function in draft.syntax.functions:
        given = [*function.args.defaults, *(e for e in function.args.kw_defaults if e is not None)]
        yield from ((function, e) for e in given)


def _taken_of(
    draft: Draft, value: ast.expr, statement: ast.stmt, sent: set[str]
) -> list[tuple[ast.stmt, ast.expr]]:
    """(before which statement it must be sent, the trained model) of which a value holds the weights as they are at that time.
    `sent`: the copies, as they are written, that are broadcast with the model."""
    if any(ast.unparse(n) in sent for n in ast.walk(statement) if isinstance(n, (ast.Name, ast.Attribute))):
        return []
    base = _weights_in(draft, value) or next(_weights_given_back(draft, value), None)
    return [(statement, base)] if base is not None else list(_weights_handed(draft, value))


def _weights_handed(draft: Draft, value: ast.expr) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """The same of weights that a function is handed as a list: where that is read, `Lookahead(model.trainable_variables)`."""
    for n in ast.walk(value):
        listed = n.iter if isinstance(n, ast.comprehension) else None
        if not isinstance(listed, (ast.Name, ast.Attribute)) or not _are_copied(draft, value, listed):
            continue
        for made in of_models(draft, listed):
            if _is_trained(draft, made.value):
                yield draft.syntax.statement(made), made.value


def _weights_given_back(draft: Draft, value: ast.expr) -> Iterator[ast.expr]:
    """The same of a function's: `start = snapshot(model)`."""
    for call in (n for n in ast.walk(value) if isinstance(n, ast.Call)):
        callee = draft.values.callee(call)
        if not isinstance(callee, FUNCTIONS):
            continue
        for returned in draft.values.returned(callee):
            base = _weights_in(draft, returned)
            told = outwards(draft.module, base, callee, call) if base is not None else None
            if told is not None:
                yield told


def _weights_in(draft: Draft, value: ast.expr) -> ast.expr | None:
    """The trained model whose weights an expression reads."""
    for n in ast.walk(value):
        if not isinstance(n, ast.Attribute):
            continue
        called = draft.syntax.parent.get(n)
        whole = n.attr == "get_weights" and isinstance(called, ast.Call) and called.func is n
        each = n.attr in OF_MODEL and _are_copied(draft, value, n)
        if (whole or each) and _is_trained(draft, n.value):
            return n.value
    return None


def _are_copied(draft: Draft, value: ast.expr, variables: ast.Name | ast.Attribute) -> bool:
    """Whether a value holds what each of some variables is at that time."""
    return any(_is_read(draft, c, variables) for c in ast.walk(value))


def _is_read(draft: Draft, e: ast.AST, variables: ast.Name | ast.Attribute) -> bool:
    """`[v.numpy() for v in model.variables]`, `{v.name: tf.identity(v) for …}`, `list(map(tf.identity, model.variables))`"""
    if isinstance(e, ast.Call) and draft.names.last(e.func) == "map" and variables in e.args:
        return True
    if not isinstance(e, (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)):
        return False
    own = [
        g.target.id for g in e.generators if variables in ast.walk(g.iter) and isinstance(g.target, ast.Name)
    ]
    items = [e.value] if isinstance(e, ast.DictComp) else [e.elt]
    return any(_is_copied(draft, n, own) for item in items for n in ast.walk(item))


def _is_copied(draft: Draft, n: ast.AST, names: list[str]) -> bool:
    if not isinstance(n, ast.Call):
        return False
    if isinstance(n.func, ast.Attribute) and n.func.attr in ("numpy", "read_value", "value"):
        return isinstance(n.func.value, ast.Name) and n.func.value.id in names
    copies = draft.names.last(n.func) in (
        "identity",
        "copy",
        "array",
        "deepcopy",
        "convert_to_tensor",
        "Variable",
    )
    return copies and any(isinstance(a, ast.Name) and a.id in names for a in n.args)


def _is_trained(draft: Draft, base: ast.expr) -> bool:
    """Whether an expression is a model that a step trains."""
    made, text = set(draft.values.calls(base)), ast.unparse(base)
    parts = [n for u in draft.sites.updates for v in u.variables for n in draft.values.depends([v], _FAR)]
    models = [n.value for n in parts if isinstance(n, ast.Attribute) and n.attr in OF_MODEL]
    return any(made & set(draft.values.calls(m)) or (not made and ast.unparse(m) == text) for m in models)


def _trained_with(draft: Draft, loops: set[Loop]) -> set[ast.AST]:
    """What the losses are made of, and what weights are set to in the loops that train."""
    roots: list[ast.AST] = list(losses_of(draft))
    for call in draft.sites.method_calls(*_SETTING):
        ways = draft.drive.ways(call)
        if any(loop in loops for way in ways for f in way for loop in f.loops):
            roots += arguments(call)
    found = set(draft.values.depends(roots, _FAR * 5))
    filled = [e for n in found if isinstance(n, ast.Name) for e in draft.sites.flow.appended(n)]
    found |= set(draft.values.depends(filled, _FAR * 5))
    items = [
        b.value
        for n in found
        if isinstance(n, ast.Name)
        for b in draft.module.scopes.reaching(n)
        if b.value is not None
    ]
    return found | set(draft.values.depends(items, _FAR * 5)) | set(items)


__all__ = ["begin_alike"]
