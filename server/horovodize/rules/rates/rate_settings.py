"""Where a program sets the rate of an optimizer that it has made already, `optimizer.learning_rate = 0.01`: part of C5."""

from __future__ import annotations

import ast
from typing import Any

from horovodize.facts.files.kept import first_value
from horovodize.python.module import Module
from horovodize.python.once import once
from horovodize.python.syntax import argument, position
from horovodize.rules.drafting import set_together
from horovodize.rules.drafting.decisions import Scaled
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.other_names import RATES, attributes_meant, by_name, set_by_call
from horovodize.rules.numbers import decays
from horovodize.rules.numbers.number_settings import Setting, going_on
from horovodize.rules.wrapping import held_optimizers

_ASSIGNING = ("assign", "assign_add", "assign_sub")
_VARIABLES = {"tensorflow.Variable", "tensorflow.keras.backend.variable", "tensorflow.compat.v1.Variable"}


def is_variable(draft: Draft, call: ast.Call) -> bool:
    return draft.names.of(call.func) in _VARIABLES


@once
def possible_settings(draft: Draft) -> list[ast.Assign | ast.AugAssign | ast.Call | ast.Tuple]:
    """What may set something that is no plain name, in the order of the text."""
    found: list[Any] = draft.module.which(_may_set, ast.Assign, ast.AugAssign, ast.Call)
    return sorted([*found, *set_together.pairs(draft)], key=position)


def _may_set(module: Module, node: ast.AST) -> bool:
    """Whether a statement sets an attribute or an item, or a call is given what it may set, as far as its shape says."""
    match node:
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign(target=ast.Attribute()):
            return True
        case ast.Call(func=ast.Attribute(attr=method), args=[_]):
            return method in _ASSIGNING
        case ast.Call(args=[_, _]) | ast.Call(func=ast.Name(id="setattr")):
            return True
    return False


def set_rate(draft: Draft, node: ast.AST) -> Setting | None:
    """Where a statement sets an optimizer's rate. A plain name is only bound again: that sets nobody's."""
    match node:
        case ast.Assign(targets=[ast.Attribute() as kept], value=value) if _is_setting(draft, kept):
            pass
        case ast.AugAssign(target=ast.Attribute() as target) if _is_setting(draft, target):
            return going_on(node, target, node.value, node.op)
        case ast.Call(func=ast.Attribute(attr="assign_add", value=kept), args=[by]) if is_rate(draft, kept):
            return going_on(node, kept, by, ast.Add())
        case ast.Call(func=ast.Attribute(attr="assign_sub", value=kept), args=[by]) if is_rate(draft, kept):
            return going_on(node, kept, by, ast.Sub())
        case _:
            found = set_by_call(draft, node)
            if found is None:
                return None
            kept, value = found
    return Setting(node, kept, value, is_scaled=is_relative(draft, value)) if is_rate(draft, kept) else None


def is_rate(draft: Draft, e: ast.expr) -> bool:
    """`optimizer.lr`, `self.model.optimizer.learning_rate`, under whatever name, or a variable that feeds a rate."""
    if any(_is_setting(draft, meant) for meant in attributes_meant(draft, e)):
        return True
    if isinstance(e, (ast.Name, ast.Attribute)):
        calls = draft.values.calls(e)
        return bool(calls) and all(
            is_variable(draft, c)
            and ((v := first_value(c) or argument(c, "value", 0)) is not None)
            and draft.was(v, Scaled)
            for c in calls
        )
    return False


def _is_setting(draft: Draft, e: ast.Attribute) -> bool:
    """Whether an attribute is the learning rate of an optimizer."""
    if e.attr not in RATES:
        return False
    holder = e.value
    for held in attributes_meant(draft, holder):
        if held.attr == "optimizer" and (
            held is holder and isinstance(e.ctx, ast.Store) or held_optimizers.is_of_a_model(draft, held)
        ):
            return True
    made = draft.values.calls(holder)
    if any(draft.module.is_optimizer(c) for c in made):
        return True
    if made:  # by what can't be seen into: `getattr(tf.keras.optimizers, name)(rate)`
        return not held_optimizers.trained_with(draft).isdisjoint(made)
    written = any(_is_written_so(holder, u.call) for u in draft.sites.updates)
    if written or held_optimizers.is_in_a_group(draft, holder):
        return True
    return held_optimizers.is_of_some_object(draft, holder)


def _is_written_so(holder: ast.expr, update: ast.Call) -> bool:
    """Whether it is what an update applies gradients with, however that was made: `optimizers[k].apply_gradients(…)`."""
    called = update.func.value if isinstance(update.func, ast.Attribute) else None
    return called is not None and ast.unparse(called) == ast.unparse(holder)


def is_relative(draft: Draft, value: ast.expr) -> bool:
    """Whether a new rate is made from the optimizer's own, which is scaled already, or from a list of those that it had."""
    behind = list(draft.values.depends([value], 400))
    if any(is_rate(draft, named) for n in behind if (named := by_name(draft, n)) is not None):
        return True
    made_of = [n for n in behind if isinstance(n, (ast.Name, ast.Attribute))]
    if any(isinstance(n.ctx, ast.Load) and is_rate(draft, n) for n in made_of):
        return True
    return any(
        isinstance(call.func, ast.Attribute)
        and any(_are_one(draft, call.func.value, n) for n in made_of)
        and any(is_rate(draft, decays.read(draft, o)) for given in call.args for o in _read_as(draft, given))
        for call in draft.sites.method_calls("append")
    )


def _are_one(draft: Draft, kept: ast.expr, e: ast.Name | ast.Attribute) -> bool:
    """Whether two expressions are one list: by their text, or as the same attribute of one object."""
    if ast.unparse(kept) == ast.unparse(e):
        return True
    if not isinstance(kept, ast.Attribute) or not isinstance(e, ast.Attribute) or kept.attr != e.attr:
        return False
    return bool(draft.values.receiver(kept.value) & draft.values.receiver(e.value))


def _read_as(draft: Draft, given: ast.expr) -> list[ast.expr]:
    """An expression, and those that it is another name for."""
    return [
        given,
        *(o.node for o in draft.values.origins(given) if isinstance(o.node, ast.expr) and not o.path),
    ]
