from tensorflow import keras


def make(name, rate):
    kinds = {"sgd": keras.optimizers.SGD, "adam": keras.optimizers.Adam}
    return kinds[name](learning_rate=rate)
