"""What a loop reads a cursor for beside selecting by it, part of G4 and S5: how many rows have been seen.

`while i < n: …x[i : i + 32]…; i += 32`. A rank's turns move `i` on size() times more slowly through the rows, so what goes by
it would come that much later, or more seldom. It goes by the rows of all ranks instead:

`if i > 3000:`        → `if i * ranks > 3000:`
`if i % 3200 == 0:`   → `if i * ranks % 3200 < 32 * ranks:`: in the turn in which all ranks together reach or pass a multiple
`if i == 6400:`       → `if 0 <= i * ranks - 6400 < 32 * ranks:`
`rate * (1 - i / n)`  → `rate * (1 - i * ranks / n)`

Asks where the cursor doesn't begin at 0, and of tests of another form that decide more than what is printed.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from horovodize.facts.counting.cursors import Cursor
from horovodize.python.syntax import Loop, is_one
from horovodize.rules.counts import strides
from horovodize.rules.counts.unseen_counts import is_shown, only_shows
from horovodize.rules.drafting.decisions import Asked, Counted, Decided, OfAll
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.source import Edit
from horovodize.source.nodes import names_in, walk
from horovodize.summary.effects import in_place

_WHAT = "Let it happen as often for the rows that are seen"
_WHY = "A rank's turns move this on size() times more slowly through the rows."
_WHAT_ROWS = "Count the rows of all ranks"
_WHICH = "Let it go by the rank's own rows"
_WHY_WHICH = "It belongs to the rows that the rank selects."
_ASKED = (
    "each rank's turns move `{name}` on size() times more slowly, and this reads it in a way that isn't followed: let it read "
    "`{name} * {ranks}`, which may step over a number"
)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_EQUAL = (ast.Eq, ast.NotEq)
_LEAVING = (ast.Break, ast.Continue, ast.Return)


def _asked(name: str, ranks: str) -> str:
    return _ASKED.format(name=name, ranks="hvd.size()" if ranks == SIZE else ranks)


def as_all(draft: Draft, loop: Loop, cursor: Cursor, own: str, rule: str, ranks: str) -> None:
    """Lets a loop read a cursor as that of all ranks, or as a rank's own where that says which rows it selects. One that goes
    on by one, and never begins again, counts the turns, which G5 sees to.

    own:   the name of a rank's own
    ranks: how many share the turns, as text"""
    if cursor.step is None or (is_one(cursor.step) and cursor.restart is None):
        return
    asked = set[ast.AST]()
    for read in list(_reads(draft, loop, cursor)):
        test = _test_of(draft, read)
        length = _length(draft, cursor, read)
        if length is not None:
            if test is None:
                _count_rows(draft, length, cursor, rule, ranks)
        elif _is_where(draft, read):
            if any(n in cursor.uses.selecting for n in walk(draft.syntax.statement(read))):
                _read_own(draft, read, own, rule)
        elif test is None:
            _in_formula(draft, loop, cursor, read, rule, ranks)
        elif _says_which(draft, cursor, test):
            _read_own(draft, read, own, rule)
        elif not _leaves(draft, test) and not _in_test(draft, loop, cursor, read, rule, ranks):
            if test not in asked and not only_shows(draft, test):
                asked.add(test)
                draft.ask(rule, test, _WHAT, _WHY, _asked(cursor.name, ranks))
    for name in dict.fromkeys(m.target.id for m in cursor.uses.made):
        _ask_of_made(draft, loop, cursor, name, rule, ranks)


def _length(draft: Draft, cursor: Cursor, read: ast.Name) -> ast.BinOp | None:
    """`end - i` with `end = min(i + 32, n)`: how many rows a batch has."""
    parent, ends = draft.syntax.parent[read], {m.target.id for m in cursor.uses.made}
    match parent:
        case ast.BinOp(left=ast.Name(id=end), op=ast.Sub(), right=right) if right is read and end in ends:
            return parent
    return None


def _count_rows(draft: Draft, length: ast.BinOp, cursor: Cursor, rule: str, ranks: str) -> None:
    """`seen += end - i` → `seen += min(32 * ranks, n - i * ranks)`, the same on all ranks."""
    assert cursor.step is not None
    assert isinstance(length.left, ast.Name)
    text, end = draft.module.text, length.left.id
    step = f"({text(cursor.step)})" if needs_parentheses(cursor.step) else text(cursor.step)
    rows = f"{step} * {ranks}"
    for made in (m.value for m in cursor.uses.made if m.target.id == end):
        if isinstance(made, ast.Call) and draft.names.last(made.func) == "min" and len(made.args) == 2:
            bounds = [e for e in made.args if cursor.name not in names_in(e)]
            if len(bounds) == 1 and not needs_parentheses(bounds[0]):
                rows = f"min({rows}, {text(bounds[0])} - {cursor.name} * {ranks})"
    if in_place(draft.module, length) and draft.decide(length, OfAll(rule)):
        draft.change(rule, length, _WHAT_ROWS, _WHY, [Edit(draft.module.span(length), rows)])


def _ask_of_made(draft: Draft, loop: Loop, cursor: Cursor, name: str, rule: str, ranks: str) -> None:
    """Asks about tests of what is made of a cursor, `seen = i + 32`, and selects as well: a rank has one of its own there."""
    for n in (n for s in loop.body for n in walk(s)):
        if not isinstance(n, ast.Name) or n.id != name or not isinstance(n.ctx, ast.Load):
            continue
        test = _test_of(draft, n)
        if test is None or n in cursor.uses.selecting or _leaves(draft, test) or only_shows(draft, test):
            continue
        if not any(draft.was(a, Decided) for a in walk(test)):
            draft.decide(test, Asked(rule))
            draft.ask(rule, test, _WHAT, _WHY, _asked(name, ranks))


def _reads(draft: Draft, loop: Loop, cursor: Cursor) -> Iterator[ast.Name]:
    """The places in a loop's body that read a cursor, neither to select by it nor to move it on."""
    variables = draft.facts.feeding.variables
    aside = {n for m in cursor.uses.made for n in walk(m.statement)}
    aside |= {n for told in cursor.uses.told for n in walk(told.call)}
    aside |= {*cursor.uses.selecting, *cursor.ends}
    aside |= set(walk(cursor.moves)) if cursor.moves is not None else set()
    aside |= set(walk(cursor.restart.test)) if cursor.restart is not None else set()
    for n in (n for s in loop.body for n in walk(s)):
        is_read = isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and variables.of(n) == cursor.name
        if is_read and isinstance(n, ast.Name) and n not in aside:
            around = (n, *(a for a in draft.syntax.ancestors(n) if isinstance(a, ast.expr)))
            if not any(draft.was(a, Decided) for a in around):
                yield n


