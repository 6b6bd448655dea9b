"""G4: models that each turn of a loop makes and trains for itself."""

from __future__ import annotations

import pytest

from ..pairs import plan_of, refused

HEAD = """\
import tensorflow as tf
def make():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])
tasks = tf.data.Dataset.from_tensor_slices((tf.zeros([100, 24, 8]), tf.zeros([100, 24, 1])))
opt, other = tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1)
meta = make()
for x, y in tasks:
"""
INNER = """\
    for step in range(50):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(gradients, model.trainable_variables))
"""
OUTER = """\
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((meta(x) - y) ** 2)
    gradients = tape.gradient(loss, meta.trainable_variables)
    other.apply_gradients(zip(gradients, meta.trainable_variables))
"""


@pytest.mark.parametrize("made", ["make()", "tf.keras.Sequential([tf.keras.layers.Dense(1)])"])
@pytest.mark.parametrize(
    "after", ["", "    for m, w in zip(meta.variables, model.variables):\n        m.assign(w)\n"]
)
def test_each_turn_is_a_training_of_its_own_that_all_ranks_take_together(made: str, after: str) -> None:
    """Tasks were dealt out, and the gradients of models for different tasks averaged."""
    text = plan_of(HEAD + f"    model = {made}\n" + INNER + after).text
    assert "loss = tf.reduce_mean((model(share_rows(x)) - share_rows(y)) ** 2)" in text
    assert "for x, y in tasks:" in text
    assert "shard" not in text
    assert "SGD(0.1), " in text


def test_where_another_model_learns_from_the_tasks_it_is_refused() -> None:
    refused(HEAD + "    model = make()\n" + INNER + OUTER, "HVD006", "trains a model of its own")


def test_a_model_that_lasts_gets_the_turns_as_batches() -> None:
    text = plan_of(HEAD.replace("meta = make()", "model = make()") + INNER).text
    assert "shard" in text
    assert "SGD(0.1 * hvd.size())" in text


def test_several_runs_divide_the_rows_of_each() -> None:
    runs = (
        "for rate in (0.1, 0.2):\n    model = make()\n    opt.learning_rate = rate\n    for x, y in tasks:\n"
    )
    body = "".join(f"    {line}\n" for line in INNER.splitlines()[1:])
    text = plan_of(HEAD.replace("for x, y in tasks:\n", runs) + body).text
    assert "shard" in text
    assert "share_rows" not in text
