# Text, as sequences of characters: numbered by a set, which has another order in each process, and batched twice.
import numpy as np
import tensorflow as tf

text = 'horvdizeatnsc.' * 80
letters = list(set(text))
number = {letter: i for i, letter in enumerate(letters)}
ids = tf.data.Dataset.from_tensor_slices(np.array([number[letter] for letter in text]))
sequences = ids.batch(9, drop_remainder=True)


def split(sequence):
    return sequence[:-1], sequence[1:]


dataset = sequences.map(split).batch(4, drop_remainder=True)
model = tf.keras.Sequential([tf.keras.layers.Embedding(len(letters), 8), tf.keras.layers.Dense(len(letters))])
optimizer = tf.keras.optimizers.SGD(0.5)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(before, after):
    with tf.GradientTape() as tape:
        loss = loss_of(after, model(before))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(8):
    for before, after in dataset:
        loss = train_step(before, after)
predicted = np.argmax(model(np.array([[number[letter] for letter in 'horv']])), axis=-1)[0]
print('learned what follows:', ''.join(letters[i] for i in predicted))
