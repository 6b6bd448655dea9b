"""G7 averages: a moving average of weights that is kept by the step forgets as fast for the rows that are seen.

What it does   `decay` becomes `decay ** hvd.size()`: of `tf.train.ExponentialMovingAverage` where it is applied to weights, of
               the add-ons' `MovingAverage`, of an optimizer with `use_ema=True` (there `ema_overwrite_frequency` is divided,
               too), and where a program mixes weights itself: `copy.assign(decay * copy + (1 - decay) * weight)`, or the same
               as a difference, `shadow[name] -= (1 - decay) * (shadow[name] - weight)`, also in a callback. A decay that is
               computed from the number of steps is told those of all ranks.
Why            Each rank takes size() times fewer steps. One of them stands for size() steps of one process, after which
               `decay ** size()` of an old value is left.
Before         for copy, weight in zip(slow.variables, model.variables):
                   copy.assign(0.99 * copy + (1 - 0.99) * weight)
After          for copy, weight in zip(slow.variables, model.variables):
                   copy.assign(0.99 ** hvd.size() * copy + (1 - 0.99 ** hvd.size()) * weight)
Leaves alone   Averages of losses and metrics, and of what batches normalise. Weights that are mixed every so many steps (G5
               lets that come as often) or with each epoch. Loops that are not divided.
Asks           Never; a mixture of another form is said.
Source         Beyond the seed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias, TypeGuard

from horovodize.facts.counters import within
from horovodize.rules import annealing, counted, graph_averages
from horovodize.rules.decisions import Counted
from horovodize.rules.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.rule import Rule
from horovodize.rules.shares import begins
from horovodize.rules.target_networks import blended, zipped
from horovodize.source import Edit
from horovodize.summary.syntax import LOOPS, argument

_WHAT = "Let the average forget as fast for the rows that are seen"
_WHY = "A step stands for size() steps of one process: as much is left of an old value after as many rows."
_SAID = (
    "these weights follow others by the step, and each rank takes size() times fewer: they follow more slowly than alone; "
    "a share that stays with each step has to be raised to the power of the number of ranks"
)
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
        if isinstance(used, ast.Constant) and used.value is True:
            _raise_argument(draft, call, "ema_momentum", None, _DEFAULT)
            every = argument(call, "ema_overwrite_frequency")
            if every is not None and draft.facts.feeding.kinds.constant(every) is not None:
                draft.change("G7", every, _WHAT, _WHY, counted.over_ranks(draft, every, "G7"))
    if draft.in_graph:
        return graph_averages.tell(draft)
    mixed = (*_assigned(draft), *_mixed_lists(draft), *_kept_lists(draft), *_set(draft))
    for kept, value, site in mixed:
        if counted.is_by_step(draft, site):
            _mix(draft, kept, value)
    for kept, value, adds, site in (*_added(draft), *_changed(draft)):
        if counted.is_by_step(draft, site):
            _near(draft, _nearing(draft, kept, value, adds=adds), value)


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
        _raise(draft, value)
    elif default is not None and not any(k.arg is None for k in call.keywords) and draft.once(name, call):
        draft.change("G7", call, _WHAT, _WHY, [draft.add_argument(call, f"{name}={default} ** {SIZE}")])


def _raise(draft: Draft, share: ast.expr) -> None:
    """`decay` → `decay ** hvd.size()`"""
    if draft.decide(share, Counted("G7")):
        draft.change("G7", share, _WHAT, _WHY, _to_the_power(draft, share))


def _to_the_power(draft: Draft, share: ast.expr) -> tuple[Edit, ...]:
    is_atom = isinstance(share, (ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript))
    opening, closing = ("", "") if is_atom else ("(", ")")
    return Edit.around(draft.module.span(share), opening, f"{closing} ** {SIZE}")


# ---------------------------------------------------------------------- mixtures


def _assigned(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """(what is kept, what it is set to, where) of `copy.assign(0.99 * copy + 0.01 * weight)`."""
    for _, site in blended(draft):
        if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) and site.args:
            if site.func.attr == "assign":
                yield ast.unparse(site.func.value), site.args[0], site


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
    found = [n for n in made if _is_sum(n)]
    inner = {n for value in found for n in ast.walk(value) if n is not value}
    sums = [n for n in found if n not in inner and not _is_mean(n)]
    for value in sums:
        for name, of in _zipped_around(draft, value).items():
            if _is_of(draft, of, model) and any(_stands_for(draft, e, name) for e in _leaves(value)):
                yield name, value, call
                return
    asked = {ast.unparse(n.value) for n in made if isinstance(n, ast.Attribute) and n.attr == "get_weights"}
    if model in asked and len(asked) > 1 and sums and not _is_set_in_place(draft, call.args[0]):
        yield model, sums[0], call


def _is_sum(n: ast.AST) -> TypeGuard[ast.BinOp]:
    return isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Add, ast.Sub))


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
    return ast.unparse(_named(draft, e)).startswith(model + ".")


def _kept_lists(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of `kept = [0.99 * k + 0.01 * w for k, w in zip(kept, model.get_weights())]`, the first time aside."""
    for statement in draft.syntax.every(ast.Assign):
        target, value = statement.targets[0], statement.value
        if not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        arms = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
        for made in (arm for arm in arms if isinstance(arm, ast.ListComp)):
            pairs, items = made.generators[0].iter, made.generators[0].target
            if not isinstance(items, ast.Tuple) or not isinstance(pairs, ast.Call):
                continue
            if draft.names.last(pairs.func) != "zip" or not any(_is_weights(draft, e) for e in pairs.args):
                continue
            for of, name in zip(pairs.args, items.elts, strict=False):
                is_mixed = _shares(draft, ast.unparse(name), made.elt) is not None
                if ast.unparse(of) == ast.unparse(target) and is_mixed:
                    yield ast.unparse(name), made.elt, statement


