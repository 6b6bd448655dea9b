"""Which callbacks may run on one rank only, and which must run on all."""

from __future__ import annotations

from typing import Final
from typing import Literal as Choice

from .classes import cls
from .names import canonical

Role = Choice["writes", "steers", "averages", "neutral", "unknown"]

WRITES: Final = "writes"
STEERS: Final = "steers"
AVERAGES: Final = "averages"
NEUTRAL: Final = "neutral"
UNKNOWN: Final = "unknown"

_KERAS: dict[str, Role] = {
    # Write files, send reports or print.
    "ModelCheckpoint": WRITES,
    "TensorBoard": WRITES,
    "CSVLogger": WRITES,
    "OrbaxCheckpoint": WRITES,
    "BackupAndRestore": WRITES,
    "experimental.BackupAndRestore": WRITES,
    "RemoteMonitor": WRITES,
    "ProgbarLogger": WRITES,
    "SidecarEvaluatorModelExport": WRITES,
    # Set the learning rate, the weights or ``stop_training``: ranks that differ here stall or drift apart.
    "EarlyStopping": STEERS,
    "ReduceLROnPlateau": STEERS,
    "LearningRateScheduler": STEERS,
    "TerminateOnNaN": STEERS,
    "SwapEMAWeights": STEERS,
    # Only gather numbers.
    "Callback": NEUTRAL,
    "CallbackList": NEUTRAL,
    "History": NEUTRAL,
    "BaseLogger": NEUTRAL,
    # Does what its arguments do.
    "LambdaCallback": UNKNOWN,
}

_HOROVOD: dict[str, Role] = {
    "BroadcastGlobalVariablesCallback": STEERS,
    "LearningRateScheduleCallback": STEERS,
    "LearningRateWarmupCallback": STEERS,
    "MetricAverageCallback": AVERAGES,
    "BestModelCheckpoint": WRITES,
    # horovod.tensorflow.keras.elastic
    "CommitStateCallback": STEERS,
    "UpdateBatchStateCallback": STEERS,
    "UpdateEpochStateCallback": STEERS,
}

_OTHERS: dict[str, Role] = {
    "tqdm.keras.TqdmCallback": WRITES,
    "tensorflow_addons.callbacks.TQDMProgressBar": WRITES,
    "tensorflow_addons.callbacks.AverageModelCheckpoint": WRITES,
    "tensorflow_addons.callbacks.TimeStopping": STEERS,
    "tensorflow_model_optimization.sparsity.keras.UpdatePruningStep": STEERS,
    "tensorflow_model_optimization.sparsity.keras.PruningSummaries": WRITES,
    "transformers.KerasMetricCallback": NEUTRAL,
    "transformers.keras_callbacks.KerasMetricCallback": NEUTRAL,
    "transformers.PushToHubCallback": WRITES,
    "transformers.keras_callbacks.PushToHubCallback": WRITES,
    "wandb.keras.WandbCallback": WRITES,
    "wandb.keras.WandbMetricsLogger": WRITES,
    "wandb.keras.WandbModelCheckpoint": WRITES,
    "wandb.integration.keras.WandbCallback": WRITES,
    "wandb.integration.keras.WandbMetricsLogger": WRITES,
    "wandb.integration.keras.WandbModelCheckpoint": WRITES,
    "livelossplot.PlotLossesKeras": WRITES,
    "livelossplot.PlotLossesKerasTF": WRITES,
    "livelossplot.keras.PlotLossesCallback": WRITES,
    "tensorboard.plugins.hparams.api.KerasCallback": WRITES,
}

_PREFIX = "tensorflow.keras.callbacks."


def callback_role(name: str) -> Role:
    """What a callback class does to a distributed run.

    ``writes``: files, reports or the screen; one rank must, the others need not.
    ``steers``: training itself; every rank must.
    ``averages``: metrics over ranks; every rank must, before those that steer.
    ``neutral``: nothing outside itself.
    ``unknown``: what its arguments do, or who knows what.
    """
    name = canonical(name)
    if name.startswith("horovod."):
        return _HOROVOD.get(name.rpartition(".")[2], UNKNOWN)
    if name in _OTHERS:
        return _OTHERS[name]
    if name.startswith(_PREFIX):
        return _KERAS.get(name.removeprefix(_PREFIX), UNKNOWN)
    return UNKNOWN


def is_callback(name: str) -> bool:
    """Whether ``name`` is a callback class: Keras', Horovod's or a known package's."""
    if canonical(name) in _OTHERS:
        return True
    found = cls(name)
    return found is not None and _PREFIX + "Callback" in (found.name, *found.ancestors)
