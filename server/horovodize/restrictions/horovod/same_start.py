"""Whether anything may give all ranks the same weights before they train (HVD306)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.once import once
from horovodize.python.syntax import FUNCTIONS, argument, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.sent_by_helpers import handed
from horovodize.restrictions.horovod.sent_weights import (
    is_left,
    made_by,
    trained_model,
    trained_models,
)

# What bears such a name may give all ranks the same weights.
_SAME = re.compile(
    r"roadcast|seed|set_weights|restore|assign|elastic|load_(weights|model|check|state|var|param|pretrained)|from_pretrained"
)
_LOADS = re.compile(r"load|restore|set_weights|assign")
_OF_ARRAYS = ("tensorflow.random.", "tensorflow.compat.v1.random", "numpy.random.")
_ASSIGNING = ("tensorflow.compat.v1.assign", "tensorflow.assign")
WEIGHTED = ("Dense", "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "LSTM", "GRU", "Embedding")
_RATES = ("lr", "learning_rate")
_COMPUTING = ("zip", "list", "tuple", "range", "len", "enumerate", "sum", "map")
_MEANS = ("mean", "average", "copy", "add", "multiply", "zeros_like", "append")
_BEHIND = 200
_VALUES = (
    "broadcast",
    "broadcast_object",
)  # they give a value; what puts it into weights has another of these names


def may_start_alike(context: Context, *but: str) -> bool:
    """Whether anything may give all ranks the same weights, calls of `but` aside."""
    sending = {call.func for call in context.facts.horovod.calls(*but)}
    named = (node for node in _named(context) if node not in sending)
    return any(_may_make_same(context, node) for node in named) or _has_seeded_weights(context)


def _named(context: Context) -> Iterator[ast.expr]:
    """What is read and bears a name that may give all ranks the same weights."""
    for name in context.module.loads:
        if _SAME.search(name):
            yield from context.module.loads.get(name)


def _may_make_same(context: Context, node: ast.expr) -> bool:
    """Whether that is so: not where one rank alone loads or restores, nor where only a number is sent."""
    use, tests = context.facts.horovod, context.facts.rank_tests
    call = context.syntax.parent.get(node)
    if isinstance(call, ast.Call) and call.func is node and use.is_call(call, *_VALUES):
        return False
    if isinstance(call, ast.Call) and call.func is node and is_left(context, call):
        return False
    if isinstance(call, ast.Call) and call.func is node and _sends_no_model(context, call):
        return False
    if isinstance(call, ast.Call) and call.func is node and _is_asked_inside(context, call):
        return False
    if context.facts.never_run.is_at(node) or _seeds_no_weights(context, node):
        return False
    if _is_rows(context, node) or _is_asked_of_nobody(context, node):
        return False
    if not _LOADS.search(context.names.last(node)):
        return True
    if _sets_another(context, node):
        return False
    return tests.deciding(node) is None and not _comes_last(context, node)


def _is_asked_inside(context: Context, call: ast.Call) -> bool:
    """Whether a call runs a function of the script, in which something else of such a name says what it does: that is asked."""
    function = context.values.callee(call)
    return isinstance(function, FUNCTIONS) and any(
        context.syntax.inside(node, function) for node in _named(context)
    )


def _is_rows(context: Context, node: ast.expr) -> bool:
    """Whether what is called a seed is an array that was drawn, such as the noise for a GAN's samples: it seeds nothing."""
    if not isinstance(node, ast.Name):
        return False
    made = [o.node for o in context.values.origins(node)]
    return bool(made) and all(
        isinstance(m, ast.Call)
        and (context.names.of(m.func) or "").startswith(_OF_ARRAYS)
        and _is_shaped(context, m)
        for m in made
    )


def _is_shaped(context: Context, draw: ast.Call) -> bool:
    """Whether a draw is told of how many numbers, and so gives several: `tf.random.normal([16, 100])`."""
    shape = argument(draw, "shape", 0) or argument(draw, "size", 2)
    found = [o.node for o in context.values.origins(shape)] if shape is not None else []
    return bool(found) and all(isinstance(s, (ast.List, ast.Tuple)) and s.elts for s in found)


def _is_asked_of_nobody(context: Context, node: ast.expr) -> bool:
    """Whether something stands in a function or method that nothing in the script names, while the script trains by itself.
    What a class of a library calls itself, and what a decorator takes, is named elsewhere."""
    function = context.syntax.function(node)
    if not isinstance(function, FUNCTIONS) or function.decorator_list or function.name.startswith("__"):
        return False
    owner = context.syntax.method_class(function)
    if owner is not None and not all(isinstance(b, ast.Name) and b.id == "object" for b in owner.bases):
        return False
    if context.module.loads.get(function.name) or context.facts.horovod.runs(node):
        return False  # `tf.app.run()` runs a `main` that it doesn't name
    return _trains_by_itself(context) and function.name not in _constants(context)


