"""Run by the interpreter that is diagnosed, on two ranks: a step from data that differ by rank, after which weights must be
equal. Each rank writes what it saw to a file of its own.

usage: inside_two_ranks.py FOLDER"""

import json
import os
import sys

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

KERAS_3 = (
    tf.keras.Model.__module__.startswith("keras.")
    and int(sys.modules["keras"].__version__.split(".")[0]) >= 3
)


def pin():
    """A GPU of its own for each rank where there are two; else none, so that they don't fight for the memory of one."""
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.set_visible_devices(gpus[hvd.local_rank()] if len(gpus) > 1 else [], "GPU")


def data():
    """Rows of this rank only."""
    random = np.random.RandomState(hvd.rank())
    return random.rand(8, 3).astype("float32"), random.rand(8, 1).astype("float32")


def compared(weights, before):
    """How far the ranks' weights are apart, and how far they moved; both have to be finite."""
    flat = np.concatenate([np.ravel(np.asarray(w)) for w in weights]).astype("float32")
    old = np.concatenate([np.ravel(np.asarray(w)) for w in before]).astype("float32")
    all_ranks = hvd.allgather(tf.constant(flat[None]), name=f"weights.{compared.count}").numpy()
    compared.count += 1
    return {"spread": float(np.ptp(all_ranks, axis=0).max()), "moved": float(np.abs(flat - old).max())}


compared.count = 0


def tape():
    x, y = data()
    weight = tf.Variable(tf.ones((3, 1)))
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean((x @ weight - y) ** 2)
    before = weight.numpy()
    (gradient,) = tape.gradient(loss, [weight])
    weight.assign_sub(0.1 * gradient)
    return compared([weight.numpy()], [before])


def fit(wrap):
    x, y = data()
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    before = model.get_weights()
    options = {"jit_compile": False} if KERAS_3 else {}
    model.compile(wrap(tf.keras.optimizers.SGD(0.1)), "mse", **options)
    model.fit(x, y, batch_size=8, epochs=1, verbose=0)
    return compared(model.get_weights(), before)


def tried(step):
    try:
        return step()
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}


def sum_of_ranks():
    total = hvd.allreduce(tf.constant(float(hvd.rank() + 1)), op=hvd.Sum, name="sum")
    return {"sum": float(total.numpy())}


def main():
    hvd.init()
    pin()
    said = {"rank": hvd.rank(), "size": hvd.size(), "sum": tried(sum_of_ranks), "tape": tried(tape)}
    if KERAS_3:
        import horovod_keras3  # beside this file

        said["keras3"] = tried(lambda: fit(horovod_keras3.DistributedOptimizer))
    import horovod.tensorflow.keras as keras_hvd

    # Last: where it doesn't average, ranks may go apart.
    said["fit"] = tried(lambda: fit(keras_hvd.DistributedOptimizer))
    with open(os.path.join(sys.argv[1], f"rank-{hvd.rank()}.json"), "w") as report:
        json.dump(said, report)


if __name__ == "__main__":
    main()
