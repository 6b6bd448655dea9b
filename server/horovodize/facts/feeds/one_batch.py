"""Data sets whose only batch holds all their rows: `from_tensor_slices((x, y)).batch(len(x))`, `from_tensors((x, y))`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.feeds.shapes import Shapes
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver, Feeding, Kind

# What leaves a data set as many elements, in one order or another; `repeat` and `take` only after they are batched.
_AS_MANY = frozenset(
    "iter next from_tensor_slices batch shuffle map cache prefetch repeat take with_options".split()
)
# What leaves a data set of one element such a one, or gives that element again.
_OF_ONE_ELEMENT = frozenset("iter next from_tensors map cache prefetch repeat take with_options".split())


class OneBatch:
    """The data sets of one module that are one batch."""

    def __init__(self, module: Module, feeding: Feeding, shapes: Shapes) -> None:
        self.module, self.feeding, self.shapes = module, feeding, shapes

    def rows_of(self, site: ast.Call) -> set[ast.AST] | None:
        """Where the rows are read that a step in loops takes as the one batch; None where it takes others."""
        drivers = [d for d in self.feeding.drivers if site in d.steps]
        feeds = [self._data_sets(d) for d in drivers]
        if not all(feeds) or not feeds or not all(self.holds(e) for found in feeds for e in found):
            return None
        return {n for d in drivers for n in self._taken(d)}

    def holds(self, feed: ast.expr) -> bool:
        """Whether a data set of arrays is one batch: `from_tensor_slices((x, y)).batch(len(x))`."""
        calls = [e for e in self.feeding.pipelines.trail(feed) if isinstance(e, ast.Call)]
        called = [self.module.names.last(c.func) for c in calls]
        if called.count("from_tensors") == 1:  # one element, which is all rows
            return set(called) <= _OF_ONE_ELEMENT
        if called.count("batch") != 1 or called.count("from_tensor_slices") != 1:
            return False
        before = called[called.index("batch") :]
        if not set(called) <= _AS_MANY or {"repeat", "take"} & set(before):
            return False
        size = argument(calls[called.index("batch")], "batch_size", 0)
        sliced = argument(calls[called.index("from_tensor_slices")], "tensors", 0)
        arrays = [o.node for o in self.module.values.origins(sliced)] if sliced is not None else []
        if size is None or sliced is None or len(arrays) != 1:
            return False
        parts = arrays[0].elts if isinstance(arrays[0], (ast.Tuple, ast.List)) else [sliced]
        known, counts = self.feeding.kinds.constant(size), [self.shapes.rows(p) for p in parts]
        if known is not None:
            return any(count is not None and count <= known for count in counts)
        return self.has_size_of(size, *parts)

    def _data_sets(self, driver: Driver) -> list[ast.expr]:
        """What a loop iterates, or asks for the next batch."""
        if driver.kind is Kind.DATASET and driver.iterable is not None:
            return [driver.iterable]
        return self.feeding.next_calls(driver)

    def _taken(self, driver: Driver) -> Iterator[ast.Name]:
        """Where what a turn takes from its data is read: the variables of the loop, `x, y = next(batches)`."""
        given: list[tuple[ast.AST, ast.AST]] = []
        if driver.kind is Kind.DATASET and isinstance(driver.loop, (ast.For, ast.AsyncFor)):
            given.append((driver.loop.target, driver.loop))
        asked = {ast.unparse(e) for e in self.feeding.next_calls(driver)}
        for call in self.module.calls_called("next"):
            taking = self.module.syntax.statement(call)
            if call.args and ast.unparse(call.args[0]) in asked and isinstance(taking, ast.Assign):
                given += [(t, self.module.syntax.function(call) or driver.loop) for t in taking.targets]
        for target, root in given:
            taken = {n.id for n in walk(target) if isinstance(n, ast.Name)}
            for n in walk(root):
                if isinstance(n, ast.Name) and n.id in taken and isinstance(n.ctx, ast.Load):
                    yield n

    def has_size_of(self, size: ast.expr, *rows: ast.expr) -> bool:
        """`batch_size=len(x)`, `batch_size=x.shape[0]`."""
        text = {ast.unparse(e) for e in rows}
        for o in self.module.values.origins(size):
            n = o.node
            if isinstance(n, ast.Call) and self.module.names.last(n.func) == "len" and n.args:
                measured = n.args[0]
            elif (
                isinstance(n, ast.Subscript)
                and isinstance(n.value, ast.Attribute)
                and n.value.attr == "shape"
                and isinstance(n.slice, ast.Constant)
                and n.slice.value == 0
            ):
                measured = n.value.value
            else:
                return False
            if ast.unparse(measured) not in text:
                return False
        return True
