"""What scripts use of Keras 2 that Keras 3 does not have, or takes otherwise: for HVD902. Each was tried with Keras 3.15."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize import catalogue
from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.syntax import argument, may_give
from horovodize.restrictions.arguments_of_keras_3 import arguments
from horovodize.restrictions.context import Context
from horovodize.restrictions.files_of_keras_3 import files, loaded
from horovodize.restrictions.methods_of_keras_3 import methods
from horovodize.restrictions.symbolic_in_keras_3 import symbolic
from horovodize.source.nodes import walk

_MODEL, _OPTIMIZER = "tensorflow.keras.Model", "tensorflow.keras.optimizers.Optimizer"
_LEGACY = ("keras.optimizers.legacy.", "tensorflow.keras.optimizers.legacy.")  # reported where they are made
_CALLBACK = "tensorflow.keras.callbacks.Callback"
_LR = "has no `lr` of optimizers: it is `learning_rate`"
_METRICS = "tensorflow.keras.metrics."
_LAYERS = "tensorflow.keras.layers."
_COUNTING = tuple(_LAYERS + name for name in ("TextVectorization", "StringLookup", "IntegerLookup"))
_WITH_KERAS_2 = "set `TF_USE_LEGACY_KERAS=1` and install `tf_keras`"
# Of TensorFlow 1's names, the beginnings of those that only Keras 2 makes.
_OF_GRAPHS = {
    "tensorflow.compat.v1.layers.": _WITH_KERAS_2,
    "tensorflow.compat.v1.nn.rnn_cell.": _WITH_KERAS_2,
    "tensorflow.keras.backend.set_session": _WITH_KERAS_2,
    "tensorflow.keras.backend.get_session": _WITH_KERAS_2,
}


def gone(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """What fails under Keras 3, or does nothing there, each with what Keras 3 does otherwise. A condition may ask for the
    version first; one around a model that is loaded asks for its file."""
    for node, what in _everywhere(context):
        if not context.is_conditional(node):
            yield node, what
    yield from loaded(context)


def _everywhere(context: Context) -> Iterator[tuple[ast.AST, str]]:
    yield from _names(context)
    yield from gone_for_graphs(context)
    for fit in context.sites.fits:
        if fit.method == "fit_generator":
            yield fit.call, "has no `fit_generator`: `fit` takes generators"
    for update in context.sites.updates:
        if update.method == "minimize":
            yield (
                update.call,
                "has no `minimize` of optimizers: take the gradients from a tape, and apply them",
            )
    for call in context.syntax.calls:
        if (context.names.of(call.func) or "").startswith("tensorflow.keras.optimizers.legacy."):
            yield call, "has no `optimizers.legacy`: take the optimizer of the same name from `optimizers`"
    for call in context.sites.method_calls("variables"):
        own = context.values.callee(call) is not None
        if not own and isinstance(call.func, ast.Attribute) and _is_optimizer(context, call.func.value):
            yield (
                call,
                "has a list of an optimizer's `variables`, which can't be called: leave out the parentheses",
            )
    yield from _metrics(context)
    yield from methods(context)
    yield from arguments(context)
    yield from symbolic(context)
    yield from files(context)
    yield from _arguments(context)
    yield from _given_as_tensors(context)
    yield from _counted_as_integers(context)


def _names(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Names that Keras 3 does not have, imported or used. Several of one kind are reported once, where the first is."""
    seen: set[str] = set()
    for node, written in _written(context):
        name = catalogue.gone_in_keras_3(written)
        if name is None or name in seen or name.startswith(_LEGACY) or context.is_conditional(node):
            continue
        seen.add(name)
        package = name.startswith("keras.")
        other = name.removeprefix("tensorflow.") if not package else f"tensorflow.{name}"
        elsewhere = catalogue.gone_in_keras_3(other) is None
        hint = f": `{'tf.' + name if package else other}` is there" if elsewhere else ""
        yield node, f"has no `{name.replace('tensorflow.', 'tf.')}`{hint}"