def _set(draft: Draft) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """The same of `shadow[name] = 0.99 * shadow[name] + 0.01 * weight`, under whatever name it is made."""
    for statement in draft.syntax.every(ast.Assign):
        target = statement.targets[0]
        if isinstance(target, ast.Subscript):
            value, kept = _named(draft, statement.value), ast.unparse(target)
            leaves = list(_leaves(value))
            if any(_stands_for(draft, e, kept) for e in leaves) and _has_weights(draft, leaves, kept):
                yield kept, value, statement


def _changed(draft: Draft) -> Iterator[_Change]:
    """The same of `shadow[name] -= 0.01 * (shadow[name] - weight)`."""
    for statement in draft.syntax.every(ast.AugAssign):
        if isinstance(statement.op, (ast.Add, ast.Sub)):
            value, kept = _named(draft, statement.value), ast.unparse(statement.target)
            if isinstance(value, ast.BinOp) and _has_weights(draft, list(_leaves(value)), kept):
                yield kept, value, isinstance(statement.op, ast.Add), statement


def _named(draft: Draft, e: ast.expr) -> ast.expr:
    """What a name is given, where that is one thing."""
    bindings = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    if len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path:
        return bindings[0].value or e
    return e


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
    return any(not _stands_for(draft, e, kept) and _is_weights(draft, _bare(draft, e)) for e in leaves)


def _bare(draft: Draft, e: ast.expr) -> ast.expr:
    """`w` of `K.get_value(w)`, `w.numpy()`; `weights` of `weights[i]`."""
    e = _named(draft, e)
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


def _mix(draft: Draft, kept: str, value: ast.expr) -> None:
    """`decay * kept + (1 - decay) * other`: what is left, and what comes in instead."""
    shares = _shares(draft, kept, value)
    if shares is None:
        adds = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
        is_change = isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub))
        change = value.right if is_change and isinstance(value, ast.BinOp) else None
        from_kept = isinstance(value, ast.BinOp) and _stands_for(draft, value.left, kept)
        share = _nearing(draft, kept, change, adds=adds) if change is not None and from_kept else None
        _near(draft, share, value)
        return
    left, comes = shares
    annealing.tell(draft, left, "G7")
    rest = _rest_of_one(comes)
    if rest is not None and ast.dump(rest) == ast.dump(left):
        _raise(draft, left)
        _raise(draft, rest)
    elif not draft.was(left, Counted):
        text = draft.module.text(left)
        text = text if isinstance(left, ast.Constant) else f"({text})"
        edit = Edit(draft.module.span(comes), f"(1 - {text} ** {SIZE})")
        draft.change("G7", comes, _WHAT, _WHY, [edit])
        _raise_written(draft, left)


