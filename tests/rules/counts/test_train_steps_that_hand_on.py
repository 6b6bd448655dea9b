"""G5, G7: what a `train_step` does beside `super().train_step(data)` comes with each batch of `fit`."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, plan_of

STEP = """\
class Net(tf.keras.Model):
    def __init__(self, inner, decay=0.99):
        super().__init__()
        self.inner, self.decay = inner, decay
        self.average = tf.keras.models.clone_model(inner)
        self.steps = tf.Variable(0, trainable=False, dtype=tf.int64)
        self.w = tf.Variable(1.0, trainable=False)
    def call(self, x):
        return self.inner(x) * self.w
    def {name}(self, data):
        {before}
        out = {handed}
        {after}
        return out
net = Net(model)
net.compile(o.SGD(0.01), "mse")
{fit}
"""
FIT = "net.fit(x, y, epochs=3)"
SUPER = "super().train_step(data)"
COUNT = "self.steps.assign_add(1)"
FOLLOW = "[a.assign({} * a + {} * b) for a, b in zip(self.average.variables, self.inner.variables)]"


def text(
    before: str, after: str = COUNT, handed: str = SUPER, name: str = "train_step", fit: str = FIT
) -> str:
    return plan_of(MODEL + STEP.format(before=before, after=after, handed=handed, name=name, fit=fit)).text


@pytest.mark.parametrize(
    "handed", [SUPER, "super(Net, self).train_step(data)", "tf.keras.Model.train_step(self, data)"]
)
def test_a_weight_by_its_own_count(handed: str) -> None:
    """It went size() times too slowly, without a word."""
    line = "self.w.assign(tf.minimum(1.0, tf.cast(self.steps, tf.float32) / 100.0))"
    assert "tf.cast(self.steps, tf.float32) * hvd.size() / 100.0" in text(line, handed=handed)


def test_what_goes_on_from_itself_with_each_batch() -> None:
    assert "self.w.assign(self.w * 0.99 ** hvd.size())" in text("self.w.assign(self.w * 0.99)", "pass")


@pytest.mark.parametrize(
    ("one", "other", "becomes"),
    [
        ("0.99", "0.01", "0.99 ** hvd.size() * a + (1 - 0.99 ** hvd.size()) * b"),
        (
            "self.decay",
            "(1 - self.decay)",
            "self.decay ** hvd.size() * a + (1 - self.decay ** hvd.size()) * b",
        ),
    ],
)
def test_a_copy_of_the_weights_that_follows_them(one: str, other: str, becomes: str) -> None:
    assert becomes in text("pass", FOLLOW.format(one, other))


def test_what_comes_every_few_batches() -> None:
    after = COUNT + "\n        if self.steps % 20 == 0:\n            tf.print(self.steps)"
    assert "if self.steps % max(1, 20 // hvd.size()) == 0" in text("pass", after)


def test_a_subclass_of_a_model_that_has_one() -> None:
    sub = "class Sub(Net):\n    def train_step(self, data):\n        self.w.assign(self.w * 0.98)\n"
    program = STEP.format(before="pass", after=COUNT, handed=SUPER, name="train_step", fit=FIT)
    program = program.replace(
        "net = Net(model)", sub + "        return super().train_step(data)\nnet = Sub(model)"
    )
    assert "self.w.assign(self.w * 0.98 ** hvd.size())" in plan_of(MODEL + program).text


@pytest.mark.parametrize(
    ("before", "handed", "name"),
    [
        (
            "self.w.assign(self.w * 0.99)",
            "super().test_step(data)",
            "test_step",
        ),  # with each batch of an evaluation
        ("self.w.assign(self.w * 0.99)", "super().predict_step(data)", "predict_step"),
        ("self.w.assign(self.w * 0.99)", "super().train_step(data)", "other_step"),  # nothing calls it
    ],
)
def test_what_does_not_come_with_the_batches_of_fit_stays(before: str, handed: str, name: str) -> None:
    assert f"        {before}\n" in text(before, "pass", handed, name)


def test_a_train_step_that_does_not_train_counts_nothing() -> None:
    assert "        self.w.assign(self.w * 0.99)\n" in text(
        "self.w.assign(self.w * 0.99)", "pass", "{'loss': 0.0}"
    )
