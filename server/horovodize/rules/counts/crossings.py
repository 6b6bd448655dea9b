"""Events every so many steps that change what training goes on with, by what it was before: part of G5.

`if step % 10 == 0: rate *= 0.9` on 4 ranks can come neither every 2 steps (a rate of 0.9 ** 500 where it should be 0.9 ** 400)
nor every 3. So it comes in the step in which the steps of all ranks together reach or pass a multiple of 10: as often as alone,
also where ranks don't divide it. What is only shown or saved every so many steps may come a little sooner, and its test stays
short.

`step % 10 == 0` → `step * hvd.size() % 10 < hvd.size()`

So does what comes every so many steps within such an event, whatever it does; and another test of the same number in the same
turn, which is meant to hold together with it: the lists that the two append to stay equally long.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from horovodize.facts.counting.counter_kinds import CounterKind
from horovodize.plan import Decision
from horovodize.python.syntax import FUNCTIONS, LOOPS, position
from horovodize.rules.counts import event_numbers, nested, offsets, repeated_events, strides, thresholds
from horovodize.rules.drafting.decisions import OfAll
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted, guarded
from horovodize.source import Edit
from horovodize.summary.effects import in_place

_LIMIT = 60
_WHOLE = (CounterKind.TURN, CounterKind.NUMBER, CounterKind.BATCH)  # a variable may count in floats
_SETS = {"assign", "set_value"}
_GOES_ON = {"assign_add", "assign_sub"}


def apply(
    draft: Draft,
    test: ast.expr,
    modulo: ast.expr,
    rest: ast.expr | None,
    goes_on: str,
    count: event_numbers.Count,
) -> bool:
    """Adapts the test of such an event; whether it is one, and its form is known.

    modulo: `step % M` in it
    rest:   what that is compared with by `==` or `!=`; None where it is tested by itself
    goes_on: by how much `step` goes on in a turn, as text
    count:  the counter of a rank's steps that an expression gives"""
    if not isinstance(modulo, ast.BinOp) or not in_place(draft.module, modulo):
        return False
    if not goes_by_all(draft, test, modulo):
        return False
    if _comes_several_times(draft, test, modulo, rest, goes_on, count):
        return True
    by = SIZE if goes_on == "1" else f"{goes_on} * {SIZE}"
    is_zero = rest is None or (isinstance(rest, ast.Constant) and rest.value == 0)
    edits = [*_number(draft, modulo, rest)] if goes_on == "1" or is_zero else []
    if rest is None:
        edits += Edit.around(draft.module.span(modulo), "", f" >= {by}")
    elif (
        edits
        and isinstance(test, ast.Compare)
        and test.left is modulo
        and isinstance(test.ops[0], (ast.Eq, ast.NotEq))
    ):
        operator = "<" if isinstance(test.ops[0], ast.Eq) else ">="
        edits += [strides.between(draft, modulo, rest, operator), Edit(draft.module.span(rest), by)]
    else:
        return False
    draft.decide(modulo.left, OfAll("G5"))
    for number in event_numbers.under(draft, test, modulo.right, count):
        if draft.decide(number.left, OfAll("G5")):
            edits += draft.times(number.left)
    draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.COUNTED)
    return True


def goes_by_all(draft: Draft, test: ast.expr, modulo: ast.BinOp) -> bool:
    """Whether an event has to come exactly as often as alone, so that its test goes by the steps of all ranks."""
    return (
        goes_on_itself(draft, test)
        or nested.is_in_one_of_all(draft, test, modulo.left)
        or any(goes_on_itself(draft, other) for other in _same_in_turn(draft, modulo))
    )


