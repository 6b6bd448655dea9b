import tensorflow as tf


def load():
    return tf.sparse.from_dense(tf.ones([64, 4]))


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
model.fit(load(), tf.ones([64, 1]), batch_size=8, verbose=0)
