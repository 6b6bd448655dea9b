"""Networks that a loss asks, that nothing trains, and whose weights each rank draws for itself."""

from __future__ import annotations

import pytest

from .helpers import codes

DISTILLED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def make(n):
    return tf.keras.Sequential([tf.keras.layers.Dense(n, activation="relu", input_shape=(4,)), tf.keras.layers.Dense(1)])


class Teacher(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.out(x)


student = make(8)
teacher = MADE
GIVEN
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(student.variables, root_rank=0)
for x in rows():
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean((student(x) - ASKED) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, student.trainable_variables), student.trainable_variables))
"""


@pytest.mark.parametrize(
    ("made", "given", "asked", "found"),
    [
        ("make(32)", "", "teacher(x)", True),
        ("Teacher()", "teacher.trainable = False", "tf.stop_gradient(teacher(x))", True),
        ("tf.keras.applications.ResNet50(weights=None)", "", "teacher(x)", True),
        ("make(32)", "hvd.broadcast_variables(teacher.variables, root_rank=0)", "teacher(x)", False),
        ("make(8)", "teacher.set_weights(student.get_weights())", "teacher(x)", False),
        ("make(32)", "teacher.load_weights('teacher.h5')", "teacher(x)", False),
        ("make(32)", "read(teacher)", "teacher(x)", False),
        ("tf.keras.applications.ResNet50()", "", "teacher(x)", False),
        ("tf.keras.models.load_model('teacher')", "", "teacher(x)", False),
        ("tf.keras.Sequential([tf.keras.layers.RandomFlip()])", "", "student(teacher(x))", False),
        ("make(32)", "tf.random.set_seed(1)", "teacher(x)", False),
        ("make(32)", "print(teacher(tf.zeros((1, 4))))", "1.0", False),
    ],
)
def test_a_network_that_the_loss_asks(made: str, given: str, asked: str, found: bool) -> None:
    text = DISTILLED.replace("MADE", made).replace("GIVEN", given).replace("ASKED", asked)
    assert ("HVD306" in codes(text)) == found
