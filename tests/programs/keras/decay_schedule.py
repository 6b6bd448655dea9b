import tensorflow as tf
import tensorflow.keras as keras
from tensorflow.keras.optimizers.schedules import ExponentialDecay
import numpy as np

batch_size = 16
num_train = 512
epochs = 3
steps_per_epoch = num_train // batch_size

rng = np.random.RandomState(17)
images = rng.rand(num_train, 8, 8, 1).astype(np.float32)
labels = (images[:, :4].mean(axis=(1, 2, 3)) > images[:, 4:].mean(axis=(1, 2, 3))).astype(np.int64)

train = (tf.data.Dataset.from_tensor_slices((images, labels))
         .shuffle(num_train)
         .repeat()
         .batch(batch_size)
         .prefetch(tf.data.AUTOTUNE))

model = keras.Sequential([
    keras.layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 1)),
    keras.layers.Flatten(),
    keras.layers.Dense(2, activation="softmax"),
])

lr_schedule = ExponentialDecay(0.05, decay_steps=20, decay_rate=0.9)
optimizer = keras.optimizers.SGD(learning_rate=lr_schedule, momentum=0.9)

model.compile(optimizer=optimizer,
              loss=keras.losses.SparseCategoricalCrossentropy(),
              metrics=["accuracy"])
model.fit(train, epochs=epochs, steps_per_epoch=steps_per_epoch, verbose=2)

model.save("cnn_saved_model")
print("done, wrote cnn_saved_model")
