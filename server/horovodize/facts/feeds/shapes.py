"""How many rows arrays have, where the program says so: lists that are written out, `np.arange(6).reshape(-1, 1)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from math import ceil, prod

from horovodize.facts.feeds.repeated_shapes import of_repeated
from horovodize.facts.feeds.table_shapes import columns, of_frame, of_split
from horovodize.facts.feeds.turn_parts import is_numbers
from horovodize.python.module import Module
from horovodize.python.syntax import argument, says_none
from horovodize.python.values import Origin
from horovodize.summary.kinds import Kinds

Shape = tuple[int | None, ...]
"""The dimensions of an array, None those that can't be seen."""

_DEPTH = 12
# What gives an array of the same shape as the first one it is given, or as that which it is called on.
_SAME = frozenset(
    "array asarray constant convert_to_tensor float32 float64 cast sin cos tanh exp log sqrt square abs sign round "
    "zeros_like ones_like full_like asfarray ascontiguousarray power mod".split()
)
_SAME_METHODS = frozenset("astype copy clip round numpy to_numpy".split())
_SHAPED = frozenset("zeros ones empty full random_sample random standard_normal ranf".split())
_BY_SIZE = frozenset("normal uniform randint choice binomial poisson integers exponential".split())
# What `tensorflow.keras.datasets` gives: the rows for training and for testing, and the dimensions of a row of each.
_DATASETS: dict[str, tuple[tuple[int, int], Shape, Shape]] = {
    "mnist": ((60000, 10000), (28, 28), ()),
    "fashion_mnist": ((60000, 10000), (28, 28), ()),
    "cifar10": ((50000, 10000), (32, 32, 3), (1,)),
    "cifar100": ((50000, 10000), (32, 32, 3), (1,)),
    "imdb": ((25000, 25000), (), ()),
    "reuters": ((8982, 2246), (), ()),
    "boston_housing": ((404, 102), (13,), ()),
}
_RESIZING = ("test_split", "maxlen")
_JOINING = frozenset(("concat", "concatenate", "vstack"))
_BY_COUNTS = frozenset("rand randn".split())