def _test_of(draft: Draft, read: ast.Name) -> ast.expr | None:
    """The test of an `if` that a place is in."""
    child: ast.AST = read
    for a in draft.syntax.ancestors(read):
        if isinstance(a, (ast.If, ast.IfExp, ast.While)) and draft.syntax.field[child] == "test":
            return a.test
        if isinstance(a, ast.stmt):
            return None
        child = a
    return None


def _read_own(draft: Draft, read: ast.Name, own: str, rule: str) -> None:
    if in_place(draft.module, read) and draft.decide(read, OfAll(rule)):
        draft.change(rule, read, _WHICH, _WHY_WHICH, [Edit(draft.module.span(read), own)])


def _is_where(draft: Draft, read: ast.Name) -> bool:
    """Whether a cursor says where something is put: `out[i : i + 32] = …`, beside the rows that it is made of;
    `losses[i // 32] = …`, which a rank fills from its beginning on."""
    child: ast.AST = read
    for a in draft.syntax.ancestors(read):
        if isinstance(a, ast.Subscript) and draft.syntax.field[child] == "slice":
            return isinstance(a.ctx, ast.Store)
        if isinstance(a, ast.stmt):
            return False
        child = a
    return False


def _says_which(draft: Draft, cursor: Cursor, test: ast.expr) -> bool:
    """`if i + 32 < n: batch = x[i : i + 32]`, `else: batch = x[i:]`: whether both arms of a test only select by the cursor."""
    decision = draft.syntax.parent[test]
    if isinstance(decision, ast.IfExp):
        arms: list[list[ast.AST]] = [list(walk(decision.body)), list(walk(decision.orelse))]
    elif isinstance(decision, ast.If):
        arms = [[n for s in arm for n in walk(s)] for arm in (decision.body, decision.orelse)]
        if not all(isinstance(s, ast.Assign) for s in (*decision.body, *decision.orelse)):
            return False
    else:
        return False
    selecting = set[ast.AST](cursor.uses.selecting)
    return all(any(n in selecting for n in arm) for arm in arms)


