"""What tests of a loop's number are made of: `i % 20 == 0` of nothing that says how many turns there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.facts import Facts
from horovodize.python.module import Module

_ARITHMETIC = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Name, ast.Attribute, ast.Constant,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip


def made_of_numbers(facts: Facts, e: ast.expr) -> Iterator[ast.expr]:
    """An expression, or where it does nothing but calculate, its names: of the number of a loop around it, that is where
    `range` begins, and how far it goes in a turn. Where that ends doesn't say in which turn the loop is. An elastic state says
    the same on all ranks."""
    if not all(isinstance(n, _ARITHMETIC) for n in ast.walk(e)):
        yield e
        return
    for part in _parts(e):
        if isinstance(part, ast.Attribute):
            of = part.value
            if not (isinstance(of, ast.Name) and facts.collectives.is_elastic_state(of)):
                yield part
            continue
        counted = _range_of(facts.module, part)
        if counted is None:
            yield part
        else:
            for bound in (*counted.args[: len(counted.args) > 1], *counted.args[2:]):
                yield from made_of_numbers(facts, bound)


def number_choices(facts: Facts, loop: ast.For | ast.AsyncFor) -> Iterator[ast.expr]:
    """The tests that choose how often a loop over a `range` turns: `range(2 if test else 1)`, also by a name that is bound
    so, or in the arms of an `if` before the loop."""
    through, syntax = loop.iter, facts.module.syntax
    if (
        not isinstance(through, ast.Call)
        or not isinstance(through.func, ast.Name)
        or through.func.id != "range"
    ):
        return
    around = {test for test, _ in syntax.conditions(loop)}
    for e in through.args:
        yield from (n.test for n in ast.walk(e) if isinstance(n, ast.IfExp))
        bound = facts.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
        for b in bound:
            if b.kind == "assign" and isinstance(b.value, ast.IfExp) and not b.path:
                yield b.value.test
            if (
                b.kind == "assign"
                and len(bound) > 1
                and syntax.function(b.statement) is syntax.function(loop)
            ):
                yield from (
                    test.test
                    for test, _ in syntax.conditions(b.statement)
                    if test not in around and isinstance(test, ast.If)
                )


def _parts(e: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """The names and attributes that an expression calculates with."""
    if isinstance(e, (ast.Name, ast.Attribute)):
        yield e
        return
    for child in ast.iter_child_nodes(e):
        yield from _parts(child)


def _range_of(module: Module, name: ast.Name) -> ast.Call | None:
    """The `range` that a loop around a name goes through by it."""
    bound = module.scopes.reaching(name)
    loop = bound[0].statement if len(bound) == 1 else None
    if (
        not isinstance(loop, ast.For)
        or bound[0].anchor is not loop.target
        or not module.syntax.inside(name, loop)
    ):
        return None
    through = loop.iter
    if not isinstance(through, ast.Call) or not isinstance(through.func, ast.Name) or through.keywords:
        return None
    is_range = through.func.id == "range" and module.scopes.lookup("range", through.func) is None
    return through if is_range and not any(isinstance(a, ast.Starred) for a in through.args) else None
