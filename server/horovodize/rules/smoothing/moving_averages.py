"""G7 averages: a moving average of weights that is kept by the step forgets as fast for the rows that are seen.

What it does   `decay` becomes `decay ** hvd.size()`: of `tf.train.ExponentialMovingAverage` where it is applied to weights, of
               the add-ons' `MovingAverage`, of an optimizer with `use_ema=True` (there `ema_overwrite_frequency` is divided,
               too), and where a program mixes weights itself: `copy.assign(decay * copy + (1 - decay) * weight)`, or the same
               as a difference, `shadow[name] -= (1 - decay) * (shadow[name] - weight)`, also in a callback; so are numbers that
               losses are made with: `baseline = 0.9 * baseline + 0.1 * reward`, by which a loop ends, where the mean over all
               ranks decides (`if mean_over_ranks(mean) < 0.01: break`), or by which gradients are clipped. A decay that is
               computed from the number of steps is told those of all ranks. What a step's own measure is added to,
               `k = k + 0.001 * (a - b)`, moves size() times
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

from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, LOOPS, argument, says_none
from horovodize.rules.counts import shrunk_weights
from horovodize.rules.deciding import deciding_averages
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.numbers import counted, with_each_step
from horovodize.rules.numbers.shares import begins, may_be_none
from horovodize.rules.smoothing import (
    gradient_averages,
    graph_averages,
    kept_windows,
    last_items,
    layer_averages,
    moved_on,
)
from horovodize.rules.smoothing.kept_mixtures import (
    WEIGHTS,
    Change,
    changed,
    kept_lists,
    leaves,
    set_in_two,
    set_items,
)
from horovodize.rules.smoothing.mixtures import (
    WHAT,
    WHY,
    is_sum,
    mix,
    mix_number,
    named,
    near,
    nearing,
    raise_to_power,
    stands_for,
)
from horovodize.rules.weights import steered
from horovodize.rules.weights.target_networks import blended, zipped
from horovodize.rules.wrapping import graph_states

_AVERAGES = (
    "tensorflow.train.ExponentialMovingAverage",
    "tensorflow.compat.v1.train.ExponentialMovingAverage",
)
_EVERY = "the averages become the weights after this many steps of one rank: divide it by the number of ranks where it is set"
_VARIABLES = ("Variable", "get_variable", "add_weight")
_DEFAULT = 0.99  # of Keras' `ema_momentum` and the add-ons' `average_decay`


def apply(draft: Draft) -> None:
    if not begins(draft, "G7") or not draft.divided:
        return
    for call in draft.module.calls_of(*_AVERAGES):
        if _is_of_weights(draft, call):
            _raise_argument(draft, call, "decay", 0)
    for call in draft.module.calls_of("tensorflow_addons.optimizers.MovingAverage"):
        _raise_argument(draft, call, "average_decay", 1, _DEFAULT)
    for call, used in [(c, k.value) for c in draft.syntax.calls for k in c.keywords if k.arg == "use_ema"]:
        if not isinstance(used, ast.Constant) or used.value:
            _slow_down_optimizer(draft, call)
    deciding_averages.forget_as_fast(draft)
    kept_windows.look_at_as_many(draft)
    last_items.look_at_as_many(draft)
    if draft.in_graph:
        graph_states.go_as_far(draft)
        _go_on_by_step(draft, steered.fed_numbers(draft))
        return graph_averages.tell(draft)
    mixed = (
        *_assigned(draft),
        *_mixed_lists(draft),
        *kept_lists(draft),
        *set_items(draft),
        *set_in_two(draft),
    )
    for kept, value, site in (*mixed, *layer_averages.mixed(draft)):
        if with_each_step.is_by_step(draft, site):
            mix(draft, kept, value)
    for kept, value, adds, site in (*_added(draft), *changed(draft), *layer_averages.changed(draft)):
        if with_each_step.is_by_step(draft, site):
            near(draft, nearing(draft, kept, value, adds=adds), value)
    _go_on_by_step(draft, steered.numbers(draft))
    _go_on_by_step(draft, gradient_averages.numbers(draft))
    for setting in dict.fromkeys([*steered.variables(draft), *gradient_averages.variables(draft)]):
        if with_each_step.is_by_step(draft, setting.place):
            operator = setting.binds.operator if setting.binds is not None else None
            _go_on(draft, ast.unparse(setting.kept), setting.value, operator)
    shrunk_weights.apply(draft)


def _go_on_by_step(draft: Draft, numbers: Iterator[tuple[str, Binding]]) -> None:
    """Of numbers that statements carry on: those that each step comes by."""
    for kept, b in list(numbers):
        # (`if mean is None: mean = loss` may stand around it)
        begun = b.anchor if isinstance(b.anchor, ast.expr) else None
        is_statement = b.value is not None and isinstance(b.statement, ast.stmt)
        if b.value is not None and is_statement and with_each_step.is_by_step(draft, b.statement, begun):
            _go_on(draft, kept, deciding_averages.going_on(b.value), b.operator)


def _go_on(draft: Draft, kept: str, value: ast.expr, operator: ast.operator | None) -> None:
    """operator: of `kept += value`; None where the value is the next number"""
    if isinstance(operator, (ast.Add, ast.Sub, NoneType)):
        adds = isinstance(operator, ast.Add) if operator is not None else None
        mix_number(draft, kept, value, adds)
        moved_on.go_as_far(draft, kept, value, adds)
    elif isinstance(operator, (ast.Mult, ast.Div)):
        moved_on.grow_as_far(draft, kept, value)


def _is_of_weights(draft: Draft, made: ast.Call) -> bool:
    """Whether an average is kept of weights with each step: `average.apply(model.trainable_variables)`."""
    for call in draft.sites.method_calls("apply"):
        assert isinstance(call.func, ast.Attribute)
        if made not in draft.values.calls(call.func.value) or not (
            draft.in_graph or with_each_step.is_by_step(draft, call)
        ):
            continue
        given = argument(call, "var_list", 0)
        parts = list(draft.values.depends([given], 200)) if given is not None else []
        if given is None or any(
            isinstance(n, (ast.Name, ast.Attribute)) and draft.names.last(n) in WEIGHTS for n in parts
        ):
            return True
        if _holds_variables(draft, given):
            return True
    return False


def _holds_variables(draft: Draft, listed: ast.expr, depth: int = 4) -> bool:
    """Whether a list has variables that are trained: `[weights, bias]`, `list(parameters.values())`."""
    for node in [o.node for o in draft.values.origins(listed) if not o.path] if depth else ():
        parts: list[ast.expr] = []
        if isinstance(node, (ast.List, ast.Tuple)):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = node.values
        elif isinstance(node, ast.Call) and draft.names.last(node.func) == "list":
            parts = node.args
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "values"
        ):
            parts = [node.func.value]
        elif isinstance(node, ast.Call) and draft.names.last(node.func) in _VARIABLES:
            trained = argument(node, "trainable")
            if not isinstance(trained, ast.Constant) or trained.value:
                return True
        if any(_holds_variables(draft, part, depth - 1) for part in parts):
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


def _added(draft: Draft) -> Iterator[Change]:
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
        pairs = _zipped_around(draft, value)
        if pairs and all(_is_of(draft, of, model) for of in pairs.values()):
            return  # a part of the way back to what it was before some steps, in each round of them (Reptile)
        others = [of for of in pairs.values() if not _is_of(draft, of, model)]
        if others and all(_is_kept_as(draft, of, call.args[0]) for of in others):
            return  # a part of each step's own way: both are the same again before the next one
        for name, of in pairs.items():
            if _is_of(draft, of, model) and any(stands_for(draft, e, name) for e in leaves(value)):
                yield name, value, call
                return
    asked = {ast.unparse(n.value) for n in made if isinstance(n, ast.Attribute) and n.attr == "get_weights"}
    if model in asked and len(asked) > 1 and sums and not _is_set_in_place(draft, call.args[0]):
        yield model, sums[0], call


def _is_kept_as(draft: Draft, kept: ast.expr, mixed: ast.expr) -> bool:
    """Whether what a model is set to is kept, too, in place of what it was mixed with: `slow = new`."""
    texts = ast.unparse(kept), ast.unparse(mixed)
    set_to = ((t, s.value) for s in draft.syntax.every(ast.Assign) for t in s.targets)
    return texts[0] == texts[1] or any(texts == (ast.unparse(t), ast.unparse(e)) for t, e in set_to)


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


RULE = Rule("G7", "let moving averages of weights forget as fast for the rows seen", apply, __doc__ or "")
