"""What `horovod_keras3.py` is held to, on several ranks: one JSON line of rank 0 for each case, {"case", "spread", "parity"}.
The first argument is the module's folder; further ones are the cases to try, by the names of their functions.

spread  the largest difference of a weight between ranks
parity  the largest difference from one process that trains on the batches of all ranks together; null where none is defined"""

import json
import os
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

sys.path.insert(0, sys.argv[1])

import horovod_keras3 as hvd
import keras
import numpy as np
import tensorflow as tf

hvd.init()
RANK, SIZE, BATCH, ROWS = hvd.rank(), hvd.size(), 16, 256
_draws = np.random.RandomState(0)
X = _draws.randn(ROWS, 8).astype("float32")
Y = (X @ _draws.randn(8, 1) + 0.1 * _draws.randn(ROWS, 1)).astype("float32")


def mine(rows):
    """Batch k of this rank is the rank's part of batch k of one process with batches of `SIZE * BATCH`."""
    return rows.reshape(-1, SIZE, BATCH, *rows.shape[1:])[:, RANK].reshape(-1, *rows.shape[1:])


def network(seed):
    keras.utils.set_random_seed(seed)
    return keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)]
    )


def fitted(optimizer, callbacks=(), epochs=3, **compiling):
    model = network(RANK)
    model.compile(hvd.DistributedOptimizer(optimizer), "mse", **{"jit_compile": False, **compiling})
    first = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    model.fit(
        mine(X),
        mine(Y),
        batch_size=BATCH,
        shuffle=False,
        epochs=epochs,
        verbose=0,
        callbacks=[*first, *callbacks],
    )
    return model


def alone(optimizer, epochs=3, callbacks=()):
    model = network(0)
    model.compile(optimizer, "mse", jit_compile=False)
    model.fit(
        X,
        Y,
        batch_size=BATCH * SIZE,
        shuffle=False,
        epochs=epochs,
        verbose=0,
        callbacks=list(callbacks),
    )
    return model


def spread(weights):
    worst = 0.0
    for i, weight in enumerate(weights):
        every = hvd.allgather(tf.constant(np.asarray(weight, "float64")[None]), name=f"spread.{i}").numpy()
        worst = max(worst, float(np.abs(every - every[:1]).max()))
    return worst


def tell(case, model, reference=None):
    parity = None
    if reference is not None:
        pairs = zip(model.get_weights(), reference.get_weights(), strict=True)
        parity = max(float(np.abs(a - b).max()) for a, b in pairs)
    found = {"case": case, "spread": spread(model.get_weights()), "parity": parity}
    if RANK == 0:
        os.write(1, (json.dumps(found) + "\n").encode())


def compared(case, make, **how):
    tell(case, fitted(make(), **how), alone(make()))


def sgd():
    return keras.optimizers.SGD(0.05, momentum=0.9)


def adam():
    return keras.optimizers.Adam(0.01)


def adamw():
    return keras.optimizers.AdamW(keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.9), clipnorm=1.0)


def in_fit():
    compared("SGD", sgd)
    compared("Adam", adam)
    compared("AdamW with a schedule", adamw)
    compared("steps_per_execution", adam, steps_per_execution=4)
    compared("run_eagerly", adam, run_eagerly=True)
    compared("jit_compile is turned off", adam, jit_compile=True)
    compared("accumulated gradients", lambda: keras.optimizers.Adam(0.01, gradient_accumulation_steps=2))
    compared("moving averages", lambda: keras.optimizers.Adam(0.01, use_ema=True))
    by_class = keras.metrics.F1Score(threshold=0.5)  # a list of numbers, which is averaged as one
    tell("a string, and a metric of classes", fitted("adam", metrics=[by_class]))


