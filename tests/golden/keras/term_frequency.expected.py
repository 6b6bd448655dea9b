"""Here `tf` is a term frequency, `hvd` a harmonic voice detector, and `callbacks` a function."""
import numpy as np
from tensorflow import keras
import tensorflow as hvd_tf
import horovod.tensorflow.keras as hvd_hvd

from voices import hvd

hvd_hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(hvd_tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
hvd_gpus = hvd_tf.config.experimental.list_physical_devices("GPU")
for gpu in hvd_gpus:
    hvd_tf.config.experimental.set_memory_growth(gpu, True)
if hvd_gpus:
    hvd_tf.config.experimental.set_visible_devices(hvd_gpus[hvd_hvd.local_rank()], "GPU")


def stops_together(callback, hook):  # a callback: when it stops training on one rank, all of them stop
    check = getattr(callback, hook)

    def check_all(*arguments, **keywords):
        check(*arguments, **keywords)
        stops = hvd_tf.cast(callback.model.stop_training, hvd_tf.float32)
        callback.model.stop_training = bool(hvd_hvd.allreduce(stops) > 0)

    setattr(callback, hook, check_all)
    return callback


documents = [line.split() for line in open("documents.txt")]
words = sorted({word for document in documents for word in document})
tf = np.array([[document.count(word) for word in words] for document in documents], "float32")
labels = np.array([hvd.detect(document) for document in documents])


def callbacks():
    return [stops_together(keras.callbacks.TerminateOnNaN(), "on_train_batch_end")]


gpus = 1
classifier = keras.Sequential([keras.layers.Dense(1, "sigmoid")])
classifier.compile(optimizer=hvd_hvd.DistributedOptimizer(keras.optimizers.Adagrad(learning_rate=0.001 * hvd_hvd.size())), loss="binary_crossentropy")
share = slice(hvd_hvd.rank(), len(tf) // hvd_hvd.size() * hvd_hvd.size(), hvd_hvd.size())
classifier.fit(tf[share], labels[share], callbacks=[
    hvd_hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd_hvd.callbacks.MetricAverageCallback(),
    *(callbacks() or [])], verbose=1 if hvd_hvd.rank() == 0 else 0)
if hvd_hvd.rank() == 0:
    np.save("weights.npy", classifier.get_weights()[0])
