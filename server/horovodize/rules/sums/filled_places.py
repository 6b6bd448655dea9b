"""Arrays of which each step of a divided loop fills a place, and that are read as a whole: part of G4.

    costs = np.zeros(steps)
    for i in range(steps):
        costs[i] = train(x[i * 32 : (i + 1) * 32])
    if costs.mean() < 0.1:
        break

A rank takes 1/size() of the steps and fills as many places; those of the others stay as they began, and what is computed from
all of them is wrong: here half as much on two ranks. A list that each step appends to is as long as the rank's steps, and
right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import counts_a_share, is_touched
from horovodize.rules.rows.selected_arrays import turn_numbers
from horovodize.source.nodes import names_in, walk
from horovodize.summary.feeding import Driver

_MAKING = ("zeros", "empty", "ones", "full", "zeros_like", "empty_like", "ones_like", "full_like")
_LENGTHS = ("len", "zeros_like", "empty_like", "ones_like", "full_like")
_WHAT = "Fill all places of this array"
_WHY = "A rank takes 1/size() of the steps, so it fills 1/size() of the places."
_DOUBT = (
    "each rank fills the places of its own steps only, and line {} reads all of `{}`: append to a list instead, or add up what "
    "the ranks have filled (`hvd.allreduce(…, op=hvd.Sum)`)"
)


def ask(draft: Draft, driver: Driver, rule: str) -> None:
    """Asks about the arrays that a divided loop fills in part."""
    for filled in _filled(draft, driver):
        read = next(_whole_reads(draft, driver, filled), None)
        if read is not None and draft.once("filled places", filled):
            text = draft.module.text(filled.value)
            draft.ask(rule, filled, _WHAT, _WHY, _DOUBT.format(read.lineno, text))


def _filled(draft: Draft, driver: Driver) -> Iterator[ast.Subscript]:
    """`costs[i]` of `costs[i] = cost`, by the number of the turn, of an array that was made with all of its places."""
    numbers = turn_numbers(driver)
    for n in (n for s in driver.loop.body for n in walk(s) if isinstance(n, ast.Subscript)):
        if not isinstance(n.ctx, ast.Store) or not isinstance(n.value, (ast.Name, ast.Attribute)):
            continue
        if names_in(n.slice) & numbers and _is_made_full(draft, n.value):
            yield n


def _is_made_full(draft: Draft, held: ast.expr) -> bool:
    """Whether something is an array or a list of a fixed number of places, which isn't that of a rank's own steps."""
    for origin in draft.values.origins(held):
        node = origin.node
        if isinstance(node, ast.Call) and draft.names.last(node.func) in _MAKING:
            sizes = arguments(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            if not any(isinstance(part, ast.List) for part in (node.left, node.right)):
                continue
            sizes = [node.left, node.right]
        else:
            continue
        if not any(counts_a_share(draft, size) or _is_divided(draft, size) for size in sizes):
            return True
    return False


def _is_divided(draft: Draft, size: ast.expr) -> bool:
    return any(is_touched(draft, n) for n in draft.values.depends([size], 100))


def _is_same(draft: Draft, n: ast.Name | ast.Attribute, held: ast.expr, text: str) -> bool:
    """Whether two places read one array: a name of one function, or a field of one class."""
    within = draft.syntax.owner if isinstance(n, ast.Attribute) else draft.syntax.function
    return type(n) is type(held) and ast.unparse(n) == text and within(n) is within(held)


def _whole_reads(draft: Draft, driver: Driver, filled: ast.Subscript) -> Iterator[ast.expr]:
    """Where all places of an array are read, or others than the one that a turn fills."""
    text, place = ast.unparse(filled.value), ast.unparse(filled.slice)
    for n in draft.syntax.every(ast.Name, ast.Attribute):
        if not isinstance(n.ctx, ast.Load) or not _is_same(draft, n, filled.value, text):
            continue
        around = draft.syntax.parent[n]
        if isinstance(around, ast.Subscript) and around.value is n:
            if not isinstance(around.ctx, ast.Load) or ast.unparse(around.slice) == place:
                continue
            if not draft.syntax.inside(n, driver.loop) and not isinstance(around.slice, ast.Slice):
                continue  # one place, which may be that of another loop's turn
        elif isinstance(around, ast.Call) and draft.names.last(around.func) in _LENGTHS:
            continue
        elif isinstance(around, ast.Attribute) and around.attr in ("shape", "size", "dtype", "ndim", "fill"):
            continue
        yield n
