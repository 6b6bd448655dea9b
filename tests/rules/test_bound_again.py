"""What a module binds again between two calls of the function that trains: `dataset`, `iterator`, `ckpt`, as in a notebook."""

from __future__ import annotations

from .pairs import plan_of

PROGRAM = """\
import tensorflow as tf
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def rows(n):
    return tf.data.Dataset.from_tensor_slices(tf.random.normal((n, 3))).repeat().batch(2)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(x) - 1.0))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
def train():
    {restore}for _ in range(400):
        step(next(iterator))
        {count}
"""
COUNTED = PROGRAM.format(
    restore="ckpt.restore(manager.latest_checkpoint)\n    ",
    count="ckpt.step.assign_add(1)\n        if int(ckpt.step) % 10 == 0:\n            manager.save()",
)
PLAIN = PROGRAM.format(restore="", count="")
ITERATE = "iterator = iter(rows({}))\n"
KEPT = "ckpt = tf.train.Checkpoint(step=tf.Variable(1), opt=opt, net=net{})\n"
MANAGED = "manager = tf.train.CheckpointManager(ckpt, 'kept', max_to_keep=3)\ntrain()\n"


def test_each_dataset_that_is_trained_on_is_divided() -> None:
    """Only the last was: the first call trained on the same rows on every rank."""
    text = plan_of(PLAIN + ITERATE.format(64) + "train()\n" + ITERATE.format(32) + "train()\n").text
    assert "iterator = iter(rows(64, share=shard_dataset))" in text
    assert "iterator = iter(rows(32, share=shard_dataset))" in text


def test_what_no_call_comes_after_is_left() -> None:
    text = plan_of(PLAIN + ITERATE.format(64) + ITERATE.format(32) + "train()\n" + ITERATE.format(16)).text
    assert "iterator = iter(rows(32, share=shard_dataset))" in text
    assert ITERATE.format(64) in text
    assert ITERATE.format(16) in text


def test_a_step_that_each_checkpoint_keeps_is_one_count() -> None:
    """Its test stayed while it was counted on by size(): from 1 on, no odd number is a multiple of 10."""
    again = ITERATE.format(64) + KEPT.format("") + MANAGED
    text = plan_of(COUNTED + again + again).text
    assert "ckpt.step.assign_add(hvd.size())" in text
    assert "if int(ckpt.step) % 10 < hvd.size() and hvd.rank() == 0:" in text


def test_rank_0s_path_is_no_file_of_a_ranks_own() -> None:
    """The manager is made with an iterator over a rank's share, which is no part of a path."""
    again = ITERATE.format(64) + KEPT.format(", iterator=iterator") + MANAGED
    text = plan_of(COUNTED + again + again).text
    assert "ckpt.restore(hvd.broadcast_object(manager.latest_checkpoint))" in text
