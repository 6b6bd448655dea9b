"""Numbers that go on from what they are with each step: `rate *= 0.99`, `rate = max(rate - 1e-5, 1e-4)`. Part of C5 and G5.

A rank takes size() times fewer steps, so each of them changes the number as size() steps of one process did:
`rate *= 0.99 ** hvd.size()`, `rate -= 1e-5 * hvd.size()`. Where it is the optimizer's own rate, which is multiplied already,
what is added and what bounds it is multiplied likewise. What goes on by whole numbers is a counter (`counted`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from horovodize.facts.counting import record_tuples
from horovodize.facts.counting.cursors import cursors_of
from horovodize.facts.counting.row_counts import is_number_of_rows
from horovodize.python.augmented import Augmented, augmented
from horovodize.python.binding import Binding
from horovodize.python.syntax import arguments
from horovodize.rules.drafting.decisions import Counted, Scaled, Strided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.drafting.other_names import by_name
from horovodize.rules.numbers import counted, number_settings, record_settings, with_each_step
from horovodize.rules.numbers.number_settings import Setting, going_on
from horovodize.rules.numbers.shares import counts_a_share, feeding, is_touched
from horovodize.rules.numbers.within_a_step import begins_again
from horovodize.rules.sums import shared_sums
from horovodize.rules.wrapping.graph_gradients import is_gradient

_STEP = "Let it change as fast for the rows that are seen"
_WHY_STEP = "Each rank takes size() times fewer steps; this goes by how much has been seen."
_SCALE = "Multiply what the rate is compared with or changed by"
_WHY_SCALE = "This is the optimizer's own rate, which is multiplied by the number of ranks already."
_UNSEEN = (
    "this goes on from its last value with each step, and a rank takes size() times fewer: check that it changes as fast for "
    "the rows that are seen"
)
_LIMIT = 400
_SAME = {
    "float",
    "float32",
    "float64",
    "get_value",
    "cast",
    "identity",
    "asarray",
    "array",
    "convert_to_tensor",
}
_READS = {"numpy", "read_value", "value", "item"}
_BOUNDS = {"max", "min", "maximum", "minimum", "clip", "clip_by_value", "fmax", "fmin"}
VARIABLES = ("Variable", "variable", "get_variable", "get_local_variable")
_TIMES, _PLUS = (ast.Mult, ast.Div), (ast.Add, ast.Sub)


@dataclass(frozen=True)
class _Parts:
    """What a change multiplies by, adds, and keeps within."""

    factors: tuple[ast.expr, ...] = ()
    terms: tuple[ast.expr, ...] = ()
    bounds: tuple[ast.expr, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether a value becomes another: by more than a counter does."""
        whole = [t for t in self.terms if isinstance(t, ast.Constant) and isinstance(t.value, int)]
        return bool(self.factors) or len(whole) < len(self.terms)

    def __or__(self, other: _Parts) -> _Parts:
        return _Parts(self.factors + other.factors, self.terms + other.terms, self.bounds + other.bounds)


def follow(draft: Draft, number: ast.expr, own: Setting | None = None, rule: str = "C5") -> bool:
    """Lets a number go on as fast as before, wherever on its way it is made of its last value with each step; whether there is
    such a place. What a rate (C5) is made of and can't be told is asked about.

    own: where an optimizer's rate, or a variable, is set to it"""
    found = False
    for setting in (*([own] if own is not None else []), *_on_the_way(draft, number, rule)):
        if draft.was(setting.place, Strided) or _selects(draft, setting) or _is_graph_count(draft, setting):
            continue  # counts the steps, or the rows, of all ranks, or says where they are; or is told where it is read
        if shared_sums.is_of_all(draft, setting.value):
            continue
        if record_settings.only_counts(draft, number, setting.place, setting.value):
            continue
        parts = _parts(draft, setting)
        is_told = parts is not None and _tell(draft, setting, parts, rule)
        found = found or is_told
        goes_on = parts.changes if parts is not None else _goes_on(draft, setting)
        if not is_told and goes_on and rule == "C5" and _is_by_step(draft, setting, parts):
            found = True
            if draft.once("goes on", setting.place):
                draft.ask(rule, setting.value, _STEP, _WHY_STEP, _UNSEEN)
    return found


