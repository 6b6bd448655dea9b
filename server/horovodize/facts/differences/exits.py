"""How a loop is left, or a turn of it cut short."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.names import Names
from horovodize.python.syntax import CALLABLES, LOOPS, Loop, Syntax

_ENDS = ("exit", "quit", "sys.exit", "os._exit")
_LAST = tuple({name.rpartition(".")[2] for name in _ENDS})
_PARTS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def exits(loop: Loop) -> list[ast.stmt]:
    """The statements that leave a loop: its own `break`s, `return`s, and what asks that to stop by which the loop ends:
    `coordinator.request_stop()` in a `while not coordinator.should_stop():`."""
    found, asked = list(_statements(loop)), asked_to_stop(loop)
    return [
        n
        for n, own in found
        if isinstance(n, ast.Return)
        or (own and isinstance(n, ast.Break))
        or (asked and _receiver(n, "request_stop") in asked)
    ]


def asked_to_stop(loop: Loop) -> set[str]:
    """What a loop asks whether it should stop: in its head, or in a turn (`if coordinator.should_stop(): break`)."""
    heads = [loop.test] if isinstance(loop, ast.While) else []
    for n, own in _statements(loop):
        if own and isinstance(n, ast.If) and any(isinstance(s, ast.Break) for s in n.body):
            heads.append(n.test)
    calls = (n for head in heads for n in ast.walk(head) if isinstance(n, ast.Call))
    return {
        ast.unparse(c.func.value)
        for c in calls
        if isinstance(c.func, ast.Attribute) and c.func.attr == "should_stop"
    }


def _receiver(statement: ast.stmt, method: str) -> str | None:
    """`coordinator` of a statement `coordinator.request_stop()`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver, attr=attr))) if attr == method:
            return ast.unparse(receiver)
        case _:
            return None


def ends_program(call: ast.Call, names: Names) -> bool:
    """Whether a call ends the process: `sys.exit(1)`."""
    return (names.of(call.func) or (call.func.id if isinstance(call.func, ast.Name) else "")) in _ENDS


def program_ends(module: Module) -> list[ast.Call]:
    """The calls that end the process."""
    return [c for c in module.calls_called(*_LAST) if ends_program(c, module.names)]


def ends_well(call: ast.Call) -> bool:
    """Whether it ends as one that has done its work. With a status, the launcher ends all ranks."""
    return all(isinstance(status, ast.Constant) and not status.value for status in call.args[:1])


def ends_all(statement: ast.stmt, names: Names) -> bool:
    """Whether a statement ends the program as one that has done its work: `sys.exit()`, `raise SystemExit`. What follows is for
    those that don't come there."""
    match statement:
        case ast.Expr(value=ast.Call() as call):
            return ends_program(call, names) and ends_well(call)
        case ast.Raise(exc=ast.Name(id="SystemExit")):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="SystemExit")) as call):
            return ends_well(call)
        case _:
            return False


def skips(loop: Loop) -> list[ast.Continue]:
    """The `continue`s of a loop itself."""
    return [n for n, own in _statements(loop) if own and isinstance(n, ast.Continue)]


def tests(syntax: Syntax, leaving: ast.stmt, loop: Loop) -> list[ast.expr]:
    """The tests of the `if`s in a loop that decide whether a statement of it runs, innermost first."""
    return [c.test for c in deciding(syntax, leaving, loop)]


def deciding(syntax: Syntax, leaving: ast.stmt, loop: Loop) -> list[ast.If]:
    """The `if`s in a loop that decide whether a statement of it runs, innermost first."""
    around = [c for c, _ in syntax.conditions(leaving) if isinstance(c, ast.If)]
    return [c for c in around if syntax.inside(c, loop)]


def _statements(loop: Loop) -> Iterator[tuple[ast.stmt, bool]]:
    """What may run in a turn of a loop, in the order of the text, and whether no other loop stands in between."""
    todo: list[tuple[ast.AST, bool]] = [(s, True) for s in reversed(loop.body)]
    while todo:
        node, own = todo.pop()
        if isinstance(node, (*CALLABLES, ast.ClassDef)):
            continue
        if isinstance(node, ast.stmt):
            yield node, own
        own &= not isinstance(node, LOOPS)
        todo += [(c, own) for c in reversed(list(ast.iter_child_nodes(node))) if isinstance(c, _PARTS)]
