"""Moving averages that are kept layer by layer, or weight by weight: part of G7.

for kept, layer in zip(average.layers, model.layers):
    kept.kernel.assign(0.99 * kept.kernel + 0.01 * layer.kernel)

Or in a dictionary of a program's own: `average = shadow[v.name]`, `average.assign(0.99 * average + 0.01 * v)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.smoothing.mixtures import is_moving_average, named, stands_for
from horovodize.rules.weights.target_networks import made_of

_HOLDING = (*OF_MODEL, "layers")


def mixed(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """(what is kept, what it is set to, where) for parts of a model that are made of themselves and of another part."""
    for part, call in _set(draft, "assign"):
        yield ast.unparse(part), call.args[0], call


def changed(draft: Draft) -> Iterator[tuple[str, ast.expr, bool, ast.AST]]:
    """(what is kept, by what it is changed, whether that is added, where), of `kept.kernel.assign_sub(…)`."""
    for part, call in _set(draft, "assign_add", "assign_sub"):
        yield ast.unparse(part), call.args[0], draft.names.last(call.func) == "assign_add", call


def _set(draft: Draft, *methods: str) -> Iterator[tuple[ast.expr, ast.Call]]:
    for call in draft.sites.method_calls(*methods):
        part = call.func.value if isinstance(call.func, ast.Attribute) and call.args else None
        if part is None or not (_is_part_of_a_model(draft, part) or _is_item_of_averages(draft, part, call)):
            continue
        text = ast.unparse(part)
        parts = [e for e in ast.walk(call.args[0]) if isinstance(e, (ast.Name, ast.Attribute, ast.Subscript))]
        own = {inner for e in parts if stands_for(draft, e, text) for inner in ast.walk(e)}
        if own and any(e not in own and _is_of_a_model(draft, e) for e in parts):
            yield part, call


def _is_part_of_a_model(draft: Draft, part: ast.expr) -> bool:
    return isinstance(part, (ast.Attribute, ast.Subscript)) and _is_of_a_model(draft, part)


def _is_item_of_averages(draft: Draft, part: ast.expr, call: ast.Call) -> bool:
    """Whether a call moves an item of some container, `shadow[v.name]`, a little nearer to something."""
    item = named(draft, part)
    by = {"assign_add": True, "assign_sub": False}.get(draft.names.last(call.func))
    return isinstance(item, ast.Subscript) and is_moving_average(draft, ast.unparse(part), call.args[0], by)


def _is_of_a_model(draft: Draft, e: ast.expr) -> bool:
    """`average.layers[0].kernel`; `layer.kernel` of a loop through layers."""
    parts = [n for n in ast.walk(e) if isinstance(n, (ast.Name, ast.Attribute))]
    if any(isinstance(n, ast.Attribute) and n.attr in _HOLDING for n in parts):
        return True
    bound = [b for n in parts if isinstance(n, ast.Name) for b in draft.module.scopes.reaching(n)]
    through = [b.value for b in bound if b.kind == "item" and b.value is not None]
    handed = [made for of in through for made in made_of(draft, of)]  # a list of them that an object keeps
    return any(
        isinstance(n, ast.Attribute) and n.attr in _HOLDING
        for of in (*through, *handed)
        for n in ast.walk(of)
    )
