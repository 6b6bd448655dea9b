import numpy as np
import tensorflow as tf

D_MODEL = 16
VOCAB = 30
LENGTH = 7
EPOCHS = 2
STEPS = 30


class CustomSchedule(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps=20):
        super().__init__()
        self.d_model = tf.cast(d_model, tf.float32)
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.cast(step, dtype=tf.float32)
        arg1 = tf.math.rsqrt(step)
        arg2 = step * (self.warmup_steps ** -1.5)
        return tf.math.rsqrt(self.d_model) * tf.math.minimum(arg1, arg2)


def sentences():
    rng = np.random.RandomState(2)
    while True:
        start = rng.randint(0, VOCAB, size=1)
        yield (start + np.arange(LENGTH + 1)) % VOCAB


dataset = tf.data.Dataset.from_generator(sentences, output_signature=tf.TensorSpec([LENGTH + 1], tf.int64))
dataset = dataset.batch(10)

model = tf.keras.Sequential([
    tf.keras.layers.Embedding(VOCAB, D_MODEL),
    tf.keras.layers.GRU(D_MODEL, return_sequences=True),
    tf.keras.layers.LayerNormalization(),
    tf.keras.layers.Dense(VOCAB),
])

learning_rate = CustomSchedule(D_MODEL)
optimizer = tf.keras.optimizers.Adam(learning_rate, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction='none')
train_loss = tf.keras.metrics.Mean(name='train_loss')


@tf.function(input_signature=[tf.TensorSpec(shape=(None, LENGTH + 1), dtype=tf.int64)])
def train_step(tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    with tf.GradientTape() as tape:
        logits = model(inputs, training=True)
        loss = tf.reduce_mean(loss_object(targets, logits))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_loss(loss)


for epoch in range(EPOCHS):
    train_loss.reset_state()
    for (batch, tokens) in enumerate(dataset.take(STEPS)):
        train_step(tokens)
        if batch % 10 == 0:
            print(f'Epoch {epoch + 1} Batch {batch} Loss {train_loss.result():.4f}')
