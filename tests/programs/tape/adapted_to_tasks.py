"""First-order MAML: the model is adapted to a task by steps of its own, and set back before the update that counts."""
import numpy as np
import tensorflow as tf

TASKS = 1
random = np.random.RandomState(0)
slopes = random.rand(240, 1, 1).astype(np.float32)
points = random.rand(240, 16, 3).astype(np.float32)
values = slopes * points.sum(axis=2, keepdims=True)
tasks = tf.data.Dataset.from_tensor_slices((points[:, :8], values[:, :8], points[:, 8:], values[:, 8:])).batch(TASKS)

tf.random.set_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(0.05)


def adapt(net, x, y):
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(x) - y))
        for variable, gradient in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
            variable.assign_sub(0.1 * gradient)


for epoch in range(2):
    for support, answers, asked, expected in tasks:
        kept = model.get_weights()
        gradients = [tf.zeros_like(v) for v in model.trainable_variables]
        for x, y, a, e in zip(support, answers, asked, expected):
            adapt(model, x, y)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(a) - e)) / TASKS
            gradients = [g + d for g, d in zip(gradients, tape.gradient(loss, model.trainable_variables))]
            model.set_weights(kept)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    print("epoch", epoch)
assert abs(float(tf.reduce_mean(model.weights[0])) - 0.5) < 0.15
