"""What a step trains, as text: the variables to broadcast, and the optimizer's."""

from __future__ import annotations

import ast
from dataclasses import replace

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights import handed_variables
from horovodize.rules.weights.step_place import Place, is_sonnets
from horovodize.summary.express_in_caller import lift, outwards

_SELECTING = ("list", "tuple", "sorted", "reversed", "filter", "set")
_WITH_VARIABLES = ("tensorflow.Module", "tensorflow.keras.layers.Layer", "tensorflow.keras.Model")


def variable_texts(draft: Draft, expression: ast.expr, place: Place) -> dict[str, str | None]:
    """The variables that an expression stands for, as they are called at a place: `model.variables` where it is a model's
    (the trainable ones are only a part of them), else the list itself. A list that has a name where the step is, and none
    at the place, is given that name there: {name: what it is}."""
    found: dict[str, str | None] = {}
    for part in _parts(draft, expression):
        base = part.value if isinstance(part, ast.Attribute) and part.attr in OF_MODEL else None
        base = (
            (_whole(draft, base) or base) if base is not None else None
        )  # all of a model whose layer is trained
        if base is None and _is_model(draft, part):
            base = part
        if base is not None and not _plain_holder(draft, base):
            lifted = lift(draft.module, base, place.way, place.depth)
            if lifted is not None:
                found[f"{ast.unparse(lifted)}.variables"] = None
                continue
        models = [lift(draft.module, m, place.way, place.depth) for m in _picked_from(draft, part)]
        if models and all(m is not None for m in models):
            found |= {f"{ast.unparse(m)}.variables": None for m in models if m is not None}
            continue
        if handed := handed_variables.models(draft, part, place.statement):
            found |= {f"{m.id}.variables": None for m in handed}
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


def _picked_from(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """The models some of whose variables an expression picks: `[v for v in model.trainable_variables if "head" in v.name]`,
    `head_of(model)`, `model.layers[-1].trainable_variables`. Those that it leaves out compute, too, and need rank 0's values;
    nothing where some of it is of no model that can be seen."""
    bindings = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    if len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path and bindings[0].value:
        e = bindings[0].value
    callee = draft.values.callee(e) if isinstance(e, ast.Call) else None
    if isinstance(e, ast.Call) and isinstance(callee, FUNCTIONS):
        own = [m for r in draft.values.returned(callee) for m in _models_in(draft, r)]
        told = [outwards(draft.module, m, callee, e) for m in own]
        return [m for m in told if m is not None] if None not in told else []
    return _models_in(draft, e)


def whole(draft: Draft, variables: ast.expr) -> list[ast.expr]:
    """The variables of the models of which a step trains now one part, now another: of `weights`, where that was assigned
    `model.layers[0].variables` in one case and `model.variables` in the other. What it leaves out in the first step computes,
    too, and is trained later. The variables themselves where they are always the same."""
    bound = draft.module.scopes.reaching(variables) if isinstance(variables, ast.Name) else []
    is_one_of = len(bound) > 1 or isinstance(bound[0].value if bound else variables, ast.IfExp)
    models = _models_in(draft, variables) if is_one_of else []
    each = {ast.unparse(m): m for m in models}.values()
    return [ast.Attribute(m, "variables", ast.Load()) for m in each] or [variables]


def _models_in(draft: Draft, e: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> list[ast.expr]:
    """The models of whose variables a list is made by leaving some out; none where it holds others, too. `seen`: what was
    assigned to the names on the way here."""
    match e:
        case ast.Name():
            bound = draft.module.scopes.reaching(e)
            values = [b.value for b in bound if b.kind == "assign" and not b.path and b.value is not None]
            cases = [_models_in(draft, v, seen | {v}) for v in values if v not in seen]
            return [m for case in cases for m in case] if len(values) == len(bound) and all(cases) else []
        case ast.IfExp(body=body, orelse=other):
            first, second = _models_in(draft, body, seen), _models_in(draft, other, seen)
            return [*first, *second] if first and second else []
        case ast.Attribute(attr=attr, value=base) if attr in OF_MODEL:
            model = _whole(draft, base)
            return [model] if model is not None and _is_seen(draft, model) else []
        case ast.Subscript(value=all_of_it):
            return _models_in(draft, all_of_it, seen)
        case ast.ListComp(elt=elt, generators=[one]) | ast.GeneratorExp(elt=elt, generators=[one]):
            if isinstance(elt, ast.Name) and ast.unparse(elt) == ast.unparse(one.target):
                return _models_in(draft, one.iter, seen)
            return _of_layers(draft, one, elt)
        case ast.ListComp(elt=elt, generators=[one, other]) if ast.unparse(elt) == ast.unparse(other.target):
            return _of_layers(draft, one, other.iter)
        case ast.Call(func=ast.Name(id=name), args=[*_, all_of_it]) if name in _SELECTING:
            return _models_in(draft, all_of_it, seen)
        case ast.Call(func=ast.Name(id="sum"), args=[lists, *_]):
            return _models_in(draft, lists, seen)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            first, second = _models_in(draft, left, seen), _models_in(draft, right, seen)
            return [*first, *second] if first and second else []
    return []


def _of_layers(draft: Draft, layers: ast.comprehension, variables: ast.expr) -> list[ast.expr]:
    """The model through whose layers a list goes, to take the variables of each: `for l in model.layers[1:]`"""
    of = layers.iter.value if isinstance(layers.iter, ast.Subscript) else layers.iter
    if not isinstance(variables, ast.Attribute) or variables.attr not in OF_MODEL:
        return []
    if not isinstance(of, ast.Attribute) or of.attr != "layers":
        return []
    of_each = ast.unparse(variables.value) == ast.unparse(layers.target)
    return [of.value] if of_each and _is_seen(draft, of.value) else []


def _whole(draft: Draft, base: ast.expr) -> ast.expr | None:
    """`model` of `model.layers[-1]`, `model.get_layer("head")`, and of a name for such a layer."""
    bound = draft.module.scopes.reaching(base) if isinstance(base, ast.Name) else []
    if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path and bound[0].value is not None:
        named = bound[0].value
        if isinstance(named, (ast.Subscript, ast.Call)):
            return _whole(draft, named) or base
    match base:
        case ast.Subscript(value=ast.Attribute(attr="layers", value=model)):
            return model
        case ast.Call(func=ast.Attribute(attr="get_layer", value=model)):
            return model
        case ast.Name() | ast.Attribute():
            return base
    return None


def _is_seen(draft: Draft, model: ast.expr | None) -> bool:
    """Whether an expression is a model, and not one of several that a loop goes through."""
    if not isinstance(model, (ast.Name, ast.Attribute)) or _plain_holder(draft, model):
        return False
    bound = draft.module.scopes.reaching(model) if isinstance(model, ast.Name) else []
    return not any(b.kind == "item" for b in bound) and len(bound) < 2


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
    known = "variables" if is_sonnets(draft, optimizer) else variables_of_optimizer(draft)
    return f"{ast.unparse(lifted)}.{known}"


def variables_of_optimizer(draft: Draft) -> str:
    """How the variables of an optimizer are asked for: Keras 3 has a list of them."""
    return "variables" if draft.keras_3 else "variables()"
