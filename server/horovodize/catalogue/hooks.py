"""Which session hooks may run on one rank only, and which must run on all."""

from __future__ import annotations

from typing import Final
from typing import Literal as Choice

from .classes import cls
from .names import canonical

HookRole = Choice["writes", "steers", "decides alone", "neutral", "unknown"]

_WRITES: Final = "writes"
_STEERS: Final = "steers"
_ALONE: Final = "decides alone"
_NEUTRAL: Final = "neutral"
_UNKNOWN: Final = "unknown"

_TRAIN = "tensorflow.compat.v1.train."
_EXPERIMENTAL = "tensorflow.estimator.experimental."
BASE = _TRAIN + "SessionRunHook"

_HOOKS: dict[str, HookRole] = {
    # Write files or print. They only fetch what is computed anyway.
    _TRAIN + "CheckpointSaverHook": _WRITES,
    _TRAIN + "LoggingTensorHook": _WRITES,
    _TRAIN + "ProfilerHook": _WRITES,
    _TRAIN + "StepCounterHook": _WRITES,
    _TRAIN + "SummarySaverHook": _WRITES,
    # Decide when training starts or ends, by what is the same on all ranks.
    _TRAIN + "GlobalStepWaiterHook": _STEERS,
    _TRAIN + "NanTensorHook": _STEERS,
    _TRAIN + "StopAtStepHook": _STEERS,
    "horovod.tensorflow.BroadcastGlobalVariablesHook": _STEERS,
    # Feed or run operations, which may be shared by the ranks.
    _TRAIN + "FeedFnHook": _NEUTRAL,
    _TRAIN + "FinalOpsHook": _NEUTRAL,
    _EXPERIMENTAL + "InMemoryEvaluatorHook": _NEUTRAL,
    "tensorflow.data.experimental.CheckpointInputPipelineHook": _NEUTRAL,
    # Functions that make a hook which ends training by what one rank has measured.
    _EXPERIMENTAL + "make_early_stopping_hook": _ALONE,
    _EXPERIMENTAL + "stop_if_higher_hook": _ALONE,
    _EXPERIMENTAL + "stop_if_lower_hook": _ALONE,
    _EXPERIMENTAL + "stop_if_no_decrease_hook": _ALONE,
    _EXPERIMENTAL + "stop_if_no_increase_hook": _ALONE,
}
_CONTRIB = "tensorflow.contrib.estimator."  # the functions above, before TensorFlow 1.14
# What a hook does when it is made, not only when the session runs.
_ONLY_LOOK = {
    _TRAIN + "NanTensorHook",
    *(f"tensorflow.keras.callbacks.{name}" for name in ("CSVLogger", "ProgbarLogger", "TensorBoard")),
}
_WRITES_WHEN_MADE = frozenset({_TRAIN + "ProfilerHook"})


def hook_role(name: str) -> HookRole:
    """What a session hook class (or a function that makes a hook) does to a distributed run.

    ``writes``: files or the screen; one rank must, the others need not.
    ``steers``: training itself, alike on every rank; every rank must.
    ``decides alone``: it may end training on one rank, while the others wait for it.
    ``neutral``: runs operations that the ranks may share; every rank must.
    ``unknown``: who knows what.
    """
    name = canonical(name)
    if name.startswith(_CONTRIB):
        name = _EXPERIMENTAL + name.removeprefix(_CONTRIB)
    return _HOOKS.get(name, _UNKNOWN)


def hook_only_looks(name: str) -> bool:
    """Whether what a hook, or a callback of Keras, is given doesn't decide when training ends: it is told, or is as good on all
    ranks (a loss that is no number makes the weights of all ranks none)."""
    return hook_role(name) == _WRITES or canonical(name) in _ONLY_LOOK


def hook_writes_when_made(name: str) -> bool:
    """Whether constructing a hook writes a file already."""
    return canonical(name) in _WRITES_WHEN_MADE


def is_hook(name: str) -> bool:
    """Whether ``name`` is a session hook class, or a function that makes a hook."""
    found = cls(name)
    return hook_role(name) != _UNKNOWN or (found is not None and BASE in (found.name, *found.ancestors))
