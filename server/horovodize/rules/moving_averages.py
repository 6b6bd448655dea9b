"""G7 averages: a moving average of weights that is kept by the step forgets as fast for the rows that are seen.

What it does   `decay` becomes `decay ** hvd.size()`: of `tf.train.ExponentialMovingAverage` where it is applied to weights, of
               the add-ons' `MovingAverage`, of an optimizer with `use_ema=True` (there `ema_overwrite_frequency` is divided,
               too), and where a program mixes weights itself: `copy.assign(decay * copy + (1 - decay) * weight)`, or the same
               as a difference, `shadow[name] -= (1 - decay) * (shadow[name] - weight)`, also in a callback; so are numbers that
               losses are made with: `baseline = 0.9 * baseline + 0.1 * reward`, and by which a loop ends, where the mean over
               all ranks decides (`if mean_over_ranks(mean) < 0.01: break`). A decay that is computed from the number of steps
               is told those of all ranks. What a step's own measure is added to, `k = k + 0.001 * (a - b)`, moves size() times
               as far.
Why            Each rank takes size() times fewer steps. One of them stands for size() steps of one process, after which
               `decay ** size()` of an old value is left.
Before         for copy, weight in zip(slow.variables, model.variables):
                   copy.assign(0.99 * copy + (1 - 0.99) * weight)
After          for copy, weight in zip(slow.variables, model.variables):
                   copy.assign(0.99 ** hvd.size() * copy + (1 - 0.99 ** hvd.size()) * weight)
Leaves alone   Averages of losses and metrics that are only shown, and of what batches normalise. Weights that are mixed every
               so many steps (G5 lets that come as often) or with each epoch. Loops that are not divided.
Asks           Where an `ema_overwrite_frequency` may be None and isn't a name; a mixture of another form is said.
Source         Beyond the seed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import NoneType
from typing import TypeAlias

from horovodize.facts.variable_additions import within
from horovodize.rules import (
    counted,
    deciding_averages,
    graph_averages,
    graph_states,
    kept_windows,
    last_items,
    layer_averages,
    moved_on,
    shrunk_weights,
    steered,
)
from horovodize.rules.draft import SIZE, Draft
from horovodize.rules.mixtures import (
    WHAT,
    WHY,
    is_sum,
    mix,
    mix_number,
    named,
    near,
    nearing,
    raise_to_power,
    shares,
    stands_for,
)
from horovodize.rules.rule import Rule
from horovodize.rules.shares import begins, may_be_none
from horovodize.rules.target_networks import blended, zipped
from horovodize.summary.binding import Binding
from horovodize.summary.syntax import FUNCTIONS, LOOPS, argument, says_none

_AVERAGES = (
    "tensorflow.train.ExponentialMovingAverage",
    "tensorflow.compat.v1.train.ExponentialMovingAverage",
)
_WEIGHTS = {
    "trainable_variables",
    "trainable_weights",
    "variables",
    "weights",
    "get_collection",
    "global_variables",
}
_COPYING = ("list", "tuple", "copy", "deepcopy")
# What is kept, what it is changed by, whether that is added, and where.
_Change: TypeAlias = tuple[str, ast.expr, bool, ast.AST]
_EVERY = "the averages become the weights after this many steps of one rank: divide it by the number of ranks where it is set"
_DEFAULT = 0.99  # of Keras' `ema_momentum` and the add-ons' `average_decay`


def apply(draft: Draft) -> None:
    if not begins(draft, "G7") or not draft.divided:
        return
    for call in draft.module.calls_of(*_AVERAGES):
        if _is_of_weights(draft, call):
            _raise_argument(draft, call, "decay", 0)
    for call in draft.module.calls_of("tensorflow_addons.optimizers.MovingAverage"):
        _raise_argument(draft, call, "average_decay", 1, _DEFAULT)
    for call in draft.syntax.calls:
        used = argument(call, "use_ema")
        if used is not None and not (isinstance(used, ast.Constant) and not used.value):
            _slow_down_optimizer(draft, call)
    deciding_averages.forget_as_fast(draft)
    kept_windows.look_at_as_many(draft)
    last_items.look_at_as_many(draft)
    if draft.in_graph:
        graph_states.go_as_far(draft)
        _go_on_by_step(draft, steered.fed_numbers(draft))
        return graph_averages.tell(draft)
    mixed = (*_assigned(draft), *_mixed_lists(draft), *_kept_lists(draft), *_set(draft), *_set_in_two(draft))
    for kept, value, site in (*mixed, *layer_averages.mixed(draft)):
        if counted.is_by_step(draft, site):
            mix(draft, kept, value)
    for kept, value, adds, site in (*_added(draft), *_changed(draft), *layer_averages.changed(draft)):
        if counted.is_by_step(draft, site):
            near(draft, nearing(draft, kept, value, adds=adds), value)
    _go_on_by_step(draft, steered.numbers(draft))
    for setting in list(steered.variables(draft)):
        if counted.is_by_step(draft, setting.place):
            operator = setting.binds.operator if setting.binds is not None else None
            _go_on(draft, ast.unparse(setting.kept), setting.value, operator)
    shrunk_weights.apply(draft)


def _go_on_by_step(draft: Draft, numbers: Iterator[tuple[str, Binding]]) -> None:
    """Of numbers that statements carry on: those that each step comes by."""
    for kept, b in list(numbers):
        # (`if mean is None: mean = loss` may stand around it)
        begun = b.anchor if isinstance(b.anchor, ast.expr) else None
        is_statement = b.value is not None and isinstance(b.statement, ast.stmt)
        if b.value is not None and is_statement and counted.is_by_step(draft, b.statement, begun):
            _go_on(draft, kept, deciding_averages.going_on(b.value), b.operator)


def _go_on(draft: Draft, kept: str, value: ast.expr, operator: ast.operator | None) -> None:
    """operator: of `kept += value`; None where the value is the next number"""
    if isinstance(operator, (ast.Add, ast.Sub, NoneType)):
        adds = isinstance(operator, ast.Add) if operator is not None else None
        mix_number(draft, kept, value, adds)
        moved_on.go_as_far(draft, kept, value, adds)


def _is_of_weights(draft: Draft, made: ast.Call) -> bool:
    """Whether an average is kept of weights with each step: `average.apply(model.trainable_variables)`."""
    for call in draft.sites.method_calls("apply"):
        assert isinstance(call.func, ast.Attribute)
        if made not in draft.values.calls(call.func.value) or not (
            draft.in_graph or counted.is_by_step(draft, call)
        ):
            continue
        given = argument(call, "var_list", 0)
        parts = list(draft.values.depends([given], 200)) if given is not None else []
        if given is None or any(
            isinstance(n, (ast.Name, ast.Attribute)) and draft.names.last(n) in _WEIGHTS for n in parts
        ):
            return True
    return False


def _raise_argument(
    draft: Draft, call: ast.Call, name: str, index: int | None, default: float | None = None
) -> None:
    value = argument(call, name, index)
    if value is not None:
        raise_to_power(draft, value)
    elif default is not None and not any(k.arg is None for k in call.keywords) and draft.once(name, call):
        draft.change("G7", call, WHAT, WHY, [draft.add_argument(call, f"{name}={default} ** {SIZE}")])


def _slow_down_optimizer(draft: Draft, call: ast.Call) -> None:
    """Of an optimizer that averages weights itself, how fast, and how often it takes the averages for the weights."""
    callee = draft.values.callee(call)
    if isinstance(callee, (*FUNCTIONS, ast.ClassDef)) and not draft.module.is_optimizer(call):
        return  # what is handed on to an optimizer is seen there
    _raise_argument(draft, call, "ema_momentum", None, _DEFAULT)
    every = argument(call, "ema_overwrite_frequency")
    if every is None or says_none(every) or not counted.is_whole(draft, every):
        return
    if may_be_none(draft, every) and not isinstance(every, (ast.Name, ast.Attribute)):
        draft.ask("G7", every, WHAT, WHY, _EVERY)
    else:
        draft.change("G7", every, WHAT, WHY, counted.over_ranks(draft, every, "G7"))


# ---------------------------------------------------------------------- mixtures


def _assigned(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """(what is kept, what it is set to, where) of `copy.assign(0.99 * copy + 0.01 * weight)`."""
    for _, site in blended(draft):
        if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) and site.args:
            if site.func.attr == "assign" and not _is_copy(draft, site.args[0]):
                yield ast.unparse(site.func.value), site.args[0], site


def _is_copy(draft: Draft, value: ast.expr) -> bool:
    """Whether something is set to what a loop goes through, as that stands: `copy.assign(weight)` moves nothing nearer."""
    bound = draft.module.scopes.reaching(value) if isinstance(value, ast.Name) else []
    return bool(bound) and all(b.kind == "item" for b in bound)


def _added(draft: Draft) -> Iterator[_Change]:
    """`copy.assign_sub(0.01 * (copy - weight))`"""
    for _, site in blended(draft):
        if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) and site.args:
            if site.func.attr != "assign":
                yield ast.unparse(site.func.value), site.args[0], site.func.attr == "assign_add", site


def _mixed_lists(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of `slow.set_weights([0.99 * s + 0.01 * w for s, w in zip(slow.get_weights(), model.get_weights())])`, also
    where a loop puts them into a list."""
    for call in draft.sites.method_calls("set_weights"):
        assert isinstance(call.func, ast.Attribute)
        if call.args:
            yield from _mixed_into(draft, call, ast.unparse(call.func.value))


