"""Callbacks that know the optimizer and its rate by other names, count batches over all epochs, and set rates by functions."""
import numpy as np
import tensorflow as tf


def set_rate(optimizer, value):
    optimizer.learning_rate = value


class Warm(tf.keras.callbacks.Callback):
    def __init__(self, peak, warm):
        super().__init__()
        self.peak, self.warm, self.seen = peak, warm, 0

    def count(self):
        self.seen += 1
        return self.seen

    def rate(self, step):
        if step < self.warm:
            return 0.5 * self.peak
        return self.peak * 0.99 ** (step - self.warm)

    def on_train_batch_begin(self, batch, logs=None):
        optimizer = self.model.optimizer
        set_rate(optimizer, self.rate(self.count()))


class Look(tf.keras.callbacks.Callback):
    def __init__(self, every):
        super().__init__()
        self.every = every

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        number = self.epoch * self.params['steps'] + batch + 1
        if number % self.every == 0:
            print('look at', number)


x = np.random.RandomState(3).normal(size=(256, 4)).astype('float32')
y = x.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(tf.keras.optimizers.SGD(0.02), 'mse')
model.fit(x, y, batch_size=8, epochs=4, callbacks=[Warm(0.02, 25), Look(16)], verbose=0)
