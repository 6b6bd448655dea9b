"""Steps that are undone before the update that counts (MAML) are each rank's own: not averaged, at their own rate."""

from __future__ import annotations

import pytest

from .pairs import TF, plan_of

HEAD = (
    TF
    + """
import numpy as np
tasks = tf.data.Dataset.from_tensor_slices(tuple(np.zeros((99, 8, n)) for n in (3, 1, 3, 1))).batch(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
opt, inner = tf.keras.optimizers.SGD(0.5), tf.keras.optimizers.SGD(0.1)
"""
)
STEP = """\
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
"""
ADAPT = "    for _ in range(3):\n" + STEP
BY_OPTIMIZER = "        inner.apply_gradients(zip(gradients, model.trainable_variables))\n"
BY_HAND = """\
        for v, g in zip(model.trainable_variables, gradients):
            v.assign_sub(0.1 * g)
"""
QUERY = """\
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    outer = tape.gradient(loss, model.trainable_variables)
"""
UPDATE = "    opt.apply_gradients(zip(outer, model.trainable_variables))\n"
LOOP = "for x, y, a, b in tasks:\n"
KEPT = "    kept = model.get_weights()\n"
BACK = "    model.set_weights(kept)\n"
HALF = "    kept = [0.5 * w for w in model.get_weights()]\n"
COPIES = "    kept = [tf.identity(v) for v in model.trainable_variables]\n"
ASSIGNED = "    for v, k in zip(model.trainable_variables, kept):\n        v.assign(k)\n"
WRAP = "tape = hvd.DistributedGradientTape(tape)"
ADAPTS = "def adapt(net, x, y):\n" + (ADAPT + BY_OPTIMIZER).replace("model", "net")


def is_left_to_each_rank(text: str) -> None:
    plan = plan_of(text)
    assert plan.text.count(WRAP) == 1
    assert f"    {WRAP}\n    outer = tape.gradient(" in plan.text
    assert "SGD(0.5 * hvd.size()), tf.keras.optimizers.SGD(0.1)" in plan.text
    assert "0.1 * g" not in text or "v.assign_sub(0.1 * g)" in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize("step", [BY_OPTIMIZER, BY_HAND], ids=["optimizer", "hand"])
@pytest.mark.parametrize(("keep", "back"), [(KEPT, BACK), (COPIES, ASSIGNED)], ids=["whole", "copies"])
def test_steps_before_weights_are_set_back(step: str, keep: str, back: str) -> None:
    is_left_to_each_rank(HEAD + LOOP + keep + ADAPT + step + QUERY + back + UPDATE)


def test_steps_of_a_function() -> None:
    is_left_to_each_rank(HEAD + ADAPTS + LOOP + KEPT + "    adapt(model, x, y)\n" + QUERY + BACK + UPDATE)


def test_steps_for_several_tasks_that_each_begin_from_what_was_kept() -> None:
    turns = "".join(f"    {line}\n" for line in (ADAPT + BY_OPTIMIZER + QUERY + BACK).splitlines())
    plan = plan_of(HEAD + LOOP + KEPT + "    for task in range(2):\n" + turns + UPDATE)
    assert plan.text.count(WRAP) == 1
    assert "tf.keras.optimizers.SGD(0.1)\n" in plan.text


@pytest.mark.parametrize(
    "body",
    [
        KEPT + ADAPT + BY_OPTIMIZER + QUERY + UPDATE,  # not set back
        ADAPT + BY_OPTIMIZER + KEPT + QUERY + BACK + UPDATE,  # kept after the steps
        KEPT + ADAPT + BY_OPTIMIZER + QUERY + "    if loss > 1:\n    " + BACK + UPDATE,  # not always
        KEPT + ADAPT + BY_OPTIMIZER + QUERY + "    if loss > 1:\n        continue\n" + BACK + UPDATE,
        KEPT + ADAPT + BY_OPTIMIZER + QUERY + BACK.replace("model", "other") + UPDATE,  # another model
        KEPT + ADAPT + BY_OPTIMIZER + BACK + QUERY + UPDATE,  # nothing is taken in between
        KEPT + ADAPT + BY_OPTIMIZER + "    kept = model.get_weights()\n" + QUERY + BACK + UPDATE,
        HALF + ADAPT + BY_OPTIMIZER + QUERY + BACK + UPDATE,
    ],
)  # fmt: skip
def test_steps_that_last_are_averaged(body: str) -> None:
    other = "other = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])\n"
    plan = plan_of(HEAD + other + LOOP + body)
    assert plan.text.count(WRAP) == 2
    assert "tf.keras.optimizers.SGD(0.1 * hvd.size())" in plan.text


def test_steps_of_the_optimizer_that_updates_are_asked_about() -> None:
    """Its rate is multiplied, for them as well."""
    text = HEAD + LOOP + KEPT + ADAPT + BY_OPTIMIZER.replace("inner", "opt") + QUERY + BACK + UPDATE
    assert any("sets weights back after these steps" in c.doubt for c in plan_of(text).to_confirm)


def test_a_move_up_the_gradient_of_the_same_loss_is_one_of_all_ranks() -> None:
    """Sharpness-aware minimization that comes back by a copy: both gradients are of the batch of all ranks."""
    move = (
        STEP.replace("        ", "    ", 1).replace("\n        ", "\n    ")
        + BY_HAND.replace("\n        ", "\n    ")[4:]
    )
    same = QUERY.replace("(a) - b", "(x) - y")
    plan = plan_of(
        HEAD
        + LOOP
        + COPIES
        + move.replace("assign_sub(0.1 * g)", "assign_add(0.1 * g)")
        + same
        + ASSIGNED
        + UPDATE
    )
    assert plan.text.count(WRAP) == 2
    assert not plan.to_confirm
