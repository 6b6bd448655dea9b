"""How many rows a batch has, as programs write it where they count rows: `seen += len(batch)`, `shown += args.batch_size`."""

from __future__ import annotations

import ast
import re

from horovodize.python.syntax import FUNCTIONS, LOOPS, Syntax
from horovodize.python.values import Values

# `batch`, `MINI_BATCH`, `batch_sz`, `images_per_batch`; not what is measured of one: `batch_loss`, `time_per_batch`
_BATCH_SIZE = re.compile(
    r"^(?!.*(loss|acc|cost|err|grad|norm|reward|return|score|metric|time|mse|mae|iou|auc))"
    r".*(batch(es)?_?(size|sz|dim|len|num|count|n|per_\w+)?|(^|_)bs)$|batch_?size",
    re.IGNORECASE,
)
_TOLD = re.compile(r"batch_?size|(^|_)bs$", re.IGNORECASE)
_TOLD_OF_SOMETHING = re.compile(
    r"batch_?size|^batch$|(^|_)bs$", re.IGNORECASE
)  # `args.batch`; `batch` may be rows
_SAME = ("int", "cast", "to_int64", "int64", "int32", "numpy")
_DIVIDING = ("divide", "true_divide", "divide_no_nan", "safe_div", "floordiv", "div")
_SHOWING = ("print", "format", "write", "info", "debug", "set_postfix", "set_description", "scalar", "log")
_SHAPES = ("shape", "get_shape", "as_list")


def is_number_of_rows(e: ast.expr | None) -> bool:
    """Whether an expression gives the number of rows of a batch: `len(x)`, `tf.shape(x)[0]`, `self.batch_size`."""
    match e:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name() | ast.Attribute() | ast.Subscript()]):
            return True
        case ast.Call(func=func, args=[inner, *_]) if _last(func) in _SAME:
            return is_number_of_rows(inner)
        case ast.Call(func=ast.Attribute(attr="numpy", value=inner), args=[]):
            return is_number_of_rows(inner)
        case ast.Subscript(value=value, slice=ast.Constant(value=0)):
            return _is_shape(value)
        case ast.Name() | ast.Attribute():
            return _BATCH_SIZE.search(_last(e)) is not None
        case _:
            return is_setting_of_rows(e)


def is_setting_of_rows(e: ast.AST | None) -> bool:
    """Whether an expression is the entry of settings that has the size of batches: `params.get("batch_size", 32)`."""
    match e:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return _TOLD.search(key) is not None
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]):
            return _TOLD.search(key) is not None
        case _:
            return False


def stands_for_rows(values: Values, e: ast.expr | None) -> bool:
    """Whether an expression gives the number of rows of a batch, or is another name for the size that all batches have:
    `self.b`, where `self.b = args.batch`. What a batch has been measured to have is no such size: it may be all rows."""
    if e is None or is_number_of_rows(e) or not isinstance(e, (ast.Name, ast.Attribute)):
        return is_number_of_rows(e)
    found = values.origins(e)
    told = [not o.path and _is_told(o.node) for o in found]
    return any(told) and all(t or _is_count(o.node) for t, o in zip(told, found, strict=True))


def _is_told(e: ast.AST) -> bool:
    match e:
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return _is_told(inner)
        case ast.Name(id=name):
            return _TOLD.search(name) is not None
        case ast.Attribute(attr=name):
            return _TOLD_OF_SOMETHING.search(name) is not None
        case _:
            return is_setting_of_rows(e)


def _is_count(e: ast.AST) -> bool:
    return isinstance(e, ast.Constant) and type(e.value) is int and e.value > 0


def _is_shape(e: ast.expr) -> bool:
    """`x.shape`, `tf.shape(x)`, `x.get_shape().as_list()`"""
    if isinstance(e, ast.Call):
        return _last(e.func) in _SHAPES
    return isinstance(e, ast.Attribute) and e.attr == "shape"


def _last(e: ast.expr) -> str:
    return e.id if isinstance(e, ast.Name) else e.attr if isinstance(e, ast.Attribute) else ""


def is_divided_by(syntax: Syntax, read: ast.expr) -> bool:
    """Whether a count is what a sum is divided by: `total / rows`, `total /= max(rows, 1)`. A mean of a rank's rows is one."""
    child: ast.AST = read
    for a in syntax.ancestors(read):
        if isinstance(a, ast.BinOp) and isinstance(a.op, (ast.Div, ast.FloorDiv)) and a.right is child:
            return True
        if isinstance(a, ast.Call) and _last(a.func) in _DIVIDING and child in a.args[1:]:
            return True
        if isinstance(a, ast.stmt):
            return isinstance(a, ast.AugAssign) and isinstance(a.op, (ast.Div, ast.FloorDiv))
        child = a
    return False


def is_divided(syntax: Syntax, read: ast.expr) -> bool:
    """Whether a sum is what is divided: `total / steps`."""
    parent = syntax.parent[read]
    return (
        isinstance(parent, ast.BinOp)
        and isinstance(parent.op, (ast.Div, ast.FloorDiv))
        and parent.left is read
    )


def is_index(syntax: Syntax, read: ast.expr) -> bool:
    """Whether a count says where rows go to, or come from: `outputs[rows : rows + len(x)] = y`."""
    child: ast.AST = read
    for a in syntax.ancestors(read):
        if isinstance(a, ast.Subscript) and a.slice is child:
            return True
        if isinstance(a, ast.stmt):
            return False
        child = a
    return False


def is_set_before(syntax: Syntax, place: ast.AST, texts: set[str]) -> bool:
    """Whether what a place counts on is set each time before, with no loop between, so that it holds nothing of earlier steps:
    the width of a line that is put together, `self.width = len(bar)`, `self.width += len(info)`."""
    statement: ast.AST = syntax.statement(place)
    while isinstance(statement, ast.stmt) and not isinstance(statement, (*LOOPS, *FUNCTIONS, ast.ClassDef)):
        block = syntax.block(statement)
        for earlier in block[: block.index(statement)]:
            if isinstance(earlier, ast.Assign) and any(ast.unparse(t) in texts for t in earlier.targets):
                read = (n for n in ast.walk(earlier.value) if isinstance(n, (ast.Name, ast.Attribute)))
                return all(ast.unparse(n) not in texts for n in read)
        statement = syntax.parent[statement]
    return False


def is_shown(syntax: Syntax, read: ast.expr) -> bool:
    """Whether a count is only printed or logged."""
    around = list(syntax.ancestors(read))
    calls = [_last(a.func) for a in around if isinstance(a, ast.Call)]
    return any(isinstance(a, ast.JoinedStr) for a in around) or any(name in _SHOWING for name in calls)


__all__ = [
    "is_divided",
    "is_divided_by",
    "is_index",
    "is_number_of_rows",
    "is_set_before",
    "is_setting_of_rows",
    "is_shown",
    "stands_for_rows",
]
