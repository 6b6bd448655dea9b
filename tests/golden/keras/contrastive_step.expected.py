from dataclasses import dataclass

import tensorflow as tf
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


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
        tape = hvd.DistributedGradientTape(tape)
        weights = self.encoder.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.tracker.update_state(loss)
        return {m.name: m.result() for m in self.metrics}


settings = Settings()
pairs = tf.data.Dataset.from_tensor_slices((hvd.broadcast_object(tf.random.normal([512, 16])), hvd.broadcast_object(tf.random.normal([512, 16]))))
pairs = pairs.shard(hvd.size(), hvd.rank()).take(len(pairs) // hvd.size())
model = Contrastive(tf.keras.Sequential([tf.keras.layers.Dense(8)]), settings)
model.compile(optimizer=tf.keras.optimizers.Adam(settings.rate * hvd.size()))
callbacks = [hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0), hvd_keras.callbacks.MetricAverageCallback()]
model.fit(pairs.batch(32), epochs=2, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
