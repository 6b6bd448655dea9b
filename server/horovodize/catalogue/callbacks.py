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
    "aim.keras.AimCallback": WRITES,
    "aim.tensorflow.AimCallback": WRITES,
    "dvclive.keras.DVCLiveCallback": WRITES,
    "dvclive.keras.DvcLiveCallback": WRITES,
    "huggingface_hub.PushToHubCallback": WRITES,
    "jovian.callbacks.keras.JovianKerasCallback": WRITES,
    "keras_tqdm.TQDMCallback": WRITES,
    "keras_tqdm.TQDMNotebookCallback": WRITES,
    "neptunecontrib.monitoring.keras.NeptuneMonitor": WRITES,
    "tqdm.keras.TqdmCallback": WRITES,
    "tensorflow_addons.callbacks.TQDMProgressBar": WRITES,
    "tensorflow_addons.callbacks.tqdm_progress_bar.TQDMProgressBar": WRITES,
    "tensorflow_addons.callbacks.AverageModelCheckpoint": WRITES,
    "tensorflow_addons.callbacks.TimeStopping": STEERS,
    "tensorflow_docs.modeling.EpochDots": WRITES,
    "tensorflow_model_optimization.sparsity.keras.UpdatePruningStep": STEERS,
    "tensorflow_model_optimization.sparsity.keras.PruningSummaries": WRITES,
    "transformers.KerasMetricCallback": NEUTRAL,
    "transformers.keras_callbacks.KerasMetricCallback": NEUTRAL,
    "transformers.PushToHubCallback": WRITES,
    "transformers.keras_callbacks.PushToHubCallback": WRITES,
    "tensorboard.plugins.hparams.api.KerasCallback": WRITES,
    "tensorboard.plugins.hparams.keras.KerasCallback": WRITES,
}

# Packages that tell of a run, by the beginnings of the names that they are imported from: callbacks of these names write.
_TELLING: dict[str, tuple[str, ...]] = {
    "comet_ml.": ("CometKerasCallback", "CometTensorflowKerasCallback"),
    "livelossplot.": ("PlotLossesCallback", "PlotLossesKeras", "PlotLossesKerasTF"),
    "mlflow.": ("MlflowCallback", "MLflowCallback", "MlflowModelCheckpointCallback"),
    "neptune.": ("NeptuneCallback",),
    "neptune_tensorflow_keras.": ("NeptuneCallback",),
    "swanlab.": ("SwanLabCallback", "SwanLabLogger"),
    "wandb.": ("WandbCallback", "WandbEvalCallback", "WandbMetricsLogger", "WandbModelCheckpoint"),
}

# What makes such a callback of a run, as its method: `Experiment(…).get_callback("keras")`
_MADE_BY_METHODS: dict[str, tuple[str, ...]] = {"comet_ml.": ("get_callback", "get_keras_callback")}

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
    if _is_of_others(name):
        return _OTHERS.get(name, WRITES)
    if name.startswith(_PREFIX):
        return _KERAS.get(name.removeprefix(_PREFIX), UNKNOWN)
    return UNKNOWN


def callback_made_by_method(name: str, method: str) -> Role:
    """What a callback does that a method of an object makes, whose class is called ``name``."""
    methods = next((m for start, m in _MADE_BY_METHODS.items() if name.startswith(start)), ())
    return WRITES if method in methods else UNKNOWN


def _is_of_others(name: str) -> bool:
    """Whether this is a callback class of a package that is known, by whatever module of it."""
    last = name.rpartition(".")[2]
    return name in _OTHERS or any(
        name.startswith(start) and last in names for start, names in _TELLING.items()
    )


def is_callback(name: str) -> bool:
    """Whether ``name`` is a callback class: Keras', Horovod's or a known package's."""
    if _is_of_others(canonical(name)):
        return True
    found = cls(name)
    return found is not None and _PREFIX + "Callback" in (found.name, *found.ancestors)