def may_go_on(draft: Draft, number: ast.expr) -> bool:
    """Whether something on a number's way sets it, as G5 follows it."""
    return next(_on_the_way(draft, number, "G5"), None) is not None


def _is_graph_count(draft: Draft, setting: Setting) -> bool:
    """Whether an operation of a graph counts steps: `tf.assign_add(step, 1.0)`, by floats, too."""
    return isinstance(setting.place, ast.Call) and counted.of(draft, setting.kept) is not None


def _selects(draft: Draft, setting: Setting) -> bool:
    """Whether a number that goes on selects the rows of steps: a rank has one of its own beside it."""
    name = ast.unparse(setting.kept)
    around = (d for d in feeding(draft).drivers if draft.syntax.inside(setting.place, d.loop))
    return any(cursor.name == name for d in around for cursor in cursors_of(feeding(draft), d))


def _on_the_way(draft: Draft, rate: ast.expr, rule: str) -> Iterator[Setting]:
    """The statements that give the names that a rate is made of their values, and what sets variables. (G5 finds those that
    losses are made with by itself, where no graph is built.)"""
    seen, tuples = set[Binding](), set[ast.expr]()
    for n in draft.values.depends([rate], _LIMIT):
        by_itself = draft.in_graph or rule == "C5"
        if by_itself and isinstance(n, ast.Call) and draft.names.last(n.func) in VARIABLES:
            yield from _assigned(draft, n)
        if isinstance(n, (ast.Name, ast.Subscript)) and isinstance(n.ctx, ast.Load):
            for whole, kept, value in record_tuples.going_on(draft.module, n):
                if value not in tuples:
                    tuples |= {whole, value}
                    yield Setting(whole, kept, value)
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load):
            yield from number_settings.of_item(draft, n)
        if not isinstance(n, (ast.Name, ast.Attribute)) or not isinstance(n.ctx, ast.Load):
            continue
        bound = draft.values.bindings(n)
        for b in bound:
            yield from number_settings.given_back(draft, b)
            if b not in seen and b.kind in ("assign", "augment") and not b.path and b.value is not None:
                seen.add(b)
                if b.value in tuples:
                    continue  # whose places are gone by
                if isinstance(b.anchor, (ast.Name, ast.Attribute)) and not begins_again(draft, b):
                    yield Setting(b.statement, b.anchor, b.value, b)


def _assigned(draft: Draft, variable: ast.Call) -> Iterator[Setting]:
    """What sets a variable, of a graph or eagerly: `tf.assign(rate, rate * 0.99)`, `rate.assign_sub(1e-5)`."""
    for call, kept, value in draft.facts.counters.graph_counts.settings(variable):
        last = draft.names.last(call.func)
        if last == "assign":
            yield Setting(call, kept, value)
        else:
            operator = ast.Add() if last == "assign_add" else ast.Sub()
            yield replace(going_on(call, kept, value, operator), is_scaled=False)


def _tell(draft: Draft, setting: Setting, parts: _Parts, rule: str) -> bool:
    """Changes what a number changes by; whether it is known how, and happens with each step."""
    growth = draft.growth if setting.is_scaled else ""
    by_step = parts.changes and _is_by_step(draft, setting, parts)
    if by_step and not _is_known(draft, setting, parts):
        return False
    for factor in parts.factors if by_step else ():
        if not counts_a_share(draft, factor) and draft.decide(factor, Counted(rule)):
            draft.change(rule, factor, _STEP, _WHY_STEP, draft.times(factor, SIZE, "**"))
    for term in parts.terms:
        steps = [SIZE] if by_step and not _is_shared(draft, term) else []
        _times(draft, rule, term, steps, growth)
    for bound in parts.bounds:
        _times(draft, rule, bound, [], growth)
    return by_step


