"""What scripts use of Keras 2 that Keras 3 does not have, or takes otherwise: for HVD902. Each was tried with Keras 3.15."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.summary.syntax import argument

_MODEL, _OPTIMIZER = "tensorflow.keras.Model", "tensorflow.keras.optimizers.Optimizer"
_METRICS = "tensorflow.keras.metrics."
_WEIGHTS = ".weights.h5"
_ONLY_WEIGHTS = f"saves weights only in files that end in `{_WEIGHTS}`"


def gone(context: Context) -> Iterator[tuple[ast.Call, str]]:
    """Calls that fail under Keras 3, each with what Keras 3 does otherwise."""
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


def _metrics(context: Context) -> Iterator[tuple[ast.Call, str]]:
    for call in context.sites.method_calls("reset_states"):
        own = context.values.callee(call) is not None or not isinstance(call.func, ast.Attribute)
        if not own and any(name.startswith(_METRICS) for name in context.values.class_names(call.func.value)):
            yield call, "has no `reset_states` of metrics: it is called `reset_state`"


def _files(context: Context) -> Iterator[tuple[ast.Call, str]]:
    """Names of files as Keras 3 does not take them."""
    for call in context.sites.method_calls("save_weights"):
        end = _end(argument(call, "filepath", 0))
        if _is_model(context, call) and end and not end.endswith(_WEIGHTS):
            yield call, _ONLY_WEIGHTS
    for call in context.sites.method_calls("save"):
        end = _end(argument(call, "filepath", 0))
        if _is_model(context, call) and end and not end.endswith((".keras", ".h5", ".hdf5")):
            yield call, "saves models only in files that end in `.keras` or `.h5`"
    for call in context.module.calls_of("tensorflow.keras.callbacks.ModelCheckpoint"):
        end, only = _end(argument(call, "filepath", 0)), argument(call, "save_weights_only")
        if end and isinstance(only, ast.Constant) and only.value is True and not end.endswith(_WEIGHTS):
            yield call, _ONLY_WEIGHTS


def _arguments(context: Context) -> Iterator[tuple[ast.Call, str]]:
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
        for keyword in call.keywords:
            if keyword.arg in ("lr", "decay") and _OPTIMIZER in context.values.made_by(call):
                other = "`learning_rate`" if keyword.arg == "lr" else "`learning_rate` a schedule"
                yield call, f"has no `{keyword.arg}` of optimizers: give {other}"


def _is_model(context: Context, call: ast.Call) -> bool:
    """Whether a method that is called is that of a Keras model, and not the script's own."""
    own = context.values.callee(call) is not None
    return not own and isinstance(call.func, ast.Attribute) and context.values.is_a(call.func.value, _MODEL)


def _end(path: ast.expr | None) -> str:
    """How a path ends that is written where it is used; "" where that can't be seen."""
    match path:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[*_, ast.Constant(value=str(text))]):
            return text
        case ast.BinOp(left=left, op=ast.Mod()):
            end = _end(left)
            return end if "%" not in end[-3:] else ""
        case ast.BinOp(op=ast.Add() | ast.Div(), right=right):
            return _end(right)
        case ast.Call(func=ast.Attribute(attr="format", value=written)):
            end = _end(written)
            return end if not end.endswith("}") else ""
        case ast.Call(func=ast.Attribute(attr="join"), args=[*_, last]):
            return _end(last)
    return ""
