"""One place where a name gets a value."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "assign",
    "augment",
    "item",
    "with",
    "parameter",
    "import",
    "def",
    "class",
    "except",
    "match",
    "delete",
    "put",
]


@dataclass(eq=False, slots=True)  # `frozen` would take four times as long to make one, and there are many
class Binding:
    """One place where a name gets a value.

    kind       assign: `value`, or the part `path` of it; item: an item of the iterable `value` (or a part of the item);
               with: what the context manager `value` gives; import: the dotted `imported`; augment: `target op= value`, also
               spelt out as `target = target op value`; put: the list `anchor` gets one more item, `value`
    statement  the statement (for a parameter: the function; for a comprehension: the statement around it)
    anchor     the node that is the target
    """

    kind: Kind
    name: str
    statement: ast.AST
    anchor: ast.AST
    value: ast.expr | None = None
    path: tuple[int, ...] = ()
    imported: str = ""
    operator: ast.operator | None = None
