import tensorflow as tf

w = tf.Variable([1.0, 2.0])
optimizer = tf.keras.optimizers.SGD(0.1)
for x in tf.data.Dataset.from_tensor_slices([1.0, 2.0]):
    with tf.GradientTape() as tape:
        y = w * x
    grads = [tf.reduce_sum(tape.jacobian(y, w), axis=0)]
    optimizer.apply_gradients(zip(grads, [w]))