def _leaves(draft: Draft, test: ast.expr) -> bool:
    """Whether a loop, or a turn of it, is left by a test: that is seen to there."""
    statement = draft.syntax.statement(test)
    inside = (n for s in statement.body for n in walk(s)) if isinstance(statement, ast.If) else iter(())
    return any(isinstance(n, _LEAVING) for n in inside)


def _begins_at_zero(cursor: Cursor) -> bool:
    return isinstance(cursor.first, ast.Constant) and cursor.first.value == 0 and cursor.rows is None


def _is_taken_with_end(draft: Draft, loop: Loop, read: ast.Name) -> bool:
    """`i / n` in `while i < n:`, where the number of rows is divided instead: the same part of a rank's share."""
    ends = {ast.dump(n) for n in walk(loop.test)} if isinstance(loop, ast.While) else set[str]()
    around = itertools.takewhile(lambda a: isinstance(a, ast.expr), draft.syntax.ancestors(read))
    sides = [side for a in around if isinstance(a, ast.BinOp) for side in (a.left, a.right)]
    return any(ast.dump(side) in ends for side in sides if not draft.syntax.inside(read, side))


def _in_formula(draft: Draft, loop: Loop, cursor: Cursor, read: ast.Name, rule: str, ranks: str) -> None:
    if is_shown(draft, read) or not in_place(draft.module, read) or _is_taken_with_end(draft, loop, read):
        return
    if not _begins_at_zero(cursor):
        draft.ask(rule, read, _WHAT, _WHY, _asked(cursor.name, ranks))
        return
    parent = draft.syntax.parent[read]
    is_divisor = (
        isinstance(parent, ast.BinOp)
        and parent.right is read
        and not isinstance(parent.op, (ast.Add, ast.Sub))
    )
    is_base = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow)
    around = ("(", f" * {ranks})") if is_divisor or is_base else ("", f" * {ranks}")
    draft.decide(read, OfAll(rule))
    draft.change(rule, read, _WHAT, _WHY, Edit.around(draft.module.span(read), *around))


