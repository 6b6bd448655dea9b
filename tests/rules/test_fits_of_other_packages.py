"""A `fit` of another package's class, which is handed what Keras 1 took, is not Keras'."""

from __future__ import annotations

import pytest

from .pairs import TF, plan_of, refused

HEAD = TF + "import deepchem as dc\nfrom deepchem.models import KerasModel\n"


@pytest.mark.parametrize(
    "made",
    [
        "model = KerasModel(net, loss)\n",
        "model = dc.models.GraphConvModel(12)\n",
        "class Mine(KerasModel):\n    pass\nmodel = Mine(net, loss)\n",
    ],
)
def test_what_keras_1_took_is_another_packages(made: str) -> None:
    refused(f"{HEAD}{made}model.fit(rows, nb_epoch=20)\n", "HVD006", "so it is not Keras' own")


@pytest.mark.parametrize(
    "made",
    [
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n",
        "import nets\nmodel = nets.Classifier(3)\nmodel.compile('sgd', 'mse')\n",
        "class Mine(tf.keras.Model):\n    pass\nmodel = Mine()\nmodel.compile('sgd', 'mse')\n",
        "import nets\nmodel = nets.make_model(3)\n",
    ],
)
def test_old_keras_is_still_distributed(made: str) -> None:
    assert "nb_epoch=20" in plan_of(f"{HEAD}{made}model.fit(x, y, nb_epoch=20)\n").text


def test_the_question_says_whose_class_it_is() -> None:
    plan = plan_of(f"{HEAD}import nets\nmodel = nets.Classifier(3)\nmodel.fit(x, y, epochs=20)\n")
    assert any("that the `fit` of this class of `nets` is Keras' own" in c.doubt for c in plan.to_confirm)


@pytest.mark.parametrize(
    ("given", "foreign"),
    [
        ("model, rows, held, epochs=25, batch_size=1", True),  # Keras' third is the size of batches
        ("x, y, epochs=25, batch_size=1", False),
        ("*data, epochs=25, batch_size=1", False),
    ],
)
def test_what_is_given_twice_is_not_keras_own(given: str, foreign: bool) -> None:
    """A trainer's `fit(model, rows, held)` was edited as Keras': rows of a model were divided."""
    source = f"{TF}import nets\ntrainer = nets.Trainer()\ntrainer.fit({given})\n"
    if foreign:
        refused(source, "HVD006", "so it is not Keras' own")
    else:
        assert "callbacks=callbacks" in plan_of(source).text
