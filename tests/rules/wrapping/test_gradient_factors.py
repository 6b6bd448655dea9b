"""G4: what averaged gradients are multiplied with is the same on all ranks, also where it is set by what each has measured."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import TF, plan_of

HEAD = (
    TF
    + """
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
{before}
scale, losses, best, step = 1.0, [], 1e9, 0
for epoch in range(9):
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        grads = tape.gradient(loss, model.trainable_variables)
        {applied}
        losses.append(float(loss))
        step += 1
        if step % 40 == 0:
            mean = np.mean(losses[-40:])
            if mean > best:
                {changed}
            best = min(best, mean)
"""
)
BY_LIST = "opt.apply_gradients(zip([scale * g for g in grads], model.trainable_variables))"
BY_PAIRS = "opt.apply_gradients([(scale * g, v) for g, v in zip(grads, model.trainable_variables)])"
CUT = "opt.apply_gradients(zip(tf.clip_by_global_norm(grads, scale)[0], model.trainable_variables))"
MEAN = "mean = mean_over_ranks(np.mean(losses[-max(1, 40 // hvd.size()):]))"


@pytest.mark.parametrize("applied", [BY_LIST, BY_PAIRS, CUT])
@pytest.mark.parametrize("changed", ["scale *= 0.7", "scale = scale / 2"])
def test_a_factor_that_goes_by_what_ranks_measure(applied: str, changed: str) -> None:
    assert MEAN in plan_of(HEAD.format(before="", applied=applied, changed=changed)).text


def test_a_factor_in_a_variable() -> None:
    before = "factor = tf.Variable(1.0, trainable=False)"
    source = HEAD.format(before=before, applied=BY_LIST, changed="factor.assign(factor * 0.7)")
    assert MEAN in plan_of(source.replace("[scale * g", "[factor * g")).text


def test_a_factor_that_a_hook_sets() -> None:
    source = TF + textwrap.dedent("""
        class Plateau:
            def __init__(self, window=40):
                self.best, self.window = None, window
            def on_step(self, trainer):
                if trainer.step % self.window == 0:
                    mean = np.mean(trainer.losses[-self.window:])
                    if self.best is not None and mean > self.best:
                        trainer.scale *= 0.7
                    self.best = mean
        class Trainer:
            def __init__(self, hooks):
                self.hooks, self.step, self.losses, self.scale = hooks, 0, [], 1.0
                self.model, self.opt = tf.keras.Sequential([]), tf.keras.optimizers.SGD(0.1)
            def fit(self, ds):
                for epoch in range(9):
                    for x, y in ds:
                        with tf.GradientTape() as tape:
                            loss = tf.reduce_mean(self.model(x) - y)
                        v = self.model.trainable_variables
                        grads = tape.gradient(loss, v)
                        self.opt.apply_gradients(zip([self.scale * g for g in grads], v))
                        self.losses.append(float(loss))
                        for hook in self.hooks:
                            hook.on_step(self)
                        self.step += 1
        Trainer([Plateau()]).fit(tf.data.Dataset.from_tensor_slices((a, b)).batch(4))
        """)
    assert (
        "mean_over_ranks(np.mean(trainer.losses[-max(1, self.window // hvd.size()):]))"
        in plan_of(source).text
    )


def test_a_factor_that_each_step_may_change() -> None:
    source = HEAD.format(before="", applied=BY_LIST, changed="pass")
    plan = plan_of(source + "        if loss > 2.0:\n            scale *= 0.9\n")
    assert "if mean_over_ranks(loss) > 2.0:" in plan.text


@pytest.mark.parametrize(
    ("applied", "changed"),
    [
        # near misses: nothing is multiplied with it; it is counted, not set
        ("opt.apply_gradients(zip(grads, model.trainable_variables))", "scale *= 0.7"),
        (BY_LIST, "print(scale)"),
        (BY_LIST, "last = scale"),
    ],
)
def test_what_no_gradient_is_multiplied_with(applied: str, changed: str) -> None:
    assert "mean_over_ranks" not in plan_of(HEAD.format(before="", applied=applied, changed=changed)).text
