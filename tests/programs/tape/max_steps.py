# Trains for a number of steps over a dataset that is shorter; a checkpoint keeps model and optimizer.
import numpy as np
import tensorflow as tf

MAX_STEPS = 48
BATCH = 8

rng = np.random.RandomState(8)
x = rng.uniform(-1, 1, (160, 4)).astype(np.float32)
y = (x @ [[1.0], [2.0], [-1.0], [0.5]]).astype(np.float32)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(160).batch(BATCH)


class Trainer:
    def __init__(self, model, rate):
        self.checkpoint = tf.train.Checkpoint(optimizer=tf.keras.optimizers.Adam(rate), model=model)

    @property
    def model(self):
        return self.checkpoint.model

    @tf.function
    def step(self, features, targets):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.checkpoint.model(features, training=True) - targets))
        variables = self.checkpoint.model.trainable_variables
        self.checkpoint.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


trainer = Trainer(tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))]), 0.02)
steps = 0
while steps < MAX_STEPS:
    total = 0.0
    for features, targets in dataset:
        total += float(trainer.step(features, targets))
        steps += 1
        if steps >= MAX_STEPS:
            break
    print("loss %.3f" % (total * BATCH / len(x)))
print("loss after all steps: %.3f" % tf.reduce_mean(tf.square(trainer.model(x) - y)).numpy())
