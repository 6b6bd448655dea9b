"""Loops that end by a count of their turns: what they count to is divided. Part of G4 and S5."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import CounterKind
from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.exits import deciding, exits
from horovodize.facts.differences.sources import Source
from horovodize.python.augmented import augmented
from horovodize.python.comparisons import faced
from horovodize.python.syntax import Loop, arguments, numbered
from horovodize.rules.drafting.decisions import Fewer, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import change_count, counts_a_share, feeding
from horovodize.summary.feeding import Driver

_MEASURED = (Source.ROWS, Source.CHANCE, Source.CLOCK, Source.SIGNAL)
_WHY = "Every step averages size() batches, so as many are seen after 1/size() of the steps."


def counted(draft: Draft, e: ast.expr) -> ast.expr | bool | None:
    """The `n` of `range(n)`; True for `itertools.count()`, which has no end, also by a name; None for anything else."""
    if not isinstance(e, ast.Call):
        made = [o.node for o in draft.values.origins(e) if not o.path]
        endless = bool(made) and all(
            isinstance(n, ast.Call) and feeding(draft).kinds.is_endless(n) for n in made
        )
        return True if endless else None
    if feeding(draft).kinds.is_endless(e):
        return True
    single = len(e.args) == 1 and not e.keywords and draft.names.last(e.func) in ("range", "xrange")
    return e.args[0] if single else None


def divide_ends(draft: Draft, driver: Driver, rule: str) -> None:
    """A loop over data that is divided, and a `while` around it, may end by a count of the steps besides:
    `if step >= max_steps: break`."""
    loop, e = driver.loop, driver.iterable
    if isinstance(loop, ast.While) or e is None or draft.drive.in_traced(loop):
        return
    if not any(draft.was(part, Shared) for part in (e, *feeding(draft).pipelines.trail(e))):
        return
    around = draft.syntax.loops(loop)
    tests: list[tuple[ast.expr, tuple[type[ast.cmpop], ...]]] = [
        (s.test, (ast.Gt, ast.GtE, ast.Eq))
        for one in (loop, *around)
        for s in one.body
        if isinstance(s, ast.If) and isinstance(s.body[-1], ast.Break)
    ]
    tests += [(one.test, (ast.Lt, ast.LtE)) for one in around if isinstance(one, ast.While)]
    for test, operators in tests:
        end = compared(test, operators)
        if end is not None and _counts(loop, end[0], test) and not _goes_on_by_all(draft, driver, end[0]):
            _divide_whole(draft, end[1], rule)


def _goes_on_by_all(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """Whether a count is kept with a checkpoint, or is one of rows: it goes on by the steps of all ranks (G6), and what it is
    compared with stays."""
    known = draft.facts.counters
    counter = known.of(e)
    return (
        counter is not None
        and driver in counter.drivers
        and (counter.stored or counter in known.listed.of_rows)
    )


def _counts(loop: ast.For | ast.AsyncFor, e: ast.expr, test: ast.expr) -> bool:
    """Whether something counts the turns of a loop: by a statement in it, or (in the loop) as the number of the turn."""
    within = any(n is test for s in loop.body for n in ast.walk(s))
    return counts_up(loop, ast.unparse(e)) or (within and ast.unparse(e) == _number(loop))


def _divide_whole(draft: Draft, count: ast.expr, rule: str) -> None:
    known = feeding(draft).kinds.constant(count)
    if (known is None or known > 1) and not counts_a_share(draft, count):
        change_count(draft, rule, count, why=_WHY)


def compared(test: ast.expr, operators: tuple[type[ast.cmpop], ...]) -> tuple[ast.expr, ast.expr] | None:
    """What is compared with what by one of some operators, a constant that is added to the first aside: `step + 1 >= n`."""
    sides = faced(test, operators)
    if sides is None:
        return None
    left, right = sides
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add) and isinstance(left.right, ast.Constant):
        left = left.left
    return left, right


def _number(loop: ast.For | ast.AsyncFor) -> str | None:
    """The name of the number of a turn: `for i, x in enumerate(data)`."""
    e: ast.expr = loop.iter
    while isinstance(e, ast.Call):
        if numbered(e) is not None:
            target = loop.target
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
            return first.id if isinstance(first, ast.Name) else None
        if not e.args:
            break
        e = e.args[0]
    return None


def divide_exits(draft: Draft, loop: Loop, rule: str) -> bool:
    """`while True: … if step >= n: break`, `for step in itertools.count(): … if step >= n: break`,
    `while not coordinator.should_stop(): … if step >= n: coordinator.request_stop()`: the number is divided."""
    divided = False
    for statement in loop.body:
        if not isinstance(statement, ast.If) or not _leaves(statement, loop):
            continue
        for part in parts_of(draft, statement.test, ast.Or):
            end = compared(part, (ast.Gt, ast.GtE, ast.Eq))
            if end is not None and _counts_in(draft, loop, end[0]):
                change_count(draft, rule, end[1], why=_WHY)
                divided = True
    return divided or _ends_in_event(draft, loop, rule)


def _ends_in_event(draft: Draft, loop: Loop, rule: str) -> bool:
    """`if step % 50 == 0: … if step >= n: break`: both numbers are divided together, as an event and one in it (G5)."""
    for leaving in exits(loop):
        around = deciding(draft.syntax, leaving, loop)
        arms = {arm for c, arm in draft.syntax.conditions(leaving) if c in around}
        if not isinstance(leaving, ast.Break) or len(around) != 2 or arms != {"body"}:
            continue
        end, event = compared(around[0].test, (ast.Gt, ast.GtE, ast.Eq)), around[1].test
        periods = [n.left for n in ast.walk(event) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)]
        if (
            end is not None
            and [ast.unparse(e) for e in periods] == [ast.unparse(end[0])]
            and _counts_in(draft, loop, end[0])
        ):
            draft.decide(loop, Fewer(rule))
            draft.divided = True
            return True
    return False


def parts_of(draft: Draft, test: ast.expr, operator: type[ast.boolop]) -> list[ast.expr]:
    """The tests each of which ends a loop: of `step >= n or loss < 0.1` both, of a test that is no such list itself. Of a
    list at most one may go by a count of steps, which can be divided, and all others by what is measured."""
    parts = [test]
    if isinstance(test, ast.BoolOp) and isinstance(test.op, operator):
        parts = [part for value in test.values for part in parts_of(draft, value, operator)]
    counting = [part for part in parts if next(draft.facts.counters.reads(part), None) is not None]
    measured = all(_is_measured(draft, part) for part in parts if part not in counting)
    return parts if len(parts) == 1 or (len(counting) < 2 and measured) else [test]


def _is_measured(draft: Draft, part: ast.expr) -> bool:
    """Whether a test goes by what training gives, by the clock or by a signal; what is alike on all ranks, or not seen, may
    tell that the data have come to their end, which are not divided there."""
    reasons = draft.uniform.reasons(part)
    return any(isinstance(r, Varies) and r.kind in _MEASURED for r in reasons)


def _counts_in(draft: Draft, loop: Loop, e: ast.expr) -> bool:
    return counts_up(loop, ast.unparse(e)) or _is_counted(draft, loop, e)


def _leaves(statement: ast.If, loop: Loop) -> bool:
    """Whether a loop ends with what an `if` does: it breaks, or asks the coordinator that the loop asks to stop."""
    if isinstance(statement.body[-1], ast.Break):
        return True
    return isinstance(loop, ast.While) and any(s in statement.body for s in exits(loop))


def counts(draft: Draft, loop: ast.While, left: ast.expr) -> bool:
    """Whether `step`, `step * batch_size` counts the steps of a loop."""
    sides = (
        [left.left, left.right] if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult) else [left]
    )
    found = [
        e
        for e in sides
        if _is_counted(draft, loop, e)
        or (isinstance(e, (ast.Name, ast.Attribute)) and counts_up(loop, ast.unparse(e)))
    ]
    others = [e for e in sides if e not in found]
    return len(found) == 1 and all(isinstance(e, (ast.Name, ast.Attribute, ast.Constant)) for e in others)


def _is_counted(draft: Draft, loop: Loop, e: ast.expr) -> bool:
    """Whether something gives what TensorFlow counts of a loop's steps: a graph's global step, however it is read
    (`_, step = sess.run([train_op, global_step])`), an optimizer's iterations, a variable; or is the number of its turn, which
    begins with 0 or 1."""
    counter = draft.facts.counters.of(e)
    kinds = [CounterKind.GLOBAL_STEP, CounterKind.ITERATIONS, CounterKind.VARIABLE]
    if not isinstance(loop, ast.While) and _begins(loop):
        kinds.append(CounterKind.TURN)
    return counter is not None and counter.kind in kinds and any(d.loop is loop for d in counter.drivers)


def _begins(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether `itertools.count` begins with 0 or 1, and goes on by 1."""
    given = arguments(loop.iter) if isinstance(loop.iter, ast.Call) else []
    return all(isinstance(e, ast.Constant) and e.value in (0, 1) for e in given)


def counts_up(loop: Loop, name: str) -> bool:
    """Whether a loop's body adds 1 to a counter, once, on every turn."""
    moves = ((n, augmented(n)) for s in loop.body for n in ast.walk(s))
    found = [(n, a) for n, a in moves if a is not None and ast.unparse(a.target) == name]
    if len(found) != 1:
        return False
    [(place, moved)] = found
    by_one = isinstance(moved.value, ast.Constant) and moved.value.value == 1
    return place in loop.body and isinstance(moved.operator, ast.Add) and by_one
