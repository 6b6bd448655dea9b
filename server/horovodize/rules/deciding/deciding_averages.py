"""Moving averages of a rank's losses by which it decides when to stop: part of G4, S5 and G7.

`mean = 0.95 * mean + 0.05 * loss` with each step, then `if mean < 0.01: break`. The mean of such averages over the ranks is the
moving average of what one process would have measured, so it is taken where the decision is; and what is left with each step
stands for the rows that are seen meanwhile. Where any rank could stop all, the one with the easiest batches would."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.exits import exits, tests
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, Loop, position
from horovodize.rules.beginning import keras_session
from horovodize.rules.deciding.deciding_losses import is_trained
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, with_each_step
from horovodize.rules.numbers.lengths import growing
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.smoothing.mixtures import WHAT, WHY, is_moving_average, mix_number
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import can_agree, differing
from horovodize.rules.together.number_parts import Held, is_item, leaves

_MEANS = ("mean", "nanmean", "average", "reduce_mean")


def decide_alike(draft: Draft, test: ast.expr) -> bool:
    """Lets ranks decide a test by the means of the moving averages in it, and of the losses of a step; whether it is the same
    on all ranks then."""
    own = {leaf: is_number for leaf, is_number in leaves(draft, test, number=False) if differing(draft, leaf)}
    windows = [w for w in (_window(draft, e) for e in own) if w is not None]
    lengths = {
        f"len({ast.unparse(held)})" for held, _ in windows
    }  # the same where the test is, which may empty the list
    own = {leaf: is_number for leaf, is_number in own.items() if ast.unparse(leaf) not in lengths}
    if not all(own.values()) or not own or keras_session.is_wanted(draft) or not can_agree(draft, test):
        return False
    if not all(_kept_by(draft, e) or _window(draft, e) or is_trained(draft, e) for e in own):
        return False
    for e in own:
        means.average_read(draft, e)
    draft.settled |= {(test, reason.where) for reason in differing(draft, test)}
    return True


def forget_as_fast(draft: Draft) -> None:
    """Raises what is left with each step of averages that end a loop which is divided, or one around it (G7)."""
    drivers = feeding(draft).drivers
    around = [
        loop for d in drivers for way in draft.drive.ways(d.loop) for frame in way for loop in frame.loops
    ]  # an epoch may be the last, too
    for loop in dict.fromkeys([*(d.loop for d in drivers), *around]):
        for test in _tests(draft, loop):
            for e in means.numbers_in(draft, test):
                b, last = _kept_by(draft, e), _window(draft, e)
                if last is not None:
                    _look_at_as_many(draft, test, *last)
                if b is None or b.value is None:
                    continue
                kept = b.anchor if isinstance(b.anchor, ast.expr) else e
                if with_each_step.is_by_step(draft, b.statement, kept):
                    mix_number(draft, ast.unparse(kept), going_on(b.value), _adds(b))


def _tests(draft: Draft, loop: Loop) -> Iterator[ast.expr]:
    """What decides when a loop ends, its head and the tests of what leaves it, or is decided in it by means of all ranks."""
    if isinstance(loop, ast.While):
        yield loop.test
    ends = [test for leaving in exits(loop) for test in tests(draft.syntax, leaving, loop)]
    settled = {e for e, _ in draft.settled if isinstance(e, ast.expr) and loop in draft.syntax.loops(e)[:1]}
    yield from dict.fromkeys([*ends, *sorted(settled, key=position)])


def _window(draft: Draft, e: ast.expr) -> tuple[Held, list[ast.Constant]] | None:
    """The list, and how many of its last, of `np.mean(losses[-40:])` where each step appends one, or of those before the last,
    `losses[-80:-40]`; None for anything else."""
    if not isinstance(e, ast.Call) or draft.names.last(e.func) not in _MEANS or len(e.args) != 1:
        return None
    match e.args[0]:
        case ast.Subscript(
            value=ast.Name() | ast.Attribute() | ast.Subscript() as held, slice=ast.Slice(step=None) as part
        ):
            if isinstance(held, ast.Subscript) and not is_item(held):
                return None
            ends = [_of_last(end) for end in (part.lower, part.upper) if end is not None]
            numbers = [n for n in ends if n is not None]
            grows = growing(draft, held)
            appends = [c for c in grows if isinstance(c.func, ast.Attribute) and c.func.attr == "append"]
            each = len(grows) == len(appends) == 1
            each = each and _is_in_each_turn(draft, draft.syntax.statement(grows[0]), ast.unparse(held))
            return (held, numbers) if each and part.lower is not None and len(numbers) == len(ends) else None
    return None


def _of_last(end: ast.expr) -> ast.Constant | None:
    """`40` of `-40`, an end of a slice."""
    match end:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number) as last) if number > 1:
            return last
    return None


def _look_at_as_many(draft: Draft, test: ast.expr, held: Held, last: list[ast.Constant]) -> None:
    """The last steps of a rank that stand for as many rows, and the tests of whether there are so many yet."""
    if not with_each_step.is_by_step(draft, growing(draft, held)[0]):
        return
    tested = [
        n.comparators[0]
        for n in ast.walk(test)
        if isinstance(n, ast.Compare) and ast.unparse(n.left) == f"len({ast.unparse(held)})"
    ]
    for number in (*last, *(n for n in tested if isinstance(n, ast.Constant))):
        draft.change("G7", number, WHAT, WHY, counted.over_ranks(draft, number, "G7"))


def _kept_by(draft: Draft, e: ast.expr) -> Binding | None:
    """Where a moving average of a rank's own numbers is moved on, with each turn of a loop; None for anything else."""
    if isinstance(e, ast.Subscript) and is_item(e):
        bound, given = _all_of_item(draft, e)
    elif isinstance(e, (ast.Name, ast.Attribute)):
        bound, given = _all_of(draft, e), []
    else:
        return None
    kept = [b for b in bound if _is_moved_on(draft, ast.unparse(b.anchor), b)]
    begun = [b for b in bound if b not in kept]
    if len(kept) != 1 or not (begun or given) or any(differing(draft, value) for value in given):
        return None
    first = _arms(draft, kept[0].statement, ast.unparse(kept[0].anchor))
    same = (
        b.kind == "assign"
        and b.value is not None
        and (draft.syntax.parent.get(b.statement) is first or not differing(draft, b.value))
        for b in begun
    )
    return kept[0] if all(same) else None


