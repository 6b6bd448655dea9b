"""What of Horovod's own Python code Keras 3 stops with an error: for HVD902. Each was tried with Horovod 0.28.1, TensorFlow
2.21 and Keras 3.15. Its wrapped optimizer stops nothing there and averages nothing: HVD304."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context

_MODEL, _OPTIMIZER = "tensorflow.keras.Model", "tensorflow.keras.optimizers.Optimizer"
_LAYER = "tensorflow.keras.layers.Layer"
_CALLBACKS = (
    "BroadcastGlobalVariablesCallback",
    "MetricAverageCallback",
    "LearningRateWarmupCallback",
    "LearningRateScheduleCallback",
)
_STATES = ("TensorFlowKerasState", "KerasState")
_OURS = "of `horovod_keras3` doesn't"


def stopped(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """Calls of Horovod that stop, each with what works there; of one kind the first. A condition may ask for the version."""
    seen: set[str] = set()
    for node, kind, what in _stopped(context):
        if kind not in seen and not _asks_for_version(context, node):
            seen.add(kind)
            yield node, what


def _stopped(context: Context) -> Iterator[tuple[ast.AST, str, str]]:
    use = context.facts.horovod
    for call in use.calls(*_CALLBACKS):
        name = use.name_of(call).rsplit(".", 1)[-1]
        yield call, name, f"stops Horovod's own `{name}` with an error; that {_OURS}"
    for call in use.calls("broadcast_variables"):
        given = argument(call, "variables", 0)
        if given is not None and _are_keras(context, given):
            yield (
                call,
                "broadcast",
                f"has variables that Horovod's own `broadcast_variables` stops at; that {_OURS}",
            )
    for call in context.sites.method_calls("gradient"):
        sources = argument(call, "sources", 1)
        if sources is not None and _are_keras(context, sources) and _is_wrapped(context, call):
            yield (
                call,
                "gradient",
                f"has variables that Horovod's own `DistributedGradientTape` stops at; that {_OURS}",
            )
    for call in use.calls(*_STATES):
        name = use.name_of(call).rsplit(".", 1)[-1]
        yield (
            call,
            name,
            f"stops Horovod's own `{name}` with an error: keep the values of variables, in a `TensorFlowState`",
        )


def stopped_for_graphs(context: Context) -> Iterator[tuple[ast.AST, str]]:
    """The same of graphs: what Horovod takes from `tf.estimator`, which is gone with Keras 2."""
    for call in context.facts.horovod.calls("BroadcastGlobalVariablesHook")[:1]:
        if not _asks_for_version(context, call):
            yield (
                call,
                "comes without `tf.estimator`, and Horovod then without `BroadcastGlobalVariablesHook`: run "
                "`hvd.broadcast_global_variables(0)`, in a hook of one's own",
            )


def _are_keras(context: Context, e: ast.expr) -> bool:
    """Whether these are variables of a model, a layer or an optimizer of Keras, as it gives them."""
    origins = context.values.origins(e)
    return bool(origins) and all(not o.path and _gives_variables(context, o.node) for o in origins)


def _gives_variables(context: Context, node: ast.AST) -> bool:
    inner = node.func if isinstance(node, ast.Call) and not node.args else node
    if not isinstance(inner, ast.Attribute) or inner.attr not in OF_MODEL:
        return False
    return any(context.values.is_a(inner.value, kind) for kind in (_MODEL, _OPTIMIZER, _LAYER))


def _is_wrapped(context: Context, gradient: ast.Call) -> bool:
    assert isinstance(gradient.func, ast.Attribute)
    made = context.values.calls(gradient.func.value)
    return bool(made) and all(context.facts.horovod.is_call(call, *TAPES) for call in made)


def _asks_for_version(context: Context, node: ast.AST) -> bool:
    """Whether a condition around it asks for a version, of whatever."""
    return any("version" in ast.unparse(test.test).lower() for test, _ in context.syntax.conditions(node))
