"""Tests of counters that go on by the steps of all ranks: part of G5.

Such a counter may step over the very number that it is tested for: `step % 100 == 0` → `step % 100 < hvd.size()`."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.rules.counts import (
    among_numbers,
    beside_updates,
    epoch_counts,
    lengths_beside_counts,
    windows,
)
from horovodize.rules.drafting.decisions import Counted, Divided
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import counted, guarded
from horovodize.rules.resuming.resume import amount_of
from horovodize.rules.sums import averages_of_events
from horovodize.source import Edit, Span
from horovodize.source.nodes import walk

_WHAT = "Let it happen also where the count steps over the number"
_RATIO = "Let updates go with each other as before"
_WHY = "The count goes on by size() with each step."
_OVER = (
    "this count goes on by size() with each step, and may step over the number that it is compared with here"
)
_MODULO = {"mod", "floormod", "remainder"}
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)
_FUNCTIONS = {"equal": "less", "not_equal": "greater_equal"}


def compared(draft: Draft, test: ast.expr, left: ast.expr, right: ast.expr, operator: ast.cmpop) -> bool:
    """Adapts `step % M == r` and `step == K`; whether it is such a counter that is compared."""
    number = _numerator(draft, left)
    if number is not None:
        if guarded.is_ratio(draft, test, left):
            _count_updates(draft, number)
            beside_updates.tell(draft, test, _divisor(left))
        else:
            _every(draft, test, number, left, right, operator)
            averages_of_events.keep_of_event(draft, test, _divisor(left))
        return True
    turn = _turn_before(draft, left)
    if turn is not None and isinstance(operator, (ast.Eq, ast.NotEq)):
        if draft.decide(right, Counted("G5")):
            _after(draft, test, turn, left, right, right, operator)
        return True
    if not _is_of_all(draft, left):
        return False
    is_order = isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
    if not is_order and draft.decide(right, Counted("G5")):
        _at(draft, test, left, right, operator)
    return True


def tested(draft: Draft, modulo: ast.BinOp) -> bool:
    """Adapts `if not step % M:`; whether it is such a counter that is tested."""
    number = _numerator(draft, modulo)
    if number is None:
        return False
    if guarded.is_ratio(draft, modulo, modulo):
        _count_updates(draft, number)
        beside_updates.tell(draft, modulo, modulo.right)
    elif draft.decide(modulo, Counted("G5")):
        own = [*_after_this(draft, number), *_to_the_last(draft, number)]
        by, doubt = _goes_on_by(draft, modulo, number)
        edits = (*own, *Edit.around(draft.module.span(modulo), "", f" >= {by}"))
        draft.change("G5", modulo, _WHAT, _WHY, edits, doubt)
        averages_of_events.keep_of_event(draft, modulo, modulo.right)
    return True


def _goes_on_by(draft: Draft, test: ast.expr, number: ast.expr) -> tuple[str, str]:
    """(by how much a count goes on with each step, where it is tested; what is doubtful about that). One of rows goes on by
    those of a batch of each rank: `seen % 1000 < batch_size * hvd.size()`."""
    if (times := epoch_counts.times(draft, number)) is not None:
        return f"{times} * {SIZE}", ""
    told = counted.scaled_of_all(draft, number)
    if told is not None and (told.by != 1 or told.unit is not None):
        unit = f" * {draft.module.text(told.unit)}" if told.unit is not None else ""
        return f"{told.by}{unit} * {SIZE}", ""
    plain = isinstance(number, ast.BinOp) and isinstance(number.op, (ast.Add, ast.Sub))
    counter = counted.all_of(draft, number.left if plain and isinstance(number, ast.BinOp) else number)
    amounts = [amount_of(place) for place in counter.advances] if counter is not None else []
    texts = {draft.module.text(e) for e in amounts if e is not None}
    if texts <= {"1"}:
        return SIZE, ""
    here = draft.syntax.function(test)
    seen = all(e is not None and draft.syntax.function(e) is here for e in amounts)
    return (f"{texts.pop()} * {SIZE}", "") if len(texts) == 1 and seen else (SIZE, _OVER)


def _count_updates(draft: Draft, number: ast.expr) -> None:
    """`step % 5` → `step // hvd.size() % 5`: how updates go with each other, they do by their own number."""
    if draft.decide(number, Divided("G5")):
        draft.change("G5", number, _RATIO, _WHY, draft.times(number, SIZE, "//"))


def _divisor(modulo: ast.expr) -> ast.expr:
    """`M` of `step % M`, `tf.math.mod(step, M)`."""
    return modulo.right if isinstance(modulo, ast.BinOp) else modulo.args[1]  # type: ignore[attr-defined]


def _numerator(draft: Draft, e: ast.expr) -> ast.expr | None:
    """`step` of `step % M`, `(step + 1) % M`, where it counts all ranks' steps."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mod):
        number = e.left
    elif isinstance(e, ast.Call) and len(e.args) == 2 and draft.names.last(e.func) in _MODULO:
        number = e.args[0]
    else:
        return None
    read = (
        number.left if isinstance(number, ast.BinOp) and isinstance(number.op, (ast.Add, ast.Sub)) else number
    )
    if counted.all_of(draft, read) is not None or _is_of_all(draft, number):
        return number
    return number if epoch_counts.is_one(draft, read) and _is_next(number) else None


