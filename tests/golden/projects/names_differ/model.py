import tensorflow.keras as K


def net():
    return K.Sequential([K.layers.Dense(1)])
