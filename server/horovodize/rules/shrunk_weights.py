"""Weights that each step shrinks by hand, beside what trains them, shrink as much for the rows that are seen. Part of G5.

    for v in model.trainable_variables:
        v.assign(v * 0.999)

becomes `v.assign(v * 0.999 ** hvd.size())`: a step of a rank stands for size() steps of one process. So it is in a callback
that `fit` calls with each batch, and of lists of weights, `model.set_weights([w * 0.999 for w in model.get_weights()])`. A
factor that changes is asked about.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules import counted, decays, number_settings
from horovodize.rules.after_averaging import base, is_trained
from horovodize.rules.draft import Draft
from horovodize.rules.drawn_weights import given_to_weights
from horovodize.rules.number_settings import Setting

_SHRINKS = "Let weights shrink as much for the rows that are seen"
_WHY_SHRINKS = "Each rank takes size() times fewer steps, and each of them shrinks the weights."
_BY_MORE = (
    "each step shrinks these weights by a factor that changes, and a rank takes size() times fewer steps: raise the factor to "
    "the power of the number of ranks"
)


def apply(draft: Draft) -> None:
    """Raises the factors to the power of the number of ranks."""
    for setting in _shrinking(draft) if draft.divided and not draft.in_graph else ():
        known = decays.follow(draft, setting.value, setting, rule="G5")
        if not known and counted.is_by_step(draft, setting.place) and draft.once("shrinks", setting.place):
            draft.ask("G5", setting.value, _SHRINKS, _WHY_SHRINKS, _BY_MORE)


def _shrinking(draft: Draft) -> Iterator[Setting]:
    """Where weights get smaller with each step, beside what trains them: `v.assign(v * 0.999)`, a decay by hand."""
    by_hand = {call for step in draft.sites.hand_updates for call in step.calls}
    trained = {ast.unparse(base(v)) for u in draft.sites.updates for v in u.variables} - {"self"}
    for setting in (*number_settings.of_variables(draft), *_of_lists(draft)):
        value = setting.value
        if setting.place in by_hand or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
            continue
        factor = next((f for e, f in _sides(value) if ast.dump(e) == ast.dump(setting.kept)), None)
        if factor is None or not is_one_factor(draft, factor) or draft.uniform.of_values.varies(value):
            continue
        if is_trained(draft, setting.kept, trained) or _is_of_fitted(draft, setting):
            yield setting


def _of_lists(draft: Draft) -> Iterator[Setting]:
    """What each weight is set to in `model.set_weights([w * 0.999 for w in model.get_weights()])`."""
    for call in draft.sites.method_calls("set_weights"):
        match call.args:
            case [ast.ListComp(elt=value, generators=[ast.comprehension(target=ast.Name() as kept, ifs=[])])]:
                same = [e for e in ast.walk(value) if isinstance(e, ast.Name) and e.id == kept.id]
                yield Setting(call, same[0] if same else kept, value)


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
