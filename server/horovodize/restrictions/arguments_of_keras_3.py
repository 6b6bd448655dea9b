"""Arguments that Keras 2 took and Keras 3 doesn't, of its classes, functions and methods: for HVD902. Each was tried with
TensorFlow 2.15 and Keras 2, and with TensorFlow 2.21 and Keras 3.15."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context

_KERAS = "tensorflow.keras."
_MODEL, _LAYER, _METRIC = _KERAS + "Model", _KERAS + "layers.Layer", _KERAS + "metrics.Metric"
_OPTIMIZER = _KERAS + "optimizers.Optimizer"
_LAYERS, _LOSSES = _KERAS + "layers.", _KERAS + "losses."
_INPUTS = (_KERAS + "Input", _LAYERS + "Input")

# Of layers, each with what to write there; `Embedding` goes on taking `weights`, and `InputLayer` a `batch_input_shape`.
_OF_LAYERS = {
    "batch_input_shape": "begin with `Input(batch_shape=…)`",
    "weights": "set them with `set_weights`",
    "dynamic": "compile with `run_eagerly=True`",
}
_STILL = {("Embedding", "weights"), ("InputLayer", "batch_input_shape")}
_TIME_MAJOR = {"time_major": "put the batch first"}
_WORKERS = dict.fromkeys(("workers", "use_multiprocessing", "max_queue_size"), "give it to the `PyDataset`")
_RESET = {"reset_metrics": "call `reset_metrics()`"}
_UNUSED = "leave it out"
_OF_CALLS: dict[str, dict[str, str]] = {
    "callbacks.ModelCheckpoint": {"period": "count batches with `save_freq`", "options": _UNUSED},
    "callbacks.TensorBoard": {"write_grads": _UNUSED, "batch_size": _UNUSED},
    "callbacks.BackupAndRestore": {"save_before_preemption": _UNUSED},
    "activations.relu": {"alpha": "it is `negative_slope`"},
    "regularizers.l1": {"l": "it is `l1`"},
    "regularizers.l2": {"l": "it is `l2`"},
    "regularizers.L1": {"l": "it is `l1`"},
    "regularizers.L2": {"l": "it is `l2`"},
    "layers.LSTM": _TIME_MAJOR,
    "layers.GRU": _TIME_MAJOR,
    "layers.RNN": _TIME_MAJOR,
    "layers.Discretization": {"bins": "it is `bin_boundaries` or `num_bins`"},
    "layers.CategoryEncoding": {"max_tokens": "it is `num_tokens`"},
}
_OF_METHODS: dict[str, tuple[str, dict[str, str]]] = {
    "fit": (_MODEL, _WORKERS),
    "evaluate": (_MODEL, _WORKERS),
    "predict": (_MODEL, _WORKERS),
    "train_on_batch": (_MODEL, _RESET),
    "test_on_batch": (_MODEL, _RESET),
    "compile": (
        _MODEL,
        dict.fromkeys(("sample_weight_mode", "experimental_run_tf_function"), _UNUSED),
    ),
    "save_weights": (_MODEL, dict.fromkeys(("save_format", "options"), _UNUSED)),
    "apply_gradients": (
        _OPTIMIZER,
        dict.fromkeys(("experimental_aggregate_gradients", "skip_gradients_aggregation", "name"), _UNUSED),
    ),
}
# Losses that `compile` finds by these names in Keras 2, and how Keras 3 calls them.
_NAMED_LOSSES = {
    "huber_loss": "huber",
    "kullback_leibler_divergence": "kl_divergence",
    "logcosh": "log_cosh",
}


def arguments(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Calls with an argument that Keras 3 doesn't take, each with what to write there."""
    for call in context.syntax.calls:
        name = context.names.of(call.func) or ""
        if name.startswith(_KERAS):
            yield from _of_calls(call, name.removeprefix(_KERAS))
            yield from _of_losses(context, call, name)
            yield from _of_inputs(call, name)
        elif isinstance(call.func, ast.Attribute):
            yield from _of_methods(context, call, call.func)
        yield from _by_position(context, call)
    for site in context.sites.compiles:
        yield from _named_losses(context, site.call)


def _of_calls(call: ast.Call, name: str) -> Iterator[tuple[ast.AST, str]]:
    gone = dict(_OF_CALLS.get(name, {}))
    kind, _, last = name.partition(".")
    if kind == "layers" and last[:1].isupper() and "." not in last:
        gone |= {arg: hint for arg, hint in _OF_LAYERS.items() if (last, arg) not in _STILL}
    yield from _given(call, gone, f"of `{name}`")
    label = next((k.value for k in call.keywords if k.arg == "name"), None)
    is_named = kind == "layers" or name in ("Model", "Sequential", "models.Model", "models.Sequential")
    if (
        is_named
        and isinstance(label, ast.Constant)
        and "/" in str(label.value)
        and not name.endswith("Input")
    ):
        yield label, "takes no `/` in the names of layers and models"


