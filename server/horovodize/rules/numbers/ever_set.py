"""All that a variable or a field is set to, wherever that is, not only what reaches a place."""

from __future__ import annotations

import ast

from horovodize.python.binding import Binding
from horovodize.rules.drafting.draft import Draft


def ever_set(draft: Draft, e: ast.Name | ast.Attribute) -> list[Binding]:
    """All bindings of what an expression reads."""
    if isinstance(e, ast.Name):
        home = draft.module.scopes.lookup(e.id, e)
        return list(draft.module.scopes.names[home].get(e.id, ())) if isinstance(home, ast.AST) else []
    own = draft.values.receiver(e.value)
    of_name = draft.module.scopes.attributes.get(e.attr, ())
    return [
        b
        for b in of_name
        if isinstance(b.anchor, ast.Attribute) and draft.values.receiver(b.anchor.value) & own
    ]


__all__ = ["ever_set"]
