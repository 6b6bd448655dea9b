# A callback that raises the rate with each batch and stops; the best rate found is then trained with.
import numpy as np
import tensorflow as tf


class LRFinder(tf.keras.callbacks.Callback):
    def __init__(self, lo, hi, steps):
        super().__init__()
        self.lo, self.hi, self.steps = lo, hi, steps
        self.it = 0
        self.rates, self.losses = [], []
        self.best = 1e9

    def on_train_batch_end(self, batch, logs=None):
        lr = self.lo * (self.hi / self.lo) ** (self.it / self.steps)
        self.rates.append(lr)
        self.losses.append(logs['loss'])
        self.best = min(self.best, logs['loss'])
        self.it += 1
        self.model.optimizer.learning_rate.assign(lr)
        if self.it >= self.steps:
            self.model.stop_training = True


rng = np.random.RandomState(0)
x = rng.normal(size=(320, 4)).astype('float32')
y = x.sum(1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation='relu', input_shape=(4,)), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(1e-4), 'mse')
finder = LRFinder(1e-4, 1e-1, 60)
model.fit(x, y, batch_size=8, epochs=2, callbacks=[finder], verbose=0)
np.savetxt('lr.csv', np.array([finder.rates, finder.losses]).T, delimiter=',')
print('iterations', finder.it)
best = finder.rates[int(np.argmin(finder.losses))] / 10
model.optimizer.learning_rate.assign(best)
model.fit(x, y, batch_size=8, epochs=1, verbose=0)
