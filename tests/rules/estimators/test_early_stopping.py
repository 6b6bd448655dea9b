"""E1: a hook that ends an Estimator's training by metrics ends it on all ranks when rank 0's does."""

from __future__ import annotations

import pytest

from ..pairs import plan_of, refused
from .test_estimator import MADE, MODEL

TRAIN = "e.train(f, hooks=[stop])\n"
NO_DECREASE = "tf.contrib.estimator.stop_if_no_decrease_hook(e, 'loss', 1000)"


def text(made: str, train: str = TRAIN) -> str:
    return plan_of(MODEL + MADE + f"stop = {made}\n" + train).text


@pytest.mark.parametrize(
    ("made", "after"),
    [
        (
            "stop_if_no_decrease_hook(e, 'loss', 1000)",
            "stop_if_no_decrease_hook(e, 'loss', 1000 // hvd.size())",
        ),
        (
            "stop_if_no_increase_hook(e, 'f1', max_steps_without_increase=n, min_steps=8000, run_every_secs=120)",
            "stop_if_no_increase_hook(e, 'f1', max_steps_without_increase=max(1, n // hvd.size()), "
            "min_steps=8000 // hvd.size(), run_every_secs=120)",
        ),
        (
            "stop_if_higher_hook(e, 'accuracy', 0.9, None, 500, None, 100)",
            "stop_if_higher_hook(e, 'accuracy', 0.9, None, 500 // hvd.size(), None, 100 // hvd.size())",
        ),
        (
            "stop_if_lower_hook(e, 'loss', 0.1, min_steps=0)",
            "stop_if_lower_hook(e, 'loss', 0.1, min_steps=0)",
        ),
        (
            "make_early_stopping_hook(e, enough, run_every_secs=None, run_every_steps=5000)",
            "make_early_stopping_hook(e, enough, run_every_secs=None, run_every_steps=5000 // hvd.size())",
        ),
    ],
)
@pytest.mark.parametrize("module", ["tf.estimator.experimental", "tf.contrib.estimator"])
def test_rank_0_decides_for_all_and_waits_for_as_many_rows(module: str, made: str, after: str) -> None:
    changed = text(f"{module}.{made}")
    assert f"stop = StopTogether({module}.{after})\n" in changed
    assert "e.train(f, hooks=[hvd.BroadcastGlobalVariablesHook(0), stop])\n" in changed
    assert (
        "        if any_rank(run_context.stop_requested):\n            run_context.request_stop()\n"
        in changed
    )


def test_where_the_hook_is_made_in_the_list() -> None:
    changed = plan_of(MODEL + MADE + f"e.train(f, hooks=[{NO_DECREASE}])\n").text
    after = NO_DECREASE.replace("1000", "1000 // hvd.size()")
    assert f"e.train(f, hooks=[hvd.BroadcastGlobalVariablesHook(0), StopTogether({after})])\n" in changed


def test_one_hook_of_two_trainings_is_wrapped_once() -> None:
    changed = text(NO_DECREASE, TRAIN + TRAIN)
    assert changed.count("StopTogether(tf.contrib") == 1


def test_the_input_is_divided_as_without_it() -> None:
    made = "def f():\n    return tf.data.Dataset.from_tensor_slices(x).batch(8)\n"
    changed = plan_of(MODEL + made + MADE + f"stop = {NO_DECREASE}\n" + TRAIN).text
    assert "shard" in changed


def test_of_a_function_of_the_program_it_is_told_that_rank_0_asks_it() -> None:
    plan = plan_of(MODEL + MADE + "stop = tf.contrib.estimator.make_early_stopping_hook(e, enough)\n" + TRAIN)
    assert any("rank 0 alone asks this function" in n.message for n in plan.notes)
    assert not any(
        "asks this function" in n.message
        for n in plan_of(MODEL + MADE + f"stop = {NO_DECREASE}\n" + TRAIN).notes
    )


@pytest.mark.parametrize(
    "stop",
    [
        f"{NO_DECREASE} if patient else tf.train.FinalOpsHook(ops)",
        f"{NO_DECREASE} if patient else tf.train.LoggingTensorHook(['loss'], 10)",  # writes, or ends alone
        "tf.contrib.estimator.stop_if_no_decrease_hook(*given)",
    ],
)
def test_what_may_end_one_rank_alone_is_refused(stop: str) -> None:
    refused(MODEL + MADE + f"stop = {stop}\n" + TRAIN, "HVD006", "wait for it")
