"""What a program keeps beside the model and brings up to date from it: target networks, moving averages; and what its loss is
made with but no step trains: a random network whose outputs are learned. Part of G2.

They are made before the first broadcast, so each rank's hold its own random weights. Where the training looks at them (the
targets of a value network), ranks would learn from different ones for as long as the copies take to forget them; with a
random network, forever: each rank would have another loss."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeGuard

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.files.kept import first_value
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, LOOPS, Loop, argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights import handed_variables
from horovodize.rules.weights.called_there import is_there, said_at
from horovodize.rules.weights.step_place import Place
from horovodize.rules.weights.step_state import is_one_variable
from horovodize.summary.express_in_caller import is_plain, lift

ASSIGNS = ("assign", "assign_add", "assign_sub")
# Methods that set parts of a variable, and those that change what is there.
FILLS = ("scatter_nd_update", "scatter_update", "batch_scatter_update")
MOVES = (
    "scatter_add",
    "scatter_sub",
    "scatter_mul",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_nd_add",
    "scatter_nd_sub",
)
_LAYER = "tensorflow.keras.layers.Layer"
HOLDERS = {_LAYER, "tensorflow.keras.Model", "tensorflow.Module"}
_NEW_WEIGHTS = {"tensorflow.keras.models.clone_model", "tensorflow.keras.models.model_from_json"}
# Layers without random weights. Some hold the state of random numbers, which must not become the same on all ranks; others
# what `adapt` learnt, from data that are whole on each rank there.
_WEIGHTLESS = re.compile(
    r"keras\.layers\.(experimental\.preprocessing\.)?(Random\w+|\w*Dropout\d?D?|\w*Pool\w*|Gaussian\w+|Flatten|Reshape|Permute"
    r"|RepeatVector|Activation|ReLU|LeakyReLU|ELU|Softmax|Lambda|Rescaling|Resizing|CenterCrop|Input\w*|Masking"
    r"|(UpSampling|ZeroPadding|Cropping)\dD|Add|Subtract|Multiply|Average|Maximum|Minimum|Concatenate|Dot"
    r"|StringLookup|IntegerLookup|TextVectorization|Normalization|Discretization|CategoryEncoding|Hashing|HashedCrossing)$"
)
_ASKING = ("predict", "predict_on_batch", "call")
_CALLED = (ast.Name, ast.Attribute, ast.Subscript)  # `nets[0](x)`
_OF_SHAPE = ("zeros_like", "ones_like", "shape", "rank", "size")
Copy: TypeAlias = tuple[ast.expr, ast.AST]  # the model or list of variables, and where it is written to


def copies_at(draft: Draft, place: Place, trained: set[str], partners: Sequence[Copy] = ()) -> list[str]:
    """The variables of the copies that training reads or writes, and of the `partners` of what is trained, as they are called
    at a place; without those in `trained`."""
    found: dict[str, None] = {}
    known = set[ast.AST]()
    whole = tuple(t.removesuffix("variables") for t in trained if t.endswith(".variables"))
    untrained = [*_untrained(draft, place), *partners]
    copies = (*_copied_models(draft, place), *blended(draft), *untrained)
    said = ((copy, site, e) for copy, site in copies for e in said_at(draft, copy, site, place))
    for copy, site, at_place in said:
        if not is_plain(at_place) or not is_there(draft, at_place, place):
            continue
        if isinstance(at_place, ast.Attribute) and at_place.attr in OF_MODEL:
            text = f"{ast.unparse(at_place.value)}.variables"
        else:
            text = ast.unparse(at_place)
            if is_one_variable(draft, copy):
                text = f"[{text}]"
        part = (copy, site) in untrained and text.removeprefix("[").startswith(whole)
        if text not in trained and not part and not (_made_once(draft, copy) & known):
            found[text] = None
            known |= _made_once(draft, copy)
    return list(found)


def _made_once(draft: Draft, copy: ast.expr) -> set[ast.AST]:
    """What makes a copy, where that is one call for sure: by it, two names are seen to mean one copy."""
    model = copy.value if isinstance(copy, ast.Attribute) and copy.attr in OF_MODEL else copy
    if _parts(draft, model):
        return set()  # the call may make several
    calls: set[ast.AST] = {n for n in made_of(draft, model) if isinstance(n, ast.Call)}
    return calls if len(calls) == 1 else set()


# ---------------------------------------------------------------------- copies


def _copied_models(draft: Draft, place: Place) -> Iterator[Copy]:
    """`target.set_weights(model.get_weights())` of a model that training calls, too: there, and where that is."""
    asked = [*called(draft), *_held(draft)]
    calls = [(ast.unparse(e), e, call) for e, call in asked if _is_in_training(draft, call, place)]
    for call in draft.sites.method_calls("set_weights"):
        assert isinstance(call.func, ast.Attribute)
        model = call.func.value
        taken = draft.values.depends(call.args, 200)
        if any(isinstance(n, ast.Call) and draft.names.last(n.func) == "get_weights" for n in taken):
            uses = [(e, use) for text, e, use in calls if text == ast.unparse(model)]
            for e, site in ((model, call), *uses) if uses else ():
                yield ast.Attribute(e, "variables", ast.Load()), site


def _held(draft: Draft) -> Iterator[tuple[ast.expr, ast.Call]]:
    """The models that objects of this file hold and ask in a method: `target.model` of `target.predict(x)`, with the call."""
    for call in draft.syntax.calls:
        if not isinstance(call.func, ast.Attribute) or not isinstance(
            call.func.value, (ast.Name, ast.Attribute)
        ):
            continue
        method = draft.values.callee(call)
        if (
            not isinstance(method, FUNCTIONS)
            or draft.syntax.method_class(method) is None
            or not method.args.args
        ):
            continue
        own = method.args.args[0].arg
        for n in ast.walk(method):
            held = n.func if isinstance(n, ast.Call) else None
            if isinstance(held, ast.Attribute) and held.attr in ("predict", "predict_on_batch", "call"):
                held = held.value
            if isinstance(held, ast.Attribute) and isinstance(held.value, ast.Name) and held.value.id == own:
                yield ast.Attribute(call.func.value, held.attr, ast.Load()), call


def called(draft: Draft) -> Iterator[tuple[ast.expr, ast.Call]]:
    """What is called, or asked to predict, with the call."""
    return ((_asked(call), call) for call in draft.syntax.calls if isinstance(call.func, _CALLED))


def called_with_weights(draft: Draft) -> list[tuple[ast.expr, ast.Call]]:
    """The same of models and layers with weights of their own."""
    return [(_asked(call), call) for call in draft.module.calls_which(_asks_what_has_weights)]


def _asked(call: ast.Call) -> ast.expr:
    func = call.func
    return func.value if isinstance(func, ast.Attribute) and func.attr in _ASKING else func


def _asks_what_has_weights(module: Module, call: ast.Call) -> bool:
    if not isinstance(call.func, _CALLED):
        return False
    asked = _asked(call)
    made = module.values.calls(asked) or [
        c for e in _made_each(module, asked) for c in module.values.calls(e)
    ]
    return any(makes_weights(module, m) for m in made)


def _made_each(module: Module, e: ast.expr) -> Iterator[ast.expr]:
    """What a comprehension makes for each of several names, or places: `make()` of `first, target = [make() for _ in "ab"]`,
    `nets = {key: make() for key in "ab"}`."""
    if isinstance(e, ast.Subscript):
        held: list[ast.AST | None] = [o.node for o in module.values.origins(e.value)]
    else:
        bound = module.scopes.reaching(e) if isinstance(e, ast.Name) else []
        bound = module.values.attribute_bindings(e) if isinstance(e, ast.Attribute) else bound
        held = [b.value for b in bound if b.kind == "assign" and b.path]
    while held:
        made = held.pop()
        if (
            isinstance(made, ast.Call)
            and len(made.args) == 1
            and module.names.last(made.func) in ("list", "tuple")
        ):
            held.append(made.args[0])
        elif isinstance(made, (ast.ListComp, ast.GeneratorExp)):
            held += [made.elt] if isinstance(made.elt, (ast.ListComp, ast.GeneratorExp)) else []
            yield made.elt
        elif isinstance(made, ast.DictComp):
            yield made.value


def _is_in_training(draft: Draft, call: ast.Call, place: Place) -> bool:
    """Whether a call is made where the steps are taken: what is only looked at between epochs need not be there yet."""
    return any(
        draft.syntax.inside(frame.node, place.loop)
        if place.loop is not None
        else frame.function is place.frame.function
        for way in draft.drive.ways(call)
        for frame in way
    )


def blended(draft: Draft) -> Iterator[Copy]:
    """`for c, v in zip(copies, model.variables): c.assign(0.99 * c + 0.01 * v)`."""
    for call in draft.sites.method_calls(*ASSIGNS):
        assert isinstance(call.func, ast.Attribute)
        around = (a for a in draft.syntax.ancestors(call) if isinstance(a, (*LOOPS, ast.ListComp)))
        loop = next(around, None)
        pairs = zipped(draft, loop) if loop is not None and isinstance(call.func.value, ast.Name) else {}
        copy = pairs.get(ast.unparse(call.func.value))
        read = {name for arg in call.args for name in _read_by_value(draft, arg)}
        if copy is not None and any(
            pairs[name] is not copy and _is_of_model(draft, pairs[name], call) for name in read & pairs.keys()
        ):
            yield copy, call


def _read_by_value(draft: Draft, e: ast.AST) -> Iterator[str]:
    """The names whose values an expression is made of, and not only their shape: of `zeros_like(v) + w` `w`."""
    if isinstance(e, ast.Call) and draft.names.last(e.func) in _OF_SHAPE:
        return
    if isinstance(e, ast.Attribute) and e.attr in ("shape", "dtype"):
        return
    if isinstance(e, ast.Name):
        yield e.id
    for part in ast.iter_child_nodes(e):
        yield from _read_by_value(draft, part)


def zipped(draft: Draft, loop: Loop | ast.ListComp) -> dict[str, ast.expr]:
    """What the targets of `for a, b in zip(x, y)` are items of, also where a name or a method stands for the pairs."""
    head = loop.generators[0] if isinstance(loop, ast.ListComp) else loop
    if isinstance(head, ast.While) or not isinstance(head.target, ast.Tuple):
        return {}
    made = [o.node for o in draft.values.origins(head.iter)]
    e = made[0] if len(made) == 1 and not _zips(head.iter, draft) else head.iter
    if not (_zips(e, draft) and len(e.args) == len(head.target.elts)):
        return {}
    pairs = zip(head.target.elts, e.args, strict=True)
    return {target.id: of for target, of in pairs if isinstance(target, ast.Name)}


def _zips(e: ast.AST, draft: Draft) -> TypeGuard[ast.Call]:
    return isinstance(e, ast.Call) and draft.names.last(e.func) == "zip"


def _is_of_model(draft: Draft, e: ast.expr, site: ast.AST) -> bool:
    """Whether an expression stands for a model's variables, of a parameter: wherever it is called. An object may keep what it
    was handed, `self.fast = list(variables)`."""
    if isinstance(e, ast.Attribute) and e.attr in OF_MODEL:
        return True
    if any(True for _ in of_models(draft, e)):
        return True
    if isinstance(e, ast.Attribute):
        return False
    if isinstance(e, ast.BinOp):  # the variables of several models
        return isinstance(e.op, ast.Add) and all(
            _is_of_model(draft, part, site) for part in (e.left, e.right)
        )
    given = [lift(draft.module, e, way, 1) for way in draft.drive.ways(site) if len(way) > 1]
    return bool(given) and all(isinstance(g, ast.Attribute) and g.attr in OF_MODEL for g in given)


def of_models(draft: Draft, e: ast.expr, depth: int = 3) -> Iterator[ast.Attribute]:
    """Where models are asked for the variables that a name or a field stands for, whoever was handed them:
    `model.trainable_variables`, of that `list(variables)`."""
    for made in made_of(draft, e):
        copied = isinstance(made, ast.Call) and draft.names.last(made.func) in ("list", "tuple")
        value = made.args[0] if isinstance(made, ast.Call) and copied and made.args else made
        if isinstance(value, (ast.Name, ast.Attribute)) and value is not made and depth:
            yield from of_models(draft, value, depth - 1)
        parts = [value.left, value.right] if isinstance(value, ast.BinOp) else [value]
        asked = [n for n in parts if isinstance(n, ast.Attribute) and n.attr in OF_MODEL]
        if len(asked) == len(parts):  # of several models: `encoder.variables + decoder.variables`
            yield from asked


# ---------------------------------------------------------------------- what no step trains


def _untrained(draft: Draft, place: Place) -> Iterator[Copy]:
    """What no step trains, or not each time its function is called: of `run(head.trainable_variables)`, and then of
    `run(base.trainable_variables + …)`, the base; or only in some cases: `head.variables if frozen else …`."""
    trained = set[ast.AST]()
    for variables in (v for u in draft.sites.updates for v in u.variables):
        frozen = handed_variables.without_name(draft, variables, place.statement)  # it may be, in parts
        parts = {made for m in frozen for made in made_of(draft, m)}
        trained |= (
            set[ast.AST].intersection(*(trained_by(draft, [e]) for e in _cases(draft, variables))) - parts
        )
    return looked_at(draft, place, trained)


def _cases(draft: Draft, e: ast.expr, depth: int = 3) -> list[ast.expr]:
    """What an expression may stand for, one of them each time."""
    given: list[ast.expr] = []
    if isinstance(e, ast.IfExp):
        given = [e.body, e.orelse]
    elif isinstance(e, ast.Name):
        bound = draft.module.scopes.reaching(e)
        if [b.kind for b in bound] == ["parameter"]:
            given = list(draft.values.passed(bound[0]))
        elif all(b.kind == "assign" and not b.path and not isinstance(b.value, ast.List) for b in bound):
            given = [b.value for b in bound if b.value is not None]
    return [case for g in given for case in _cases(draft, g, depth - 1)] if given and depth else [e]


def trained_by(draft: Draft, variables: Sequence[ast.expr]) -> set[ast.AST]:
    """All that lists of variables are made of: the models, where they are made."""
    trained = set(draft.values.depends(variables))
    gathered = [e for n in trained if isinstance(n, ast.Name) for e in draft.sites.flow.appended(n)]
    trained.update(draft.values.depends(gathered))
    return trained


def looked_at(draft: Draft, place: Place, trained: set[ast.AST]) -> Iterator[Copy]:
    """What the losses of the steps depend on in each turn, besides what is `trained`: models, layers, `tf.Variable`s or lists
    of them."""
    losses = list(losses_of(draft))
    if not losses:
        return
    used = set(draft.values.depends(losses))
    set_by_hand = {
        made
        for call in draft.sites.method_calls(*ASSIGNS)
        if isinstance(call.func, ast.Attribute)
        for made in made_of(draft, call.func.value)
    }

    def is_wanted(e: ast.expr, site: ast.AST) -> bool:
        made = made_of(draft, e)
        return bool(made) and not _is_among(draft, e, made, trained) and is_in_every_turn(draft, site, place)

    for e, call in called_with_weights(draft):
        if call in used and is_wanted(e, call):
            yield ast.Attribute(e, "variables", ast.Load()), call
    for n in draft.syntax.every(ast.Name, ast.Attribute):
        if n in used and is_variables(draft, n) and is_wanted(n, n):
            if not made_of(draft, n) & set_by_hand or _starts_apart(draft, n):
                yield n, n


def _is_among(draft: Draft, e: ast.expr, made: set[ast.AST], trained: set[ast.AST]) -> bool:
    """Whether what a name stands for is among what is `trained`; of several that are made together,
    `first, target = [make() for _ in range(2)]`, by its name or its place."""
    if not made & trained:
        return False
    parts = _parts(draft, e)
    return not parts or any(_is_part(draft, n, part) for part in parts for n in trained)


def _parts(draft: Draft, e: ast.expr, depth: int = 3) -> list[ast.expr]:
    """Where something is taken from what is made together, by the name or the place that it has there."""
    if isinstance(e, ast.Subscript):
        return [e]
    bindings = _bindings(draft, e)
    if bindings and all(b.kind == "assign" and b.path for b in bindings):
        return [e]
    given = [g for b in bindings for g in _given(draft, b)] if depth else []
    return [part for g in given for part in _parts(draft, g, depth - 1)]


def _is_part(draft: Draft, n: ast.AST, part: ast.expr) -> bool:
    if isinstance(part, ast.Subscript):
        return isinstance(n, ast.Subscript) and ast.dump(n) == ast.dump(part)
    return isinstance(n, (ast.Name, ast.Attribute)) and draft.names.last(n) == draft.names.last(part)


def _starts_apart(draft: Draft, variable: ast.Name | ast.Attribute) -> bool:
    """Whether each rank draws what a variable begins with."""
    begins = [
        first_value(made)
        for made in made_of(draft, variable)
        if isinstance(made, ast.Call) and draft.names.of(made.func) == "tensorflow.Variable"
    ]
    if any(_is_variable(e, draft) and _starts_apart(draft, e) for e in begins):
        return True  # a copy of one
    found = (r for e in begins if e is not None for r in draft.uniform.of_values.reasons(e))
    return any(isinstance(r, Varies) and r.kind is Source.CHANCE for r in found)


def _is_variable(e: ast.expr | None, draft: Draft) -> TypeGuard[ast.Name | ast.Attribute]:
    return isinstance(e, (ast.Name, ast.Attribute)) and is_variables(draft, e)


def losses_of(draft: Draft) -> Iterator[ast.AST]:
    """What steps differentiate."""
    for update in draft.sites.updates:
        for gradient in update.gradients:
            target = argument(gradient, "target", 0)
            if target is not None:
                yield target
        loss = argument(update.call, "loss", 0) if update.method == "minimize" else None
        if loss is not None:
            yield loss
            for origin in draft.values.origins(loss):
                if isinstance(origin.node, CALLABLES):
                    yield from draft.values.returned(origin.node)


def made_of(draft: Draft, e: ast.expr, depth: int = 3) -> set[ast.AST]:
    """What a name or an attribute was set to, through parameters and other names; of an item, `nets[0]`, what holds it."""
    if isinstance(e, ast.Subscript):
        return made_of(draft, e.value, depth) if isinstance(e.slice, ast.Constant) else set()
    found: set[ast.AST] = set()
    for b in _bindings(draft, e):
        given = _given(draft, b)
        found.update(given)
        for other in given if depth else ():
            found |= made_of(draft, other, depth - 1)
    return found


def _bindings(draft: Draft, e: ast.expr) -> Sequence[Binding]:
    if isinstance(e, ast.Name):
        return draft.module.scopes.reaching(e)
    return draft.values.attribute_bindings(e) if isinstance(e, ast.Attribute) else ()


def _given(draft: Draft, b: Binding) -> Sequence[ast.expr]:
    return draft.values.passed(b) if b.kind == "parameter" else [b.value] if b.value is not None else []


def makes_weights(module: Module, call: ast.Call) -> bool:
    """Whether a call makes a model or a layer with weights of its own."""
    names = module.values.made_by(call)
    if names & _NEW_WEIGHTS:
        return True
    if ".applications." in (module.names.of(call.func) or ""):
        return may_be_new(module, argument(call, "weights"))
    if not names & HOLDERS or any("keras.metrics." in name or "keras.losses." in name for name in names):
        return False
    name = module.names.of(call.func) or ""
    layers = argument(call, "layers", 0) if name.endswith(".Sequential") else None
    if isinstance(layers, (ast.List, ast.Tuple)) and layers.elts:
        return any(not isinstance(e, ast.Call) or _layer_has_weights(module, e) for e in layers.elts)
    return _WEIGHTLESS.search(name) is None


def may_be_new(module: Module, weights: ast.expr | None) -> bool:
    """Whether what Keras is told of a model's weights may be None, so that each rank draws its own; else they are a file's."""
    if weights is None:
        return False
    made = [o.node for o in module.values.origins(weights)]
    return not made or not all(_is_text(n) for n in made)


def _is_text(n: ast.AST) -> bool:
    if isinstance(n, ast.Constant):
        return isinstance(n.value, str)
    return isinstance(n, (ast.JoinedStr, ast.BinOp)) or (
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr in ("join", "format", "get_file")
    )


def _layer_has_weights(module: Module, call: ast.Call) -> bool:
    return _WEIGHTLESS.search(module.names.of(call.func) or "") is None


def is_variables(draft: Draft, e: ast.Name | ast.Attribute) -> bool:
    """Whether a name that is read stands for a `tf.Variable` or a list of them."""
    if not isinstance(e.ctx, ast.Load) or not draft.values.origins(e):
        return False
    for origin in draft.values.origins(e):
        node = origin.node
        if isinstance(node, (ast.List, ast.Tuple)) and not origin.path:
            made: list[ast.expr] = node.elts
        else:
            made = [node.elt] if isinstance(node, ast.ListComp) and not origin.path else [node]  # type: ignore[list-item]
        if not made or any(
            not isinstance(m, ast.Call) or draft.names.of(m.func) != "tensorflow.Variable" for m in made
        ):
            return False
    return True


def is_in_every_turn(draft: Draft, site: ast.AST, place: Place) -> bool:
    """Whether each turn of the loop of a place, the first one too, comes by a site: what a model is not called for in the first
    step need not have variables then."""
    for way in draft.drive.ways(site):
        for frame in way:
            conditions = [c for c, _ in draft.syntax.conditions(frame.node)]
            if place.loop is None:
                here = frame.function is place.frame.function
            else:
                here = draft.syntax.inside(frame.node, place.loop)
                conditions = [c for c in conditions if not here or draft.syntax.inside(c, place.loop)]
            if conditions:
                break
            if here:
                return True
    return False
