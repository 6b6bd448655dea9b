"""What kind of thing feeds training: a dataset, arrays, a sequence of batches, a generator."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Enum

from horovodize.python.module import Module
from horovodize.python.scopes import PUT
from horovodize.python.syntax import FUNCTIONS, Function, is_main_guard
from horovodize.python.values import Origin
from horovodize.source.nodes import walk
from horovodize.summary.pipeline import Pipelines

SEQUENCE = "tensorflow.keras.utils.Sequence"
_TENSORFLOW_OBJECTS = (
    "tensorflow.keras.",
    "tensorflow.Variable",
    "tensorflow.GradientTape",
    "tensorflow.train.",
    "tensorflow.io.",
)
_ALIKE = {"round", "clip", "cumsum", "repeat", "ravel", "view", "fillna", "dropna", "sort_values", "sample", "reset_index",
          "ffill", "abs", "take", "compress"}  # fmt: skip
_KERAS_ARRAYS = ("tensorflow.keras.random.", "tensorflow.keras.ops.")
_ARRAY_METHODS = {"reshape", "astype", "to_numpy", "transpose", "toarray", "todense", "fit_transform", "transform", "as_matrix",
                  "numpy", "copy", "flatten", "swapaxes", "squeeze", "drop", "get_values", "texts_to_matrix"}  # fmt: skip
_SPLITS = {"numpy.split", "numpy.array_split", "numpy.hsplit", "numpy.vsplit", "numpy.dsplit", "tensorflow.split",
           "tensorflow.unstack"}  # fmt: skip
_OF_SEVERAL_AXES = {"numpy.swapaxes", "numpy.stack", "tensorflow.stack"}
_MAKE_ARRAYS = {"array", "asarray", "zeros", "ones", "zeros_like", "ones_like", "full", "stack", "vstack", "hstack",
                "concatenate", "expand_dims", "reshape", "astype", "transpose", "swapaxes", "to_categorical"}  # fmt: skip
_ARRAY_ATTRIBUTES = {"values", "T", "iloc", "loc"}
_OVER_ALL = {
    f"numpy.{name}"
    for name in ("mean", "std", "var", "sum", "median", "min", "max", "prod", "average", "count_nonzero")
}
_NUMBERS = {"float", "int", "len", "bool"}
_DEEP = 12

_PREPARING = re.compile(
    r"layers\.(\w+\.)*(Normalization|Rescaling|Resizing|CenterCrop|TextVectorization|StringLookup|IntegerLookup|Hashing"
    r"|Discretization|CategoryEncoding)$"
)


class Kind(Enum):
    """What kind of thing feeds training."""

    DATASET = "dataset"
    ARRAY = "array"
    ARRAYS = "list of arrays"
    MAPPING = "dict of arrays"
    SEQUENCE = (
        "sequence"  # batches by index, with a length: keras.utils.Sequence, ImageDataGenerator's iterators
    )
    GENERATOR = "generator"
    RANGE = "range"
    UNKNOWN = "unknown"


class Kinds:
    """Kinds of the expressions of one module."""

    def __init__(self, module: Module, pipelines: Pipelines) -> None:
        self.pipelines, self.scopes = pipelines, module.scopes
        self.syntax, self.values, self.names = module.syntax, module.values, module.names

    def of(self, e: ast.expr, with_targets: bool = False) -> Kind:
        """What an expression that feeds training is. With targets beside it, it holds arrays."""
        if not with_targets and self.pipelines.is_dataset(e):
            return Kind.DATASET
        if self.generator(e) is not None:
            return Kind.GENERATOR
        return self._kind_inside(e, 0)

    def given_to_fit(self, e: ast.expr) -> Kind:
        """What rows or targets are that a `fit` gets: to Keras, a list of arrays is several inputs, in whatever loop it is
        filled."""
        origins = self.values.origins(e)
        if origins and all(self._is_filled_with_arrays(o, 0, in_loops=True) for o in origins):
            return Kind.ARRAYS
        return self.of(e, with_targets=True)

    def generator(self, e: ast.expr) -> Function | None:
        """The generator function of this module whose batches an expression gives."""
        found = self.generated(e)
        return found[1] if found is not None else None

    def generated(self, e: ast.expr) -> tuple[ast.Call, Function] | None:
        """The call of a generator function of this module whose batches an expression gives, and the function."""
        todo, seen = [e], set[ast.expr]()
        while todo and len(seen) < 50:
            e = todo.pop()
            if e in seen:
                continue
            seen.add(e)
            if isinstance(e, (ast.Name, ast.Attribute)):
                todo += [v for b in self.pipelines.bindings(e) for v in self.pipelines.given(b)]
            elif isinstance(e, ast.Subscript) and isinstance(e.value, (ast.Name, ast.Attribute)):
                number = e.slice.value if isinstance(e.slice, ast.Constant) else None
                held = [v for b in self.pipelines.bindings(e.value) for v in self.pipelines.given(b)]
                if isinstance(number, int):
                    todo += [part for v in held for part in self.pipelines.part(v, number)]
            elif isinstance(e, ast.Call):
                callee = self.values.callee(e)
                if isinstance(callee, FUNCTIONS):
                    yields = (n for n in walk(callee) if isinstance(n, (ast.Yield, ast.YieldFrom)))
                    if any(self.syntax.function(n) is callee for n in yields):
                        return e, callee
                    todo += self.values.returned(callee)
            elif isinstance(e, ast.IfExp):  # `batches(data) if steps else None`
                sides = [
                    s for s in (e.body, e.orelse) if not (isinstance(s, ast.Constant) and s.value is None)
                ]
                todo += sides if len(sides) == 1 else []
        return None

    def _kind_of(self, origin: Origin, depth: int = 0) -> Kind:
        node, path = origin.node, origin.path
        if depth > _DEEP:
            return Kind.UNKNOWN
        if -2 in path:
            return Kind.UNKNOWN
        match node:
            case ast.List() | ast.Tuple() | ast.Dict() if not path and self._is_yielded(node):
                return Kind.GENERATOR
            case ast.List() | ast.Tuple() if not path:
                return Kind.ARRAY if _is_data(node) else Kind.ARRAYS
            case ast.Dict() | ast.DictComp() if not path:
                return Kind.MAPPING
            case ast.ListComp() if not path:
                return Kind.ARRAY if self._is_one_number(node.elt) else Kind.ARRAYS
            case ast.GeneratorExp() if not path:
                return Kind.GENERATOR
            case ast.GeneratorExp() | ast.ListComp() if (
                len(path) == 1
            ):  # `train, test = (make(d) for d in data)`
                return self._kind_inside(node.elt, depth)
            case ast.BinOp():
                sides = [self._kind_inside(s, depth) for s in (node.left, node.right)]
                return next((k for k in sides if k is Kind.ARRAY), Kind.UNKNOWN)
            case ast.Subscript():
                if isinstance(node.slice, (ast.Slice, ast.Tuple)):
                    return Kind.ARRAY
                return (
                    Kind.ARRAY
                    if self._kind_inside(node.value, depth) in (Kind.ARRAY, Kind.ARRAYS)
                    else Kind.UNKNOWN
                )
            case ast.Attribute():
                return Kind.ARRAY if node.attr in _ARRAY_ATTRIBUTES else Kind.UNKNOWN
            case ast.Call() if not path and self._is_list_of_arrays(node):
                return Kind.ARRAYS
            case ast.Call() if node.args and self._prepares(node):
                return self._kind_inside(node.args[0], depth)
            case ast.Call():
                return self._made(node, depth)
            case _:
                return Kind.UNKNOWN

    def _kind_inside(self, e: ast.expr, depth: int) -> Kind:
        origins = self.values.origins(e)
        if depth < _DEEP and all(self._is_filled_with_arrays(o, depth) for o in origins):
            return Kind.ARRAYS
        kinds = [k for o in origins if (k := self._kind_of(o, depth + 1)) is not Kind.UNKNOWN]
        mixed = Kind.GENERATOR in kinds and len(set(kinds)) > 1
        return Kind.UNKNOWN if mixed or not kinds else kinds[0]

    def _is_one_number(self, e: ast.expr) -> bool:
        """Whether an expression is a number, and no array: a mean over everything, `float(x)`, `n * 2`."""
        match e:
            case ast.Constant():
                return True
            case ast.BinOp():
                return self._is_one_number(e.left) and self._is_one_number(e.right)
            case ast.UnaryOp():
                return self._is_one_number(e.operand)
            case ast.Call() if self.names.of(e.func) in _OVER_ALL:
                return len(e.args) == 1 and not any(k.arg in (None, "axis", "keepdims") for k in e.keywords)
            case ast.Call(func=ast.Name(id=called)):
                return called in _NUMBERS and self.values.callee(e) is None
        return False

    def _is_yielded(self, node: ast.expr) -> bool:
        """Whether this is what a generator function gives batch by batch, of which nobody sees the end."""
        return isinstance(self.syntax.parent.get(node), ast.Yield)

    def _is_filled_with_arrays(self, origin: Origin, depth: int, *, in_loops: bool = False) -> bool:
        """Whether a list begins empty and is then filled with whole arrays, one by one: `inputs = []`, `inputs.append(x)`. What
        a loop puts into it may as well be the rows of one; in_loops: it counts where it is surely an array, no number."""
        listed = origin.node
        if origin.path or not isinstance(listed, ast.List) or listed.elts:
            return False
        self.values.reads.note("attribute", PUT)
        put = [
            b
            for b in self.scopes.attributes.get(PUT, ())
            if isinstance(b.anchor, ast.expr) and any(o.node is listed for o in self.values.origins(b.anchor))
        ]
        function = self.syntax.function(listed)
        return bool(put) and all(
            self.syntax.function(b.statement) is function
            and b.value is not None
            and (
                self._has_axes(b.value)
                if in_loops
                else self.syntax.loops(b.statement) == self.syntax.loops(listed)
                and self._kind_inside(b.value, depth + 1) is Kind.ARRAY
            )
            for b in put
        )

    def _has_axes(self, e: ast.expr) -> bool:
        """Whether a value is surely an array, and no number that is taken out of one: `x[:, i : i + 1]`, `np.array(rows)`."""
        return all(
            not o.path
            and (
                _is_slice(o.node.slice)
                if isinstance(o.node, ast.Subscript)
                else isinstance(o.node, ast.Call) and self._makes_array(o.node)
            )
            for o in self.values.origins(e)
        )

    def _makes_array(self, call: ast.Call) -> bool:
        name, last = self.names.of(call.func) or "", self.names.last(call.func)
        return last in _MAKE_ARRAYS and (name.startswith("numpy.") or isinstance(call.func, ast.Attribute))

    def _prepares(self, call: ast.Call) -> bool:
        """Whether a layer of Keras that prepares rows is called on some: it gives one for each."""
        makers = [self.names.of(c.func) or "" for c in self.values.calls(call.func)]
        return bool(makers) and all(m.startswith("tensorflow.") and _PREPARING.search(m) for m in makers)

    def _made(self, call: ast.Call, depth: int) -> Kind:
        name, last = self.names.of(call.func) or "", self.names.last(call.func)
        callee = self.values.callee(call)
        if isinstance(call.func, ast.Name) and call.func.id == "dict" and callee is None:
            return Kind.MAPPING
        if isinstance(callee, ast.ClassDef):
            ancestors = self.values.ancestors(callee)
            return (
                Kind.SEQUENCE
                if any(a == SEQUENCE or a.endswith(".Sequence") for a in ancestors)
                else Kind.UNKNOWN
            )
        if last in (
            "flow",
            "flow_from_directory",
            "flow_from_dataframe",
            "TimeseriesGenerator",
        ) or SEQUENCE in self.values.made_by(call):
            return Kind.SEQUENCE
        if last in {"range", "trange"} or self._counts_turns(call, name):
            return Kind.RANGE
        if (
            name.startswith(("numpy", "pandas", "sklearn", "scipy"))
            or "load_data" in last
            or last in ("train_test_split", "shuffle")
        ):
            return Kind.ARRAY
        if last in ("to_categorical", "pad_sequences", "normalize", "one_hot", "img_to_array"):
            return Kind.ARRAY
        if (
            name.startswith("tensorflow.")
            and (self._is_array_of_keras(call, name) or not name.startswith(_TENSORFLOW_OBJECTS))
            and ".data." not in name
        ):
            return Kind.ARRAY
        if isinstance(call.func, ast.Attribute) and not name.startswith("tensorflow"):
            makers = [self.names.of(c.func) or "" for c in self.values.calls(call.func.value)]
            of_numpy = any(
                maker.startswith("numpy.") for maker in makers
            )  # a random generator gives arrays too
            is_array = of_numpy or last in _ARRAY_METHODS
            return Kind.ARRAY if is_array or self._is_changed_array(call.func, depth) else Kind.UNKNOWN
        return Kind.UNKNOWN

    def _counts_turns(self, call: ast.Call, name: str) -> bool:
        """Whether a loop goes through whole numbers that NumPy counts, `for step in np.arange(n):`, as through a range."""
        loop = self.syntax.parent.get(call)
        if name != "numpy.arange" or not isinstance(loop, ast.For) or loop.iter is not call:
            return False
        made = [o.node for e in call.args for o in self.values.origins(e)]
        of_parts = (isinstance(n, ast.Constant) and isinstance(n.value, float) for n in made)
        divided = (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in made)
        return not call.keywords and not any(of_parts) and not any(divided)

    def _is_array_of_keras(self, call: ast.Call, name: str) -> bool:
        """Whether Keras 3 computes an array: not in a method, as of a model, which computes with what it is given."""
        in_method = self.syntax.method_class(self.syntax.function(call)) is not None
        return name.startswith(_KERAS_ARRAYS) and not in_method

    def _is_changed_array(self, method: ast.Attribute, depth: int) -> bool:
        """Whether a method makes another array of an array that is seen: `rows.astype("float32").round()`."""
        return method.attr in _ALIKE and self._kind_inside(method.value, depth) is Kind.ARRAY

    def _is_list_of_arrays(self, call: ast.Call) -> bool:
        """Whether a call splits an array into several, or stands in a `list(…)` of what surely has several axes."""
        name = self.names.of(call.func)
        if name not in _OF_SEVERAL_AXES:
            return name in _SPLITS
        match self.syntax.parent.get(call):
            case ast.Call(func=ast.Name(id="list" | "tuple") as made, args=[listed]):
                return listed is call and self.names.scopes.is_builtin(made)
        return False

    def is_range(self, e: ast.expr) -> bool:
        """Whether a value is numbers that count: a range, or `itertools.count()`, which has no end."""
        made = [o.call for o in self.values.origins(e) if o.call is not None]
        return any(
            self.names.last(call.func) in ("range", "trange", "xrange", "arange") or self.is_endless(call)
            for call in made
        )

    def is_endless(self, e: ast.expr) -> bool:
        """Whether numbers that count have no end: `itertools.count()`."""
        return isinstance(e, ast.Call) and self.names.of(e.func) == "itertools.count"

    def is_literal(self, e: ast.expr) -> bool:
        """Whether a value is written out: a list of rates to try, say; not an empty one, which is filled later."""
        written = (ast.List, ast.Tuple, ast.Constant)
        return all(
            isinstance(o.node, written) and _is_data(o.node) and not o.path and not _is_empty(o.node)
            for o in self.values.origins(e)
        )

    def is_opaque(self, e: ast.expr) -> bool:
        """Whether nothing at all is seen of a value: a parameter that nothing here passes, a name of another module."""
        return all(
            isinstance(o.node, (ast.arg, ast.alias, ast.Name, ast.Attribute)) for o in self.values.origins(e)
        )

    def constant(self, e: ast.expr) -> int | None:
        """The number that an expression always is, where that can be seen.

        None for a setting that is set here in some cases only, `if args.debug: args.every = 1`: in others it is what the
        program is given. None for what is counted: `n = 0`, then `n += 1` in a loop."""
        if any(self._may_be_given(a) for a in self._attributes(e)):
            return None
        if any(b.kind == "augment" for b in self.values.bindings(e)):
            return None
        values = {
            o.node.value if isinstance(o.node, ast.Constant) and not o.path else None
            for o in self.values.origins(e)
        }
        value = values.pop() if len(values) == 1 else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _attributes(self, e: ast.expr) -> Iterator[ast.Attribute]:
        """The attribute that an expression is, or that its name stands for: `every = args.every`."""
        if isinstance(e, ast.Attribute):
            yield e
        elif isinstance(e, ast.Name):
            yield from (b.value for b in self.scopes.reaching(e) if isinstance(b.value, ast.Attribute))

    def _may_be_given(self, e: ast.Attribute) -> bool:
        """Whether an attribute is of an object that no class of the program makes, and is set under conditions only."""
        bindings = self.values.attribute_bindings(e)
        if not bindings or not all(self._is_conditional(b.statement) for b in bindings):
            return False
        return not any(self._is_own_object(o) for o in self.values.origins(e.value))

    def _is_own_object(self, origin: Origin) -> bool:
        """Whether a class of the program makes it: `self`, `Settings()`."""
        node = origin.node
        if isinstance(node, ast.arg):
            function = self.syntax.function(node)
            in_class = self.syntax.method_class(function) is not None
            return in_class and isinstance(function, FUNCTIONS) and node in function.args.args[:1]
        made = self.values.callee(origin.call) if origin.call is not None else node
        return isinstance(made, ast.ClassDef)

    def _is_conditional(self, statement: ast.AST) -> bool:
        return any(
            isinstance(c, ast.If) and not is_main_guard(c) for c, _ in self.syntax.conditions(statement)
        )

    def turns_once(self, e: ast.AST) -> bool:
        """Whether numbers are one number in the end, the same whenever they are gone through: `range(1)`, `range(n // n)`,
        `range(0, n, n)`."""
        if not isinstance(e, ast.Call) or not e.args or not self.is_range(e):
            return False
        ends = [self.constant(arg) for arg in e.args]
        if len(ends) > 1:
            known = [end for end in ends if end is not None]
            return len(known) == len(ends) <= 3 and 0 not in known[2:] and len(range(*known)) == 1
        quotients = [o.node for o in self.values.origins(e.args[0]) if not o.path]
        return self.constant(e.args[0]) == 1 or any(
            len(quotients) == 1
            and isinstance(q, ast.BinOp)
            and isinstance(q.op, ast.FloorDiv)
            and self.constant(q.left) is not None
            and self.constant(q.left) == self.constant(q.right)
            for q in quotients
        )


def _is_empty(e: ast.AST) -> bool:
    return isinstance(e, (ast.List, ast.Tuple)) and not e.elts


def _is_data(e: ast.expr) -> bool:
    """Whether a literal is made of numbers and strings only."""
    if isinstance(e, (ast.List, ast.Tuple)):
        return all(_is_data(x) for x in e.elts)
    if isinstance(e, ast.UnaryOp):
        return _is_data(e.operand)
    return isinstance(e, ast.Constant)


def _is_slice(index: ast.expr) -> bool:
    """Whether an index keeps an axis: `[:, i : i + 1]`."""
    return any(
        isinstance(part, ast.Slice) for part in (index.elts if isinstance(index, ast.Tuple) else [index])
    )
