"""What a loss is over the rows of a step: a mean, a sum, or something that shares of the rows do not add up to.

Where the rows of a step are divided among ranks, an average of their gradients is the gradient of a mean, a sum of them that
of a sum. Of a root of a mean, of a product of two, of anything that joins rows with each other, neither is right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from horovodize.facts.differences.contexts import Context, handed_function, home, passed
from horovodize.facts.feeds.graph_collections import collected, is_collection
from horovodize.facts.feeds.over_rows import Over, added, axis_of, elementwise, flips, heaviest, reduced, same
from horovodize.facts.feeds.own_layers import methods_called
from horovodize.facts.feeds.row_weights import ELEMENTWISE, RowWeights
from horovodize.facts.feeds.shapes import Shapes
from horovodize.facts.feeds.turn_parts import DEPTH, MOST
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, Function, argument, arguments, position, says_none

_MEANS = {"reduce_mean", "mean"}
_SUMS = {"reduce_sum", "sum"}
_LOSSES_V1 = {"mean_squared_error", "softmax_cross_entropy", "sparse_softmax_cross_entropy", "sigmoid_cross_entropy",
              "absolute_difference", "log_loss", "huber_loss", "hinge_loss", "cosine_distance"}  # fmt: skip
_PER_ROW = {
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
}
_REGULARIZING = {"get_regularization_loss", "get_regularization_losses", "get_collection"}
_SAME = {
    "identity",
    "cast",
    "to_float",
    "stop_gradient",
    "squeeze",
    "convert_to_tensor",
    "check_numerics",
    "float",
    "int",
}
_MATRIX = {"matmul", "dot", "matvec", "sparse_tensor_dense_matmul", "sparse_dense_matmul", "sparse_matmul"}
_JOINING = {"cumsum", "cumprod", "cdist", "pdist", "covariance", "moments", "top_k", "sort", "argsort", "roll",
            "reverse", "svd", "cholesky", "triplet_semihard_loss"}  # fmt: skip
_PICKING = {"gather"}  # rows by their numbers
_SEGMENTS = re.compile("(unsorted_|sparse_)?segment_(sum|mean|max|min|prod|sqrt_n)(_v2)?$")
_ALONG = {
    "softmax",
    "l2_normalize",
    "normalize",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_min",
    "reduce_std",
    "argmax",
}
_COUNTING = {"len", "shape", "size", "get_shape"}
_BY_ROW = (Over.ROWS, Over.VECTOR)
_UNARY = (Over.MEAN, Over.SUM, Over.SUM_AND_MORE)


class Losses:
    """What losses are over rows.

    rows    the expressions that stand for the rows of a step
    is_v1   whether `tf.losses` are TensorFlow 1's, which are means
    shapes  what is known of how many rows arrays have"""

    def __init__(self, module: Module, rows: Collection[ast.AST], is_v1: bool, shapes: Shapes) -> None:
        self.module, self.rows, self.is_v1 = module, rows, is_v1
        self.names, self.values = module.names, module.values
        self._row_weights = RowWeights(module, rows, shapes)
        self._layers = 0  # of the module's own that are gone through: what has more axes comes there
        self._known: dict[tuple[ast.AST, Context], Over] = {}
        self._depth = 0

    def over(self, e: ast.AST, context: Context) -> Over:
        """What an expression is over the rows of the step that it is part of."""
        key = (e, context)
        if key not in self._known:
            if self._depth > DEPTH or len(self._known) > MOST:
                return Over.UNKNOWN
            self._known[key] = Over.NONE
            self._depth += 1
            self._known[key] = Over.ROWS if e in self.rows else self._find(e, context)
            self._depth -= 1
        return self._known[key]

    def trained(self, e: ast.expr, context: Context) -> Over:
        """What it is as a loss: gradients of one value for each row add up. A model of the program's own that computes its loss
        itself may give one of all rows, whatever is made of them in it."""
        found = self.over(e, context)
        if found is Over.ROWS and any(self._is_of_own_model(o.node) for o in self.values.origins(e)):
            return Over.UNKNOWN
        return Over.SUM if found in (Over.ROWS, Over.VECTOR) else found

    def _is_of_own_model(self, e: ast.AST) -> bool:
        """Whether a value is what something gives that isn't Keras' own: `loss = model(x, y)`."""
        if not isinstance(e, ast.Call) or self.names.of(e.func) is not None or not self._is_object(e.func):
            return False
        made = [self.names.of(c.func) or "" for c in self.values.calls(e.func)]
        return not made or not all(name.startswith("tensorflow.") for name in made)

    # ------------------------------------------------------------------ expressions

    def _find(self, e: ast.AST, context: Context) -> Over:
        match e:
            case ast.Name():
                return self._name(e, context)
            case ast.Attribute():
                return self._attribute(e, context)
            case ast.Lambda():
                return self.over(e.body, context)
            case ast.Call():
                return self._call(e, context)
            case ast.BinOp():
                return self._operation(type(e.op), e.left, e.right, context)
            case ast.UnaryOp():
                return self.over(e.operand, context)
            case ast.IfExp():
                return same([self.over(e.body, context), self.over(e.orelse, context)])
            case ast.Subscript():
                of = self.over(e.value, context)
                if of is Over.COUNT:
                    return of if isinstance(e.slice, ast.Constant) and e.slice.value == 0 else Over.NONE
                return of
            case ast.List() | ast.Tuple():
                return self._added(e.elts, [self.over(x, context) for x in e.elts])
            case ast.expr():
                inner = [self.over(c, context) for c in ast.iter_child_nodes(e) if isinstance(c, ast.expr)]
                return Over.NONE if set(inner) <= {Over.NONE, Over.COUNT} else Over.UNKNOWN
            case _:
                return Over.NONE

    def _name(self, e: ast.Name, context: Context) -> Over:
        found = list[Over]()
        kept = list[Binding]()
        for b in self.module.scopes.reaching(e):
            place = home(self.module, b, e, context)
            value = b.value
            if b.kind == "parameter":
                value = passed(self.module, b, place) if place is not None else None
                outer = place.outer if place is not None else None
                found.append(
                    self.over(value, outer) if value is not None and outer is not None else Over.NONE
                )
            elif b.kind == "augment" and value is not None:
                found.append(self._augmented(value, place or context))
            elif value is not None:
                listed = [self._part_of(value, b.path, place or context)]
                if isinstance(value, ast.List) and not b.path:
                    listed += (self.over(x, place or context) for x in self._appended(e))
                found.append(added(listed) if len(listed) > 1 else listed[0])
            else:
                continue
            kept.append(b if value is b.value else replace(b, value=value))
        return self._bound(kept, found)

    def _bound(self, bindings: list[Binding], found: list[Over]) -> Over:
        """What several bindings make of a name or an attribute: one of those that assign, and what is added to it since, or
        divides it, `loss /= rows`, in the order of the text."""
        if len(found) < 2 or all(b.kind != "augment" for b in bindings):
            return same(found)
        of_each = list(zip(bindings, found, strict=True))
        begun = [(b.value, of) for b, of in of_each if b.kind != "augment"]
        parts = [value for value, _ in begun]
        result = self._added(parts, [of for _, of in begun]) if begun else Over.NONE
        augments = [(b, of) for b, of in of_each if b.kind == "augment"]
        for b, of in sorted(augments, key=lambda pair: position(pair[0].anchor)):  # type: ignore[arg-type]
            if isinstance(b.operator, (ast.Add, ast.Sub)):
                result = self._added([next(iter(parts), None), b.value], [result, of])
            elif b.operator is not None:
                result = self._scaled(type(b.operator), result, of)
        return result

    def _appended(self, name: ast.Name) -> list[ast.expr]:
        """What is appended to a list, where it has the same name: `heads.append(h)`."""
        scopes = self.module.scopes
        return [
            c.args[0]
            for c in self.module.calls_written.get(".append")
            if isinstance(c.func, ast.Attribute) and isinstance(c.func.value, ast.Name) and len(c.args) == 1
            and c.func.value.id == name.id and scopes.lookup(name.id, c) is scopes.lookup(name.id, name)
        ]  # fmt: skip

    def _augmented(self, value: ast.expr, context: Context) -> Over:
        """`loss += penalty`, outside of a loop; what a loop adds up can't be told."""
        added = self.over(value, context)
        syntax = self.module.syntax
        loops = [loop for loop in syntax.loops(value) if not any(loop in c.loops for c in context.around())]
        return added if not loops or added is Over.NONE else Over.UNKNOWN

    def _part_of(self, value: ast.expr, path: tuple[int, ...], context: Context) -> Over:
        """`loss, grads = step(x)`: only what the name gets."""
        callee = self.values.callee(value) if isinstance(value, ast.Call) else None
        if (
            path
            and isinstance(value, ast.Call)
            and isinstance(callee, CALLABLES)
            and not context.is_running(callee)
        ):
            within, found = context.calling(callee, value), []
            for returned in self.values.returned(callee):
                found.append(self.over(_item(returned, path), within))
            return same(found)
        if path and isinstance(value, ast.Call) and self.names.last(value.func) == "moments":
            return Over.COUPLED if self.over(value, context) is not Over.NONE else Over.NONE
        return self.over(_item(value, path), context)

    def _attribute(self, e: ast.Attribute, context: Context) -> Over:
        if self.names.of(e) is not None or e.attr in ("losses", "trainable_variables", "variables", "dtype"):
            return Over.NONE
        if e.attr == "shape":
            return Over.COUNT if self.over(e.value, context) in (Over.ROWS, Over.VECTOR) else Over.NONE
        bindings = self.values.attribute_bindings(e)
        found = list[Over]()
        for b in bindings:
            over = self._augmented if b.kind == "augment" else self.over
            found += [over(b.value, self._of_function(b.statement, context))] if b.value is not None else []
        if found:
            return self._bound([b for b in bindings if b.value is not None], found)
        of = self.over(e.value, context)
        return Over.COUPLED if e.attr == "T" and of is Over.ROWS else of

    def _of_function(self, node: ast.AST, context: Context) -> Context:
        return context.elsewhere(node, self.module.syntax)

    # ------------------------------------------------------------------ arithmetic

    def _operation(self, op: type[ast.operator], left: ast.expr, right: ast.expr, context: Context) -> Over:
        a, b = self.over(left, context), self.over(right, context)
        if Over.COUPLED in (a, b):
            return Over.COUPLED
        if issubclass(op, ast.MatMult):
            return self._product(a, b, left, right)
        if Over.NONE in (a, b) and self._meets_weights([a, b], [left, right]):
            return Over.COUPLED
        if a in _BY_ROW and b in _BY_ROW and self._is_turned(left) is not self._is_turned(right):
            return Over.COUPLED  # each row with each other one
        if issubclass(op, (ast.Add, ast.Sub)):
            return self._added([left, right], [a, b])
        return self._scaled(op, a, b)

    def _scaled(self, op: type[ast.operator], a: Over, b: Over) -> Over:
        """What one value is, multiplied or divided by another, or combined with it otherwise."""
        if issubclass(op, ast.Div) and b is Over.COUNT:
            return {Over.SUM: Over.MEAN, Over.MEAN: Over.UNKNOWN}.get(a, a)
        if issubclass(op, ast.Mult) and Over.COUNT in (a, b):
            other = b if a is Over.COUNT else a
            return {Over.MEAN: Over.SUM, Over.SUM: Over.UNKNOWN}.get(other, other)
        if issubclass(op, (ast.Mult, ast.Div)):
            if b is Over.NONE:
                return a
            if a is Over.NONE and issubclass(op, ast.Mult):
                return b
        return elementwise([a, b])

    def _is_turned(self, e: ast.expr) -> bool:
        """Whether rows are moved from the first axis where this is written, `transpose(h)`."""
        return (
            isinstance(e, ast.Call)
            and self.names.last(e.func) == "transpose"
            and argument(e, "perm", 1) is None
        )

    def _added(self, parts: Sequence[ast.expr | None], found: list[Over]) -> Over:
        """What a sum of several values is: a penalty of weights beside a sum over rows is more than one number more."""
        more = (e for e, of in zip(parts, found, strict=True) if of is Over.NONE and e is not None)
        if Over.SUM in found and not all(map(self._is_number, more)):
            return Over.SUM_AND_MORE
        return added(found)

    def _meets_weights(self, inner: list[Over], parts: list[ast.expr]) -> bool:
        """Whether the rows meet weights that have a row for each of them."""
        return bool(set(inner) & {Over.ROWS, Over.VECTOR}) and self._row_weights.meet(parts)

    def _is_number(self, e: ast.expr) -> bool:
        """Whether an expression is made without any variable that is trained."""
        return not any(
            isinstance(n, ast.Call) or (isinstance(n, ast.Attribute) and n.attr == "losses")
            for n in self.values.depends([e], 200)
        )

    def _product(self, a: Over, b: Over, left: ast.expr, right: ast.expr) -> Over:
        """Of two matrices: rows come first in the product where they do in the first one, and in no other."""
        if b not in (Over.ROWS, Over.VECTOR):
            return a if b in (Over.NONE, Over.COUNT) else Over.UNKNOWN
        return Over.COUPLED if not self._layers or self._mixes(a, left, right) else Over.ROWS

    def _mixes(self, a: Over, left: ast.expr, right: ast.expr) -> bool:
        """Whether a product in a layer, whose second matrix has the rows, joins them. Where data have more axes, and of two
        that are computed there (attention), there may be a product for each row."""
        if self._row_weights.have_more_axes():
            return False
        turned = isinstance(right, ast.Call) and self.names.last(right.func) == "transpose"
        return a is Over.NONE or (self._is_handed(left, left, DEPTH) and not turned)

    def _is_handed(self, e: ast.expr, left: ast.expr, depth: int) -> bool:
        """Whether a layer is given a matrix, or holds it, as it is: `adjacency`, `inputs[1]`."""
        if isinstance(e, ast.Subscript):
            return self._is_handed(e.value, left, depth - 1)
        owner = self.module.syntax.owner
        return depth > 0 and all(
            isinstance(o.node, ast.arg)
            or owner(o.node) is not owner(left)
            or (isinstance(o.node, ast.Subscript) and self._is_handed(o.node.value, left, depth - 1))
            for o in self.values.origins(e)
        )

    # ------------------------------------------------------------------ calls

    def _given_back(self, e: ast.Call, context: Context) -> set[Over]:
        """What a model's layers that stand in this module make of its rows: `tf.matmul(adjacency, x)` joins them."""
        self._layers += 1
        methods = [m for m in methods_called(self.module, e.func) if not context.is_running(m)]
        found = {self.over(r, context.calling(m, e)) for m in methods for r in self.values.returned(m)}
        self._layers -= 1
        return found

    def joins_inside(self, function: Function | ast.Lambda) -> bool:
        """Whether a function that a model calls with rows joins them."""
        self._layers += 1
        place = Context(function, None, None)
        joined = any(self.over(r, place) is Over.COUPLED for r in self.module.values.returned(function))
        self._layers -= 1
        return joined

    def _picks(self, e: ast.Call, last: str, inner: list[Over]) -> bool:
        """Whether a call takes rows by their numbers among all rows, or adds up those of a number: the edges of a graph.
        Numbers that are computed from a rank's rows are those of its rows."""
        if not inner or inner[0] not in (Over.ROWS, Over.VECTOR):
            return False
        if _SEGMENTS.match(last):
            return True
        numbers = argument(e, "indices", 1)
        if last not in _PICKING or numbers is None or axis_of(e) or argument(e, "batch_dims") is not None:
            return False
        return not self._row_weights.is_computed(numbers)

    def _call(self, e: ast.Call, context: Context) -> Over:
        name, last = self.names.of(e.func) or "", self.names.last(e.func)
        callee = self.values.callee(e)
        if isinstance(callee, CALLABLES):
            if context.is_running(callee):
                return Over.NONE
            within = context.calling(callee, e)
            return same([self.over(r, within) for r in self.values.returned(callee)])
        if is_collection(self.module, e):
            losses = collected(self.module, e)
            return self._added(losses, [self.over(v, self._of_function(v, context)) for v in losses])
        given = arguments(e)
        inner = [self.over(a, context) for a in given]
        if Over.COUPLED in inner:
            return Over.COUPLED
        if last in _COUNTING and given:
            return Over.COUNT if inner[0] in (Over.ROWS, Over.VECTOR, Over.COUNT) else Over.NONE
        if last == "get_shape" and isinstance(e.func, ast.Attribute) and callee is None:
            return Over.COUNT if self.over(e.func.value, context) in (Over.ROWS, Over.VECTOR) else Over.NONE
        if last in _REGULARIZING or set(inner) <= {Over.NONE} and not isinstance(e.func, ast.Attribute):
            return Over.NONE
        if self.module.scopes.is_builtin(e.func) or name.startswith(("tensorflow", "numpy", "keras")):
            return self._library(e, name, last, inner, context)
        handed = handed_function(self.module, e.func, context)
        if handed is not None:
            return self._by_handed(e, handed, inner, context)
        loss = self._loss_object(e.func)
        if loss is not None:
            return loss if set(inner) & {Over.ROWS, Over.VECTOR} else elementwise(inner)
        if (
            isinstance(e.func, ast.Attribute)
            and self.values.callee(e) is None
            and last in (_MEANS | _SUMS | _SAME)
        ):
            return self._library(e, name, last, [self.over(e.func.value, context), *inner], context)
        if last in ("compiled_loss", "compute_loss"):
            return Over.MEAN
        if not self._is_object(e.func):
            return Over.NONE if set(inner) <= {Over.NONE, Over.COUNT} else Over.UNKNOWN
        if set(inner) & {Over.ROWS, Over.VECTOR}:
            back = self._given_back(e, context)
            if Over.COUPLED in back:
                return Over.COUPLED
            if len(back) == 1 and back <= set(_UNARY):
                return back.pop()  # it computes its loss itself
        held = [self.over(e.func.value, context)] if isinstance(e.func, ast.Attribute) else []
        if set(inner) | set(held) <= {Over.NONE, Over.COUNT}:
            return Over.NONE
        return elementwise([x for x in (*inner, *held) if x is not Over.COUNT])

    def _by_handed(self, e: ast.Call, handed: ast.expr, inner: list[Over], context: Context) -> Over:
        """What a function makes of rows that the caller hands over: `layer(x, activation=tf.nn.relu)`."""
        if says_none(handed):
            return elementwise(inner)  # nothing is called then
        named = self.names.of(handed) or ""
        if named.startswith(("tensorflow", "numpy", "keras")):
            return self._library(e, named, self.names.last(handed), inner, context)
        made = [o.node for o in self.values.origins(handed)]
        if len(made) == 1 and isinstance(made[0], CALLABLES) and not context.is_running(made[0]):
            within = context.calling(made[0], e)
            return same([self.over(r, within) for r in self.values.returned(made[0])])
        return Over.NONE if set(inner) <= {Over.NONE, Over.COUNT} else Over.UNKNOWN

    def _library(self, e: ast.Call, name: str, last: str, inner: list[Over], context: Context) -> Over:
        rows = set(inner) & {Over.ROWS, Over.VECTOR}
        goes_by_element = last in ELEMENTWISE or ".losses." in name or last in _PER_ROW or "entropy" in last
        if goes_by_element and Over.NONE in inner:
            if self._meets_weights(inner, arguments(e)):
                return Over.COUPLED
        if last in ("add", "subtract", "multiply", "divide", "truediv", "div") and len(e.args) == 2:
            op = {"add": ast.Add, "subtract": ast.Sub, "multiply": ast.Mult}.get(last, ast.Div)
            return self._operation(op, e.args[0], e.args[1], context)
        if last == "add_n":
            return added(inner)  # of one list
        if last in _MEANS | _SUMS:
            return reduced(inner[0] if inner else Over.NONE, e, last in _MEANS)
        if last == "l2_loss":
            return Over.SUM if rows else Over.NONE
        if last == "scalar_mul" or last in _SAME:
            return heaviest(inner)
        if last in _PER_ROW:
            return Over.VECTOR if rows else Over.NONE
        if self.is_v1 and ".losses." in name and last in _LOSSES_V1:
            plain = argument(e, "reduction") is None and argument(e, "weights") is None
            return Over.MEAN if rows and plain else Over.UNKNOWN
        if name.endswith("get_total_loss"):
            return Over.MEAN
        if (
            (".losses." in name or ".metrics." in name or "keras.backend" in name)
            and rows
            and not last[:1].isupper()
            and last not in _MATRIX
        ):
            return Over.ROWS if "keras.backend" in name else Over.VECTOR
        if self._picks(e, last, inner):
            return Over.COUPLED
        if self._layers and last in _JOINING | _ALONG | {"transpose"} and rows:
            return Over.ROWS
        if last in _MATRIX and len(e.args) >= 2:
            return self._matrices(e, inner)
        if last in ("tensordot", "einsum", "transpose") and rows:
            first = last == "tensordot" and len(inner) > 1 and inner[1] is Over.NONE
            return inner[0] if first else Over.COUPLED if last == "transpose" and flips(e) else Over.UNKNOWN
        if last in _JOINING and rows:
            return Over.COUPLED if axis_of(e) in (None, 0) else Over.ROWS
        if last in _ALONG and rows:
            axis = axis_of(e)
            whole = axis is None and last not in ("softmax",)
            return Over.COUPLED if axis == 0 or whole else Over.ROWS
        if set(inner) & set(_UNARY):
            return Over.UNKNOWN
        return elementwise(inner)

    def _matrices(self, e: ast.Call, inner: list[Over]) -> Over:
        """`tf.matmul(a, b)`, where either may be turned."""
        turned = {k.arg for k in e.keywords if not _is_false(k.value)}
        if turned & {"transpose_a", "adjoint_a"} and inner[0] in (Over.ROWS, Over.VECTOR):
            return Over.ROWS if self._layers else Over.COUPLED
        if self._layers and turned & {"transpose_b", "adjoint_b"} and inner[0] is not Over.NONE:
            return Over.ROWS
        return self._product(inner[0], inner[1], e.args[0], e.args[1])

    def _is_object(self, f: ast.expr) -> bool:
        """Whether what is called was made in this module (a model, a layer, something's method), rather than a function that
        can't be seen."""
        held = f.value if isinstance(f, ast.Attribute) and not self.values.attribute_bindings(f) else f
        return isinstance(f, ast.Call) or held is not f or bool(self.values.calls(f))

    def _loss_object(self, f: ast.expr) -> Over | None:
        """What a Keras loss object gives; None if it is none."""
        found = []
        for call in self.values.calls(f):
            name = self.names.of(call.func) or ""
            if ".losses." not in name:
                return None
            reduction = argument(call, "reduction")
            said = ast.unparse(reduction).lower() if reduction is not None else ""
            if not said or "auto" in said or "batch_size" in said or said.endswith("mean'"):
                found.append(Over.MEAN)
            else:
                found.append(Over.VECTOR if "none" in said else Over.SUM if "sum" in said else Over.UNKNOWN)
        return same(found) if found else None


def _item(e: ast.expr, path: tuple[int, ...]) -> ast.expr:
    """The part of a tuple that is written out."""
    while path and isinstance(e, (ast.Tuple, ast.List)) and 0 <= path[0] < len(e.elts):
        e, path = e.elts[path[0]], path[1:]
    return e


def _is_false(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and not e.value
