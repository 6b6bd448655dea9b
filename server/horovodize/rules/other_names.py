"""What something is under another name: `optimizer = self.model.optimizer`, then `optimizer.learning_rate = 0.001`."""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft


def attributes_meant(draft: Draft, e: ast.expr) -> list[ast.Attribute]:
    """The attributes that an expression may be: itself, and what a name, a field or a parameter was given."""
    meant: list[ast.AST] = [e]
    if isinstance(e, (ast.Name, ast.Attribute)):
        meant += [o.node for o in draft.values.origins(e) if not o.path]
    return [n for n in dict.fromkeys(meant) if isinstance(n, ast.Attribute)]