def gone_for_graphs(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """What graphs of TensorFlow 1 take from Keras 2: layers, cells, and Keras' session. One of a kind is reported once."""
    seen: set[str] = set()
    for node in context.syntax.every(ast.Attribute, ast.Name):
        name = context.names.of(node) or ""
        kind = next((kind for kind in _OF_GRAPHS if name.startswith(kind)), None)
        if kind is not None and kind not in seen and not context.is_conditional(node):
            seen.add(kind)
            yield node, f"has no `{name.replace('tensorflow.', 'tf.')}`: {_OF_GRAPHS[kind]}"


def _written(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Names of Keras as the script spells them, from the import on."""
    for binding in context.module.scopes.imports:
        yield binding.statement, binding.imported or ""
    for node in context.syntax.every(ast.Attribute):
        if not isinstance(context.syntax.parent.get(node), ast.Attribute):
            yield node, context.names.written(node) or ""


def _metrics(context: Context) -> Iterator[tuple[ast.expr, str]]:
    for call in context.sites.method_calls("reset_states"):
        if context.values.callee(call) is None and isinstance(call.func, ast.Attribute):
            if any(name.startswith(_METRICS) for name in context.values.class_names(call.func.value)):
                yield call, "has no `reset_states` of metrics: it is called `reset_state`"


def _arguments(context: Context) -> Iterator[tuple[ast.expr, str]]:
    for site in context.sites.compiles:
        third = site.call.args[2] if len(site.call.args) > 2 else None
        names = third.elts if isinstance(third, (ast.List, ast.Tuple)) else []
        own = context.values.callee(site.call) is not None
        if not own and any(isinstance(e, ast.Constant) and isinstance(e.value, str) for e in names):
            yield (
                site.call,
                "takes `loss_weights` as the third argument of `compile`: give `metrics` by its name",
            )
    for call in context.syntax.calls:
        name = context.names.of(call.func) or ""
        if not name.startswith("tensorflow.keras.optimizers.") or ".legacy." in name:
            continue
        if any(k.arg == "lr" for k in call.keywords) and _OPTIMIZER in context.values.made_by(call):
            yield call, _LR
    for node in context.syntax.every(ast.Attribute):
        if node.attr == "lr" and _is_optimizer(context, node.value):
            yield node, _LR  # reading it is an error, and setting it changes nothing


def _is_optimizer(context: Context, e: ast.expr) -> bool:
    """Whether this is an optimizer of Keras, by where it is made or as that of a model (in a callback: `self.model`)."""
    if context.values.is_a(e, _OPTIMIZER):
        return True
    if not isinstance(e, ast.Attribute) or e.attr != "optimizer":
        return False
    if context.values.is_a(e.value, _MODEL):
        return True
    owner = context.syntax.owner(e)
    is_callback = owner is not None and _CALLBACK in context.values.ancestors(owner)
    return is_callback and ast.unparse(e.value) == "self.model"


# ---------------------------------------------------------------------- tensors


def _given_as_tensors(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Variables of a model that a `tf.function` is given, and assigns to: it gets their values."""
    for call in context.syntax.calls:
        given = [
            (position, e)
            for position, e in enumerate(call.args)
            if isinstance(e, ast.Attribute) and e.attr in OF_MODEL and _has_variables(context, e.value)
        ]
        function = context.values.callee(call) if given else None
        if isinstance(function, ast.FunctionDef) and _is_graph(context, function):
            parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
            for position, e in given:
                if position < len(parameters) and _assigns_to_parts(function, parameters[position]):
                    yield (
                        e,
                        "gives a `tf.function` the values of a model's variables, which can't be assigned to",
                    )


def _has_variables(context: Context, e: ast.expr) -> bool:
    return context.values.is_a(e, _MODEL) or context.values.is_a(e, _LAYERS + "Layer")


def _is_graph(context: Context, function: ast.FunctionDef) -> bool:
    decorators = (d.func if isinstance(d, ast.Call) else d for d in function.decorator_list)
    return any(context.names.of(d) == "tensorflow.function" for d in decorators)


def _assigns_to_parts(function: ast.FunctionDef, parameter: str) -> bool:
    """Whether a function assigns to the elements of a parameter in a loop over it, or over several beside it (`zip`)."""
    elements: set[str] = set()
    for loop in walk(function):
        match loop:
            case ast.For(target=ast.Name(id=element), iter=ast.Name(id=over)) if over == parameter:
                elements.add(element)
            case ast.For(target=ast.Tuple(elts=targets), iter=ast.Call(func=ast.Name(id="zip"), args=beside)):
                elements |= {
                    target.id
                    for target, over in zip(targets, beside, strict=False)
                    if isinstance(target, ast.Name) and isinstance(over, ast.Name) and over.id == parameter
                }
    return any(
        isinstance(n, ast.Attribute)
        and n.attr in ("assign", "assign_add", "assign_sub")
        and isinstance(n.value, ast.Name)
        and n.value.id in elements
        for n in walk(function)
    )


def _counted_as_integers(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """What layers count, put beside what is no count: of Keras 2, floats."""
    for call in context.module.calls_of("tensorflow.concat", "tensorflow.stack"):
        values = argument(call, "values", 0)
        parts = values.elts if isinstance(values, (ast.List, ast.Tuple)) else []
        counted = [part for part in parts if _is_count(context, part)]
        if counted and len(counted) < len(parts):
            yield counted[0], "counts in integers here, where Keras 2 gave floats: cast them"


def _is_count(context: Context, e: ast.expr) -> bool:
    """Whether this is what a layer that counts words or numbers gives, not their indices."""
    made = context.values.calls(e.func) if isinstance(e, ast.Call) else []
    return bool(made) and all(
        context.names.of(call.func) in _COUNTING
        and isinstance(mode := argument(call, "output_mode"), ast.Constant)
        and mode.value in ("multi_hot", "one_hot", "count")
        and not may_give(call, "dtype")
        for call in made
    )
