"""Counters of steps in a draft: which of them count only a rank's steps, because what they count is divided."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.scaled_counts import Scaled
from horovodize.facts.feeds.steps import Feed, arrays_in
from horovodize.rules.drafting.decisions import Amount, Divided, Fewer, InRounds, OfAll, Strided
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import loop_exits, quotients
from horovodize.rules.numbers.shares import counts_a_share, feeding, is_touched, may_be_none
from horovodize.source import Edit
from horovodize.summary.feeding import Driver, FitFeed

_OF_ESTIMATORS = (CounterKind.GLOBAL_STEP, CounterKind.NUMBER)  # the latter of a hook's own
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def of(draft: Draft, e: ast.expr) -> Counter | None:
    """The counter of a rank's steps that an expression gives; None where it counts all, or is no counter."""
    if not draft.options.split_data or not draft.divided:
        return None
    counter = draft.facts.counters.of(e, draft.having(OfAll))
    if counter is None or counter.rows or is_strided(draft, counter):
        return None  # rows are counted for all ranks (G6), or for those of a sum
    return counter if counts_share(draft, counter) else None


def scaled(draft: Draft, e: ast.expr) -> Scaled | None:
    """What goes with a rank's steps, `i * 32`, `start // batch`, also by a name that is set to it; None where with all."""
    if not draft.options.split_data or not draft.divided:
        return None
    found = draft.facts.scaled_counts.of(e, draft.having(OfAll))
    if found is None or found.counter.rows or is_strided(draft, found.counter):
        return None
    return found if counts_share(draft, found.counter) else None


def scaled_of_all(draft: Draft, e: ast.expr) -> Scaled | None:
    """What goes with the steps of all ranks, as what it is made of was told those: `min(i * hvd.size(), n - 1) * 32`."""
    told = draft.having(OfAll)
    found = draft.facts.scaled_counts.of(e) if told else None
    return found if found is not None and found.read is not e and found.read in told else None


