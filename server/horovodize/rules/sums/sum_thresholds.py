"""Sums over the steps of a divided loop that are compared with a number: part of G5.

`total += loss` in each step and `if total < 0.5: break` after them: a rank adds up 1/size() of the steps, and would come below
the number size() times too early. It is compared with the sum of all ranks' steps, as far as a rank can tell: size() times its
own. So is what the sums of two epochs differ by, `abs(last - total) < 1e-3`; of `total < best - 1e-3` the margin is divided.

`right == len(x)` is asked about: with rows that are left over, no rank's share comes to that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.files.kept import INFINITE
from horovodize.python.augmented import added
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.decisions import Amount, Counted, Divided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted, with_each_step
from horovodize.rules.numbers.lengths import growing
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.sums import shared_sums
from horovodize.rules.sums.sums_of_steps import is_divided_by_steps
from horovodize.source import Edit
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Driver

_WHAT = "Compare the sum of all ranks' steps"
_WHAT_MARGIN = "Take a rank's part of what the sums of all ranks' steps differ by"
_WHY = "A rank adds up 1/size() of the steps."
_DOUBT = (
    "this is met when all ranks' steps come to exactly that: ranks take equally many, and rows that are left over by that are "
    "not seen; compare with the number that is seen, or by `>=` with less"
)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_NUMBERS = ("int", "float", "abs", "round")
# What keeps a number, and the method that adds to it.
_ADDING = {
    "tensorflow.Variable": "assign_add",
    "tensorflow.keras.metrics.Sum": "update_state",
}
# What is as large as those that it is taken of.
_OF_SEVERAL = ("mean", "nanmean", "average", "fmean", "median", "min", "max", "amin", "amax")
_DEPTH = 6
_READ = (ast.Name, ast.Attribute, ast.Subscript)


def apply(draft: Draft) -> None:
    """Scales each such sum where it is compared."""
    divided = [d for d in feeding(draft).drivers if counted.is_divided(draft, d)]
    for test in draft.syntax.every(ast.Compare) if divided else ():
        exactly = isinstance(test.ops[0], (ast.Eq, ast.NotEq))
        if len(test.ops) != 1 or not (exactly or isinstance(test.ops[0], _ORDER)):
            continue
        for one, other in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
            _divide_margin(draft, test, one, other, divided)
            if draft.was(one, Amount) or draft.was(other, Divided) or not _is_threshold(draft, other):
                continue  # `counts["rows"] >= 1600` of rows that are counted: the number is divided
            if counted.all_of(draft, one) is not None:
                continue  # rows of all ranks: `seen += len(x) * hvd.size()`
            if _is_sum(draft, one, divided, _DEPTH):
                draft.decide(one, Counted("G5"))
                span = draft.module.span(one)
                opening, closing = ("(", ")") if isinstance(one, ast.BinOp) else ("", "")
                opening, end = (f"round({opening}", ")") if exactly else (opening, "")
                edits = Edit.around(span, opening, f"{closing} * {SIZE}{end}")
                draft.change("G5", test, _WHAT, _WHY, edits, doubt=_DOUBT if exactly else "")


def _divide_margin(
    draft: Draft, test: ast.Compare, one: ast.expr, other: ast.expr, divided: list[Driver]
) -> None:
    """`total < best - 0.01`, where the best is such a sum, too: by so much of a rank's part it has to get better."""
    if not isinstance(other, ast.BinOp) or not isinstance(other.op, (ast.Add, ast.Sub)):
        return
    for last, margin in ((other.left, other.right), (other.right, other.left)):
        if draft.was(margin, Amount) or not _is_threshold(draft, margin):
            continue
        if _is_sum(draft, one, divided, _DEPTH) and _is_last(draft, last, divided, _DEPTH):
            draft.decide(margin, Divided("G5"))
            draft.change("G5", test, _WHAT_MARGIN, _WHY, draft.times(margin, SIZE, "/"))


