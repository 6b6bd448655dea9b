"""What optimizers are told besides their rates, and rates that are set by their names in tables: G5, C5."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

LOOP = """\
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices(tf.zeros((480, 5))).shuffle(400).repeat().batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.SGD(0.1)
momenta = [0.9 - 0.001 * i for i in range(120)]
step = 0
for x in ds.take(120):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step += 1
    {}
"""
CALLBACK = """\
import math
import tensorflow as tf
class OneCycle(tf.keras.callbacks.Callback):
    def __init__(self, total):
        super().__init__()
        self.total, self.i = total, 0
    def on_train_batch_begin(self, batch, logs=None):
        phase = self.i / self.total
        self.model.optimizer.momentum = 0.95 - 0.1 * math.sin(math.pi * phase)
        self.i += 1
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.9), "mse")
model.fit(x, y, batch_size=16, epochs=4, callbacks=[OneCycle(400)])
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("opt.momentum = 0.95 - step / 1200", "opt.momentum = 0.95 - step * hvd.size() / 1200"),
        (
            "opt.momentum = max(0.8, 0.95 - step / 99)",
            "opt.momentum = max(0.8, 0.95 - step * hvd.size() / 99)",
        ),
        ("setattr(opt, 'momentum', 0.9 ** step)", "setattr(opt, 'momentum', 0.9 ** (step * hvd.size()))"),
        ("opt._set_hyper('beta_1', 0.9 ** step)", "opt._set_hyper('beta_1', 0.9 ** (step * hvd.size()))"),
        ("opt.__dict__['_momentum'] = 0.9 ** step", "opt.__dict__['_momentum'] = 0.9 ** (step * hvd.size())"),
        ("opt.momentum = momenta[step]", "opt.momentum = momenta[step * hvd.size()]"),
        ("opt.momentum *= 0.999", "opt.momentum *= 0.999 ** hvd.size()"),
        # rates, which are multiplied, too
        ("opt.__dict__['lr'] = 0.9 ** step", "opt.__dict__['lr'] = 0.9 ** (step * hvd.size()) * hvd.size()"),
        (
            "vars(opt)['lr'].assign(0.9 ** step)",
            "vars(opt)['lr'].assign(0.9 ** (step * hvd.size()) * hvd.size())",
        ),
        ("opt._hyper['lr'] = 0.01", "opt._hyper['lr'] = 0.01 * hvd.size()"),
    ],
)
def test_it_goes_by_the_steps_of_all_ranks(before: str, after: str) -> None:
    plan = plan_of(LOOP.format(before))
    assert f"    {after}\n" in plan.text
    assert not [c.doubt for c in plan.changes if not c.sure]


def test_a_callback_sets_it_with_each_batch() -> None:
    assert "phase = self.i * hvd.size() / self.total\n" in plan_of(CALLBACK).text


def test_what_cant_be_followed_is_asked() -> None:
    plan = plan_of("from schedules import momentum_of\n" + LOOP.format("opt.momentum = momentum_of(step)"))
    assert any("is told this by a count of a rank's steps" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    "left",
    [
        "opt.momentum = 0.9",
        "model.momentum = len(weights) ** 2",
        "args.__dict__['momentum'] = 0.9 ** 2",
        "opt.name = str(step)",
    ],
)
def test_other_attributes_are_left(left: str) -> None:
    plan = plan_of("import argparse\nargs = argparse.ArgumentParser().parse_args()\n" + LOOP.format(left))
    assert f"    {left}\n" in plan.text
    assert not [c.doubt for c in plan.changes if not c.sure]


def test_a_setting_by_epochs_is_left() -> None:
    source = LOOP.format("pass").replace(
        "for x in ds.take(120):",
        "for epoch in range(3):\n  opt.momentum = 0.9 ** epoch\n  for x in ds.take(9):",
    )
    assert "opt.momentum = 0.9 ** epoch\n" in plan_of(source).text
