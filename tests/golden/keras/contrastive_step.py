from dataclasses import dataclass

import tensorflow as tf


@dataclass
class Settings:
    temperature: float = 0.1
    rate: float = 3e-4


class Contrastive(tf.keras.Model):
    def __init__(self, encoder, settings):
        super().__init__()
        self.encoder, self.settings = encoder, settings
        self.tracker = tf.keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.tracker]

    def train_step(self, data):
        left, right = data
        with tf.GradientTape() as tape:
            a, b = self.encoder(left, training=True), self.encoder(right, training=True)
            logits = tf.matmul(a, b, transpose_b=True) / self.settings.temperature
            labels = tf.range(tf.shape(logits)[0])
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        weights = self.encoder.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.tracker.update_state(loss)
        return {m.name: m.result() for m in self.metrics}


settings = Settings()
pairs = tf.data.Dataset.from_tensor_slices((tf.random.normal([512, 16]), tf.random.normal([512, 16])))
model = Contrastive(tf.keras.Sequential([tf.keras.layers.Dense(8)]), settings)
model.compile(optimizer=tf.keras.optimizers.Adam(settings.rate))
model.fit(pairs.batch(32), epochs=2)
