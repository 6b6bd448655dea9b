"""Weights that each step shrinks by hand, beside what trains them, shrink as much for the rows that are seen. Part of G5.

    for v in model.trainable_variables:
        v.assign(v * 0.999)

becomes `v.assign(v * 0.999 ** hvd.size())`: a step of a rank stands for size() steps of one process. So it is in a callback
that `fit` calls with each batch, of lists of weights, `model.set_weights([w * 0.999 for w in model.get_weights()])`, and of
what is taken away, `v.assign_sub(0.001 * v)`, and of what an optimizer takes away that doesn't go by its rate,
`tfa.optimizers.AdamW(weight_decay=1e-4)`. A factor that changes is asked about, and so is anything else that each step
adds to weights: noise, a penalty by their signs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, argument
from horovodize.rules.drafting.decisions import Counted
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import decays, number_settings, with_each_step
from horovodize.rules.numbers.number_settings import Setting
from horovodize.rules.smoothing.mixtures import is_sum
from horovodize.rules.weights.drawn_weights import given_to_weights
from horovodize.rules.wrapping.after_averaging import is_trained
from horovodize.source import Edit
from horovodize.summary.undone_steps import base

_SHRINKS = "Let weights shrink as much for the rows that are seen"
_WHY_SHRINKS = "Each rank takes size() times fewer steps, and each of them shrinks the weights."
_BY_MORE = (
    "each step shrinks these weights by a factor that changes, and a rank takes size() times fewer steps: raise the factor to "
    "the power of the number of ranks"
)
_MOVES = "Let weights be moved as far for the rows that are seen"
_WHY_MOVES = "Each rank takes size() times fewer steps, and each of them moves the weights by hand, too."
_AS_FAR = (
    "each step moves these weights by hand, too, and a rank takes size() times fewer steps: move them as far as size() steps "
    "do (noise by the square root of that)"
)


_SCHEDULE = "tensorflow.keras.optimizers.schedules.LearningRateSchedule"
_DECAYING = tuple(f"tensorflow_addons.optimizers.{name}" for name in ("AdamW", "SGDW"))
_DECAYING_IN_GRAPHS = ("tensorflow.contrib.opt.AdamWOptimizer", "tensorflow.contrib.opt.MomentumWOptimizer")
_EXTENDING = ("extend_with_decoupled_weight_decay", "extend_with_weight_decay")
_EXTENSION = "DecoupledWeightDecayExtension"
_BY_COURSE = (
    "each step takes this part of the weights away, whatever the rate, and a rank takes size() times fewer steps: take size() "
    "times as much"
)


def by_optimizer(draft: Draft, call: ast.Call, name: str) -> None:
    """Lets an optimizer that is made take as much from the weights for the rows that are seen. Keras' own `weight_decay` goes
    by the rate, which is multiplied. name: what is called, fully qualified"""
    if name not in (*_DECAYING, *_DECAYING_IN_GRAPHS) and not _is_extended(draft.module, call):
        return
    lost = argument(call, "weight_decay", 0)
    if lost is None or (isinstance(lost, ast.Constant) and not lost.value):
        return
    nodes = [o.node for o in draft.values.origins(lost)]
    made = [draft.values.made_by(n) for n in nodes if isinstance(n, ast.Call)]
    if len(made) == len(nodes) and all(_SCHEDULE in names for names in made):
        return  # multiplied as a schedule's rates are
    if any(isinstance(n, CALLABLES) for n in nodes):
        if draft.once("shrinks", call):
            draft.ask("G5", lost, _SHRINKS, _WHY_SHRINKS, _BY_COURSE)
    else:
        _lose_as_much(draft, lost)


def takes_from_weights(module: Module, call: ast.Call) -> bool:
    """Whether a call makes such an optimizer."""
    return module.names.of(call.func) in (*_DECAYING, *_DECAYING_IN_GRAPHS) or _is_extended(module, call)


def _is_extended(module: Module, call: ast.Call) -> bool:
    """Whether this makes an optimizer of a class that is extended so: `extend_with_decoupled_weight_decay(Adam)(1e-4)`."""
    cls = module.values.callee(call)
    if isinstance(cls, ast.ClassDef):
        return any(base.endswith(f".{_EXTENSION}") for base in module.values.ancestors(cls))
    return any(
        isinstance(o.node, ast.Call) and module.names.last(o.node.func) in _EXTENDING
        for o in module.values.origins(call.func)
    )


def apply(draft: Draft) -> None:
    """Raises the factors to the power of the number of ranks."""
    if not draft.divided or draft.in_graph:
        return
    for setting in _of_trained(draft):
        lost = _lost(setting)
        if lost is not None:
            if is_one_factor(draft, lost) and with_each_step.is_by_step(draft, setting.place):
                _lose_as_much(draft, lost)
        elif _is_shrinking(draft, setting):
            known = decays.follow(draft, setting.value, setting, rule="G5")
            if (
                not known
                and with_each_step.is_by_step(draft, setting.place)
                and draft.once("shrinks", setting.place)
            ):
                draft.ask("G5", setting.value, _SHRINKS, _WHY_SHRINKS, _BY_MORE)
        elif _is_moved(draft, setting) and with_each_step.is_by_step(draft, setting.place):
            if draft.once("moved by hand", setting.place):
                draft.ask("G5", setting.value, _MOVES, _WHY_MOVES, _AS_FAR)


def _lose_as_much(draft: Draft, lost: ast.expr) -> None:
    """`0.001` of `v.assign_sub(0.001 * v)`: what is left is raised to the power of the number of ranks."""
    if draft.decide(lost, Counted("G5")):
        opening, closing = ("(", ")") if needs_parentheses(lost) else ("", "")
        edits = Edit.around(draft.module.span(lost), f"(1 - (1 - {opening}", f"{closing}) ** {SIZE})")
        draft.change("G5", lost, _SHRINKS, _WHY_SHRINKS, edits)


def _of_trained(draft: Draft) -> Iterator[Setting]:
    """Where weights are set beside what trains them."""
    trained = {ast.unparse(base(v)) for u in draft.sites.updates for v in u.variables}
    for setting in (*number_settings.of_variables(draft), *_of_lists(draft)):
        if setting.place in draft.sites.gradient_moves:
            continue
        of_self = "self" in trained and _is_of_self(draft, setting.kept)
        if of_self or is_trained(draft, setting.kept, trained - {"self"}) or _is_of_fitted(draft, setting):
            yield setting


def _is_of_self(draft: Draft, kept: ast.expr) -> bool:
    """Whether a variable is one of all of a model's, in a method of it: `for v in self.trainable_variables:`."""
    return isinstance(kept, ast.Name) and any(
        isinstance(b.statement, ast.For)
        and b.statement.target is b.anchor
        and ast.unparse(base(b.statement.iter)) == "self"
        for b in draft.module.scopes.reaching(kept)
    )


