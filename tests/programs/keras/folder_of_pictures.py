"""Pictures of a folder, which knows how many it has; what is printed in the end takes many lines."""
import os

import numpy as np
import tensorflow as tf

generator = np.random.default_rng(5)
for name, shade in (("dark", 60), ("light", 190)):
    os.makedirs(os.path.join("pictures", name), exist_ok=True)
    for n in range(32):
        path = os.path.join("pictures", name, "%02d.png" % n)
        if not os.path.exists(path):
            picture = generator.integers(shade - 60, shade + 60, size=(8, 8, 3)).astype("uint8")
            with open(path, "wb") as f:
                f.write(tf.io.encode_png(picture).numpy())

train = tf.keras.utils.image_dataset_from_directory("pictures", image_size=(8, 8), batch_size=8, seed=2)
train = train.map(lambda pictures, labels: (pictures / 255.0, labels)).prefetch(2)

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile(tf.keras.optimizers.SGD(0.01), "binary_crossentropy")
history = model.fit(train, epochs=4, verbose=2)

print("batches",
      len(train),
      "first loss",
      history.history["loss"][0],
      "last loss",
      history.history["loss"][-1])
