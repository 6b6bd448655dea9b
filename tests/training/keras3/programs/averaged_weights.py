"""Weights averaged by the optimizer, and swapped in by a callback for evaluation and files; several steps in one call."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(1)
x = rng.normal(size=(1200, 10)).astype("float32")
y = (x @ rng.normal(size=(10, 1)) + 0.1).astype("float32")
model = keras.Sequential(
    [keras.Input((10,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)]
)
model.compile(
    optimizer=keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True, use_ema=True, ema_momentum=0.95),
    loss="mse",
    metrics=[keras.metrics.MeanAbsoluteError(name="mae")],
    steps_per_execution=4,
)
callbacks = [
    keras.callbacks.SwapEMAWeights(swap_on_epoch=True),
    keras.callbacks.ModelCheckpoint(
        "ema-{epoch:02d}.weights.h5", save_weights_only=True, save_best_only=False
    ),
    keras.callbacks.TerminateOnNaN(),
    keras.callbacks.CSVLogger("log.csv"),
]
model.fit(x[:960], y[:960], batch_size=16, epochs=3, validation_data=(x[960:], y[960:]), callbacks=callbacks)
