"""Faults that were put into scripts and missed at first: folders left, orders behind many values, names by methods, hooks."""

from __future__ import annotations

from horovodize.restrictions import check
from horovodize.restrictions.violation import Violation
from horovodize.source import Document
from horovodize.summary import summarize


def found(text: str, code: str) -> list[Violation]:
    return [v for v in check(summarize(Document(text, "train.py"))) if v.code == code]


LEFT = """\
import os
import numpy as np
import horovod.tensorflow as hvd

hvd.init()


def load(folder):
    os.chdir(folder)
    return np.load("x.npy")


x = load("data")
if hvd.rank() == 0:
    np.save("mean.npy", x.mean(axis=0))
hvd.allreduce(x - np.load("mean.npy"))
"""


def test_all_ranks_go_to_one_folder() -> None:
    (race,) = found(LEFT, "HVD332")
    assert [r.message for r in race.related] == ["rank 0: writes `mean.npy`", "rank 1: reads `mean.npy`"]
    assert not found(LEFT.replace("hvd.allreduce(x -", "hvd.barrier()\nhvd.allreduce(x -"), "HVD332")


def test_ranks_in_folders_of_their_own_or_in_another_one_by_then() -> None:
    assert not found(LEFT.replace('load("data")', 'load(f"data-{hvd.rank()}")'), "HVD332")
    assert not found(LEFT.replace("hvd.allreduce(x -", "os.chdir('..')\nhvd.allreduce(x -"), "HVD332")
    assert not found(LEFT.replace("os.chdir(folder)", "with chdir(folder): pass"), "HVD332")
    uncalled = LEFT.replace("os.chdir(folder)", "pass") + "def leave():\n    os.chdir('a')\n"
    assert not found(uncalled.replace("def leave", "def unseen"), "HVD332")


def test_what_all_write_in_one_folder() -> None:
    everywhere = LEFT.replace("if hvd.rank() == 0:\n    ", "")
    assert found(everywhere, "HVD314")
    assert not found(everywhere.replace('load("data")', 'load(f"data-{hvd.rank()}")'), "HVD314")


DRAWN = """\
import numpy as np
import keras
import horovod.keras as hvd

hvd.init()
batches = [np.load(f"batch-{i}.npy") for i in range(5)]
x = batches[0]
for batch in batches[1:]:
    x = np.concatenate((x, batch))
x = x.reshape((x.shape[0], 3, 32, 32)).transpose(0, 2, 3, 1)
x = x.astype("float32")
x /= 255
x = np.concatenate([x[:, ::-1], x, x * 0.5 + 0.1, x[::-1] * 0.9, x + 0.01])
rows = x[np.random.permutation(len(x))]
n = len(rows) // hvd.size()
mine = rows[(hvd.rank()) * n:(hvd.rank() + 1) * n]
"""


def test_blocks_of_as_many_rows_as_much_code_makes() -> None:
    assert found(DRAWN, "HVD319")
    assert not found(DRAWN.replace("batches = [", "np.random.seed(1)\nbatches = ["), "HVD319")
    assert not found(DRAWN.replace("(hvd.rank() + 1) * n]", "len(rows) * (n + 1)]"), "HVD319")


NAMED = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


class Fold:
    def __init__(self, name, rank, folder="weights"):
        self.name, self.rank, self.folder = name, rank, folder

    def file(self, i):
        path = f"{self.folder}/{self.name}-{i}"
        if i > 0:
            path += "-again"
        return path + ".h5"

    def run(self, model, rows, i):
        callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
        path = self.file(i)
        callbacks.append(tf.keras.callbacks.ModelCheckpoint(path, save_weights_only=True))
        model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.1 * hvd.size())), "mse")
        model.fit(rows, epochs=3, callbacks=callbacks)


Fold("a", hvd.rank()).run(tf.keras.Sequential([tf.keras.layers.Dense(1)]), x, 0)
"""


def test_a_path_that_a_method_of_the_script_makes() -> None:
    assert found(NAMED, "HVD314")
    assert not found(NAMED.replace("-{i}", "-{self.rank}"), "HVD314")
    assert not found(NAMED.replace("self.file(i)", "self.unseen(i)"), "HVD314")


HOOKED = """\
import tensorflow as tf
import horovod.tensorflow as hvd
import optimization


def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=optimization.make(loss, 0.1))


def main(_):
    hvd.init()
    estimator = tf.estimator.Estimator(model_fn, model_dir=f"out-{hvd.rank()}")
    hooks = [hvd.BroadcastGlobalVariablesHook(0)]
    if hvd.rank() == 0 and tf.train.latest_checkpoint("out"):
        return
    estimator.train(input_fn=read, max_steps=3, hooks=hooks)


tf.app.run()
"""


def test_an_estimator_that_broadcasts_waits_for_all() -> None:
    assert found(HOOKED, "HVD313")
    assert not found(HOOKED.replace("hvd.rank() == 0 and ", ""), "HVD313")
    assert not found(HOOKED.replace(", hooks=hooks", ""), "HVD313")
    assert not found(HOOKED.replace("Hook(0)]", "Hook(0)] if many else []"), "HVD313")
