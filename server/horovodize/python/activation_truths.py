"""Whether a test is true in one activation of a function, as the calls that led there pass what it asks for: `mode == "train"`
of `run(rows, "valid")`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from horovodize.python.activation import Activation, Value, Values
from horovodize.python.syntax import FUNCTIONS

if TYPE_CHECKING:
    from horovodize.python.activations import Activations

_IS = (ast.Eq, ast.Is)
_IS_NOT = (ast.NotEq, ast.IsNot)


class Truths:
    """Those of one module."""

    def __init__(self, activations: Activations) -> None:
        self.activations = activations

    def of(self, test: ast.expr, within: Activation) -> bool | None:
        """Whether a test is true in an activation; None where that isn't seen."""
        match test:
            case ast.UnaryOp(op=ast.Not()):
                inner = self.of(test.operand, within)
                return None if inner is None else not inner
            case ast.BoolOp():
                answers, decides = [self.of(v, within) for v in test.values], isinstance(test.op, ast.Or)
                if decides in answers:
                    return decides
                return None if None in answers else not decides
            case ast.Compare(
                left=left, ops=[op], comparators=[ast.Tuple() | ast.List() | ast.Set() as among]
            ):
                if not isinstance(op, (ast.In, ast.NotIn)) or not among.elts:
                    return None
                found = [self._equal(left, other, within) for other in among.elts]
                if True in found:
                    return isinstance(op, ast.In)
                return None if None in found else isinstance(op, ast.NotIn)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                same = self._equal(left, right, within) if isinstance(op, (*_IS, *_IS_NOT)) else None
                return None if same is None else same == isinstance(op, _IS)
        return _alike(self.activations.of(test, within), _is_true)

    def _equal(self, one: ast.expr, other: ast.expr, within: Activation) -> bool | None:
        lefts, rights = self.activations.of(one, within), self.activations.of(other, within)
        if not lefts or not rights:
            return None
        answers = {self._same(a, b) for a in lefts for b in rights}
        return answers.pop() if len(answers) == 1 else None

    def _same(self, a: Value, b: Value) -> bool | None:
        match a.node, b.node:
            case ast.Constant(value=one), ast.Constant(value=other):
                return bool(one == other)
            case ast.Assign(), ast.Assign():  # members of enumerations
                return a.node is b.node
            case ((ast.Attribute() | ast.Name()), (ast.Attribute() | ast.Name())):
                one, other = self.activations.names.of(a.node), self.activations.names.of(b.node)
                is_last = one is not None and other is not None and one.rpartition(".")[2].isupper()
                return one == other if is_last else None
            case (ast.Constant(value=None), _) | (_, ast.Constant(value=None)):
                thing = b.node if isinstance(a.node, ast.Constant) else a.node
                made = isinstance(
                    thing, (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.List, ast.Tuple, ast.Call)
                )
                return False if made else None
        return None


def _alike(found: Values, answer: Callable[[Value], bool | None]) -> bool | None:
    answers = {answer(v) for v in found or ()}
    return answers.pop() if len(answers) == 1 else None


def _is_true(v: Value) -> bool | None:
    if isinstance(v.node, ast.Constant):
        return bool(v.node.value)
    return True if isinstance(v.node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)) else None


__all__ = ["Truths"]
