"""Loops over ranges: part of G4 and S5.

A loop whose variable only counts gets fewer turns. Where the variable selects the batch, each rank takes every size()-th; and
if it counts as well (`if i % 100 == 0:`), it goes on counting the turns, the same on all ranks, and a second variable selects:
a test of a number that differs between the ranks would let one rank train or save where the others do not.
"""

from __future__ import annotations

import ast

from horovodize.facts.counting.turn_uses import uses_of
from horovodize.plan import Decision
from horovodize.rules.counts.unseen_counts import is_shown
from horovodize.rules.drafting.decisions import (
    Amount,
    Decided,
    InRounds,
    OfAll,
    Shared,
    Unseen,
)
from horovodize.rules.drafting.draft import RANK, SIZE, Draft, needs_parentheses
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.loops import few_steps, last_events, moved_starts, own_numbers
from horovodize.rules.loops.counted_ranges import (
    counts_by_ones,
    counts_from,
    counts_ranks,
    divide_count,
    divide_from,
    keep_last,
)
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import DIVIDE_STEPS, PLENTY, WHY, counts_a_share, feeding, wrap
from horovodize.rules.resuming import begun_within, numbered_on
from horovodize.rules.resuming.restored_iterations import STORED
from horovodize.rules.scaling import strong
from horovodize.rules.sums import averages
from horovodize.source import Edit
from horovodize.summary.feeding import Driver

EVERYTHING = "every rank trains on all of it"
_LAST = (
    "in the last turn, and after the loop, this number is that of the last of all turns, and what is added up that of a rank's "
    "turns: divide by how many those are"
)
_COUNT_ALIKE = "Give every rank its own batches, and let all count the same turns"

_RANGES = ("range", "xrange", "arange")  # the last of NumPy
_FEW = 20  # of so few, what is left out is a share of the data that shows
_LEFT_OUT = (
    "of these {}, ranks take equally many, and those that are left over are not seen: run on a number of ranks that divides "
    "them, or change which come last"
)


def divide_range(draft: Draft, driver: Driver, e: ast.expr, rule: str) -> None:
    """Divides a loop over `e`, a range, by the rule of that name."""
    made = _bar(draft, e)
    if made is not None:
        within = feeding(draft).inside(made)
        listed = driver.indexed and draft.names.last(made.func) == "list" and _is_used_again(draft, e)
        if listed and not _counts_too(draft, driver, e):
            return _deal_out(draft, driver, e, rule)  # `order = list(range(n))`, which is shuffled in place
        if _is_used_again(draft, e) or not isinstance(within, ast.Call):
            _leave(draft, driver, e, rule)
            return
        e = within
    elif not driver.indexed:
        e = _named(draft, e) or e
    called = isinstance(e, ast.Call) and draft.names.last(e.func) in (*_RANGES, "trange")
    if called and isinstance(e, ast.Call) and e.args and counts_a_share(draft, e.args[-1]):
        return
    traced, indexed = draft.drive.in_traced(driver.loop), driver.indexed and _selects(draft, driver, e)
    single = isinstance(e, ast.Call) and called and len(e.args) == 1 and counts_by_ones(draft, e)
    if single and isinstance(e, ast.Call) and not indexed:
        keep_last(draft, driver, e.args[0], 0, rule)
        if not last_events.divide(draft, driver, e.args[0], rule):
            divide_count(draft, e.args[0], rule)
        few_steps.tell_of_turns(draft, rule, driver.loop, e.args[0])
    elif (numbers := counts_from(draft, e)) is not None and not indexed:
        divide_from(draft, driver, numbers, rule)
    elif single and isinstance(e, ast.Call) and (traced or draft.names.last(e.func) == "trange"):
        n = e.args[0]
        text = draft.module.text(n)
        plain = isinstance(n, (ast.Name, ast.Attribute, ast.Constant)) and not draft.was(n, Amount)
        if not plain or _counts_too(draft, driver, e):
            _leave(draft, driver, e, rule)
            return
        draft.decide(n, Shared(rule))
        draft.divided = True
        edits = [Edit(draft.module.span(n), f"{RANK}, {text} // {SIZE} * {SIZE}, {SIZE}")]
        edits += _turns_so_far(draft, driver)
        draft.change(rule, e, "Give every rank its own batches", WHY, edits, decision=Decision.SHARED)
    elif traced or (isinstance(e, ast.Call) and draft.names.last(e.func) == "trange"):
        _leave(draft, driver, e, rule)
    else:
        _deal_out(draft, driver, e, rule)


