"""E1 Estimator: its training broadcasts first, takes a rank's share of the steps, and writes on rank 0 only.

What it does   `train`, or the `TrainSpec` of a `train_and_evaluate`, gets `hvd.BroadcastGlobalVariablesHook(0)` as its first
               hook, and 1/size() of `steps` and `max_steps`. Rank 0 has the `model_dir`; the others get a temporary directory
               of their own. `RunConfig(session_config=…)` shows each process its GPU. Hooks that write or print stay on rank 0,
               those of an `EstimatorSpec`, too. One that ends training by metrics (`stop_if_no_decrease_hook`) waits for
               1/size() of the steps and ends it on all ranks when rank 0's does. Arrays of `numpy_input_fn` and
               `pandas_input_fn`, and datasets that an input function makes, are divided among the ranks. What a canned
               Estimator of TensorFlow 1 takes if it is given no optimizer, or the name of one, is written out and wrapped.
Why            Every rank initialises its own random weights, and would save its checkpoints over the others'.
Before         classifier = tf.estimator.Estimator(model_fn, model_dir="model")
               classifier.train(input_fn, steps=1000)
After          config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))
               classifier = tf.estimator.Estimator(model_fn, model_dir="model" if hvd.rank() == 0 else None,
                                                   config=tf.estimator.RunConfig(session_config=config))
               classifier.train(input_fn, steps=1000 // hvd.size(), hooks=[hvd.BroadcastGlobalVariablesHook(0)])
Leaves alone   `evaluate` and `predict`: every rank runs them, each from its own directory. So does `train_and_evaluate`, after
               each checkpoint, and exports there: all at the same time, with the same weights. The optimizer in `model_fn` (S2
               wraps it). Exports (C6 leaves them to rank 0).
Refuses        Training that can't be found, a class of your own derived from Estimator, a model function of another file, a
               train op that no `minimize` makes, a Keras optimizer, hooks that may end training and that can't be seen
               (HVD006). See HVD202 for a `TrainSpec` that can't be seen, `tf.contrib.learn`, trees, and canned Estimators of
               TensorFlow 2 without an optimizer of `tf.train`.
Asks           A `RunConfig` that comes from elsewhere: its session config is replaced. A number of steps that an earlier run's
               checkpoint gives and that this one goes on from: it is rank 0's, and counts a rank's steps.
Source         Seed, Estimator variant, assignments and expression statements. Errata: the seed appends the broadcast hook to
               the user's list, leaves `steps` as they are, and every rank saves into the same `model_dir`. What
               `train_and_evaluate` waited for in horovod#182 was TensorFlow before 1.10, where each process ended its training
               by its own clock to evaluate; since then checkpoints call for an evaluation.
"""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.python.syntax import CALLABLES, argument, has_unpacking
from horovodize.rules.beginning.session_config import pin_session
from horovodize.rules.callbacks.checkpoint_reading import wait_before_reading
from horovodize.rules.callbacks.hooks import broadcast_first, only_root_has, place_hooks, stop_together
from horovodize.rules.deciding.lockstep import keep_in_step
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.estimators import canned_optimizers, early_stopping, estimator_input, estimator_steps
from horovodize.rules.numbers.shares import begins, change_count, counts_a_share, is_none
from horovodize.rules.wrapping.optimizers import trained_optimizers, wrap
from horovodize.source import Edit
from horovodize.summary import LoopKind
from horovodize.summary.estimators import BASE, RUN_CONFIG, Estimators, Training

_WHAT_DIRECTORY = "Leave the model's directory to rank 0"
_WHY_DIRECTORY = "Processes that save into one directory damage each other's checkpoints; what rank 0 restores is broadcast."
_WHY_OPTIMIZER = "The gradients of all ranks are averaged before they are applied."
_WHY_STEPS = "Every step averages size() batches, so 1/size() of the steps see as many examples."
_WHAT_CONFIG = "Show the Estimator's sessions the GPU of its process only"
_WHY_CONFIG = "A session takes all GPUs that it sees; each process is shown the one of its local rank."
_FINISHED = (
    "rank 0 alone finds a checkpoint in the model's directory, which counts a rank's steps: go on with as many ranks as saved "
    "it; where it has reached `max_steps` already, rank 0 trains no more, and the others end with an error: use an empty "
    "directory, or `steps`"
)
_AVERAGE = (
    "its gradients have to be averaged over the ranks, by an optimizer of `tf.train` and its `minimize`"
)
_KERAS = "Horovod can't average the gradients of a Keras optimizer in a TensorFlow 1 graph; use one of `tf.compat.v1.train`"
_MADE_ELSEWHERE = (
    "this Estimator is made in another file, so its optimizer can't be wrapped; make it in this one"
)
_CONFIG, _SESSION_CONFIG, _TRAIN_OP = 2, 5, 3
_SPEC_HOOKS = ("training_hooks", "training_chief_hooks", "evaluation_hooks", "prediction_hooks")


