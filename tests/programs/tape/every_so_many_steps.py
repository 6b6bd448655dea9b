# A generator that is trained every third step of its critic; saves, looks, copies weights and lowers a rate after so many steps.
import numpy as np
import tensorflow as tf

CRITIC_STEPS = 3
SAVE_EVERY = 16
BATCH = 4

rng = np.random.RandomState(5)
real = rng.normal(3.0, 0.5, (384, 2)).astype('float32')
dataset = tf.data.Dataset.from_tensor_slices(real).batch(BATCH, drop_remainder=True)

generator = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
critic = tf.keras.Sequential([tf.keras.layers.Dense(8, activation='relu', input_shape=(2,)), tf.keras.layers.Dense(1)])
slow = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
generator_optimizer = tf.keras.optimizers.SGD(0.002)
rate = 0.001
critic_optimizer = tf.keras.optimizers.SGD(rate)
manager = tf.train.CheckpointManager(tf.train.Checkpoint(generator=generator), 'checkpoints', max_to_keep=100)


@tf.function
def train_critic(rows):
    fake = generator(tf.random.normal([tf.shape(rows)[0], 3]), training=True)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(critic(fake, training=True)) - tf.reduce_mean(critic(rows, training=True))
    gradients = tape.gradient(loss, critic.trainable_variables)
    critic_optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
    return loss


@tf.function
def train_generator():
    noise = tf.random.normal([BATCH, 3])
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(generator(noise, training=True), training=True))
    gradients = tape.gradient(loss, generator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gradients, generator.trainable_variables))


seen = 0
for epoch in range(2):
    for step, rows in enumerate(dataset):
        loss = train_critic(rows)
        if step % CRITIC_STEPS == 0:
            train_generator()
        seen += 1
        if seen % SAVE_EVERY == 0:
            manager.save()
            print('saved')
        if (step + 1) % 12 == 0:
            print('critic: %.4f' % loss.numpy())
        if seen % 24 == 23:
            slow.set_weights(generator.get_weights())
            print('copied')
        if seen % 10 == 0:
            rate *= 0.9
            critic_optimizer.learning_rate = rate
            print('lowered')
        if seen == 100:
            print('warm')
print('rate: %.7f' % rate)
print('generator steps:', int(generator_optimizer.iterations), 'saves:', len(manager.checkpoints))