def _selects(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """Whether the variable of a loop selects data, rather than the number of a schedule alone."""
    variable = _variable(driver.loop, e)
    uses = uses_of(feeding(draft), driver.loop, variable.id) if variable is not None else None
    return uses is None or bool(uses.selecting or uses.told) or not uses.counting


def _counts_too(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """Whether the variable of a loop counts, besides what it selects: numbers of a rank's own would count wrongly."""
    variable = _variable(driver.loop, e)
    uses = uses_of(feeding(draft), driver.loop, variable.id) if variable is not None else None
    if variable is None or uses is None:
        return False
    averaged = {n for d in averages.by_turns(draft, driver, variable) for n in ast.walk(d)}
    counting = [n for n in uses.counting if n not in averaged and not is_shown(draft, n)]
    return uses.mixed or bool(uses.told or counting)


def _turns_so_far(draft: Draft, driver: Driver) -> list[Edit]:
    """`total / (i + 1)` → `total / (i // hvd.size() + 1)` where a rank takes every size()-th number."""
    turn = driver.loop.target if isinstance(driver.loop, (ast.For, ast.AsyncFor)) else None
    if not isinstance(turn, ast.Name):
        return []
    read = [n for d in averages.by_turns(draft, driver, turn) for n in ast.walk(d) if isinstance(n, ast.Name)]
    spans = [draft.module.span(n) for n in read if n.id == turn.id]
    return [edit for span in spans for edit in Edit.around(span, "(", f" // {SIZE})")]


def _leave(draft: Draft, driver: Driver, e: ast.expr, rule: str) -> None:
    """Says of a loop that it is not divided; then its rate stays, too, unless the data are divided: that is asked about."""
    if strong.leave_loop(draft, driver):
        draft.note(rule, e, f"this loop is not divided: {EVERYTHING}")
    else:
        draft.decide(driver.loop, Unseen(rule, e))


def _bar(draft: Draft, e: ast.expr) -> ast.Call | None:
    """The progress bar that a name stands for: `bar = tqdm(range(n))`. It has no part that could be a rank's share."""
    bindings = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    made = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    if not isinstance(made, ast.Call):
        return None
    is_bar = feeding(draft).inside(made) is not made or draft.names.last(made.func) == "trange"
    return made if is_bar else None


def _named(draft: Draft, e: ast.expr) -> ast.Call | None:
    """The range that a name stands for, if only this loop goes through it: divided where it is made, it goes on fitting what
    else it is used for (`plt.plot(epochs, losses)`)."""
    bindings = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    if not isinstance(e, ast.Name) or len(bindings) != 1 or bindings[0].kind != "assign":
        return None
    made, scope = bindings[0].value, draft.module.scopes.lookup(e.id, e)
    if not isinstance(made, ast.Call) or bindings[0].path or draft.syntax.loops(made):
        return None
    if outputs_of(draft).is_early(made):
        return None  # the number of ranks is not known there yet
    others = [
        n
        for n in draft.syntax.nodes
        if isinstance(n, ast.Name) and n.id == e.id and n is not e and isinstance(n.ctx, ast.Load)
        and draft.module.scopes.lookup(n.id, n) is scope
    ]  # fmt: skip
    gone_through = any(draft.syntax.field[n] == "iter" for n in others)
    return made if draft.names.last(made.func) in ("range", "xrange") and not gone_through else None


def _is_used_again(draft: Draft, e: ast.expr) -> bool:
    """Whether a name is read elsewhere than in its loop's head, other than to show something in it (`bar.set_postfix(…)`)."""
    return isinstance(e, ast.Name) and any(
        isinstance(n, ast.Name) and n.id == e.id and n is not e and isinstance(n.ctx, ast.Load)
        and not isinstance(draft.syntax.parent[n], ast.Attribute)
        and draft.syntax.function(n) is draft.syntax.function(e)
        for n in draft.syntax.nodes
    )  # fmt: skip


def _deal_out(draft: Draft, driver: Driver, e: ast.expr, rule: str) -> None:
    """Gives every rank its own of a range: `for i in shard(range(n))`, or, if the variable counts too,
    `for i, own_i in rounds(range(n))`."""
    _tell_of_few(draft, e, rule)
    variable = _variable(driver.loop, e)
    uses = uses_of(feeding(draft), driver.loop, variable.id) if variable is not None else None
    if uses is not None and not own_numbers.can_give(draft, uses):
        _leave(draft, driver, e, rule)
        return
    if isinstance(e, ast.Call) and len(e.args) == 1:
        begun_within.read_rest_as_all(draft, e.args[0], lambda step: counts_ranks(draft, step), rule)
    numbers = counts_from(draft, e)
    if numbers is not None and uses is not None and variable is not None:
        of_a_rank, so_many_more = (counts_ranks(draft, n) for n in numbers.args)
        if of_a_rank or numbered_on.is_restored(draft, numbers.args[0]):
            if not so_many_more and numbered_on.deal_out(
                draft, driver, numbers, variable, uses, of_a_rank, rule
            ):
                return
            draft.note(rule, numbers.args[0], STORED)
        else:
            moved_starts.ask(draft, driver, numbers.args[0], rule)
    averaged = averages.by_turns(draft, driver, variable) if variable is not None else []
    counting = [n for n in uses.counting if not is_shown(draft, n)] if uses is not None else []
    if variable is None or uses is None or not (counting or averaged or uses.told):
        edits = _own_numbers(draft, e, rule) or wrap(draft, e, "shard", rule)
        what = "Give every rank its own batches" if driver.indexed else DIVIDE_STEPS
        if edits:
            draft.change(rule, e, what, WHY, edits, decision=Decision.SHARED)
            for use in uses.selecting if uses is not None else ():
                draft.decide(use, OfAll(rule))  # every size()-th of the numbers of all
        return
    if not draft.decide(e, Shared(rule)):
        return
    draft.divided = True
    own = own_numbers.name(draft, variable.id, variable)
    within = isinstance(draft.syntax.parent[variable], (ast.Tuple, ast.List))
    opening, closing = ("(", ")") if within else ("", "")
    edits = (
        *_counted(draft, driver.loop, e, uses.counting, averaged, rule),
        *Edit.around(draft.module.span(variable), opening, f", {own}{closing}"),
        *own_numbers.give(draft, uses, variable.id, own, rule),
    )
    draft.change(rule, e, _COUNT_ALIKE, WHY, edits, decision=Decision.SHARED)


def _tell_of_few(draft: Draft, e: ast.expr, rule: str) -> None:
    """Says of few numbers, `range(5)`, that those which ranks can't get equally many of are left out: a large share of them."""
    ends = e.args[:2] if isinstance(e, ast.Call) and draft.names.last(e.func) in _RANGES else []
    known = [feeding(draft).kinds.constant(end) for end in ends]
    count = (
        (known[-1] or 0) - ((known[0] or 0) if len(known) > 1 else 0) if known and None not in known else 0
    )
    if 1 < count < _FEW and len(e.args) < 3 and draft.once("few", e):  # type: ignore[attr-defined]
        draft.note(rule, e, _LEFT_OUT.format(count))


def _own_numbers(draft: Draft, e: ast.expr, rule: str) -> tuple[Edit, ...]:
    """`range(1000)` → `range(hvd.rank(), 1000 // hvd.size() * hvd.size(), hvd.size())`; `or [hvd.rank() % 9]` of nine, so that
    each rank has one where there are fewer than ranks. Nothing where the number isn't known: `shard(range(n))` reads better
    than what such a head would have to say."""
    if not isinstance(e, ast.Call) or not isinstance(e.func, ast.Name) or e.keywords or not e.args:
        return ()
    of_library = (draft.names.of(e.func) or "").startswith(("tensorflow", "numpy"))
    if draft.names.last(e.func) not in _RANGES or of_library:
        return ()
    n = e.args[-1]
    first = e.args[0] if len(e.args) > 1 else None
    if draft.was(e, Shared) or draft.was(n, Decided) or "shard" in draft.helpers:
        return ()
    zero = first is None or (isinstance(first, ast.Constant) and first.value == 0)
    if not zero or len(e.args) > 2 or not isinstance(n, (ast.Name, ast.Attribute, ast.Constant)):
        return ()
    known, text = feeding(draft).kinds.constant(n), draft.module.text(n)
    if not known:
        return ()
    rest = "" if known >= PLENTY else f" or [{RANK} % {known}]"
    share = f"{e.func.id}({RANK}, {text} // {SIZE} * {SIZE}, {SIZE}){rest}"
    parent = draft.syntax.parent[e]
    if rest and not isinstance(parent, (ast.For, ast.AsyncFor, ast.Call)):
        share = f"({share})"
    draft.decide(e, Shared(rule))
    draft.divided = True
    return draft.decided(Decision.SHARED, (Edit(draft.module.span(e), share),))


def deal_pairs(draft: Draft, driver: Driver, e: ast.expr, rule: str) -> bool:
    """`for start, end in zip(range(0, n, k), range(k, n, k))` of which something counts, too (`if start % 3200 == 0:`):
    → `for (start, end), (own_start, own_end) in rounds(list(zip(…)))`. Whether it is such a loop."""
    loop = driver.loop
    if not isinstance(loop, ast.For) or loop.iter is not e or not isinstance(loop.target, ast.Tuple):
        return False
    zipped = e.args if isinstance(e, ast.Call) and draft.names.last(e.func) == "zip" else []
    names = [n for n in loop.target.elts if isinstance(n, ast.Name)]
    if (
        not zipped
        or len(names) < len(loop.target.elts)
        or not all(map(feeding(draft).kinds.is_range, zipped))
    ):
        return False
    if any(feeding(draft).kinds.is_endless(z) for z in zipped):
        return False
    uses = [u for n in names if (u := uses_of(feeding(draft), loop, n.id)) is not None]
    counts, selects = any(u.counting for u in uses), any(u.selecting or u.told for u in uses)
    if (
        not all(own_numbers.can_give(draft, u) for u in uses)
        or len(uses) < len(names)
        or not counts
        or not selects
        or not draft.decide(e, Shared(rule))
    ):
        return False
    draft.divided = True
    own = {n.id: own_numbers.name(draft, n.id, n) for n in names}
    span, text = draft.module.span(loop.target), draft.module.text(loop.target)
    pair_text = text if text.startswith("(") else f"({text})"
    edits = (
        Edit(span, f"{pair_text}, ({', '.join(own.values())})"),
        *Edit.around(draft.module.span(e), f"{draft.helper('rounds')}(list(", "))"),
        *(
            e
            for n, u in zip(names, uses, strict=True)
            for e in own_numbers.give(draft, u, n.id, own[n.id], rule)
        ),
    )
    draft.change(rule, e, _COUNT_ALIKE, WHY, edits, decision=Decision.SHARED)
    return True


def _counted(
    draft: Draft, loop: ast.stmt, e: ast.expr, counting: list[ast.Name], averaged: list[ast.expr], rule: str
) -> tuple[Edit, ...]:
    """`rounds(range(n))`, whose last number is that of the last turn alone, for `if i == n - 1:`. Where sums are divided by the
    number of turns so far, `total / (i + 1)`, `enumerate(shard(range(n)))`, whose last number is a rank's own."""
    span = draft.module.span(e)
    named = isinstance(e, ast.Call) and draft.names.last(e.func) in _RANGES and len(e.args) == 1
    tests = (draft.syntax.parent[n] for n in counting)
    if averaged and named and not any(isinstance(t, ast.Compare) for t in tests):
        return Edit.around(span, f"enumerate({draft.helper('shard')}(", "))")
    for divisor in averaged:
        draft.note(rule, divisor, _LAST)
    one_by_one = isinstance(e, ast.Call) and draft.names.last(e.func) in _RANGES and len(e.args) < 3
    stop = e.args[-1] if isinstance(e, ast.Call) and one_by_one and e.args else None
    base, more = counted.shifted(stop) if stop is not None else (None, 0)
    known = draft.facts.feeding.kinds.constant(base) if base is not None else None
    known = known + more if known is not None else None
    draft.decide(loop, InRounds(rule, _last_of(draft, e), known - 1 if known is not None else None))
    return Edit.around(span, f"{draft.helper('rounds')}(", ")")


def _last_of(draft: Draft, e: ast.expr) -> str:
    """The last of what a loop goes over, as text: `n - 1` of `range(n)`."""
    text = draft.module.text
    if not isinstance(e, ast.Call) or draft.names.last(e.func) not in _RANGES or len(e.args) > 2:
        return f"{text(e)}[-1]" if not needs_parentheses(e) else f"({text(e)})[-1]"
    stop = e.args[-1]
    return f"({text(stop)}) - 1" if needs_parentheses(stop) else f"{text(stop)} - 1"


def _variable(loop: ast.stmt, e: ast.expr) -> ast.Name | None:
    """The variable that a loop binds to the items of `e`: of `for k, i in enumerate(e)` the second."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return None
    target, iterated = loop.target, loop.iter
    if isinstance(iterated, ast.Name) and iterated is not e:
        return target if isinstance(target, ast.Name) else None  # a bar that is made elsewhere
    while iterated is not e and isinstance(iterated, ast.Call) and iterated.args:
        if isinstance(iterated.func, ast.Name) and iterated.func.id == "enumerate":
            if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                return None
            target = target.elts[1]
        iterated = iterated.args[0]
    return target if isinstance(target, ast.Name) and iterated is e else None
