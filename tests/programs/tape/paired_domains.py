# Two collections that are shuffled for themselves and gone through in pairs; a look at each of them before.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)
horses = tf.data.Dataset.from_tensor_slices(rng.normal(0, 1, (64, 4)).astype(np.float32))
zebras = tf.data.Dataset.from_tensor_slices(rng.normal(2, 1, (64, 4)).astype(np.float32))
horses = horses.cache().shuffle(64).batch(1)
zebras = zebras.cache().shuffle(64).batch(1)
print("one horse:", next(iter(horses)).shape, "one zebra:", next(iter(zebras)).shape)

to_zebra = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(4,))])
to_horse = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(4,))])
zebra_optimizer = tf.keras.optimizers.Adam(2e-3)
horse_optimizer = tf.keras.optimizers.Adam(2e-3)


@tf.function
def train_step(horse, zebra):
    with tf.GradientTape(persistent=True) as tape:
        there = to_zebra(horse)
        back = to_horse(there)
        zebra_loss = tf.reduce_mean(tf.abs(there - zebra)) + tf.reduce_mean(tf.abs(back - horse))
        horse_loss = tf.reduce_mean(tf.abs(to_horse(zebra) - horse)) + tf.reduce_mean(tf.abs(back - horse))
    variables = to_zebra.trainable_variables
    zebra_optimizer.apply_gradients(zip(tape.gradient(zebra_loss, variables), variables))
    variables = to_horse.trainable_variables
    horse_optimizer.apply_gradients(zip(tape.gradient(horse_loss, variables), variables))
    return zebra_loss + horse_loss


for epoch in range(2):
    losses = []
    pairs = enumerate(tf.data.Dataset.zip((horses, zebras)))
    for n, (horse, zebra) in pairs:
        losses.append(train_step(horse, zebra).numpy())
    print("epoch %d: loss %.3f" % (epoch + 1, np.mean(losses)))