def _is_shared(draft: Draft, term: ast.expr) -> bool:
    """Whether a term is by a number of steps that is divided already: `1.0 / max(1, steps // hvd.size())`."""
    return counts_a_share(draft, term) or any(
        is_touched(draft, part)
        for n in ast.walk(term)
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)
        for part in ast.walk(n.right)
    )


def _is_known(draft: Draft, setting: Setting, parts: _Parts) -> bool:
    """Whether size() changes are one: all of them multiply, or all of them add, by what the steps don't change."""
    amounts = all(setting.is_scaled or _is_amount(draft, term) for term in parts.terms)
    fixed = not any(_counts(draft, e) or _changes(draft, setting, e) for e in parts.factors + parts.terms)
    return amounts and fixed and not (parts.factors and parts.terms)


def _is_amount(draft: Draft, term: ast.expr) -> bool:
    """Whether what is added is the rows of a batch, or no whole number, as a counter's would be, nor a gradient."""
    if is_number_of_rows(term) and not isinstance(term, (ast.Name, ast.Attribute)):
        return True
    if is_gradient(draft, term) or draft.facts.feeding.kinds.constant(term) is not None:
        return False
    made_of = [n for n in draft.values.depends([term], 60) if isinstance(n, (ast.Constant, ast.BinOp))]
    return any(
        isinstance(n.op, ast.Div) if isinstance(n, ast.BinOp) else isinstance(n.value, float) for n in made_of
    )


def _is_by_step(draft: Draft, setting: Setting, parts: _Parts | None) -> bool:
    """Whether a value changes with each step, rather than with a few (`rate * 0.5 if i % 100 == 0 else rate`); of an operation
    in a graph: whether a session runs it so."""
    if not draft.in_graph or not isinstance(setting.place, ast.Call):
        by = (
            [e for e in parts.factors + parts.terms if draft.syntax.inside(e, setting.place)] if parts else []
        )
        return all(with_each_step.is_by_step(draft, place, setting.kept) for place in (setting.place, *by))
    graph = draft.sites.graph
    return any(
        setting.place in graph.operations(graph.fetches(run)) and with_each_step.is_by_step(draft, run)
        for run in graph.all_runs
    )


def _times(draft: Draft, rule: str, e: ast.expr, steps: list[str], growth: str) -> None:
    """Multiplies by the steps that one of a rank stands for, and by what the rate is multiplied by."""
    by = [*steps, *([growth] if growth else [])]
    if not by or (isinstance(e, ast.Constant) and e.value in (0, None)):
        return
    if not draft.decide(e, Scaled(rule) if growth else Counted(rule)):
        return
    what, why = (_STEP, _WHY_STEP) if steps else (_SCALE, _WHY_SCALE)
    factor = f"{SIZE} ** 2" if by == [SIZE, SIZE] else " * ".join(by)
    draft.change(rule, e, what, why, draft.times(e, factor))


def _counts(draft: Draft, e: ast.expr) -> bool:
    """Whether a number goes by a count of steps itself."""
    return any(
        isinstance(n, (ast.Name, ast.Attribute, ast.Call)) and counted.of(draft, n) is not None
        for n in draft.values.depends([e], _LIMIT)
    )


def _changes(draft: Draft, setting: Setting, e: ast.expr) -> bool:
    """Whether something is set again in the loops around a setting, or around the calls of its function; or is made of the
    last value, as in `delta = x - mean; mean = mean + delta * share`."""
    loops = draft.syntax.loops(setting.place)[:1] or [driver.loop for driver in feeding(draft).drivers]
    read = [
        n
        for n in draft.values.depends([e], _LIMIT)
        if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load)
    ]
    if not setting.is_scaled and any(n is not e and _is_last(draft, setting, n) for n in read):
        return True
    bound = (b for n in read if isinstance(n, ast.Name) for b in draft.module.scopes.reaching(n))
    return any(draft.syntax.inside(b.statement, loop) for b in bound for loop in loops)


