# Rows that are shuffled and put together to batches; the best loss so far and all losses are handed on.
import numpy as np
import tensorflow as tf
import horovod_elastic as elastic
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

BATCH = 16
EPOCHS = 4

rng = np.random.default_rng(7)
x = rng.normal(size=(480, 4)).astype("float32")
y = (x @ [[1.0], [-2.0], [3.0], [0.5]]).astype("float32")

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.Adam(learning_rate=0.01 * hvd.size())
dataset = elastic.rows_left(tf.data.Dataset.from_tensor_slices((x, y)), shuffle=480).batch(BATCH).prefetch(1)


@tf.function
def train_step(features, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(features) - targets))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


best = 1e9
losses = []
# Horovod: what training goes on from when ranks die or join.
state = elastic.State(model, optimizer, commit_every=100, best=best, losses=losses)


@elastic.run
def train(state):
    best, losses = state.best, state.losses
    for epoch in state.epochs(range(EPOCHS)):
        for features, targets in state.batches(dataset):
            train_step(features, targets)
        whole = float(tf.reduce_mean(tf.square(model(x) - y)))
        losses.append(whole)
        if whole < best:
            best = whole
        if hvd.rank() == 0:
            print("epoch", epoch, "better than at first:", best < 14.5)
        state.best, state.losses = best, losses
    return best, losses


best, losses = train(state)
if hvd.rank() == 0:
    print("epochs:", len(losses))
    model.save_weights("shuffled.h5")