def apply(draft: Draft) -> None:
    known = draft.sites.read_estimators
    if not known.trainings:
        for loop in draft.summary.loops:
            if loop.kind is LoopKind.ESTIMATOR:
                draft.refuse(
                    "HVD006",
                    loop.node,
                    "this Estimator is trained in another file, so its steps can't be divided; call `train` in this one",
                )
        return
    for call in known.trained:
        _construct(draft, known, call)
    for call in known.configurations:
        only_root_has(draft, "E1", argument(call, "model_dir", 0), _WHAT_DIRECTORY, _WHY_DIRECTORY)
    for training in {
        t.said: t for t in known.trainings
    }.values():  # one `TrainSpec` may be trained in several places
        if not training.made and not known.constructions:
            draft.refuse("HVD006", training.call, _MADE_ELSEWHERE)
        _train(draft, training)
    for spec in known.specs:
        if _may_run(draft, known, spec):
            _check_train_op(draft, spec)
        for parameter in _SPEC_HOOKS:
            hooks = argument(spec, parameter)
            if hooks is not None and not is_none(hooks):
                place_hooks(draft, "E1", hooks)
    _wrap_optimizers(draft, known)
    for call in known.trained:
        canned_optimizers.write_out(draft, call)
    stop_together(draft, "E1")
    keep_in_step(draft)
    if begins(draft, "E1"):
        for training in {t.said: t for t in known.trainings}.values():
            _divide_steps(draft, training)
        early_stopping.divide_steps(draft, "E1")
        estimator_input.divide(draft, known)
        estimator_steps.ask(draft, known.trainings)


# ---------------------------------------------------------------------- construction


def _construct(draft: Draft, known: Estimators, call: ast.Call) -> None:
    name = draft.names.of(call.func)
    if name is None:
        draft.refuse(
            "HVD006",
            call,
            "this class is derived from Estimator in this file, so where its directory and its configuration go can't be seen; "
            "use `tf.estimator.Estimator` with a `model_fn`",
        )
        return
    if has_unpacking(call) and argument(call, "config") is None:
        draft.refuse(
            "HVD006", call, "`*` may pass a directory and a configuration; give `model_dir=…` and `config=…`"
        )
        return
    if name == BASE:
        _check_model(draft, known, call)
    only_root_has(
        draft,
        "E1",
        argument(call, "model_dir", _position(name, "model_dir")),
        _WHAT_DIRECTORY,
        _WHY_DIRECTORY,
    )
    _configure(
        draft, known, call, argument(call, "config", _CONFIG if name == BASE else _position(name, "config"))
    )


def _position(name: str, parameter: str) -> int | None:
    """Where a parameter stands among the positional arguments of an Estimator class."""
    known = catalogue.cls(name)
    return known.parameters.index(parameter) if known is not None and parameter in known.parameters else None


def _configure(draft: Draft, known: Estimators, call: ast.Call, config: ast.expr | None) -> None:
    """Pins the sessions of one Estimator: in its own `RunConfig`, or in one that is added."""
    if config is None or is_none(config):
        made = f"{_run_config(draft, call)}(session_config={draft.session_config(_v1_use(draft))})"
        edit = (
            draft.add_argument(call, f"config={made}")
            if config is None
            else Edit(draft.module.span(config), made)
        )
        draft.change("S3", call, _WHAT_CONFIG, _WHY_CONFIG, [edit])
        return
    made_by = _saying_sessions(draft, known.configured_by(config))
    if made_by:
        if _needs_config(made_by):  # S3 would take the Estimator's own name for one of TensorFlow 1's
            draft.session_config(_v1_use(draft))
        for c in made_by:
            pin_session(draft, c, "session_config", _SESSION_CONFIG)
    elif isinstance(config, (ast.Name, ast.Attribute, ast.Call)) and draft.once("pinned", config):
        replaced = f".replace(session_config={draft.session_config(_v1_use(draft))})"
        edits = Edit.around(draft.module.span(config), "", replaced)
        doubt = (
            "where this configuration is made can't be seen: its session config is replaced; if it has a `model_dir`, every "
            "rank writes there, so give the Estimator `model_dir=…`"
        )
        draft.change("S3", config, _WHAT_CONFIG, _WHY_CONFIG, edits, doubt)
    elif not isinstance(config, (ast.Name, ast.Attribute, ast.Call)):
        draft.refuse("HVD006", config, "this configuration can't be pinned to a GPU; give it a name first")


def _saying_sessions(draft: Draft, made_by: list[ast.Call]) -> list[ast.Call]:
    """The calls among those that made a configuration that say which session config it has: each `RunConfig`, unless what
    replaces something of it has another."""
    replaced = [c for c in made_by if draft.names.of(c.func) != RUN_CONFIG]
    last = [c for c in replaced if argument(c, "session_config") is not None]
    return last or [c for c in made_by if c not in replaced]


