import datetime

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(13)
signal = rng.normal(size=(384, 10)).astype('float32')
label = (signal[:, 0] > signal[:, 1]).astype('float32')[:, None]

batch_size = 16
train_dataset = tf.data.Dataset.from_tensor_slices((signal[:320], label[:320]))
train_dataset = train_dataset.shuffle(buffer_size=320).batch(batch_size)
val_dataset = tf.data.Dataset.from_tensor_slices((signal[320:], label[320:])).batch(batch_size)

model = tf.keras.models.Sequential([
    tf.keras.layers.Dense(16, activation='relu'),
    tf.keras.layers.Dense(1)])
loss_fn = tf.keras.losses.BinaryCrossentropy(from_logits=True)
opt = tf.optimizers.legacy.SGD(lr=0.1)

stamp = datetime.datetime.now().strftime("%Y%m%d")
train_writer = tf.summary.create_file_writer('logs/' + stamp + '/train')
val_writer = tf.summary.create_file_writer('logs/' + stamp + '/validation')

step = 0
for epoch in range(3):
    for x, y in train_dataset:
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_weights)
        opt.apply_gradients(zip(grads, model.trainable_weights))
        step += 1
        with train_writer.as_default():
            tf.summary.scalar('loss', loss, step=step)

    val_loss = tf.reduce_mean([loss_fn(y, model(x)) for x, y in val_dataset])
    with val_writer.as_default():
        tf.summary.scalar('loss', val_loss, step=epoch)
    template = 'Epoch {}, Loss: {:.4f}, Validation Loss: {:.4f}'
    print(template.format(epoch + 1, float(loss), float(val_loss)))

tf.saved_model.save(model, 'exported')
