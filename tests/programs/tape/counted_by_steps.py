# What goes by the number of a step: a weight of the loss, an average since the last look, patience; statements that share lines.
import numpy as np
import tensorflow as tf

np.random.seed(4)
x = np.random.rand(256, 4).astype('float32')
y = x.sum(axis=1, keepdims=True)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01)
accuracy = tf.keras.metrics.MeanAbsoluteError()


@tf.function
def train_step(rows, targets, weight):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(rows) - targets)) + weight * 0.01 * tf.reduce_sum(model.weights[0] ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables)); return loss


running, best, bad = 0.0, 1e9, 0
for epoch in range(3):
    for step, (rows, targets) in enumerate(dataset):
        weight = tf.minimum(1.0, tf.cast(optimizer.iterations, tf.float32) / 96.0)
        running += float(train_step(rows, targets, weight)); last = step
        if step % 16 == 15:
            print('mean loss is a number:', 0 < running / 16 < 9)
            running = 0.0
    accuracy.reset_states(); accuracy.update_state(y, model(x))
    if accuracy.result() < best:
        best, bad = float(accuracy.result()), 0
    else:
        bad += 1
        if bad == 2:
            break
print('learned:', best < 0.5)