def _needs_config(made: list[ast.Call]) -> bool:
    """Whether some `RunConfig` has no session config of the user's."""
    return any(is_none(argument(c, "session_config", _SESSION_CONFIG)) and not has_unpacking(c) for c in made)


def _run_config(draft: Draft, call: ast.Call) -> str:
    """What `RunConfig` is called where an Estimator is made: it stands beside the class."""
    if isinstance(call.func, ast.Attribute) and draft.names.of(call.func.value) == "tensorflow.estimator":
        return f"{draft.module.text(call.func.value)}.RunConfig"
    return f"{draft.tensorflow()}.estimator.RunConfig"


def _v1_use(draft: Draft) -> ast.expr:
    """A use of a name that only TensorFlow 1 has: it shows what TensorFlow 1 is called. (`tf.estimator` is in TensorFlow 2,
    too.) Where there is none, an expression that is no name of TensorFlow."""
    for node in draft.syntax.nodes:
        if isinstance(node, ast.Attribute) and (draft.names.of(node) or "").startswith(
            "tensorflow.compat.v1."
        ):
            full = (draft.names.of(node) or "").removeprefix("tensorflow.compat.v1.")
            if draft.module.text(node).endswith("." + full):
                return node
    return ast.Name("", lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


# ---------------------------------------------------------------------- model functions


def _check_model(draft: Draft, known: Estimators, call: ast.Call) -> None:
    """Refuses a model function in which no optimizer can be seen."""
    model = argument(call, "model_fn", 0)
    functions = known.functions(model) if model is not None else []
    if not functions or not all(isinstance(f, CALLABLES) for f in functions):
        at = model if model is not None else call
        draft.refuse(
            "HVD006",
            at,
            "this model function is not in this file, so its optimizer can't be wrapped; define it here",
        )
    elif not all(draft.drive.reaches(f, draft.sites.graph.train_ops) for f in functions):
        draft.refuse(
            "HVD006", call, f"its model function calls no `minimize` or `apply_gradients`: {_AVERAGE}"
        )


def _may_run(draft: Draft, known: Estimators, spec: ast.Call) -> bool:
    """Whether an Estimator that is trained here may run what a spec says: not where it is seen that all of them have other
    model functions, as where a module has one for each of several scripts."""
    models = [argument(call, "model_fn", 0) for call in known.trained if draft.names.of(call.func) == BASE]
    functions = [known.functions(model) if model is not None else [] for model in models]
    if not models or not all(found and all(isinstance(f, CALLABLES) for f in found) for found in functions):
        return True
    return any(draft.drive.reaches(f, {spec}) for found in functions for f in found)


def _check_train_op(draft: Draft, spec: ast.Call) -> None:
    """Refuses a train op of which it can't be seen that a wrapped optimizer makes it."""
    op = argument(spec, "train_op", _TRAIN_OP)
    if op is None or is_none(op):
        return
    graph = draft.sites.graph
    if not any(node in graph.train_ops for node in graph.operations(op)):
        draft.refuse("HVD006", op, f"where this train op is made can't be followed: {_AVERAGE}")


# ---------------------------------------------------------------------- training


def _train(draft: Draft, training: Training) -> None:
    hooks = broadcast_first(draft, "E1", training.said, training.hooks_index)
    if hooks is not None:
        place_hooks(draft, "E1", hooks)
    for directory in _directories(draft, training):
        wait_before_reading(draft, "E1", directory, training.call)


def _divide_steps(draft: Draft, training: Training) -> None:
    for count in (training.steps, training.max_steps):
        if count is None or is_none(count):
            continue
        if not counts_a_share(draft, count):
            change_count(draft, "E1", count, why=_WHY_STEPS)
    if training.max_steps is not None and not is_none(training.max_steps) and _may_resume(draft, training):
        draft.note("E1", training.call, _FINISHED)


def _may_resume(draft: Draft, training: Training) -> bool:
    """Whether a training may find a checkpoint of an earlier run: its Estimator has a directory, or can't be followed."""
    return not training.made or bool(_directories(draft, training))


def _directories(draft: Draft, training: Training) -> list[ast.expr]:
    """The directories that the Estimator of a training may have."""
    made = [
        argument(c, "model_dir", _position(draft.names.of(c.func) or "", "model_dir")) for c in training.made
    ]
    made += [argument(c, "model_dir", 0) for c in draft.sites.read_estimators.configurations]
    return [d for d in made if d is not None and not is_none(d)]


def _wrap_optimizers(draft: Draft, known: Estimators) -> None:
    """The optimizers that canned Estimators are given."""
    given = set(known.optimizers)
    for trained in trained_optimizers(draft):
        if trained.sink == "graph" and (trained.class_name or "").startswith("tensorflow.keras.optimizers."):
            draft.refuse("HVD006", trained.origin, _KERAS)
        elif trained.used_at in given and trained.outermost is not None:
            wrap(draft, "E1", trained.outermost, _WHY_OPTIMIZER)


RULE = Rule("E1", "train an Estimator on all ranks", apply, __doc__ or "")
