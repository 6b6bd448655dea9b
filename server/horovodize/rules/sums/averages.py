"""Averages over the steps of a divided loop: part of G4, G5 and S5.

`total += loss` in each step and `total / len(x)` after them is no average any more when a rank takes 1/size() of the steps:
what it is divided by is divided, too. Likewise `total / 100` of what was added up since the last of the events that come every
100 steps (word2vec's tutorial prints its loss so).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import partial

from horovodize.facts.counting.cursors import cursors_of
from horovodize.facts.counting.restarts import Restart
from horovodize.plan import Decision
from horovodize.python.augmented import added
from horovodize.python.syntax import arguments, is_one
from horovodize.rules.drafting.decisions import Divided, OfAll, Shared
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import counted, numbers_of_batches
from horovodize.rules.numbers.shares import counts_a_share, divisors_in, feeding
from horovodize.rules.rows.selected_arrays import arrays
from horovodize.rules.sums import summed_items, told_averages
from horovodize.rules.sums.averages_of_events import WHAT, WHY, factors
from horovodize.source import Edit
from horovodize.source.nodes import names_in
from horovodize.summary.feeding import Driver

_SHOWING = ("set_description", "set_postfix", "set_postfix_str", "write", "info", "debug")


def keep(draft: Draft, driver: Driver, rule: str) -> None:
    """Divides the divisors of sums over a loop that was divided, where they are how many steps it has."""
    counts = [*_counts(draft, driver), *(f"len({a})" for a in sorted(arrays(draft, driver)))]
    batches = _batches_of(draft, driver)

    def is_count(e: ast.expr) -> bool:
        if any(_same(draft, e, count) for count in counts):
            return True
        if batches is None or (isinstance(e, ast.Call) and factors(e) != [e]):
            return False  # of `float(n)` it is `n`
        own = partial(_is_divided_where_made, draft)
        return numbers_of_batches.counted(draft, e, own) == batches

    if counts or batches is not None:
        _divide(draft, driver, rule, is_count)
        for told in told_averages.divisors(draft, driver.loop, sums_of(driver), is_count):
            divide_by(draft, told, rule)
    e = driver.iterable
    if isinstance(e, ast.Call) and draft.names.last(e.func) in ("range", "xrange") and len(e.args) == 1:
        told_averages.note_kept(draft, driver.loop, e.args[0], rule)
    for cursor in cursors_of(feeding(draft), driver):
        if cursor.restart is not None and cursor.step is not None:
            _keep_of_cycle(draft, driver, cursor.restart, cursor.step, rule)


def _batches_of(draft: Draft, driver: Driver) -> numbers_of_batches.Batches | None:
    """The batches that a loop over a range went through as a whole."""
    e = driver.iterable
    if not isinstance(e, ast.Call) or draft.names.last(e.func) not in ("range", "xrange"):
        return None
    return numbers_of_batches.of_range(draft, e, lambda name: False)


def _keep_of_cycle(draft: Draft, driver: Driver, again: Restart, step: ast.expr, rule: str) -> None:
    """The same of a sum over the steps of a cycle, shown where a cursor begins again; not of what is added up there."""
    rows = _written(again.rows)
    counts = [rows, *([] if is_one(step) else _batches(rows, _written(step)))]
    there = {ast.unparse(a.target) for s in again.branch for n in ast.walk(s) if (a := added(n))}
    sums = sums_of(driver) - there
    _divide(draft, driver, rule, lambda e: any(_same(draft, e, count) for count in counts), sums)


def by_turns(draft: Draft, driver: Driver, turn: ast.Name) -> list[ast.expr]:
    """The divisors of sums over a loop that are made from the number of its turn: `total / (i + 1)`."""
    sums = sums_of(driver)
    return [
        d for d, what in divisors_in(draft, driver.loop) if turn.id in names_in(d) and names_in(what) & sums
    ]


def keep_of_dataset(draft: Draft, driver: Driver, rule: str) -> None:
    """The same of a loop over a dataset that was divided: a sum is divided by how many batches or rows that has as a whole."""
    if not is_of_shared(draft, driver):
        return
    trail = _trail(draft, driver)
    rows = {
        ast.unparse(part)
        for e in trail
        if isinstance(e, ast.Call) and draft.names.last(e.func) == "from_tensor_slices"
        for given in e.args
        for part in (given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given])
    }
    _divide(draft, driver, rule, lambda e: _is_whole(draft, e, rows, set(trail)))


def is_of_shared(draft: Draft, driver: Driver) -> bool:
    """Whether a loop goes through a dataset that was divided."""
    return any(draft.was(e, Shared) for e in _trail(draft, driver))


def _trail(draft: Draft, driver: Driver) -> list[ast.expr]:
    return list(feeding(draft).pipelines.trail(driver.iterable)) if driver.iterable is not None else []


def _divide(
    draft: Draft,
    driver: Driver,
    rule: str,
    counts: Callable[[ast.expr], bool],
    of: set[str] | None = None,
) -> None:
    sums = sums_of(driver) if of is None else of
    for divided_by, what in divisors_in(draft, driver.loop):
        if any(draft.was(n, OfAll) for n in ast.walk(what)):
            continue  # a cursor, read as that of all ranks
        for divisor in (divided_by, *factors(divided_by)) if is_summed(draft, driver, what, sums) else ():
            if draft.was(divided_by, Divided) or counts_a_share(draft, divisor) or not counts(divisor):
                continue
            divide_by(draft, divisor, rule)


def divide_by(draft: Draft, divisor: ast.expr, rule: str) -> None:
    if draft.decide(divisor, Divided(rule)):
        opening, closing = ("max(1, (", ")") if needs_parentheses(divisor) else ("max(1, ", "")
        edits = Edit.around(draft.module.span(divisor), opening, f"{closing} // {SIZE})")
        draft.change(rule, divisor, WHAT, WHY, draft.decided(Decision.DIVIDED, edits))


def is_summed(draft: Draft, driver: Driver, what: ast.AST, sums: set[str]) -> bool:
    """Whether something is one of the sums of a loop, and no later one of the same name. A count of steps is none: of what is
    computed from it, `math.pi * step / total`, the steps of all ranks are told, unless it is only printed."""
    if _is_of_steps(draft, what) and not _is_shown(draft, what):
        return False
    read = [n for n in ast.walk(what) if isinstance(n, ast.Name) and n.id in sums]
    counters, counted_for_all = draft.facts.counters, draft.facts.counters.listed.of_rows
    if any(isinstance(n.ctx, ast.Load) and counters.of(n) in counted_for_all for n in read):
        return False  # a count of the rows of all ranks
    return summed_items.is_one(draft, driver, what, sums) or any(
        isinstance(n.ctx, ast.Store)
        or any(draft.syntax.inside(b.statement, driver.loop) for b in draft.module.scopes.reaching(n))
        for n in read
    )


def _is_of_steps(draft: Draft, what: ast.AST) -> bool:
    """Whether something is computed from the number of a rank's steps."""
    parts = (n for n in ast.walk(what) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)))
    return any(isinstance(n.ctx, ast.Load) and counted.of(draft, n) is not None for n in parts)