def _is_threshold(draft: Draft, e: ast.expr) -> bool:
    """A number that training doesn't change, other than 0: `0.5`, `args.tolerance`."""
    match e:
        case ast.Constant():
            return isinstance(e.value, (int, float)) and not isinstance(e.value, bool) and e.value != 0
        case ast.UnaryOp():
            return _is_threshold(draft, e.operand)
        case ast.BinOp():
            return _is_threshold(draft, e.left) and _is_threshold(draft, e.right)
        case ast.Name() | ast.Attribute():
            bound = draft.values.bindings(e)
            changed = (
                b.kind in ("item", "augment") or b.path or draft.syntax.loops(b.statement) for b in bound
            )
            return not any(changed) and counted.of(draft, e) is None and not _is_of_rows(draft, e)
        case _:
            return False


# ---------------------------------------------------------------------- what is a sum


def _is_sum(draft: Draft, e: ast.expr, divided: list[Driver], depth: int) -> bool:
    """Whether an expression is a sum over the steps of a divided loop, whole: not what is made of it by dividing."""
    if not depth:
        return False
    match e:
        case ast.Name() | ast.Attribute():
            bound = draft.values.bindings(e)
            if any(b.kind == "augment" for b in bound):
                return _is_added_up(draft, bound, divided)
            if _is_kept(draft, e, divided):
                return True
            given = list(_given(draft, bound))
            return bool(given) and all(
                part is not None and _is_sum(draft, part, divided, depth - 1) for part in given
            )
        case ast.Subscript(value=ast.Name() | ast.Attribute() as whole, slice=ast.Constant(value=str())):
            return _is_added_item(draft, e, whole, divided)
        case ast.Subscript(slice=ast.UnaryOp(op=ast.USub())):  # `totals[-1]`
            return _holds_sums(draft, e.value, divided, depth)
        case ast.BinOp(op=ast.Sub(), left=left, right=right):  # of this epoch and the last
            sides = [_is_sum(draft, side, divided, depth - 1) for side in (left, right)]
            return any(sides) and all(
                is_sum or _is_last(draft, side, divided, depth - 1)
                for is_sum, side in zip(sides, (left, right), strict=True)
            )
        case ast.Call() if draft.names.last(e.func) in _NUMBERS and len(e.args) == 1:
            return _is_sum(draft, e.args[0], divided, depth - 1)
        case ast.Call(func=ast.Attribute(value=held, attr="numpy" | "result" | "read_value"), args=[]):
            return _is_sum(draft, held, divided, depth - 1)
        case ast.Call() if draft.names.last(e.func) == "sum" and len(e.args) == 1:
            return _is_gathered(draft, e.args[0], divided)
        case ast.Call() if draft.names.last(e.func) in _OF_SEVERAL and len(e.args) == 1:
            return _holds_sums(draft, e.args[0], divided, depth)
        case ast.Call() if isinstance(draft.values.callee(e), FUNCTIONS):
            returned = draft.values.returned(draft.values.callee(e))  # type: ignore[arg-type]
            return bool(returned) and all(_is_sum(draft, part, divided, depth - 1) for part in returned)
        case _:
            return False


def _is_last(draft: Draft, e: ast.expr, divided: list[Driver], depth: int) -> bool:
    """Whether an expression is the sum of an epoch before, or what it begins with: `last = total`, after `last = None`."""
    if not isinstance(e, (ast.Name, ast.Attribute)) or not depth:
        return False
    given = list(_given(draft, draft.values.bindings(e)))
    later = [part for part in given if not _is_start(draft, part)]
    return bool(later) and all(
        part is not None and _is_sum(draft, part, divided, depth - 1) for part in later
    )


def _is_start(draft: Draft, e: ast.expr | None) -> bool:
    """`None`, `0.0`, `float("inf")`, `np.inf`"""
    if isinstance(e, ast.UnaryOp):
        return _is_start(draft, e.operand)
    if isinstance(e, ast.Call):
        return draft.names.last(e.func) == "float" and len(e.args) == 1 and _is_start(draft, e.args[0])
    return isinstance(e, ast.Constant) or draft.names.of(e) in INFINITE


