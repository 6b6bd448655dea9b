"""Models that are changed under another name than the one they are trained by: what a function is passed, what a container or
an object holds; and weights that are changed in a later turn than the one that sends them."""

from __future__ import annotations

import pytest

from .helpers import codes

PROGRAM = """\
import tensorflow as tf
import horovod.tensorflow as hvd


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])


class Trainer:
    def __init__(self):
        self.model = build()


hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
hvd.broadcast_variables(model.variables, root_rank=0)
{before}
for i, x in enumerate(tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10).take(50)):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    {after}
"""
ON_RANK_0 = "if hvd.rank() == 0:\n    {0}.load_weights('best.h5')\n"
RESUMES = "def resume({0}):\n    if hvd.rank() == 0:\n        {1}.load_weights('best.h5')\n\n\nresume({2})\n"


@pytest.mark.parametrize(
    "before",
    [
        RESUMES.format("net", "net", "model"),
        RESUMES.format("nets", "nets['critic']", "{'critic': model}"),
        "nets = [model]\nif hvd.rank() == 0:\n    for net in nets:\n        net.load_weights('best.h5')\n",
        "nets = {'a': model}\nif hvd.rank() == 0:\n    for net in nets.values():\n        net.load_weights('best.h5')\n",
        "nets = {'a': model}\nif hvd.rank() == 0:\n    for name, net in nets.items():\n        net.load_weights(name)\n",
        "def both():\n    return model, optimizer\n\n\nnet, _ = both()\n" + ON_RANK_0.format("net"),
        "def restore(net):\n    if hvd.rank() == 0:\n        kept = tf.train.Checkpoint(model=net)\n"
        "        kept.restore(tf.train.latest_checkpoint('run'))\n\n\nrestore(model)\n",
    ],
)
def test_what_is_trained_is_known_under_other_names(before: str) -> None:
    assert "HVD333" in codes(PROGRAM.format(before=before, after="pass"))
    sent = before + "hvd.broadcast_variables(model.variables, root_rank=0)\n"
    assert "HVD333" not in codes(PROGRAM.format(before=sent, after="pass"))


@pytest.mark.parametrize(
    "before",
    [
        "other = build()\nanother = build()\n" + ON_RANK_0.format("other"),
        RESUMES.format("net", "net", "tf.keras.models.clone_model(model)"),
        "other = Trainer()\n" + ON_RANK_0.format("other.model"),
    ],
)
def test_another_model_is_none_of_those_that_are_trained(before: str) -> None:
    assert "HVD333" not in codes(PROGRAM.format(before=before, after="pass"))


def test_models_of_a_class_that_makes_one_object_are_known_from_outside() -> None:
    made = PROGRAM.replace(
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])\nhvd", "hvd"
    )
    made = made.replace("model.", "trainer.model.").replace("model(x)", "trainer.model(x)")
    made = made.replace("\noptimizer =", "\ntrainer = Trainer()\noptimizer =").replace(
        "self.trainer.model", "self.model"
    )
    by_name = "net = trainer.model\n" + ON_RANK_0.format("net")
    assert "HVD333" in codes(made.format(before=by_name, after="pass"))
    second = "old = Trainer()\nnet = old.model\n" + ON_RANK_0.format("net")
    assert "HVD333" not in codes(made.format(before=second, after="pass"))


CHANGED = """if hvd.rank() == 0 and i == 5:
        model.load_weights('best.h5')
    if i == {0}:
        hvd.broadcast_variables(model.variables, root_rank=0)"""


def test_weights_may_be_changed_in_a_later_turn_than_they_are_sent() -> None:
    assert "HVD333" in codes(PROGRAM.format(before="", after=CHANGED.format(0)))
    assert "HVD333" not in codes(PROGRAM.format(before="", after=CHANGED.format(5)))  # sent in the same turn


def test_a_flag_of_a_turn_that_never_comes_sends_nothing() -> None:
    flag = """def send(first):
        if first:
            hvd.broadcast_variables(model.variables, root_rank=0)


    for turn in range({0}, 5):
        send(turn == 0)
    """
    before = ON_RANK_0.format("model") + flag.replace("\n    ", "\n")
    assert "HVD333" in codes(PROGRAM.format(before=before.format(1), after="pass"))
    assert "HVD333" not in codes(PROGRAM.format(before=before.format(0), after="pass"))
