"""Where each rank draws which rows it trains on and which it validates on (a part of HVD319)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.drawn_orders import drawn_order, draws_a_split


def splits_of_own(context: Context) -> Iterator[tuple[ast.expr, ast.AST]]:
    """What splits rows in two by an order that each rank draws, and what draws that."""
    for call in context.module.calls_of("sklearn.model_selection.train_test_split"):
        if draws_a_split(context, call):
            yield call, call
    before: dict[tuple[str, str], ast.Subscript] = {}
    slices = [n for n in context.syntax.every(ast.Subscript) if isinstance(n, ast.Subscript)]
    for node in slices:
        if isinstance(node.slice, ast.Slice) and isinstance(node.value, ast.Name) and not node.slice.step:
            if node.slice.lower is None and node.slice.upper is not None:
                before[node.value.id, context.text(node.slice.upper)] = node
    for node in slices:
        match node:
            case ast.Subscript(
                value=ast.Name(id=name), slice=ast.Slice(lower=ast.expr() as cut, upper=None, step=None)
            ):
                first = before.get((name, context.text(cut)))
                if first is None or context.syntax.function(first) is not context.syntax.function(node):
                    continue
                if context.syntax.loops(node) or (drawn := drawn_order(context, node.value)) is None:
                    continue
                yield node, drawn
