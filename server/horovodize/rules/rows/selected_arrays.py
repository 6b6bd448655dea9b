"""The arrays whose rows a loop goes through: those that it selects from by the number of its turn, and what it is given.

    for i in range(0, n, 32):                           for rows, labels in batches(x, y, 32):
        train(x[i : i + 32], y[i : i + 32])                 train(rows, labels)

Here `x` and `y` are all of the rows, of which a rank sees 1/size()."""

from __future__ import annotations

import ast

from horovodize.facts.counting.turn_uses import derived_from
from horovodize.python.augmented import added
from horovodize.python.syntax import arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import names_in, names_set, walk
from horovodize.summary.feeding import Driver


def arrays(draft: Draft, driver: Driver) -> set[str]:
    """The names and attributes, as they are written, of the arrays that a loop goes through as a whole."""
    numbers = turn_numbers(driver)
    found = {
        ast.unparse(n.value)
        for s in driver.loop.body
        for n in walk(s)
        if isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Load)
        and isinstance(n.value, (ast.Name, ast.Attribute))
        and names_in(n.slice) & numbers
    }
    e = driver.iterable
    if isinstance(e, ast.Call) and draft.names.last(e.func) not in ("range", "xrange"):
        found |= {ast.unparse(a) for a in arguments(e) if isinstance(a, (ast.Name, ast.Attribute))}
    elif isinstance(e, (ast.Name, ast.Attribute)):
        found.add(ast.unparse(e))
    return (found | _of_dealing(draft, driver)) - names_of_body(driver)


def _of_dealing(draft: Draft, driver: Driver) -> set[str]:
    """`data.labels` where a loop's turns take `data.next_batch(32)`."""
    calls = [n for s in driver.loop.body for n in walk(s) if isinstance(n, ast.Call)]
    methods = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
    dealing = {ast.unparse(m.value) for m in methods if "batch" in m.attr.lower()}
    if not dealing:
        return set()
    return {
        ast.unparse(n)
        for n in draft.syntax.every(ast.Attribute)
        if isinstance(n.ctx, ast.Load) and not _is_called(draft, n) and ast.unparse(n.value) in dealing
    }


def _is_called(draft: Draft, n: ast.Attribute) -> bool:
    around = draft.syntax.parent[n]
    return isinstance(around, ast.Call) and around.func is n


def turn_numbers(driver: Driver) -> set[str]:
    """The number of a loop's turn, and the names that each turn makes of it."""
    loop = driver.loop
    if isinstance(loop, ast.While):
        moved = (added(s) for s in loop.body)
        numbers = {m.target.id for m in moved if m is not None and isinstance(m.target, ast.Name)}
    else:
        numbers = names_set(loop.target)
    reads = [n for s in loop.body for n in walk(s) if isinstance(n, ast.Name) and n.id in numbers]
    return numbers | derived_from(loop, reads)


def names_of_body(driver: Driver) -> set[str]:
    """The names that a loop's body sets: they are of one turn. Not what it only adds to."""
    assigned = [
        n for s in driver.loop.body for n in walk(s) if isinstance(n, ast.Assign) and added(n) is None
    ]
    return {name for n in assigned for target in n.targets for name in names_set(target)}
