"""K3: callbacks of other packages, and the program's own that are derived from those."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, doubts, plan_of, refused

HEAD = MODEL + "from tensorflow.keras import callbacks as c\nmodel.compile('sgd')\n"
UNSEEN = "what it does can't be seen"


@pytest.mark.parametrize(
    "before",
    [
        "from schedules import CyclicLR\nclass Mine(CyclicLR):\n    pass\n",
        "from schedules import CyclicLR\nclass Mine(CyclicLR):\n    def on_epoch_end(self, epoch, logs=None):\n        pass\n",
        "from schedules import Mixin\nclass Mine(Mixin, c.Callback):\n    pass\n",
        "import schedules\nclass Base(schedules.rates.CyclicLR):\n    pass\nclass Mine(Base):\n    pass\n",
        "import schedules\nclass Mine(schedules.base()):\n    pass\n",
    ],
)  # fmt: skip
def test_what_is_inherited_from_a_class_that_cannot_be_seen_is_asked_about(before: str) -> None:
    plan = plan_of(HEAD + before + "model.fit(x, y, callbacks=[Mine()])\n")
    assert any(UNSEEN in doubt for doubt in doubts(plan, "K3"))


@pytest.mark.parametrize(
    "before",
    [
        "class Mine(c.Callback):\n    pass\n",
        "from abc import ABC\nclass Mine(c.Callback, ABC):\n    pass\n",
        "from typing import Generic\nclass Mine(c.Callback, Generic[int]):\n    pass\n",
        "class Base(c.EarlyStopping):\n    pass\nclass Mine(Base, object):\n    pass\n",
        "class Mine(c.ModelCheckpoint):\n    pass\n",
        "from wandb.integration.keras import WandbEvalCallback\nclass Mine(WandbEvalCallback):\n    pass\n",
        "import tensorflow_addons as tfa\nclass Mine(tfa.callbacks.TimeStopping):\n    pass\n",
    ],
)
def test_what_is_inherited_from_known_classes_is_not_asked_about(before: str) -> None:
    plan = plan_of(HEAD + before + "model.fit(x, y, callbacks=[Mine()])\n")
    assert not any(UNSEEN in doubt for doubt in doubts(plan, "K3"))


@pytest.mark.parametrize(
    ("imported", "made"),
    [
        ("import mlflow", "mlflow.keras.MlflowCallback()"),
        ("from mlflow.tensorflow import MlflowCallback", "MlflowCallback()"),
        ("from neptune.integrations.tensorflow_keras import NeptuneCallback", "NeptuneCallback(run=run)"),
        ("from neptune_tensorflow_keras import NeptuneCallback", "NeptuneCallback(run=run)"),
        ("from wandb.integration.keras import WandbMetricsLogger", "WandbMetricsLogger()"),
        ("from wandb.keras import WandbModelCheckpoint", "WandbModelCheckpoint('m.keras')"),
        ("import comet_ml", "comet_ml.Experiment().get_callback('keras')"),
        ("import tensorflow_addons as tfa", "tfa.callbacks.TQDMProgressBar()"),
        ("from tqdm.keras import TqdmCallback", "TqdmCallback(verbose=1)"),
        ("from livelossplot import PlotLossesKeras", "PlotLossesKeras()"),
        ("from livelossplot.inputs.keras import PlotLossesCallback", "PlotLossesCallback()"),
        ("from livelossplot.inputs.tf_keras import PlotLossesCallback", "PlotLossesCallback()"),
        ("import tensorflow_docs as tfdocs\nimport tensorflow_docs.modeling", "tfdocs.modeling.EpochDots()"),
        ("from dvclive.keras import DVCLiveCallback", "DVCLiveCallback()"),
    ],
)
def test_those_that_tell_of_a_run_stay_on_rank_0_without_a_question(imported: str, made: str) -> None:
    plan = plan_of(f"{imported}\n{HEAD}model.fit(x, y, callbacks=[{made}])\n")
    assert f"*([{made}] if hvd.rank() == 0 else [])" in plan.text
    assert doubts(plan, "K3") == []


@pytest.mark.parametrize(
    "made", ["tracker.Experiment().get_callback('keras')", "comet_ml.Experiment().get_optimizer()"]
)
def test_what_other_methods_make_is_asked_about(made: str) -> None:
    plan = plan_of(f"import comet_ml, tracker\n{HEAD}model.fit(x, y, callbacks=[{made}])\n")
    assert any(UNSEEN in doubt for doubt in doubts(plan, "K3"))


@pytest.mark.parametrize(
    "steering",
    ["self.model.stop_training = True", "self.model.optimizer.learning_rate.assign(0.1)", "self.slower()"],
)
def test_a_checkpoint_that_steers_too_is_refused_with_what_to_do(steering: str) -> None:
    refused(
        HEAD
        + "class Mine(c.ModelCheckpoint):\n"
        + "    def on_epoch_end(self, epoch, logs=None):\n"
        + "        super().on_epoch_end(epoch, logs)\n"
        + f"        if epoch > 3:\n            {steering}\n"
        + "    def slower(self):\n        self.model.optimizer.learning_rate = 0.01\n"
        + "model.fit(x, y, callbacks=[Mine('m.keras')])\n",
        "HVD006",
        "make two callbacks of it",
    )