def perhaps(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression may be a count of a rank's steps: what a divided step fetches beside, and can't be seen; what an
    object holds that a function is handed."""
    counter = draft.facts.counters.perhaps(e) if draft.options.split_data and draft.divided else None
    return counter is not None and counts_share(draft, counter)


def all_of(draft: Draft, e: ast.expr) -> Counter | None:
    """The counter of the steps of all ranks, which goes on by size() with each, that an expression gives."""
    if not draft.having(Strided):
        return None
    counter = draft.facts.counters.of(e, draft.having(OfAll))
    return counter if counter is not None and is_strided(draft, counter) else None


def is_strided(draft: Draft, counter: Counter) -> bool:
    """Whether a counter goes on by the steps of all ranks."""
    if counter.kind is CounterKind.TURN:
        return any(draft.was(d.loop, Strided) for d in counter.drivers)
    return any(draft.was(place, Strided) for place in counter.advances)


def counts_share(draft: Draft, counter: Counter) -> bool:
    """Whether a counter counts a rank's steps only: all that it counts the steps of is divided."""
    if not counter.drivers and not counter.fitted:
        # no loop of the script's counts it: it counts what its Estimators train, whose steps E1 divides
        return counter.kind in _OF_ESTIMATORS and bool(draft.sites.read_estimators.trainings)
    fits = [f for f in feeding(draft).fits if counter.fitted]
    if counter.fitted and not fits:
        return False
    return all(is_divided(draft, d) for d in counter.drivers) and all(is_fit_divided(draft, f) for f in fits)


def is_divided(draft: Draft, driver: Driver) -> bool:
    """Whether a loop takes 1/size() of its steps on each rank."""
    loop, e = driver.loop, driver.iterable
    if any(draft.facts.steps.game(step) is not None for step in driver.steps):
        return False
    if any(draft.facts.steps.of(step).feed is Feed.ONE_BATCH for step in driver.steps):
        return False
    if draft.was(loop, Fewer):
        return True
    known = feeding(draft)
    feeds = [e] if e is not None else []
    if isinstance(e, ast.Call) and e.args and counts_a_share(draft, e.args[-1]):
        return True
    if e is None or known.kinds.is_range(e) or loop_exits.counted(draft, e) is True:
        feeds += known.next_calls(driver) + (known.graph_feeds if draft.in_graph else [])
    elif isinstance(e, ast.Call) and draft.names.last(e.func) == "zip":
        feeds += e.args
    return any(is_touched(draft, part) for f in feeds for part in (f, *known.pipelines.trail(f)))


def is_fit_divided(draft: Draft, fed: FitFeed) -> bool:
    """Whether `fit` takes 1/size() of its steps on each rank."""
    call, known = fed.fit.call, feeding(draft)
    if draft.facts.steps.of(call).feed is Feed.ONE_BATCH:
        return False
    given = [*call.args, *(k.value for k in call.keywords if k.arg in ("x", "steps_per_epoch", "generator"))]
    given += [part for e in (fed.x, fed.y) if e is not None for part in arrays_in(e)]
    return any(
        is_touched(draft, part) or counts_a_share(draft, part)
        for g in given
        for part in (g, *known.pipelines.trail(g))
    )


def is_whole(draft: Draft, count: ast.expr) -> bool:
    """Whether a number of steps is still that of one process: neither divided where it is, nor where it is made."""
    if draft.was(count, Amount) or counts_a_share(draft, count):
        return False
    made_of = draft.values.depends([count], 200)
    return not any(
        is_touched(draft, n) for n in made_of if not isinstance(n, ast.Constant) or isinstance(n.value, int)
    )


def over_ranks(draft: Draft, count: ast.expr, rule: str, least: int = 1) -> tuple[Edit, ...]:
    """`n` → `max(1, n // hvd.size())`; one that may be None is kept if it is. `least`: what it is never less than."""
    if not draft.decide(count, Divided(rule)):
        return ()
    quotient = quotients.over_ranks(draft, count)
    if quotient is not None:
        return quotient
    opening, closing = ("(", ")") if needs_parentheses(count) else ("", "")
    before, after = quotients.at_least(draft, count, least)
    if may_be_none(draft, count) and isinstance(count, (ast.Name, ast.Attribute)):
        return Edit.around(
            draft.module.span(count), f"({draft.module.text(count)} and max({least}, ", f" // {SIZE}))"
        )
    return Edit.around(draft.module.span(count), f"{before}{opening}", f"{closing} // {SIZE}{after}")


def text_over_ranks(draft: Draft, count: ast.expr) -> str:
    """The same as text."""
    text = draft.module.text(count)
    before, after = quotients.at_least(draft, count)
    return f"{before}{f'({text})' if needs_parentheses(count) else text} // {SIZE}{after}"


def read_as_all(draft: Draft, read: ast.expr, rule: str) -> tuple[Edit, ...]:
    """`step` → `step * hvd.size()`: a formula is told the steps of all ranks; never more than there are, where the last turn of
    a loop is the last of all already: `min(step * hvd.size(), n - 1)`."""
    draft.decide(read, OfAll(rule))
    span = draft.module.span(read)
    last = last_turn(draft, read)
    if last is not None:
        return Edit.around(span, "min(", f" * {SIZE}, {last})")
    parent = draft.syntax.parent[read]
    binds = isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Attribute)) and not (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Sub))
    )
    binds = binds or (isinstance(parent, ast.Subscript) and parent.value is read)
    first = isinstance(parent, ast.BinOp) and isinstance(
        parent.op, (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
    )
    if binds and not (first and isinstance(parent, ast.BinOp) and parent.left is read):
        return Edit.around(span, "(", f" * {SIZE})")
    return Edit.around(span, "", f" * {SIZE}")


def is_over_a_share(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is divided by a number of steps that a rule has divided there, `step // max(1, 20 // hvd.size())`: both
    are a rank's."""
    e, around = read, draft.syntax.parent[read]
    while isinstance(around, ast.BinOp) and isinstance(around.op, (ast.Add, ast.Sub)):
        e, around = around, draft.syntax.parent[around]
    match around:
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=right) if left is e:
            return draft.was(right, Divided)
    return False


def last_turn(draft: Draft, read: ast.expr) -> str | None:
    """The last number that a loop's variable has, or what is one more than that, on a rank as alone, as text."""
    rounds = _rounds(draft, read)
    if rounds is None or not rounds[1]:
        return rounds[0].last if rounds is not None else None
    last, more = shifted(ast.parse(rounds[0].last, mode="eval").body)
    more += rounds[1]
    text = f"({ast.unparse(last)})" if needs_parentheses(last) else ast.unparse(last)
    return f"{text} {'+' if more > 0 else '-'} {abs(more)}" if more else text


def is_last_turn(draft: Draft, number: ast.expr, bound: ast.expr) -> bool:
    """Whether `step == bound`, or `step + 1 == bound`, is of the last turn of a loop, which has the same number on a rank as
    alone."""
    step, more = shifted(number)
    found = _rounds(draft, step)
    if found is None:
        return _ends_with(draft, number, bound)
    rounds, more = found[0], more + found[1]
    known = draft.facts.feeding.kinds.constant(bound)
    if known is not None and rounds.known is not None:
        return known == rounds.known + more
    (end, off), (last, less) = shifted(bound), shifted(ast.parse(rounds.last, mode="eval").body)
    return off == less + more and ast.unparse(end) == ast.unparse(last)


def _ends_with(draft: Draft, number: ast.expr, bound: ast.expr) -> bool:
    """Whether `end == len(x)` is of the last turn of `for start in range(0, len(x), 32):`, where `end = start + 32`."""
    bound_to = draft.module.scopes.reaching(number) if isinstance(number, ast.Name) else []
    made = bound_to[0].value if len(bound_to) == 1 and not bound_to[0].path else number
    match made:
        case ast.BinOp(left=start, op=ast.Add(), right=step):
            pass
        case _:
            return False
    loops = [b.statement for b in draft.module.scopes.reaching(start)] if isinstance(start, ast.Name) else []
    loop = loops[0] if len(loops) == 1 and draft.was(loops[0], InRounds) else None
    e = draft.facts.feeding.iterable(loop) if isinstance(loop, ast.For) else None
    ends = e.args[1:] if isinstance(e, ast.Call) and len(e.args) == 3 else []
    return [ast.unparse(n) for n in ends] == [ast.unparse(bound), ast.unparse(step)]


def shifted(e: ast.expr) -> tuple[ast.expr, int]:
    """`n` and -1 of `n - 1`; `n` and 0 of `n + 1 - 1`, `n` and 1 of `1 + n`."""
    match e:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(by))):
            inner, more = shifted(left)
            return inner, more + (by if isinstance(op, ast.Add) else -by)
        case ast.BinOp(left=ast.Constant(value=int(by)), op=ast.Add(), right=right):
            inner, more = shifted(right)
            return inner, more + by
    return e, 0


def _rounds(draft: Draft, read: ast.expr, depth: int = 6) -> tuple[InRounds, int] | None:
    """(how a loop ends whose variable is read, by how much what is read is more than that): 1 of `step = i + 1`."""
    bound = draft.module.scopes.reaching(read) if isinstance(read, ast.Name) and depth else []
    if len(bound) != 1:
        return None
    rounds = draft.decision(bound[0].statement, InRounds)
    if rounds is not None:
        return rounds, 0
    if bound[0].kind == "parameter":
        given = list(draft.values.passed(bound[0]))
        told = _rounds(draft, given[0], depth - 1) if len(given) == 1 else None
        return told if told is not None and _reads_alike(draft, told[0].last, given[0], read) else None
    value = bound[0].value if bound[0].kind == "assign" and not bound[0].path else None
    step, more = shifted(value) if value is not None else (None, 0)
    found = _rounds(draft, step, depth - 1) if step is not None else None
    return (found[0], found[1] + more) if found is not None else None


def _reads_alike(draft: Draft, text: str, one: ast.expr, other: ast.expr) -> bool:
    """Whether what is written means the same at two places."""
    lookup = draft.module.scopes.lookup
    names = (n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name))
    return all(lookup(name, one) is lookup(name, other) for name in names)