def _of_methods(context: Context, call: ast.Call, func: ast.Attribute) -> Iterator[tuple[ast.AST, str]]:
    if func.attr in ("add_weight", "add_variable"):
        yield from _of_weights(context, call, func)
    owner, gone = _OF_METHODS.get(func.attr, ("", {}))
    if any(k.arg in gone for k in call.keywords) and is_keras_own(context, call, owner):
        yield from _given(call, gone, f"of `{func.attr}`")


def _given(call: ast.Call, gone: dict[str, str], whose: str) -> Iterator[tuple[ast.AST, str]]:
    for keyword in call.keywords:
        if keyword.arg in gone:
            yield call, f"has no argument `{keyword.arg}` {whose}: {gone[keyword.arg]}"


def _of_weights(context: Context, call: ast.Call, func: ast.Attribute) -> Iterator[tuple[ast.AST, str]]:
    """`self.add_weight("w", (3, 4))`: the shape comes first, and the name is a keyword."""
    first = call.args[0] if call.args else None
    is_name = isinstance(first, ast.JoinedStr) or (
        isinstance(first, ast.Constant) and isinstance(first.value, str)
    )
    gone = {"synchronization": _UNUSED, "use_resource": _UNUSED}
    if not is_name and not any(k.arg in gone for k in call.keywords):
        return
    if any(is_keras_own(context, call, owner) for owner in (_LAYER, _MODEL, _METRIC)):
        if is_name:
            yield call, f"takes the name of `{func.attr}` by keyword only: `add_weight(name=…, shape=…)`"
        yield from _given(call, gone, f"of `{func.attr}`")


def _of_losses(context: Context, call: ast.Call, name: str) -> Iterator[tuple[ast.AST, str]]:
    """`MeanSquaredError(reduction=tf.keras.losses.Reduction.AUTO)`"""
    if name.startswith(_LOSSES):
        reduction = argument(call, "reduction")
        is_auto = isinstance(reduction, ast.Constant) and reduction.value == "auto"
        if reduction is not None and (is_auto or context.names.of(reduction) == _LOSSES + "Reduction.AUTO"):
            yield call, "has no reduction `auto` of losses: leave it out"


def _of_inputs(call: ast.Call, name: str) -> Iterator[tuple[ast.AST, str]]:
    """`Input(shape=(784))`, which is a number: Keras 3 takes tuples."""
    shape = argument(call, "shape", 0) if name in _INPUTS else None
    if isinstance(shape, ast.Constant) and isinstance(shape.value, int) and not isinstance(shape.value, bool):
        yield call, f"takes no number as the shape of an `Input`: write `({shape.value},)`"


def _by_position(context: Context, call: ast.Call) -> Iterator[tuple[ast.AST, str]]:
    """`self.encoder(x, training, mask)`: only tensors may stand without a name in a call of a layer or model."""
    for e in call.args[1:]:
        is_constant = isinstance(e, ast.Constant) and isinstance(e.value, bool)
        if (is_constant or _is_told(context, e)) and _is_layer(context, call.func):
            yield call, "takes only tensors by position in calls of layers and models: write `training=…`"
            return


def _is_told(context: Context, e: ast.expr) -> bool:
    """Whether this is the parameter `training` of the function around it."""
    function = context.syntax.function(e)
    if not isinstance(e, ast.Name) or e.id != "training" or function is None:
        return False
    given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return any(a.arg == e.id for a in given)


def _is_layer(context: Context, func: ast.expr) -> bool:
    return bool(context.values.class_names(func) & {_LAYER, _MODEL})


def _named_losses(context: Context, call: ast.Call) -> Iterator[tuple[ast.AST, str]]:
    if context.values.callee(call) is not None:
        return
    loss = argument(call, "loss", 1)
    parts = loss.values if isinstance(loss, ast.Dict) else getattr(loss, "elts", [loss])
    for part in parts:
        if isinstance(part, ast.Constant) and part.value in _NAMED_LOSSES:
            yield part, f"has no loss `{part.value}`: it is called `{_NAMED_LOSSES[part.value]}`"


def is_keras_own(context: Context, call: ast.Call, owner: str) -> bool:
    """Whether a method that is called is Keras', and that of such an object: also as the `self` of a class of the script."""
    if not isinstance(call.func, ast.Attribute) or context.values.callee(call) is not None:
        return False
    around = context.syntax.method_class(context.syntax.function(call))
    if around is not None and ast.unparse(call.func.value) in ("self", "super()"):
        return owner in context.values.ancestors(around)
    return context.values.is_a(call.func.value, owner)
