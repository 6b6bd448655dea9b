"""Whether a file is there is another answer on another host: no collective may hang on it."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


RESUME = """\
import os
import tensorflow as tf
import horovod.tensorflow as hvd
from reading import batches, network

hvd.init()
model = network()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
latest = tf.train.latest_checkpoint("kept")
first = 0
RESUME
for epoch in range(first, 9):
    for number, x in enumerate(batches()):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        if epoch == first and number == 0:
            hvd.broadcast_variables(model.variables, root_rank=0)
"""


@pytest.mark.parametrize(
    "test",
    ['os.path.exists("kept")', 'tf.io.gfile.exists("kept")', "latest", "latest is not None", "not latest"],
)
@pytest.mark.parametrize(
    "collective", ["hvd.broadcast_variables(model.variables, 0)", "first = hvd.broadcast_object(first, 0)"]
)
def test_a_broadcast_under_whether_a_file_is_there(test: str, collective: str) -> None:
    under = f"if {test}:\n    checkpoint.restore(latest)\n    {collective}\n"
    assert "HVD331" in codes(RESUME.replace("RESUME", under))
    after = f"if {test}:\n    checkpoint.restore(latest)\n{collective}\n"
    assert "HVD331" not in codes(RESUME.replace("RESUME", after))


def test_an_epoch_that_is_read_from_a_name_may_be_the_first_everywhere() -> None:
    under = 'if latest:\n    checkpoint.restore(latest)\n    first = int(latest.split("-")[-1])\n'
    assert "HVD331" not in codes(RESUME.replace("RESUME", under))


def test_what_rank_0_sees_for_all() -> None:
    under = 'if hvd.broadcast_object(os.path.exists("kept"), 0):\n    hvd.broadcast_variables(model.variables, 0)\n'
    assert "HVD331" not in codes(RESUME.replace("RESUME", under))
    folder = 'if not os.path.exists("kept"):\n    os.makedirs("kept", exist_ok=True)\n'
    assert "HVD331" not in codes(RESUME.replace("RESUME", folder))


FIT = """\
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from reading import rows

hvd.init()
first = 0
for number in range(9, 0, -1):
    if os.path.exists(f"kept-{number}.h5"):
        first = number
        break
SEND
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
start = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows(), epochs=9, steps_per_epoch=100 // hvd.size(), initial_epoch=first, callbacks=start)
"""


@pytest.mark.parametrize("fit", ["fit", "fit_generator"])
@pytest.mark.parametrize(
    ("send", "found"),
    [
        ("", True),
        ("first = hvd.broadcast(first, 0)", False),
        ("first = hvd.broadcast_object(first, 0)", False),
        ("first = 3", False),
    ],
)
def test_a_first_epoch_that_files_of_a_host_decide(fit: str, send: str, found: bool) -> None:
    text = FIT.replace("SEND", send).replace("model.fit", f"model.{fit}")
    assert ("HVD323" in codes(text)) == found


TAPED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * RANKS)
for x in rows:
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def test_a_rate_by_the_processes_of_a_host_beside_a_tape() -> None:
    assert "HVD308" in codes(TAPED.replace("RANKS", "hvd.local_size()"))
    assert "HVD308" not in codes(TAPED.replace("RANKS", "hvd.size()"))
