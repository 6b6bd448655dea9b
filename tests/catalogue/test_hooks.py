"""Which session hooks run on one rank and which on all."""

from __future__ import annotations

import pytest

from horovodize.catalogue import hook_role, hook_writes_when_made, is_hook
from horovodize.catalogue.classes import cls
from horovodize.catalogue.data import load
from horovodize.catalogue.hooks import BASE

TRAIN = "tensorflow.compat.v1.train."


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("tensorflow.train.CheckpointSaverHook", "writes"),
        ("tensorflow.estimator.LoggingTensorHook", "writes"),
        ("tensorflow.python.training.basic_session_run_hooks.SummarySaverHook", "writes"),
        ("tensorflow.compat.v1.estimator.StopAtStepHook", "steers"),
        ("tensorflow.train.NanTensorHook", "steers"),
        ("horovod.tensorflow.BroadcastGlobalVariablesHook", "steers"),
        ("tensorflow.train.FeedFnHook", "neutral"),
        ("tensorflow.estimator.experimental.InMemoryEvaluatorHook", "neutral"),
        ("tensorflow.estimator.experimental.stop_if_lower_hook", "decides alone"),
        ("tensorflow.contrib.estimator.stop_if_no_decrease_hook", "decides alone"),
        ("tensorflow.train.SessionRunHook", "unknown"),
        ("tensorflow.contrib.estimator.DNNEstimator", "unknown"),
        ("mine.CheckpointSaverHook", "unknown"),
        ("", "unknown"),
    ],
)
def test_roles(name: str, role: str) -> None:
    assert hook_role(name) == role


def test_every_hook_of_tensorflow_has_a_role() -> None:
    hooks = {
        name
        for name in load().classes
        if name != BASE and (found := cls(name)) is not None and BASE in found.ancestors and "tpu" not in name
    }
    assert len(hooks) >= 9
    assert {name for name in hooks if hook_role(name) == "unknown"} == set()


def test_is_hook() -> None:
    assert is_hook("tensorflow.train.SessionRunHook")
    assert is_hook("tensorflow.train.StopAtStepHook")
    assert is_hook("tensorflow.estimator.experimental.make_early_stopping_hook")
    assert not is_hook("tensorflow.train.Saver")
    assert not is_hook("mine.StopAtStepHook")


def test_the_profiler_opens_its_file_when_it_is_made() -> None:
    assert hook_writes_when_made("tensorflow.train.ProfilerHook")
    assert not hook_writes_when_made(TRAIN + "CheckpointSaverHook")
