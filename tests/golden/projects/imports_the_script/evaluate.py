import tensorflow as tf

import train


def evaluate(model):
    x, y = train.data()
    return float(tf.reduce_mean((model(x) - y) ** 2))


if __name__ == "__main__":
    print(evaluate(tf.keras.models.load_model(train.PATH)))
