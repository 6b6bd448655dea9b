"""In which order the parts of a statement are evaluated, as far as taking one of them out of it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, FUNCTIONS

_ACTS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def before(module: Module, expression: ast.expr, place: ast.AST) -> list[ast.AST] | None:
    """What a statement, or an expression, evaluates before another expression in it; None where it may evaluate that never,
    later, or more than once."""
    found: list[ast.AST] = []
    child: ast.AST = expression
    while child is not place:
        parent = module.syntax.parent[child]
        if isinstance(parent, (*CALLABLES, *COMPREHENSIONS)) or not _always_runs(parent, child):
            return None
        found += _before(parent, child)
        child = parent
    return found


def acts(node: ast.AST) -> bool:
    """Whether evaluating a node may do something, or change a name."""
    return any(isinstance(n, _ACTS) for n in ast.walk(node))


def stays(module: Module, node: ast.AST) -> bool:
    """Whether a node has the same value before and after other functions of the program have run."""
    return not acts(node) and all(_stays(module, n) for n in ast.walk(node))


def _stays(module: Module, node: ast.AST) -> bool:
    scopes, syntax = module.scopes, module.syntax
    match node:
        case ast.Subscript():
            return False
        case ast.Attribute() if module.names.of(node) is None:
            places = [syntax.function(b.statement) for b in scopes.attributes.get(node.attr, ())]
            return all(isinstance(f, FUNCTIONS) and f.name == "__init__" for f in places)
        case ast.Name():
            scope = scopes.lookup(node.id, node)
            bindings = scopes.names[scope][node.id] if scope is not None else []
            own = scope if isinstance(scope, FUNCTIONS) else None
            return all(b.kind == "parameter" or syntax.function(b.statement) is own for b in bindings)
        case _:
            return True


def _always_runs(parent: ast.AST, child: ast.AST) -> bool:
    """Whether evaluating a node evaluates one of its parts, once."""
    match parent:
        case ast.IfExp():
            return child is parent.test
        case ast.BoolOp():
            return child is parent.values[0]
        case ast.Compare():
            return child not in parent.comparators[1:]
        case ast.Assert():
            return child is parent.test
        case ast.With() | ast.AsyncWith():
            return child is parent.items[0]
        case ast.For():
            return child is parent.iter
        case ast.stmt():
            return isinstance(
                parent, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If, ast.Match)
            )
        case _:
            return True


def _before(parent: ast.AST, child: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that are evaluated before one of them."""
    match parent:
        case ast.Assign() | ast.AnnAssign():
            return  # targets come last
        case ast.AugAssign():
            yield parent.target
        case ast.Dict():
            for pair in zip(parent.keys, parent.values, strict=True):
                for item in pair:
                    if item is child:
                        return
                    if item is not None:
                        yield item
        case ast.withitem() | ast.For():
            return
        case _:
            for part in ast.iter_child_nodes(parent):
                if part is child:
                    return
                if not isinstance(part, (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)):
                    yield part