def _is_shown(draft: Draft, what: ast.AST) -> bool:
    """Whether something goes into what a statement prints or writes, and nowhere else."""
    statement = draft.syntax.statement(what)
    value = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(value, ast.Call):
        return False
    return draft.names.last(value.func) in _SHOWING or draft.facts.effects.output_calls.of(value) is not None


def _is_whole(draft: Draft, e: ast.expr, rows: set[str], trail: set[ast.expr]) -> bool:
    """Whether a number is made from how many rows or batches there are on all ranks together."""
    if counts_a_share(draft, e) or _is_divided_where_made(draft, e):
        return False
    made_of = list(draft.values.depends([e], 200))
    if any(isinstance(n, ast.Name) and _is_a_turn(draft, n) for n in made_of):
        return False
    for n in made_of:
        measured: ast.expr | None = None
        if isinstance(n, ast.Call) and draft.names.last(n.func) in ("len", "cardinality") and n.args:
            measured = n.args[0]
        elif isinstance(n, ast.Subscript) and isinstance(n.value, ast.Attribute) and n.value.attr == "shape":
            measured = n.value.value if isinstance(n.slice, ast.Constant) and n.slice.value == 0 else None
        if measured is not None and (
            ast.unparse(measured) in rows
            or set(feeding(draft).pipelines.trail(measured)) & trail - {measured}
        ):
            return True
    return False


def _is_a_turn(draft: Draft, name: ast.Name) -> bool:
    """Whether a name is bound by a loop or counted up: `total / (i + 1)`."""
    return isinstance(name.ctx, ast.Load) and any(
        b.kind in ("item", "augment") for b in draft.module.scopes.reaching(name)
    )


def _counts(draft: Draft, driver: Driver) -> list[str]:
    """How many steps a loop has, as expressions: of `range(n)` `n`, of `zip(x, y)` `len(x)` and `len(y)`."""
    if isinstance(driver.loop, ast.While):
        return _counts_of_test(draft, driver.loop)
    e = driver.iterable
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Name):
        if e.func.id in ("range", "xrange") and e.args:
            own = [] if _is_divided_where_made(draft, e.args[0]) else [_written(e.args[0])]
            if len(e.args) == 1:
                return [*own, *_named(draft, e.args[0]), *_examples(draft, e.args[0])]
            if len(e.args) == 2 and (of_epoch := _of_epoch(e.args[0], e.args[1])) is not None:
                return [of_epoch]
            examples = _written(e.args[1])  # `range(0, n, size)`: as many examples, so many batches
            return [examples, *_batches(examples, _written(e.args[2]))] if len(e.args) == 3 else [examples]
        if e.func.id == "zip":
            return [f"len({_written(a)})" for a in e.args]
    if isinstance(e, ast.Call):
        return _counts_of_call(e)
    return [f"len({_written(e)})"] if isinstance(e, (ast.Name, ast.Attribute)) else []


