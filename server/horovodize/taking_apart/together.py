"""Assignments that count several numbers on at once, one after the other: `step, rows = step + 1, rows + len(x)`.

Rules ask of each number what it counts, and what counts it on is a statement that does only that. Only where it comes to the
same: no part reads what an earlier one sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from textwrap import dedent

from horovodize.python.augmented import augmented
from horovodize.python.module import Module
from horovodize.source import Edit
from horovodize.source.nodes import walk
from horovodize.summary import ModuleSummary

_TARGETS = (ast.Name, ast.Attribute, ast.Tuple)
_PLAIN = frozenset({"abs", "float", "int", "len", "max", "min", "round", "sum"})
"""Functions that read nothing but what they are given."""


def one_after_the_other(summary: ModuleSummary) -> list[Edit]:
    """Edits that give each part of such an assignment a statement of its own."""
    module = summary.module
    assert module is not None
    return [
        Edit(module.span(statement), _apart(module, statement, parts))
        for statement in module.which(_sets_together, ast.Assign)
        if isinstance(statement, ast.Assign)
        and (parts := _parts(statement))
        and _are_independent(module, statement, parts)
    ]


def _sets_together(module: Module, statement: ast.Assign) -> bool:
    """Whether turns of a loop, or calls of a function, count on by a statement: not `x, y = x / 255.0, y / 255.0`, once."""
    counted = [a for part in _parts(statement) if (a := augmented(part)) is not None]
    counted = [a for a in counted if isinstance(a.operator, (ast.Add, ast.Sub, ast.Mult))]
    if module.syntax.loops(statement):
        return bool(counted)
    function = module.syntax.function(statement)
    shared = (
        s for s in module.syntax.every(ast.Global, ast.Nonlocal) if module.syntax.function(s) is function
    )
    declared = {name for s in shared if isinstance(s, (ast.Global, ast.Nonlocal)) for name in s.names}
    return any(
        isinstance(a.target, ast.Attribute) or (isinstance(a.target, ast.Name) and a.target.id in declared)
        for a in counted
        if function is not None
    )


def is_together(then: str, now: str) -> bool:
    """Whether all that some lines became is that such assignments in them are taken apart."""
    before, after = _statements(then), _statements(now)
    apart = list[ast.stmt]()
    for s in before:
        apart += (_parts(s) if isinstance(s, ast.Assign) else []) or [s]
    return len(apart) > len(before) and list(map(ast.unparse, apart)) == list(map(ast.unparse, after))


def _statements(lines: str) -> list[ast.stmt]:
    try:
        return ast.parse(dedent(lines)).body
    except SyntaxError:
        return []


def _parts(statement: ast.Assign) -> list[ast.Assign]:
    """What an assignment of several values sets, each as one of its own, if one of them counts on."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
            targets
        ) == len(values):
            pairs = list(zip(targets, values, strict=True))
        case _:
            return []
    if any(isinstance(e, ast.Starred) or not isinstance(t, _TARGETS) for t, e in pairs):
        return []
    parts = [ast.Assign([target], value, lineno=statement.lineno) for target, value in pairs]
    return parts if any(augmented(part) is not None for part in parts) else []


def _are_independent(module: Module, statement: ast.Assign, parts: list[ast.Assign]) -> bool:
    """Whether no part reads what an earlier one sets, nor calls what might."""
    for i, part in enumerate(parts[1:], 1):
        targets = [earlier.targets[0] for earlier in parts[:i]]
        names = [
            n for target in targets for n in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
        before = {ast.dump(_read(name)) for name in names}
        own = all(_is_read_here_only(module, statement, name) for name in names)
        if any(_may_read(n, before, own) for n in walk(part.value)):
            return False
    return True


def _is_read_here_only(module: Module, statement: ast.Assign, target: ast.expr) -> bool:
    """Whether no other function reads a name, so that nothing that is called there does."""
    function = module.syntax.function(statement)
    return isinstance(target, ast.Name) and all(
        module.syntax.function(n) is function for n in module.loads.get(target.id)
    )


def _may_read(node: ast.AST, before: set[str], own: bool) -> bool:
    """own: whether nothing that is called reads what is set before"""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in _PLAIN:
            return False
        case ast.Call():
            return not own
        case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
            return True
        case ast.Name() | ast.Attribute():
            return ast.dump(node) in before
    return False


def _read(target: ast.expr) -> ast.expr:
    """A target as an expression that reads it."""
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value, attr, ast.Load())
    return target


def _apart(module: Module, statement: ast.Assign, parts: list[ast.Assign]) -> str:
    texts = list(_texts(module, parts))
    document = module.document
    line = document.lines.content(statement.lineno - 1)
    alone = line[: len(line) - len(line.lstrip())] if document.starts_line(statement) else None
    return "; ".join(texts) if alone is None else f"{document.newline}{alone}".join(texts)


def _texts(module: Module, parts: list[ast.Assign]) -> Iterator[str]:
    for part in parts:
        value = module.text(part.value)
        if "\n" in value or "\r" in value:
            value = f"({value})"
        yield f"{module.text(part.targets[0])} = {value}"
