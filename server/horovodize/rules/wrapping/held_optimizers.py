"""Which of what a program holds is an optimizer, where it isn't seen at once: what trains, one of a group, `x.optimizer`.

`x.optimizer` may be the optimizer of a model, `model.optimizer.lr`, or the settings of one, `config.optimizer.lr`. It is an
optimizer where what holds it is a model, or is used as one, where it is used as an optimizer itself, or where its rate is set.
Else it is what a program was given: a rate that is not multiplied yet."""

from __future__ import annotations

import ast

from horovodize.python.binding import Binding
from horovodize.python.syntax import argument
from horovodize.rules.drafting import set_together
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.other_names import sets_value

_MODELS = ("tensorflow.keras.Model", "tensorflow.keras.callbacks.Callback")
_OF_MODELS = frozenset(
    {
        "compile", "evaluate", "fit", "fit_generator", "get_weights", "layers", "load_weights", "predict", "predict_on_batch",
        "save", "save_weights", "set_weights", "stop_training", "summary", "test_on_batch", "train_on_batch",
        "trainable_variables", "trainable_weights", "variables", "weights",
    }
)  # fmt: skip
_OF_OPTIMIZERS = frozenset(
    {
        "apply", "apply_gradients", "build", "get_config", "get_gradients", "get_updates", "get_weights", "iterations",
        "minimize", "set_weights", "updates", "variables", "weights",
    }
)  # fmt: skip


def is_of_a_model(draft: Draft, held: ast.Attribute) -> bool:
    """Which of what a program holds is an optimizer, where it isn't seen at once: what trains, one of a group, `x.optimizer`.

    Whether `x.optimizer` is the optimizer of a model."""
    owner = held.value
    if isinstance(owner, ast.Name) and owner.id in ("self", "cls"):
        return True
    if (
        isinstance(owner, ast.Attribute)
        and owner.attr == "model"
        and not draft.values.attribute_bindings(owner)
    ):
        return True  # that of a callback
    if any(_makes_model(draft, call) for call in draft.values.calls(owner)):
        return True
    return (
        _is_used(draft, owner, _OF_MODELS, called=True)
        or _is_used(draft, held, _OF_OPTIMIZERS)
        or any(ast.unparse(kept.value) == ast.unparse(held) for kept in _set(draft))
    )


def trained_with(draft: Draft) -> set[ast.Call]:
    """The calls that make what applies gradients, or what models are compiled with."""
    used = [u.optimizer for u in draft.sites.updates if u.optimizer is not None]
    used += [o for c in draft.sites.compiles for o in c.optimizers]
    return {call for e in used for call in draft.values.calls(e)}


def is_of_some_object(draft: Draft, held: ast.expr) -> bool:
    """Whether something is `trainer.opt` of an object that a function is handed by who can't be seen, where all that the
    program calls so is an optimizer that trains."""
    owner = held.value if isinstance(held, ast.Attribute) else None
    if not isinstance(held, ast.Attribute) or not isinstance(owner, ast.Name):
        return False
    bound = draft.module.scopes.reaching(owner)
    if not bound or any(b.kind != "parameter" or draft.values.passed(b) for b in bound):
        return False
    if draft.values.attribute_bindings(held):
        return False
    trained = trained_with(draft)
    made = [_given(draft, b) for b in draft.module.scopes.attributes.get(held.attr, ())]
    return bool(made) and all(calls and calls <= trained for calls in made)


def _given(draft: Draft, b: Binding) -> set[ast.Call]:
    """The calls that make what an attribute is set to: also of `self.model, self.opt = model, SGD(0.1)`."""
    value: ast.expr | None = b.value if b.kind == "assign" else None
    for place in b.path:
        listed = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        value = listed[place] if 0 <= place < len(listed) else None
    return set(draft.values.calls(value)) if value is not None else set()


def is_in_a_group(draft: Draft, e: ast.expr) -> bool:
    """Whether something is an optimizer of a list or a dictionary of them, whichever: `pairs[-1][1]`, `parts[name]["opt"]`."""
    key: object = None
    while isinstance(e, ast.Subscript):
        if isinstance(e.slice, ast.Constant) and isinstance(e.slice.value, str) and key is None:
            key = e.slice.value
        e = e.value
    origins = [o.node for o in draft.values.origins(e)]
    groups = [
        n for n in origins if isinstance(n, (ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.DictComp))
    ]
    held = [n for group in groups for n in ast.walk(group)]
    if isinstance(key, str):
        named = [
            (k, v) for n in held if isinstance(n, ast.Dict) for k, v in zip(n.keys, n.values, strict=True)
        ]
        held = [
            n for k, v in named if isinstance(k, ast.Constant) and k.value == key for n in ast.walk(v)
        ] or held
    return any(isinstance(n, ast.Call) and draft.module.is_optimizer(n) for n in held)


def _makes_model(draft: Draft, call: ast.Call) -> bool:
    name, made = draft.names.of(call.func) or "", draft.values.made_by(call)
    return any(m in made for m in _MODELS) or ".applications." in name or name.endswith("load_model")


def _is_used(draft: Draft, e: ast.expr, parts: frozenset[str], called: bool = False) -> bool:
    """Whether something of that name has one of some parts read, or is called."""
    text = ast.unparse(e)
    if called and any(ast.unparse(c.func) == text for c in draft.syntax.calls):
        return True
    return any(n.attr in parts and ast.unparse(n.value) == text for n in draft.syntax.every(ast.Attribute))


def _set(draft: Draft) -> list[ast.Attribute]:
    """The attributes that something is set to: `x.lr = 0.1`, `x.lr.assign(0.1)`, `K.set_value(x.lr, 0.1)`."""
    found: list[ast.expr | None] = []
    for n in draft.syntax.every(ast.Assign, ast.AugAssign):
        found += n.targets if isinstance(n, ast.Assign) else [n.target]
    for call in draft.syntax.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("assign", "assign_add", "assign_sub"):
            found.append(call.func.value)
        elif sets_value(draft, call):
            found.append(argument(call, "x", 0))
    found += [pair.elts[0] for pair in set_together.pairs(draft)]
    return [e for e in found if isinstance(e, ast.Attribute)]


__all__ = ["is_in_a_group", "is_of_a_model", "trained_with"]
