# Trains 80 steps, up to 48 in one run: a run goes on from the step that the last one's checkpoint holds.
import numpy as np
import tensorflow as tf

STEPS = 80
IN_ONE_RUN = 48
SAVE_EVERY = 16

rng = np.random.RandomState(11)
x = rng.uniform(-1, 1, (240, 3)).astype('float32')
y = (x @ [[0.5], [-1.0], [2.0]]).astype('float32')
batches = iter(tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(6))

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(0.02)
checkpoint = tf.train.Checkpoint(step=tf.Variable(0, dtype=tf.int64), model=model, optimizer=optimizer)
manager = tf.train.CheckpointManager(checkpoint, 'checkpoints', max_to_keep=20)
checkpoint.restore(manager.latest_checkpoint)
last = min(STEPS, int(checkpoint.step) + IN_ONE_RUN)
print('from', int(checkpoint.step), 'to', last)

while int(checkpoint.step) < last:
    optimizer.learning_rate = 0.02 * 0.98 ** int(checkpoint.step)
    features, targets = next(batches)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(features, training=True) - targets))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    checkpoint.step.assign_add(1)
    if int(checkpoint.step) % SAVE_EVERY == 0:
        manager.save()
        print('saved at', int(checkpoint.step))
    if int(checkpoint.step) == STEPS:
        print('through')