def _is_of_all(draft: Draft, e: ast.expr) -> bool:
    """Whether a number goes on by the steps of all ranks."""
    if counted.all_of(draft, e) is not None or epoch_counts.is_one(draft, e):
        return True
    return counted.scaled_of_all(draft, e) is not None or epoch_counts.times(draft, e) is not None


def _is_next(number: ast.expr) -> bool:
    """`step + 1`: how many steps there are after this one."""
    adds = isinstance(number, ast.BinOp) and isinstance(number.op, ast.Add)
    return adds and isinstance(number, ast.BinOp) and ast.unparse(number.right) == "1"


def _after_this(draft: Draft, number: ast.expr) -> list[Edit]:
    """`epoch * n + step + 1` → `epoch * n + step + hvd.size()`"""
    if not isinstance(number, ast.BinOp) or not _is_next(number):
        return []
    if not epoch_counts.is_one(draft, number.left):
        return []  # the counter's own rule does so (G6)
    if not draft.decide(number.right, Counted("G5")):
        return []
    return [Edit(draft.module.span(number.right), SIZE)]


def _to_the_last(draft: Draft, number: ast.expr) -> list[Edit]:
    """`step % M` → `(step + hvd.size() - 1) % M` where `step` numbers the turn that runs, from 1: what it comes to on the last
    rank. By the first rank's, the very first turn would come at 1, and the last of a training never."""
    counter = counted.all_of(draft, number)
    if (
        counter is None
        or not _begins_with_one(draft, counter)
        or not _is_of_this_turn(draft, number, counter)
    ):
        return []
    return list(Edit.around(draft.module.span(number), "(", f" + {SIZE} - 1)"))


def _begins_with_one(draft: Draft, counter: Counter) -> bool:
    starts = list(counter.starts)
    if counter.kind is CounterKind.TURN:
        ranges = [d.iterable for d in counter.drivers if isinstance(d.iterable, ast.Call)]
        starts = [r.args[0] for r in ranges if len(r.args) > 1]
    numbers = [o.node for e in starts for o in draft.values.origins(e)]
    return any(isinstance(n, ast.Constant) and n.value == 1 for n in numbers)


def _is_of_this_turn(draft: Draft, number: ast.expr, counter: Counter) -> bool:
    """Whether a counter is read before it is counted on in a turn of its loop."""
    bindings = draft.module.scopes.reaching(number) if isinstance(number, ast.Name) else []
    read: ast.AST = bindings[0].statement if len(bindings) == 1 and counter.advances else number
    function, loops = draft.syntax.function(read), draft.syntax.loops(read)
    places = [
        f.node for a in counter.advances for way in draft.drive.ways(a) for f in way if f.function is function
    ]
    same = [p for p in places if draft.syntax.loops(p)[:1] == loops[:1]]
    return all(p.lineno > read.lineno for p in places) and len(same) == len(places)  # type: ignore[attr-defined]


def _every(
    draft: Draft, test: ast.expr, number: ast.expr, modulo: ast.expr, rest: ast.expr, operator: ast.cmpop
) -> None:
    if isinstance(operator, windows.ORDER):
        by = _goes_on_by(draft, test, number)[0]
        if by == SIZE:
            windows.apply(draft, test, number, _divisor(modulo), rest, operator, is_of_all=True)
        elif not draft.decide(test, Counted("G5")):
            return
        elif isinstance(operator, ast.Lt) and by == f"{draft.module.text(rest)} * {SIZE}":
            draft.change(
                "G5", test, _WHAT, _WHY, draft.times(rest)
            )  # `seen % 1000 < batch`: in one step of a cycle
        else:
            draft.note("G5", test, _OVER)
        return
    if isinstance(operator, (ast.In, ast.NotIn)):
        windows.among(draft, test, modulo, number, rest, operator, is_of_all=True)
    if not isinstance(operator, (ast.Eq, ast.NotEq)) or not draft.decide(rest, Counted("G5")):
        return
    by, doubt = _goes_on_by(draft, test, number)
    edits = [Edit(draft.module.span(rest), by), *_after_this(draft, number)]
    if not (isinstance(rest, ast.Constant) and rest.value == 0):
        less = _last_less(draft, number, modulo, rest) if by == SIZE else None
        text = draft.module.text(rest)
        less = less or (f" - ({text})" if needs_parentheses(rest) else f" - {text}")
        enclosed = isinstance(modulo, ast.Call) or isinstance(number, ast.BinOp)
        edits += Edit.around(draft.module.span(number), *(("", less) if enclosed else ("(", f"{less})")))
    else:
        edits += _to_the_last(draft, number)
    if isinstance(test, ast.Call):
        edits.append(_named(draft, test))
    elif isinstance(test, ast.Compare):
        if test.left is not modulo:
            draft.note("G5", test, _OVER)
            return
        edits.append(between(draft, modulo, rest, "<" if isinstance(operator, ast.Eq) else ">="))
    draft.change("G5", test, _WHAT, _WHY, edits, doubt)


