import os
import time

import matplotlib.pyplot as plt
import tensorflow as tf
import sys
import horovod.tensorflow as hvd
from tensorflow.keras import layers

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')
sys.stdout = sys.stdout if hvd.rank() == 0 else open(os.devnull, 'w', errors='replace')

NOISE, EPOCHS = 100, 50


def make_generator():
    model = tf.keras.Sequential()
    model.add(layers.Dense(7 * 7 * 64, use_bias=False, input_shape=(NOISE,)))
    model.add(layers.BatchNormalization())
    model.add(layers.Reshape((7, 7, 64)))
    model.add(layers.Conv2DTranspose(1, 5, strides=4, padding='same', activation='tanh'))
    return model


def make_critic():
    return tf.keras.Sequential([layers.Flatten(), layers.Dense(1)])


generator, discriminator = make_generator(), make_critic()
cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
generator_optimizer = tf.keras.optimizers.Adam(1e-4 * hvd.size())
discriminator_optimizer = tf.keras.optimizers.Adam(learning_rate=1e-4 * hvd.size(), beta_1=0.5)
checkpoint = tf.train.Checkpoint(generator_optimizer=generator_optimizer,
                                 discriminator_optimizer=discriminator_optimizer,
                                 generator=generator,
                                 discriminator=discriminator)


@tf.function
def train_step(images):
    noise = tf.random.normal([images.shape[0], NOISE])

    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        fake = generator(noise, training=True)
        real_output = discriminator(images, training=True)
        fake_output = discriminator(fake, training=True)

        gen_loss = cross_entropy(tf.ones_like(fake_output), fake_output)
        disc_loss = cross_entropy(tf.ones_like(real_output), real_output) \
            + cross_entropy(tf.zeros_like(fake_output), fake_output)
    gen_tape = hvd.DistributedGradientTape(gen_tape)
    disc_tape = hvd.DistributedGradientTape(disc_tape)

    gradients_of_generator = gen_tape.gradient(gen_loss, generator.trainable_variables)
    gradients_of_discriminator = disc_tape.gradient(disc_loss, discriminator.trainable_variables)

    generator_optimizer.apply_gradients(zip(gradients_of_generator, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(gradients_of_discriminator, discriminator.trainable_variables))


def save_images(model, epoch, test_input):
    predictions = model(test_input, training=False)
    fig = plt.figure(figsize=(4, 4))
    for i in range(predictions.shape[0]):
        plt.subplot(4, 4, i + 1)
        plt.imshow(predictions[i, :, :, 0] * 127.5 + 127.5, cmap='gray')
        plt.axis('off')
    if hvd.rank() == 0:
        plt.savefig('image_at_epoch_{:04d}.png'.format(epoch))
    plt.close(fig)


def train(dataset, epochs):
    seed = tf.random.normal([16, NOISE])
    first_batch = True
    for epoch in range(epochs):
        start = time.time()
        for image_batch in dataset:
            train_step(image_batch)
            if first_batch:  # from here on every rank holds rank 0's variables
                hvd.broadcast_variables([*generator.variables, *discriminator.variables], root_rank=0)
                hvd.broadcast_variables(generator_optimizer.variables(), root_rank=0)
                hvd.broadcast_variables(discriminator_optimizer.variables(), root_rank=0)
                first_batch = False
        # Horovod: rank 0's batch-norm statistics, not averaged.
        hvd.broadcast_variables([*generator.non_trainable_variables, *discriminator.non_trainable_variables], root_rank=0)
        save_images(generator, epoch + 1, seed)
        # Save the model every 15 epochs
        if (epoch + 1) % 15 == 0 and hvd.rank() == 0:
            checkpoint.save(file_prefix=os.path.join('ckpts', 'ckpt'))
        print('Time for epoch {} is {} sec'.format(epoch + 1, time.time() - start))


if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
    tf.keras.datasets.mnist.load_data()
hvd.broadcast(0, root_rank=0, name='downloaded')
(images, _), (_, _) = tf.keras.datasets.mnist.load_data()
images = (images.reshape(-1, 28, 28, 1).astype('float32') - 127.5) / 127.5
train(tf.data.Dataset.from_tensor_slices(images).shard(hvd.size(), hvd.rank()).take(len(images) // hvd.size()).shuffle(60000).batch(256), EPOCHS)