def _mixed_into(draft: Draft, call: ast.Call, model: str) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """What is mixed with the weights of a model, where they are set: (what is kept, what it is set to, where)."""
    made = list(draft.values.depends([call.args[0], *_appended(draft, call.args[0])], 400))
    found = [n for n in made if is_sum(n)]
    inner = {n for value in found for n in ast.walk(value) if n is not value}
    sums = [n for n in found if n not in inner and not _is_mean(n)]
    for value in sums:
        for name, of in _zipped_around(draft, value).items():
            if _is_of(draft, of, model) and any(stands_for(draft, e, name) for e in _leaves(value)):
                yield name, value, call
                return
    asked = {ast.unparse(n.value) for n in made if isinstance(n, ast.Attribute) and n.attr == "get_weights"}
    if model in asked and len(asked) > 1 and sums and not _is_set_in_place(draft, call.args[0]):
        yield model, sums[0], call


def _is_mean(value: ast.BinOp) -> bool:
    """Whether what is divided by a number that changes is a mean over all steps, which is the same of fewer."""
    return any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) and not isinstance(n.right, ast.Constant)
        for n in ast.walk(value)
    )


def _is_set_in_place(draft: Draft, e: ast.expr) -> bool:
    """Whether the items of a list are set one by one: each of them is looked at there (`_set`)."""
    text = ast.unparse(e)
    return any(
        isinstance(t, ast.Subscript) and ast.unparse(t.value) == text
        for statement in draft.syntax.every(ast.Assign)
        for t in statement.targets
    )


