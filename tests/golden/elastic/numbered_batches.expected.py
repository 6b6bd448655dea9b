import numpy as np
import tensorflow as tf
import horovod_elastic as elastic
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
  tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
  tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')

BATCH = 12

generator = np.random.RandomState(10)
train_x = generator.uniform(-2, 2, (288, 2)).astype('float32')
train_y = (np.abs(train_x[:, 0]) + train_x[:, 1] ** 2).astype('float32')[:, np.newaxis]


def fit_by_hand(rate, epochs):
  model = tf.keras.Sequential([
      tf.keras.layers.Dense(16, activation='tanh', input_shape=(2,)),
      tf.keras.layers.Dense(1),
  ])
  optimizer = tf.keras.optimizers.SGD(learning_rate=rate * hvd.size())
  state = elastic.State(model, optimizer, commit_every=100)  # what training goes on from when ranks die or join

  @elastic.run
  def train(state):
    for epoch in state.epochs(range(epochs)):
      for i in state.turns(range(len(train_x) // BATCH)):
        batch_x = train_x[i * BATCH:(i + 1) * BATCH]
        batch_y = train_y[i * BATCH:(i + 1) * BATCH]
        with tf.GradientTape() as tape:
          loss = tf.reduce_mean(tf.square(model(batch_x) - batch_y))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
      if hvd.rank() == 0:
        print("epoch", epoch)  # no loss: each rank has its own

  train(state)
  return model


trained = fit_by_hand(0.03, 4)
if hvd.rank() == 0:
  trained.save_weights('numbered.h5')