def _all_of(draft: Draft, e: ast.Name | ast.Attribute) -> list[Binding]:
    """All that a variable is set to, before the loop, too."""
    scopes = draft.module.scopes
    if isinstance(e, ast.Attribute):
        same = ast.unparse(e)
        found = [b for b in scopes.attributes.get(e.attr, ()) if ast.unparse(b.anchor) == same]
        return found or draft.values.bindings(e)  # of an object that keeps it: `plateau.mean`
    scope = scopes.lookup(e.id, e)
    return scopes.names[scope].get(e.id, []) if scope is not None else []


def _all_of_item(draft: Draft, e: ast.Subscript) -> tuple[list[Binding], list[ast.expr]]:
    """The same of an item of a dictionary, `stats["mean"]`, and what that is made with; of a `defaultdict` what makes it."""
    key = e.slice.value if isinstance(e.slice, ast.Constant) else None
    given = list(draft.values.held.begun_items(e, key)) if isinstance(key, str) else []
    made = [c for c in draft.values.calls(e.value) if draft.names.last(c.func) == "defaultdict"]
    return draft.values.held.item_bindings(e), [*given, *made]


def _is_moved_on(draft: Draft, text: str, b: Binding) -> bool:
    if b.path or b.value is None or not _is_in_each_turn(draft, b.statement, text):
        return False
    return is_moving_average(draft, text, going_on(b.value), _adds(b))


def _adds(b: Binding) -> bool | None:
    """Whether a number is moved on by what is added to it, or taken off it; None where it is set to a mixture."""
    return isinstance(b.operator, ast.Add) if b.operator is not None else None


def _is_in_each_turn(draft: Draft, statement: ast.AST, text: str) -> bool:
    """Whether each turn of a loop runs a statement, itself or by a function that it calls."""
    turn = _arms(draft, statement, text) or statement
    loops, function = draft.syntax.loops(statement), draft.syntax.function(statement)
    if loops:
        return turn in loops[0].body
    return (
        isinstance(function, FUNCTIONS)
        and turn in function.body
        and draft.facts.occasions.counted_at(statement) is not None
    )


def _arms(draft: Draft, statement: ast.AST, text: str) -> ast.If | None:
    """`if mean is None: mean = loss` around an arm, of which the other one goes on."""
    around = draft.syntax.parent.get(statement)
    test = around.test if isinstance(around, ast.If) else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    match test:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return around if isinstance(around, ast.If) and ast.unparse(left) == text else None
    return None


def going_on(value: ast.expr) -> ast.expr:
    """The arm that goes on of `loss if mean is None else 0.9 * mean + 0.1 * loss`."""
    if not isinstance(value, ast.IfExp):
        return value
    return value.orelse if isinstance(value.orelse, ast.BinOp) else value.body
