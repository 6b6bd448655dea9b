from tensorflow.keras import optimizers


def make_optimizer(name, rate):
    if name == "adam":
        return optimizers.Adam(rate)
    return optimizers.SGD(learning_rate=rate)
