"""C5: rates that callbacks and functions set later, of an optimizer or under a name of their own."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

HEAD = TF + "class Later(tf.keras.callbacks.Callback):\n    def on_epoch_begin(self, epoch, logs=None):\n"
TAIL = "model = tf.keras.Sequential([])\nmodel.compile(tf.keras.optimizers.SGD(0.1), 'mse')\n"
TAIL += "model.fit(x, y, callbacks=[Later()])\n"


@pytest.mark.parametrize(
    ("before", "sets"),
    [
        ("optimizer = self.model.optimizer", "optimizer.learning_rate = {}"),
        ("optimizer = self.model.optimizer", "optimizer.lr.assign({})"),
        ("rate = self.model.optimizer.learning_rate", "rate.assign({})"),
        ("rate = self.model.optimizer.lr", "tf.keras.backend.set_value(rate, {})"),
        ("n, optimizer = 1, self.model.optimizer", "optimizer.lr = {}"),
        ("self.optimizer = self.model.optimizer", "self.optimizer.lr = {}"),
    ],
)
def test_a_rate_that_is_set_under_another_name_is_multiplied(before: str, sets: str) -> None:
    source = HEAD + f"        {before}\n        if epoch == 2:\n            {sets}\n" + TAIL
    text = plan_of(source.replace("{}", "0.001")).text
    assert sets.format("0.001 * hvd.size()") in text
    relative = plan_of(source.replace("{}", "0.1 * self.model.optimizer.lr")).text
    assert sets.format("0.1 * self.model.optimizer.lr") in relative  # that is multiplied already


def test_the_rate_of_settings_is_not_an_optimizer_s() -> None:
    source = TF + "from configuration import config\nsettings = config.optimizer\nsettings.lr = 0.2\n"
    source += TAIL.replace(", callbacks=[Later()]", "").replace("SGD(0.1)", "SGD(settings.lr)")
    text = plan_of(source).text
    assert "settings.lr = 0.2\n" in text
    assert "SGD(settings.lr * hvd.size())" in text


SETTER = """\
def set_rate(model, value):
    tf.keras.backend.set_value(model.optimizer.lr, value)
"""


def calls(*values: str) -> str:
    """A callback that sets rates by a function, one in each epoch."""
    body = "".join(
        f"        if epoch == {n}:\n            set_rate(self.model, {v})\n" for n, v in enumerate(values)
    )
    return HEAD.replace("class Later", SETTER + "class Later") + body + TAIL


def test_a_function_that_all_give_rates_of_their_own_multiplies_them() -> None:
    text = plan_of(calls("0.1", "0.2")).text
    assert "set_value(model.optimizer.lr, value * hvd.size())" in text
    assert "set_rate(self.model, 0.1)" in text


def test_where_some_give_parts_of_the_optimizer_s_rate_the_others_multiply_theirs() -> None:
    text = plan_of(calls("0.1", "0.5 * float(self.model.optimizer.lr)")).text
    assert "set_value(model.optimizer.lr, value)" in text
    assert "set_rate(self.model, 0.1 * hvd.size())" in text
    assert "set_rate(self.model, 0.5 * float(self.model.optimizer.lr))" in text


def test_where_all_give_parts_of_it_nothing_is_multiplied() -> None:
    text = plan_of(calls("0.5 * float(self.model.optimizer.lr)")).text
    assert "set_value(model.optimizer.lr, value)" in text
    assert "set_rate(self.model, 0.5 * float(self.model.optimizer.lr))" in text


REGISTERED = """
HOOKS = {"step": []}
def on(event):
    def register(function):
        HOOKS[event].append(function)
        return function
    return register
class Learner:
    def __init__(self, model):
        self.model, self.opt = model, tf.keras.optimizers.SGD(0.1)
        self.seen = 0
    def fit(self, batches):
        for x, y in batches:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.model(x) - y))
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.opt.apply_gradients(zip(gradients, self.model.trainable_variables))
            self.seen += 1
            for hook in HOOKS["step"]:
                hook(self)
@on("step")
def steer(learner):
    learner.{sets}
Learner(tf.keras.Sequential([tf.keras.layers.Dense(1)])).fit(tf.data.Dataset.from_tensor_slices((a, b)).batch(4))
"""


def test_an_optimizer_of_an_object_that_a_function_in_a_registry_is_handed() -> None:
    text = plan_of(TF + REGISTERED.replace("{sets}", "opt.learning_rate = 0.01")).text
    assert "learner.opt.learning_rate = 0.01 * hvd.size()\n" in text
    plan = plan_of(TF + REGISTERED.replace("{sets}", "opt.learning_rate = 0.1 * 0.99 ** learner.seen"))
    assert "learner.opt.learning_rate = 0.1 * 0.99 ** learner.seen * hvd.size()\n" in plan.text
    assert any("goes by a count of steps" in c.doubt for c in plan.changes if not c.sure)


def test_what_such_an_object_calls_otherwise_is_no_optimizer() -> None:
    text = plan_of(TF + REGISTERED.replace("{sets}", "settings.learning_rate = 0.01")).text
    assert "learner.settings.learning_rate = 0.01\n" in text
