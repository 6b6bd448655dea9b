import tensorflow as tf
from tensorflow import keras
import numpy as np


class LossFile(keras.callbacks.Callback):
    """Appends one line per epoch to a text file."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def on_train_begin(self, logs=None):
        open(self.path, "w").close()

    def on_epoch_end(self, epoch, logs=None):
        with open(self.path, "a") as f:
            f.write("%d\t%f\n" % (epoch, logs["loss"]))


class StopWhenGood(keras.callbacks.Callback):
    """Stops as soon as the loss is below a threshold."""

    def __init__(self, threshold):
        super(StopWhenGood, self).__init__()
        self.threshold = threshold

    def on_epoch_end(self, epoch, logs=None):
        if logs["loss"] < self.threshold:
            print("good enough after epoch", epoch)
            self.model.stop_training = True


rng = np.random.default_rng(11)
x_train = rng.normal(size=(512, 5))
y_train = (x_train.sum(axis=1) > 0).astype("int32")

model = keras.Sequential([
    keras.layers.InputLayer(input_shape=(5,)),
    keras.layers.Dense(8, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", ["accuracy"])

model.fit(x_train, y_train, batch_size=8, epochs=20, verbose=0,
          callbacks=[LossFile("loss.txt"), StopWhenGood(0.35)])
results = model.evaluate(x_train, y_train, batch_size=64)
print("loss and accuracy:", results)
