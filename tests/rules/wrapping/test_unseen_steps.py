"""K1: models whose training step is of another package, and may apply gradients itself."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
{imports}
x, y = np.load("x.npy"), np.load("y.npy")
{model}
model.compile(optimizer={optimizer}, loss="mse")
model.fit(x, y, epochs=3)
"""
OWN = """\
class Ranking({}):
    def compute_loss(self, features, training=False):
        return tf.reduce_mean(self(features) ** 2)
model = Ranking()
"""
ADAM = "tf.keras.optimizers.Adam(0.01)"


def text_of(imports: str, model: str, optimizer: str = ADAM, tensorflow: str | None = None) -> str:
    return plan_of(
        PROGRAM.format(imports=imports, model=model, optimizer=optimizer), tensorflow=tensorflow
    ).text


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("import tensorflow_recommenders as tfrs", "tfrs.Model"),
        ("from tensorflow_recommenders import Model", "Model"),
        ("from helpers.models import Trained", "Trained"),
        ("from helpers.mixins import Logged", "Logged, tf.keras.Model"),
    ],
)
@pytest.mark.parametrize("optimizer", [ADAM, "'adam'"])
def test_gradients_are_averaged_where_they_are_applied(imports: str, base: str, optimizer: str) -> None:
    text = text_of(imports, OWN.format(base), optimizer)
    assert "averaging(tf.keras.optimizers.Adam(" in text
    assert "0.01 * hvd.size()" in text or "0.001 * hvd.size()" in text


def test_a_base_behind_one_of_the_program() -> None:
    own = "class Base(tfrs.Model):\n    pass\n" + OWN.format("Base")
    assert "averaging(" in text_of("import tensorflow_recommenders as tfrs", own)


def test_models_of_packages_that_have_such_a_step() -> None:
    made = "model = SimilarityModel.from_config({})\nmodel = tfsim.models.ContrastiveModel()"
    assert "averaging(" in text_of("import tensorflow_similarity as tfsim", made.partition("\n")[2])


@pytest.mark.parametrize(
    ("imports", "model"),
    [
        ("", "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])"),
        ("", OWN.format("tf.keras.Model")),
        ("from keras.models import Model", OWN.format("Model")),
        ("import segmentation_models as sm", "model = sm.Unet('resnet34')"),
        ("from transformers import TFBertPreTrainedModel", OWN.format("TFBertPreTrainedModel")),
        ("from abc import ABC", OWN.format("tf.keras.Model, ABC")),
    ],
)
def test_keras_own_step_needs_no_more(imports: str, model: str) -> None:
    """Near miss: it leaves the gradients to the optimizer."""
    text = text_of(imports, model)
    assert "averaging(" not in text
    assert "hvd.DistributedOptimizer(tf.keras" in text


def test_keras_3_averages_where_gradients_are_applied() -> None:
    text = text_of(
        "import keras\nfrom helpers.models import Trained", OWN.format("Trained"), tensorflow="2.17"
    )
    assert "averaging(" not in text


def test_a_step_that_is_seen_wraps_its_tape() -> None:
    step = """\
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(data)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}
model = Ranking()
"""
    text = text_of(
        "from helpers.mixins import Logged",
        OWN.format("Logged, tf.keras.Model").replace("model = Ranking()\n", step),
    )
    assert "DistributedGradientTape(tape)" in text
    assert "averaging(" not in text


def test_the_helper_averages_once() -> None:
    """Run by itself, with a wrapper as Horovod's: `minimize` averages and says so, `apply_gradients` doesn't."""
    text = text_of("import tensorflow_recommenders as tfrs", OWN.format("tfrs.Model"))
    helper = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "averaging")

    class Wrapped:
        def __init__(self, optimizer: object) -> None:
            self._aggregated_gradients, self.applied = False, list[tuple[Any, ...]]()

        def _allreduce(self, gradients: tuple[int, ...], variables: tuple[str, ...]) -> list[int]:
            self._aggregated_gradients = True
            return [g * 10 for g in gradients]

        def minimize(self) -> None:
            self.apply_gradients(zip(self._allreduce((1, 2), ("a", "b")), ("a", "b"), strict=True))

        def apply_gradients(self, pairs: Any) -> None:
            self.applied.append(tuple(pairs))

    class Horovod:
        DistributedOptimizer = Wrapped

    names: dict[str, Any] = {"hvd": Horovod}
    exec(compile(ast.Module([helper], []), "helper", "exec"), names)
    optimizer = names["averaging"](None)
    optimizer.minimize()
    optimizer.apply_gradients(zip((1, 2), ("a", "b"), strict=True))
    optimizer.apply_gradients([(1, "a"), (2, "b")])
    optimizer.minimize()
    assert optimizer.applied == [((10, "a"), (20, "b"))] * 4


@pytest.mark.parametrize(
    ("imported", "optimizer"),
    [
        ("from transformers import AdamWeightDecay", "AdamWeightDecay(1e-3, weight_decay_rate=0.01)"),
        ("from rates import Cyclic", "tf.keras.optimizers.Adam(Cyclic(1e-4, 1e-2))"),
    ],
)
def test_what_is_carried_over_is_averaged_too(imported: str, optimizer: str) -> None:
    """One wrapper in place of the other would lose the settings, or train each rank by itself."""
    text = text_of(f"import tensorflow_recommenders as tfrs\n{imported}", OWN.format("tfrs.Model"), optimizer)
    assert "averaging(" + optimizer.partition("(")[0] in text
    assert "    wrapped = distributed_as_made(optimizer)\n" in text
    assert "def distributed_as_made(made):" in text


def test_others_are_wrapped_by_horovods() -> None:
    text = text_of("import tensorflow_recommenders as tfrs", OWN.format("tfrs.Model"))
    assert "    wrapped = hvd.DistributedOptimizer(optimizer)\n" in text
    assert "distributed_as_made" not in text