class Shapes:
    """The shapes of the arrays of one module."""

    def __init__(self, module: Module, kinds: Kinds) -> None:
        self.module, self.kinds = module, kinds

    def rows(self, e: ast.expr) -> int | None:
        """How many rows an expression gives; None where that can't be seen, or where it is a list of arrays."""
        origins = [o.node for o in self.module.values.origins(e)]
        if any(isinstance(n, (ast.List, ast.Tuple)) and not is_numbers(n) for n in origins):
            return None
        shape = self.of(e, _DEPTH)
        return shape[0] if shape else None

    def is_one_row(self, e: ast.expr) -> bool:
        """Whether an expression is `x[np.newaxis]`, of whatever `x` is; or one of a list of such arrays."""
        return self._is_one_row(e, _DEPTH)

    def _is_one_row(self, e: ast.expr, depth: int) -> bool:
        given = [o.node for o in self.module.values.origins(e)]
        return depth > 0 and all(isinstance(n, ast.expr) and self._begins_with_one(n, depth) for n in given)

    def _begins_with_one(self, e: ast.expr, depth: int) -> bool:
        match e:
            case ast.Subscript(value=listed, slice=ast.Constant(value=int())):
                made = [o.node for o in self.module.values.origins(listed)]
                return all(isinstance(n, ast.ListComp) and self._is_one_row(n.elt, depth - 1) for n in made)
            case ast.Subscript(slice=ast.Tuple(elts=[first, *_])) | ast.Subscript(slice=first):
                return self._adds_axis(first)
            case ast.Call(args=[_, *_]) if self.module.names.of(e.func) == "numpy.expand_dims":
                return self._axis(argument(e, "axis", 1)) == 0
            case _:
                return False

    def of(self, e: ast.expr, depth: int) -> Shape | None:
        """The shape of what an expression gives, the same wherever it comes from; None where that can't be seen."""
        if not depth:
            return None
        found = set[Shape | None]()
        for origin in self.module.values.origins(e):
            if origin.path:
                split = of_split(self.module, origin, lambda e: self.of(e, depth - 1), self._number)
                found.add(split or self._of_dataset(origin))
            else:
                known = isinstance(origin.node, ast.expr)
                found.add(self._of_expression(origin.node, depth) if known else None)  # type: ignore[arg-type]
        return found.pop() if len(found) == 1 else None

    def _of_dataset(self, origin: Origin) -> Shape | None:
        """The shape of a part of what Keras' data sets give: `(x, y), (x_test, y_test)`."""
        made = origin.node
        name = self.module.names.of(made.func) or "" if isinstance(made, ast.Call) else ""
        which = name.removeprefix("tensorflow.keras.datasets.").removesuffix(".load_data")
        if not isinstance(made, ast.Call) or not name.endswith(".load_data") or which not in _DATASETS:
            return None
        if len(origin.path) != 2 or any(k.arg is None or k.arg in _RESIZING for k in made.keywords):
            return None
        rows, of_x, of_y = _DATASETS[which]
        part, column = origin.path
        if part not in (0, 1) or column not in (0, 1) or made.args[1:]:
            return None
        return (rows[part], *(of_y if column else of_x))

    def _of_expression(self, e: ast.expr, depth: int) -> Shape | None:
        match e:
            case ast.Constant(value=int() | float()):
                return ()
            case ast.UnaryOp(operand=operand):
                return self.of(operand, depth - 1)
            case ast.List() if self._grows(e):
                return None
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                inner = {self.of(part, depth - 1) for part in elements}
                one = inner.pop() if len(inner) == 1 else None
                return (len(elements), *one) if one is not None else None
            case ast.BinOp(left=left, right=right) if self._is_list(left) or self._is_list(right):
                return None  # `[0] * 100` is no product
            case ast.BinOp(left=left, right=right) if not isinstance(e.op, ast.MatMult):
                return _together(self.of(left, depth - 1), self.of(right, depth - 1))
            case ast.BinOp(left=left, right=right):
                first, second = self.of(left, depth - 1), self.of(right, depth - 1)
                return (*first[:-1], *second[1:]) if first and second else None
            case ast.Subscript(value=value, slice=index):
                whole = self.of(value, depth - 1)
                return (columns(whole, index) if whole else None) or self._part(whole, index)
            case ast.Attribute(value=value, attr="values"):
                return self.of(value, depth - 1)
            case ast.Call():
                return self._of_call(e, depth)
            case _:
                return None

    def _of_call(self, call: ast.Call, depth: int) -> Shape | None:
        last = self.module.names.last(call.func)
        name = self.module.names.of(call.func)
        if name is None:
            if not isinstance(call.func, ast.Attribute):
                return None
            own = self.of(call.func.value, depth - 1)
            if last in _SAME_METHODS:
                return own
            makers = (self.module.names.of(c.func) or "" for c in self.module.values.calls(call.func.value))
            if any(name.startswith("numpy.random.") for name in makers):
                return self._made(call, last)
            return self._reshaped(own, call.args, depth) if last == "reshape" else None
        if not name.startswith(("numpy.", "tensorflow.")):
            return of_frame(self.module, call, lambda e: self.of(e, depth - 1))
        repeated = of_repeated(self.module, call, lambda e: self.of(e, depth - 1), self.kinds.constant)
        if repeated is not None:
            return repeated
        first = call.args[0] if call.args else None
        if last in _SAME and first is not None:
            shaped = argument(call, "ndmin") or argument(call, "shape")
            return self.of(first, depth - 1) if shaped is None else None
        if last == "reshape" and first is not None:
            return self._reshaped(self.of(first, depth - 1), call.args[1:], depth)
        if last in _JOINING and isinstance(first, (ast.List, ast.Tuple)):
            axis = argument(call, "axis", 1)
            parts = [self.of(part, depth - 1) for part in first.elts]
            return _joined(parts, 0 if last == "vstack" or axis is None else self._axis(axis))
        if last == "expand_dims" and first is not None:
            axis = argument(call, "axis", 1)
            known, own = self._axis(axis), self.of(first, depth - 1)
            if own is None or known is None:
                return None
            at = known if known >= 0 else len(own) + 1 + known
            return (*own[:at], 1, *own[at:])
        return self._made(call, last)

    def _made(self, call: ast.Call, last: str) -> Shape | None:
        """The shape of what is made by numbers: `np.arange(10)`, `np.random.rand(100, 3)`."""
        numbers = [self._whole(a) for a in call.args]
        if last == "linspace":
            count = argument(call, "num", 2)
            known = self.kinds.constant(count) if count is not None else 50
            return (known,) if known is not None else None
        if last == "arange":
            numbered = self._in_steps(call)
            return (numbered,) if numbered is not None else None
        if last in _BY_COUNTS:
            return tuple(numbers)
        if last in _SHAPED or last in _BY_SIZE:
            of_tensorflow = (self.module.names.of(call.func) or "").startswith("tensorflow.")
            size = argument(call, "shape") or argument(
                call, "size", 0 if last in _SHAPED or of_tensorflow else 2
            )
            if isinstance(size, (ast.Tuple, ast.List)):
                return tuple(self.kinds.constant(n) for n in size.elts)
            known = self.kinds.constant(size) if size is not None else None
            return (known,) if known is not None else None
        return None

    def _in_steps(self, call: ast.Call) -> int | None:
        """How many numbers `arange(-1, 1, 0.2)` gives."""
        bounds = [self._number(a) for a in call.args[:3]]
        start, stop, step = (
            [0, *bounds, 1] if len(bounds) == 1 else [*bounds, 1][:3] if bounds else [None] * 3
        )
        if start is None or stop is None or not step:
            return None
        return max(0, ceil((stop - start) / step))

    def _number(self, e: ast.expr) -> float | None:
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            inner = self._number(e.operand)
            return None if inner is None else -inner
        is_float = isinstance(e, ast.Constant) and isinstance(e.value, float)
        return e.value if is_float else self.kinds.constant(e)  # type: ignore[attr-defined]

    def _whole(self, e: ast.expr) -> int | None:
        """A number that is known, and a whole one: `9`, `9.0`."""
        if isinstance(e, ast.Constant) and isinstance(e.value, float):
            return int(e.value) if e.value.is_integer() else None
        return self.kinds.constant(e)

    def _is_list(self, e: ast.expr) -> bool:
        """Whether an expression is a list of Python's, whose `+` and `*` join and repeat it."""
        listed = (ast.List, ast.Tuple, ast.ListComp)
        return any(isinstance(o.node, listed) for o in self.module.values.origins(e))

    def _grows(self, listed: ast.List) -> bool:
        """Whether a list gets more items than those that are written out."""
        parent = self.module.syntax.parent.get(listed)
        if not isinstance(parent, (ast.Assign, ast.AnnAssign)):
            return False
        called = self.module.calls_called("append", "extend", "insert", "remove", "pop", "clear")
        changed: list[ast.expr] = [c.func.value for c in called if isinstance(c.func, ast.Attribute)]
        changed += [n.target for n in self.module.syntax.every(ast.AugAssign)]
        names = {
            ast.unparse(t) for t in (parent.targets if isinstance(parent, ast.Assign) else [parent.target])
        }
        return any(ast.unparse(e) in names for e in changed)

    def _reshaped(self, shape: Shape | None, given: list[ast.expr], depth: int) -> Shape | None:
        sizes: Iterable[ast.expr] = given
        if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
            sizes = given[0].elts
        wanted = [-1 if self._axis(n) == -1 else self._size(n, depth) for n in sizes]
        if not wanted:
            return None
        rest = [n for n in wanted if n != -1]
        if len(rest) == len(wanted) or None in rest or shape is None or None in shape:
            return tuple(None if n == -1 else n for n in wanted)
        size = prod(n for n in shape if n is not None) // max(1, prod(n for n in rest if n is not None))
        return tuple(size if n == -1 else n for n in wanted)

    def _size(self, e: ast.expr, depth: int) -> int | None:
        """A dimension as programs write it: `28`, `x.shape[0]`, `len(x)`."""
        match e:
            case ast.Subscript(
                value=ast.Attribute(value=array, attr="shape"), slice=ast.Constant(value=int(at))
            ):
                shape = self.of(array, depth - 1)
                return shape[at] if shape is not None and at < len(shape) else None
            case ast.Call(func=ast.Name(id="len"), args=[array]) if self.module.scopes.is_builtin(e.func):
                shape = self.of(array, depth - 1)
                return shape[0] if shape else None
            case _:
                return self.kinds.constant(e)

    def _axis(self, e: ast.expr | None) -> int | None:
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub) and isinstance(e.operand, ast.Constant):
            return -e.operand.value if isinstance(e.operand.value, int) else None
        return e.value if isinstance(e, ast.Constant) and type(e.value) is int else None

    def _part(self, shape: Shape | None, index: ast.expr) -> Shape | None:
        """`x[:, np.newaxis]`, `x[:100]`, `x[:, 0]`"""
        if shape is None:
            return None
        rest, found = list(shape), list[int | None]()
        given = index.elts if isinstance(index, ast.Tuple) else [index]
        for at, i in enumerate(given):
            if isinstance(i, ast.Constant) and i.value is Ellipsis:
                kept = len(rest) - sum(not self._adds_axis(later) for later in given[at + 1 :])
                found, rest = [*found, *rest[: max(0, kept)]], rest[max(0, kept) :]
            elif self._adds_axis(i):
                found.append(1)
            elif isinstance(i, ast.Slice):
                found.append(self._sliced(rest.pop(0) if rest else None, i))
            elif self._axis(i) is not None and rest:
                rest.pop(0)
            else:
                return None
        return (*found, *rest)

    def _adds_axis(self, index: ast.expr) -> bool:
        """`None`, `np.newaxis`"""
        return says_none(index) or self.module.names.last(index) == "newaxis"

    def _sliced(self, size: int | None, part: ast.Slice) -> int | None:
        bounds = [self._axis(b) if b is not None else None for b in (part.lower, part.upper, part.step)]
        given = (part.lower, part.upper, part.step)
        if size is None or any(
            b is not None and known is None for b, known in zip(given, bounds, strict=True)
        ):
            return None
        return len(range(size)[slice(*bounds)])


def _together(one: Shape | None, other: Shape | None) -> Shape | None:
    """The shape of a sum: that of the larger of two arrays."""
    if one == () or other == ():
        return other if one == () else one
    if one is None or other is None:
        return None
    most = max(len(one), len(other))
    one, other = (1,) * (most - len(one)) + one, (1,) * (most - len(other)) + other
    return tuple(a if b == 1 else b if a in (1, b) else None for a, b in zip(one, other, strict=True))


def _joined(parts: list[Shape | None], axis: int | None) -> Shape | None:
    """The shape of arrays that are put together along an axis."""
    known = [shape for shape in parts if shape is not None]
    if not known or len(known) < len(parts) or axis is None or not 0 <= axis < len(known[0]):
        return None
    if len({len(shape) for shape in known}) > 1:
        return None
    along = [shape[axis] for shape in known]
    total = None if None in along else sum(n for n in along if n is not None)
    return tuple(total if i == axis else n for i, n in enumerate(known[0]))


__all__ = ["Shape", "Shapes"]