# ---------------------------------------------------------------------- what is made of its last value


def _parts(draft: Draft, setting: Setting) -> _Parts | None:
    """What a change does to a value; None where that isn't made of its last one."""
    b = setting.binds
    if b is not None and b.kind == "augment":
        if b.name and not _reaches(draft, b, setting.kept) or _reads_itself(setting):
            return None
        if isinstance(b.operator, _TIMES):
            return _Parts(factors=(setting.value,))
        return _Parts(terms=(setting.value,)) if isinstance(b.operator, _PLUS) else None
    return _made_of(draft, setting, _made_beside(draft, setting))


def _made_of(draft: Draft, setting: Setting, e: ast.expr) -> _Parts | None:
    e = _plain(draft, e)
    if _is_last(draft, setting, e):
        return _Parts()
    match e:
        case ast.Name() if (changed := _changed_once(draft, setting, e)) is not None:
            before, change = changed
            parts, by = _made_of(draft, setting, before), change.value
            done = _Parts(factors=(by,)) if isinstance(change.operator, _TIMES) else _Parts(terms=(by,))
            return parts | done if parts is not None and not _mentions(draft, setting, by) else None
        case ast.IfExp():
            arms = [_made_of(draft, setting, arm) for arm in (e.body, e.orelse)]
            made = [arm for arm in arms if arm is not None]
            return made[0] | _Parts() if len(made) == 1 else made[0] | made[1] if made else None
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub()):
            return _of_sides(draft, setting, e)
        case ast.Call() if draft.names.last(e.func) in _BOUNDS:
            given = arguments(e)
            made_of = {a: parts for a in given if (parts := _made_of(draft, setting, a)) is not None}
            if len(made_of) != 1:
                return None
            [(own, parts)] = made_of.items()
            bounds = tuple(a for a in given if a is not own)
            return (
                None if any(_mentions(draft, setting, a) for a in bounds) else parts | _Parts(bounds=bounds)
            )
    return None


def _changed_once(draft: Draft, setting: Setting, e: ast.Name) -> tuple[ast.expr, Augmented] | None:
    """What a name was set to, and the statement beside the setting that has changed it since:
    `lr = K.get_value(optimizer.lr); lr *= 1.1; K.set_value(optimizer.lr, lr)`"""
    bound = draft.module.scopes.reaching(e)
    changes = [b.statement for b in bound if b.kind == "augment"]
    made = [b.value for b in bound if b.kind == "assign" and not b.path and b.value is not None]
    change = augmented(changes[0]) if len(changes) == 1 else None
    if change is None or len(made) != 1 or len(bound) != 2:
        return None
    beside = draft.syntax.block(draft.syntax.statement(setting.place))
    known = isinstance(change.operator, (*_TIMES, *_PLUS)) and changes[0] in beside
    return (made[0], change) if known else None


def _made_beside(draft: Draft, setting: Setting) -> ast.expr:
    """What a value is set to, also by a name that is set beside it: `new = max(rate * 0.99, 1e-4); rate = new`"""
    bound = draft.module.scopes.reaching(setting.value) if isinstance(setting.value, ast.Name) else []
    beside = draft.syntax.block(draft.syntax.statement(setting.place)) if len(bound) == 1 else []
    made = [b.value for b in bound if b.kind == "assign" and not b.path and b.statement in beside]
    return next((value for value in made if value is not None), setting.value)