def _appended(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """What is put into a list that begins empty."""
    if not isinstance(e, ast.Name):
        return []
    calls = draft.sites.method_calls("append")
    own = draft.syntax.function(e)
    return [
        a
        for c in calls
        if isinstance(c.func, ast.Attribute)
        and ast.unparse(c.func.value) == e.id
        and draft.syntax.function(c) is own
        for a in c.args
    ]


def _zipped_around(draft: Draft, node: ast.AST) -> dict[str, ast.expr]:
    """What the names are items of that the loops around a node give out together."""
    found: dict[str, ast.expr] = {}
    for a in draft.syntax.ancestors(node):
        if isinstance(a, (*LOOPS, ast.ListComp)):
            found = {**zipped(draft, a), **found}
    return found


def _is_of(draft: Draft, e: ast.expr, model: str) -> bool:
    """Whether an expression asks a model for its weights, under whatever name: `slow.get_weights()`, `slow.variables`."""
    return ast.unparse(named(draft, e)).startswith(model + ".")


def _kept_lists(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of `kept = [0.99 * k + 0.01 * w for k, w in zip(kept, model.get_weights())]`, the first time aside."""
    for statement in draft.syntax.every(ast.Assign):
        target, value = statement.targets[0], statement.value
        if not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        arms = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
        for made in (arm for arm in arms if isinstance(arm, ast.ListComp)):
            pairs: ast.AST = made.generators[0].iter
            items = made.generators[0].target
            if isinstance(pairs, ast.Name):  # `pairs = zip(…)` before
                found = [o.node for o in draft.values.origins(pairs) if not o.path]
                pairs = found[0] if len(found) == 1 else pairs
            if not isinstance(items, ast.Tuple) or not isinstance(pairs, ast.Call):
                continue
            if draft.names.last(pairs.func) != "zip" or not any(_is_weights(draft, e) for e in pairs.args):
                continue
            for of, name in zip(pairs.args, items.elts, strict=False):
                is_mixed = shares(draft, ast.unparse(name), made.elt) is not None
                if ast.unparse(of) == ast.unparse(target) and is_mixed:
                    yield ast.unparse(name), made.elt, statement


def _set(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of `shadow[name] = 0.99 * shadow[name] + 0.01 * weight`, under whatever name it is made, and of an array that is
    set as a whole, `copy[...] = 0.99 * copy + 0.01 * weight`."""
    for statement in draft.syntax.every(ast.Assign):
        target = statement.targets[0]
        if isinstance(target, ast.Subscript):
            value, kept = named(draft, statement.value), ast.unparse(target)
            if _is_whole(target.slice):
                kept = ast.unparse(target.value)
            leaves = list(_leaves(value))
            if any(stands_for(draft, e, kept) for e in leaves) and _has_weights(draft, leaves, kept):
                yield kept, value, statement


def _is_whole(place: ast.expr) -> bool:
    """`[...]`, `[:]`"""
    if isinstance(place, ast.Slice):
        return place.lower is place.upper is place.step is None
    return isinstance(place, ast.Constant) and place.value is ...


def _set_in_two(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of an array in two statements, `copy *= 0.99` and `copy += 0.01 * weight`."""
    for more in draft.syntax.every(ast.AugAssign):
        less, kept = _lessened_before(draft, more), ast.unparse(more.target)
        if less is not None and _has_weights(draft, list(_leaves(more.value)), kept):
            stays = ast.BinOp(more.target, ast.Mult(), less.value)
            yield kept, ast.copy_location(ast.BinOp(stays, ast.Add(), more.value), more.value), more


def _lessened_before(draft: Draft, more: ast.AugAssign) -> ast.AugAssign | None:
    """The statement right before one that adds to something, where it multiplies that."""
    block = draft.syntax.block(more)
    at = block.index(more)
    less = block[at - 1] if at else None
    if not isinstance(more.op, ast.Add) or not isinstance(less, ast.AugAssign):
        return None
    is_same = isinstance(less.op, ast.Mult) and ast.unparse(less.target) == ast.unparse(more.target)
    return less if is_same else None


def _changed(draft: Draft) -> Iterator[_Change]:
    """The same of `shadow[name] -= 0.01 * (shadow[name] - weight)`."""
    for statement in draft.syntax.every(ast.AugAssign):
        if isinstance(statement.op, (ast.Add, ast.Sub)) and _lessened_before(draft, statement) is None:
            value, kept = named(draft, statement.value), ast.unparse(statement.target)
            if isinstance(value, ast.BinOp) and _has_weights(draft, list(_leaves(value)), kept):
                yield kept, value, isinstance(statement.op, ast.Add), statement


def _leaves(e: ast.expr) -> Iterator[ast.expr]:
    """What a sum, a product or a difference is made of. What is divided by a number that changes is no mixture of two, but a
    mean over all steps, which is the same of fewer."""
    if not isinstance(e, ast.BinOp):
        yield e
    elif not isinstance(e.op, ast.Div) or isinstance(e.right, ast.Constant):
        yield from _leaves(e.left)
        yield from _leaves(e.right)


def _has_weights(draft: Draft, leaves: list[ast.expr], kept: str) -> bool:
    """Whether weights are among some operands, beside what is kept."""
    return any(not stands_for(draft, e, kept) and _is_weights(draft, _bare(draft, e)) for e in leaves)


def _bare(draft: Draft, e: ast.expr) -> ast.expr:
    """`w` of `K.get_value(w)`, `w.numpy()`; `weights` of `weights[i]`."""
    e = named(draft, e)
    while True:
        inner = within(draft.names.last(e.func), e) if isinstance(e, ast.Call) else None
        if isinstance(e, ast.Subscript):
            inner = e.value
        if inner is None:
            return e
        e = inner


def _is_weights(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is a model's weights: not what is computed from them, as gradients are."""
    return any(_gives_weights(draft, o.node) for o in draft.values.origins(e))


def _gives_weights(draft: Draft, n: ast.AST) -> bool:
    match n:
        case ast.Attribute():
            return n.attr in _WEIGHTS
        case ast.ListComp(elt=elt, generators=[ast.comprehension(target=ast.Name(id=name), iter=of)]):
            each = _bare(draft, elt)
            return isinstance(each, ast.Name) and each.id == name and _is_weights(draft, of)
        case ast.Call(func=func, args=[of]) if draft.names.last(func) in _COPYING:
            return _is_weights(draft, of)
        case ast.Call():
            return draft.names.last(n.func) == "get_weights"
    return False


RULE = Rule("G7", "let moving averages of weights forget as fast for the rows seen", apply, __doc__ or "")
