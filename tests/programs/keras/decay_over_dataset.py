"""A rate that decays over all steps, counted from the dataset; a callback that would stop at a batch that went wrong."""
import numpy as np
import tensorflow as tf

EPOCHS = 3


class StopWhenWrong(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if not np.isfinite(logs["loss"]) or logs["loss"] > 1e6:
            self.model.stop_training = True


rng = np.random.RandomState(1)
x = rng.normal(size=(128, 3)).astype("float32")
y = x.sum(axis=1)
both = tf.data.Dataset.from_tensor_slices((x, y))
train, held_out = both.take(96).batch(8), both.skip(96).batch(8)

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
rate = tf.keras.optimizers.schedules.CosineDecay(0.05, decay_steps=len(train) * EPOCHS)
model.compile(tf.keras.optimizers.SGD(rate), "mse")
model.fit(train, epochs=EPOCHS, validation_data=held_out, verbose=0, callbacks=[StopWhenWrong()])
model.save_weights("decayed.h5")