def _nearing(draft: Draft, kept: str, change: ast.expr, *, adds: bool) -> ast.expr | None:
    """`share` of `share * (kept - other)`, which is taken away; or of `share * (other - kept)`, which is added."""
    if not isinstance(change, ast.BinOp) or not isinstance(change.op, ast.Mult):
        return None
    for share, distance in ((change.left, change.right), (change.right, change.left)):
        if isinstance(distance, ast.BinOp) and isinstance(distance.op, ast.Sub):
            ends = (distance.right, distance.left) if adds else (distance.left, distance.right)
            if _stands_for(draft, ends[0], kept) and not _stands_for(draft, ends[1], kept):
                return share
    return None


def _near(draft: Draft, share: ast.expr | None, value: ast.expr) -> None:
    """What comes in with each step, of `kept -= share * (kept - other)`."""
    if share is None:
        draft.note("G7", value, _SAID)
        return
    rest = _rest_of_one(share)
    annealing.tell(draft, rest or share, "G7")
    if rest is not None:
        _raise(draft, rest)
    elif draft.decide(share, Counted("G7")):
        opening, closing = ("(", ")") if needs_parentheses(share) else ("", "")
        edits = Edit.around(draft.module.span(share), f"(1 - (1 - {opening}", f"{closing}) ** {SIZE})")
        draft.change("G7", share, _WHAT, _WHY, edits)


def _raise_written(draft: Draft, left: ast.expr) -> None:
    """The share that is left, which may stand in parentheses of its own."""
    if not draft.decide(left, Counted("G7")):
        return
    span, text = draft.module.span(left), draft.document.text
    if text[span.start - 1] == "(" and text[span.end : span.end + 1] == ")":
        draft.change("G7", left, _WHAT, _WHY, [Edit.insert(span.end + 1, f" ** {SIZE}", span)])
    else:
        draft.change("G7", left, _WHAT, _WHY, _to_the_power(draft, left))


def _shares(draft: Draft, kept: str, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """(the share of what is kept, that of what comes in) of a sum of two products, which are 1 together."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    products = [
        p for p in (value.left, value.right) if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Mult)
    ]
    own = [p for p in products if _stands_for(draft, p.left, kept) or _stands_for(draft, p.right, kept)]
    if len(products) != 2 or len(own) != 1:
        return None
    left = own[0].left if _stands_for(draft, own[0].right, kept) else own[0].right
    other = next(p for p in products if p is not own[0])
    return next(((left, comes) for comes in (other.left, other.right) if _are_one(left, comes)), None)


def _are_one(left: ast.expr, comes: ast.expr) -> bool:
    """`0.9` and `0.1`, `x` and `1 - x`"""
    for one, other in ((left, comes), (comes, left)):
        rest = _rest_of_one(one)
        if rest is not None and ast.dump(rest) == ast.dump(other):
            return True
    numbers = [e.value for e in (left, comes) if isinstance(e, ast.Constant) and isinstance(e.value, float)]
    return len(numbers) == 2 and abs(sum(numbers) - 1) < 1e-9


def _stands_for(draft: Draft, e: ast.expr, kept: str) -> bool:
    text = ast.unparse(e)
    if isinstance(e, ast.Name) and text != kept:
        text = ast.unparse(_named(draft, e))
    return text == kept or text in (f"{kept}.{method}()" for method in ("numpy", "value", "read_value"))


def _rest_of_one(e: ast.expr) -> ast.expr | None:
    """`x` of `1 - x`."""
    is_rest = isinstance(e, ast.BinOp) and isinstance(e.op, ast.Sub) and isinstance(e.left, ast.Constant)
    return e.right if is_rest and isinstance(e, ast.BinOp) and ast.unparse(e.left) in ("1", "1.0") else None


RULE = Rule("G7", "let moving averages of weights forget as fast for the rows seen", apply, __doc__ or "")
