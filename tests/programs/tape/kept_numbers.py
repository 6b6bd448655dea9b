# Its checkpoint keeps numbers that are no steps: how many epochs are through, the best loss so far, and the rate, which falls
# with each epoch that was better. The second run goes on from them.
import numpy as np
import tensorflow as tf

random = np.random.RandomState(5)
x = random.uniform(-1, 1, (192, 4)).astype('float32')
y = (np.sin(2 * x[:, :1]) + x[:, 1:2]).astype('float32')
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(192, seed=2).batch(8)

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation='tanh', input_shape=(4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.02)
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=tf.Variable(0), best=tf.Variable(1e9), rate=tf.Variable(0.02))
manager = tf.train.CheckpointManager(checkpoint, 'kept', max_to_keep=2)
checkpoint.restore(manager.latest_checkpoint)
last = int(checkpoint.epoch) + 4

while int(checkpoint.epoch) < last:
    total = 0.0
    for features, targets in train:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(features, training=True) - targets))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        total += float(loss)
    checkpoint.epoch.assign_add(1)
    if total < float(checkpoint.best):
        checkpoint.best.assign(total)
        checkpoint.rate.assign(checkpoint.rate * 0.9)
        optimizer.learning_rate.assign(checkpoint.rate)
    manager.save()
    print('epoch', int(checkpoint.epoch), 'through')
