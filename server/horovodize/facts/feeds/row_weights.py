"""Weights that have a row for each row of the data: those of a matrix factorization, which shares of the rows do not fit.

In `tf.square(ratings - tf.matmul(users, items))` each row of `ratings` meets the row of `users` at its place."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cached_property

from horovodize.facts.feeds.shapes import Shape, Shapes
from horovodize.facts.files.kept import first_value
from horovodize.python.module import Module
from horovodize.python.syntax import argument, is_one

_DEPTH = 12
_PRODUCTS = {"matmul", "dot", "tensordot", "einsum"}
_VARIABLES = {"Variable", "get_variable"}
# What gives numbers of the shape that it is given, element by element.
ELEMENTWISE = frozenset(
    "add subtract multiply divide truediv div pow maximum minimum squared_difference square abs sqrt log exp sign cast "
    "to_float identity negative sigmoid tanh relu clip_by_value greater less equal not_equal where".split()
)


class RowWeights:
    """Of one module; `rows` are the expressions that stand for the rows of a step."""

    def __init__(self, module: Module, rows: Collection[ast.AST], shapes: Shapes) -> None:
        self.module, self.rows, self.shapes = module, rows, shapes
        self.names, self.values = module.names, module.values

    def meet(self, parts: Collection[ast.expr]) -> bool:
        """Whether, of some expressions that are put together element by element, one is the data as they are fed, and another
        is a matrix of weights alone; or whether one is a variable of as many rows as the data have."""
        data, matrix = (any(f(e, _DEPTH) for e in parts) for f in (self._is_data, self._is_matrix))
        return (data and matrix) or any(map(self._has_a_row_for_each, parts))

    def is_computed(self, e: ast.expr) -> bool:
        """Whether an expression is computed from rows of the data, rather than data itself."""
        return e not in self.rows and not self._is_data(e, _DEPTH) and self._has_rows([e])

    def have_more_axes(self) -> bool:
        """Whether some of the rows are known to be matrices themselves: images, sequences."""
        return any(len(shape) > 2 for shape in self._shapes_of_rows)

    @cached_property
    def _shapes_of_rows(self) -> list[Shape]:
        found = (self.shapes.of(e, _DEPTH) for e in self.rows if isinstance(e, ast.expr))
        return [shape for shape in found if shape]

    def _has_a_row_for_each(self, e: ast.expr, depth: int = _DEPTH) -> bool:
        """Whether an expression is a variable that is made with as many rows as the data, a weight for each of them, or what
        is computed of one row by row. Where it can't be seen how many rows there are, a column of weights is one."""
        counts = {shape[0] for shape in self._shapes_of_rows} - {None}
        if not depth or len(counts) > 1 or self.have_more_axes():
            return False
        for node in (o.node for o in self.values.origins(e)):
            made = isinstance(node, ast.Call) and self.names.last(node.func) == "Variable"
            initial = first_value(node) if made and isinstance(node, ast.Call) else None
            shape = self.shapes.of(initial, _DEPTH) if initial is not None else None
            if shape is not None and len(shape) > 1 and shape[0] not in (1, None):
                if shape[0] in counts or (not counts and shape[1:] == (1,)):
                    return True
            if any(self._has_a_row_for_each(part, depth - 1) for part in self._row_by_row(node)):
                return True
        return False

    def _row_by_row(self, node: ast.AST) -> list[ast.expr]:
        """What something is computed of, as many rows of it as of each: by elements, or by a model."""
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            return _operands(node)
        if not isinstance(node, ast.Call):
            return []
        by_model = self.names.of(node.func) is None and bool(self.values.calls(node.func))
        return node.args if by_model or self.names.last(node.func) in ELEMENTWISE else []

    def _is_data(self, e: ast.expr, depth: int) -> bool:
        if e in self.rows:
            return True
        if isinstance(e, (ast.BinOp, ast.UnaryOp)):
            return any(self._is_data(part, depth - 1) for part in _operands(e)) if depth else False
        for origin in self.values.origins(e) if depth else ():
            node = origin.node
            if node in self.rows:
                shape = self._shape(node) if isinstance(node, ast.Call) else None
                return shape is None or len(shape) <= 2
            if isinstance(node, (ast.BinOp, ast.UnaryOp)) and node is not e:
                return self._is_data(node, depth - 1)
            if isinstance(node, ast.Call) and self.names.last(node.func) in ELEMENTWISE:
                return any(self._is_data(a, depth - 1) for a in node.args)
        return False

    def _is_matrix(self, e: ast.expr, depth: int) -> bool:
        """Whether an expression has no rows of the data in it, and is a matrix of more rows than one."""
        return depth > 0 and any(self._is_made_matrix(o.node, depth) for o in self.values.origins(e))

    def _is_made_matrix(self, node: ast.AST, depth: int) -> bool:
        if node in self.rows:
            return False
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                return self._is_product([node.left, node.right], depth)
            parts = _operands(node)
            return not self._has_rows(parts) and any(self._is_matrix(part, depth - 1) for part in parts)
        if not isinstance(node, ast.Call):
            return False
        last = self.names.last(node.func)
        if last in _PRODUCTS:
            return self._is_product(node.args, depth)
        if last in _VARIABLES:
            shape = self._shape(node)
            return shape is not None and len(shape) > 1 and not is_one(shape[0])
        elementwise = last in ELEMENTWISE and not self._has_rows(node.args)
        return elementwise and any(self._is_matrix(a, depth - 1) for a in node.args)

    def _is_product(self, parts: list[ast.expr], depth: int) -> bool:
        return bool(parts) and not self._has_rows(parts) and self._is_matrix(parts[0], depth - 1)

    def _has_rows(self, parts: list[ast.expr]) -> bool:
        return any(n in self.rows for n in self.values.depends(parts, 400))

    def _shape(self, made: ast.Call) -> list[ast.expr] | None:
        """The dimensions that a variable or placeholder is made with, where they are written out."""
        last = self.names.last(made.func)
        shape = argument(made, "shape", 1) if last != "Variable" else argument(made, "shape")
        if shape is None and last == "Variable":
            initial = first_value(made)
            calls = self.values.calls(initial) if initial is not None else []
            drawn = calls[0] if len(calls) == 1 else None
            if drawn is not None and self.names.last(drawn.func) in ("rand", "randn"):
                return list(drawn.args)
            shape = _size(drawn) if drawn is not None else None
        origins = self.values.origins(shape) if shape is not None else []
        listed = [o.node for o in origins if isinstance(o.node, (ast.List, ast.Tuple)) and not o.path]
        return listed[0].elts if len(listed) == 1 else None


def _size(call: ast.Call) -> ast.expr | None:
    """The shape of what is drawn or filled: `tf.random_normal([60, 5])`, `np.random.normal(size=(60, 5))`."""
    named = argument(call, "shape") or argument(call, "size")
    if named is not None:
        return named
    return next(
        (a for a in call.args if isinstance(a, (ast.List, ast.Tuple))), call.args[0] if call.args else None
    )


def _operands(e: ast.BinOp | ast.UnaryOp) -> list[ast.expr]:
    return [e.operand] if isinstance(e, ast.UnaryOp) else [e.left, e.right]


__all__ = ["ELEMENTWISE", "RowWeights"]
