"""Arrays that are filled by a size, beside the rows of a step: `tf.zeros((n, 1))`, what a network is to give at n points.

Where there are as many of them as of other rows, they are rows: divided, one without the other would not fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from horovodize.facts.feeds.row_noise import arrays
from horovodize.facts.feeds.shapes import Shapes
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.kinds import Kinds

_LIMIT = 300  # nodes that are looked at behind the rows of a step
_BY_SIZE = {"normal": 2, "uniform": 2, "randint": 2, "random": 0, "random_sample": 0, "standard_normal": 0}
_SHAPED = ("zeros", "ones", "full", "fill", "empty")
_BY_COUNTS = ("rand", "randn")


class FilledRows:
    """Which of the filled arrays of one module are rows."""

    def __init__(self, module: Module, kinds: Kinds, shapes: Shapes) -> None:
        self.module, self.kinds, self.shapes = module, kinds, shapes

    def beside(
        self, rows: Sequence[ast.expr], filled: Mapping[ast.Call, bool]
    ) -> tuple[frozenset[ast.AST], list[ast.Call]]:
        """(those of some filled arrays of which there are as many as of rows, those that may be). `filled`: whether each is
        made before the turn, and so by what the rows were before they are divided."""
        numbers = {self.shapes.rows(e) for e in rows}
        behind = list(self.module.values.depends(rows, _LIMIT))
        made = [n for n in behind if isinstance(n, ast.Call)]
        named = {ast.unparse(n) for n in behind if isinstance(n, (ast.Name, ast.Attribute))}
        sizes = {size for call in made for e in self._size(call) if (size := self._key(e)) is not None}
        found, unknown = set[ast.AST](), list[ast.Call]()
        for call, is_made_before in filled.items():
            size = next(iter(self._size(call)), None)
            number = self.kinds.constant(size) if size is not None else None
            number = self.shapes.rows(call) if number is None else number
            measured = self._measured(call)
            if measured:
                as_many = is_made_before and any(ast.unparse(e) in named for e in measured)
                found.update([call] if as_many else [])
            elif size is None or number == 1:
                continue
            elif number in numbers or (number is None and self._key(size) in sizes):
                found.add(call)
            elif number is None or (None in numbers and self._is_table(call)):
                unknown.append(call)
        return frozenset(found), unknown

    def _measured(self, call: ast.Call) -> list[ast.expr]:
        """The arrays that what is filled has as many rows as: `np.zeros_like(rows)`, `np.ones((len(rows), 1))`."""
        if self.module.names.last(call.func).endswith("_like"):
            return call.args[:1]
        return arrays(self.module, call)

    def _size(self, call: ast.Call) -> Iterator[ast.expr]:
        """How many rows what makes an array is told to make."""
        last = self.module.names.last(call.func)
        name = self.module.names.of(call.func) or ""
        if last in _BY_COUNTS:
            yield from call.args[:1]
            return
        if last not in _SHAPED and last not in _BY_SIZE:
            return
        at = 0 if last in _SHAPED or name.startswith("tensorflow.") else _BY_SIZE[last]
        shape = argument(call, "shape") or argument(call, "dims") or argument(call, "size", at)
        if isinstance(shape, (ast.Tuple, ast.List)):
            yield from shape.elts[:1]
        elif shape is not None:
            yield shape

    def _key(self, e: ast.expr) -> object:
        """What tells one size from another: a number, or how it is written where it is set."""
        known = self.kinds.constant(e)
        if known is not None:
            return known
        origins = [o.node for o in self.module.values.origins(e) if isinstance(o.node, ast.expr)]
        return ast.unparse(origins[0]) if len(origins) == 1 else ast.unparse(e)

    def _is_table(self, call: ast.Call) -> bool:
        """Whether an array has more than one dimension, as rows have."""
        shape = self.shapes.of(call, 4)
        return shape is None or len(shape) > 1


__all__ = ["FilledRows"]
