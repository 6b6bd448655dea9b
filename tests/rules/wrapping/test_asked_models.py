"""K1, K2: models whose `compile` needs no wrapper of its own."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

HEAD = (
    "import numpy as np\n"
    + TF
    + "x, y = np.ones((960, 3)), np.ones(960)\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    "model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\n"
)
OTHER = "other = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nother.compile(metrics=['mae'])\n"
CALLBACK = """\
class Unfreeze(tf.keras.callbacks.{}):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 3:
            self.model.layers[0].trainable = True
            self.model.compile(optimizer=self.model.optimizer, loss=self.model.loss)
"""


@pytest.mark.parametrize(
    "used",
    [
        "model.fit(x, y)\nother.set_weights(model.get_weights())\nprint(other.evaluate(x, y))\n",
        "model.fit(x, y)\nother.load_weights('w.h5')\nrows = other.predict(x)\nother.save('m.h5')\n",
    ],
)
def test_a_model_that_is_only_asked_gets_no_optimizer(used: str) -> None:
    assert "other.compile(metrics=['mae'])\n" in plan_of(HEAD + OTHER + used).text


@pytest.mark.parametrize(
    "used",
    [
        "other.fit(x, y)\n",
        "other.train_on_batch(x, y)\nmodel.fit(x, y)\n",
        "def train(m):\n    m.fit(x, y)\ntrain(other)\ntrain(model)\n",
        "for m in [model, other]:\n    m.fit(x, y)\n",
        "train = other.fit\nmodel.fit(x, y)\n",
        "if x.any():\n    other = model\nmodel.fit(x, y)\n",
    ],
)
def test_one_that_may_be_trained_does(used: str) -> None:
    assert "other.compile(optimizer=hvd.DistributedOptimizer(" in plan_of(HEAD + OTHER + used).text


EXPORTED = "tf.keras.Sequential([model, tf.keras.layers.Activation('sigmoid')])"
LOADED = "tf.keras.models.load_model('best.h5')"
ASKED = "print(other.evaluate(x, y))\nother.save('m.h5')\n"


@pytest.mark.parametrize("made", [EXPORTED, LOADED, "tf.keras.Model(model.input, model.layers[0].output)"])
@pytest.mark.parametrize("optimizer", ["'adam'", "tf.keras.optimizers.Adam(0.01)", "optimizer='sgd'"])
def test_the_optimizer_of_a_model_that_is_only_asked_is_left(made: str, optimizer: str) -> None:
    compiled = f"other = {made}\nother.compile({optimizer}, loss='mse')\n"
    plan = plan_of(HEAD + "model.fit(x, y)\n" + compiled + ASKED)
    assert compiled in plan.text
    assert plan.text.count("DistributedOptimizer(") == 1
    assert not plan.to_confirm


@pytest.mark.parametrize(
    ("made", "optimizer", "used"),
    [
        (EXPORTED, "'adam'", "other.fit(x, y)\n"),
        (EXPORTED, "'adam'", "def train(m):\n    m.fit(x, y)\ntrain(other)\n"),
        (EXPORTED, "'adam'", "other.trainable = False\n"),
        (EXPORTED, "opt", ASKED),  # it may train elsewhere
        ("the_same(model)", "'adam'", ASKED),  # which may be the one that is trained
        ("model", "'adam'", ASKED),
    ],
)
def test_one_that_may_be_trained_is_wrapped(made: str, optimizer: str, used: str) -> None:
    before = "opt = tf.keras.optimizers.Adam(0.01)\ndef the_same(m):\n    return m\n"
    compiled = f"other = {made}\nother.compile({optimizer}, loss='mse')\n"
    plan = plan_of(HEAD + before + "model.fit(x, y)\n" + compiled + used)
    assert plan.text.count("DistributedOptimizer(") > 1


def test_a_callback_compiles_again_with_the_optimizer_that_fit_has() -> None:
    """Its rate was multiplied with each time."""
    plan = plan_of(HEAD + CALLBACK.format("Callback") + "model.fit(x, y, callbacks=[Unfreeze()])\n")
    assert "self.model.compile(optimizer=self.model.optimizer, loss=self.model.loss)\n" in plan.text
    assert not plan.to_confirm


def test_where_fit_has_one_that_is_not_seen_it_is_asked_about() -> None:
    fit = "import nets\nnet = nets.build()\nnet.fit(x, y, callbacks=[Unfreeze()])\n"
    plan = plan_of(HEAD + CALLBACK.format("Callback") + "model.fit(x, y)\n" + fit)
    assert any("check that its rate is not scaled already" in c.doubt for c in plan.to_confirm)
