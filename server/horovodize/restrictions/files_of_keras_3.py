"""Files that Keras 3 takes otherwise than Keras 2, saved and loaded: for HVD902. Each was tried with Keras 3.15."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize.python.syntax import argument, may_give
from horovodize.restrictions.context import Context

_MODEL = "tensorflow.keras.Model"
_CHECKPOINT = "tensorflow.keras.callbacks.ModelCheckpoint"
_WEIGHTS = ".weights.h5"
_MODELS = (".keras", ".h5")
_ONLY_MODELS = "saves models only in files that end in `.keras` or `.h5`"
_LOADS_ONLY = "loads models only from files that end in `.keras` or `.h5`"
_ONLY_WEIGHTS = f"saves weights only in files that end in `{_WEIGHTS}`"
# Losses that Keras 3 writes into HDF5 files under a name by which it doesn't find them again.
_SHORT_LOSSES = ("mse", "mae", "mape", "msle", "kld")


def files(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Names of files as Keras 3 does not take them."""
    for call in context.sites.method_calls("save_weights"):
        path = argument(call, "filepath", 0)
        if (
            _is_model(context, call)
            and _ends_otherwise(context, path, (_WEIGHTS,))
            and not may_give(call, "max_shard_size")
        ):
            yield call, _ONLY_WEIGHTS
    for call in context.sites.method_calls("save"):
        path = argument(call, "filepath", 0)
        if (
            _is_model(context, call)
            and _ends_otherwise(context, path, (*_MODELS, ".hdf5"))
            and not may_give(call, "zipped")
        ):
            yield call, _ONLY_MODELS
    for call in context.module.calls_of("tensorflow.keras.models.save_model"):
        if _ends_otherwise(context, argument(call, "filepath", 1), (*_MODELS, ".hdf5")) and not may_give(
            call, "zipped"
        ):
            yield call, _ONLY_MODELS
    whole = any(may_give(call, "zipped") for call in context.sites.method_calls("save"))
    for call in context.module.calls_of("tensorflow.keras.models.load_model"):
        if not whole and _ends_otherwise(context, argument(call, "filepath", 0), (*_MODELS, ".hdf5")):
            yield call, _LOADS_ONLY
    for call in context.module.calls_of(_CHECKPOINT):
        path, only = argument(call, "filepath", 0), argument(call, "save_weights_only")
        if isinstance(only, ast.Constant) and only.value is True:
            if _ends_otherwise(context, path, (_WEIGHTS,)):
                yield call, _ONLY_WEIGHTS
        elif not may_give(call, "save_weights_only") and _ends_otherwise(context, path, _MODELS):
            yield call, _ONLY_MODELS


def loaded(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Models that are loaded from HDF5, where the script saved them with a loss by such a name."""
    losses = [argument(site.call, "loss", 1) for site in context.sites.compiles]
    if not losses or not all(
        isinstance(loss, ast.Constant) and loss.value in _SHORT_LOSSES for loss in losses
    ):
        return
    saved = [argument(call, "filepath", 0) for call in context.sites.method_calls("save")]
    saved += [argument(call, "filepath", 0) for call in context.module.calls_of(_CHECKPOINT)]
    ends = {end for path in saved if path is not None for end in _ends(context, path)}
    for call in context.module.calls_of("tensorflow.keras.models.load_model"):
        loaded = _ends(context, argument(call, "filepath", 0)) & ends
        if loaded and all(end.endswith((".h5", ".hdf5")) for end, _ in loaded):
            if not any(may_give(call, name) for name in ("compile", "custom_objects")):
                yield (
                    call,
                    "can't load HDF5 files of models whose loss has a short name (`mse`): save in `.keras`",
                )


def _is_model(context: Context, call: ast.Call) -> bool:
    """Whether a method that is called is that of a Keras model, and not the script's own."""
    own = context.values.callee(call) is not None
    return not own and isinstance(call.func, ast.Attribute) and context.values.is_a(call.func.value, _MODEL)


def _ends_otherwise(context: Context, path: ast.expr | None, wanted: tuple[str, ...]) -> bool:
    """Whether a path is known to end in none of these. What is in no file is left alone: `hf://…`."""
    ends = _ends(context, path)
    return bool(ends) and not any(_may_end(*end, wanted) for end in ends)


def _may_end(end: str, is_whole: bool, wanted: tuple[str, ...]) -> bool:
    if not end or (is_whole and end.startswith("hf:")) or end.endswith(wanted):
        return True
    return not is_whole and any(one.endswith(end) for one in wanted)


def _ends(context: Context, path: ast.expr | None) -> set[tuple[str, bool]]:
    """How a path may end (`_end`), where it is written and through the names that it goes by."""
    if not isinstance(path, (ast.Name, ast.Attribute)):
        return {_end(path)}
    nodes = (origin.node for origin in context.values.origins(path))
    return {_end(node if isinstance(node, ast.expr) else None) for node in nodes}


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
