"""Random features: only the head of the model is trained."""
import numpy as np
import tensorflow as tf
from tensorflow import keras


def load():
    rng = np.random.RandomState(100)
    x = rng.normal(size=(300, 5)).astype("float32")
    return x, np.sin(x.sum(axis=1, keepdims=True)).astype("float32")


base = keras.Sequential([
    keras.layers.Dense(40, activation="relu", input_shape=(5,)),
    keras.layers.BatchNormalization(),
])
base.trainable = False
head = keras.layers.Dense(1)
model = keras.Sequential([base, head])
model.summary()

optimizer = keras.optimizers.SGD(learning_rate=0.01, momentum=0.9)
metric = keras.metrics.MeanAbsoluteError()

x, y = load()
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(buffer_size=300).batch(20, drop_remainder=True)

for epoch in range(1, 4):
    metric.reset_state()
    for step, (features, target) in enumerate(dataset):
        with tf.GradientTape() as tape:
            prediction = model(features, training=True)
            loss = keras.losses.mean_squared_error(target, prediction)
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, norm = tf.clip_by_global_norm(gradients, 5.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        metric.update_state(target, prediction)
        if step % 10 == 0:
            tf.print('step', step, 'norm', norm)
    print(f'Epoch {epoch}: mean absolute error {metric.result().numpy():.4f}')

keras.models.save_model(model, 'features.keras')
