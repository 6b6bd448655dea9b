import tensorflow as tf
import horovod.tensorflow as hvd
from tqdm import tqdm

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

critic = tf.keras.Sequential([tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(1)])
actor = tf.keras.Sequential([tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(2)])
rate = tf.Variable(5e-5 * hvd.size(), trainable=False)
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
    tape = hvd.DistributedGradientTape(tape)
    critic_grads = tape.gradient(critic_loss, critic.trainable_variables)
    actor_grads = tape.gradient(actor_loss, actor.trainable_variables)
    del tape
    critic_opt.apply_gradients(grads_and_vars=zip(critic_grads, critic.trainable_variables))
    actor_opt.apply_gradients(grads_and_vars=zip(actor_grads, actor.trainable_variables))
    return critic_loss, actor_loss


points = tf.data.Dataset.from_tensor_slices(hvd.broadcast_object(tf.random.normal([1024, 2]))).repeat().shard(hvd.size(), hvd.rank()).batch(64)
first_batch = True
for i, batch in enumerate(tqdm(points.take(500 // hvd.size()), disable=hvd.rank() != 0)):
    losses = step(batch)
    if first_batch:  # from here on every rank holds rank 0's variables
        for variables in (critic.variables, actor.variables, critic_opt.variables(), actor_opt.variables()):
            hvd.broadcast_variables(variables, root_rank=0)
        first_batch = False
    if i % max(1, 100 // hvd.size()) == 0 and hvd.rank() == 0:
        tf.print("losses", losses)
