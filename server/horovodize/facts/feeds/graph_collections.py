"""What a graph's collection of losses gives: `tf.get_collection("losses")`, `tf.losses.get_total_loss()`.

CIFAR-10's tutorial puts each loss into one, `tf.add_to_collection("losses", loss)`, and trains `tf.add_n` of it."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import argument

_V1 = "tensorflow.compat.v1."
_COLLECTED = ("get_collection", "get_collection_ref")
_OF_LOSSES = ("losses.get_losses", "losses.get_total_loss")
_LOSSES = ("losses", "LOSSES")
_PENALTIES = ("regularization", "REGULARIZATION")


def is_collection(module: Module, call: ast.Call) -> bool:
    """Whether a call gives what has been put into a collection that holds, or may hold, losses."""
    name = module.names.of(call.func) or ""
    if name.endswith(_OF_LOSSES):
        return name.startswith("tensorflow.")
    if module.names.last(call.func) not in _COLLECTED or not name.startswith(_V1):
        return False
    key = _key(call)
    return key is not None and (key in _LOSSES or bool(_put_into(module, key)))


def collected(module: Module, call: ast.Call) -> list[ast.expr]:
    """The losses that a call of `is_collection` may give: what the module puts there, and what TensorFlow does by itself.
    Nothing where none is seen."""
    key = _LOSSES[0] if (module.names.of(call.func) or "").endswith(_OF_LOSSES) else _key(call)
    if key is None:
        return []
    found = _put_into(module, key)
    if key in _LOSSES:  # where `tf.losses.mean_squared_error(…)` goes
        found += [c for c in module.syntax.calls if _is_loss(module, c)]
    return found


def _put_into(module: Module, key: str) -> list[ast.expr]:
    values = [argument(c, "value", 1) for c in module.calls_called("add_to_collection") if _key(c) == key]
    return [v for v in values if v is not None]


def _is_loss(module: Module, call: ast.Call) -> bool:
    name, last = module.names.of(call.func) or "", module.names.last(call.func)
    return name.startswith("tensorflow.") and ".losses." in name and not last.startswith(("get_", "add_"))


def _key(call: ast.Call) -> str | None:
    """`losses` of `"losses"`, `LOSSES` of `tf.GraphKeys.LOSSES`; None for what isn't written so, and for penalties."""
    name = argument(call, "key", 0) or argument(call, "name", 0)
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        key = name.value
    elif isinstance(name, (ast.Attribute, ast.Name)):
        key = name.attr if isinstance(name, ast.Attribute) else name.id
    else:
        return None
    return None if key.startswith(_PENALTIES) else key
