import numpy as np
import tensorflow as tf

BATCH = 12

generator = np.random.RandomState(10)
train_x = generator.uniform(-2, 2, (288, 2)).astype('float32')
train_y = (np.abs(train_x[:, 0]) + train_x[:, 1] ** 2).astype('float32')[:, np.newaxis]


def fit_by_hand(rate, epochs):
  model = tf.keras.Sequential([
      tf.keras.layers.Dense(16, activation='tanh', input_shape=(2,)),
      tf.keras.layers.Dense(1),
  ])
  optimizer = tf.keras.optimizers.SGD(learning_rate=rate)
  for epoch in range(epochs):
    for i in range(len(train_x) // BATCH):
      batch_x = train_x[i * BATCH:(i + 1) * BATCH]
      batch_y = train_y[i * BATCH:(i + 1) * BATCH]
      with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(batch_x) - batch_y))
      gradients = tape.gradient(loss, model.trainable_variables)
      optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    print("epoch", epoch)  # no loss: each rank has its own
  return model


trained = fit_by_hand(0.03, 4)
trained.save_weights('numbered.h5')
