"""Which optimizers surely have nothing of Horovod around them (HVD304)."""

from __future__ import annotations

import ast

from horovodize.facts.horovod.horovod_use import WRAPPERS
from horovodize.facts.rates.optimizers import Arrival
from horovodize.restrictions.context import Context


def is_plain(context: Context, optimizer: ast.expr) -> bool:
    """Whether an optimizer is surely one of TensorFlow's, with nothing of Horovod around it."""
    return all(_arrives_plain(context, a) for a in context.facts.optimizers.arrivals(optimizer))


def _arrives_plain(context: Context, arrival: Arrival) -> bool:
    node = arrival.node
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return not arrival.part and (is_text or (isinstance(node, ast.Call) and _is_tensorflows(context, node)))


def _is_tensorflows(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    return name.startswith("tensorflow.") and context.module.is_optimizer(call)


def wrappers_of(context: Context, optimizer: ast.expr) -> list[bool] | None:
    """Of each optimizer that may come here, whether Horovod's is around it; None where one can't be told."""
    use, arrivals = context.facts.horovod, context.facts.optimizers.arrivals(optimizer)
    wrapped = [use.is_call(a.node, *WRAPPERS) for a in arrivals]
    seen = all(w or _arrives_plain(context, a) for w, a in zip(wrapped, arrivals, strict=True))
    return wrapped if seen else None