def _last_less(draft: Draft, number: ast.expr, modulo: ast.expr, rest: ast.expr) -> str | None:
    """`step % 50 == 49` → `(step + hvd.size()) % 50 < hvd.size()` where `step` numbers the turn that runs: whether one of the
    turns of all ranks comes to it. By the first rank's alone it would come a turn later, and at the end of training never."""
    counter = counted.all_of(draft, number)
    of_turn = epoch_counts.is_one(draft, number) or (
        counter is not None and _is_of_this_turn(draft, number, counter)
    )
    if not of_turn:
        return None
    divisor, text = _divisor(modulo), draft.module.text(rest)
    if isinstance(rest, ast.Constant) and type(rest.value) is int:
        is_last = isinstance(divisor, ast.Constant) and divisor.value == rest.value + 1
        return f" + {SIZE}" if is_last else f" + {SIZE} - {rest.value + 1}"
    if text == f"{draft.module.text(divisor)} - 1":
        return f" + {SIZE}"
    return f" + {SIZE} - 1 - ({text})" if needs_parentheses(rest) else f" + {SIZE} - 1 - {text}"


def _turn_before(draft: Draft, e: ast.expr) -> ast.expr | None:
    """`step` of `step + 1`, which is how many steps there were after this one (`resume` makes it `step + hvd.size()`)."""
    adds = isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add)
    if (
        not adds
        or not isinstance(e, ast.BinOp)
        or not isinstance(e.right, ast.Constant)
        or e.right.value != 1
    ):
        return None
    return e.left if counted.all_of(draft, e.left) is not None else None


def _after(
    draft: Draft,
    test: ast.expr,
    turn: ast.expr,
    left: ast.expr,
    number: ast.expr,
    right: ast.expr,
    operator: ast.cmpop,
) -> None:
    """`step + 1 == K` → `step < K <= step + hvd.size()`; so `step == K - 1`, too. `number`: K"""
    if (
        not _is_plain(number)
        or not isinstance(test, ast.Compare)
        or test.left is not left
        or draft.drive.in_traced(test)
    ):
        draft.note("G5", test, _OVER)
        return
    before, after = _written(draft, left), _written(draft, right)
    opening, closing = ("", "") if isinstance(operator, ast.Eq) else ("not (", ")")
    text = f"{opening}{draft.module.text(turn)} < {lengths_beside_counts.of_all(draft, number)} <= "
    closing = f" + {SIZE}{closing}" if turn is left else closing
    edits = [Edit.insert(before.start, text, before), Edit(Span(before.end, after.end), closing)]
    draft.change("G5", test, _WHAT, _WHY, edits)


def _at(draft: Draft, test: ast.expr, left: ast.expr, right: ast.expr, operator: ast.cmpop) -> None:
    """`step == K` → `K <= step < K + hvd.size()`; `step <= K < step + hvd.size()` where it numbers the turn that runs."""
    if (
        isinstance(operator, ast.In)
        and (isinstance(right, (ast.Tuple, ast.List, ast.Set)) or among_numbers.are_listed(draft, right))
        and isinstance(test, ast.Compare)
    ):
        _among(draft, test, left, right)
        return
    turn = counted.all_of(draft, left)
    if turn is not None and _is_last(turn, right) and isinstance(right, ast.BinOp):
        _after(draft, test, left, left, right.left, right, operator)
        return
    plain = _is_plain(right) and isinstance(operator, (ast.Eq, ast.NotEq))
    if isinstance(right, ast.Constant) and right.value == 0:
        return
    if not plain or not isinstance(test, ast.Compare) or draft.drive.in_traced(test):
        draft.note("G5", test, _OVER)
        return
    text = lengths_beside_counts.of_all(draft, right)
    opening, closing = ("", "") if isinstance(operator, ast.Eq) else ("not (", ")")
    by, doubt = _goes_on_by(draft, test, left)
    is_turn = turn is not None and _is_of_this_turn(draft, left, turn)
    if is_turn or _ends_its_loop(draft, test, right):
        # By the last of the turns, too: at the end none comes later.
        count = draft.module.text(left)
        edits = _around(draft, left, right, opening, f" <= {text} < {count} + {by}{closing}")
    else:
        edits = _around(draft, left, right, f"{opening}{text} <= ", f" < {text} + {by}{closing}")
    draft.change("G5", test, _WHAT, _WHY, edits, doubt)


