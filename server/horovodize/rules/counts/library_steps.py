"""Steps that callbacks, hooks, optimizers and configurations of TensorFlow count by themselves: part of G5.

`ModelCheckpoint(save_freq=1000)` → `ModelCheckpoint(save_freq=max(1, 1000 // hvd.size()))`

What an optimizer takes from the weights in each step, whatever its rate, is another thing of the step:
`tfa.optimizers.AdamW(weight_decay=1e-4)` (`shrunk_weights`)."""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.rules.counts import shrunk_weights, thresholds
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted
from horovodize.summary.estimators import RUN_CONFIG


def candidates(draft: Draft) -> list[ast.Call]:
    """The calls that may be given numbers of steps, or what each step takes from the weights."""
    return [*draft.module.calls_which(_may_be_told), *draft.sites.read_estimators.configurations]


def _may_be_told(module: Module, call: ast.Call) -> bool:
    name = module.names.of(call.func) or ""
    told = name.startswith(_PRUNING) or name.rsplit(".", 1)[-1] in _PARAMETERS
    return told or shrunk_weights.takes_from_weights(module, call)


def divide(draft: Draft, call: ast.Call, name: str) -> None:
    """Divides what a call is given, where TensorFlow counts by it. `name`: what is called, fully qualified."""
    if (
        call in draft.sites.read_estimators.configurations
    ):  # `config.replace(save_checkpoints_steps=100)`, too
        name = RUN_CONFIG
    prunes = name.startswith(_PRUNING)
    if prunes:
        parameters = _OF_PRUNING.get(name.removeprefix(_PRUNING), ())
    else:
        known_library = name.startswith(("tensorflow.", "tensorflow_addons."))
        parameters = _PARAMETERS.get(name.rsplit(".", 1)[-1], ()) if known_library else ()
    of_fit = prunes or name.startswith("tensorflow.keras.")
    of_fit = of_fit or name.startswith(_ADD_ONS)
    if of_fit and not all(counted.is_fit_divided(draft, f) for f in draft.facts.feeding.fits):
        return
    shrunk_weights.by_optimizer(draft, call, name)
    for parameter, index in parameters:
        steps = argument(call, parameter, index)
        known = draft.facts.feeding.kinds.constant(steps) if steps is not None else None
        if steps is None and (name.rsplit(".", 1)[-1], parameter) in _DEFAULTS:
            _write_out(draft, call, parameter, _DEFAULTS[name.rsplit(".", 1)[-1], parameter])
        if (
            steps is None
            or (isinstance(steps, ast.Constant) and known is None)
            or (known is not None and known <= 1)
        ):
            continue
        if _is_no_number(draft, steps) or not counted.is_whole(draft, steps) or _counts_all(draft, call):
            continue
        least = 0 if parameter.startswith(("begin", "end")) else 1  # -1 stays as it is: never
        draft.change(
            "G5",
            steps,
            thresholds.WHAT,
            thresholds.WHY,
            counted.over_ranks(draft, steps, "G5", least),
            decision=Decision.DIVIDED,
        )


def _write_out(draft: Draft, call: ast.Call, parameter: str, default: int) -> None:
    """A number of steps after which something happens again, where it is the default."""
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return
    edit = draft.add_argument(call, f"{parameter}=max(1, {default} // {SIZE})")
    draft.change("G5", call, thresholds.WHAT, thresholds.WHY, [edit], decision=Decision.DIVIDED)


def _is_no_number(draft: Draft, e: ast.expr) -> bool:
    """`save_freq="epoch"`, and `end_step=-1`, which is never, by whatever name."""
    nodes = [o.node for o in draft.values.origins(e)]
    return any(
        isinstance(n.value, str) if isinstance(n, ast.Constant) else
        isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub)
        for n in nodes
    )  # fmt: skip


def _counts_all(draft: Draft, call: ast.Call) -> bool:
    """Whether something counts by a number of the program's own that isn't a rank's steps."""
    counter = (
        argument(call, "step_counter", 5) if draft.names.last(call.func) == "CheckpointManager" else None
    )
    return counter is not None and counted.of(draft, counter) is None


_SAVED = (("save_steps", 2),)
_AVERAGED = (("start_averaging", 1), ("average_period", 2))

# TensorFlow Model Optimization's schedules go by the optimizer's steps.
_PRUNING = "tensorflow_model_optimization.sparsity.keras."
_ADD_ONS = "tensorflow_addons."
_DEFAULTS = {
    ("ConstantSparsity", "frequency"): 100,
    ("PolynomialDecay", "frequency"): 100,
    ("SWA", "average_period"): 10,
    ("Lookahead", "sync_period"): 6,
}
_OF_PRUNING: dict[str, tuple[tuple[str, int | None], ...]] = {
    "ConstantSparsity": (("begin_step", 1), ("end_step", 2), ("frequency", 3)),
    "PolynomialDecay": (("begin_step", 2), ("end_step", 3), ("frequency", 5)),
}
_PARAMETERS: dict[str, tuple[tuple[str, int | None], ...]] = {
    "ModelCheckpoint": (("save_freq", None),),
    "BackupAndRestore": (("save_freq", 1),),
    "OrbaxCheckpoint": (("save_freq", 6),),
    "TensorBoard": (("update_freq", None),),
    "CheckpointManager": (("checkpoint_interval", 6),),
    "CheckpointSaverHook": _SAVED,
    "SummarySaverHook": (("save_steps", 0),),
    "ProfilerHook": (("save_steps", 0),),
    "LoggingTensorHook": (("every_n_iter", 1),),
    "StepCounterHook": (("every_n_steps", 0),),
    "SecondOrStepTimer": (("every_steps", None),),
    "MonitoredTrainingSession": (
        ("save_checkpoint_steps", None),
        ("save_summaries_steps", None),
        ("log_step_count_steps", None),
    ),
    "SWA": _AVERAGED,
    "Lookahead": (("sync_period", 1),),
    "RectifiedAdam": (("total_steps", None),),
    "ScheduleFreeAdamW": (("warmup_steps", 4),),
    "RunConfig": (
        ("save_checkpoints_steps", None),
        ("save_summary_steps", None),
        ("log_step_count_steps", None),
    ),
}

__all__ = ["divide"]
