"""Here `tf` is a term frequency, `hvd` a harmonic voice detector, and `callbacks` a function."""
import numpy as np
from tensorflow import keras

from voices import hvd

documents = [line.split() for line in open("documents.txt")]
words = sorted({word for document in documents for word in document})
tf = np.array([[document.count(word) for word in words] for document in documents], "float32")
labels = np.array([hvd.detect(document) for document in documents])


def callbacks():
    return [keras.callbacks.TerminateOnNaN()]


gpus = 1
classifier = keras.Sequential([keras.layers.Dense(1, "sigmoid")])
classifier.compile(optimizer=keras.optimizers.Adagrad(), loss="binary_crossentropy")
classifier.fit(tf, labels, callbacks=callbacks())
np.save("weights.npy", classifier.get_weights()[0])