@once
def _trains_by_itself(context: Context) -> bool:
    return any(map(context.facts.horovod.runs, context.training_sites))


@once
def _constants(context: Context) -> set[object]:
    """All that is written out: methods that are called by their name."""
    return {n.value for n in context.syntax.every(ast.Constant)}


def _sets_another(context: Context, node: ast.expr) -> bool:
    """Whether what is set or loaded is surely none of what is trained: a variable that isn't trainable, or the weights of
    another model, such as a teacher's."""
    if not isinstance(node, ast.Attribute):
        return False
    call = context.syntax.parent.get(node)
    if context.names.of(node) in _ASSIGNING:  # `tf.assign(rate, value)`
        variable = argument(call, "ref", 0) if isinstance(call, ast.Call) and call.func is node else None
        made = context.values.calls(variable) if variable is not None else []
        return bool(made) and all(_isnt_trained(argument(c, "trainable", 1)) for c in made)
    made = context.values.calls(node.value)
    if node.attr in ("assign", "assign_add", "assign_sub"):
        if _is_weight_of_another(context, node.value) or context.names.last(node.value) in _RATES:
            return True
        return bool(made) and all(_isnt_trained(argument(c, "trainable", 1)) for c in made)
    if node.attr == "set_weights" and isinstance(call, ast.Call) and call.func is node:
        return _is_copied_from_trained(context, call)
    if node.attr != "load_weights":
        return False
    if context.sites.fits:
        return _is_a_part(context, node.value)
    made = made_by(context, node.value)
    trained = [m for update in context.sites.updates for m in trained_models(context, update)]
    calls = [made_by(context, model) for model in trained]
    if len(made) != 1 or not calls or any(len(each) != 1 for each in calls):
        return False
    firsts = {each[0] for each in calls}
    of_trained = set(context.values.depends([*firsts], _BEHIND))
    return made[0] not in of_trained and not firsts & set(context.values.depends(made, _BEHIND))


def _is_a_part(context: Context, loaded: ast.expr) -> bool:
    """Whether what is loaded into is a part of each model that is fitted, and each has layers of its own beside it, which start
    with other weights on each rank: a head on a network that was trained before."""
    part = made_by(context, loaded)
    if len(part) != 1 or context.sites.updates:
        return False
    inside = set(context.values.depends(part, _BEHIND))
    for fit in context.sites.fits:
        made = made_by(context, fit.model)
        behind = set(context.values.depends(made, _BEHIND))
        own = [
            n
            for n in behind - inside
            if isinstance(n, ast.Call) and (context.names.of(n.func) or "").rsplit(".", 1)[-1] in WEIGHTED
        ]
        if len(made) != 1 or made[0] is part[0] or part[0] not in behind or not own:
            return False
    return bool(context.sites.fits)


def _is_copied_from_trained(context: Context, call: ast.Call) -> bool:
    """Whether a network gets weights that this rank has itself: `target.set_weights(online.get_weights())`, or a mean of such
    weights. That makes ranks no more alike than they were."""
    return len(call.args) == 1 and _are_of_this_rank(context, call.args[0], set())


def _are_of_this_rank(context: Context, e: ast.expr, seen: set[ast.AST]) -> bool:
    """Whether some weights are surely taken from networks here, `model.get_weights()`, and calculated with."""
    if e in seen:
        return True
    seen.add(e)
    match e:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(attr="get_weights"), args=[]):
            return True
        case ast.Call(args=args) if context.is_builtin(e.func, *_COMPUTING) or (
            context.names.last(e.func) in _MEANS
            and (context.names.of(e.func) or "").startswith(("numpy.", "tensorflow.", "copy."))
        ):
            return all(_are_of_this_rank(context, a, seen) for a in args)
        case ast.BinOp(left=left, right=right):
            return _are_of_this_rank(context, left, seen) and _are_of_this_rank(context, right, seen)
        case ast.IfExp(body=body, orelse=orelse):
            return _are_of_this_rank(context, body, seen) and _are_of_this_rank(context, orelse, seen)
        case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt):
            return _are_of_this_rank(context, elt, seen)
        case ast.Name() | ast.Attribute():
            bound = (
                context.scopes.reaching(e)
                if isinstance(e, ast.Name)
                else context.values.attribute_bindings(e)
            )
            values = [
                b.value if b.value is not None else getattr(b.statement, "iter", None)
                for b in bound
                if b.kind != "augment"
            ]
            return bool(values) and all(v is not None and _are_of_this_rank(context, v, seen) for v in values)
    return False


def _trained(context: Context) -> set[str]:
    """How the models are written that are trained."""
    models = (trained_model(context, update) for update in context.sites.updates)
    return {context.text(m) for m in models if m is not None} | {
        context.text(fit.model) for fit in context.sites.fits
    }