def _lost(setting: Setting) -> ast.expr | None:
    """The part of themselves that weights lose: `0.001` of `v.assign_sub(0.001 * v)` and of `v.assign(v - 0.001 * v)`."""
    change: ast.expr | None = None
    if setting.binds is not None:
        change = setting.value if isinstance(setting.binds.operator, ast.Sub) else None
    elif isinstance(setting.value, ast.BinOp) and isinstance(setting.value.op, ast.Sub):
        change = setting.value.right if _is_same(setting.value.left, setting.kept) else None
    if isinstance(change, ast.BinOp) and isinstance(change.op, ast.Mult):
        return next((part for e, part in _sides(change) if _is_same(e, setting.kept)), None)
    return None


def _is_shrinking(draft: Draft, setting: Setting) -> bool:
    """Whether weights are multiplied by one number: `v.assign(v * 0.999)`, a decay by hand."""
    value = setting.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return False
    factor = next((f for e, f in _sides(value) if _is_same(e, setting.kept)), None)
    is_one = factor is not None and setting.binds is None and is_one_factor(draft, factor)
    return is_one and draft.uniform.of_values.varies(value) is None


def _is_moved(draft: Draft, setting: Setting) -> bool:
    """Whether something is added to weights beside a gradient's step: `v.assign_add(noise)`, `v.assign(v - c * sign(v))`. Not
    a part of the way to others, and nothing that is as large as the optimizer's rate."""
    value = setting.value
    if setting.binds is None:
        if not is_sum(value) or not _is_same(value.left, setting.kept):
            return False
        value = value.right
    parts = list(draft.values.depends([value], 300))
    if any(isinstance(n, ast.Attribute) and _is_own_rate(draft, n) for n in parts):
        return False
    taken = {*draft.sites.training_gradients, *draft.sites.moving_gradients}
    return not taken & set(parts) and not any(
        draft.was(n, Counted) for n in ast.walk(value) if isinstance(n, ast.expr)
    )