def _ends_its_loop(draft: Draft, test: ast.expr, number: ast.expr) -> bool:
    """Whether a number is the last that is counted to: `n` of `for batch in data.take(n - int(step)):`, which has its whole
    share of turns, and no part of another."""
    name = ast.unparse(number)
    heads = [loop.iter for loop in draft.syntax.loops(test) if isinstance(loop, ast.For)]
    return not isinstance(number, ast.Constant) and any(
        ast.unparse(n) == name for h in heads for n in walk(h)
    )


def _is_plain(e: ast.expr) -> bool:
    """Whether a number is written by names and constants alone, so that it may be written twice: `n // 2`."""
    if isinstance(e, ast.BinOp):
        return isinstance(e.op, _ARITHMETIC) and _is_plain(e.left) and _is_plain(e.right)
    return isinstance(e, (ast.Constant, ast.Name, ast.Attribute))


def _is_last(turn: Counter, number: ast.expr) -> bool:
    """Whether a number is the last that a loop's variable has: `n - 1` of `range(start, n)`."""
    if not isinstance(number, ast.BinOp) or not isinstance(number.op, ast.Sub):
        return False
    ends = [d.iterable.args[-1] for d in turn.drivers if isinstance(d.iterable, ast.Call) and d.iterable.args]
    same = bool(ends) and all(ast.unparse(e) == ast.unparse(number.left) for e in ends)
    return turn.kind is CounterKind.TURN and same and ast.unparse(number.right) == "1"


def _among(draft: Draft, test: ast.Compare, left: ast.expr, numbers: ast.expr) -> None:
    """`step in (100, 200)` → `any(k <= step < k + hvd.size() for k in (100, 200))`, of a list by its name likewise."""
    k = draft.same_name("k")
    listed = draft.module.text(numbers)
    by, doubt = _goes_on_by(draft, test, left)
    turn = counted.all_of(draft, left)
    if turn is not None and _is_of_this_turn(draft, left, turn):
        edits = _around(
            draft, left, numbers, "any(", f" <= {k} < {draft.module.text(left)} + {by} for {k} in {listed})"
        )
    else:
        edits = _around(draft, left, numbers, f"any({k} <= ", f" < {k} + {by} for {k} in {listed})")
    draft.change("G5", test, _WHAT, _WHY, edits, doubt)


def _around(draft: Draft, left: ast.expr, right: ast.expr, before: str, after: str) -> list[Edit]:
    """Puts something before a count, and something in the place of what it is compared with."""
    count = _written(draft, left)
    changed = Edit(Span(count.end, _written(draft, right).end), after)
    return [Edit.insert(count.start, before, count), changed] if before else [changed]


def _written(draft: Draft, side: ast.expr) -> Span:
    """Where a side of a comparison is written, with the parentheses around it: `(step + 1)` of `(step + 1) == n`."""
    text, span = draft.document.text, draft.module.span(side)
    while True:
        before, after = text[: span.start].rstrip(), text[span.end :]
        following = after.lstrip()
        if not (before.endswith("(") and following.startswith(")")):
            return span
        span = Span(len(before) - 1, span.end + len(after) - len(following) + 1)


def between(draft: Draft, left: ast.expr, right: ast.expr, operator: str) -> Edit:
    """Another operator between two expressions."""
    after, before = draft.module.span(left).end, draft.module.span(right).start
    text = draft.document.text[after:before]
    at = after + next(i for i in range(len(text)) if text[i : i + 2] in ("==", "!="))
    return Edit(Span(at, at + 2), operator)


def _named(draft: Draft, test: ast.Call) -> Edit:
    """Another function of the same module: `tf.equal` → `tf.less`."""
    end = draft.module.span(test.func).end
    last = draft.names.last(test.func)
    return Edit(Span(end - len(last), end), _FUNCTIONS.get(last, last))


__all__ = ["between", "compared", "tested"]
