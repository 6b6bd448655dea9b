"""What a step trains, as text: the variables to broadcast, and the optimizer's."""

from __future__ import annotations

import ast
from dataclasses import replace

from horovodize.rules.draft import Draft
from horovodize.rules.step_place import Place
from horovodize.summary.express_in_caller import lift

OF_MODEL = ("trainable_variables", "trainable_weights", "variables", "weights")
_WITH_VARIABLES = ("tensorflow.Module", "tensorflow.keras.layers.Layer", "tensorflow.keras.Model")


def variable_texts(draft: Draft, expression: ast.expr, place: Place) -> dict[str, str | None]:
    """The variables that an expression stands for, as they are called at a place: `model.variables` where it is a model's
    (the trainable ones are only a part of them), else the list itself. A list that has a name where the step is, and none
    at the place, is given that name there: {name: what it is}."""
    found: dict[str, str | None] = {}
    for part in _parts(draft, expression):
        base = part.value if isinstance(part, ast.Attribute) and part.attr in OF_MODEL else None
        if base is None and _is_model(draft, part):
            base = part
        if base is not None and not _plain_holder(draft, base):
            lifted = lift(draft.module, base, place.way, place.depth)
            if lifted is not None:
                found[f"{ast.unparse(lifted)}.variables"] = None
                continue
        lifted = lift(draft.module, part, place.way, place.depth)
        if lifted is None:
            continue
        if _is_handed(draft, part, lifted):
            found |= variable_texts(draft, lifted, replace(place, depth=0))
            continue
        if isinstance(part, ast.Name) and not isinstance(lifted, (ast.Name, ast.Attribute)):
            if draft.module.scopes.lookup(part.id, place.statement) is None:
                found[part.id] = ast.unparse(lifted)
                continue
        text = ast.unparse(lifted)
        if is_nested(draft, part):
            text = f"{draft.tensorflow()}.nest.flatten({text})"
        found[f"[{text}]" if is_one_variable(draft, part) else text] = None
    return found


def _is_handed(draft: Draft, part: ast.expr, lifted: ast.expr) -> bool:
    """Whether a parameter stands for a model's variables, which a call hands over: `apply(g, model.trainable_variables)`."""
    written = lifted is not part and lifted in draft.syntax.parent
    return written and isinstance(lifted, ast.Attribute) and lifted.attr in OF_MODEL


def is_one_variable(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is one `tf.Variable`, not a list of them."""
    origins = draft.values.origins(e)
    made = [draft.names.of(o.call.func) if o.call is not None else None for o in origins]
    return bool(made) and all(name == "tensorflow.Variable" for name in made)


def is_nested(draft: Draft, source: ast.expr) -> bool:
    """Whether gradients are asked for of several lists of variables, or of a dictionary: `[body.variables, head.variables]`."""
    for o in draft.values.origins(source):
        if o.path:
            continue
        if isinstance(o.node, (ast.Dict, ast.DictComp)):
            return True
        parts = o.node.elts if isinstance(o.node, (ast.List, ast.Tuple)) else []
        if any(_is_list(draft, part) for part in parts if not isinstance(part, ast.Starred)):
            return True
    return False


def _is_list(draft: Draft, e: ast.expr) -> bool:
    made = [o.node for o in draft.values.origins(e) if not o.path]
    return any(
        isinstance(n, (ast.List, ast.Tuple, ast.ListComp))
        or (isinstance(n, ast.Attribute) and n.attr in OF_MODEL and not draft.values.attribute_bindings(n))
        for n in made
    )


def _parts(draft: Draft, expression: ast.expr) -> list[ast.expr]:
    """A name that is bound once to models' variables stands for them; a sum has several parts."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
        return [*_parts(draft, expression.left), *_parts(draft, expression.right)]
    if isinstance(expression, ast.Name):
        bindings = draft.module.scopes.reaching(expression)
        value = (
            bindings[0].value
            if len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path
            else None
        )
        if value is not None and draft.syntax.function(value) is draft.syntax.function(expression):
            parts = _parts(draft, value)
            if all(isinstance(part, ast.Attribute) and part.attr in OF_MODEL for part in parts):
                return parts
    return [expression]


def _is_model(draft: Draft, e: ast.expr) -> bool:
    return any(site.model is e for site in draft.sites.fits)


def _plain_holder(draft: Draft, base: ast.expr) -> bool:
    """Whether the object is of a class of this module that TensorFlow does not know: then it need not have `variables`."""
    for call in draft.values.calls(base):
        cls = draft.values.callee(call)
        if isinstance(cls, ast.ClassDef) and not any(
            a in draft.values.ancestors(cls) for a in _WITH_VARIABLES
        ):
            names = draft.values.ancestors(cls)
            return not names
    if isinstance(base, ast.Name) and base.id == "self":
        owner = draft.syntax.owner(base)
        return owner is not None and not draft.values.ancestors(owner) and not owner.bases
    return False


def optimizer_text(draft: Draft, optimizer: ast.expr, place: Place) -> str:
    """The optimizer's variables. `variables()` works in every Keras 2 that Horovod 0.28 does (a property can be called)."""
    lifted = lift(draft.module, optimizer, place.way, place.depth)
    assert lifted is not None
    return f"{ast.unparse(lifted)}.{variables_of_optimizer(draft)}"


def variables_of_optimizer(draft: Draft) -> str:
    """How the variables of an optimizer are asked for: Keras 3 has a list of them."""
    return "variables" if draft.keras_3 else "variables()"