def _is_same(e: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(e) == ast.unparse(other)


def _of_lists(draft: Draft) -> Iterator[Setting]:
    """What each weight is set to in `model.set_weights([w * 0.999 for w in model.get_weights()])`, and in
    `layer.set_weights([kernel * 0.999, bias])`."""
    for call in draft.sites.method_calls("set_weights"):
        match call.args:
            case [ast.List(elts=values)]:
                products = [v for v in values if isinstance(v, ast.BinOp) and isinstance(v.op, ast.Mult)]
                sides = [(v, e) for v in products for e, _ in _sides(v) if _is_asked_for(draft, e)]
                yield from (Setting(call, kept, value) for value, kept in sides)
            case [ast.ListComp(elt=value, generators=[ast.comprehension(target=ast.Name() as kept, ifs=[])])]:
                value = _changed(value, kept)
                same = [e for e in ast.walk(value) if isinstance(e, ast.Name) and e.id == kept.id]
                yield Setting(call, same[0] if same else kept, value)


def _is_asked_for(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is one of a layer's weights: `layer.get_weights()[0]`, under whatever name."""
    if isinstance(e, ast.Subscript):
        e = e.value
    return any(
        isinstance(o.node, ast.Call) and draft.names.last(o.node.func) == "get_weights"
        for o in draft.values.origins(e)
    )


def _changed(value: ast.expr, kept: ast.Name) -> ast.expr:
    """`w * 0.999` of `w * 0.999 if w.ndim > 1 else w`, where the others stay as they are."""
    match value:
        case ast.IfExp(body=changed, orelse=ast.Name(id=same)) if same == kept.id:
            return changed
        case ast.IfExp(body=ast.Name(id=same), orelse=changed) if same == kept.id:
            return changed
    return value


def _is_of_fitted(draft: Draft, setting: Setting) -> bool:
    """Whether a callback sets weights of the model that it is called for, or a list of a model's weights is set."""
    call = setting.place
    if not isinstance(call, ast.Call):
        return False
    is_called = draft.facts.hooks.around(call) is not None or draft.names.last(call.func) == "set_weights"
    return is_called and given_to_weights(draft, call) is not None


def _sides(product: ast.BinOp) -> tuple[tuple[ast.expr, ast.expr], ...]:
    """Each side of a product, and the other one."""
    return (product.left, product.right), (product.right, product.left)


def is_one_factor(draft: Draft, factor: ast.expr) -> bool:
    """Whether weights are multiplied by one number, rather than each by its own: a mask, what brings them back to a length. Not
    by one made of the optimizer's own rate, which is multiplied already, and shrinks them as much."""
    named = [o.node for n in ast.walk(factor) if isinstance(n, ast.Name) for o in draft.values.origins(n)]
    parts = [n for e in (factor, *named) for n in ast.walk(e)]
    names = [draft.names.of(n.func) or "" for n in parts if isinstance(n, ast.Call)]
    if any(n.startswith(("tensorflow.", "numpy.")) and ".optimizers." not in n for n in names):
        return False
    return not any(isinstance(n, ast.Attribute) and _is_own_rate(draft, n) for n in parts)


def _is_own_rate(draft: Draft, e: ast.Attribute) -> bool:
    """`optimizer.learning_rate`, `model.optimizer.lr`; not `args.lr`."""
    if e.attr not in ("lr", "learning_rate"):
        return False
    of_model = isinstance(e.value, ast.Attribute) and e.value.attr == "optimizer"
    return of_model or any(draft.module.is_optimizer(c) for c in draft.values.calls(e.value))
