"""Shares of numbers of steps that are no whole ones (`if batches >= len(x) / 32: break` ends with the next step, never before),
or that only the run of a graph knows (`total = tf.placeholder(tf.int64)`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.source import Edit
from horovodize.source.nodes import walk

_OF_TENSORS = ("tensorflow.", "tensorflow.math.", "tensorflow.compat.v1.", "tensorflow.compat.v1.math.")
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def over_ranks(draft: Draft, count: ast.expr) -> tuple[Edit, ...] | None:
    """`len(x) / 32` → `len(x) / 32 / hvd.size()` where steps are compared with it, `0.1 * steps` as well; None for all other
    numbers.

    7.5 batches alone are eight steps, on two ranks four each; half of them rounded down would be three."""
    compared = draft.syntax.parent.get(count)
    if not isinstance(compared, ast.Compare) or not all(isinstance(op, _ORDERED) for op in compared.ops):
        return None
    made = [o.node for o in draft.values.origins(count)]
    if not made or not all(_is_fraction(draft, n) for n in made):
        return None
    if not isinstance(count, (ast.BinOp, ast.Name, ast.Attribute)):
        return None
    is_sum = isinstance(count, ast.BinOp) and isinstance(count.op, (ast.Add, ast.Sub))
    opening, closing = ("(", ")") if is_sum else ("", "")
    return Edit.around(draft.module.span(count), opening, f"{closing} / {SIZE}")


def _is_fraction(draft: Draft, e: ast.AST, depth: int = 4) -> bool:
    """Whether a number may lie between two whole ones: it is divided, or made of one with a fraction, `args.warmup * steps`."""
    match e:
        case ast.BinOp(op=ast.Div()):
            return True
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add() | ast.Sub(), right=right):
            return depth > 0 and any(_has_fraction(draft, part, depth - 1) for part in (left, right))
        case _:
            return False


def _has_fraction(draft: Draft, e: ast.expr, depth: int) -> bool:
    """Whether a number is a fraction, or one that the program is given by a name is."""
    for o in draft.values.origins(e):
        node: ast.AST | None = o.node
        if isinstance(node, ast.Attribute) and draft.names.of(node) is None:
            node = draft.facts.uniform.draws.default_of(node.attr)
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            return not node.value.is_integer()
        if node is not None and _is_fraction(draft, node, depth):
            return True
    return False


def at_least(draft: Draft, count: ast.expr, least: int = 1) -> tuple[str, str]:
    """What stands before and after a share that is never less than a number: `max(1, …)`, of a tensor of a graph, which has no
    value to compare yet, `tf.maximum(…, 1)`."""
    if least == 0:
        return "", ""
    graph = draft.in_graph or draft.sites.read_estimators.trainings
    if graph and _is_tensor(draft, count, set()):
        return f"{draft.tensorflow()}.maximum(", f", {least})"
    return f"max({least}, ", ")"


def _is_tensor(draft: Draft, e: ast.AST, seen: set[ast.AST]) -> bool:
    """Whether a number is one that operations of TensorFlow compute: `tf.cast(total, tf.int64) // 10`, `tf.shape(x)[0]`."""
    if e in seen:
        return False
    seen.add(e)
    match e:
        case ast.BinOp(left=left, right=right):
            return _is_tensor(draft, left, seen) or _is_tensor(draft, right, seen)
        case ast.Subscript(value=value):
            return any(_is_tensor(draft, v, seen) for v in (value, *_items(draft, value)))
        case ast.Call(func=func):
            name = draft.names.of(func) or ""
            return any(name.startswith(p) and "." not in name.removeprefix(p) for p in _OF_TENSORS)
        case ast.Name() | ast.Attribute():
            return any(_is_tensor(draft, o.node, seen) for o in draft.values.origins(e) if not o.path)
        case _:
            return False


def _items(draft: Draft, container: ast.expr) -> Iterator[ast.expr]:
    """What a container of the program's gives by a key: what its class returns there, `hyper["span"]`, and what is kept in it,
    `self.kept[name] = tf.Variable(…)`."""
    for made in draft.values.receiver(container):
        for method in made.body if isinstance(made, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and method.name == "__getitem__":
                yield from (
                    n.value for n in walk(method) if isinstance(n, ast.Return) and n.value is not None
                )
    text, owner = ast.unparse(container), _owner(draft, container)
    for kept in draft.syntax.every(ast.Assign):
        for target in kept.targets:
            is_item = isinstance(target, ast.Subscript) and ast.unparse(target.value) == text
            if is_item and _owner(draft, target) is owner:
                yield kept.value


def _owner(draft: Draft, e: ast.expr) -> ast.AST | None:
    """The class in which an attribute of `self` is used, else the function."""
    function = draft.syntax.function(e)
    return (draft.syntax.method_class(function) if function is not None else None) or function


__all__ = ["at_least", "over_ranks"]
