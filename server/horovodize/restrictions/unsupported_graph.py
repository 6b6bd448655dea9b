"""The part of HVD202 that is about TensorFlow 1: MonitoredSessions and Estimators that can't be distributed, and why."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import CALLABLES, argument, arguments, says_none
from horovodize.restrictions.context import Context
from horovodize.summary import LoopKind
from horovodize.summary.canned import CANNED, standard_optimizer
from horovodize.summary.estimators import RUN_CONFIG, TRAIN_AND_EVALUATE, Estimators

# Where the parameters stand that say which server a session runs on, and whether it is the chief's.
_MASTERS = {
    "MonitoredTrainingSession": 0,
    "SingularMonitoredSession": 2,
    "ChiefSessionCreator": 1,
    "WorkerSessionCreator": 1,
    "Supervisor": None,
    "managed_session": 0,
    "prepare_or_wait_for_session": 0,
    "PrepareSession": 0,
}
_CHIEFS = {"MonitoredTrainingSession": 1, "Supervisor": 3}
_V1_OPTIMIZER = "tensorflow.compat.v1.train.Optimizer"
_SERVER = "so this is distributed over servers already; take that out first, or every process would distribute again"
_OPTIMIZER = "only one of `tf.compat.v1.train` can; give it as `{}=` to the class of `tf.compat.v1.estimator`"
_NO_OPTIMIZER = {
    "model_to_estimator": "the optimizer is inside the compiled Keras model, where it can't be wrapped; fit that model",
    "TPUEstimator": "a TPUEstimator distributes over TPUs by itself; use `tf.estimator.Estimator`",
}

# What trains, or sees to it, in code of TensorFlow's own, where no rule reaches.
_MONITORED = "use `tf.train.MonitoredTrainingSession`, with an optimizer of your own"
_SUPERVISED = (
    "the loop is in `slim.learning.train`, where no rule reaches; run its steps as it does, `with "
    "tf.train.Supervisor(logdir=…).managed_session() as session: for step in range(number_of_steps): session.run(train_op)`"
)
_TRAIN_OP = (
    "`{}` builds its train ops in code where the optimizer isn't wrapped, so each rank would train a model of its own; call "
    "the optimizer's `minimize`, with `tf.get_collection(tf.GraphKeys.UPDATE_OPS)` as its control dependencies"
)
_ELSEWHERE = {
    "tensorflow.contrib.layers.optimize_loss": (
        "`optimize_loss` makes its optimizer itself, where it can't be wrapped; make one and call its `minimize`"
    ),
    "tensorflow.contrib.slim.learning.train": _SUPERVISED,
    "tensorflow.contrib.training.train": f"the loop is in `tf.contrib.training.train`, where no rule reaches; {_MONITORED}",
    "tf_slim.learning.train": _SUPERVISED,
    "tf_slim.training.train": f"the loop is in `slim.training.train`, where no rule reaches; {_MONITORED}",
    "tf_slim.optimize_loss": (
        "`optimize_loss` makes its optimizer itself, where it can't be wrapped; make one and call its `minimize`"
    ),
}
# What builds train ops of optimizers that it is given. Behind those above: where the loop is elsewhere, too, that is said.
_BUILDING = (
    "tensorflow.contrib.gan.gan_train_ops",
    "tensorflow_gan.gan_train_ops",
)

# Optimizers that hand the variables to a library, which takes all steps in one call.
_EXTERNAL = {"ScipyOptimizerInterface", "ExternalOptimizerInterface"}
_BY_A_LIBRARY = (
    "this optimizer takes its steps inside another library, on each rank by itself, where no gradients can be averaged; use "
    "one of `tf.train`"
)

_IN_A_GRAPH = (
    "the loop is in the graph, where its steps can't be divided, and a run of it can't be told from others; let Python run the "
    "steps, `for i in range(n): session.run(train_op)`"
)

# What takes steps, where it is run with a function that `K.function` makes.
_STEPS = ("get_updates", "apply_gradients", "minimize")
_BY_A_FUNCTION = (
    "this function of Keras' backend takes training steps when it is called, where no gradients can be averaged; let the model "
    "`train_on_batch`, or take them by a tape or a session"
)

Found = tuple[ast.AST, str]


def find_in_graphs(context: Context) -> Iterator[Found]:
    """The places that can't be distributed, with the reasons."""
    if context.sites.monitored or context.sites.supervised:
        yield from _servers(context)
    if context.sites.estimators:
        yield from _estimators(context)
    for name, why in _ELSEWHERE.items():
        for call in context.module.calls_of(name):
            yield call, why
    said = any(n.endswith("train") and context.module.calls_of(n) for n in _ELSEWHERE)
    # (What the model function of an Estimator gives is looked at where an Estimator gets it.)
    for call in context.module.calls_of(*_BUILDING) if not said and not context.sites.estimators else ():
        given = [c for e in arguments(call) for c in context.values.calls(e)]
        if not any(context.names.last(c.func) == "DistributedOptimizer" for c in given):
            yield call, _TRAIN_OP.format(context.names.last(call.func))
    for call in context.module.calls_of("tensorflow.keras.backend.function"):
        run = [e for e in (argument(call, "outputs", 1), argument(call, "updates", 2)) if e is not None]
        made = context.values.depends(run, 400)
        if any(isinstance(n, ast.Call) and context.names.last(n.func) in _STEPS for n in made):
            yield call, _BY_A_FUNCTION
    for call in context.module.calls_called("while_loop"):
        if _trains_in_graph(context, call):
            yield call, _IN_A_GRAPH
    for call in context.sites.graph_minimizes:
        if isinstance(call.func, ast.Attribute) and _is_external(context, call.func.value):
            yield call, _BY_A_LIBRARY


