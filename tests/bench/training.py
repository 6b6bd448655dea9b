"""A script as Horovodize distributes it beside the same script distributed by hand, in the way that Horovod's documentation
shows: how many steps both take in a second, on two processes of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

_PROGRAM = """\
import time

import numpy as np
import tensorflow as tf
{imports}
rng = np.random.default_rng(0)
images = rng.random((2048, 28, 28, 1), dtype=np.float32)
labels = rng.integers(0, 10, 2048)
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().shuffle(1000).batch(64)
model = tf.keras.Sequential(
    [tf.keras.layers.Conv2D(16, 3, activation="relu"), tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)]
)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(0.001{size})


@tf.function
def train_step(images, labels{parameter}):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(images, training=True))
    {tape}gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables)){broadcast}
    return loss


start, steps = time.time(), 0
for x, y in dataset.take(600{share}):
    loss = train_step(x, y{argument})
    steps += 1
    if steps == 50:
        start = time.time()
{on_root}print("steps in a second:", (steps - 50) / (time.time() - start))
"""
PLAIN = _PROGRAM.format_map(dict.fromkeys(re.findall(r"{(\w+)}", _PROGRAM), ""))
BY_HAND = _PROGRAM.format(
    imports="""import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")
""",
    size=" * hvd.size()",
    parameter=", first_batch",
    tape="tape = hvd.DistributedGradientTape(tape)\n    ",
    broadcast="""
    if first_batch:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)""",
    share=" // hvd.size()",
    argument=", steps == 0",
    on_root="if hvd.rank() == 0:\n    ",
)


def by_horovodize() -> str:
    """The plain script as the engine distributes it."""
    plan = distribute(summarize(Document(PLAIN, "train.py")))
    assert isinstance(plan, Plan), plan
    return plan.text


def steps_in_a_second(repetitions: int) -> tuple[list[float], list[float]]:
    """Of the script as Horovodize distributes it, and by hand; the two take turns. Raises CalledProcessError."""
    ours, by_hand = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repetitions):
            for text, taken in ((by_horovodize(), ours), (BY_HAND, by_hand)):
                script = Path(folder) / "train.py"
                script.write_text(text)
                taken.append(_run(script))
    return ours, by_hand


def _run(script: Path) -> float:
    python = Path(os.environ.get("HOROVODIZE_TF_PYTHON") or Path.cwd() / ".venv-horovod/bin/python")
    command = [f"{python.parent}/horovodrun", "--gloo", "-np", "2", os.fspath(python), os.fspath(script)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900, cwd=script.parent)
    found = re.findall(r"steps in a second: ([\d.]+)", done.stdout)
    assert len(found) == 1, done.stdout
    return float(found[0])
