"""Steps from a tape's gradients that are taken back before the update: sharpness-aware minimization (SAM).

Variables are moved up their gradients, other gradients are taken there, and the variables are moved back by as much. With the
first gradients averaged, too, all ranks move alike, and come back to the same numbers, to the last bit."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from horovodize.python.module import Module
from horovodize.python.syntax import argument, position

_BACK = {"assign_add": "assign_sub", "assign_sub": "assign_add"}


def is_taken_back(
    module: Module, calls: Sequence[ast.Call], appended: Callable[[ast.Name], list[ast.expr]]
) -> bool:
    """Whether the calls of `assign_add` and `assign_sub` that are made of one gradient are one move and its way back: for each
    variable of a list, by what the move has put into another list, or both have got from one."""
    if len(calls) != 2:
        return False
    move, back = sorted(calls, key=position)
    by, again = (argument(c, "delta", 0) or argument(c, "value", 0) for c in (move, back))
    syntax = module.syntax
    there, home = (syntax.loops(c) for c in (move, back))
    if not isinstance(again, ast.Name) or by is None or _BACK.get(_method(move)) != _method(back):
        return False
    if not there or not home or there[1:] != home[1:] or there[0] is home[0]:
        return False
    if any(_is_conditional(module, c, loops[0]) for c, loops in ((move, there), (back, home))):
        return False
    moved, kept = _gone_through(home[0], _variable(back), again)
    if isinstance(by, ast.Name) and _is_by_one_list(module, there[0], move, by, moved, kept):
        return True
    return (
        moved is not None
        and isinstance(kept, ast.Name)
        and _all_of(there[0], _variable(move)) == ast.unparse(moved)
        and [ast.dump(e) for e in appended(kept)] == [ast.dump(by)]
        and any(_appends_to(kept.id, s) for s in syntax.block(syntax.statement(move)))
    )


def _is_by_one_list(
    module: Module, loop: ast.AST, move: ast.Call, by: ast.Name, moved: ast.expr | None, kept: ast.expr | None
) -> bool:
    """Whether a move goes through the same two lists as its way back, `for v, e in zip(variables, moves):` in both."""
    there, given = _gone_through(loop, _variable(move), by)
    if moved is None or there is None or not isinstance(kept, ast.Name) or not isinstance(given, ast.Name):
        return False
    made = [module.scopes.reaching(name) for name in (given, kept)]
    is_list = (
        len(made[0]) == 1 and isinstance(made[0][0].value, (ast.ListComp, ast.List)) and not made[0][0].path
    )
    return is_list and made[0] == made[1] and ast.dump(there) == ast.dump(moved)


def _appends_to(name: str, statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr="append"))):
            return found == name
    return False


def _is_conditional(module: Module, call: ast.Call, loop: ast.AST) -> bool:
    """Whether not each turn of a loop comes to a call."""
    for around in module.syntax.ancestors(call):
        if around is loop:
            break
        if isinstance(around, (ast.If, ast.IfExp, ast.Try, ast.BoolOp)):
            return True
    return any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(loop))


def _gone_through(
    loop: ast.AST, variable: ast.expr, value: ast.Name
) -> tuple[ast.expr | None, ast.expr | None]:
    """The lists that `for variable, value in zip(variables, values):` goes through."""
    match loop:
        case ast.For(
            target=ast.Tuple(elts=targets), iter=ast.Call(func=ast.Name(id="zip"), args=lists, keywords=[])
        ) if len(targets) == len(lists):
            names = {t.id: e for t, e in zip(targets, lists, strict=True) if isinstance(t, ast.Name)}
            return names.get(ast.unparse(variable)), names.get(value.id)
    return None, None


def _all_of(loop: ast.AST, variable: ast.expr) -> str:
    """The list, each of whose variables a loop goes to: by `zip(variables, …)`, or by its number, `variables[i]`."""
    match loop, variable:
        case ast.For(target=ast.Tuple(), iter=ast.Call(args=[other, *_])), ast.Name():
            moved, _ = _gone_through(loop, variable, ast.Name(ast.unparse(other), ast.Load()))
            return ast.unparse(moved) if moved is not None else ""
        case (
            ast.For(
                target=ast.Name(id=i),
                iter=ast.Call(func=ast.Name(id="range"), args=[ast.Call(args=[counted])]),
            ),
            ast.Subscript(value=listed, slice=ast.Name(id=j)),
        ) if i == j and ast.dump(counted) == ast.dump(listed):
            return ast.unparse(listed)
    return ""


def _variable(call: ast.Call) -> ast.expr:
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""
