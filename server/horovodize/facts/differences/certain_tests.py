"""Which tests have one answer on all of several ranks, and in every turn: `rank() >= 0`, `size() > 1`, `step >= 0`.

Known are the least numbers: of a rank 0, of the number of ranks 2 (on one there is nothing to do together), of a length 0, and
of the numbers that `enumerate` or `range` counts from a constant that one. Such a number grows with the turns: asked for what
is so in the end, `step > 10` has an answer, too."""

from __future__ import annotations

import ast

from horovodize.facts.horovod.horovod_use import HorovodUse
from horovodize.python.comparisons import flipped
from horovodize.python.module import Module
from horovodize.python.syntax import argument

_LEAST = {"rank": 0, "local_rank": 0, "cross_rank": 0, "size": 2, "local_size": 1, "cross_size": 1}
_COMPARES = (ast.Gt, ast.GtE, ast.Lt, ast.LtE, ast.Eq, ast.NotEq)


class CertainTests:
    """Such tests in one module."""

    def __init__(self, module: Module, use: HorovodUse) -> None:
        self.module, self.use = module, use

    def answer(self, test: ast.expr, in_the_end: bool = False) -> bool | None:
        """What a test gives wherever and whenever it is asked, or in all turns but the first few; None where that may be
        either, or isn't known."""
        match test:
            case ast.Constant():
                return bool(test.value)
            case ast.UnaryOp(op=ast.Not()):
                inner = self.answer(test.operand, in_the_end)
                return None if inner is None else not inner
            case ast.BoolOp():
                decisive = isinstance(test.op, ast.Or)
                answers = [self.answer(v, in_the_end) for v in test.values]
                if decisive in answers:
                    return decisive
                return None if None in answers else not decisive
            case ast.Compare(ops=[op]) if isinstance(op, _COMPARES):
                left, right = test.left, test.comparators[0]
                found = self._compared(left, type(op), right, in_the_end)
                return (
                    found if found is not None else self._compared(right, type(flipped(op)), left, in_the_end)
                )
        return None

    def _compared(
        self, counted: ast.expr, op: type[ast.cmpop], bound: ast.expr, in_the_end: bool
    ) -> bool | None:
        """The answer by the least that one side may be, and the constant on the other."""
        number, least = _constant(bound), self._least(counted)
        if number is None or least is None:
            return None
        if in_the_end and self._grows(counted):
            least = number + 1
        if (op is ast.GtE and number <= least) or (op in (ast.Gt, ast.NotEq) and number < least):
            return True
        if (op is ast.Lt and number <= least) or (op in (ast.LtE, ast.Eq) and number < least):
            return False
        return None

    def _least(self, e: ast.expr) -> int | None:
        """The least that a number may be; None where that isn't seen."""
        if isinstance(e, ast.Call):
            if isinstance(e.func, ast.Name) and e.func.id == "int" and len(e.args) == 1 and not e.keywords:
                return self._least(e.args[0]) if self.module.scopes.is_builtin(e.func) else None
            least = next((n for name, n in _LEAST.items() if self.use.is_call(e, name)), None)
            if (
                least is None
                and isinstance(e.func, ast.Name)
                and e.func.id == "len"
                and self.module.scopes.is_builtin(e.func)
            ):
                return 0
            return least
        if not isinstance(e, ast.Name):
            return None
        found = [self._least_of(b.kind, b.value, b.path) for b in self.module.scopes.reaching(e)]
        known = [n for n in found if n is not None]
        return min(known) if known and len(known) == len(found) else None

    def _grows(self, e: ast.expr) -> bool:
        """Whether a number counts turns."""
        return isinstance(e, ast.Name) and all(b.kind == "item" for b in self.module.scopes.reaching(e))

    def _least_of(self, kind: str, value: ast.expr | None, path: tuple[int, ...]) -> int | None:
        """The same of what a name is bound to."""
        if kind == "assign" and not path and isinstance(value, ast.Call):
            return self._least(value)
        if kind != "item" or not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            return None
        if not self.module.scopes.is_builtin(value.func):
            return None
        if value.func.id == "enumerate":
            start = argument(value, "start", 1)
            return (0 if start is None else _constant(start)) if path == (0,) else None
        if (
            value.func.id == "range"
            and not path
            and len(value.args) in (1, 2)
            and not any(map(_is_starred, value.args))
        ):
            return 0 if len(value.args) == 1 else _constant(value.args[0])
        return None


def _constant(e: ast.expr) -> int | None:
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
        inner = _constant(e.operand)
        return None if inner is None else -inner
    return e.value if isinstance(e, ast.Constant) and type(e.value) is int else None


def _is_starred(e: ast.expr) -> bool:
    return isinstance(e, ast.Starred)
