import tensorflow as tf
import horovod.tensorflow.keras as hvd


def callbacks(folder):
    return [tf.keras.callbacks.EarlyStopping(patience=2), *([tf.keras.callbacks.ModelCheckpoint(folder + "/best")] if hvd.rank() == 0 else [])]
