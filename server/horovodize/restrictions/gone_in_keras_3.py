"""What scripts use of Keras 2 that Keras 3 does not have, or takes otherwise: for HVD902. Each was tried with Keras 3.15."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.summary.syntax import argument

_MODEL, _OPTIMIZER = "tensorflow.keras.Model", "tensorflow.keras.optimizers.Optimizer"
_CALLBACK = "tensorflow.keras.callbacks.Callback"
_LR = "has no `lr` of optimizers: it is `learning_rate`"
_METRICS = "tensorflow.keras.metrics."
_WEIGHTS = ".weights.h5"
_MODELS = (".keras", ".h5")
_ONLY_MODELS = "saves models only in files that end in `.keras` or `.h5`"
_ONLY_WEIGHTS = f"saves weights only in files that end in `{_WEIGHTS}`"


def gone(context: Context) -> Iterator[tuple[ast.expr, str]]:
    """What fails under Keras 3, or does nothing there, each with what Keras 3 does otherwise."""
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
    yield from _metrics(context)
    yield from _files(context)
    yield from _arguments(context)


def _metrics(context: Context) -> Iterator[tuple[ast.expr, str]]:
    for call in context.sites.method_calls("reset_states"):
        if context.values.callee(call) is None and isinstance(call.func, ast.Attribute):
            if any(name.startswith(_METRICS) for name in context.values.class_names(call.func.value)):
                yield call, "has no `reset_states` of metrics: it is called `reset_state`"


def _files(context: Context) -> Iterator[tuple[ast.expr, str]]:
    """Names of files as Keras 3 does not take them."""
    for call in context.sites.method_calls("save_weights"):
        path = argument(call, "filepath", 0)
        if (
            _is_model(context, call)
            and _ends_otherwise(path, (_WEIGHTS,))
            and not _has(call, "max_shard_size")
        ):
            yield call, _ONLY_WEIGHTS
    for call in context.sites.method_calls("save"):
        path = argument(call, "filepath", 0)
        if (
            _is_model(context, call)
            and _ends_otherwise(path, (*_MODELS, ".hdf5"))
            and not _has(call, "zipped")
        ):
            yield call, _ONLY_MODELS
    for call in context.module.calls_of("tensorflow.keras.callbacks.ModelCheckpoint"):
        path, only = argument(call, "filepath", 0), argument(call, "save_weights_only")
        if isinstance(only, ast.Constant) and only.value is True:
            if _ends_otherwise(path, (_WEIGHTS,)):
                yield call, _ONLY_WEIGHTS
        elif not _has(call, "save_weights_only") and _ends_otherwise(path, _MODELS):
            yield call, _ONLY_MODELS


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


def _is_model(context: Context, call: ast.Call) -> bool:
    """Whether a method that is called is that of a Keras model, and not the script's own."""
    own = context.values.callee(call) is not None
    return not own and isinstance(call.func, ast.Attribute) and context.values.is_a(call.func.value, _MODEL)


def _has(call: ast.Call, name: str) -> bool:
    """Whether a call gives an argument, or may do so."""
    return any(keyword.arg in (name, None) for keyword in call.keywords)


def _ends_otherwise(path: ast.expr | None, wanted: tuple[str, ...]) -> bool:
    """Whether a path is known to end in none of these. What is in no file is left alone: `hf://…`."""
    end, is_whole = _end(path)
    if not end or (is_whole and end.startswith("hf:")) or end.endswith(wanted):
        return False
    return is_whole or not any(one.endswith(end) for one in wanted)


def _end(path: ast.expr | None) -> tuple[str, bool]:
    """How a path ends that is written where it is used ("" where that can't be seen), and whether what comes before it can't
    be a part of its last suffixes: `f"{name}.h5"` may be "a.weights.h5", `"%d.h5" % epoch` can't."""
    match path:
        case ast.Constant(value=str(text)):
            return text, True
        case ast.JoinedStr(values=[*before, ast.Constant(value=str(text))]):
            number = bool(before) and isinstance(before[-1], ast.FormattedValue) and _is_number(before[-1])
            return text, number or not before
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
            *_, end = re.split(r"(%[-+ #0-9.]*[a-zA-Z])", text)
            numbers = re.findall(r"%[-+ #0-9.]*([a-zA-Z])", text)
            return end, bool(numbers) and numbers[-1] in "dieEfFgG"
        case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str(text)))):
            return text.rpartition("}")[2], False
        case ast.BinOp(op=ast.Div(), right=right):
            return _end(right)
        case ast.BinOp(op=ast.Add(), right=right):
            return _end(right)[0], False
        case ast.Call(func=ast.Attribute(attr="join"), args=[*_, last]):
            return _end(last)
    return "", False


def _is_number(value: ast.FormattedValue) -> bool:
    spec = value.format_spec
    text = spec.values[-1] if isinstance(spec, ast.JoinedStr) and spec.values else None
    return isinstance(text, ast.Constant) and str(text.value)[-1:] in ("d", "e", "f", "g")
