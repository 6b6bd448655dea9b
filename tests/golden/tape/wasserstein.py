import tensorflow as tf
from tqdm import tqdm

critic = tf.keras.Sequential([tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(1)])
actor = tf.keras.Sequential([tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(2)])
rate = tf.Variable(5e-5, trainable=False)
critic_opt = tf.keras.optimizers.RMSprop(rate)
actor_opt = tf.keras.optimizers.RMSprop(rate)


def penalty(real, fake):
    mixed = real + tf.random.uniform([tf.shape(real)[0], 1]) * (fake - real)
    with tf.GradientTape() as gp_tape:
        gp_tape.watch(mixed)
        score = critic(mixed)
    slopes = gp_tape.gradient(score, [mixed])[0]
    return tf.reduce_mean((tf.norm(slopes, axis=1) - 1.0) ** 2)


@tf.function
def step(real):
    noise = tf.random.normal([tf.shape(real)[0], 8])
    with tf.GradientTape(persistent=True) as tape:
        fake = actor(noise)
        critic_loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real)) + 10.0 * penalty(real, fake)
        actor_loss = -tf.reduce_mean(critic(fake))
    critic_grads = tape.gradient(critic_loss, critic.trainable_variables)
    actor_grads = tape.gradient(actor_loss, actor.trainable_variables)
    del tape
    critic_opt.apply_gradients(grads_and_vars=zip(critic_grads, critic.trainable_variables))
    actor_opt.apply_gradients(grads_and_vars=zip(actor_grads, actor.trainable_variables))
    return critic_loss, actor_loss


points = tf.data.Dataset.from_tensor_slices(tf.random.normal([1024, 2])).repeat().batch(64)
for i, batch in enumerate(tqdm(points.take(500))):
    losses = step(batch)
    if i % 100 == 0:
        tf.print("losses", losses)