def _trains_in_graph(context: Context, loop: ast.Call) -> bool:
    """Whether the body of `tf.while_loop(test, body, values)` takes training steps."""
    body = argument(loop, "body", 1)
    made = [o.node for o in context.values.origins(body)] if body is not None else []
    functions = [f for f in made if isinstance(f, CALLABLES)]
    return any(context.syntax.inside(op, f) for op in context.sites.graph.train_ops for f in functions)


def _is_external(context: Context, optimizer: ast.expr) -> bool:
    made = {name for c in context.values.calls(optimizer) for name in context.values.made_by(c)}
    return any(name.startswith("tensorflow.") and name.rsplit(".", 1)[-1] in _EXTERNAL for name in made)


def _servers(context: Context) -> Iterator[Found]:
    for call in context.syntax.calls:
        last = context.names.last(call.func)
        if last not in _MASTERS or not (context.names.of(call.func) or "tensorflow").startswith("tensorflow"):
            continue
        master = argument(call, "master", _MASTERS[last])
        chief = argument(call, "is_chief", _CHIEFS[last]) if last in _CHIEFS else None
        if last == "WorkerSessionCreator":
            yield call, f"a worker waits for a chief to initialise its variables, {_SERVER}"
        elif master is not None and not (isinstance(master, ast.Constant) and not master.value):
            yield master, f"`master` names a server, {_SERVER}"
        elif chief is not None and not (isinstance(chief, ast.Constant) and chief.value is True):
            yield chief, f"`is_chief` tells processes apart, {_SERVER}"


def _estimators(context: Context) -> Iterator[Found]:
    known = context.sites.read_estimators
    for call in context.sites.estimators:
        if context.names.last(call.func) == TRAIN_AND_EVALUATE and not any(
            training.call is call for training in known.trainings
        ):
            yield (
                call,
                "where this `TrainSpec` is made can't be seen, and it says for how many steps each rank trains; make it in "
                "this file, with its arguments by name",
            )
    for loop in context.summary.loops:
        if loop.kind is LoopKind.ESTIMATOR and context.names.last(loop.node.func) == "fit":
            yield (
                loop.node,
                "Estimators of `tf.contrib.learn` can't be distributed; use `tf.estimator.Estimator`",
            )
    if known.trainings and context.summary.kinds & {LoopKind.KERAS, LoopKind.GRADIENT_TAPE}:
        yield (
            known.trainings[0].call,
            "an Estimator trains in a graph, the other loop of this file at once, and each needs its GPU in another way; "
            "put them into files of their own",
        )
    for call in known.trained:
        yield from _unfit(context, known, call)
    for call in context.module.calls_of(RUN_CONFIG):
        for keyword in call.keywords:
            if keyword.arg in ("train_distribute", "experimental_distribute") and not says_none(
                keyword.value
            ):
                yield keyword.value, f"`{keyword.arg}` says how to distribute, {_SERVER}"
    for node in context.syntax.nodes:
        if isinstance(node, ast.Assign) and any(_is_tf_config(t) for t in node.targets):
            yield node.targets[0], f"`TF_CONFIG` names servers, {_SERVER}"


def _unfit(context: Context, known: Estimators, call: ast.Call) -> Iterator[Found]:
    """Estimators whose optimizer can't be wrapped."""
    last = context.names.last(call.func)
    if last in CANNED:
        for parameter in CANNED[last]:
            given = argument(call, parameter)
            if standard_optimizer(context.module, context.sites, call, parameter) is not None:
                continue
            if given is None:
                yield call, f"its default optimizer can't be wrapped: {_OPTIMIZER.format(parameter)}"
            elif not all(_can_be_wrapped(context, e) for e in context.values.given_back(given)):
                yield given, f"this optimizer can't be wrapped: {_OPTIMIZER.format(parameter)}"
    elif last in _NO_OPTIMIZER:
        yield call, _NO_OPTIMIZER[last]
    elif last != "Estimator" and context.names.of(call.func) is not None:
        yield (
            call,
            f"`{last}` takes no optimizer that could be wrapped; use `tf.estimator.Estimator` with a `model_fn`",
        )


def _can_be_wrapped(context: Context, optimizer: ast.expr) -> bool:
    """Whether an optimizer may be one of TensorFlow 1's. One that can't be followed is left to rule S2 to refuse."""
    return not any(
        isinstance(o.node, ast.Constant)
        or (
            o.call is not None
            and context.module.is_optimizer(o.call)
            and _V1_OPTIMIZER not in context.values.made_by(o.call)
        )
        for o in context.values.origins(optimizer)
    )


def _is_tf_config(target: ast.expr) -> bool:
    """`os.environ["TF_CONFIG"]`"""
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "TF_CONFIG"
    )


__all__ = ["Found", "find_in_graphs"]
