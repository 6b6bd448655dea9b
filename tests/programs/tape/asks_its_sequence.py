"""A loop over a Keras Sequence of the program's own, and one over an object whose `__iter__` counts its batches."""
import numpy as np
import tensorflow as tf

BATCH = 16
np.random.seed(2)
tf.random.set_seed(1)
rows = np.random.RandomState(0).rand(490, 4).astype(np.float32)
values = rows.sum(axis=1, keepdims=True)


class Batches(tf.keras.utils.Sequence):
    def __init__(self):
        self.order = np.arange(len(rows))

    def __len__(self):
        return len(rows) // BATCH

    def __getitem__(self, k):
        taken = self.order[k * BATCH:(k + 1) * BATCH]
        return rows[taken], values[taken]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


class Loader:
    def __iter__(self):
        order = np.random.permutation(len(rows))
        for k in range(len(rows) // BATCH):
            taken = order[k * BATCH:(k + 1) * BATCH]
            yield rows[taken], values[taken]


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.05)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


batches, loader = Batches(), Loader()
for epoch in range(3):
    for step, (x, y) in enumerate(batches):
        train_step(x, y)
        if step % 10 == 0:
            print("seen")
    batches.on_epoch_end()
    for x, y in loader:
        loss = train_step(x, y)
    print("epoch", epoch)
