"""G5: weights that each step shrinks, or moves, by hand beside what trains them."""

from __future__ import annotations

import pytest

from ..pairs import TF, changes, plan_of

SHRINKING = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
opt, wd = tf.keras.optimizers.SGD(0.1), 1e-4
mask = tf.constant(1.0)
for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    for v in model.trainable_variables:
        v.assign({})
"""


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ("v * (1 - wd)", "v * (1 - wd) ** hvd.size()"),
        ("0.999 * v", "0.999 ** hvd.size() * v"),
        # near misses: the own rate of the optimizer, multiplied already; each weight by its own number, what keeps it within
        ("v * (1 - opt.learning_rate * wd)", "v * (1 - opt.learning_rate * wd)"),
        ("v * mask", "v * mask"),
        ("v * tf.minimum(1.0, 2.0 / tf.norm(v))", "v * tf.minimum(1.0, 2.0 / tf.norm(v))"),
        ("tf.clip_by_value(v, -1, 1)", "tf.clip_by_value(v, -1, 1)"),
    ],
)
def test_weights_that_each_step_shrinks(value: str, after: str) -> None:
    """A decay of weights by hand: a rank takes size() times fewer steps."""
    text = plan_of(
        TF + "import numpy as np\na, b = np.ones((99, 3)), np.ones(99)\n" + SHRINKING.format(value)
    ).text
    assert f"        v.assign({after})\n" in text


def test_weights_that_shrink_by_a_factor_that_changes_are_asked_about() -> None:
    value = "v * (1 - wd * 0.99 ** float(opt.iterations))"
    plan = plan_of(
        TF + "import numpy as np\na, b = np.ones((99, 3)), np.ones(99)\n" + SHRINKING.format(value)
    )
    assert any("shrinks these weights" in c.doubt for c in plan.changes)


BY_CALLBACK = """\
import numpy as np
a, b = np.ones((99, 3)), np.ones(99)
class Shrink(tf.keras.callbacks.Callback):
    def {hook}(self, number, logs=None):
        {change}
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(a, b, batch_size=4, epochs=5, callbacks=[Shrink()])
"""
EACH = "for w in self.model.trainable_weights: w.assign(w * {})"
LIST = "self.model.set_weights([{} * w for w in self.model.get_weights()])"


@pytest.mark.parametrize(
    ("hook", "change", "after"),
    [
        ("on_train_batch_end", EACH.format("0.999"), EACH.format("0.999 ** hvd.size()")),
        ("on_batch_end", LIST.format("0.999"), LIST.format("0.999 ** hvd.size()")),
        # near misses: by the epoch; a mask; another callback's own numbers
        ("on_epoch_end", EACH.format("0.999"), EACH.format("0.999")),
        ("on_epoch_end", LIST.format("0.999"), LIST.format("0.999")),
        ("on_train_batch_end", EACH.format("tf.ones_like(w)"), EACH.format("tf.ones_like(w)")),
        ("on_train_batch_end", "self.seen.assign(self.seen * 2)", "self.seen.assign(self.seen * 2)"),
    ],
)
def test_weights_that_a_callback_shrinks(hook: str, change: str, after: str) -> None:
    """With each batch of `fit`: a rank has size() times fewer."""
    text = plan_of(TF + BY_CALLBACK.format(hook=hook, change=change)).text
    assert f"        {after}\n" in text


ROWS = TF + "import numpy as np\na, b = np.ones((99, 3)), np.ones(99)\n"
LOOP = SHRINKING.partition("    for v in")[0]
LAYERS = LOOP + "    for layer in model.layers:\n        if {test}:\n            {change}\n"
DENSE = "isinstance(layer, tf.keras.layers.Dense)"
KERNEL = "layer.kernel.assign(layer.kernel * {})"


@pytest.mark.parametrize(
    ("test", "change", "after"),
    [
        (DENSE, KERNEL.format("0.999"), KERNEL.format("0.999 ** hvd.size()")),
        ("'dense' in layer.name", KERNEL.format("0.999"), KERNEL.format("0.999 ** hvd.size()")),
        ("len(layer.kernel.shape) > 1", KERNEL.format("0.999"), KERNEL.format("0.999 ** hvd.size()")),
        ("layer.name.startswith('d')", KERNEL.format("0.999"), KERNEL.format("0.999 ** hvd.size()")),
        (
            DENSE,
            "layer.set_weights([layer.get_weights()[0] * 0.999, layer.get_weights()[1]])",
            "layer.set_weights([layer.get_weights()[0] * 0.999 ** hvd.size(), layer.get_weights()[1]])",
        ),
        # near misses: a number that comes from the step, rows, or chance
        ("layer.name == chosen(x)", KERNEL.format("0.999"), KERNEL.format("0.999")),
        ("layer.count(x) > 3", KERNEL.format("0.999"), KERNEL.format("0.999")),
    ],
)
def test_layers_that_a_test_picks_are_the_same_ones_with_each_step(
    test: str, change: str, after: str
) -> None:
    assert f"            {after}\n" in plan_of(ROWS + LAYERS.format(test=test, change=change)).text


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ("v.assign_sub(0.001 * v)", "v.assign_sub((1 - (1 - 0.001) ** hvd.size()) * v)"),
        ("v.assign_sub(v * wd)", "v.assign_sub(v * (1 - (1 - wd) ** hvd.size()))"),
        ("v.assign_sub(0.1 * wd * v)", "v.assign_sub((1 - (1 - 0.1 * wd) ** hvd.size()) * v)"),
        ("v.assign(v - wd * v)", "v.assign(v - (1 - (1 - wd) ** hvd.size()) * v)"),
        # near misses: as large as the optimizer's own rate, which is multiplied; masks
        ("v.assign_sub(opt.learning_rate * wd * v)", "v.assign_sub(opt.learning_rate * wd * v)"),
        ("v.assign_sub(tf.ones_like(v) * v)", "v.assign_sub(tf.ones_like(v) * v)"),
    ],
)
def test_weights_that_lose_a_part_of_themselves(change: str, after: str) -> None:
    text = ROWS + SHRINKING.replace("v.assign({})", change)
    assert f"        {after}\n" in plan_of(text).text


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ("0.99 * w if w.ndim > 1 else w", "0.99 ** hvd.size() * w if w.ndim > 1 else w"),
        ("w if w.ndim == 1 else w * 0.99", "w if w.ndim == 1 else w * 0.99 ** hvd.size()"),
        ("0.99 * w if w.ndim > 1 else 0 * w", "0.99 * w if w.ndim > 1 else 0 * w"),
    ],
)
def test_some_weights_of_a_list(value: str, after: str) -> None:
    setting = "    model.set_weights([{} for w in model.get_weights()])\n"
    assert setting.format(after) in plan_of(ROWS + LOOP + setting.format(value)).text


MOVED = "each step moves these weights by hand, too"


@pytest.mark.parametrize(
    "change",
    [
        "v.assign_add(tf.random.normal(v.shape, stddev=0.01))",
        "v.assign(v - wd * tf.sign(v))",
        "v.assign_add(-wd * v)",
    ],
)
def test_what_else_each_step_adds_to_weights_is_asked_about(change: str) -> None:
    plan = plan_of(ROWS + SHRINKING.replace("v.assign({})", change))
    assert [MOVED in c.doubt for c in plan.to_confirm] == [True]


@pytest.mark.parametrize(
    "change",
    [
        "v.assign_sub(opt.learning_rate * tf.sign(v))",  # as large as the rate
        "v.assign(tf.clip_by_value(v, -1, 1))",
    ],
)
def test_other_changes_of_weights_are_not(change: str) -> None:
    plan = plan_of(ROWS + SHRINKING.replace("v.assign({})", change))
    assert not any(MOVED in c.doubt for c in plan.to_confirm)


def test_weights_that_are_moved_once_an_epoch_are_left() -> None:
    text = ROWS + "for epoch in range(3):\n" + "".join(f"    {line}\n" for line in LOOP.splitlines())
    after = "    for v in model.trainable_variables:\n        v.assign_add(v * 0.01)\n"
    assert not changes(plan_of(text + after), "G5")


FITTED = (
    TF + "import tensorflow_addons as tfa\nfrom m import settings\n"
    "model, wd = tf.keras.Sequential([tf.keras.layers.Dense(1)]), 1e-4\n{before}model.compile({made}, 'mse')\nmodel.fit(x, y)\n"
)


def fitted(made: str, before: str = "") -> str:
    return plan_of(FITTED.format(made=made, before=before)).text


@pytest.mark.parametrize(
    ("before", "made", "after"),
    [
        ("", "tfa.optimizers.AdamW(weight_decay=1e-4, learning_rate=0.01)", "weight_decay=(1 - (1 - 1e-4) ** hvd.size())"),
        ("", "tfa.optimizers.SGDW(wd, 0.1)", "SGDW((1 - (1 - wd) ** hvd.size()), 0.1 * hvd.size())"),
        ("Own = tfa.optimizers.extend_with_decoupled_weight_decay(tf.keras.optimizers.Adam)\n", "Own(weight_decay=1e-4)",
         "weight_decay=(1 - (1 - 1e-4) ** hvd.size())"),
        # near misses: by the rate; none; a schedule, whose values are multiplied
        ("", "tf.keras.optimizers.AdamW(0.01, weight_decay=1e-4)", "weight_decay=1e-4)"),
        ("", "tfa.optimizers.LAMB(0.01, weight_decay=1e-4)", "weight_decay=1e-4)"),
        ("", "tfa.optimizers.AdamW(weight_decay=0, learning_rate=0.01)", "weight_decay=0,"),
        ("s = tf.keras.optimizers.schedules.ExponentialDecay(1e-4, 1000, 0.9)\n",
         "tfa.optimizers.AdamW(weight_decay=s, learning_rate=0.01)", "weight_decay=s,"),
    ],
)  # fmt: skip
def test_what_an_optimizer_takes_away_whatever_its_rate(before: str, made: str, after: str) -> None:
    """The add-ons' AdamW: `w -= weight_decay * w` in each step, in size() times fewer."""
    assert after in fitted(made, before)


def test_a_course_of_what_an_optimizer_takes_away_is_asked_about() -> None:
    made = "tfa.optimizers.AdamW(weight_decay=lambda: settings.decay(), learning_rate=0.01)"
    plan = plan_of(FITTED.format(made=made, before=""))
    assert ["take size() times as much" in c.doubt for c in changes(plan, "G5") if not c.sure] == [True]


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("tfa.optimizers.SWA('sgd')", "average_period=max(1, 10 // hvd.size())"),
        ("tfa.optimizers.Lookahead(tf.keras.optimizers.Adam(0.01))", "sync_period=max(1, 6 // hvd.size())"),
        ("tfa.optimizers.Lookahead(tf.keras.optimizers.Adam(0.01), 8)", ", max(1, 8 // hvd.size()))"),
        ("tfa.optimizers.RectifiedAdam(0.01, total_steps=500, min_lr=1e-5)", "min_lr=1e-5 * hvd.size()"),
    ],
)
def test_steps_of_the_add_ons_optimizers(made: str, after: str) -> None:
    assert after in fitted(made)
