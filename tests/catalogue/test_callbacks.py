"""Which callbacks run on one rank and which on all."""

from __future__ import annotations

import pytest

from horovodize.catalogue import callback_role, is_callback
from horovodize.catalogue.callbacks import _KERAS
from horovodize.catalogue.data import load

PREFIX = "tensorflow.keras.callbacks."


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("tensorflow.keras.callbacks.ModelCheckpoint", "writes"),
        ("keras.callbacks.callbacks.ModelCheckpoint", "writes"),
        ("tensorflow.keras.callbacks.experimental.BackupAndRestore", "writes"),
        ("tensorflow.compat.v1.keras.callbacks.TensorBoard", "writes"),
        ("tensorflow.keras.callbacks.CSVLogger", "writes"),
        ("tensorflow.keras.callbacks.RemoteMonitor", "writes"),
        ("tensorflow.keras.callbacks.EarlyStopping", "steers"),
        ("tensorflow.keras.callbacks.ReduceLROnPlateau", "steers"),
        ("tensorflow.keras.callbacks.LearningRateScheduler", "steers"),
        ("tf_keras.callbacks.TerminateOnNaN", "steers"),
        ("tensorflow.keras.callbacks.History", "neutral"),
        ("tensorflow.keras.callbacks.Callback", "neutral"),
        ("tensorflow.keras.callbacks.LambdaCallback", "unknown"),
        ("horovod.tensorflow.keras.callbacks.MetricAverageCallback", "averages"),
        ("horovod.keras.callbacks.BroadcastGlobalVariablesCallback", "steers"),
        ("horovod.tensorflow.keras.elastic.CommitStateCallback", "steers"),
        ("wandb.keras.WandbCallback", "writes"),
    ],
)
def test_roles(name: str, role: str) -> None:
    assert callback_role(name) == role


@pytest.mark.parametrize(
    "name",
    [
        "mine.ModelCheckpoint",
        PREFIX + "Frobnicate",
        "keras.callbacks",
        "horovod.tensorflow.DistributedOptimizer",
        "",
    ],
)
def test_unknown_roles(name: str) -> None:
    assert callback_role(name) == "unknown"


def test_every_callback_of_tensorflow_has_a_role() -> None:
    classes = {name.removeprefix(PREFIX) for name in load().classes if name.startswith(PREFIX)}
    assert len(classes) >= 15
    assert classes == set(_KERAS)


def test_is_callback() -> None:
    assert is_callback("keras.callbacks.EarlyStopping")
    assert is_callback("keras.callbacks.Callback")
    assert is_callback("horovod.keras.callbacks.MetricAverageCallback")
    assert is_callback("tqdm.keras.TqdmCallback")
    assert not is_callback("keras.callbacks.CallbackList")
    assert not is_callback("keras.optimizers.Adam")
    assert not is_callback("mine.EarlyStopping")
