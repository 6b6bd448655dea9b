"""What only rank 0's run of Weights & Biases is told: a sweep's settings, how far an earlier run has come.

With its 0.31, a run of `mode="disabled"` has the configuration that it is given, no sweep's; step 0; and was never resumed."""

from __future__ import annotations

import pytest

from ..pairs import TF, doubts, plan_of

INIT = "wandb.init(project='p', mode=None if hvd.rank() == 0 else 'disabled')"
SHARED = "wandb.config.update(hvd.broadcast_object(dict(wandb.config)), allow_val_change=True)\n"
FIT = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n{}model.fit(x, y, epochs=9{})\n"


def text_of(begin: str, before: str = "", more: str = "") -> str:
    return plan_of(TF + "import wandb\n" + begin + FIT.format(before, more)).text


@pytest.mark.parametrize(
    "read", ["rate = wandb.config.lr\n", "settings = wandb.config\n", "n = wandb.config['n']\n"]
)
def test_the_configuration_is_rank_0s(read: str) -> None:
    assert f"{INIT}\n{SHARED}" in text_of("wandb.init(project='p')\n", read)


def test_so_is_that_of_a_run_by_its_name() -> None:
    text = text_of("run = wandb.init(project='p')\n", "rate = run.config.lr\n")
    assert f"run = {INIT}\n{SHARED}" in text


def test_in_a_with_it_comes_first() -> None:
    text = text_of("with wandb.init(project='p') as run:\n    n = run.config.n\n")
    assert f"with {INIT} as run:\n    {SHARED}    n = " in text


@pytest.mark.parametrize(
    "before", ["", "wandb.config.update({'lr': 0.1})\n", "wandb.config.lr = 0.1\n", "settings.config.lr\n"]
)
def test_where_nothing_is_read_nothing_is_shared(before: str) -> None:
    text = text_of("wandb.init(project='p')\n", before)
    assert INIT in text
    assert "broadcast_object(dict(" not in text


def test_a_run_that_starts_within_something_else_is_asked_about() -> None:
    plan = plan_of(
        TF + "import wandb\nkept = [wandb.init(project='p')]; n = wandb.config.n\n" + FIT.format("", "")
    )
    assert any("dict(wandb.config)" in doubt for doubt in doubts(plan, "C6"))


@pytest.mark.parametrize(("test", "is_sent"), [("unseen.is_on()", False), ("input() == 'y'", True)])
def test_where_some_ranks_may_not_come_it_is_asked(test: str, is_sent: bool) -> None:
    """A rank that starts no run would leave the others waiting. What is typed in, rank 0 tells all."""
    begin = f"import unseen\nif {test}:\n    wandb.init(project='p')\n    n = wandb.config.n\n"
    plan = plan_of(TF + "import wandb\n" + begin + FIT.format("", ""))
    assert ("broadcast_object(dict(" in plan.text) is is_sent
    assert any("dict(wandb.config)" in doubt for doubt in doubts(plan, "C6")) is not is_sent


@pytest.mark.parametrize("step", ["wandb.run.step", "run.step"])
def test_how_far_a_run_has_come_is_rank_0s(step: str) -> None:
    text = text_of("run = wandb.init(project='p', resume=True)\n", more=f", initial_epoch={step}")
    assert f"initial_epoch=hvd.broadcast_object({step})" in text
