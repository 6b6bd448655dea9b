import tensorflow as tf


def callbacks(folder):
    return [tf.keras.callbacks.EarlyStopping(patience=2), tf.keras.callbacks.ModelCheckpoint(folder + "/best")]
