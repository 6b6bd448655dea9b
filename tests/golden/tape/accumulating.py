import tensorflow as tf

CHUNKS = 4
model = tf.keras.applications.ResNet50(weights=None, classes=10)
optimizer = tf.keras.optimizers.experimental.SGD(0.1, momentum=0.9) if hasattr(tf.keras.optimizers, "experimental") \
    else tf.keras.optimizers.SGD(0.1, momentum=0.9)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy()


@tf.function(experimental_relax_shapes=True)
def gradients(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True)) / CHUNKS
    return tape.gradient(loss, model.trainable_weights), loss


def large_step(chunks):
    total, summed = 0.0, None
    for x, y in chunks:
        found, loss = gradients(x, y)
        summed = found if summed is None else [a + b for a, b in zip(summed, found)]
        total += loss
    optimizer.apply_gradients(zip(summed, model.trainable_weights))
    return total


images = tf.data.Dataset.from_tensors((tf.zeros([8, 224, 224, 3]), tf.zeros([8], tf.int32))).repeat(64)
for large in images.window(CHUNKS, drop_remainder=True):
    print(large_step(tf.data.Dataset.zip(large)))
