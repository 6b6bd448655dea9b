"""A listing that the program keeps in a file: all ranks read rank 0's, and so take equally many steps (C6, D1)."""

from __future__ import annotations

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import csv, glob, os, random
import numpy as np
import tensorflow as tf
"""
WRITTEN = """\
def listed(root, name):
    path = os.path.join(root, name)
    if not os.path.exists(path):
        images = glob.glob(os.path.join(root, "*.png"))
        random.shuffle(images)
        with open(path, "w") as f:
            writer = csv.writer(f)
            for image in images:
                writer.writerow([image, 1])
    images, labels = [], []
    with open(path) as f:
        for image, label in csv.reader(f):
            images.append(image)
            labels.append(int(label))
    return images, labels
"""
TRAINED = """\
images, labels = listed("data", "images.csv")
rows = tf.data.Dataset.from_tensor_slices((images, labels)).map(decoded).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in rows:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
DECODED = "def decoded(path, label):\n    return tf.io.decode_png(tf.io.read_file(path)), label\n"


def plan(listing: str) -> Plan:
    outcome = distribute(summarize(Document(HEAD + listing + DECODED + TRAINED, "train.py")))
    assert isinstance(outcome, Plan), outcome
    return outcome


def test_all_ranks_read_what_rank_0_has_listed() -> None:
    made = plan(WRITTEN)
    assert not made.to_confirm
    assert not made.notes  # what rank 0 shuffles for its file orders no other rank's rows
    written = made.text.index('        if hvd.rank() == 0:\n            with open(path, "w")')
    read = made.text.index("open(path) as f")
    assert written < made.text.index('name="saved"') < read


def test_what_is_shuffled_and_taken_is_still_noted() -> None:
    taken = "        return images, [1] * len(images)\n    images, labels = [], []"
    notes = [str(note) for note in plan(WRITTEN.replace("    images, labels = [], []", taken)).notes]
    assert any("what is shuffled here" in note for note in notes)
