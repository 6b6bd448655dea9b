"""What a value is that is made once, before the loops around a step: an array, or no rows."""

from __future__ import annotations

import ast

from horovodize.facts.feeds.turn_calls import (
    ARRAY_METHODS,
    FILLED,
    LIBRARIES,
    MADE_VARIABLES,
    MEASURED,
    MEASURES,
    SUMMARIES,
)
from horovodize.facts.feeds.turn_parts import Part, is_numbers
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.python.values import ITEM
from horovodize.summary.feeding import Feeding, Kind

_GIVES_ROWS = (Kind.DATASET, Kind.SEQUENCE, Kind.GENERATOR)


class FixedValues:
    """Values that are made once.

    vague    of what nothing is seen: it may be an array, or a number
    filled   the arrays that are filled by a size, `tf.zeros((n, 1))`: whether they are made before the turn
    as_rows  which of these are rows, as there are as many of them as of others that a step sees"""

    def __init__(self, module: Module, feeding: Feeding, as_rows: frozenset[ast.AST]) -> None:
        self.module, self.feeding, self.as_rows = module, feeding, as_rows
        self.names, self.values = module.names, module.values
        self.vague: dict[ast.expr, None] = {}
        self.filled: dict[ast.Call, bool] = {}
        self._kinds: dict[ast.expr, Part] = {}

    def kind(self, e: ast.expr) -> Part:
        """What an expression is that is made once."""
        if e not in self._kinds:
            self._kinds[e] = Part.NUMBER
            self._kinds[e] = self._find_kind(e)
        return self._kinds[e]

    def is_made(self, e: ast.expr) -> bool:
        """Whether a name stands for what the program makes, rather than for what it is given. (That it is made before the loops
        around a step, and nothing is put into it there, `Turns.read` has seen.)"""
        made = [o.node for o in self.values.origins(e)] if isinstance(e, ast.Name) else []
        return bool(made) and not any(isinstance(m, (ast.arg, ast.alias)) for m in made)

    def _find_kind(self, e: ast.expr) -> Part:
        origins = self.values.origins(e)
        parts = {self._made(o.node, o.path) for o in origins}
        if None in parts:
            known = parts - {None}
            if not known or known == {Part.NUMBER}:
                self.vague[e] = None
                return Part.NUMBER
        return max((p for p in parts if p is not None), default=Part.NUMBER)

    def _made(self, node: ast.AST, path: tuple[int, ...]) -> Part | None:
        """What a value is that is made once; None where that can't be seen."""
        match node:
            case ast.Call():
                return self._made_by(node, path)
            case ast.List() | ast.Tuple():
                return Part.ROWS if not path and len(node.elts) > 1 and is_numbers(node) else Part.NUMBER
            case ast.Subscript():
                if isinstance(node.slice, (ast.Slice, ast.Tuple)):
                    return Part.ROWS
                kept = self.kind(node.value)
                return kept if kept is not Part.ROWS or not isinstance(node.slice, ast.Constant) else None
            case ast.BinOp() | ast.UnaryOp():
                sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
                return max(self.kind(side) for side in sides)
            case ast.ListComp():
                return Part.ROWS
            case ast.Attribute():
                if node.attr in MEASURED or self.names.of(node) is not None:
                    return Part.NUMBER
                return self.kind(node.value) if node.attr in ("T", "values") else None
            case ast.arg() | ast.alias() | ast.Name():
                return (
                    None
                    if not isinstance(node, ast.Name) or self.module.scopes.reaching(node)
                    else Part.NUMBER
                )
            case _:
                return Part.NUMBER

    def _made_by(self, call: ast.Call, path: tuple[int, ...]) -> Part | None:
        name, last = self.names.of(call.func) or "", self.names.last(call.func)
        if path[:1] == (ITEM,) and self.feeding.kinds.of(call) in _GIVES_ROWS:
            return Part.ROWS  # of a loop around that begins another training with each turn
        if last in MADE_VARIABLES:
            return Part.COMPUTED
        if call in self.as_rows:
            return Part.ROWS
        if last in FILLED:
            self.filled[call] = True
        if (
            last in MEASURES
            or last in FILLED
            or (isinstance(call.func, ast.Name) and call.func.id in ("int", "float", "bool"))
            or (
                last in SUMMARIES and argument(call, "axis", int(bool(name))) is None
            )  # of a function, or of an array's method
        ):
            return Part.NUMBER
        if name.startswith("tensorflow") and last == "convert_to_tensor" or last == "constant":
            return self.kind(call.args[0]) if call.args else Part.NUMBER
        if isinstance(self.values.callee(call), ast.ClassDef):
            return Part.NUMBER
        kind = self.feeding.kinds.of(call, with_targets=True)
        if kind in (Kind.ARRAY, Kind.ARRAYS):
            return Part.ROWS
        if name.startswith(LIBRARIES):
            return Part.ROWS if "load_data" in last else Part.NUMBER
        if last in ARRAY_METHODS and isinstance(call.func, ast.Attribute):
            return self.kind(call.func.value)
        if last[:1].isupper():
            return Part.NUMBER  # an object
        return None
