import tensorflow as tf
import numpy as np

# ------------------------------------------------------------------ data
state = np.random.RandomState(10)
train_x = state.uniform(-2, 2, (288, 2)).astype('float32')
train_y = (np.abs(train_x[:, 0]) + train_x[:, 1] ** 2).astype('float32')[:, np.newaxis]

batch_size = 12
num_batches = len(train_x) // batch_size
num_epochs = 4


# ----------------------------------------------------------------- model
class MLP(tf.Module):
  def __init__(self, sizes):
    super().__init__()
    self.layers = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
      w = tf.Variable(tf.random.normal([n_in, n_out], stddev=n_in ** -0.5))
      b = tf.Variable(tf.zeros([n_out]))
      self.layers.append((w, b))

  def __call__(self, x):
    for i, (w, b) in enumerate(self.layers):
      x = x @ w + b
      if i < len(self.layers) - 1:
        x = tf.nn.tanh(x)
    return x


model = MLP([2, 16, 1])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.03)

# -------------------------------------------------------------- training
for epoch in range(num_epochs):
  epoch_loss = 0.0
  for i in range(num_batches):
    batch_x = train_x[i * batch_size:(i + 1) * batch_size]
    batch_y = train_y[i * batch_size:(i + 1) * batch_size]
    with tf.GradientTape() as tape:
      loss = tf.reduce_mean(tf.square(model(batch_x) - batch_y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    epoch_loss += loss.numpy()
  print("Epoch {}: {:.4f}".format(epoch, epoch_loss / num_batches))