def on_batch():
    model, reference = network(RANK), network(0)
    model.compile(hvd.DistributedOptimizer(adam()), "mse", jit_compile=False)
    reference.compile(adam(), "mse", jit_compile=False)
    hvd.broadcast_variables(model.variables, root_rank=0)
    for i in range(0, ROWS // SIZE, BATCH):
        model.train_on_batch(mine(X)[i : i + BATCH], mine(Y)[i : i + BATCH])
        reference.train_on_batch(X[i * SIZE : (i + BATCH) * SIZE], Y[i * SIZE : (i + BATCH) * SIZE])
    hvd.broadcast_variables(model.optimizer.variables, root_rank=0)
    tell("train_on_batch", model, reference)


class OwnStep(keras.Model):
    """Built by its first batch."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, rows):
        return self.dense(rows)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def own_step():
    keras.utils.set_random_seed(RANK)
    model = OwnStep()
    model.compile(adam(), jit_compile=False)
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
    model.fit(mine(X), mine(Y), batch_size=BATCH, epochs=2, verbose=0, callbacks=callbacks)
    tell("own train_step, built late", model)


def tape_loop():
    model, optimizer = network(RANK), adam()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    hvd.broadcast_variables(model.variables, root_rank=0)
    for _ in range(3):
        for i in range(0, ROWS // SIZE, BATCH):
            step(mine(X)[i : i + BATCH], mine(Y)[i : i + BATCH])
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    tell("tape", model, alone(adam()))


def embedding():
    keras.utils.set_random_seed(RANK)
    layers = [
        keras.Input((4,), dtype="int32"),
        keras.layers.Embedding(20, 3),
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ]
    model = keras.Sequential(layers)
    model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.1)), "mse", jit_compile=False)
    ids = np.random.RandomState(RANK).randint(0, 20, (64, 4))
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
    model.fit(
        ids, ids.sum(1, keepdims=True) / 40.0, batch_size=BATCH, epochs=2, verbose=0, callbacks=callbacks
    )
    tell("embedding", model)


def mixed_precision():
    """Loss scales that overflow at once, on rank 0 only: ranks that average inside the scaling would wait forever."""
    keras.config.set_dtype_policy("mixed_float16")
    factor = np.float32(1e4 if RANK == 0 else 1.0)
    for case, optimizer in (
        ("mixed precision", sgd()),
        ("own loss scale", keras.optimizers.LossScaleOptimizer(sgd())),
    ):
        model = network(RANK)
        model.compile(hvd.DistributedOptimizer(optimizer), "mse", jit_compile=False)
        callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
        model.fit(mine(X), mine(Y) * factor, batch_size=BATCH, epochs=2, verbose=0, callbacks=callbacks)
        tell(f"{case}, overflow on one rank", model)
    keras.config.set_dtype_policy("float32")
    optimizer = hvd.DistributedOptimizer(sgd())
    keras.config.set_dtype_policy("mixed_float16")
    model = network(RANK)
    model.compile(optimizer, "mse", jit_compile=False)
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
    model.fit(mine(X), mine(Y) * factor, batch_size=BATCH, epochs=2, verbose=0, callbacks=callbacks)
    tell("mixed precision chosen late, overflow on one rank", model)
    keras.config.set_dtype_policy("float32")


def saved():
    model = fitted(adam(), epochs=1)
    path = os.path.join(tempfile.mkdtemp(), "model.keras")
    model.save(path)
    plain = keras.models.load_model(path)
    assert type(plain.optimizer) is keras.optimizers.Adam
    again = hvd.load_model(path)
    assert int(again.optimizer.iterations) == int(model.optimizer.iterations) > 0
    again.fit(mine(X), mine(Y), batch_size=BATCH, shuffle=False, epochs=2, verbose=0)
    tell("loaded, fitted on", again, alone(adam()))


def dropout():
    """Ranks drop differently: seeds are not broadcast."""
    keras.utils.set_random_seed(RANK)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
    before = [np.asarray(v) for v in model.variables if "seed" in v.name]
    hvd.broadcast_variables(model.variables, root_rank=0)
    after = [np.asarray(v) for v in model.variables if "seed" in v.name]
    assert before
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    tell("seeds stay", model)


class Rates(keras.callbacks.Callback):
    """The rates that batches are trained at."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(float(np.asarray(self.model.optimizer.learning_rate)))


def rates():
    """Warm-up and schedules set the rates that Horovod's own callbacks set, under one or the other Keras."""
    steps = ROWS // SIZE // BATCH
    rising = [0.1 * (1 + (SIZE - 1) * (i + 1) / steps / 2) / SIZE for i in range(2 * steps)]
    falling = [0.1 * 0.5 ** (epoch - 1) for epoch in (1, 2) for _ in range(steps)]
    for case, make, wanted in (
        (
            "warm-up",
            lambda: hvd.callbacks.LearningRateWarmupCallback(0.1, warmup_epochs=2),
            [*rising, *[0.1] * steps],
        ),
        (
            "a schedule of epochs",
            lambda: hvd.callbacks.LearningRateScheduleCallback(0.1, 0.5, start_epoch=1),
            [*[0.05] * steps, *falling],
        ),
    ):
        seen = Rates()
        model = fitted(sgd(), callbacks=[make(), seen])
        np.testing.assert_allclose(seen.seen, wanted, rtol=1e-5)
        tell(case, model, alone(sgd(), callbacks=[make()]))


def compressed():
    model = network(RANK)
    optimizer = hvd.DistributedOptimizer(sgd(), compression=hvd.Compression.fp16)
    model.compile(optimizer, "mse", jit_compile=False)
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
    model.fit(mine(X), mine(Y), batch_size=BATCH, shuffle=False, epochs=3, verbose=0, callbacks=callbacks)
    pairs = zip(model.get_weights(), alone(sgd()).get_weights(), strict=True)
    apart = max(float(np.abs(a - b).max()) for a, b in pairs)
    assert 1e-6 < apart < 1e-2, apart  # halves are near, and are not the same
    tell("gradients as halves", model)


CASES = [in_fit, on_batch, own_step, tape_loop, embedding, mixed_precision, saved, dropout, rates, compressed]

for wanted in CASES:
    if len(sys.argv) < 3 or wanted.__name__ in sys.argv[2:]:
        wanted()
