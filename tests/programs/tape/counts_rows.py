# Trains until so many rows have been seen; the rate rises with them, and the weights are saved after so many.
import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument('--batch_size', type=int, default=8)
args = parser.parse_args()
TOTAL, SAVE_EVERY, WARM_UP = 1536, 192, 768

features = np.random.RandomState(3).rand(768, 4).astype('float32')
labels = features.sum(1, keepdims=True)
batches = iter(tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(args.batch_size, drop_remainder=True))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.05)


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


seen = 0
while seen < TOTAL:
    optimizer.learning_rate = 0.05 * min(1.0, (seen + 192) / WARM_UP)
    x, y = next(batches)
    loss = train(x, y)
    seen += args.batch_size
    if seen % SAVE_EVERY == 0:
        print(f'saved after {seen} rows: {float(loss):.4f}')
        model.save_weights(f'{seen}.weights.h5')
