# Every callback that came with the tutorial.
import os

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras.callbacks import CSVLogger, EarlyStopping, ModelCheckpoint, ReduceLROnPlateau, TensorBoard

rng = np.random.RandomState(0)
x = rng.uniform(-1, 1, size=(500, 8)).astype("float32")
y = (np.sin(x[:, :1] * 3) + x[:, 1:2] * x[:, 2:3]).astype("float32")
x_train, x_val = x[:400], x[400:]
y_train, y_val = y[:400], y[400:]


def build_model():
    model = keras.Sequential()
    model.add(keras.layers.Dense(16, activation="relu", input_dim=8))
    model.add(keras.layers.Dense(16, activation="relu"))
    model.add(keras.layers.Dense(1))
    opt = keras.optimizers.RMSprop(learning_rate=0.005)
    model.compile(loss="mean_squared_error", optimizer=opt, metrics=["mae"])
    return model


os.makedirs("checkpoints", exist_ok=True)

model = build_model()
callbacks = [
    ModelCheckpoint("checkpoints/best.h5", monitor="val_loss", save_best_only=True),
    TensorBoard(log_dir="logs"),
    CSVLogger("training.csv"),
    EarlyStopping(monitor="val_loss", patience=2, min_delta=0.01),
    ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1, min_lr=1e-5, verbose=1),
]

history = model.fit(
    x_train, y_train,
    validation_data=(x_val, y_val),
    batch_size=25,
    epochs=8,
    verbose=2,
    callbacks=callbacks,
)

print("epochs:", len(history.history["loss"]))
print("best val_loss: {:.4f}".format(min(history.history["val_loss"])))
best = keras.models.load_model("checkpoints/best.h5")
print("best again: {:.4f}".format(best.evaluate(x_val, y_val, verbose=0)[0]))
