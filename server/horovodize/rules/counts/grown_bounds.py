"""How far into rows a step reaches, where that grows with the steps: part of G5.

`k = min(n, 40 + 5 * step)` and `rows = np.random.choice(order[:k], 32)`, easy rows first; `batch[:, : step // 100] = 0`. The
number goes by how much has been seen, as a weight of the loss does. What each step fills itself (`memory[step] = row`, then
`memory[:step]`) is a rank's own, and as long as it counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, rate_reads
from horovodize.rules.weights.target_networks import losses_of
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver

_GROWS = (ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)
_FAR = 2000  # nodes that what a step is taken on is made of


def reads(draft: Draft, driver: Driver) -> Iterator[ast.expr]:
    """The counts of steps by which a loop's steps reach further into their rows."""
    if draft.in_graph:
        return
    inside = [n for s in driver.loop.body for n in walk(s)]
    filled = {
        ast.unparse(n.value) for n in inside if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
    }
    bounds = [
        (n, bound)
        for n in inside
        if isinstance(n, ast.Subscript) and (ast.unparse(n.value) not in filled or _is_wiped(draft, n))
        for bound in _open_ends(n.slice)
    ]
    found = [(n, [r for r in rate_reads.reads(draft, bound) if _grows(draft, r)]) for n, bound in bounds]
    found = [(n, counts) for n, counts in found if counts]
    if not found:
        return
    fed = [e for step in driver.steps for e in arguments(step)]
    made_of = set(draft.values.depends([*losses_of(draft), *fed], _FAR))
    for n, counts in found:
        if n in made_of or isinstance(n.ctx, ast.Store):
            yield from counts


def _open_ends(part: ast.expr) -> Iterator[ast.expr]:
    """`k` of `[:k]`, `[k:]` and `[:, :k]`: a slice of two ends picks the rows of a step."""
    parts = part.elts if isinstance(part, ast.Tuple) else [part]
    for e in parts:
        match e:
            case ast.Slice(lower=None, upper=ast.expr() as bound, step=None):
                yield bound
            case ast.Slice(lower=ast.expr() as bound, upper=None, step=None):
                yield bound


def _is_wiped(draft: Draft, part: ast.Subscript) -> bool:
    """Whether a constant is set there: `batch[:, :k] = 0`"""
    statement = draft.syntax.statement(part)
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)


def _grows(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is multiplied or divided there, and told nothing of the other ranks yet."""
    around = (a for a in draft.syntax.ancestors(read) if isinstance(a, (ast.BinOp, ast.stmt)))
    operators = []
    for a in around:
        if isinstance(a, ast.stmt):
            break
        operators.append(a.op)
    return counted.of(draft, read) is not None and any(isinstance(op, _GROWS) for op in operators)