def _is_weight_of_another(context: Context, e: ast.expr) -> bool:
    """Whether a loop gives the weights of a network that isn't trained, one by one, as an average of another's:
    `for slow, fast in zip(ema.weights, model.weights):`."""
    bound = context.scopes.reaching(e) if isinstance(e, ast.Name) else []
    loop = bound[0].statement if len(bound) == 1 else None
    if not isinstance(loop, ast.For) or not isinstance(e, ast.Name):
        return False
    through, target = loop.iter, loop.target
    if isinstance(through, ast.Call) and context.is_builtin(through.func, "zip"):
        names = target.elts if isinstance(target, ast.Tuple) else []
        at = next((i for i, n in enumerate(names) if isinstance(n, ast.Name) and n.id == e.id), None)
        if at is None or at >= len(through.args):
            return False
        through = through.args[at]
    if not isinstance(through, ast.Attribute) or through.attr not in OF_MODEL:
        return False
    named = context.scopes.reaching(through.value) if isinstance(through.value, ast.Name) else []
    if any(b.kind == "item" for b in named):
        return False  # one of several: `for model in (generator, critic):`
    trained = _trained(context)
    return bool(trained) and context.text(through.value) not in trained


def _isnt_trained(trainable: ast.expr | None) -> bool:
    return isinstance(trainable, ast.Constant) and trainable.value is False


def _comes_last(context: Context, node: ast.expr) -> bool:
    """Whether something at the end of the script is done when all training is."""
    if context.syntax.function(node) is not None or context.syntax.loops(node):
        return False
    ways = [way for site in context.training_sites for way in context.ways(site)]
    return bool(ways) and all(
        way[-1].function is None and position(context.syntax.statement(way[-1].node)) < position(node)
        for way in ways
    )


def _sends_no_model(context: Context, call: ast.Call) -> bool:
    """Whether a broadcast sends what an optimizer keeps, and nothing else."""
    given = (
        argument(call, "variables", 0) if context.facts.horovod.is_call(call, "broadcast_variables") else None
    )
    sent = handed(context, given) if given is not None else []
    return bool(sent) and all(_is_of_optimizer(context, e) for e in sent)


def _is_of_optimizer(context: Context, given: ast.expr) -> bool:
    """`optimizer.variables()`, or `optimizer.variables`."""
    if isinstance(given, ast.Call) and not given.args:
        given = given.func
    if not isinstance(given, ast.Attribute) or given.attr not in ("variables", "weights"):
        return False
    made = context.values.calls(given.value)
    return bool(made) and all(context.module.is_optimizer(c) for c in made)


def _seeds_no_weights(context: Context, node: ast.expr) -> bool:
    """Whether a seed is another on each rank, or seeds something else than TensorFlow; a number so called is only asked for,
    or given to what shuffles rows."""
    seeding = context.syntax.parent.get(node)
    if isinstance(seeding, ast.Call) and seeding.func is node and context.names.last(node).endswith("seed"):
        by_rank = any(
            context.facts.horovod.depends_on(e, "rank", "local_rank", limit=60)
            for e in (*seeding.args, *(k.value for k in seeding.keywords))
        )
        others = context.names.of(node) in (
            "random.seed",
            *(["numpy.random.seed"] if _draws_itself(context) else []),
        )
        return by_rank or others or _is_of_some_ranks(context, seeding)
    if not context.names.last(node).endswith("seed") or not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    parent = context.syntax.parent.get(node)
    while isinstance(parent, ast.BinOp):
        if context.facts.horovod.depends_on(parent, "rank", "local_rank", limit=60):
            return True  # `tf.random.set_seed(seed + hvd.rank())`
        parent = context.syntax.parent.get(parent)
    if isinstance(parent, ast.Compare):
        return True
    call = context.syntax.parent.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return False
    last = context.names.last(call.func)
    return last in ("shuffle", "list_files") or (last == "seed" and _seeds_no_weights(context, call.func))


def _draws_itself(context: Context) -> bool:
    """Whether TensorFlow draws the weights, in a graph: Keras on its own asks NumPy for seeds."""
    return context.sites.builds_graph and not context.module.imports("keras")


def _is_of_some_ranks(context: Context, seeding: ast.Call) -> bool:
    """Whether a test of the rank lets some ranks seed, and the others don't seed alike."""
    test = context.facts.rank_tests.deciding(seeding)
    text = context.text(seeding)
    return test is not None and not any(
        isinstance(n, ast.Call) and context.text(n) == text for arm in test.other for n in ast.walk(arm)
    )


def _has_seeded_weights(context: Context) -> bool:
    return any(
        k.arg == "seed" and "initializer" in (context.names.of(call.func) or "").lower()
        for call in context.syntax.calls
        for k in call.keywords
    )
