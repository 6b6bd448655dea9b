import numpy as np
import tensorflow as tf

# Logistic regression, Keras optimizer, no tape in sight
rng = np.random.RandomState(31)
data = rng.normal(size=(240, 4)).astype(np.float32)
target = (data @ rng.normal(size=(4,)) > 0.2).astype(np.float32)

w = tf.Variable(tf.random.truncated_normal([4], stddev=0.1))
b = tf.Variable(0.0)
opt = tf.keras.optimizers.SGD(learning_rate=0.1)

BATCH = 12
ds = tf.data.Dataset.from_tensor_slices((data, target)).batch(BATCH, drop_remainder=True)

for epoch in range(3):
    for xs, ys in ds:
        def loss_fn():
            logits = tf.linalg.matvec(xs, w) + b
            return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=ys, logits=logits))

        opt.minimize(loss_fn, [w, b])
    print("epoch", epoch, "loss", loss_fn().numpy())

guess = (tf.linalg.matvec(data, w) + b).numpy() > 0
print("accuracy:", (guess == (target > 0.5)).mean())