def _is_added_up(draft: Draft, bound: list[Binding], divided: list[Driver]) -> bool:
    """`total = 0` before a divided loop, `total += loss` in it."""
    for b in bound:
        around = [d for d in divided if draft.syntax.inside(b.statement, d.loop)]
        if b.kind == "assign" and not around:
            continue
        is_step = b.kind == "augment" and isinstance(b.operator, ast.Add) and around and b.value is not None
        if b.value is not None and _reads(b.value, b.anchor):
            return False
        if not is_step or b.value is None or not _is_of_a_step(draft, b.value, b.statement, around[0]):
            return False
    return True


def _is_added_item(
    draft: Draft, item: ast.Subscript, whole: ast.Name | ast.Attribute, divided: list[Driver]
) -> bool:
    """`state["total"] = 0` before a divided loop, `state["total"] += loss` in it. Not where an item of that name is set by
    another's: that may be the same dictionary."""
    if any(draft.syntax.inside(b.statement, d.loop) for b in draft.values.bindings(whole) for d in divided):
        return False
    adds = False
    for s in draft.syntax.every(ast.Assign, ast.AugAssign):
        targets = s.targets if isinstance(s, ast.Assign) else [s.target]
        meant = [
            t for t in targets if isinstance(t, ast.Subscript) and ast.dump(t.slice) == ast.dump(item.slice)
        ]
        around = [d for d in divided if draft.syntax.inside(s, d.loop)]
        function = draft.syntax.function(s)
        is_begun = function in (None, draft.syntax.function(item)) or function.name == "__init__"
        if not meant or (isinstance(s, ast.Assign) and not around and is_begun):
            continue
        sum_ = added(s)
        same = ast.unparse(meant[0].value) == ast.unparse(whole) and _home(draft, meant[0]) is _home(
            draft, item
        )
        if sum_ is None or not around or not same or _reads(sum_.value, item):
            return False
        if not _is_of_a_step(draft, sum_.value, s, around[0]):
            return False
        adds = True
    return adds


def _home(draft: Draft, item: ast.Subscript) -> ast.AST | None:
    """Where the name lives whose item is taken: of `self.state` the class."""
    if isinstance(item.value, ast.Name):
        return draft.module.scopes.lookup(item.value.id, item.value)
    return draft.syntax.method_class(draft.syntax.function(item))


def _is_kept(draft: Draft, e: ast.expr, divided: list[Driver]) -> bool:
    """`total = tf.Variable(0.0)`, `total.assign_add(loss)` in a divided loop; a `Sum` of Keras that is told losses there."""
    made = set[ast.AST](draft.values.calls(e))
    adding = {_ADDING.get(draft.names.of(c.func) or "", "") for c in made if isinstance(c, ast.Call)}
    method = adding.pop() if len(adding) == 1 else ""
    calls = [c for c in draft.sites.method_calls(method) if _is_of(draft, c.func, made)] if method else []
    for call in calls:
        around = [d for d in divided if draft.syntax.inside(call, d.loop)] or _stepping(draft, call, divided)
        if not around or not call.args or not _is_of_a_step(draft, call.args[0], call, around[0]):
            return False
        if isinstance(call.func, ast.Attribute) and _reads(call.args[0], call.func.value):
            return False
    return bool(calls)


def _reads(value: ast.expr, kept: ast.AST) -> bool:
    """Whether what is added is made of what it is added to: `mean += 0.1 * (loss - mean)` moves nearer to a loss."""
    text = ast.unparse(kept)
    return any(isinstance(n, _READ) and ast.unparse(n) == text for n in walk(value))


def _stepping(draft: Draft, call: ast.Call, divided: list[Driver]) -> list[Driver]:
    """The divided loops with each of whose steps a function does something: `total.assign_add(loss)` in `train_step`."""
    at = draft.facts.occasions.counted_at(call)
    with_steps = (
        at is not None and not at[1] and at[0] <= {*divided} and with_each_step.is_by_step(draft, call)
    )
    return list(at[0]) if at is not None and with_steps else []


def _is_of(draft: Draft, method: ast.expr, made: set[ast.AST]) -> bool:
    return isinstance(method, ast.Attribute) and bool(
        made & {o.node for o in draft.values.origins(method.value)}
    )


