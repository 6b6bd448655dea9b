"""Steps that all ranks take, or none: part of G4.

What stands between a loop and a step decides for each rank whether it takes the step: an `if` around an inner loop, or around
the call of a function that trains, and a `return` before the step in such a function. Where a rank decides by its own rows,
or by the game that it plays, the others would wait for it forever. So would they where it trains as many times as its own
game was long."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.calls import BRANCHING
from horovodize.python.syntax import Loop, argument, position
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import ALIKE, agree, agree_value, differing
from horovodize.source import Edit
from horovodize.summary.call_paths import Frame

TOGETHER = "each rank decides this by values of its own: now all of them take the step when one of them does"
OTHER_STEPS = "ranks may train different things here, as each decides by values of its own, and would wait for each other"
_OF_BRANCHES = (
    "each rank decides by values of its own which of these functions runs, and one of them trains: ranks would no longer hold "
    "the same weights; decide by something that is the same on every rank"
)
_LEAVES = (
    "each rank decides this by values of its own: now all of them leave the step out when one of them does"
)
_ONCE_ALL_CAN = (
    "each rank decides this by what it has gathered: now all of them take the step once all of them can"
)
_WHAT_STEP = "Take the step on all ranks, or on none"
_WHY_STEP = "Ranks that take a step without the others wait for them forever."
_WHAT = "Take equally many steps on all ranks"
_WHY = "Ranks that take different numbers of steps wait for each other forever."
_AS_LONG = (
    "each rank would take as many steps as its own game gives: now all of them take as many as the rank whose game gave the "
    "fewest"
)
_WHAT_BATCHES = "Take equally many batches on all ranks"
_UNTIL_ONE_ENDS = "each rank would take as many steps as its own game gives: now all of them stop where one has no batch left"
_OF_ARRAYS = ("from_tensor_slices", "from_tensors")
_OTHER_NUMBER = (
    "each rank would take as many steps here as its own rows or game give, and ranks would wait for each other forever; take a "
    "fixed number of steps"
)
_SIZES = frozenset("len size count counter cntr".split())
_OF_THE_RANK = (Source.ROWS, Source.GAME, Source.THREAD)


def keep(draft: Draft, frame: Frame, sites: Collection[ast.AST]) -> None:
    """Makes ranks come together to what a frame of a way leads to, as far as that isn't decided in its innermost loop."""
    within = frame.loops[0] if frame.loops else None
    outermost = frame.loops[-1] if frame.loops else frame.node
    for decision, arm in draft.syntax.conditions(frame.node):
        inner = within is not None and draft.syntax.inside(decision, within)
        if inner or not isinstance(decision, ast.If):
            continue
        if not _is_own(draft, decision.test, draft.syntax.inside(decision, outermost)):
            continue
        other = decision.orelse if arm == "body" else decision.body
        if any(draft.drive.reaches(s, set(sites)) for s in other):
            draft.refuse("HVD205", decision, OTHER_STEPS)
        elif not means.decide_alike(draft, decision.test):
            agree_on_step(draft, decision.test, arm)
    branch = frame.node
    if isinstance(branch, ast.Call) and draft.names.of(branch.func) in BRANCHING and branch not in sites:
        test = argument(branch, "pred", 0)  # `tf.cond(is_finite(loss), apply, skip)`
        if test is not None and not draft.was(test, Agreed) and differing(draft, test):
            draft.refuse("HVD205", branch, _OF_BRANCHES)
    for leaving in _before(draft, frame):
        _leave_together(draft, leaving, outermost)


def _is_own(draft: Draft, test: ast.expr, in_loop: bool) -> bool:
    """Whether a rank decides by its rows or its game; in a loop, also whether that can't be seen. (What else varies before all
    loops is agreed on where it comes from, or refused.)"""
    if draft.was(test, Agreed):
        return False
    return any(
        in_loop if isinstance(r, Unknown) else in_loop or r.kind in _OF_THE_RANK
        for r in differing(draft, test)
    )


def agree_on_step(draft: Draft, test: ast.expr, arm: str, doubt: str = TOGETHER) -> None:
    """Lets all ranks take the step that stands in an arm of an `if`, or none."""
    if arm == "body" and _is_enough(draft, test):
        agree(draft, test, _ONCE_ALL_CAN, _WHY_STEP, _WHAT_STEP, of_all=True)
    else:
        agree(draft, test, doubt if arm == "body" else "", _WHY_STEP, _WHAT_STEP)