def _of_sides(draft: Draft, setting: Setting, e: ast.BinOp) -> _Parts | None:
    left = _made_of(draft, setting, e.left)
    right = _made_of(draft, setting, e.right) if isinstance(e.op, (ast.Mult, ast.Add)) else None
    if (left is None) == (right is None):
        return None
    parts, other = (left, e.right) if left is not None else (right, e.left)
    if parts is None or _mentions(draft, setting, other):
        return None
    return parts | (_Parts(factors=(other,)) if isinstance(e.op, _TIMES) else _Parts(terms=(other,)))


def _goes_on(draft: Draft, setting: Setting) -> bool:
    """Whether a value is made of its last one in some way that isn't followed: `rate -= rate * 0.01`."""
    if setting.binds is not None and setting.binds.kind == "augment":
        return _reads_itself(setting) or not isinstance(setting.binds.operator, (*_TIMES, *_PLUS))
    return _mentions(draft, setting, setting.value)


def _mentions(draft: Draft, setting: Setting, e: ast.expr) -> bool:
    return any(_is_last(draft, setting, n) for n in ast.walk(e) if isinstance(n, ast.expr))


def _reads_itself(setting: Setting) -> bool:
    """`heat += heat * 0.5`"""
    names = (n for n in ast.walk(setting.value) if isinstance(n, (ast.Name, ast.Attribute)))
    return any(_written(n) == _written(setting.kept) for n in names)


def _is_last(draft: Draft, setting: Setting, e: ast.expr) -> bool:
    """Whether an expression is what a change sets, as it was before."""
    if isinstance(e, ast.Subscript) and isinstance(setting.kept, ast.Subscript):
        return _written(e) == _written(setting.kept)
    if not isinstance(e, (ast.Name, ast.Attribute)):
        return False
    if _written(e) == _written(setting.kept):
        return setting.binds is None or _reaches(draft, setting.binds, e)
    return _written(read(draft, e)) == _written(setting.kept)


def _reaches(draft: Draft, binding: Binding, use: ast.expr) -> bool:
    """Whether what a binding gives is still there at a use in a later turn: it isn't set again before that."""
    if isinstance(use, ast.Name):
        return binding in draft.module.scopes.reaching(use)
    same = draft.values.attribute_bindings(use) if isinstance(use, ast.Attribute) else []
    function = draft.syntax.function(binding.statement)
    loops = draft.syntax.loops(binding.statement)
    return not any(
        b.kind == "assign"
        and b.statement is not binding.statement
        and draft.syntax.function(b.statement) is function
        and (not loops or draft.syntax.inside(b.statement, loops[0]))
        for b in same
    )


def read(draft: Draft, e: ast.expr) -> ast.expr:
    """What a number is read from: `optimizer.lr` of `float(optimizer.lr.numpy())`, and of a name that is set to that."""
    e = _plain(draft, e)
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    made = [b.value for b in bound if b.kind == "assign" and not b.path and b.value is not None]
    return _plain(draft, made[0]) if len(made) == len(bound) == 1 else e


def _plain(draft: Draft, e: ast.expr) -> ast.expr:
    """`rate` of `float(K.get_value(rate))`, `rate.numpy()`: the same number in another form."""
    while isinstance(e, (ast.Call, ast.Subscript)):
        if (named := by_name(draft, e)) is not None:
            return named
        if isinstance(e, ast.Subscript):
            break
        if isinstance(e.func, ast.Attribute) and e.func.attr in _READS and not e.args:
            e = e.func.value
        elif e.args and draft.names.last(e.func) in _SAME:
            e = e.args[0]
        else:
            break
    return e


def _written(e: ast.expr) -> str:
    return _text(e).replace("learning_rate", "lr").replace("._lr", ".lr")


def _text(e: ast.expr) -> str:
    """As `ast.unparse`, at once for what is mostly asked."""
    if isinstance(e, ast.Name):
        return e.id
    if isinstance(e, ast.Attribute) and isinstance(e.value, (ast.Name, ast.Attribute)):
        return f"{_text(e.value)}.{e.attr}"
    return ast.unparse(e)
