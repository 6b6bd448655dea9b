"""G6: a number that losses are made with and that a checkpoint keeps is rank 0's where it is restored."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices(rows).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
k = tf.Variable({begins})
ckpt = tf.train.Checkpoint(model=model, opt=opt{kept})
ckpt.restore(tf.train.latest_checkpoint("ck"))
for epoch in range(3):
    for x in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2) * {used}
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        {moved}
"""
SENT = "ckpt.k.assign(hvd.broadcast_object(ckpt.k.numpy()))"


def text(begins: str = "1.0", kept: str = ", k=k", used: str = "k", moved: str = "k.assign(k * 0.99)") -> str:
    return plan_of(PROGRAM.format(begins=begins, kept=kept, used=used, moved=moved)).text


@pytest.mark.parametrize("moved", ["k.assign(k * 0.99)", "k.assign_add(0.01 * (loss - 0.5))"])
def test_a_weight_that_is_kept_is_rank_0s(moved: str) -> None:
    """A host without the checkpoint began with another weight of the loss, for good."""
    assert SENT in text(moved=moved)


@pytest.mark.parametrize(
    "parts",
    [{"kept": ""}, {"used": "2.0"}, {"moved": "pass"}, {"begins": "tf.zeros([4])"}],
)
def test_what_no_checkpoint_keeps_or_no_loss_is_made_with_stays(parts: dict[str, str]) -> None:
    assert SENT not in text(**parts)