def _is_enough(draft: Draft, test: ast.expr) -> bool:
    """`len(memory) > batch_size`: whether a rank has gathered enough to draw a batch from. One that hasn't couldn't."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return all(_is_enough(draft, value) for value in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    more, less = isinstance(test.ops[0], (ast.Gt, ast.GtE)), isinstance(test.ops[0], (ast.Lt, ast.LtE))
    size = test.left if more else test.comparators[0] if less else None
    called = size.func if isinstance(size, ast.Call) else size
    words = re.findall("[a-z]+", draft.names.last(called).lower()) if called is not None else []
    return bool(_SIZES & set(words))


def _before(draft: Draft, frame: Frame) -> list[ast.stmt]:
    """What may leave the function, or go on to the next turn of an outer loop, before the innermost loop or the step."""
    syntax = draft.syntax
    start = position(frame.loops[0] if frame.loops else frame.node)  # type: ignore[arg-type]
    found: list[ast.stmt] = []
    for n in syntax.every(ast.Return, ast.Continue):
        assert isinstance(n, (ast.Return, ast.Continue))
        if position(n) >= start or syntax.function(n) is not frame.function:
            continue
        around = syntax.loops(n)
        if isinstance(n, ast.Continue) and (not around or around[0] not in frame.loops[1:]):
            continue
        if isinstance(n, ast.Return) and (frame.function is None or around[:1] and around[0] in frame.loops):
            continue  # leaves a loop around the step: `lockstep`
        if not isinstance(frame.function, ast.Lambda):
            found.append(n)
    return found


def _leave_together(draft: Draft, leaving: ast.stmt, outermost: ast.AST) -> None:
    decisions = draft.syntax.conditions(leaving)
    in_loop = draft.syntax.inside(leaving, outermost)
    own = [d for d, _ in decisions if _is_own(draft, d.test, in_loop)]
    own_turns = [
        loop
        for loop in draft.syntax.loops(leaving)
        if not draft.syntax.inside(outermost, loop)
        and loop is not outermost
        and any(isinstance(r, Varies) and r.kind in _OF_THE_RANK for r in draft.uniform.turns(loop))
    ]
    if own_turns or own[1:]:
        draft.refuse("HVD205", leaving, ALIKE)
    elif own:
        nearest, arm = decisions[0]
        is_first = arm == "body" and not _is_elif(draft, nearest)
        if own[0] is nearest and is_first:
            agree(draft, nearest.test, _LEAVES, _WHY_STEP, _WHAT_STEP)
        else:
            draft.refuse("HVD205", leaving, ALIKE)


def _is_elif(draft: Draft, decision: ast.AST) -> bool:
    is_if = isinstance(decision, ast.If)
    return is_if and draft.document.text.startswith("elif", draft.module.span(decision).start)


# ---------------------------------------------------------------------- how many steps


def keep_number(draft: Draft, loop: Loop) -> None:
    """`for _ in range(length): train()`, where a rank's own game says how long it is: all ranks take the least number, so that
    none comes to rows that it doesn't have."""
    if isinstance(loop, ast.While) or draft.was(loop.iter, Agreed):
        return
    if keep_batches(draft, loop):
        return
    found = [r for r in draft.uniform.number_reasons(loop.iter) if isinstance(r, Varies)]
    games = [r for r in found if r.kind is Source.GAME and not draft.was(r.where, Agreed)]
    if not games:
        return
    number = _number(draft, loop.iter)
    if number is None or not is_come_to_together(draft, loop):
        draft.refuse("HVD205", loop.iter, _OTHER_NUMBER)
    elif not agree_value(draft, number, draft.loop_rule, _WHAT, _WHY, _AS_LONG, is_reached=True, by="least"):
        draft.refuse("HVD205", loop.iter, _OTHER_NUMBER)


def keep_batches(draft: Draft, loop: ast.For | ast.AsyncFor) -> bool:
    """`for batch in dataset:` of what a rank's own game has given: all ranks stop where one of them has no batch left; whether
    it is such a loop."""
    known = draft.facts.feeding
    batches = known.iterable(loop)
    if draft.in_graph or batches is None or not known.pipelines.is_dataset(batches):
        return False
    trail = [n for n in known.pipelines.trail(batches) if isinstance(n, ast.Call)]
    if any(_repeats(call) for call in trail):
        return False
    given = [a for call in trail if draft.names.last(call.func) in _OF_ARRAYS for a in call.args]
    reasons = [r for a in given for part in _parts(a) for r in draft.uniform.number_reasons(part)]
    if not any(isinstance(r, Varies) and r.kind is Source.GAME for r in reasons):
        return False
    if not is_come_to_together(draft, loop):
        draft.refuse("HVD205", loop.iter, _OTHER_NUMBER)
    elif draft.decide(batches, Agreed(draft.loop_rule)):
        edits = Edit.around(draft.module.span(batches), f"{draft.helper('together')}(", ")")
        draft.change(draft.loop_rule, batches, _WHAT_BATCHES, _WHY, edits, _UNTIL_ONE_ENDS)
    return True


def _parts(e: ast.expr) -> list[ast.expr]:
    """The arrays that a dataset takes together: `(rows, targets)`, `{"x": rows}`."""
    if isinstance(e, (ast.Tuple, ast.List)):
        return [part for element in e.elts for part in _parts(element)]
    return [part for value in e.values for part in _parts(value)] if isinstance(e, ast.Dict) else [e]


def _repeats(call: ast.Call) -> bool:
    """Whether a dataset never ends: `.repeat()`."""
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "repeat"
        and not call.args
        and not call.keywords
    )


def _number(draft: Draft, e: ast.expr) -> ast.expr | None:
    """The one number that a `range` counts to by a game; None where there is none, or several."""
    while isinstance(e, ast.Call) and draft.names.last(e.func) in ("tqdm", "enumerate") and e.args:
        e = e.args[0]
    if not isinstance(e, ast.Call) or draft.names.last(e.func) not in ("range", "trange"):
        return None
    own = [a for a in e.args if differing(draft, a)]
    return own[0] if len(own) == 1 else None


def is_come_to_together(draft: Draft, loop: Loop) -> bool:
    """Whether all ranks come to a loop equally often, once their tests are agreed on."""
    if draft.drive.in_traced(loop):
        return False
    for way in draft.drive.ways(loop):
        for frame in way:
            for decision, _ in draft.syntax.conditions(frame.node):
                if not draft.was(decision.test, Agreed) and differing(draft, decision.test):
                    return False
    return True


__all__ = ["OTHER_STEPS", "agree_on_step", "is_come_to_together", "keep", "keep_number"]
