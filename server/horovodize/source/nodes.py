"""What stands inside a node: as `ast.walk` and `ast.iter_child_nodes` give it, without what says how a name is used (`ctx`), in
a third of the time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# Fields that hold no node: names, numbers and text; and how a name is used.
_PLAIN = frozenset("ctx type_comment id attr kind level module asname is_async conversion simple".split())
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly inside a node, in the order of the text."""
    kind = type(node)
    fields = _FIELDS.get(kind)
    if fields is None:
        plain = kind._fields if kind is ast.Constant else _PLAIN
        fields = _FIELDS[kind] = tuple(f for f in kind._fields if f not in plain)
    found: list[ast.AST] = []
    for field in fields:
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [child for child in value if isinstance(child, ast.AST)]
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that stands in it, outer nodes before inner ones."""
    todo = [node]
    while todo:
        yield from todo
        todo = [child for outer in todo for child in children(outer)]


def names_in(node: ast.AST) -> set[str]:
    """The names that are written in a node."""
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def names_set(target: ast.AST) -> set[str]:
    """The names that an assignment to a target sets, or sets a part of: `out` of `out[i] = …`, not `i`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return {name for item in target.elts for name in names_set(item)}
    if isinstance(target, ast.Starred):
        return names_set(target.value)
    return names_in(target.value if isinstance(target, (ast.Subscript, ast.Attribute)) else target)