def _comes_several_times(
    draft: Draft,
    test: ast.expr,
    modulo: ast.BinOp,
    rest: ast.expr | None,
    goes_on: str,
    count: event_numbers.Count,
) -> bool:
    """Lets what comes every few steps be done for each time that it comes in a step of all ranks, if there are that few;
    whether it is. Else it is said that it comes once."""
    constant = draft.facts.feeding.kinds.constant
    every, part = constant(modulo.right), constant(rest) if rest is not None else 0
    if every is None or every > repeated_events.SOME or not goes_on_itself(draft, test):
        return False
    if not _goes_on_besides_nested(draft, test, modulo.left):
        return False  # done several times itself, it would do several times what comes once within it
    counter = count(draft, modulo.left)
    few = every <= repeated_events.FEW and counter is not None and counter.kind in _WHOLE
    decision = repeated_events.repeatable(draft, test, negated=rest is None) if few else None
    tested = isinstance(test, ast.Compare) and test.left is modulo and isinstance(test.ops[0], ast.Eq)
    numbered = any(event_numbers.under(draft, test, modulo.right, count))
    offset = offsets.counted_from(draft, modulo.left)
    if (
        decision is None
        or any(goes_on_itself(draft, inner.test) for inner in nested.within(decision, modulo.left))
        or part is None
        or offset is not None
        or numbered
        or (rest is not None and not tested)
    ):
        draft.note("G5", test, repeated_events.ONCE.format(every))
        return False
    number, more = counted.shifted(modulo.left)
    ahead = more + 1 if part and part + 1 == every else more - part
    edit = repeated_events.times(draft, decision, number, ahead, draft.module.text(modulo.right), goes_on)
    draft.decide(modulo.left, OfAll("G5"))
    draft.change("G5", test, thresholds.WHAT, thresholds.WHY, [edit], decision=Decision.COUNTED)
    return True


def _number(draft: Draft, modulo: ast.BinOp, rest: ast.expr | None) -> Iterator[Edit]:
    """`step` → `step * hvd.size()`; where a rest is asked for, `(step - 1) * hvd.size()`, for `M - 1` `(step + 1) * …`. Nothing
    where the rest is not known."""
    number, constant = modulo.left, draft.facts.feeding.kinds.constant
    part, every = constant(rest) if rest is not None else 0, constant(modulo.right)
    is_last = isinstance(rest, ast.BinOp) and ast.unparse(rest) == f"{ast.unparse(modulo.right)} - 1"
    offset = offsets.counted_from(draft, number)
    if part == 0:
        yield from draft.times(number if offset is None else offset.step)
    elif is_last or (part is not None and part + 1 == every):
        yield from _shifted(draft, number, "+ 1")
    elif part is not None and 0 < part <= guarded.FEW:
        yield from _shifted(draft, number, f"- {part}")


def _shifted(draft: Draft, number: ast.expr, by: str) -> Iterator[Edit]:
    span = draft.module.span(number)
    is_sum = isinstance(number, ast.BinOp) and isinstance(number.op, (ast.Add, ast.Sub))
    after = draft.document.text[span.end :].lstrip()
    if is_sum and after.startswith(")"):
        yield Edit.insert(span.end, f" {by}", span)
        yield Edit.insert(draft.document.text.index(")", span.end) + 1, f" * {SIZE}", span)
    else:
        yield from Edit.around(span, "(", f" {by}) * {SIZE}")


def goes_on_itself(draft: Draft, test: ast.expr, besides: Collection[str] = ()) -> bool:
    """Whether what hangs on a test makes a value of its last one, which stays until the next time.

    besides: the names of what is told apart, as written: `next_save` of `if step >= next_save: next_save += 100`"""
    return _go_on(draft, guarded.decided(draft, test), test, besides)


def _goes_on_besides_nested(draft: Draft, test: ast.expr, count: ast.expr) -> bool:
    """Whether anything that hangs on a test goes on from its last value that no test of the same number within it decides."""
    decision = draft.syntax.statement(test)
    if not isinstance(decision, ast.If) or decision.orelse or not draft.syntax.inside(test, decision.test):
        return True
    apart = nested.within(decision, count)
    besides = [s for s in decision.body if s not in apart]
    return len(besides) == len(decision.body) or _go_on(draft, besides, test, ())


def _go_on(draft: Draft, decided: Sequence[ast.AST], test: ast.expr, besides: Collection[str]) -> bool:
    """Whether what these statements do makes a value of its last one, which stays until the next time."""
    begun = [
        n for s in decided for n in ast.walk(s) if isinstance(n, ast.Assign) and not _is_of_its_last(draft, n)
    ]
    each_turn = _begun_in_each_turn(draft, test)
    places: set[ast.AST] = {
        n
        for n in draft.syntax.every(ast.AugAssign, ast.Assign, ast.Call)
        if (kept := _kept(draft, n, decided)) is not None
        and kept not in besides
        and not (_is_begun_before(draft, n, kept, begun) or kept in each_turn)
    }
    if draft.in_graph and any(
        draft.drive.reaches(s, {run}) and places & set(graph.operations(graph.fetches(run)))
        for graph in [draft.sites.graph]
        for run in graph.all_runs
        for s in decided
    ):
        return True
    return any(draft.drive.reaches(s, places) for s in decided)


