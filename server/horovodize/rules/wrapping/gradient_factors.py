"""What gradients are multiplied with or cut by once they are averaged: `[scale * g for g in grads]`. Part of G4.

Where such a number is set by what each rank has measured of its own rows (`if mean > best: scale *= 0.7`), the weights would
differ between ranks from then on, and nobody would notice."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.wrapping.after_averaging import gradients_of

_FAR = 400  # nodes that gradients are made of
_CHANGING = ("assign", "assign_add", "assign_sub")


def settings(draft: Draft) -> set[ast.AST]:
    """The statements and calls that set such numbers."""
    found, kept = set[ast.AST](), set[str]()
    for factor in _factors(draft):
        found |= {b.statement for b in draft.values.bindings(factor) if b.kind in ("assign", "augment")}
        kept.add(ast.unparse(factor))
    for call in draft.sites.method_calls(*_CHANGING) if kept else ():
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in kept:
            found.add(call)
    return found


def _factors(draft: Draft) -> set[ast.Name | ast.Attribute]:
    """The names and fields that gradients are made of beside those that tapes give."""
    found = set[ast.Name | ast.Attribute]()
    for update in draft.sites.updates:
        gradients = gradients_of(draft, update)
        if gradients is None or not update.gradients:
            continue
        averaged = set(draft.values.depends([*update.gradients], _FAR))
        for n in draft.values.depends([gradients], _FAR):
            if n not in averaged and isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load):
                found.add(n)
    return found


__all__ = ["settings"]
