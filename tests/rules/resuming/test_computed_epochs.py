"""G6: an epoch that is computed from what an optimizer has counted, in this run or an earlier one."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import os
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256, seed=1).batch(16).repeat()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="mse")
"""
FIT = "model.fit(ds, steps_per_epoch=100, epochs=30, initial_epoch={first})\n"
LOADED = "if os.path.exists('weights'):\n    model.load_weights(tf.train.latest_checkpoint('weights'))\n"
SAID = "go on with as many ranks as the run had"


def plan(body: str) -> tuple[str, bool]:
    """The text that comes out, and whether it is said that the count is a rank's."""
    made = plan_of(HEAD + body)
    return made.text, any(SAID in note.message for note in made.notes)


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (
            LOADED + FIT.format(first="model.optimizer.iterations.numpy() // 100"),
            "initial_epoch=hvd.broadcast_object(model.optimizer.iterations.numpy()) // max(1, 100 // hvd.size())",
        ),
        (
            LOADED + "first = int(model.optimizer.iterations) // 100\n" + FIT.format(first="first"),
            "first = hvd.broadcast_object(first)",
        ),
        (
            "opt = tf.keras.optimizers.Adam(0.01)\nmodel.compile(opt, 'mse')\n"
            + LOADED
            + FIT.format(first="int(opt.iterations) // 100"),
            "hvd.broadcast_object(int(opt.iterations)) // max(1, 100 // hvd.size())",
        ),
        (
            "if os.path.exists('m.h5'):\n    model = tf.keras.models.load_model('m.h5')\n"
            + FIT.format(first="int(model.optimizer.iterations) // 100"),
            "hvd.broadcast_object(int(model.optimizer.iterations)) // max(1, 100 // hvd.size())",
        ),
        (
            "from tensorflow.keras.models import load_model\nif os.path.exists('m.h5'):\n    model = load_model('m.h5')\n"
            + FIT.format(first="int(model.optimizer.iterations) // 100"),
            "hvd.broadcast_object(int(model.optimizer.iterations)) // max(1, 100 // hvd.size())",
        ),
    ],
)
def test_what_a_models_optimizer_has_counted_is_rank_0s(body: str, sent: str) -> None:
    """P4: a rank whose host has no checkpoint began at epoch 0, and was left alone in the last ones."""
    text, said = plan(body)
    assert sent in text
    assert said


@pytest.mark.parametrize(
    "body",
    [
        FIT.format(first="model.optimizer.iterations.numpy() // 100"),  # nothing is loaded
        "base = tf.keras.applications.VGG16(weights=None)\nbase.load_weights('vgg.h5')\n"
        + FIT.format(first="int(model.optimizer.iterations) // 100"),  # another model's weights
    ],
)
def test_an_optimizer_that_comes_from_no_file_counts_alike(body: str) -> None:
    text, said = plan(body)
    assert "// max(1, 100 // hvd.size())" in text
    assert "broadcast_object" not in text
    assert not said