def _is_begun_before(draft: Draft, n: ast.AST, kept: str, begun: list[ast.Assign]) -> bool:
    """Whether what a statement goes on with was surely given a value of its own just before: not by what follows it,
    `if rate < 0.01: rate = 0.01`."""
    around = {n, *draft.syntax.ancestors(n)}
    return any(
        any(ast.unparse(t) == kept for t in b.targets)
        and position(b) < position(draft.syntax.statement(n))
        and any(s in around for s in draft.syntax.block(b))
        for b in begun
    )


def _same_in_turn(draft: Draft, modulo: ast.BinOp) -> Iterator[ast.expr]:
    """The other tests of `step % M` in the same turn, by which an `if` of its own is taken and which go by no event around."""
    function, loops, same = draft.syntax.function(modulo), draft.syntax.loops(modulo), ast.dump(modulo)
    for other in draft.syntax.every(ast.BinOp) if loops else ():
        if other is modulo or not isinstance(other.op, ast.Mod) or ast.dump(other) != same:
            continue
        statement = draft.syntax.statement(other)
        if (
            isinstance(statement, ast.If)
            and draft.syntax.inside(other, statement.test)
            and draft.syntax.function(other) is function
            and draft.syntax.loops(other) == loops
            and nested.outer(draft, other, other.left) is None
            and not guarded.is_ratio(draft, other, other)
        ):
            yield other


def _begun_in_each_turn(draft: Draft, test: ast.expr) -> set[str]:
    """What each turn of the loop around a test gives a value that is written out before it: `total = 0.0`."""
    found = set[str]()
    statement: ast.AST = draft.syntax.statement(test)
    while isinstance(statement, ast.stmt) and draft.syntax.loops(statement):
        block = draft.syntax.block(statement)
        before = block[: block.index(statement)] if statement in block else []
        found |= {
            ast.unparse(t)
            for s in before
            if isinstance(s, ast.Assign)
            and not any(isinstance(n, (ast.Name, ast.Attribute)) for n in ast.walk(s.value))
            for t in s.targets
        }
        statement = draft.syntax.parent[statement]
        if isinstance(statement, LOOPS):
            break
    return found


def _kept(draft: Draft, n: ast.AST, decided: Sequence[ast.AST]) -> str | None:
    """What a statement or call makes of its last value, as it is written: `rate` of `rate *= 0.9`. None where it makes
    nothing so, or a value that only a function's own run has."""
    if isinstance(n, ast.AugAssign):
        return ast.unparse(n.target) if _stays(draft, n, n.target, decided) else None
    if isinstance(n, ast.Assign):
        own = _is_of_its_last(draft, n) and _stays(draft, n, n.targets[0], decided)
        return ast.unparse(n.targets[0]) if own else None
    if not isinstance(n, ast.Call):
        return None
    name = draft.names.last(n.func)
    if name in _GOES_ON and isinstance(n.func, ast.Attribute):
        return ast.unparse(n.func)
    if name not in _SETS or not n.args:
        return None
    kept = n.args[0] if len(n.args) > 1 else n.func.value if isinstance(n.func, ast.Attribute) else None
    if kept is None:
        return None
    text = ast.unparse(kept)
    made_of = draft.values.depends([n.args[-1]], _LIMIT)
    return text if any(isinstance(m, type(kept)) and ast.unparse(m) == text for m in made_of) else None


def _is_of_its_last(draft: Draft, n: ast.Assign) -> bool:
    """`rate = max(rate * 0.9, least)`; `rate = schedule.next(rate)`; by a name, `new = rate * 0.9` and `rate = new`."""
    targets = {ast.unparse(t) for t in n.targets}
    bound = draft.module.scopes.reaching(n.value) if isinstance(n.value, ast.Name) else []
    named = [b.value for b in bound if b.kind == "assign" and not b.path and b.value is not None]
    made = named if len(named) == len(bound) == 1 else [n.value]
    return any(isinstance(e, ast.expr) and ast.unparse(e) in targets for m in made for e in ast.walk(m))


def _stays(draft: Draft, place: ast.AST, target: ast.expr, decided: Sequence[ast.AST]) -> bool:
    """Whether a value is there the next time: no name of a function of which no loop is around all that is decided."""
    function = draft.syntax.function(place)
    if not isinstance(target, ast.Name) or not isinstance(function, FUNCTIONS):
        return True
    shared = (n for n in ast.walk(function) if isinstance(n, (ast.Global, ast.Nonlocal)))
    if any(loop in draft.syntax.loops(s) for loop in draft.syntax.loops(place) for s in decided):
        return True
    return any(target.id in n.names for n in shared)
