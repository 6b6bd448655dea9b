"""Where a turn stands in a cycle of steps, by a name: part of G5.

`place = step % 100` and `if place == 99: save()`: a rank takes size() times fewer steps, so the name is told those of all
ranks, which may step over the number: `place = step * hvd.size() % 100` and `if (99 - place) % 100 < hvd.size(): save()`. What
else is made of it (`rate * place / 100`) is right so. One that goes round by itself, `place = (place + 1) % 100`, goes on by
size(); a test before that in a turn asks whether the steps of all ranks in this turn come to the number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.rules.counts import strides, thresholds, unseen_counts
from horovodize.rules.drafting.decisions import Counted, Decided, OfAll
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import counted, guarded, with_each_step
from horovodize.rules.numbers.shares import feeding
from horovodize.source import Edit

_ASKED = (
    "this is where a rank's step stands among so many, and a rank takes size() times fewer: let it be told those of all ranks, "
    "and test by `<`, as they may step over a number"
)


def apply(draft: Draft) -> None:
    for assign in draft.syntax.every(ast.Assign):
        found = _remainder(assign)
        if found is None:
            _ask_of_field(draft, assign)
            _ask_of_choice(draft, assign)
            continue
        name, whole, count, every = found
        if (step := _goes_round(draft, assign, name, count)) is not None:
            _go_round(draft, assign, name, whole, every, step)
            continue
        read = count.left if _is_next(count) and isinstance(count, ast.BinOp) else count
        is_own = counted.of(draft, read) is not None
        if not (is_own or _is_told(draft, read)) or not counted.is_whole(draft, every):
            continue
        tests = list(_tests(draft, assign, name))
        known = feeding(draft).kinds.constant(every)
        if not tests or (known is not None and known <= 1):
            continue
        if any(guarded.is_ratio(draft, test, whole) for test, _ in tests):
            continue
        if is_own:
            edits = counted.read_as_all(draft, read, "G5")
            draft.change("G5", assign, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.COUNTED)
        for test, n in tests:
            _adapt(draft, test, n, every)


def _goes_round(draft: Draft, assign: ast.Assign, name: ast.Name, count: ast.expr) -> ast.Constant | None:
    """The `1` of `place = (place + 1) % 100`, which goes on with each step of a rank."""
    match count:
        case ast.BinOp(left=ast.Name(id=own), op=ast.Add(), right=ast.Constant(value=1) as step) if (
            own == name.id
        ):
            found = draft.facts.occasions.counted_at(assign)
            counts = found is not None and bool(found[0] or found[1])
            return step if counts and with_each_step.is_by_step(draft, assign) else None
    return None


def _go_round(
    draft: Draft, assign: ast.Assign, name: ast.Name, whole: ast.expr, every: ast.expr, step: ast.Constant
) -> None:
    """`place = (place + hvd.size()) % 100`, where nothing but when something comes goes by it."""
    later, known = list(_tests(draft, assign, name)), feeding(draft).kinds.constant(every)
    earlier = list(_tests(draft, assign, name, before=True))
    tests = later + earlier
    unordered = [] if tests else [test for test, _ in _tests(draft, assign, name, before=None)]
    if (known is not None and known <= 1) or not counted.is_whole(draft, every):
        return
    if any(guarded.is_ratio(draft, test, whole) for test in (*unordered, *(t for t, _ in tests))):
        return
    if not tests:  # it is set elsewhere in the loop, too: `if loss > 1: place = 0`
        if unordered:
            draft.ask("G5", assign, thresholds.WHAT, thresholds.WHY, _ASKED)
        return
    loads = [n for n in draft.module.loads.get(name.id) if isinstance(n, ast.Name)]
    tested = [n for _, n in tests]
    others = [n for n in loads if n not in tested and not draft.syntax.inside(n, assign)]
    if any(
        b.statement is assign for n in others for b in draft.module.scopes.reaching(n)
    ):  # rows of a buffer
        draft.ask("G5", assign, thresholds.WHAT, thresholds.WHY, _ASKED)
        return
    edits = [Edit(draft.module.span(step), SIZE)]
    draft.change("G5", assign, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.COUNTED)
    for test, n in later:
        _adapt(draft, test, n, every, after=True)
    for test, n in earlier:
        _adapt(draft, test, n, every)


def _ask_of_field(draft: Draft, assign: ast.Assign) -> None:
    """The same of a field, `self.place = (self.place + 1) % 100`, which may be read anywhere: asked."""
    match assign:
        case ast.Assign(
            targets=[ast.Attribute() as field],
            value=ast.BinOp(
                op=ast.Mod(), left=ast.BinOp(op=ast.Add(), left=own, right=ast.Constant(value=1))
            ) as whole,
        ) if ast.unparse(own) == ast.unparse(field):
            found = draft.facts.occasions.counted_at(assign)
            tests = [
                test
                for test in draft.syntax.every(ast.Compare, ast.UnaryOp)
                for side in ([test.left] if isinstance(test, ast.Compare) else [test.operand])
                if ast.unparse(side) == ast.unparse(field) and not unseen_counts.only_shows(draft, test)
            ]
            if (
                not tests
                or found is None
                or not (found[0] or found[1])
                or not with_each_step.is_by_step(draft, assign)
            ):
                return
            if not any(guarded.is_ratio(draft, test, whole) for test in tests):
                draft.ask("G5", assign, thresholds.WHAT, thresholds.WHY, _ASKED)


def _ask_of_choice(draft: Draft, assign: ast.Assign) -> None:
    """The same by a choice, `place = 0 if place == 99 else place + 1`: asked."""
    match assign:
        case ast.Assign(targets=[ast.Name() as name], value=ast.IfExp(body=one, orelse=other) as whole):
            arms = (one, other)
        case _:
            return
    goes_on = any(
        isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add) and ast.unparse(e) == f"{name.id} + 1"
        for e in arms
    )
    if not goes_on or not any(isinstance(e, ast.Constant) for e in arms):
        return
    found = draft.facts.occasions.counted_at(assign)
    if found is None or not (found[0] or found[1]) or not with_each_step.is_by_step(draft, assign):
        return
    read = [test for test, _ in _tests(draft, assign, name, before=None)]
    tests = [t for t in read if not draft.syntax.inside(t, assign) and not draft.was(t, Decided)]
    if tests and not any(guarded.is_ratio(draft, test, whole) for test in tests):
        draft.ask("G5", assign, thresholds.WHAT, thresholds.WHY, _ASKED)


def _remainder(assign: ast.Assign) -> tuple[ast.Name, ast.expr, ast.expr, ast.expr] | None:
    """(name, all of it, what is divided, by what) of `place = step % n`, `cycle, place = divmod(step, n)`."""
    match assign:
        case ast.Assign(
            targets=[ast.Name() as name], value=ast.BinOp(op=ast.Mod(), left=count, right=every) as whole
        ):
            return name, whole, count, every
        case ast.Assign(
            targets=[ast.Tuple(elts=[_, ast.Name() as name])],
            value=ast.Call(func=ast.Name(id="divmod"), args=[count, every]) as whole,
        ):
            return name, whole, count, every
    return None


def _is_next(count: ast.expr) -> bool:
    near = isinstance(count, ast.BinOp) and isinstance(count.op, (ast.Add, ast.Sub))
    return near and isinstance(count, ast.BinOp) and isinstance(count.right, ast.Constant)


def _is_told(draft: Draft, read: ast.expr) -> bool:
    """Whether a rate has told a count the steps of all ranks there."""
    span = draft.module.span(read)
    return draft.was(read, OfAll) and any(c.rule == "C5" and c.span == span for c in draft.changes)


def _comes_before(draft: Draft, read: ast.Name, assign: ast.Assign) -> bool:
    """Whether a name is read in each turn before it is set there, and set to numbers that are written out before the loop."""
    bound = [b for b in draft.module.scopes.reaching(read) if b.statement is not assign]
    begun = [b for b in bound if b.kind == "assign" and not b.path and isinstance(b.value, ast.Constant)]
    block = draft.syntax.block(assign)
    around = [read, *draft.syntax.ancestors(read)]
    at = next((i for i, s in enumerate(block[: block.index(assign)]) if s in around), None)
    loops = draft.syntax.loops(assign)
    return (
        at is not None
        and len(begun) == len(bound) > 0
        and draft.syntax.loops(read)[:1] == loops[:1]
        and not any(draft.syntax.inside(b.statement, loops[0]) for b in bound)
    )


def _tests(
    draft: Draft, assign: ast.Assign, name: ast.Name, *, before: bool | None = False
) -> Iterator[tuple[ast.expr, ast.Name]]:
    """(test, the name in it) where it is to be one number, and more than what is printed hangs on that.

    before: those that come before the name is set, in each turn of a loop; None for all that may read it"""
    for n in draft.module.loads.get(name.id):
        if not isinstance(n, ast.Name):
            continue
        bound = draft.module.scopes.reaching(n)
        if not any(b.statement is assign for b in bound):
            continue
        if before is not None and not (_comes_before(draft, n, assign) if before else len(bound) == 1):
            continue
        parent = draft.syntax.parent[n]
        if isinstance(parent, ast.Compare) and parent.left is n and len(parent.ops) == 1:
            if isinstance(parent.ops[0], (ast.Eq, ast.NotEq)) and not unseen_counts.only_shows(draft, parent):
                yield parent, n
        elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            yield parent, n
        elif isinstance(parent, (ast.If, ast.IfExp)) and parent.test is n:
            yield n, n


def _adapt(draft: Draft, test: ast.expr, name: ast.Name, every: ast.expr, *, after: bool = False) -> None:
    """`after`: that the place is that after the step, so that all ranks have just come to it"""
    plain = isinstance(every, (ast.Constant, ast.Name, ast.Attribute))
    if not plain or draft.drive.in_traced(test) or not draft.decide(test, Counted("G5")):
        draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _ASKED)
        return
    span = draft.module.span(name)
    if not isinstance(test, ast.Compare):  # `if place:`, `if not place:`, in which a comparison binds closer
        draft.change("G5", test, thresholds.WHAT, thresholds.WHY, Edit.around(span, "", f" >= {SIZE}"))
        return
    rest = test.comparators[0]
    operator = "<" if isinstance(test.ops[0], ast.Eq) else ">="
    edits = [strides.between(draft, name, rest, operator), Edit(draft.module.span(rest), SIZE)]
    if feeding(draft).kinds.constant(rest) != 0:
        text = f"({draft.module.text(rest)})" if needs_parentheses(rest) else draft.module.text(rest)
        around = ("(", f" - {text})") if after else (f"({text} - ", ")")
        edits += Edit.around(span, around[0], f"{around[1]} % {draft.module.text(every)}")
    draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits)


__all__ = ["apply"]