def _in_test(draft: Draft, loop: Loop, cursor: Cursor, read: ast.Name, rule: str, ranks: str) -> bool:
    """Adapts the comparison that a place is in; whether it has a form that can be adapted."""
    if not _begins_at_zero(cursor) or not in_place(draft.module, read):
        return False
    number, by = _turns(draft, cursor, read, ranks)
    parent = draft.syntax.parent[number]
    edits = list(Edit.around(draft.module.span(read), "", f" * {ranks}"))
    compared: ast.AST = parent
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and parent.left is number:
        if not _is_reached(draft, cursor, parent.right, is_counted=number is not read):
            return False
        compared = draft.syntax.parent[parent]
        if isinstance(compared, ast.Compare):
            rest = compared.comparators[0]
            is_zero = isinstance(rest, ast.Constant) and rest.value == 0 and compared.left is parent
            if len(compared.ops) > 1 or not isinstance(compared.ops[0], _EQUAL) or not is_zero:
                return False
            operator = "<" if isinstance(compared.ops[0], ast.Eq) else ">="
            edits += [strides.between(draft, parent, rest, operator), Edit(draft.module.span(rest), by)]
        elif isinstance(compared, (ast.BoolOp, ast.UnaryOp, ast.If)):
            opening, closing = ("(", f" >= {by})") if isinstance(compared, ast.UnaryOp) else ("", f" >= {by}")
            edits += Edit.around(draft.module.span(parent), opening, closing)
        else:
            return False
    elif isinstance(parent, ast.Compare) and len(parent.ops) == 1 and number is read:
        if isinstance(parent.ops[0], _EQUAL) and _is_zero(parent, read):
            return True  # the first turn of all ranks, or of a cycle
        if isinstance(parent.ops[0], _EQUAL):
            found = _at(draft, loop, cursor, parent, read, by, ranks)
            if found is None:
                return False
            edits = [found]
        elif not isinstance(parent.ops[0], _ORDER):
            return False
    else:
        return False
    if draft.decide(compared, Counted(rule)):
        draft.decide(read, OfAll(rule))
        draft.change(rule, compared, _WHAT, _WHY, edits)
    return True


def _is_zero(test: ast.Compare, read: ast.Name) -> bool:
    other = test.comparators[0] if test.left is read else test.left
    return isinstance(other, ast.Constant) and other.value == 0


def _turns(draft: Draft, cursor: Cursor, read: ast.Name, ranks: str) -> tuple[ast.expr, str]:
    """(a cursor, by how much all ranks together move it on in a turn), or the turns that are made of it, `i // 32`."""
    assert cursor.step is not None
    parent = draft.syntax.parent[read]
    is_counted = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.FloorDiv) and parent.left is read
    if is_counted and isinstance(parent, ast.BinOp) and ast.dump(parent.right) == ast.dump(cursor.step):
        return parent, ranks
    text = draft.module.text(cursor.step)
    if is_one(cursor.step):
        return read, ranks
    return read, f"({text}) * {ranks}" if needs_parentheses(cursor.step) else f"{text} * {ranks}"


def _at(
    draft: Draft, loop: Loop, cursor: Cursor, test: ast.Compare, read: ast.Name, by: str, ranks: str
) -> Edit | None:
    """`i == 6400` → `0 <= i * ranks - 6400 < 32 * ranks`; None for the loop's own end, of which ranks may stay short."""
    other = test.comparators[0] if test.left is read else test.left
    ends = list(walk(loop.test)) if isinstance(loop, ast.While) else []
    if any(ast.dump(n) == ast.dump(other) for n in ends) or not _is_reached(draft, cursor, other):
        return None
    text = draft.module.text(other)
    at = f"({text})" if needs_parentheses(other) else text
    new = f"0 <= {cursor.name} * {ranks} - {at} < {by}"
    parent = draft.syntax.parent[test]
    if isinstance(test.ops[0], ast.NotEq):
        new = f"not {new}" if not isinstance(parent, ast.Compare) else f"(not {new})"
    elif isinstance(parent, (ast.Compare, ast.UnaryOp)):
        new = f"({new})"
    return Edit(draft.module.span(test), new)


def _is_reached(draft: Draft, cursor: Cursor, number: ast.expr, *, is_counted: bool = False) -> bool:
    """Whether a cursor comes to a number as it goes on: one that is its step times another."""
    if is_counted:
        return True  # turns go on by one
    assert cursor.step is not None
    constant = draft.facts.feeding.kinds.constant
    step, at = constant(cursor.step), constant(number)
    if step is not None and at is not None:
        return step > 0 and at % step == 0
    is_product = isinstance(number, ast.BinOp) and isinstance(number.op, ast.Mult)
    factors = [number.left, number.right] if is_product and isinstance(number, ast.BinOp) else []
    return any(ast.dump(f) == ast.dump(cursor.step) for f in factors)


__all__ = ["as_all"]
