"""What stands for a writer on ranks that write nothing: part of C6.

Where all that is done with a writer is seen, statements that call one or two of its methods, an object of these methods is made
in its place, `types.SimpleNamespace(add_summary=lambda *args: None)`; else a class that takes any method.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules.drafting.draft import Draft

_FEW = 2
_BY_NAME = ("getattr", "vars")


def for_writer(draft: Draft, made: ast.Call) -> str:
    """An expression for what stands for a writer that is made somewhere."""
    methods = _methods(draft, made)
    if methods is None or len(methods) > _FEW or "SilentWriter" in draft.helpers:
        return f"{draft.helper('SilentWriter')}()"
    takes = (
        "*args, **options" if any(call.keywords for calls in methods.values() for call in calls) else "*args"
    )
    given = ", ".join(f"{name}=lambda {takes}: None" for name in methods)
    return f"{draft.needed_module('types')}.SimpleNamespace({given})"


def _methods(draft: Draft, made: ast.Call) -> dict[str, list[ast.Call]] | None:
    """The methods of a writer that statements call, with their calls; None where something else may be done with it."""
    statement = draft.syntax.parent[made]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    todo, seen = [statement.targets[0]], set[ast.expr]()
    found: dict[str, list[ast.Call]] = {}
    while todo:
        reads = _reads(draft, todo.pop())
        if reads is None:
            return None
        for n in (n for n in reads if n not in seen):
            seen.add(n)
            other = _given_to(draft, n)
            if other is not None:
                todo.append(other)
                continue
            method = draft.syntax.parent[n]
            call = draft.syntax.parent[method]
            if (
                not isinstance(method, ast.Attribute)
                or not isinstance(call, ast.Call)
                or call.func is not method
            ):
                return None
            if not isinstance(draft.syntax.parent[call], ast.Expr):
                return None
            found.setdefault(method.attr, []).append(call)
    return found or None


def _given_to(draft: Draft, e: ast.expr) -> ast.Name | None:
    """The name that a writer is given to, alone or as one of two: `writer = self.train if is_training else self.test`."""
    inner, outer = e, draft.syntax.parent[e]
    while isinstance(outer, ast.IfExp) and inner is not outer.test:
        inner, outer = outer, draft.syntax.parent[outer]
    alone = isinstance(outer, ast.Assign) and outer.value is inner and len(outer.targets) == 1
    target = outer.targets[0] if alone and isinstance(outer, ast.Assign) else None
    return target if isinstance(target, ast.Name) else None


def _reads(draft: Draft, target: ast.expr) -> list[ast.expr] | None:
    """All that reads the name, or the attribute of this name of any object, that a writer is bound to."""
    if isinstance(target, ast.Name):
        return None if _is_public(draft, target) else list(_of_name(draft, target))
    if not isinstance(target, ast.Attribute):
        return None
    called = (c for c in draft.syntax.calls if isinstance(c.func, ast.Name) and c.func.id in _BY_NAME)
    if any(True for _ in called):
        return None
    attributes = draft.syntax.every(ast.Attribute)
    read = (n for n in attributes if n.attr == target.attr and isinstance(n.ctx, ast.Load))
    return [n for n in read if draft.names.of(n) is None]  # and not a library's, as `tf.train`


def _is_public(draft: Draft, name: ast.Name) -> bool:
    """Whether other files of a project may read a name: it is one of a module's own."""
    return len(draft.syntax.trees) > 1 and draft.syntax.function(name) is None


def _of_name(draft: Draft, target: ast.Name) -> Iterator[ast.Name]:
    scope = draft.module.scopes.lookup(target.id, target)
    for n in draft.syntax.every(ast.Name):
        if n.id == target.id and isinstance(n.ctx, ast.Load):
            if draft.module.scopes.lookup(n.id, n) is scope:
                yield n


__all__ = ["for_writer"]
