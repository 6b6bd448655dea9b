import sys

import tensorflow as tf
from tensorflow.keras import optimizers as opts

kind = sys.argv[1] if len(sys.argv) > 1 else "sgd"
warm = opts.schedules.PiecewiseConstantDecay([1000, 2000], [0.1, 0.05, 0.01])

match kind:
    case "sgd":
        optimizer = opts.SGD(warm, momentum=0.9)
    case "adam" | "amsgrad":
        optimizer = opts.Adam(amsgrad=kind == "amsgrad")
    case _:
        optimizer = opts.RMSprop(learning_rate=opts.schedules.CosineDecay(0.01, decay_steps=5_000))

dataset = (
    tf.data.Dataset.from_tensor_slices((tf.random.normal([4096, 8]), tf.random.normal([4096, 1])))
    .shuffle(4096, seed=7)
    .batch(64)
    .prefetch(tf.data.AUTOTUNE)
)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer, loss="mse")
model.fit(dataset, epochs=3)
