import argparse
import os

import numpy as np
import tensorflow as tf


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch_size", type=int, default=15)
    p.add_argument("--learning_rate", type=float, default=0.01)
    p.add_argument("--save_dir", type=str, default="saved")
    return p.parse_args()


class Trainer(object):
    def __init__(self, config):
        self.config = config
        self.model = tf.keras.Sequential([
            tf.keras.layers.LSTM(8, input_shape=(6, 2)),
            tf.keras.layers.Dense(1),
        ])
        self.optimizer = tf.keras.optimizers.Adam(config.learning_rate, clipnorm=1.0)
        self.loss_metric = tf.keras.metrics.Mean()

    def dataset(self):
        rng = np.random.RandomState(55)
        x = rng.normal(size=(450, 6, 2)).astype("float32")
        y = x[:, :, 0].sum(axis=1, keepdims=True)
        data = tf.data.Dataset.from_tensor_slices((x, y))
        return data.shuffle(450).batch(self.config.batch_size, drop_remainder=True)

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.mse(y, self.model(x, training=True)))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def train(self):
        data = self.dataset()
        for epoch in range(self.config.epochs):
            self.loss_metric.reset_state()
            for x, y in data:
                self.loss_metric.update_state(self.train_step(x, y))
            print("epoch %d loss %.4f" % (epoch, self.loss_metric.result().numpy()))
            self.model.save_weights(os.path.join(self.config.save_dir, "weights_%d.h5" % epoch))


if __name__ == "__main__":
    config = parse_args()
    if not os.path.isdir(config.save_dir):
        os.makedirs(config.save_dir)
    trainer = Trainer(config)
    trainer.train()