def _is_of_a_step(draft: Draft, value: ast.expr, added: ast.AST, driver: Driver) -> bool:
    """Whether what is added is something that each step gives, and isn't divided by a rank's number of steps already."""
    if any(draft.syntax.inside(test, driver.loop) for test, _ in draft.syntax.conditions(added)):
        return False
    if not _is_of_rows(draft, value) or shared_sums.is_of_all(draft, value):
        return False  # a count, a cursor; what all ranks' steps give
    return not is_divided_by_steps(draft, value)


def _is_of_rows(draft: Draft, e: ast.expr) -> bool:
    """Whether a rank's own rows decide this: it is as large as the sum that it is compared with (`last = total`)."""
    return any(isinstance(r, Varies) and r.kind is Source.ROWS for r in draft.uniform.of_values.reasons(e))


def _is_gathered(draft: Draft, listed: ast.expr, divided: list[Driver]) -> bool:
    """`losses = []` before a divided loop, `losses.append(loss)` in it, and nowhere else."""
    if not isinstance(listed, ast.Name):
        return False
    home = draft.module.scopes.lookup(listed.id, listed)
    appended = [
        c
        for c in draft.sites.method_calls("append", "extend", "insert")
        if isinstance(c.func, ast.Attribute)
        and isinstance(c.func.value, ast.Name)
        and c.func.value.id == listed.id
        and draft.module.scopes.lookup(listed.id, c.func.value) is home
    ]
    empty = [
        b for b in draft.module.scopes.reaching(listed) if isinstance(b.value, ast.List) and not b.value.elts
    ]
    if not appended or len(empty) != len(draft.module.scopes.reaching(listed)):
        return False
    for call in appended:
        around = [d for d in divided if draft.syntax.inside(call, d.loop)]
        begun = any(draft.syntax.inside(b.statement, d.loop) for b in empty for d in around)
        if not around or begun or not call.args or not _is_of_a_step(draft, call.args[0], call, around[0]):
            return False
    return True


def _holds_sums(draft: Draft, listed: ast.expr, divided: list[Driver], depth: int) -> bool:
    """Whether a list, or its last items, `returns[-10:]`, holds such sums alone: `returns.append(total)` after each episode."""
    whole = (
        listed.value if isinstance(listed, ast.Subscript) and isinstance(listed.slice, ast.Slice) else listed
    )
    if not isinstance(whole, (ast.Name, ast.Attribute)):
        return False
    put = growing(draft, whole)
    values = [c.args[0] for c in put if draft.names.last(c.func) == "append" and len(c.args) == 1]
    empty = [b.value for b in draft.values.bindings(whole)]
    begun = bool(empty) and all(
        (isinstance(e, ast.List) and not e.elts)
        or (isinstance(e, ast.Call) and draft.names.last(e.func) == "deque")
        for e in empty
    )
    return (
        begun
        and bool(values)
        and len(values) == len(put)
        and all(_is_sum(draft, value, divided, depth - 1) for value in values)
    )


def _given(draft: Draft, bound: list[Binding]) -> Iterator[ast.expr | None]:
    """What a name is set to: of `mean, total = run_epoch()` what is returned second; of a parameter what is passed."""
    for b in bound:
        if b.kind == "parameter":
            passed = draft.values.passed(b)
            yield from passed
            if not passed:
                yield None
        elif b.kind != "assign" or b.value is None:
            yield None
        elif not b.path:
            yield b.value
        else:
            yield from _parts(draft, b.value, b.path)


def _parts(draft: Draft, value: ast.expr, path: tuple[int, ...]) -> Iterator[ast.expr | None]:
    callee = draft.values.callee(value) if isinstance(value, ast.Call) else None
    returned = draft.values.returned(callee) if isinstance(callee, FUNCTIONS) else [value]
    for whole in returned:
        tuples = whole.elts if isinstance(whole, (ast.Tuple, ast.List)) else []
        yield tuples[path[0]] if len(path) == 1 and 0 <= path[0] < len(tuples) else None


__all__ = ["apply"]