def _named(draft: Draft, count: ast.expr) -> list[str]:
    """What a name of a number of steps stands for, where it is another name or a field: `n = generator.steps_per_epoch`."""
    bound = draft.module.scopes.reaching(count) if isinstance(count, ast.Name) else []
    value = bound[0].value if len(bound) == 1 and not bound[0].path else None
    if not isinstance(value, (ast.Name, ast.Attribute)) or draft.was(value, Divided):
        return []
    return [_written(value)]


def _of_epoch(start: ast.expr, stop: ast.expr) -> str | None:
    """How many steps `range(epoch * n, (epoch + 1) * n)` has: `n`."""
    if not isinstance(start, ast.BinOp) or not isinstance(start.op, ast.Mult):
        return None
    for epoch, steps in ((start.left, start.right), (start.right, start.left)):
        after = f"{_written(epoch)} + 1"
        if _written(stop) in (f"({after}) * {_written(steps)}", f"{_written(steps)} * ({after})"):
            return _written(steps)
    return None


def _counts_of_test(draft: Draft, loop: ast.While) -> list[str]:
    """The same of `while i < n: … i += 1`; where it goes on by a batch, also the batches of so many rows."""
    test = loop.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Lt) or len(test.ops) > 1:
        return []
    moves = (added(s) for s in loop.body)
    steps = [m.value for m in moves if m is not None and ast.unparse(m.target) == ast.unparse(test.left)]
    bound = test.comparators[0]
    if len(steps) != 1 or _is_divided_where_made(draft, bound):
        return []
    by_one = isinstance(steps[0], ast.Constant) and steps[0].value == 1
    more = _examples(draft, bound) if by_one else _batches(_written(bound), _written(steps[0]))
    return [_written(bound), *more]


def _counts_of_call(call: ast.Call) -> list[str]:
    """How many rows or batches there are of what a function makes of all rows, as `batches(x, y, 32)` and
    `np.array_split(order, len(x) // 32)` do: the lengths of what it is given, and lengths that it is given."""
    given = arguments(call)
    lengths = [f"len({_written(a)})" for a in given if isinstance(a, (ast.Name, ast.Attribute))]
    batches = [text for n in lengths for a in given for text in _batches(n, _written(a))]
    made_of = [n for a in given for n in ast.walk(a)]
    measured = [n for n in made_of if isinstance(n, ast.expr) and re.fullmatch(r"len\([^()]*\)", _written(n))]
    quotients = [n for n in made_of if isinstance(n, ast.BinOp) and n.left in measured]
    return [*lengths, *batches, *map(_written, (*measured, *quotients))]


def _is_divided_where_made(draft: Draft, count: ast.expr) -> bool:
    """Whether a name stands for a rank's number of steps already: all that is divided by it is."""
    return isinstance(count, ast.Name) and any(
        b.value is not None and draft.was(b.value, Divided) for b in draft.module.scopes.reaching(count)
    )


def _batches(examples: str, size: str) -> list[str]:
    """How a number of batches is written."""
    ratio = f"{examples} / {size}"
    rounded = ("int({})", "math.ceil({})", "np.ceil({})", "int(np.ceil({}))", "round({})")
    return [f"{examples} // {size}", ratio, *(form.format(ratio) for form in rounded)]


def _examples(draft: Draft, steps: ast.expr) -> list[str]:
    """How many examples there are, where a number of steps is made of that: `len(x)` of `int(len(x) / batch_size)`."""
    found = []
    for origin in draft.values.origins(steps):
        node = origin.node
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if node.func.id == "len":
                break
            node = node.args[0]  # int(…), math's ceil
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv)):
            found.append(_written(node.left))
    return found


def sums_of(driver: Driver) -> set[str]:
    """What a loop adds something to, as it is written: names, fields, items."""
    sums = (added(n) for s in driver.loop.body for n in ast.walk(s))
    return {
        ast.unparse(s.target)
        for s in sums
        if s is not None and isinstance(s.target, (ast.Name, ast.Attribute, ast.Subscript))
    }


def _same(draft: Draft, e: ast.expr, count: str) -> bool:
    """Whether an expression is a count: written so, or a name or value that was made so."""
    if _written(e) == count:
        return True
    if not isinstance(e, ast.Name):
        return False
    bindings = draft.module.scopes.reaching(e)
    return len(bindings) == 1 and bindings[0].value is not None and _written(bindings[0].value) == count


def _written(e: ast.AST) -> str:
    """As `ast.unparse`; `x.shape[0]` as `len(x)`."""
    return re.sub(r"([\w.]+)\.shape\[0\]", r"len(\1)", ast.unparse(e))
