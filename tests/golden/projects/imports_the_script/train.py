import tensorflow as tf

PATH = "net.keras"


def data():
    return tf.ones((64, 4)), tf.ones((64, 1))


def main():
    from evaluate import evaluate

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    opt = tf.keras.optimizers.Adam(0.01)
    model.compile(opt, "mse")
    x, y = data()
    model.fit(x, y, epochs=2)
    model.save(PATH)
    print("error", evaluate(model))


if __name__ == "__main__":
    main()
