"""What context managers of a script's own run before the block of a `with`, and after it.

    @contextlib.contextmanager
    def rank_0_first():
        if hvd.rank() != 0:
            hvd.barrier()
        yield
        if hvd.rank() == 0:
            hvd.barrier()

Likewise classes with `__enter__` and `__exit__`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function

_MAKERS = ("contextlib.contextmanager", "contextlib.asynccontextmanager")
ENTERS = ("__enter__", "__aenter__")
LEAVES = ("__exit__", "__aexit__")


@dataclass(frozen=True, eq=False)
class Part:
    """function: the one that these of its statements are run in"""

    function: Function
    statements: Sequence[ast.stmt]


@dataclass(frozen=True, eq=False)
class Around:
    """made: the call that makes the context manager; `before` and `after`: what is run around the block. `of_generator`: the
    call itself runs nothing, as one of a constructor does."""

    made: ast.Call
    before: Part | None
    after: Part | None
    of_generator: bool


def around_block(module: Module, entered: ast.expr) -> Around | None:
    """The context manager that a `with` enters, where it is one of the script's own and is seen whole."""
    made = module.values.calls(entered)
    if len(made) != 1:
        return None
    maker = module.values.callee(made[0])
    if isinstance(maker, ast.ClassDef):
        methods = [_method(module, maker, names) for names in (ENTERS, LEAVES)]
        before, after = (Part(m, m.body) if m is not None else None for m in methods)
        return Around(made[0], before, after, of_generator=False) if before or after else None
    if not isinstance(maker, FUNCTIONS) or len(maker.decorator_list) != 1:
        return None
    if module.names.of(maker.decorator_list[0]) not in _MAKERS or made[0] is not entered:
        return None
    halves = _halves(maker.body)
    if halves is None or _yields(maker.body) != 1:
        return None
    return Around(made[0], Part(maker, halves[0]), Part(maker, halves[1]), of_generator=True)


def _method(module: Module, owner: ast.ClassDef, names: Sequence[str]) -> Function | None:
    found = [m for name in names for m in module.values.definitions.methods_of(name, frozenset([owner]))]
    return found[0] if len(found) == 1 else None


def _halves(body: Sequence[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """The statements before a `yield`, and those after it, where it stands by itself, or so in a `try`."""
    for i, s in enumerate(body):
        if not _yields([s]):
            continue
        before, after = list(body[:i]), list(body[i + 1 :])
        match s:
            case ast.Expr(value=ast.Yield()) | ast.Assign(value=ast.Yield()):
                return before, after
            case ast.Try() if (inner := _halves(s.body)) is not None:
                return [*before, *inner[0]], [*inner[1], *s.orelse, *s.finalbody, *after]
        return None
    return None


def _yields(statements: Sequence[ast.stmt]) -> int:
    """How many times a `yield` stands in statements, but for functions within them."""
    todo, found = list[ast.AST](statements), 0
    while todo:
        node = todo.pop()
        found += isinstance(node, (ast.Yield, ast.YieldFrom))
        todo += [c for c in ast.iter_child_nodes(node) if not isinstance(c, (*CALLABLES, ast.ClassDef))]
    return found


__all__ = ["ENTERS", "LEAVES", "Around", "Part", "around_block"]
